"""How far apart may the means of the two sides be, at an optimum, and what does it cost to force them apart?

The modality gap g of points x_i with weights p and y_j with weights q,

    g^2 = |sum_i p_i x_i - sum_j q_j y_j|^2 = p' A p + q' B q - 2 p' C q = <T, G>,    T = v v',  v = (p, -q),

is linear in G = [[A, C], [C', B]].  Let L(s) be a lower bound of F(G) - s g^2(G) over all feasible G, s of either sign.
Then (as in ``proof/ranges.py``)

    every optimum has  g^2 <= (F - L(s)) / s  for s > 0,  g^2 >= (F - L(s)) / s  for s < 0,
    every G with g^2 >= forced^2 has  F(G) >= max over s >= 0 of L(s) + s forced^2.

L(s) is the certificate of ``proof/paired.py`` with -2 s T added to S and to its multipliers.  The bounds of the first
line are off by s times a constant: s goes down to where rounding takes over.  So that this is late, F at the tilted
optimum less F at the optimum is taken as the integral of the gradient between them where they hardly differ.

A point that stands for several given ones, alike in all their pairs, is the mean of theirs: it may be shorter than 1,
and its multiplier must not be negative.

Symbols: F ``value``, G ``gram``, s ``tilt``, v ``centre``, g^2 ``square``, S ``dual``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geomsolve.gram.paired import Paired, PairedBlocks, PairedGram
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossObjective
from geomsolve.proof.paired import multipliers, relative

RESOLVED = 1e-6
"""Relative difference of F from which on it is taken as it is."""

NODES = 32
"""Points of the Gauss-Legendre rule for the integral of the gradient."""

LARGEST = 4.0
"""g^2 of two sides that are opposite points."""

TILTS = (1e-3, 1e-5, 1e-7)
"""Tilts that are tried, relative to :func:`force`."""

HOPELESS = 0.1
"""What may be missing of a bound, relative to the tilt, for smaller tilts to be tried."""

SETTLED = 1e-10
"""How near a bound on g^2 and a geometry that attains it must come for no smaller tilt to be tried."""

MOST_STEPS = 60
"""Tilts that are tried for a forced gap."""

CLOSED = 1e-11
"""How near the price that was found and the bound on it must come, in nats, for the search to end."""

NOTHING = 1e-14
"""A price in nats that is small enough to be left without a bound from below."""

SMALL = 1e-4
"""The same relative to the price."""

CURVE = 20
"""Geometries of a curve of prices."""

DOUBLINGS = 60
"""How often the tilt is doubled at which opposite points are best."""

STRAIGHT = 1e-4
"""Part of the largest price by which a curve may be off."""

FINE = 0.1
"""Step of the gap that is small enough for a curve."""

ROUNDING = 1e-9
"""Differences of gaps, and relative ones of bounds, that are none."""

MEETS = 1e-6
"""How near a bound on g^2 and a geometry that attains it must come for the range to be called exact."""


@dataclass(frozen=True, eq=False)
class GapProblem:
    """The problem without its tilt.  ``centre`` (m_x + m_y,) is v of one point of each orbit; ``short`` (m_x + m_y,)
    is True for points that may be shorter than 1."""

    objective: CrossObjective
    paired: Paired
    centre: FloatArray
    short: np.ndarray

    @property
    def sizes(self) -> FloatArray:
        """(m_x + m_y,) points of each orbit, those of the first side first."""
        return np.concatenate([self.paired.first, self.paired.second]).astype(np.float64)

    @property
    def direction(self) -> FloatArray:
        """(m_x + m_y,) the vector w in the quotient with g^2 = w' Q w."""
        return np.asarray(self.centre * np.sqrt(self.sizes))

    def square(self, gram: PairedGram) -> float:
        """g^2 of a Gram matrix."""
        w = self.direction
        return float(w @ self.paired.blocks(gram).quotient @ w)


@dataclass(frozen=True, eq=False)
class Tilted:
    """A geometry that is best, or nearly so, for F - ``tilt`` g^2.

    ``excess`` = its F less that of the optimum, in nats; ``missing``: the lower bound L lies at most so far below its
    F - tilt g^2.
    """

    tilt: float
    gram: PairedGram
    square: float
    excess: float
    missing: float

    @property
    def gap(self) -> float:
        """The modality gap g."""
        return float(np.sqrt(max(self.square, 0.0)))

    @property
    def end(self) -> float:
        """What g^2 of an optimum does not exceed (positive tilt), or not fall below."""
        return self.square + (self.missing - self.excess) / self.tilt

    def lower(self, square: float) -> float:
        """What F less the optimum is at least where g^2 is at least ``square``, for a tilt that is not negative."""
        return self.excess - self.missing + self.tilt * (square - self.square)


