"""What to change so that a weighting can be attained: every proposal is put to the same verdict before it is made.

Cosine latents, self pairs included: with log w multiplied by a ratio the target is 1 + ratio tau log w, a ray that
starts at the matrix of ones, a Gram matrix, so the ratios that work are an interval [0, r].  Its end is in closed
form: the wanted squared distances -2 tau log w lie on a sphere of radius R (or no ratio works), and r = 1/R^2.
Temperature, sigma, epsilon and the target temperature each move the ratio by a power of their own.  Self pairs
excluded, or kernels without such a power: bisection on the verdict.

Symbols: r ``ratio``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

import numpy as np

from geomsolve.analyses.target import Target, Verdict, target_of, verdict_of, wanted_distances, weighting_of
from geomsolve.errors import InputError
from geomsolve.gram.edm import circumradius
from geomsolve.questions.realizable import Realizable, bend
from geomsolve.weightings import Weighting
from geomsolve.weightings.kernels import KERNELS
from geomsolve.weightings.soft_supcon import threshold

MOST_SEARCHED = 400
"""Distinct labels up to which a fix is searched for by bisection (each step is an eigendecomposition)."""

WIDEST = 10
"""Widths of a kernel that are tried, in diameters of the labels: beyond, every label looks alike."""

INSIDE = 1e-12
"""Relative distance that a value found is moved into the region that works: more than rounding, less than a verdict
can tell."""


@dataclass(frozen=True)
class Fix:
    """``change`` (a field) to ``value``, and ``why``; ``settings`` are all fields to set, None to unset."""

    change: str
    value: Any
    why: str
    settings: dict[str, Any]


def judged(problem: Realizable) -> Verdict:
    """The verdict on a complete problem."""
    target = target_of(problem, weighting_of(problem))
    return verdict_of(target, problem.dim, problem.eigenvalue_tolerance)


def works(problem: Realizable, settings: dict[str, Any]) -> bool:
    """Whether the problem with these settings is realizable; settings that make no sense are not."""
    try:
        return judged(problem.changed(**settings)).kind == "realizable"
    except InputError:
        return False


def largest_ratio(target: Target, rtol: float) -> float | None:
    """The largest ratio in (0, 1) by which log w may be multiplied and be attained; None if there is none."""
    if target.include:
        radius = circumradius(wanted_distances(target), rtol)
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


def find_fixes(problem: Realizable, weighting: Weighting, target: Target, verdict: Verdict) -> tuple[Fix, ...]:
    """Changes that make the target attainable, each confirmed by the verdict on the changed problem."""
    if verdict.kind == "realizable" or target.partial:
        return ()
    found: list[Fix] = []
    for fix in _candidates(problem, weighting, target, verdict):
        if all(fix.settings != other.settings for other in found) and works(problem, fix.settings):
            found.append(fix)
    return tuple(found)


def _candidates(problem: Realizable, weighting: Weighting, target: Target, verdict: Verdict) -> Iterator[Fix]:
    if verdict.obstacle == "dimension":
        d = verdict.least_dimension
        yield Fix("dim", d, f"the target needs {d} dimensions", {"dim": d})
    if problem.normalise == "columns":
        why = "normalising by columns distorts the weights; by rows is what the loss is meant to do"
        yield Fix("normalise", "rows", why, {"normalise": "rows"})
    if verdict.kind == "degenerate":
        yield from _without_zeros(problem, weighting, target)
    elif target.similarity == "cosine" and verdict.obstacle == "spectrum" and problem.normalise == "rows":
        yield from _weaker(problem, weighting, target)
    if "kernel" in weighting.takes():
        yield from _wider(problem, weighting, target)
    if target.similarity == "cosine":
        why = "latents without unit length, compared by squared distance, are not confined to a sphere"
        yield Fix("similarity", "euclidean", why, {"similarity": "euclidean"})
    if target.include:
        why = "without self pairs the target is fixed only up to a constant, which leaves room"
        yield Fix("self_pairs", "exclude", why, {"self_pairs": "exclude"})
    if "kernel" in weighting.takes() and target.labels is not None and target.similarity == "cosine":
        unset = dict.fromkeys(weighting.takes())
        if target.labels.shape[1] == 1:
            yield from _arc(problem, weighting, target)
        else:
            why = "X-CLR at a target temperature equal to the temperature is attained by the labels' own directions"
            settings = {**unset, "weighting": "xclr", "target_temperature": problem.temperature}
            yield Fix("weighting", "xclr", why, settings)


def _weaker(problem: Realizable, weighting: Weighting, target: Target) -> Iterator[Fix]:
    """The largest temperature and the like: all of them weaken the wish for distance."""
    ratio = largest_ratio(target, problem.eigenvalue_tolerance)
    if ratio is None:
        return
    if weighting.strengthened_by_temperature:
        t = problem.temperature * ratio
        yield Fix("temperature", t, f"the largest temperature that works is {t:.6g}", {"temperature": t})
    for name, value in weighting.rescaled(ratio).items():
        if name == "epsilon" and value > 1:
            continue
        what = name.replace("_", " ")
        yield Fix(name, value, f"the smallest {what} that works is {value:.6g}", {name: value})


def _wider(problem: Realizable, weighting: Weighting, target: Target) -> Iterator[Fix]:
    """A wider kernel: for those that vanish beyond sigma, and have no closed form."""
    name = weighting.parameters()["kernel"]
    sigma = weighting.parameters()["sigma"]
    if KERNELS[name].power is None and target.orbits.n_orbits <= MOST_SEARCHED:
        low, diameter = (
            sigma,
            float(np.linalg.norm(np.ptp(target.labels, axis=0))) if target.labels is not None else 0.0,
        )
        while low < WIDEST * diameter:
            high = 2 * low
            if works(problem, {"sigma": high}):
                found = boundary(lambda s: works(problem, {"sigma": s}), high, low)
                if found is not None:
                    value = found * (1 + INSIDE)
                    yield Fix("sigma", value, f"the smallest sigma that works is {value:.6g}", {"sigma": value})
                break
            low = high
    if name != "gaussian":
        why = "the Gaussian kernel never vanishes and asks for squared distances"
        yield Fix("kernel", "gaussian", why, {"kernel": "gaussian"})


def _without_zeros(problem: Realizable, weighting: Weighting, target: Target) -> Iterator[Fix]:
    """SupCon's zero weights: a small weight instead."""
    if weighting.name != "supcon" or target.orbits.n_orbits < 2:
        return
    epsilon = min(1.0, threshold(target.orbits.n_orbits, problem.temperature) * (1 + INSIDE))
    why = f"a weight of at least {epsilon:.6g} across classes is attained exactly; at that value by a regular simplex"
    yield Fix("weighting", "soft-supcon", why, {"weighting": "soft-supcon", "epsilon": epsilon})


def _arc(problem: Realizable, weighting: Weighting, target: Target) -> Iterator[Fix]:
    """Scalar labels bent onto the largest circle that works; the price is a shrinking of large differences."""
    assert target.labels is not None
    parameters = weighting.parameters()
    if parameters["kernel"] != "gaussian":
        return
    radius = parameters["sigma"] / np.sqrt(problem.temperature) * (1 - INSIDE)
    scalars = target.labels[:, 0]
    bent = bend(scalars, radius)
    spread = float(np.ptp(scalars))
    if spread == 0:
        return
    far = np.linalg.norm(bent[np.argmax(scalars)] - bent[np.argmin(scalars)]) / spread
    near = min(1.0, np.pi * radius / spread)
    why = (
        f"labels bent onto a circle of radius {radius:.6g} lie on a sphere that fits; the largest difference, "
        f"{spread:g}, then counts as {far * spread:.4g}, small ones keep {100 * near:.3g} % of theirs"
    )
    yield Fix("arc", float(radius), why, {"arc": float(radius)})
