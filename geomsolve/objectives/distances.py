"""Losses of Euclidean distances between unit vectors, D = sqrt(2 - 2 C): convex in the cosines C all the same.

- D is convex and rises in C, with slope 1/D and second derivative 1/D^3.  What is convex and rises
in - D is convex in C:

    hinge      F = sum_gh pair_mass_gh max(M - D_gh, 0)^q,   q = 1 or 2
    lifted     F = (1/2) sum_a p_a max(y_a, 0)^2,   y_a = log( k sum_b r(b|a) e^{M - D_ab} )

The slope of - D has no bound where two classes meet.  So no two classes that cost anything share a point at an optimum:
drawn apart a little, by t in the cosine, they gain sqrt(2 t), and all others lose no more than in proportion to t.
Closer than :data:`NEAREST` D is continued by its tangent, which lies below F.  So every lower bound holds of F itself,
and no number overflows on the way.  With q = 1 the hinge has a kink at D = M, at the cosine 1 - M^2/2; theta (M - D) is
below it for every theta in [0, 1].  Derived for this project.

Symbols: M ``margin``, q ``power``, D ``distance``; p_a r(b|a) summed over an orbit pair ``mass``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.types import BoolArray, FloatArray
from geomsolve.objectives.base import Curvature, Minorant, Objective, RowCurvature
from geomsolve.objectives.pairs import LEAST_SHARE, entrywise, part_of

NEAREST = 1e-10
"""1 - C below which the distance is continued by its tangent: a 70,000th of the radius."""

APART = "two classes at one point repel each other with a slope that has no bound, so that no two share one"


@dataclass(frozen=True)
class Nearness:
    """- D at cosines (m, m), with its ``slope`` and ``bend``, the first and second derivative."""

    value: FloatArray
    slope: FloatArray
    bend: FloatArray

    @classmethod
    def of(cls, cosines: FloatArray) -> Nearness:
        """See the module."""
        far = np.maximum(1 - cosines, NEAREST)
        distance = np.sqrt(2 * far)
        beyond = far - (1 - cosines)
        return cls(beyond / distance - distance, 1 / distance, np.where(beyond > 0, 0.0, distance**-3.0))


class DistanceHinge(Objective):
    """F = sum_gh pair_mass_gh max(M - D_gh, 0)^q; smooth where q = 2, or where M is out of reach, D <= 2."""

    keeps_apart = APART

    def __init__(self, mass: FloatArray, margin: float, power: int = 1) -> None:
        self.mass, self.margin, self.power = mass, margin, power
        self.smooth = power == 2 or margin >= 2
        self.unique_minimiser = margin >= 2

    def _short(self, cosines: FloatArray) -> tuple[FloatArray, Nearness]:
        """M - D, and - D."""
        near = Nearness.of(cosines)
        return self.margin + near.value, near

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        short, near = self._short(cosines)
        cost = np.maximum(short, 0.0)
        if self.power == 2:
            return float(np.sum(self.mass * cost**2)), 2 * self.mass * cost * near.slope
        return float(np.sum(self.mass * cost)), np.where(short >= 0, self.mass * near.slope, 0.0)

    def curvature(self, cosines: FloatArray) -> Curvature:
        short, near = self._short(cosines)
        if self.power == 2:
            return entrywise(np.where(short > 0, 2 * self.mass * (near.slope**2 + short * near.bend), 0.0))
        return entrywise(np.where(short > 0, self.mass * near.bend, 0.0))

    def minorant(self, cosines: FloatArray, slopes: FloatArray | None = None) -> Minorant:
        """theta (M - D) by its tangent, theta in [0, 1] by a solver's slopes where there are some."""
        if slopes is None or self.smooth:
            return super().minorant(cosines)
        short, near = self._short(cosines)
        steepest = self.mass * near.slope
        slope = np.clip(slopes, 0.0, steepest)
        return Minorant(float(np.sum(slope / near.slope * short)), slope)

    def shares(self, cosines: FloatArray, slope: FloatArray) -> FloatArray | None:
        if self.power == 2:
            return None
        return part_of(self.mass * self._short(cosines)[1].slope, slope)

    def smoothed(self, width: float, slopes: FloatArray | None = None) -> Objective | None:
        """A width in cosine is one of width / M in distance at the kink, where slopes are theta mass / M."""
        if self.smooth:
            return None
        half = np.full_like(self.mass, 0.5)
        share = half if slopes is None else np.divide(slopes * self.margin, self.mass, out=half, where=self.mass > 0)
        return SmoothDistanceHinge(self.mass, self.margin, width / self.margin, share)


