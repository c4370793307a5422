"""Alignment and uniformity (Wang & Isola 2020), after within-class collapse, where alignment is perfect:

    F = log sum_ab p_a p_b e^{-s |x_a - x_b|^2} = log sum_ab p_a p_b e^{-2 s (1 - G_ab)}.

Levels: positives are views of one sample, and the mean is over pairs of *different samples*,

    |x_i - x_i'|^2 averaged + log mean_{i != j} e^{-s |x_i - x_j|^2},    uniformity in each view alone.

Both views at one point are best: then the alignment is 0 and each view has the same uniformity.  Samples of one class
are pushed apart like any others, so the optimum is the regular simplex of n samples, whatever their classes:

    total collapse 0,    random start (of many samples) 2 + log E e^{-2 s (1 - c)},    optimum -2 s n / (n - 1).

n is the batch, or without one the whole set (``counts``); proportions alone are a set without end.

Symbols: s ``uniform_t``, p_a ``proportions``, n ``count``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any, ClassVar

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import UNIFORM_T
from geomsolve.objectives.base import Objective
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.random_start import random_mean
from geomsolve.registry import parameter

REMARK = "Classes make no difference to align-uniform: it pushes the samples of one class apart like any others."

MANY = 2**53
"""Samples of a set without end: more do not change the optimum in floating point."""


@register
@dataclass(frozen=True)
class AlignUniform(Loss):
    """Uniformity of class means; see the module."""

    name: ClassVar[str] = "align-uniform"
    summary: ClassVar[str] = "log of the mean Gaussian potential between class means"
    source: ClassVar[str] = "Wang & Isola 2020"
    also: ClassVar[tuple[str, ...]] = ("alignment-uniformity", "align-and-uniform", "alignment-and-uniformity")
    in_contrast: ClassVar[bool] = True

    uniform_t: float = parameter(UNIFORM_T, 2.0)

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"uniform_t": self.uniform_t}

    def objective(self, orbits: Orbits) -> Objective:
        p = orbits.proportions
        weights = (orbits.pairs * np.outer(p, p)).reshape(1, -1)
        own = np.array([np.sum(orbits.sizes * p**2)])
        return LogSum(weights, own, np.ones(1), 2 * self.uniform_t, unique_minimiser=True)

    def course(self, over: str, level: str) -> Course:
        """A batch changes the optimum only, which is that of ever more points."""
        return "rising" if over == "batch" else ""

    def levels(self, training: Training) -> Scale:
        orbits, sharpness, batch = training.orbits, 2 * self.uniform_t, training.batch
        total = MANY if orbits.counts is None else int(np.sum(orbits.sizes * orbits.counts))
        count = batch or total
        samples = Orbits.equal(count)
        pairs = LogSum(np.ones((1, 1)), np.zeros(1), np.ones(1), sharpness, unique_minimiser=True)
        best = Optimum(pairs, samples)

        def random(dim: int) -> float:
            return 2 + log(random_mean(lambda c: np.exp(-sharpness * (1 - c)), dim, sharpness))

        embeddings = None if batch is None else batch * training.views
        return Scale(
            0.0,
            random,
            balanced=best,
            batches=None,
            anchors=embeddings,
            embeddings=embeddings,
            remark="" if training.instances else REMARK,
        )
