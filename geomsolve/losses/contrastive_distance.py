"""Contrastive loss on Euclidean distances, D = sqrt(2 - 2 cosine): far positive pairs and near negative ones cost.

    positive pair   max(D - pos_distance, 0)^q          negative pair   max(neg_distance - D, 0)^q

q = 1 as in ContrastiveLoss as it comes (pos_margin 0, neg_margin 1), or ``squared``, q = 2, as it was published: twice
the sum of its halves of squares.  The negative part is convex in the cosines (``objectives/distances.py``).  The
positive part is not, but costs nothing at one point, and nowhere less; so collapsed classes are best, and

    F = sum_a p_a sum_{b != a} r(b|a) max(M - D_ab, 0)^q,      M = neg_distance,

r as in ``objectives/pairs.py``.  The same is left of a triplet max(D_+ - D_- + M, 0) on distances.  F is 0 iff all
distances are at least M, and as those of K classes have a mean square of 2 K/(K - 1) at most, that is possible iff
M <= sqrt(2 K/(K - 1)): with M = 1, classes 60 degrees apart cost nothing, and which geometry they take is open.

Levels, q' the probability that a negative is of another class: total collapse q' M^q; random start
E max(D - pos_distance, 0)^q + q' E max(M - D, 0)^q.

Symbols: M ``neg_distance``, q' ``share``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import ONE_ENCODER, Loss, register
from geomsolve.losses.parameters import NEG_DISTANCE, POS_DISTANCE, SAMPLING, SQUARED
from geomsolve.objectives.base import Objective
from geomsolve.objectives.distances import DistanceHinge
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.pairs import pair_mass
from geomsolve.objectives.random_start import random_mean
from geomsolve.objectives.sampling import negative_share
from geomsolve.registry import parameter

KINK = 4000.0
"""How steep a function of the cosine a hinge counts as, where it is averaged over random directions."""


@register
@dataclass(frozen=True)
class ContrastiveDistance(Loss):
    """Contrastive loss on distances; see the module."""

    name: ClassVar[str] = "contrastive-distance"
    summary: ClassVar[str] = "hinges on Euclidean distances, as ContrastiveLoss comes in pytorch-metric-learning"
    source: ClassVar[str] = "Hadsell et al. 2006 (dimensionality reduction by learning an invariant mapping)"
    also: ClassVar[tuple[str, ...]] = ("contrastive-euclidean", "contrastive-lp", "hadsell", "triplet-distance")

    neg_distance: float = parameter(NEG_DISTANCE, 1.0)
    pos_distance: float = parameter(POS_DISTANCE, 0.0)
    squared: bool = parameter(SQUARED, False)
    sampling: str = parameter(SAMPLING, "supervised")

    @property
    def power(self) -> int:
        """q."""
        return 2 if self.squared else 1

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"neg_distance": self.neg_distance, "squared": self.squared, "sampling": self.sampling}

    @property
    def reads_whole_set(self) -> bool:
        return False

    def objective(self, orbits: Orbits) -> Objective:
        return DistanceHinge(pair_mass(orbits, self.sampling), self.neg_distance, self.power)

    def assumption(self, orbits: Orbits) -> str:
        return ONE_ENCODER if orbits.n_orbits > 1 and self.sampling == "supervised" else ""

    def notes_for(self, n_classes: int) -> tuple[str, ...]:
        most = sqrt(2 * n_classes / (n_classes - 1))
        found = []
        if self.neg_distance > most + 1e-12:
            found.append(
                f"the distance asked of negative pairs is out of reach: {n_classes:,} classes cannot all be "
                f"{self.neg_distance:g} apart, at best all {most:.4g}, so some pairs always cost"
            )
        if self.pos_distance > 0:
            found.append(
                f"positive pairs cost nothing up to a distance of {self.pos_distance:g}: classes may keep a spread as "
                "wide as that, beside the collapsed ones that are shown"
            )
        return tuple(found)

    def course(self, over: str, level: str) -> Course:
        """A batch changes nothing."""
        return "rising" if over == "batch" else ""

    def levels(self, training: Training) -> Scale:
        orbits = training.orbits
        share = 1.0 if training.instances else negative_share(orbits, self.sampling)
        sampling = "supervised" if training.instances else self.sampling

        def random(dim: int) -> float:
            def cost(short: float, sign: int) -> float:
                return random_mean(
                    lambda c: np.maximum(sign * (np.sqrt(np.maximum(2 - 2 * c, 0)) - short), 0) ** self.power, dim, KINK
                )

            return cost(self.pos_distance, 1) + share * cost(self.neg_distance, -1)

        hinge = DistanceHinge(pair_mass(orbits, sampling), self.neg_distance, self.power)
        best = Optimum(hinge, orbits, only_for=self.assumption(orbits))
        return Scale.of_pairs(share * self.neg_distance**self.power, random, best, training)
