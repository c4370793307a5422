"""N-pair loss: N classes once in a batch, with an anchor and a positive, each against the positives of all others.

    l_a = log( 1 + sum_{b != a} e^{x_a.y_b/tau - x_a.y_a/tau} ),    F = (1/K) sum_a E log( 1 + sum_{b in S} e^{t_ab} ),

t = (G - 1)/tau, on unit vectors, S any k = N - 1 of the K - 1 other classes, all alike likely; all of them unless k is
given.  Per anchor it is convex in the cosines and falls with that of its positive, so that by Jensen's inequality
collapsed classes are best.  As no class comes more often than another, proportions do not matter: F does not change
when classes are permuted, and its only optimum is the regular simplex, F = log(1 + k e^{-K/((K-1) tau)}).
NPairsLoss forms its pairs from labels, one a class present, and compares inner products of free length (tau = 1).

Levels: a batch of N pairs, or of all classes where it is larger; total collapse log(1 + k), random start
E log( sum of k + 1 independent e^{c/tau} ).

Symbols: K ``n_classes``, tau ``temperature``, k ``negatives``, N ``batch`` in levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import NEGATIVES, TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.finite_draws import FiniteDraws
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.random_start import random_log_sum
from geomsolve.registry import parameter

MOST_ORBITS = 200
"""Distinct proportions up to which batches of some of the classes are evaluated: memory grows with their cube."""


@register
@dataclass(frozen=True)
class NPair(Loss):
    """N-pair loss; see the module."""

    name: ClassVar[str] = "n-pair"
    summary: ClassVar[str] = "classes once in a batch, all alike often: a regular simplex, whatever the proportions"
    source: ClassVar[str] = "Sohn 2016 (multi-class N-pair loss), on unit vectors"
    also: ClassVar[tuple[str, ...]] = ("n-pairs", "npair", "npairs", "n-pair-mc")
    needs_classes: ClassVar[bool] = True
    averaged: ClassVar[str] = "classes"

    temperature: float = parameter(TEMPERATURE, 0.1)
    negatives: float | None = parameter(NEGATIVES, None)

    def __post_init__(self) -> None:
        if self.negatives == inf:
            raise InputError("there are no more than other classes; leave it out for all", field="loss.negatives")

    @property
    def reads_whole_set(self) -> bool:
        return False

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        some = {} if self.negatives is None else {"negatives": int(self.negatives)}
        return {"temperature": self.temperature, **some}

    def objective(self, orbits: Orbits) -> Objective:
        others = orbits.n_classes - 1
        if self.negatives is not None and self.negatives > others:
            raise InputError(
                f"every class is in a batch once, so that an anchor has {others} negatives at most; leave it out for "
                "all of them",
                field="loss.negatives",
            )
        if self.negatives is not None and self.negatives < others:
            if orbits.n_orbits > MOST_ORBITS:
                raise InputError(
                    f"batches of some of the classes are evaluated for up to {MOST_ORBITS} distinct proportions; leave "
                    "it out, since the optimum is a regular simplex all the same",
                    field="loss.negatives",
                )
            once = replace(orbits, counts=np.ones(orbits.n_orbits))
            return FiniteDraws(once, int(self.negatives) + 1, 1, self.temperature, base=1.0)
        mass = orbits.sizes / orbits.n_classes
        return LogSum(orbits.others, np.ones(orbits.n_orbits), mass, 1 / self.temperature, unique_minimiser=True)

    def range_of(self, name: str, orbits: Orbits) -> tuple[float, float]:
        return (1, orbits.n_classes - 1) if name == "negatives" else super().range_of(name, orbits)

    def course(self, over: str, level: str) -> Course:
        """The logarithm of a sum, which rises with every further term and, where no cosine is above that of the
        positive, with the temperature."""
        if over == "temperature":
            return "falling" if level == "random_start" else "rising"
        return "rising" if over in ("batch", "negatives") else ""

    def levels(self, training: Training) -> Scale:
        orbits, batch = training.orbits, training.batch
        drawn = orbits.n_classes if batch is None else min(batch, orbits.n_classes)
        k = drawn - 1 if self.negatives is None else int(self.negatives)
        best = Optimum(self.replace(negatives=k).objective(orbits), orbits)
        return Scale(
            log(1 + k),
            lambda dim: random_log_sum([(1.0, k + 1)], self.temperature, dim),
            balanced=best,
            batches=None,
            anchors=k + 1,
            embeddings=2 * (k + 1),
        )
