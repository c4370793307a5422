"""Between which values lies the optimum of labels as given, where that of rounded ones was found?  No solve.

    F(G) = sum_i a_i [ log sum_j q e^{s_ij} - sum_j P_ij s_ij ],   s = (G - 1)/tau;   F_b the same with P_b

Below: log sum_j q e^{s_j} >= sum_j R_j s_j - KL(R || q) for any probabilities R.  A bound of F_b has the slope
a X / tau with X = R_b - P_b, and its least value l = min <a X, s> is what proves F_b.  R = P + x X has the same slope
in proportion, so for every 0 <= x <= 1 with R >= 0

    F* >= x l - sum_i a_i KL(P_i + x X_i || q).

x = 0 is the entropic floor.  X is as small as the excess of the optimum, so the bound is as sharp as that of F_b up to
the change of the floor.  Above: F at the optimum of the rounded labels, where labels of one multiple coincide or, for
scalars, lie between the points of the neighbouring multiples.  Derived for this project.

Symbols: P ``log_target``, a ``masses``, X ``pull``, x ``part``, l ``least``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geomsolve.gram.embedding import embed
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.logsum import LogSum
from geomsolve.proof.certificate import dual_blocks
from geomsolve.weightings.target import Target, verdict_of

ROUNDS = 8
"""Slopes of the proof of the rounded labels that are tried."""


@dataclass(frozen=True)
class Binning:
    """Labels rounded to multiples of ``width``: ``distinct`` are left of those ``before``.

    The optimal loss of the labels as given lies between ``low`` and ``high`` nats, so that rounding moves it by at
    most ``error``; None where no bound is known.
    """

    width: float
    before: int
    distinct: int
    error: float | None = None
    low: float | None = None
    high: float | None = None


def interval(target: Target, cosines: FloatArray, kind: str, given: Target, rtol: float) -> tuple[float, float] | None:
    """Between which values the optimum of ``given`` lies; ``cosines`` (m, m) are the optimum of the rounded ``target``,
    of the verdict ``kind``.  None where the loss is not of the form above, or mass moves between anchors."""
    objective = given.objective()
    plain = isinstance(objective, LogSum) and isinstance(target.objective(), LogSum)
    if not plain or given.normalise != "rows" or given.partial:
        return None
    floor = given.floor
    if kind == "realizable" and verdict_of(given, None, rtol).kind == "realizable":
        return floor, floor
    first = np.unique(given.orbits.index, return_index=True)[1]
    place = target.orbits.index[first]
    high = min(objective.value(each) for each in placed(target, cosines, given, place))
    low = floor
    if target.latents.unit:
        low = max(low, *(transferred(target, cosines, slope, given, place) for slope in slopes(target, cosines)))
    return min(low, high), high


def placed(target: Target, cosines: FloatArray, given: Target, place: np.ndarray) -> Iterator[FloatArray]:
    """Feasible cosines of the labels as given: at the points of their multiples, and for scalars between those."""
    yield cosines[np.ix_(place, place)]
    if not target.latents.unit or target.labels is None or given.labels is None or target.labels.shape[1] != 1:
        return
    gram = cosines.copy()
    np.fill_diagonal(gram, 1.0)
    points, order = embed(gram), np.argsort(target.labels[:, 0])
    at, known = given.labels[:, 0], target.labels[order, 0]
    between = np.column_stack([np.interp(at, known, column) for column in points[order].T])
    length = np.linalg.norm(between, axis=1, keepdims=True)
    if length.min() > 0:
        between = between / length
        yield between @ between.T


def slopes(target: Target, cosines: FloatArray) -> Iterator[FloatArray]:
    """Slopes dF_b/dC (m, m) of bounds of the rounded labels' loss, better ones later."""
    objective, orbits = target.objective(), target.orbits
    slope = objective.gradient(cosines)
    for _ in range(ROUNDS):
        yield slope
        missing = orbits.entries(dual_blocks(orbits, cosines, slope).negative_part())[1]
        slope = objective.minorant(cosines, (slope + slope.T) / 2 + orbits.pairs * missing).slope


def transferred(target: Target, cosines: FloatArray, slope: FloatArray, given: Target, place: np.ndarray) -> float:
    """The bound of the module for ``given``, from one ``slope`` of a bound of ``target``."""
    orbits, tau = target.orbits, target.temperature
    lowest = min(0.0, dual_blocks(orbits, cosines, slope).min_eigenvalue())
    least = float(np.sum(slope * (cosines - 1))) + orbits.n_classes * lowest
    rate = (orbits.sizes * target.masses)[:, None] * target.pairs / tau
    pull = np.divide(slope, rate, out=np.zeros_like(slope), where=rate > 0)
    own = -(pull * target.pairs).sum(axis=1)[place] if target.include else np.zeros(place.size)
    pull = np.where(given.pairs > 0, pull[np.ix_(place, place)], 0.0)
    logs, log_own = given.log_target()
    wanted, wanted_own = np.exp(logs), np.exp(log_own)
    room = [float(np.min(p[x < 0] / -x[x < 0], initial=1.0)) for p, x in ((wanted, pull), (wanted_own, own))]
    part = min(1.0, *room)
    here, alone = np.maximum(wanted + part * pull, 0.0), np.maximum(wanted_own + part * own, 0.0)
    rows = (given.pairs * divergence(here, given.share)).sum(axis=1) + divergence(alone, given.share)
    return part * least - float((given.orbits.sizes * given.masses) @ rows)


def divergence(probabilities: FloatArray, share: float) -> FloatArray:
    """R log(R/q), 0 where R is."""
    safe = np.where(probabilities > 0, probabilities, share)
    return probabilities * np.log(safe / share)