def missing(sides: GapProblem, tilt: float, gram: PairedGram) -> float:
    """How much F - ``tilt`` g^2 at ``gram``, feasible, may lie above its minimum."""
    paired, m = sides.paired, sides.paired.n_first
    size, w = sides.sizes, sides.direction
    force, alpha, beta = multipliers(paired, gram.cross, sides.objective.gradient(gram.cross))
    turned = sides.centre * (paired.blocks(gram).quotient @ w) / np.sqrt(size)  # (T G)_ii of one point
    balance = np.concatenate([alpha, beta]) + 2 * tilt * turned
    own = np.where(sides.short, np.maximum(balance, 0.0), balance)
    none = np.zeros((m, m)), np.zeros((paired.n_second, paired.n_second))
    plain = paired.blocks(PairedGram(own[:m], none[0], own[m:], none[1], force))
    dual = PairedBlocks(plain.quotient - 2 * tilt * np.outer(w, w), plain.contrast)
    worst = float(size.sum()) / 2 * max(0.0, -dual.min_eigenvalue())
    weight = np.maximum(own, 0.0)
    total = float(size @ weight)
    if total > 0 and np.isfinite(worst):
        weight = np.maximum(weight, 1e-6 * total / size.sum())
        scaled = relative(paired, dual, np.sqrt(weight[:m]), np.sqrt(weight[m:]))
        worst = min(worst, float(size @ weight) / 2 * max(0.0, -scaled.min_eigenvalue()))
    return worst + float(size @ (own - balance)) / 2


def excess(objective: CrossObjective, cross: FloatArray, above: FloatArray) -> float:
    """F at ``above`` less F at ``cross``; where the difference is lost in rounding, by the integral of the gradient."""
    value = objective.value(cross)
    difference = objective.value(above) - value
    if abs(difference) > RESOLVED * max(1.0, abs(value)):
        return difference
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    step = above - cross
    slopes = (objective.gradient(cross + (1 + x) / 2 * step) for x in nodes)
    return float(sum(weight / 2 * np.sum(slope * step) for weight, slope in zip(weights, slopes, strict=True)))


Solve = Callable[[float, PairedGram], PairedGram]
"""The geometry that is best, or nearly so, for F - tilt g^2, from a start."""


@dataclass(frozen=True)
class GapRange:
    """No optimum has a modality gap outside [``low``, ``high``], which is proven; ``exact`` if geometries that are
    optimal to rounding come as near to both ends as :data:`MEETS`."""

    low: float
    high: float
    exact: bool


@dataclass(frozen=True)
class Forced:
    """A modality gap of at least ``gap`` costs ``price`` nats, and no less than ``at_least``."""

    gap: float
    price: float
    at_least: float


def tilted(sides: GapProblem, solve: Solve, optimum: PairedGram, tilt: float, near: PairedGram) -> Tilted:
    """The geometry that ``solve`` finds for a tilt, with what is known of it."""
    gram = solve(tilt, near)
    return Tilted(
        tilt,
        gram,
        sides.square(gram),
        excess(sides.objective, optimum.cross, gram.cross),
        missing(sides, tilt, gram),
    )


def force(sides: GapProblem, optimum: PairedGram) -> float:
    """The size of what holds the geometry, in nats, 1 where nothing does: tilts are small or large compared to it."""
    cross = optimum.cross
    bend = sides.objective.curvature(cross)(cross)
    return float(np.abs(sides.objective.gradient(cross)).sum() + np.abs(bend).sum()) or 1.0


def optimal_range(sides: GapProblem, solve: Solve, optimum: PairedGram) -> GapRange:
    """The range of the modality gap over all optima, one of which is ``optimum``."""
    unit = force(sides, optimum)
    noise = float(np.finfo(float).eps) * float(sides.objective.forces(optimum.cross).sum())
    bounds, exact = [], True
    for side in (-1.0, 1.0):
        best, near, seen = max(0.0, side * LARGEST), optimum, [sides.square(optimum)]
        for size in TILTS:
            found = tilted(sides, solve, optimum, side * size * unit, near)
            near = found.gram
            seen.append(found.square)
            best = side * min(side * best, side * found.end + noise / abs(found.tilt))
            if found.missing > HOPELESS * abs(found.tilt):  # forces are too small beside those that cancel in them
                break
            if abs(found.square - best) <= SETTLED:
                break
        bounds.append(best)
        exact = exact and min(abs(square - best) for square in seen) <= MEETS
    low, high = np.sqrt(np.clip(bounds, 0.0, LARGEST))
    return GapRange(float(min(low, high)), float(high), exact)


def opposite(paired: Paired) -> PairedGram:
    """The two sides at two opposite points: the largest gap there is."""
    one, two = np.ones(paired.n_first), np.ones(paired.n_second)
    cross = np.where(paired.counts > 0, -1.0, 0.0)
    return PairedGram(one, np.outer(one, one), two, np.outer(two, two), cross)


