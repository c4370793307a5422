"""Objectives of a logit that is no longer linear in the cosine; see ``losses/weince.py``."""

from __future__ import annotations

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Curvature, Objective, RowCurvature
from geomsolve.objectives.logsum import LogSum


class ConvexLogit(Objective):
    """F(C) = outer(1 + l(C) - l(1)): a rising convex ``outer`` of a convex logit l, entry by entry.

    With H = own - sum_r rows_r rows_r' of the outer F and A = dF/dl its curvature is
    (l'^2 own + A l'') - sum_r (l' rows_r) (l' rows_r)', of the same kind."""

    unique_minimiser = True

    def __init__(self, outer: LogSum, temperature: float, weight: float, shape: float, delta: float) -> None:
        self.outer, self.delta = outer, delta
        self.linear, self.pole = (1 - weight) / temperature, weight * shape

    def _inner(self, cosines: FloatArray) -> FloatArray:
        distance = 1 - cosines + self.delta
        inner: FloatArray = 1 + self.linear * (cosines - 1) - self.pole * np.log(distance / self.delta)
        return inner

    def _slope(self, cosines: FloatArray) -> FloatArray:
        slope: FloatArray = self.linear + self.pole / (1 - cosines + self.delta)
        return slope

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.outer.evaluate(self._inner(cosines))
        return value, gradient * self._slope(cosines)

    def curvature(self, cosines: FloatArray) -> Curvature:
        inner, slope = self._inner(cosines), self._slope(cosines)
        gradient, outer = self.outer.gradient(inner), self.outer.curvature(inner)
        bend = gradient * self.pole / (1 - cosines + self.delta) ** 2
        assert isinstance(outer, RowCurvature)
        return RowCurvature(slope**2 * outer.own + bend, slope * outer.rows, outer.joint)


class Indifferent(Objective):
    """The constant that every geometry of distinct points attains."""

    def __init__(self, value: float, why: str) -> None:
        self.constant, self.degenerate = value, why

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        return self.constant, np.zeros_like(cosines)

    def curvature(self, cosines: FloatArray) -> Curvature:
        return np.zeros_like
