"""Soft-margin triplet: psi(x) = log(1 + e^{(x - 1 + margin)/tau}) on the cosine x of anchor and negative.

For single samples log(1 + e^{(c_- - c_+ + margin)/tau}), c_+ the cosine of anchor and positive, c_- that of anchor and
negative.  It is convex in both and falls with c_+, so that by Jensen's inequality no embedding has a lower mean than
collapsed classes, c_+ = 1, can have:

    F = sum_a p_a sum_{b != a} r(b|a) psi(G_ab),

r as for the other losses of pairs (``objectives/pairs.py``); a negative of the anchor's own class costs nothing.
Without a margin it is InfoNCE with one negative; ever colder, tau times it tends to the hinge (``losses/triplet.py``).

Levels, q the probability that a negative is of another class: total collapse q log(1 + e^{margin/tau}), random start
q E log(1 + e^{(c - c' + margin)/tau}) for two independent cosines.

Symbols: q ``share``, tau ``temperature``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import ONE_ENCODER, Loss, register
from geomsolve.losses.parameters import MARGIN, SAMPLING, TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.pairs import SoftPlus, pair_mass
from geomsolve.objectives.random_start import random_angles
from geomsolve.objectives.sampling import negative_share
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class SoftTriplet(Loss):
    """Soft-margin triplet; see the module."""

    name: ClassVar[str] = "soft-margin-triplet"
    summary: ClassVar[str] = "triplet with log(1 + e^x) for the hinge; TripletMarginLoss(smooth_loss=True) is -t 1"
    source: ClassVar[str] = "Hermans et al. 2017 (in defense of the triplet loss), on cosines"
    also: ClassVar[tuple[str, ...]] = ("soft-margin", "soft-triplet", "smooth-triplet", "triplet-soft-margin")

    temperature: float = parameter(TEMPERATURE, 0.1)
    margin: float | None = parameter(MARGIN, None)
    sampling: str = parameter(SAMPLING, "supervised")

    @property
    def reads_whole_set(self) -> bool:
        return False

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"temperature": self.temperature, "margin": self.margin or 0.0, "sampling": self.sampling}

    def _objective(self, orbits: Orbits, sampling: str) -> Objective:
        scale = 1 / self.temperature
        return SoftPlus(pair_mass(orbits, sampling), scale, scale * (1 - (self.margin or 0.0)))

    def objective(self, orbits: Orbits) -> Objective:
        return self._objective(orbits, self.sampling)

    def assumption(self, orbits: Orbits) -> str:
        return ONE_ENCODER if orbits.n_orbits > 1 and self.sampling == "supervised" else ""

    def course(self, over: str, level: str) -> Course:
        """A batch changes nothing."""
        return "rising" if over == "batch" else ""

    def levels(self, training: Training) -> Scale:
        orbits, scale, margin = training.orbits, 1 / self.temperature, self.margin or 0.0
        share = 1.0 if training.instances else negative_share(orbits, self.sampling)
        sampling = "supervised" if training.instances else self.sampling

        def random(dim: int) -> float:
            angles, weights = random_angles(dim, scale)
            cosines = np.cos(angles)
            cost = np.logaddexp(0.0, scale * (cosines - cosines[:, None] + margin))
            return share * float(weights @ cost @ weights)

        best = Optimum(self._objective(orbits, sampling), orbits, only_for=self.assumption(orbits))
        return Scale.of_pairs(share * float(np.logaddexp(0.0, scale * margin)), random, best, training)