def ends(sides: GapProblem, optimum: PairedGram) -> tuple[Tilted, Tilted]:
    """The cheapest geometry of all, and the one with the largest gap, which is the cheapest for large tilts."""
    apart = opposite(sides.paired)
    cost = excess(sides.objective, optimum.cross, apart.cross)
    tilt, short = max(cost, np.finfo(float).tiny) / LARGEST, np.inf
    for _ in range(DOUBLINGS):
        tilt, short = 2 * tilt, missing(sides, 2 * tilt, apart)
        if short <= ROUNDING * tilt:
            break
    square = sides.square(optimum)
    return Tilted(0.0, optimum, square, 0.0, missing(sides, 0.0, optimum)), Tilted(tilt, apart, LARGEST, cost, short)


def between(under: Tilted, over: Tilted) -> float:
    """The slope of the price between two geometries: at this tilt the cheapest one lies between them, or both are."""
    return (over.excess - under.excess) / (over.square - under.square)


def forced(
    sides: GapProblem, solve: Solve, optimum: PairedGram, gap: float, *, tolerance: float = CLOSED
) -> tuple[Forced, list[Tilted]]:
    """The price of a modality gap of at least ``gap``, at most 2, found to ``tolerance`` nats where that is possible;
    and every geometry that was looked at, by its gap.

    The tilt at which g^2 is what is wanted lies between one at which it is less and one at which it is not; a mixture
    of the two geometries has it exactly.
    """
    wanted = gap * gap
    first, last = under, over = ends(sides, optimum)
    seen = [first, last]
    if under.square >= wanted:
        return Forced(gap, 0.0, 0.0), seen
    lower = max(0.0, under.lower(wanted), over.lower(wanted))
    price = excess(sides.objective, optimum.cross, mixed(under, over, wanted).cross)
    stays = [0, 0]  # how often in a row each end stayed where it was, which then counts for less
    for _ in range(MOST_STEPS):
        if price - lower <= min(tolerance, SMALL * price) or price <= NOTHING:
            break
        if under is first or over is last:
            tilt = between(under, over)
        else:
            short = (wanted - under.square) / 2 ** max(0, stays[0] - 1)
            far = (over.square - wanted) / 2 ** max(0, stays[1] - 1)
            tilt = under.tilt + min(0.95, max(0.05, short / (short + far))) * (over.tilt - under.tilt)
        here = tilted(sides, solve, optimum, tilt, mixed(under, over, wanted))
        seen.append(here)
        lower = max(lower, here.lower(wanted))
        if here.square >= wanted:
            over, stays = here, [stays[0] + 1, 0]
        else:
            under, stays = here, [0, stays[1] + 1]
        price = min(price, excess(sides.objective, optimum.cross, mixed(under, over, wanted).cross))
    return Forced(gap, max(price, 0.0), max(0.0, min(lower, price))), sorted(seen, key=lambda each: each.square)


def prices(
    sides: GapProblem, solve: Solve, optimum: PairedGram, known: list[Tilted], count: int = CURVE
) -> list[tuple[float, float]]:
    """(gap, price) of geometries that are each the cheapest with its gap: those ``known``, ascending, and others up to
    ``count`` of them.  The largest step is divided by the tilt that the slope over it tells, unless that hardly shows.
    """
    found = list(known)
    straight, total = set[Tilted](), found[-1].excess
    while len(found) < count:
        steps = [(b.gap - a.gap, place) for place, (a, b) in enumerate(itertools.pairwise(found)) if b not in straight]
        step, place = max(steps, default=(0.0, 0))
        if step <= FINE:
            break
        a, b = found[place : place + 2]
        here = tilted(sides, solve, optimum, between(a, b), mixed(a, b, (a.square + b.square) / 2))
        inside = a.gap + ROUNDING < here.gap < b.gap - ROUNDING
        if not inside or a.excess + here.tilt * (here.square - a.square) - here.excess <= STRAIGHT * total:
            straight |= {b, here}
        if inside:
            found.insert(place + 1, here)
    return [(each.gap, max(each.excess, 0.0)) for each in found]


def mixed(under: Tilted, over: Tilted, wanted: float) -> PairedGram:
    """The mixture of two geometries that has g^2 = ``wanted``, which lies between theirs."""
    part = (wanted - under.square) / (over.square - under.square)
    one, two = under.gram, over.gram
    return PairedGram(
        (1 - part) * one.first_own + part * two.first_own,
        (1 - part) * one.first + part * two.first,
        (1 - part) * one.second_own + part * two.second_own,
        (1 - part) * one.second + part * two.second,
        (1 - part) * one.cross + part * two.cross,
    )
