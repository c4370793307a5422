"""Two sides in one dimension: every point is at +1 or at -1, so that there is nothing to descend along.

Points change over to the other side of the line, one at a time or with their partners, as long as that lowers F; from
several starts.  The best found, which nothing makes the best of all.
"""

from __future__ import annotations

import numpy as np

from geomsolve.gram.paired import Paired
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossObjective
from geomsolve.solvers.sides import Sides

STARTS = 12
"""Starts at random."""


def solve_paired_line(objective: CrossObjective, paired: Paired, *, seed: int = 0) -> tuple[FloatArray, float, int]:
    """Rows (n_x + n_y, 3) as in ``solvers/sides.py``, the value and the evaluations; each point an orbit alone."""
    random = np.random.default_rng(seed)
    moves = changes(paired)
    best, evaluations = (np.inf, np.zeros((0, 3))), 0
    for _ in range(STARTS):
        rows = np.zeros((paired.n_first + paired.n_second, 3))
        rows[:, 0] = random.choice([-1.0, 1.0], rows.shape[0])
        value, since = objective.value(Sides.cross_of(paired, rows, rows)), 0
        while since < len(moves):
            for move in moves:
                rows[move] *= -1
                there = objective.value(Sides.cross_of(paired, rows, rows))
                evaluations, since = evaluations + 1, since + 1
                if there < value:
                    value, since = there, 0
                else:
                    rows[move] *= -1
                if since >= len(moves):
                    break
        best = min(best, (value, rows), key=lambda each: each[0])
    return best[1], best[0], evaluations


def changes(paired: Paired) -> list[np.ndarray]:
    """Which points change over together: each alone, each with its partner."""
    alone = [np.array([point]) for point in range(paired.n_first + paired.n_second)]
    have = np.flatnonzero(paired.mate >= 0)
    return [*alone, *(np.array([x, paired.n_first + paired.mate[x]]) for x in have)]
