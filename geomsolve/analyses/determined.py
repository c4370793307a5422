"""From which temperature on does the loss settle the geometry?

At low temperatures the loss hardly depends on the angles; at high ones it flattens again.  The geometry counts as
settled at a temperature if the range of every cosine asked about (``ranges.py``), over all geometries whose loss is at
most eps above the optimum, is at most w wide.

That a range is no wider than it is said to be is proven, so a temperature called settled is.  Widths are not monotone
in the temperature and no order of them is assumed: the search walks in steps, and a stretch that begins and ends within
a step is not seen.  The walk follows the pair that the loss holds least, by its curvature; where it ends, all pairs are
looked at, and one that is wider is followed too.  With many distinct proportions these are the most telling pairs.

Symbols: eps ``slack``, w ``width``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from geomsolve.analyses.ranges import Bind, range_around, refuse_ranges, telling_pairs, widest_range
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.proof.crossings import changes
from geomsolve.solvers.choose import solve_objective

FIRST = 0.1
"""Temperature at which the walk begins."""

LOWEST, HIGHEST = 0.01, 50.0
"""Temperatures between which it goes."""

STEP = 2**0.5
"""Ratio of one temperature of the walk to the next."""

RTOL = 1e-3
"""Relative accuracy of a temperature found."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class Window:
    """Settled from temperature ``low`` on until ``high``; None: not found to begin, or to end.

    ``pair``: positions of the classes that settle last, whose range at the temperature ``at`` is ``width`` wide.  Where
    nothing settles, of the pair followed, at the temperature where it is least wide.
    """

    low: float | None
    high: float | None
    pair: Pair
    at: float
    width: float


def settled_window(bind_at: Callable[[float], Bind], orbits: Orbits, slack: float, width: float) -> Window:
    """The first stretch of temperatures found at which every cosine is settled to ``width`` within ``slack`` nats.

    ``bind_at(t)`` gives the objective at temperature t for given orbits.  Raises :class:`InputError` for a loss that is
    not convex or does not depend on the geometry.
    """
    refuse_ranges(bind_at(FIRST)(orbits))

    @cache
    def optimum(t: float) -> FloatArray:
        return solve_objective(bind_at(t)(orbits), orbits).solution.cosines

    @cache
    def of(t: float, pair: Pair) -> float:
        return range_around(bind_at(t), orbits, optimum(t), slack, pair).width

    @cache
    def softest(t: float) -> Pair:
        return telling_pairs(bind_at(t)(orbits), orbits, optimum(t))[0]

    def settled(t: float) -> bool:
        seen[t] = max((of(t, pair), pair) for pair in (softest(t), *followed))
        return seen[t][0] <= width

    followed: list[Pair] = []
    while True:
        seen: dict[float, tuple[float, Pair]] = {}
        low, high = _walk(settled)
        if low is None:
            t = min(seen, key=lambda t: seen[t][0])
            return Window(None, None, seen[t][1], t, seen[t][0])
        ends = [low * (1 + RTOL), *([] if high is None else [high / (1 + RTOL)])]
        worst = [(*widest_range(bind_at(t), orbits, optimum(t), slack), t) for t in ends]
        more = [pair for pair, range_, _ in worst if range_.width > width and pair not in followed]
        if not more:
            pair, range_, t = worst[0]
            return Window(low, high, pair, t, range_.width)
        followed += more


def _walk(settled: Callable[[float], bool]) -> tuple[float | None, float | None]:
    """Where a stretch of settled temperatures begins and ends, None where that was not found.

    The lowest temperature of the walk stands for a beginning below it.
    """
    low = FIRST
    if settled(low):
        while low > LOWEST and settled(max(LOWEST, low / STEP)):
            low = max(LOWEST, low / STEP)
        below = max(LOWEST, low / STEP)
    else:
        while not settled(low):
            if low >= HIGHEST:
                return None, None
            low = min(HIGHEST, low * STEP)
        below = low / STEP
    begins = LOWEST if low == LOWEST else changes(settled, (below, low), rtol=RTOL)[0].at
    high = low
    while settled(high):
        if high >= HIGHEST:
            return begins, None
        high = min(HIGHEST, high * STEP)
    return begins, changes(settled, (max(low, high / STEP), high), rtol=RTOL)[-1].at
