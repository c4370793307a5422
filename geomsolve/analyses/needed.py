"""Which value of a parameter is needed?  The least change that reaches an angle, by forward solves.

Values are looked at outwards from the one in force.  Between the last that falls short and the first that reaches, the
value is located (Brent's method, or bisection of whole numbers) and rounded to the side that reaches, where it is
solved once more.  Where nothing reaches, the value with the widest angle is taken.  Beyond a temperature at which a
regular simplex costs less than training sees, nothing is looked at: the loss no longer settles the angles there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, cos, floor, log10, radians
from typing import Any

import numpy as np
from scipy.optimize import brentq

from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.structure import angle_degrees
from geomsolve.words import UNSEEN

DIGITS = (3, 4, 6, 9)
"""Significant digits of a value that is needed: the first of these that reaches."""

LOCATED = 1e-5
"""Relative accuracy of a value before it is rounded."""

TINY = 1e-9
"""Cosines no farther apart than this are equal where an angle is compared with the one wanted."""


@dataclass(frozen=True)
class Bound:
    """The largest ``cosine`` that counts among ``n_classes``, known to ``tolerance``.

    ``degrees`` are wanted; None stands for the regular simplex.
    """

    cosine: float
    tolerance: float
    n_classes: int
    degrees: float | None

    @property
    def goal(self) -> float:
        """The cosine that is wanted, or less."""
        return simplex_cosine(self.n_classes) if self.degrees is None else cos(radians(self.degrees))

    @property
    def reached(self) -> bool:
        """Whether the want is met; a simplex within the tolerance, as that cosine is the least there is."""
        return self.cosine <= self.goal + (self.tolerance if self.degrees is None else TINY)

    @property
    def short(self) -> float:
        """By how many degrees the angle is too small; negative where it is wide enough."""
        if self.degrees is None:
            return -1.0 if self.reached else 1.0
        return -1.0 if self.reached else max(self.degrees - angle_degrees(self.cosine), 1e-9)

    def better(self, before: Bound | None) -> bool:
        """Whether the angle is wider than ``before``, by more than both leave open."""
        return before is None or self.cosine < before.cosine - self.tolerance - before.tolerance


@dataclass(frozen=True)
class Look:
    """One forward solve: what it says about the angle, what a regular simplex loses, whether the angles are settled."""

    bound: Bound
    excess: float
    resolved: bool

    @property
    def reached(self) -> bool:
        """Whether the want is met, by angles that the loss settles."""
        return self.resolved and self.bound.reached


@dataclass(frozen=True)
class Found:
    """A ``value`` that reaches; or, with the least and the most that were ``tried``, the best of these."""

    value: float
    tried: tuple[float, float] | None = None


def least_change(
    look: Callable[[float], Look | None],
    now: float,
    sides: Sequence[Sequence[float]],
    *,
    logarithmic: bool = False,
    whole: bool = False,
) -> Found | None:
    """The value nearest to ``now`` that reaches, on the first of the ``sides`` that has one; else the best looked at.

    Each side is values away from ``now``, nearest first.  ``look`` gives None for a value that makes no sense.
    None where every value does not.
    """
    best: tuple[Bound, float] | None = None
    tried: list[float] = []
    for side in sides:
        short = now
        for x in side:
            seen = look(x)
            if seen is None:
                break
            if seen.reached and seen.bound.degrees is None:  # approached only, so that no digits of it mean anything
                return Found(x)
            if seen.reached:
                return Found(_first_whole(look, short, x) if whole else _located(look, short, x, logarithmic))
            tried.append(x)
            if seen.resolved and (best is None or seen.bound.better(best[0])):
                best = seen.bound, x
            if not seen.resolved or (logarithmic and seen.excess < UNSEEN):
                break
            short = x
    return None if best is None else Found(best[1], (min(tried), max(tried)))


def _located(look: Callable[[float], Look | None], short: float, enough: float, logarithmic: bool) -> float:
    """The first value from ``short`` to ``enough`` that reaches, with few digits."""

    def place(s: float) -> float:
        return float(short * (enough / short) ** s) if logarithmic else short + s * (enough - short)

    def lacking(s: float) -> float:
        seen = look(place(s))
        if seen is None:
            return 1.0
        if seen.reached:
            angle = seen.bound.degrees
            return -1e-9 if angle is None else angle - angle_degrees(seen.bound.cosine) - 1e-9
        return seen.bound.short

    root = place(float(brentq(_guarded(lacking), 0.0, 1.0, xtol=LOCATED, rtol=4 * np.finfo(float).eps, maxiter=60)))
    for digits in DIGITS:
        step = 10.0 ** (floor(log10(abs(root))) + 1 - digits) if root else 1.0
        rounded = (floor if enough < short else ceil)(root / step) * step
        rounded = float(f"{rounded:.{digits + 1}g}")
        inside = min(short, enough) <= rounded <= max(short, enough)
        if inside and (seen := look(rounded)) is not None and seen.reached:
            return rounded
    return float(f"{enough:.6g}")


def _guarded(function: Callable[[float], float]) -> Callable[[float], Any]:
    """The function with the signs at its ends that were seen there: short at 0, enough at 1."""

    def guarded(s: float) -> float:
        if s in (0.0, 1.0):
            return 1.0 if s == 0 else -1.0
        return function(s)

    return guarded


def _first_whole(look: Callable[[float], Look | None], short: float, enough: float) -> float:
    """The whole number nearest to ``short`` from which on all looked at reach; ``short`` may be inf."""
    if short == float("inf"):
        return enough
    while abs(short - enough) > 1:
        middle = float((int(short) + int(enough)) // 2)
        seen = look(middle)
        if seen is not None and seen.reached:
            enough = middle
        else:
            short = middle
    return enough
