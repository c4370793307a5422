"""Contrastive loss with margins: positive pairs below one cosine and negative pairs above another cost.

    positive pair   max(pos_margin - c, 0)          negative pair   max(c - neg_margin, 0)

on cosines c, the mean over positive pairs added to that over negative ones, as in ContrastiveLoss with
CosineSimilarity.  Both are convex in the cosines, and positive pairs cost nothing at c = 1, so that by Jensen's
inequality collapsed classes are best (though where pos_margin < 1 not only they: classes may keep their spread), and

    F = sum_a p_a sum_{b != a} r(b|a) max(G_ab - neg_margin, 0),

r as in ``objectives/pairs.py``: a triplet hinge whose margin is 1 - neg_margin.  It is 0 iff all cosines are at most
neg_margin, and as those of K classes have a mean of -1/(K - 1) at least, that is possible iff neg_margin >= -1/(K - 1):
a smaller one is out of reach.

On distances d = sqrt(2 - 2c) instead, max(neg_margin - d, 0) is convex in c as well, but another loss.

Levels, q the probability that a negative is of another class: total collapse q (1 - neg_margin); random start
E max(pos_margin - c, 0) + q E max(c - neg_margin, 0).

Symbols: q ``share``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.losses.base import ONE_ENCODER, Loss, register
from geomsolve.losses.parameters import NEG_MARGIN, POS_MARGIN, SAMPLING
from geomsolve.objectives.base import Objective
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.pairs import Hinge, pair_mass
from geomsolve.objectives.random_start import random_mean
from geomsolve.objectives.sampling import negative_share
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class Contrastive(Loss):
    """Contrastive loss with margins; see the module."""

    name: ClassVar[str] = "contrastive"
    summary: ClassVar[str] = "hinges on cosines: positive pairs below one margin cost, negative ones above another"
    source: ClassVar[str] = "Hadsell et al. 2006, on cosines (ContrastiveLoss with CosineSimilarity)"
    also: ClassVar[tuple[str, ...]] = ("contrastive-margin", "contrastive-cosine", "cosine-embedding", "pair-margin")

    pos_margin: float = parameter(POS_MARGIN, 1.0)
    neg_margin: float = parameter(NEG_MARGIN, 0.0)
    sampling: str = parameter(SAMPLING, "supervised")

    @property
    def reads_whole_set(self) -> bool:
        return False

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"neg_margin": self.neg_margin, "sampling": self.sampling}

    def objective(self, orbits: Orbits) -> Objective:
        return Hinge(pair_mass(orbits, self.sampling), self.neg_margin)

    def assumption(self, orbits: Orbits) -> str:
        return ONE_ENCODER if orbits.n_orbits > 1 and self.sampling == "supervised" else ""

    def notes_for(self, n_classes: int) -> tuple[str, ...]:
        least = simplex_cosine(n_classes)
        found = []
        if self.neg_margin < least - 1e-12:
            found.append(
                f"the margin of negative pairs is out of reach: {n_classes:,} classes cannot all be at cosines of "
                f"{self.neg_margin:g} or less, at best all at {least:.4g}, so some pairs always cost"
            )
        if self.pos_margin < 1:
            found.append(
                f"positive pairs cost nothing from cosine {self.pos_margin:g} on: classes may keep a spread as wide as "
                "that, beside the collapsed ones that are shown"
            )
        return tuple(found)

    def course(self, over: str, level: str) -> Course:
        """A batch changes nothing."""
        return "rising" if over == "batch" else ""

    def levels(self, training: Training) -> Scale:
        orbits, low, high = training.orbits, self.neg_margin, self.pos_margin
        share = 1.0 if training.instances else negative_share(orbits, self.sampling)
        sampling = "supervised" if training.instances else self.sampling

        def random(dim: int) -> float:
            near = random_mean(lambda c: np.maximum(high - c, 0.0), dim, 4000.0)
            return near + share * random_mean(lambda c: np.maximum(c - low, 0.0), dim, 4000.0)

        best = Optimum(Hinge(pair_mass(orbits, sampling), low), orbits, only_for=self.assumption(orbits))
        return Scale.of_pairs(share * (1 - low), random, best, training)
