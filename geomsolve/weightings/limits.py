"""Where a parameter of a weighting stops working: the proposals that weightings make about themselves.

Cosine latents, self pairs included: with log w multiplied by a ratio the target is 1 + ratio tau log w, a ray that
starts at the matrix of ones, a Gram matrix, so the ratios that work are an interval [0, r].  Its end is in closed
form: the wanted squared distances -2 tau log w lie on a sphere of radius R (or no ratio works), and r = 1/R^2.
Temperature, sigma, epsilon and the target temperature each move the ratio by a power of their own.  Self pairs
excluded, or kernels without such a power: bisection on the verdict.

Symbols: r ``ratio``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

from geomsolve.gram.edm import circumradius
from geomsolve.weightings.target import Target, verdict_of

MOST_SEARCHED = 400
"""Distinct labels up to which a fix is searched for by bisection (each step is an eigendecomposition)."""

INSIDE = 1e-12
"""Relative distance that a value found is moved into the region that works: more than rounding, less than a verdict
can tell."""

Works = Callable[[dict[str, Any]], bool]
"""Whether the question with these fields changed is realizable."""


@dataclass(frozen=True)
class Fix:
    """``change`` (a field) to ``value``, and ``why``; ``settings`` are all fields to set, None to unset."""

    change: str
    value: Any
    why: str
    settings: dict[str, Any]


def largest_ratio(target: Target, rtol: float) -> float | None:
    """The largest ratio in (0, 1) by which log w may be multiplied and be attained; None if there is none."""
    if target.include:
        radius = circumradius(target.wanted_distances(), rtol)
        return None if radius is None or radius <= 1 else (1 - INSIDE) / radius**2
    if target.orbits.n_orbits > MOST_SEARCHED:
        return None

    def attained(ratio: float) -> bool:
        scaled = replace(target, log_weights=ratio * target.log_weights)
        return verdict_of(scaled, None, rtol).kind == "realizable"

    return boundary(attained, 1e-6, 1.0)


def boundary(attained: Callable[[float], bool], good: float, bad: float) -> float | None:
    """The value nearest to ``bad`` that still works on the way from ``good``, by bisection in the logarithm."""
    if not attained(good):
        return None
    a, b = log(good), log(bad)
    while abs(b - a) > 1e-12 * max(1.0, abs(a)):
        middle = (a + b) / 2
        if middle in (a, b):
            break
        a, b = (middle, b) if attained(exp(middle)) else (a, middle)
    return exp(a)
