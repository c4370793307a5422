"""How far may the geometry be at my loss?  The range of a cosine over everything that is nearly optimal.

For a linear statistic c(G) = sum_gh W_gh C_gh, such as one cosine, and a slack eps in nats, the question is

    largest and smallest c(G)   subject to   F(G) <= F* + eps,  G psd, G_aa = 1.

Tilting: let L(s) be a certified lower bound of F(G) - s c(G) over all G, s > 0.  Every G' in question has

    c(G') <= (F* + eps - L(s)) / s,

whatever s is.  The bound is least where the tilted optimum G_s spends the whole slack, F(G_s) = F* + eps: one root in
s, where the bound meets c(G_s), which is attained.  F* is replaced by the value found, which is not below it.

One cosine between two classes breaks the symmetry of its orbits, so the two become orbits of their own; the mean
over a symmetric set of pairs does not.  Derived for this project.

Symbols: c ``statistic``, W ``weights``, eps ``slack``, s ``tilt``, F* ``value``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf, log

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.objectives.tilted import Tilted

SPENT = 1e-6
"""How exactly the slack must be spent, relatively: the bound is off by the square of this."""

MOST_STEPS = 40
"""Tilts that are tried."""

FIRST = 1.0
"""Half width that the first tilt assumes: the most, so that what it tilts to is near the optimum, from where solvers
start."""

ENOUGH = 1e-9
"""How near bound and attained cosine must come for the search to end; or as the gap of the tilted optimum lets them,
up to half of :data:`MEETS`."""

NEARLY = 0.9
"""Statistic from which on it is tried whether the extreme, 1, is within the slack."""

CLOSE = 1e-7
"""How far a gap of the tilted optimum, which is divided by the tilt, may move the bound: well below :data:`MEETS`."""

ROUGH = 1e-2
"""Gap of a tilted optimum, relative to how far what is spent was from the slack: enough to tell the next tilt."""

TINY = 1e-300

MEETS = 1e-6
"""How near a bound and the cosine that is attained must come for the range to be called exact."""

Extreme = Callable[[FloatArray, float], Sequence[FloatArray]]
"""Feasible cosines near the given ones at which the statistic is 1 (or -1, for a negative sign)."""

Minimise = Callable[[Objective, Orbits, FloatArray, float], tuple[FloatArray, float]]
"""Minimise an objective from a start (m, m), to a gap in nats if it can: the cosines found and a certified bound."""


@dataclass(frozen=True)
class Range:
    """What nearly optimal geometries allow: nothing is outside [``low``, ``high``], which is proven.

    ``certified``: geometries within the slack come as near to both ends as :data:`MEETS`, so that the range is not only
    true but tight.
    """

    low: float
    high: float
    certified: bool

    @property
    def width(self) -> float:
        return self.high - self.low


def pair_weights(orbits: Orbits, a: int, b: int) -> FloatArray:
    """Weights (m, m) whose statistic is the cosine of classes ``a`` and ``b``, which stand alone in their orbits."""
    weights = np.zeros((orbits.n_orbits, orbits.n_orbits))
    g, h = orbits.index[a], orbits.index[b]
    weights[g, h] = weights[h, g] = 0.5
    return weights


def aligned(orbits: Orbits, cosines: FloatArray, a: int, b: int, sign: float) -> list[FloatArray]:
    """Feasible cosines (m, m) near the given ones in which one of two classes stands at ``sign`` times the other.

    Both stand alone in their orbits.
    """
    found = []
    for kept, moved in ((orbits.index[a], orbits.index[b]), (orbits.index[b], orbits.index[a])):
        other = cosines.copy()
        other[moved] = other[:, moved] = sign * cosines[kept]
        other[kept, moved] = other[moved, kept] = sign
        other[moved, moved] = 1.0
        found.append(other)
    return found


def pair_range(
    objective: Objective, orbits: Orbits, a: int, b: int, optimum: FloatArray, slack: float, minimise: Minimise
) -> Range:
    """The range of the cosine between classes ``a`` and ``b``, which stand alone in their ``orbits``; see
    :func:`range_of`."""
    weights = pair_weights(orbits, a, b)
    return range_of(
        objective,
        orbits,
        weights,
        optimum,
        slack,
        minimise,
        extreme=lambda near, sign: aligned(orbits, near, a, b, sign),
    )


def mean_weights(orbits: Orbits, chosen: FloatArray) -> FloatArray:
    """Weights (m, m) of the mean cosine over all pairs of different classes of the ``chosen`` orbits (m,) (0 or 1)."""
    pairs = orbits.pairs * np.outer(chosen, chosen)
    weights: FloatArray = pairs / pairs.sum()
    return weights


def range_of(
    objective: Objective,
    orbits: Orbits,
    weights: FloatArray,
    optimum: FloatArray,
    slack: float,
    minimise: Minimise,
    *,
    extreme: Extreme | None = None,
) -> Range:
    """The range of sum_gh ``weights``_gh C_gh over all geometries whose loss is at most ``slack`` above the optimum.

    ``optimum`` (m, m): optimal orbit cosines, whose value bounds F* from above.  The statistic lies in [-1, 1].
    """
    value = objective.value(optimum)

    def end(side: float) -> tuple[float, float]:
        def reached(near: FloatArray) -> bool:
            tried = [] if extreme is None else extreme(near, side)
            return any(objective.value(cosines) <= value + slack for cosines in tried)

        return _end(objective, orbits, side * weights, optimum, value, slack, minimise, reached)

    (low, lowest), (high, highest) = end(-1.0), end(1.0)
    exact = abs(low - lowest) <= MEETS and abs(high - highest) <= MEETS
    return Range(max(-1.0, -low), min(1.0, high), exact)


def _end(
    objective: Objective,
    orbits: Orbits,
    weights: FloatArray,
    optimum: FloatArray,
    value: float,
    slack: float,
    minimise: Minimise,
    reached: Callable[[FloatArray], bool],
) -> tuple[float, float]:
    """The least certified bound on the statistic, at most 1, and the largest statistic seen within the slack.

    ``reached(near)`` says whether a geometry near the given one has the statistic 1 within the slack.

    The root of F(G_s) - F* = slack is found by the secant rule in logarithms, since near the optimum the excess mostly
    grows like s^2; by halves where that does not shrink the bracket.  With kinks F(G_s) may jump: then, instead of
    halves, at the tilt where the best geometries within and beyond the slack tie, and the bound is between them.
    """
    if reached(optimum):
        return 1.0, 1.0
    best, near, tilt, slope = 1.0, optimum, slack / FIRST, 2.0
    inner, outer = (0.0, float(np.sum(weights * optimum))), (inf, 1.0)  # spent and statistic, within and beyond
    attained = inner[1]
    below, above, width = 0.0, inf, inf
    before: tuple[float, float] | None = None
    off, rough = 1.0, ROUGH
    for _ in range(MOST_STEPS):
        fine = CLOSE * tilt
        enough = max(fine, rough * off * slack)
        near, lower = minimise(Tilted(objective, -tilt * weights), orbits, near, enough)
        loss, statistic = objective.value(near), float(np.sum(weights * near))
        spent = (loss - value) / slack
        best = min(best, (value + slack - lower) / tilt)
        open_ = (loss - tilt * statistic - lower) / tilt
        here = (spent, statistic)
        if spent <= 1:
            inner = max(inner, here, key=lambda point: point[1])
        else:
            outer = min(outer, here)
        part = (1 - inner[0]) / (outer[0] - inner[0])  # F is convex: so far from one to the other the slack suffices
        attained = max(attained, inner[1], inner[1] + part * (outer[1] - inner[1]))
        below, above = (max(below, tilt), above) if spent <= 1 else (below, min(above, tilt))
        if best >= 1 and attained > NEARLY and reached(near):
            return 1.0, 1.0
        off = min(1.0, abs(spent - 1))
        if (off <= SPENT and enough <= fine) or best - attained <= max(ENOUGH, min(open_, MEETS / 2)):
            break
        now = (log(tilt), log(max(spent, 1e-12)))
        if before is not None and now[0] != before[0] and now[1] != before[1]:
            slope = max(0.05, (now[1] - before[1]) / (now[0] - before[0]))
        before = now
        if rough and above / max(below, TINY) <= 1 + SPENT:  # optima that were known roughly closed the bracket
            below, above, rough = 0.0, inf, 0.0
        tilt = exp(now[0] - min(5.0, max(-5.0, now[1] / slope)))
        stuck, width = above / max(below, TINY) > width**0.5, above / max(below, TINY)
        if below > 0 and above < inf and (stuck or not below < tilt < above):
            tie = 0.0 if outer[1] <= inner[1] else slack * (outer[0] - inner[0]) / (outer[1] - inner[1])
            tilt = tie if not objective.smooth and below < tie < above else (below * above) ** 0.5
    return best, attained
