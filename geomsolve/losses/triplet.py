"""Triplet hinge: psi(x) = max(x - 1 + margin, 0) on the cosine x of anchor and negative; the positive is at cosine 1.

See ``objectives/pairs.py``.  Levels, q the probability that a negative is of another class than the anchor (one of
its own class costs nothing): total collapse q margin, random start q E max(c - c' + margin, 0).

Symbols: q ``share``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import ONE_ENCODER, Loss, register
from geomsolve.losses.parameters import MARGIN, SAMPLING
from geomsolve.objectives.base import Objective
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.pairs import Hinge, pair_mass
from geomsolve.objectives.random_start import random_hinge
from geomsolve.objectives.sampling import negative_share
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class Triplet(Loss):
    """Triplet hinge; see the module."""

    name: ClassVar[str] = "triplet"
    summary: ClassVar[str] = "hinge on the cosine of anchor and negative, against a positive at cosine 1"
    source: ClassVar[str] = "Schroff et al. 2015 (FaceNet), on unit vectors: |x - y|^2 / 2 = 1 - cosine"
    also: ClassVar[tuple[str, ...]] = ("triplet-margin", "triplet-margin-with-distance", "facenet")
    in_contrast: ClassVar[bool] = True

    margin: float = parameter(MARGIN, 1.0)
    sampling: str = parameter(SAMPLING, "supervised")

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"margin": self.margin, "sampling": self.sampling}

    @property
    def reads_whole_set(self) -> bool:
        return False

    def objective(self, orbits: Orbits) -> Objective:
        return Hinge(pair_mass(orbits, self.sampling), 1 - self.margin)

    def assumption(self, orbits: Orbits) -> str:
        # drawn iid, anchor and negative have the chance p_a p_b either way round
        return ONE_ENCODER if orbits.n_orbits > 1 and self.sampling == "supervised" else ""

    def course(self, over: str, level: str) -> Course:
        """A batch changes nothing."""
        return "rising" if over == "batch" else ""

    def levels(self, training: Training) -> Scale:
        orbits = training.orbits
        share = 1.0 if training.instances else negative_share(orbits, self.sampling)
        sampling = "supervised" if training.instances else self.sampling
        hinge = Hinge(pair_mass(orbits, sampling), 1 - self.margin)
        best = Optimum(hinge, orbits, only_for=self.assumption(orbits))
        return Scale.of_pairs(share * self.margin, lambda dim: share * random_hinge(self.margin, dim), best, training)
