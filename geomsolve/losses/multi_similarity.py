"""Multi-similarity loss: soft maxima over an anchor's positives and over its negatives.

    (1/alpha) log( 1 + sum_p e^{-alpha (c_p - base)} ) + tau log( 1 + sum_{j=1..k} e^{(c_j - base)/tau} ),

tau = 1/beta, as in MultiSimilarityLoss without a miner.  Both parts are convex in the cosines, and the first falls with
c_p, so that by Jensen's inequality collapsed classes, c_p = 1, are best.  What is left of the first part is a constant,
log(1 + P e^{-alpha (1 - base)}) / alpha, which is dropped, and with it alpha.  With k random negatives, drawn iid (one
of the anchor's own class is none and costs nothing) or from other classes only,

    F = tau sum_a p_a E log( 1 + sum_{j=1..k} e^{(G_{a c_j} - base)/tau} ),

convex in G, exactly evaluated (``objectives/expectation.py``).  With ever more negatives F grows like tau log k, so
their number must be finite.

Levels have that constant, of P = 1 positive an anchor, as a training log has it.  Random start
E log(1 + e^{-alpha (c - base)}) / alpha + q-mixed tau E log(1 + sum of j independent e^{(c - base)/tau}), j of the k
negatives being of other classes.

Symbols: k ``negatives``, tau ``temperature``, j ``counted``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, inf, log1p
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import ONE_ENCODER, Loss, register
from geomsolve.losses.parameters import ALPHA, BASE, NEGATIVES, SAMPLING, TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.expectation import LogExpectation
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.random_start import random_log_sum, random_mean
from geomsolve.objectives.sampling import negative_distribution
from geomsolve.registry import parameter

NEGLIGIBLE = 1e-15
"""Chance of so many negatives of other classes below which it is left out."""


@register
@dataclass(frozen=True)
class MultiSimilarity(Loss):
    """Multi-similarity loss; see the module."""

    name: ClassVar[str] = "multi-similarity"
    summary: ClassVar[str] = "soft maxima over positives and negatives; beta is 1/temperature, its usual 50 is -t 0.02"
    source: ClassVar[str] = "Wang et al. 2019 (multi-similarity loss), all pairs, no mining"
    also: ClassVar[tuple[str, ...]] = ("ms", "multisimilarity")

    temperature: float = parameter(TEMPERATURE, 0.1)
    base: float = parameter(BASE, 0.5)
    negatives: float = parameter(NEGATIVES, 31)
    sampling: str = parameter(SAMPLING, "supervised")
    alpha: float | None = parameter(ALPHA, None)

    def __post_init__(self) -> None:
        if self.negatives == inf:
            raise InputError("it grows without end with the negatives; give their number", field="loss.negatives")

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {
            "temperature": self.temperature,
            "base": self.base,
            "negatives": int(self.negatives),
            "sampling": self.sampling,
        }

    @property
    def reads_whole_set(self) -> bool:
        return False

    def objective(self, orbits: Orbits) -> Objective:
        chance, own = negative_distribution(orbits, self.sampling)
        scale = 1 / self.temperature
        return LogExpectation(
            chance,
            np.zeros_like(own),
            self.temperature * orbits.sizes * orbits.proportions,
            base=1.0,
            factor=1.0,
            negatives=int(self.negatives),
            scale=scale,
            unique_minimiser=True,
            nothing=own,
            log_weights=np.full_like(chance, scale * (1 - self.base)),
        )

    def assumption(self, orbits: Orbits) -> str:
        return ONE_ENCODER if orbits.n_orbits > 1 else ""

    def course(self, over: str, level: str) -> Course:
        """A batch changes nothing, and every further negative costs."""
        return "rising" if over in ("batch", "negatives") else ""

    def levels(self, training: Training) -> Scale:
        loss = self.replace(sampling="supervised") if training.instances else self
        orbits, tau, k = training.orbits, self.temperature, int(self.negatives)
        alpha = 2.0 if self.alpha is None else self.alpha
        mass, own = orbits.sizes * orbits.proportions, negative_distribution(orbits, loss.sampling)[1]
        counted = {j: comb(k, j) * float(mass @ ((1 - own) ** j * own ** (k - j))) for j in range(k + 1)}
        counted = {j: chance for j, chance in counted.items() if chance > NEGLIGIBLE}
        together = log1p(exp(-alpha * (1 - self.base))) / alpha
        apart = sum(
            chance * float(np.logaddexp(0.0, np.log(j) + (1 - self.base) / tau)) for j, chance in counted.items() if j
        )

        def random(dim: int) -> float:
            near = random_mean(lambda c: np.logaddexp(0.0, -alpha * (c - self.base)), dim, alpha) / alpha
            far = sum(
                chance * (random_log_sum([(1.0, j)], tau, dim, self.base / tau) - self.base / tau)
                for j, chance in counted.items()
                if j
            )
            return near + tau * far

        best = Optimum(loss.objective(orbits), orbits, plus=together, only_for=self.assumption(orbits))
        return Scale.of_pairs(together + tau * apart, random, best, training)
