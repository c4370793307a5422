"""SupCon with the mean over positives inside the logarithm, L_in.

    l_i = - log( (1/|P|) sum_{p in P} e^{s_ip} / sum_{a != i} e^{s_ia} )
        = log |P| + log( 1 + sum_{n of other classes} e^{s_in} / sum_{p in P} e^{s_ip} )

is not convex in the cosines: it is concave along those of the positives.  But it falls with each of them, which are at
most 1, and at 1 it is what L_out is there, log( sum_{a != i} e^{t_ia} ), t = s - 1/tau.  That is convex in the other
cosines, so that by Jensen's inequality no embedding has a lower mean than collapsed classes can have: F, its optimum
and its collapse are those of ``losses/supcon.py`` in the population limit, and as much proven.  (How samples of one
class gather on the way is another question: L_in hardly pulls at the farther ones.)

Levels are those of supcon but for the random start, E log( sum of all e^s ) - E log( sum of the n positives' ) + log n.

Source: Khosla et al. 2020, equation 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import TEMPERATURE
from geomsolve.losses.supcon import SupCon
from geomsolve.objectives.base import Objective
from geomsolve.objectives.drawn_batches import Batches
from geomsolve.objectives.levels import Course, Scale, Training
from geomsolve.objectives.random_start import random_log_sum
from geomsolve.registry import parameter

NEGLIGIBLE = 1e-12
"""Chance of so many positives below which it is left out."""


@register
@dataclass(frozen=True)
class SupConIn(Loss):
    """SupCon's L_in; see the module."""

    name: ClassVar[str] = "supcon-in"
    summary: ClassVar[str] = "SupCon with the mean over positives inside the logarithm: the same optimum as supcon"
    source: ClassVar[str] = "Khosla et al. 2020, L_in"
    also: ClassVar[tuple[str, ...]] = ("l-in", "supcon-l-in")
    needs_classes: ClassVar[bool] = True

    temperature: float = parameter(TEMPERATURE, 0.1)

    @property
    def outside(self) -> SupCon:
        """SupCon with the mean outside, of the same optimum."""
        return SupCon(self.temperature)

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"temperature": self.temperature}

    def objective(self, orbits: Orbits) -> Objective:
        return self.outside.objective(orbits)

    @property
    def counted_off(self) -> str:
        return self.outside.counted_off

    def notes(self) -> tuple[str, ...]:
        return ("at the optimum L_in is L_out: where the positives share a point both means are the same",)

    def course(self, over: str, level: str) -> Course:
        """As of supcon, but for the random start, which is a difference."""
        return "" if level == "random_start" else self.outside.course(over, level)

    def levels(self, training: Training) -> Scale:
        scale = self.outside.levels(training)
        everyone = training.size * training.views - 1

        def random(dim: int) -> float:
            whole = random_log_sum([(1.0, everyone)], self.temperature, dim)
            return sum(
                chance * (whole - random_log_sum([(1.0, n)], self.temperature, dim) + log(n))
                for n, chance in positives(training, scale.drawn)
            )

        return replace(scale, random=random)


def positives(training: Training, drawn: Batches | None) -> Iterator[tuple[int, float]]:
    """How many positives an anchor may have, 1 or more, each with its chance: as ``drawn``, or of balanced batches."""
    from scipy.stats import binom, hypergeom  # here, since only this loss needs it

    batch, views, orbits = training.size, training.views, training.orbits
    if drawn is None or training.balanced:
        n = training.per_class * views - 1
        if n != round(n):
            raise InputError(
                "the random start needs whole numbers of samples a class; take another batch", field="batch"
            )
        yield round(n), 1.0
        return
    others, shares = np.arange(batch), np.zeros(batch)
    if drawn.finite and orbits.counts is not None:
        total = float(orbits.sizes @ orbits.counts)
        for size, n in zip(orbits.sizes, orbits.counts, strict=True):
            shares += size * n / total * hypergeom.pmf(others, total - 1, n - 1, batch - 1)
    else:
        for size, p in zip(orbits.sizes, orbits.proportions, strict=True):
            shares += size * p * binom.pmf(others, batch - 1, p)
    for other in np.flatnonzero(shares > NEGLIGIBLE).tolist():
        n = views * other + views - 1
        if n:
            yield n, float(shares[other])
