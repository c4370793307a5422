"""NT-Xent on labelled batches, after within-class collapse: every positive pair against the other classes.

    F = E[ sum_a m_a (m_a - 1) log( 1 + sum_{b != a} m_b e^{t_ab} ) / sum_a m_a (m_a - 1) ],    m_a = V n_a,

n_a of B samples of class a, drawn with replacement (or, by enumeration, without), in V views; exact or as a ratio of
expectations, see ``objectives/positive_pairs.py``.  Source: Chen et al. 2020 (SimCLR) for pairs of views; with labels,
NTXentLoss of pytorch-metric-learning.  Where SupCon averages over anchors, this averages over pairs, of which a class
has about the square of its samples; and a positive has no other positives in its denominator.

Levels, N = V B embeddings in a batch: total collapse log(1 + N - m_a), random start E log of a sum of 1 + N - m_a,
weighted as pairs are; balanced batches, m = N / K of a class, have the optimum log(1 + (N - m) e^{-K / ((K-1) tau)}).
Where every sample is its own class, m = V: with two views this is the loss of SimCLR.

Symbols: B ``batch``, V ``views``, tau ``temperature``, N ``embeddings``, m ``per_class``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.losses.base import Loss, register, settle_batches
from geomsolve.losses.parameters import BATCH, REPLACEMENT, SAMPLER, TEMPERATURE, VIEWS
from geomsolve.objectives.base import Objective
from geomsolve.objectives.drawn_batches import whole_counts
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.positive_pairs import MOST_COMPOSITIONS, PairBatches, positive_pairs
from geomsolve.objectives.random_start import random_log_sum
from geomsolve.objectives.rebalanced import Rebalance
from geomsolve.registry import parameter

LARGEST_BATCH = 2**20
"""Batches up to which a threshold is looked for."""

CROWDS = 64
"""Numbers of negatives at which the random start is worked out; in between it is a cubic in their logarithm."""


@register
@dataclass(frozen=True)
class NTXent(Loss):
    """NT-Xent on labelled batches; see the module."""

    name: ClassVar[str] = "nt-xent"
    summary: ClassVar[str] = (
        "every positive pair of a labelled batch against the other classes; one class a sample: SimCLR"
    )
    source: ClassVar[str] = "Chen et al. 2020; NTXentLoss of pytorch-metric-learning on labels"
    also: ClassVar[tuple[str, ...]] = ("normalized-temperature-scaled-cross-entropy",)

    averaged: ClassVar[str] = "positive pairs"

    temperature: float = parameter(TEMPERATURE, 0.1)
    batch: int | None = parameter(BATCH, None)
    views: int | None = parameter(VIEWS, None)
    replacement: str | None = parameter(REPLACEMENT, None)
    sampler: float | None = parameter(SAMPLER, None)

    def __post_init__(self) -> None:
        settle_batches(self)
        if self.replacement == "no" and self.sampler is not None:
            raise InputError("a sampler draws with replacement; leave one of the two out", field="loss.sampler")
        if self.batch == 2 and self.views == 1:
            raise InputError(
                "with two samples of one view a positive pair has no negative, so the loss is 0 everywhere; "
                "take a larger batch",
                field="loss.batch",
            )

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        if self.batch is None or self.sampler is not None:
            return None
        finite = {"replacement": "no"} if self.replacement == "no" else {}
        return {"temperature": self.temperature, "batch": self.batch, "views": self.views, **finite}

    def _batches(self, orbits: Orbits, batch: int, views: int, way: str | None) -> PairBatches:
        """The batches, of classes as the sampler draws them; ``way``: as ``replacement``."""
        drawn = replace(orbits, proportions=Rebalance(self.sampler).by_orbit(orbits)[0])
        batches = PairBatches(drawn, batch, views, finite=way == "no")
        if batches.finite:
            counts = whole_counts(orbits, batch)
            if views == 1 and counts.max() < 2:
                raise InputError(
                    "every class has one sample, so in one view there is no positive pair and the loss is 0 "
                    "everywhere; give a class two samples or take two views",
                    field="loss.views",
                )
            if not batches.few:
                raise InputError(
                    f"without replacement all compositions of a batch are enumerated, and these are more than "
                    f"{MOST_COMPOSITIONS:,}; leave it out, or take a smaller batch or fewer classes",
                    field="loss.replacement",
                )
        return batches

    def objective(self, orbits: Orbits) -> Objective:
        if self.batch is None or self.batch == inf or self.views is None:
            raise InputError("it compares within a batch; give its size, --batch B", field="loss.batch")
        return positive_pairs(self._batches(orbits, self.batch, self.views, self.replacement), self.temperature)

    @property
    def counts_are_samples(self) -> bool:
        return self.replacement == "no"

    @property
    def reads_whole_set(self) -> bool:
        return False

    def range_of(self, name: str, orbits: Orbits) -> tuple[float, float]:
        if name != "batch":
            return super().range_of(name, orbits)
        most = float(LARGEST_BATCH)
        if self.replacement == "no" and orbits.counts is not None:
            most = float(orbits.sizes @ orbits.counts)
        return 3 if self.views == 1 else 2, most

    def course(self, over: str, level: str) -> Course:
        """Each is a mean of logarithms of sums of e^{(c - 1)/tau} and 1: it rises with the temperature, and with one
        class a sample with every further one.  At random it is convex in 1/tau with slope 0 at 0."""
        if over == "temperature":
            return "falling" if level == "random_start" else "rising"
        return ""

    def levels(self, training: Training) -> Scale:
        orbits, batch, views = training.orbits, training.size, training.views
        embeddings = batch * views
        if training.balanced:
            per_class = views * training.per_class
            if per_class <= 1:
                raise InputError("with one view and one sample a class there is no positive pair", field="views")
            objective: Objective = LogSum(
                orbits.others * per_class, np.ones(1), np.ones(1), 1 / self.temperature, unique_minimiser=True
            )
            crowds, mass = np.array([round(embeddings - per_class)]), np.ones(1)
            collapse = log(1 + embeddings - per_class)
        batches, drawn, other = None, None, None
        if not training.instances:
            drawn, *rest = (self._batches(orbits, batch, views, way) for way in self._ways(training))
            pairs = positive_pairs(drawn, self.temperature)
            batches = Optimum(pairs, orbits)
            if rest and not training.balanced:
                other = Optimum(positive_pairs(rest[0], self.temperature), orbits)
            if not training.balanced:
                crowds, mass = pairs.crowds()
                collapse = pairs.value(np.ones((orbits.n_orbits, orbits.n_orbits)))
        return Scale(
            collapse,
            lambda dim: self._random(crowds, mass, dim),
            Optimum(objective, orbits) if training.balanced else None,
            batches,
            anchors=round(embeddings * (per_class - 1)) if training.balanced else None,
            embeddings=embeddings,
            drawn=drawn,
            other=other,
            temperature=self.temperature,
        )

    def _ways(self, training: Training) -> tuple[str, ...]:
        """How random batches are drawn first, then the other way: without replacement where that can be worked out."""
        orbits, wanted, batch = training.orbits, training.replacement, training.size
        if wanted is not None:
            return (wanted,)
        plain = PairBatches(orbits, batch, training.views, finite=False)
        counts = orbits.counts
        if counts is None or self.sampler is not None or not plain.few or batch > orbits.sizes @ counts:
            return ("yes",)
        return ("no", "yes") if training.views > 1 or counts.max() > 1 else ("yes",)

    def _random(self, crowds: IntArray, mass: FloatArray, dim: int) -> float:
        """E log of a sum of 1 + k random terms, k from ``crowds`` with weight ``mass``, less that of the positive."""
        from scipy.interpolate import CubicSpline  # here, since only levels need it

        def at(k: int) -> float:
            return random_log_sum([(1.0, k + 1)], self.temperature, dim)

        if crowds.size <= CROWDS:
            return float(sum(weight * at(k) for k, weight in zip(crowds.tolist(), mass.tolist(), strict=True)))
        knots = np.unique(np.round(np.geomspace(1 + crowds[0], 1 + crowds[-1], CROWDS)).astype(np.int64))
        spline = CubicSpline(np.log(knots), [at(int(k) - 1) for k in knots])
        return float(mass @ spline(np.log1p(crowds)))
