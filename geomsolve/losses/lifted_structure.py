"""Lifted structure loss: a soft maximum over the negatives of both halves of a positive pair, on Euclidean distances.

For a positive pair i, j, D = sqrt(2 - 2 cosine), over the negatives n of both,

    J_ij = log( sum_n e^{M - D_in} + sum_n e^{M - D_jn} ) + D_ij,    the mean of max(J_ij, 0)^2 / 2.

- D is convex and rises in the cosine, the logarithm of a sum of exponentials of convex functions is convex, and so is
the square of its positive part; D_ij is 0 at collapse and nowhere less.  So by Jensen's inequality collapsed classes
are best, and for k negatives of each half, as many of every class as r(.|a) says,

    F(G) = (1/2) sum_a p_a max( log( 2 k sum_{b != a} r(b|a) e^{M - D_ab} ), 0 )^2

is convex in G (``objectives/distances.py``).  No two classes meet: their slope has no bound there.
A batch of B samples in the classes' proportions is ``iid`` with k = B; an anchor then has the more negatives the rarer
it is.  A margin for positive pairs takes as much off M.  Derived for this project.

Levels, q_a the chance of another class: total collapse (1/2) sum_a p_a max(log 2 k q_a + M, 0)^2; random start, in the
limit of many negatives, the mean over D_ij of the same with E e^{M - D} for e^M.

Symbols: M ``neg_distance``, k ``negatives``, q_a ``other``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import ONE_ENCODER, Loss, register
from geomsolve.losses.parameters import NEG_DISTANCE, NEGATIVES, SAMPLING
from geomsolve.objectives.base import Objective
from geomsolve.objectives.distances import Lifted
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.random_start import random_mean
from geomsolve.objectives.sampling import negative_distribution
from geomsolve.registry import parameter

KINK = 4000.0
"""How steep a function of the cosine a hinge counts as, where it is averaged over random directions."""


@register
@dataclass(frozen=True)
class LiftedStructure(Loss):
    """Lifted structure loss; see the module."""

    name: ClassVar[str] = "lifted-structure"
    summary: ClassVar[str] = "squared soft maximum over the negatives of both halves of a pair, on distances"
    source: ClassVar[str] = "Song et al. 2016 (lifted structured feature embedding), negatives in proportion"
    also: ClassVar[tuple[str, ...]] = ("lifted", "lifted-struct", "generalized-lifted-structure")

    neg_distance: float = parameter(NEG_DISTANCE, 1.0)
    negatives: float = parameter(NEGATIVES, 31)
    sampling: str = parameter(SAMPLING, "supervised")

    def __post_init__(self) -> None:
        if self.negatives == inf:
            raise InputError("it grows without end with the negatives; give their number", field="loss.negatives")

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"neg_distance": self.neg_distance, "negatives": self.negatives, "sampling": self.sampling}

    @property
    def reads_whole_set(self) -> bool:
        return True

    def objective(self, orbits: Orbits) -> Objective:
        chance, _ = negative_distribution(orbits, self.sampling)
        return Lifted(orbits.sizes * orbits.proportions, 2 * self.negatives * chance, self.neg_distance)

    def assumption(self, orbits: Orbits) -> str:
        return ONE_ENCODER if orbits.n_orbits > 1 else ""

    def course(self, over: str, level: str) -> Course:
        """A batch changes nothing, and every further negative costs."""
        return "rising" if over in ("batch", "negatives") else ""

    def levels(self, training: Training) -> Scale:
        loss = self.replace(sampling="supervised") if training.instances else self
        orbits = training.orbits
        mass = orbits.sizes * orbits.proportions
        other = negative_distribution(orbits, loss.sampling)[0].sum(axis=1)
        many = np.log(2 * self.negatives * other) + self.neg_distance

        def random(dim: int) -> float:
            near = np.log(random_mean(lambda c: np.exp(-np.sqrt(np.maximum(2 - 2 * c, 0))), dim, KINK))

            def cost(c: np.ndarray) -> np.ndarray:
                apart = np.sqrt(np.maximum(2 - 2 * c, 0))
                worth: np.ndarray = mass @ np.maximum(near + many[:, None] + apart, 0.0) ** 2 / 2
                return worth

            return random_mean(cost, dim, KINK)

        best = Optimum(loss.objective(orbits), orbits, only_for=self.assumption(orbits))
        return Scale.of_pairs(float(mass @ np.maximum(many, 0.0) ** 2) / 2, random, best, training)
