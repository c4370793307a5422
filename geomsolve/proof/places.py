"""Where does a monotone function take a value, and how far does it stay within a distance of it?

    g(u) = value,    |g(u) - value| <= blur,    a <= u <= b

A monotone g has the value on one stretch at most, and its ends say whether it has it at all.

Symbols: u ``at``, [a, b] the piece.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from geomsolve.proof.crossings import changes

SHARP = 1e-9
"""Relative difference below which two values are one: functions are not known better."""


@dataclass(frozen=True)
class Place:
    """``at`` is where the function comes closest to the value, and within ``span`` it stays close; ``flat``: it is
    constant on the whole piece."""

    at: float
    span: tuple[float, float]
    flat: bool = False


Beside = list[tuple[float, float]]
"""The two whole numbers between which a function passes a value, with what it is there."""


def least_at(g: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls and then rises is smallest, as closely as its values tell."""
    from scipy.optimize import minimize_scalar  # here, so that looking at a question loads nothing

    return float(minimize_scalar(g, bounds=(low, high), method="bounded", options={"xatol": 1e-9}).x)


def places(g: Callable[[float], float], a: float, b: float, value: float, blur: float) -> tuple[list[Place], Beside]:
    """The place of ``value`` on the piece from a to b, by bracketed roots; none where it is farther than ``blur``."""
    from scipy.optimize import brentq  # here, so that looking at a question loads nothing

    first, last = g(a), g(b)
    least, most = min(first, last), max(first, last)
    if most - least <= SHARP * max(1.0, abs(value)):
        return [Place(a, (a, b), flat=True)] if abs(first - value) <= blur else [], []
    if not least - blur <= value <= most + blur:
        return [], []

    def where(wanted: float) -> float:
        """The u with that value, or the end beyond which it lies."""
        if wanted <= least:
            return a if first <= last else b
        if wanted >= most:
            return b if first <= last else a
        return float(brentq(lambda u: g(u) - wanted, a, b, xtol=1e-14 * max(abs(a), abs(b)), rtol=8.9e-16))

    return [Place(where(value), (where(value - blur), where(value + blur)))], []


def whole_places(
    g: Callable[[float], float], a: float, b: float, value: float, blur: float
) -> tuple[list[Place], Beside]:
    """The same on whole numbers; where none is close, the two beside the place where ``value`` is passed."""
    first, last = g(a), g(b)
    if abs(last - first) <= SHARP * max(1.0, abs(value)):
        return [Place(a, (a, b), flat=True)] if abs(first - value) <= blur else [], []
    sign = 1.0 if last > first else -1.0

    def past(wanted: float) -> float:
        """The first whole number whose value has reached ``wanted``; beyond b where none has."""
        found = changes(lambda x: sign * g(x) >= sign * wanted, [a, b], whole=True)
        return found[0].at if found else (a if sign * first >= sign * wanted else b + 1)

    low, high = past(value - sign * blur), min(past(value + sign * blur), b)
    if abs(g(high) - value) > blur:
        high -= 1
    if low > high:
        return [], [(x, g(x)) for x in (low - 1, low) if a <= x <= b]
    passed = past(value)
    at = min((x for x in (passed - 1, passed) if low <= x <= high), key=lambda x: abs(g(x) - value))
    return [Place(at, (low, high))], []
