"""Enclosures: intervals [low, high], arrays of them, that contain what the operations give for all their members.

Every result is moved outwards by a unit in the last place, those of elementary functions by :data:`ULPS`, so that what
an enclosure says holds for real numbers, as long as numpy's functions are as accurate as its own tests demand.  Where
something is not defined on an interval the enclosure is the whole line.  Bounds that are 0 for certain, such as that of
a square, stay 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geomsolve.gram.types import BoolArray, FloatArray

ULPS = 16
"""Units in the last place by which functions may be wrong: numpy's by 4, and up to three of them make one here."""


def _down(x: FloatArray, steps: int = 1) -> FloatArray:
    for _ in range(steps):
        x = np.nextafter(x, -np.inf)
    return x


def _up(x: FloatArray, steps: int = 1) -> FloatArray:
    for _ in range(steps):
        x = np.nextafter(x, np.inf)
    return x


@dataclass(frozen=True)
class Enclosure:
    """``low`` and ``high``, arrays of one shape."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, low: FloatArray, high: FloatArray) -> Enclosure:
        """Between two bounds; the whole line where one of them is no number."""
        lost = np.isnan(low) | np.isnan(high)
        return cls(np.where(lost, -np.inf, low), np.where(lost, np.inf, high))

    @classmethod
    def point(cls, value: float) -> Enclosure:
        """A number, exactly."""
        return cls(np.float64(value), np.float64(value))  # type: ignore[arg-type]

    @property
    def zero(self) -> BoolArray:
        """Where it is the number 0."""
        zero: BoolArray = np.logical_and(self.low == 0, self.high == 0)
        return zero

    @property
    def finite(self) -> BoolArray:
        finite: BoolArray = np.logical_and(np.isfinite(self.low), np.isfinite(self.high))
        return finite

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.high, -self.low)

    def __add__(self, other: Enclosure) -> Enclosure:
        exact = self.zero | other.zero
        low, high = self.low + other.low, self.high + other.high
        lower, upper = np.where(exact, low, _down(low)), np.where(exact, high, _up(high))
        positive, negative = (self.low >= 0) & (other.low >= 0), (self.high <= 0) & (other.high <= 0)
        return Enclosure.of(*_signed(lower, upper, positive, negative))

    def __sub__(self, other: Enclosure) -> Enclosure:
        return self + -other

    def __mul__(self, other: Enclosure) -> Enclosure:
        with np.errstate(invalid="ignore"):
            ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        low, high = np.minimum.reduce(np.broadcast_arrays(*ends)), np.maximum.reduce(np.broadcast_arrays(*ends))
        exact = (self.zero & other.finite) | (other.zero & self.finite)
        lower, upper = np.where(exact, 0.0, _down(low)), np.where(exact, 0.0, _up(high))
        same = ((self.low >= 0) & (other.low >= 0)) | ((self.high <= 0) & (other.high <= 0))
        unlike = ((self.low >= 0) & (other.high <= 0)) | ((self.high <= 0) & (other.low >= 0))
        return Enclosure.of(*_signed(lower, upper, same, unlike))

    def __truediv__(self, other: Enclosure) -> Enclosure:
        return self * other.reciprocal()

    def reciprocal(self) -> Enclosure:
        """1 over it; the whole line where it holds 0."""
        with np.errstate(divide="ignore"):
            low, high = 1 / np.asarray(self.high), 1 / np.asarray(self.low)
        apart = (self.low > 0) | (self.high < 0)
        lower, upper = _signed(_down(low), _up(high), self.low > 0, self.high < 0)
        return Enclosure(np.where(apart, lower, -np.inf), np.where(apart, upper, np.inf))

    def rising(
        self,
        function: Callable[[FloatArray], FloatArray],
        *,
        least: float = -np.inf,
        most: float = np.inf,
        domain: float = -np.inf,
    ) -> Enclosure:
        """Under a function that never falls, has values from ``least`` to ``most``, and is defined from ``domain``."""
        with np.errstate(all="ignore"):
            low, high = function(np.asarray(self.low)), function(np.asarray(self.high))
        lower, upper = np.maximum(_down(low, ULPS), least), np.minimum(_up(high, ULPS), most)
        outside = np.asarray(self.low) < domain
        return Enclosure.of(np.where(outside, np.nan, lower), np.where(outside, np.nan, upper))

    def magnitude(self) -> Enclosure:
        """Its absolute value."""
        low, high = np.abs(self.low), np.abs(self.high)
        across = (self.low <= 0) & (self.high >= 0)
        return Enclosure(np.where(across, 0.0, np.minimum(low, high)), np.maximum(low, high))

    def power(self, exponent: float) -> Enclosure:
        """To a fixed exponent; the whole line where that is not defined."""
        if exponent == 0:
            return Enclosure.point(1.0)
        if exponent < 0:
            return self.power(-exponent).reciprocal()
        if exponent == 1:
            return self
        if exponent % 2 == 0:
            return self.magnitude().rising(lambda v: v**exponent, least=0.0)
        if exponent % 1 == 0:
            return self.rising(lambda v: v**exponent)
        return self.rising(lambda v: v**exponent, least=0.0, domain=0.0)

    def cosine(self) -> Enclosure:
        """cos: -1 or 1 where a multiple of pi may lie within, else between the ends."""
        first, last = _down(self.low / np.pi, ULPS), _up(self.high / np.pi, ULPS)
        with np.errstate(invalid="ignore"):
            one, other = np.cos(self.low), np.cos(self.high)
            low, high = _down(np.minimum(one, other), ULPS), _up(np.maximum(one, other), ULPS)
            full = ~(last - first < 2) | ~(np.abs(last) < 2**40)
            top = np.floor(last / 2) >= first / 2
            bottom = np.floor((last - 1) / 2) >= (first - 1) / 2
        lower = np.where(full | bottom, -1.0, np.maximum(low, -1.0))
        return Enclosure(lower, np.where(full | top, 1.0, np.minimum(high, 1.0)))


def _signed(
    low: FloatArray, high: FloatArray, positive: BoolArray, negative: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """The bounds, not moved across 0 where the sign of the result is certain."""
    return np.where(positive, np.maximum(low, 0.0), low), np.where(negative, np.minimum(high, 0.0), high)
