"""A search in limited dimension for many classes: steps by the gradient alone, from several starts.

    minimise  F(X),   X_a = Y_a / |Y_a|   over rows Y (n, d) without constraints,

by L-BFGS (Nocedal 1980; that of scipy).  A step costs two products of n x n by n x d, where a Newton step of
``manifold.py`` costs many, of which hundreds are needed before the rows are near a minimum.  Every start is followed
for a while, and the best one on to the end.  How much is done depends on n and d, not on the time that it takes.

Rows of full rank, of which there are few such steps to a minimum, are followed for these few (:func:`approach`).

Symbols: X ``rows``, Y ``free``; their last column is the radius of ``points.py``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.solvers.points import Points

WORK = 1.5e11
"""Evaluations of F times n^2 d, in all: some 40 s of one core."""

FEWEST, MOST = 300, 20_000
"""Evaluations of F, whatever the size."""

TRIAL = 12
"""Each start gets one in so many of all evaluations."""

PAIRS = 10
"""Steps that L-BFGS remembers."""

FALL = 1e-12
"""Relative decrease of F in one step at which it has settled."""

LOOK = 50
"""Steps over which the decrease is said."""

Watch = Callable[[int, float], None]
"""Told the evaluations made so far, and the lowest loss."""


@dataclass(frozen=True, eq=False)
class Found:
    """The best ``rows`` (n, d), their ``value``, the number of ``evaluations`` and of ``starts``; ``fell``: by how
    much F did so over the last steps, None where it had settled; ``stopped`` where whoever watched ended the search."""

    rows: FloatArray
    value: float
    evaluations: int
    starts: int
    fell: float | None
    stopped: bool

    @property
    def remark(self) -> str:
        """How far the search got, as the end of a sentence; empty where it settled."""
        said = ", stopped early" if self.stopped else ""
        return said if self.fell is None else f"{said}; the loss still fell by {self.fell:.1g} in {LOOK} steps"


class Search:
    """The state of a search: the lowest value so far, which is kept whatever ends it."""

    def __init__(self, points: Points, watch: Watch | None) -> None:
        self.points, self.watch = points, watch
        self.best, self.rows = np.inf, np.zeros((0, 0))
        self.evaluations = 0
        self.lows: list[float] = []

    def loss(self, free: FloatArray, shape: tuple[int, int]) -> tuple[float, FloatArray]:
        """F and its gradient at ``free``, flat."""
        points = self.points
        unscaled = free.reshape(shape)
        length = np.linalg.norm(unscaled, axis=1, keepdims=True) if points.unit else 1.0
        rows = unscaled / length
        value, slope = points.objective.evaluate(points.cosines(rows))
        slope = slope + slope.T
        slope /= 2
        gradient = points.tangent(rows, points.pull(slope, rows)) / length
        self.evaluations += 1
        if value < self.best:
            self.best, self.rows = value, rows
        if self.watch is not None:
            self.watch(self.evaluations, self.best)
        return value, gradient.ravel()

    def follow(self, rows: FloatArray, most: int) -> tuple[FloatArray, float, bool]:
        """Where at most ``most`` evaluations lead from ``rows``, the value there, and whether it settled."""
        options = {"maxiter": most, "maxfun": most, "maxcor": PAIRS, "ftol": FALL, "gtol": 0.0}
        self.lows = []

        def low(intermediate_result: object) -> None:
            self.lows.append(float(intermediate_result.fun))  # type: ignore[attr-defined]

        found = importlib.import_module("scipy.optimize").minimize(
            self.loss, rows.ravel(), args=(rows.shape,), jac=True, method="L-BFGS-B", options=options, callback=low
        )
        return found.x.reshape(rows.shape), float(found.fun), bool(found.status == 0)


def approach(points: Points, rows: FloatArray, most: int) -> FloatArray:
    """Rows near a minimum, after at most ``most`` evaluations from ``rows`` (m, r + 1)."""
    state = Search(points, None)
    state.follow(rows, most)
    return state.rows


def search(points: Points, starts: Iterable[FloatArray], dim: int, watch: Watch | None = None) -> Found:
    """The best that is found from ``starts`` (n, d) each.

    Who watches may end it by KeyboardInterrupt, and gets the best so far.
    """
    state = Search(points, watch)
    n = points.orbits.n_classes
    most = int(min(MOST, max(FEWEST, WORK / (n**2 * dim))))
    tried, settled, stopped = 0, False, False
    try:
        begun: tuple[FloatArray, float, bool] | None = None
        for rows in starts:
            here = state.follow(np.column_stack([rows, np.zeros(n)]), most // TRIAL)
            tried += 1
            begun = here if begun is None or here[1] < begun[1] else begun
        assert begun is not None
        settled = begun[2] or state.follow(begun[0], most - state.evaluations)[2]
    except KeyboardInterrupt:
        if watch is None or not np.isfinite(state.best):
            raise
        stopped = True
    recent = state.lows[-LOOK:]
    fell = None if settled or len(recent) < 2 else recent[0] - recent[-1]
    return Found(state.rows[:, :-1], state.best, state.evaluations, max(tried, 1), fell, stopped)
