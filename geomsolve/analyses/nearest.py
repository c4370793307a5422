"""Weights whose optimal geometry comes nearest to a wanted one: a local search on the largest error of a cosine.

    minimise  max_ab |G_ab(w) - G*_ab|,      G(w) the optimum of the loss with weights w, solved and certified each time

Steps are linear programs on the linearised G(w) within a region of trust, with derivatives by differences in log w.
What comes out was found, and nothing says that it is the best.

Symbols: log w ``logs``, G* ``target``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geomsolve.errors import SolverError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.losses import Loss
from geomsolve.solvers.choose import solve_objective

MOST_FREE = 24
"""Weights up to which they are searched for: each step takes as many solves."""

FEW_FREE = 12
"""Weights up to which every start is followed, else the best."""

ROUNDS = 25
"""Most steps."""

GAIN, SHORT = 1e-3, 1e-5
"""Relative gain, and region of log w, below which no further step is made."""

STEP = 1e-4
"""Change of log w by which derivatives are taken."""

LEAST = 1e-6
"""Smallest weight, relative to equal weights, that the search starts from."""

Weights = dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Nearest:
    """``weights`` by what they are; their optimal ``gram`` (K, K), off by ``max_gram_error``, and its proof in nats."""

    weights: Weights
    gram: FloatArray
    max_gram_error: float
    value: float
    gap: float
    certified: bool


def search(
    loss: Callable[[Weights], Loss],
    starts: list[Weights],
    orbits: Orbits,
    target: FloatArray,
    *,
    solver: str,
    tolerance: float,
) -> Nearest | None:
    """The nearest that is found from the ``starts``; None where none of them could be solved."""
    names = list(starts[0])
    n = orbits.n_classes
    pairs = np.triu_indices(n, 1)

    def weights_at(logs: FloatArray) -> Weights:
        rows = np.exp(logs.reshape(len(names), n))
        return dict(zip(names, rows / rows.sum(axis=1, keepdims=True), strict=True))

    def solved(logs: FloatArray) -> Nearest | None:
        weights = weights_at(logs)
        objective = loss(weights).objective(orbits)
        try:
            answer = solve_objective(objective, orbits, solver=solver, tolerance=tolerance)
        except SolverError:
            return None
        gram, proof = orbits.lift(answer.solution.cosines), answer.certificate
        off = float(np.abs(gram - target).max())
        return Nearest(weights, gram, off, proof.value, proof.gap, proof.certified)

    begun = []
    for start in starts:
        logs = np.log(np.maximum(np.concatenate([start[name] for name in names]), LEAST / n))
        found = solved(logs)
        if found is not None:
            begun.append((logs, found))
    begun.sort(key=lambda each: each[1].max_gram_error)
    kept = begun if n * len(names) <= FEW_FREE else begun[:1]
    ended = [_descend(solved, logs, near, target, pairs) for logs, near in kept]
    return min(ended, key=lambda near: near.max_gram_error, default=None)


def _descend(
    solved: Callable[[FloatArray], Nearest | None],
    logs: FloatArray,
    near: Nearest,
    target: FloatArray,
    pairs: tuple[IntArray, IntArray],
) -> Nearest:
    """Where steps from ``logs``, solved as ``near``, end."""
    radius, slopes = 0.5, None
    for _ in range(ROUNDS):
        if slopes is None:
            slopes = _slopes(solved, logs, near.gram, pairs)
        step = _step(slopes, (near.gram - target)[pairs], radius)
        trial = None if step is None else solved(logs + step)
        if step is not None and trial is not None and trial.max_gram_error < near.max_gram_error:
            gained = near.max_gram_error - trial.max_gram_error
            logs, near, slopes = logs + step, trial, None
            radius = min(2 * radius, 1.0)
            if gained < GAIN * near.max_gram_error:
                break
        else:
            radius /= 4
        if radius < SHORT:
            break
    return near


def _slopes(
    solved: Callable[[FloatArray], Nearest | None], logs: FloatArray, gram: FloatArray, pairs: tuple[IntArray, IntArray]
) -> FloatArray:
    """d G_ab / d log w (P, n) by forward differences; 0 where a neighbour could not be solved."""
    columns = []
    for move in STEP * np.eye(logs.size):
        beside = solved(logs + move)
        columns.append(np.zeros(pairs[0].size) if beside is None else (beside.gram - gram)[pairs] / STEP)
    return np.column_stack(columns)


def _step(slopes: FloatArray, error: FloatArray, radius: float) -> FloatArray | None:
    """The step within ``radius`` that makes the largest linearised error smallest."""
    n = slopes.shape[1]
    ones = np.ones((error.size, 1))
    found = importlib.import_module("scipy.optimize").linprog(
        np.concatenate([np.zeros(n), [1.0]]),
        A_ub=np.vstack([np.hstack([slopes, -ones]), np.hstack([-slopes, -ones])]),
        b_ub=np.concatenate([-error, error]),
        bounds=[(-radius, radius)] * n + [(0, None)],
        method="highs",
    )
    return None if found.x is None else np.asarray(found.x[:-1], dtype=np.float64)
