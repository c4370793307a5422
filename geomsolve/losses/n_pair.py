"""N-pair loss: every class once in a batch, with an anchor and a positive, against the positives of all others.

    l_a = log( 1 + sum_{b != a} e^{x_a.y_b/tau - x_a.y_a/tau} ),    F = (1/K) sum_a log( 1 + sum_{b != a} e^{t_ab} ),

t = (G - 1)/tau, on unit vectors.  Per anchor it is convex in the cosines and falls with that of its positive, so that
by Jensen's inequality collapsed classes are best.  As batches hold every class once, proportions do not matter: F does
not change when classes are permuted, and its only optimum is the regular simplex,
F = log(1 + (K-1) e^{-K/((K-1) tau)}).
NPairsLoss forms its pairs from labels, one a class present, and compares inner products of free length (tau = 1);
batches of all classes are meant here.

Symbols: K ``n_classes``, tau ``temperature``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.logsum import LogSum
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class NPair(Loss):
    """N-pair loss; see the module."""

    name: ClassVar[str] = "n-pair"
    summary: ClassVar[str] = "every class once in a batch: a regular simplex, whatever the proportions"
    source: ClassVar[str] = "Sohn 2016 (multi-class N-pair loss), on unit vectors"
    also: ClassVar[tuple[str, ...]] = ("n-pairs", "npair", "npairs", "n-pair-mc")
    needs_classes: ClassVar[bool] = True
    averaged: ClassVar[str] = "classes"

    temperature: float = parameter(TEMPERATURE, 0.1)

    @property
    def reads_whole_set(self) -> bool:
        return False

    def objective(self, orbits: Orbits) -> Objective:
        mass = orbits.sizes / orbits.n_classes
        return LogSum(orbits.others, np.ones(orbits.n_orbits), mass, 1 / self.temperature, unique_minimiser=True)
