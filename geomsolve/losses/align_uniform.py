"""Alignment and uniformity (Wang & Isola 2020), after within-class collapse, where alignment is perfect:

    F = log sum_ab p_a p_b e^{-s |x_a - x_b|^2} = log sum_ab p_a p_b e^{-2 s (1 - G_ab)}.

Symbols: s ``uniform_t``, p_a ``proportions``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import UNIFORM_T
from geomsolve.objectives.base import Objective
from geomsolve.objectives.levels import Optimum, Scale, Training
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.random_start import random_mean
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class AlignUniform(Loss):
    """Uniformity of class means; see the module."""

    name: ClassVar[str] = "align-uniform"
    summary: ClassVar[str] = "log of the mean Gaussian potential between class means"
    source: ClassVar[str] = "Wang & Isola 2020"

    uniform_t: float = parameter(UNIFORM_T, 2.0)

    def objective(self, orbits: Orbits) -> Objective:
        p = orbits.proportions
        weights = (orbits.pairs * np.outer(p, p)).reshape(1, -1)
        own = np.array([np.sum(orbits.sizes * p**2)])
        return LogSum(weights, own, np.ones(1), 2 * self.uniform_t, unique_minimiser=True)

    def levels(self, training: Training) -> Scale:
        orbits, sharpness = training.orbits, 2 * self.uniform_t
        embeddings = None if training.batch is None else training.batch * training.views

        def random(dim: int) -> float:
            return 2 + log(random_mean(lambda c: np.exp(-sharpness * (1 - c)), dim, sharpness))

        return Scale(
            0.0, random, None, Optimum(self.objective(orbits), orbits), anchors=embeddings, embeddings=embeddings
        )
