"""Weights whose optimal geometry comes nearest to a wanted one: a local search on the largest error of a cosine.

    minimise  max_ab |G_ab(x) - G*_ab|,      G(x) the optimum of the loss with weights at x, certified each time

Weights are where their logarithms are, rows of sum 1; margins of pairs where they are in units of the temperature, both
within reach of each other by steps of one size.  Steps are linear programs on the linearised G(x) within a region of
trust, with derivatives by differences.  What comes out was found, and nothing says that it is the best.

Symbols: x ``place``, G* ``target``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
"""Relative gain, and region of trust, below which no further step is made."""

STEP = 1e-4
"""Change of place by which derivatives are taken."""

LEAST = 1e-6
"""Smallest weight, relative to equal weights, that the search starts from."""

Weights = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Nearest:
    """``weights`` by what they are; their optimal ``gram`` (K, K), off by ``max_gram_error``, and its proof in nats."""

    weights: Weights
    gram: FloatArray
    max_gram_error: float
    value: float
    gap: float
    certified: bool


@dataclass(frozen=True)
class Shares:
    """Weights called ``names``, each one a class and of sum 1, by their logarithms."""

    names: tuple[str, ...]

    def place(self, weights: Weights) -> FloatArray:
        """Where weights are; those of almost nothing at :data:`LEAST`."""
        rows = [weights[name] for name in self.names]
        found: FloatArray = np.log(np.maximum(np.concatenate(rows), LEAST / rows[0].size))
        return found

    def at(self, place: FloatArray) -> Weights:
        """The weights at a place."""
        rows = np.exp(place.reshape(len(self.names), -1))
        return dict(zip(self.names, rows / rows.sum(axis=1, keepdims=True), strict=True))


@dataclass(frozen=True)
class PairMargins:
    """Symmetric ``margins`` (K, K), each up to ``most``, by their ratio to the ``temperature``."""

    temperature: float
    most: float

    def place(self, weights: Weights) -> FloatArray:
        """Where margins are."""
        margins = weights["margins"]
        found: FloatArray = margins[np.triu_indices(len(margins), 1)] / self.temperature
        return found

    def at(self, place: FloatArray) -> Weights:
        """The margins at a place."""
        n = round((1 + (1 + 8 * place.size) ** 0.5) / 2)
        margins = np.zeros((n, n))
        margins[np.triu_indices(n, 1)] = np.clip(place * self.temperature, -self.most, self.most)
        return {"margins": margins + margins.T}


def search(
    loss: Callable[[Weights], Loss],
    chart: Shares | PairMargins,
    starts: list[Weights],
    orbits: Orbits,
    target: FloatArray,
    *,
    solver: str,
    tolerance: float,
) -> Nearest | None:
    """The nearest that is found from the ``starts``, on the ``chart`` of what is free; None where none was solved."""
    pairs = np.triu_indices(orbits.n_classes, 1)

    def solved(place: FloatArray) -> Nearest | None:
        weights = chart.at(place)
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
        place = chart.place(start)
        found = solved(place)
        if found is not None:
            begun.append((place, found))
    begun.sort(key=lambda each: each[1].max_gram_error)
    kept = begun if begun and begun[0][0].size <= FEW_FREE else begun[:1]
    ended = [_descend(solved, place, near, target, pairs) for place, near in kept]
    return min(ended, key=lambda near: near.max_gram_error, default=None)


def _descend(
    solved: Callable[[FloatArray], Nearest | None],
    place: FloatArray,
    near: Nearest,
    target: FloatArray,
    pairs: tuple[IntArray, IntArray],
) -> Nearest:
    """Where steps from ``place``, solved as ``near``, end."""
    radius, slopes = 0.5, None
    for _ in range(ROUNDS):
        if slopes is None:
            slopes = _slopes(solved, place, near.gram, pairs)
        step = _step(slopes, (near.gram - target)[pairs], radius)
        trial = None if step is None else solved(place + step)
        if step is not None and trial is not None and trial.max_gram_error < near.max_gram_error:
            gained = near.max_gram_error - trial.max_gram_error
            place, near, slopes = place + step, trial, None
            radius = min(2 * radius, 1.0)
            if gained < GAIN * near.max_gram_error:
                break
        else:
            radius /= 4
        if radius < SHORT:
            break
    return near


def _slopes(
    solved: Callable[[FloatArray], Nearest | None],
    place: FloatArray,
    gram: FloatArray,
    pairs: tuple[IntArray, IntArray],
) -> FloatArray:
    """d G_ab / d x (P, n) by forward differences; 0 where a neighbour could not be solved."""
    columns = []
    for move in STEP * np.eye(place.size):
        beside = solved(place + move)
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