class SmoothDistanceHinge(DistanceHinge):
    """F = sum_gh pair_mass_gh width log(1 - theta_gh + theta_gh e^{(M - D_gh)/width}): as ``pairs.SmoothHinge``."""

    def __init__(self, mass: FloatArray, margin: float, width: float, share: FloatArray) -> None:
        super().__init__(mass, margin)
        self.smooth = self.unique_minimiser = True
        self.width = width
        part = np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)
        self.log_odds, self.log_rest = np.log(part) - np.log1p(-part), np.log1p(-part)

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        short, near = self._short(cosines)
        logit = short / self.width + self.log_odds
        value = self.width * float(np.sum(self.mass * (np.logaddexp(0.0, logit) + self.log_rest)))
        return value, self.mass * near.slope * np.exp(-np.logaddexp(0.0, -logit))

    def curvature(self, cosines: FloatArray) -> Curvature:
        short, near = self._short(cosines)
        part = np.exp(-np.logaddexp(0.0, -(short / self.width + self.log_odds)))
        return entrywise(self.mass * part * (near.bend + (1 - part) / self.width * near.slope**2))


class Lifted(Objective):
    """F = (1/2) sum_g mass_g max(y_g, 0)^2,  y_g = log sum_h many_gh e^{M - D_gh}.

    ``mass`` (m,) of all anchors of an orbit; ``many`` (m, m): how many negatives an anchor in orbit g has in orbit h.
    """

    def __init__(self, mass: FloatArray, many: FloatArray, margin: float) -> None:
        self.mass, self.many, self.margin = mass, many, margin
        always = bool(np.all(many.sum(axis=1) * np.exp(margin - 2) > 1))
        self.unique_minimiser = always
        self.keeps_apart = APART if always else ""

    def _terms(self, cosines: FloatArray) -> tuple[FloatArray, FloatArray, Nearness]:
        """y (m,), the part of each orbit in its sum (m, m), and - D."""
        near = Nearness.of(cosines)
        exponent = np.where(self.many > 0, near.value, -np.inf)
        most = exponent.max(axis=1, keepdims=True)
        terms = self.many * np.exp(exponent - most)
        total = terms.sum(axis=1, keepdims=True)
        return (np.log(total) + most)[:, 0] + self.margin, terms / total, near

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        y, part, near = self._terms(cosines)
        cost = np.maximum(y, 0.0)
        return float(self.mass @ cost**2) / 2, (self.mass * cost)[:, None] * part * near.slope

    def curvature(self, cosines: FloatArray) -> Curvature:
        """mass [ y diag(part (slope^2 + bend)) + (1 - y) (part slope)(part slope)' ] at each active anchor."""
        y, part, near = self._terms(cosines)
        active: BoolArray = y > 0
        size = np.where(active, self.mass, 0.0)
        own = (size * np.maximum(y, 0.0))[:, None] * part * (near.slope**2 + near.bend)
        pull = part * near.slope
        if np.all(y >= 1):
            return RowCurvature(own, (np.sqrt(size * (y - 1))[:, None] * pull)[None])
        factor = (size * (y - 1))[:, None] * pull

        def bent(change: FloatArray) -> FloatArray:
            moved: FloatArray = own * change - factor * np.sum(pull * change, axis=1, keepdims=True)
            return moved

        return bent
