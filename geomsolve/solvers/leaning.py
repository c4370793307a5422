"""Newton steps for F - s g^2, with a modality gap g between the means of two sides (``proof/modality_gap.py``).

g^2 = |sum_g n_g v_g u_g|^2 in the rows of ``solvers/sides.py``, with weights v of the points, negative on the second
side.  A point that may be shorter than 1 has a number of its own in its row that nothing else sees: in the columns of
the spread, which is only for orbits of several points.

Symbols: s ``tilt``, n v ``weights``, u ``point[:, :-2]``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.paired import PairedBlocks, PairedGram
from geomsolve.gram.types import FloatArray
from geomsolve.proof.modality_gap import GapProblem, force, missing
from geomsolve.solvers.sides import Sides, Spot, descend, normalised, rows_of

NUDGE = 1e-3
"""How far a start is moved at random: symmetric ones are saddles."""

CLOSE, ROUNDING = 1e-8, 1e-15
"""What may be missing of the bound, relative to the tilt and to the forces, for no other start to be tried."""

STARTS, STEPS = 3, 150
"""Starts that are tried, and steps from each."""

RESIDUAL = 1e-13
"""Force left on a row, relative to those that cancel in it, that ends the steps."""


@dataclass(frozen=True)
class Leaning(Sides):
    """F - ``tilt`` g^2; ``weights`` (m_x + m_y,) of all points of an orbit together."""

    weights: FloatArray
    tilt: float

    def beside(self, point: FloatArray) -> tuple[float, FloatArray]:
        push = self.beside_bend(point)
        return float(np.sum(push * point)) / 2, push

    def beside_bend(self, step: FloatArray) -> FloatArray:
        bend = np.zeros_like(step)
        bend[:, :-2] = -2 * self.tilt * np.outer(self.weights, self.weights @ step[:, :-2])
        return bend


def solve_leaning(problem: GapProblem, tilt: float, near: PairedGram, *, seed: int = 0) -> PairedGram:
    """The geometry found to be best for F - ``tilt`` g^2, from one that is ``near``.

    Points that may be shorter than 1 stand alone in their orbits.
    """
    paired = problem.paired
    leaning = Leaning(problem.objective, paired, problem.sizes * problem.centre, tilt)
    free = leaning.spread()[:, 0] == 0
    own = problem.short & free
    blocks = paired.blocks(near)
    length = np.sqrt(np.concatenate([near.first_own, near.second_own]))
    begin = rows_of(paired, blocks.quotient, blocks.contrast) * length[:, None]
    begin[own, -2] = np.sqrt(np.maximum(1 - length[own] ** 2, 0.0))
    random = np.random.default_rng(seed)
    best: tuple[float, PairedGram] | None = None
    enough = CLOSE * abs(tilt) + ROUNDING * force(problem, near)
    size = NUDGE
    for _ in range(STARTS):
        noise = size * random.standard_normal(begin.shape) / np.sqrt(begin.shape[1])
        noise[free, -2:] = 0.0
        noise[own, -2] = size * random.random(int(own.sum()))
        spot, _ = descend(Spot.at(leaning, normalised(begin + noise)), limit=STEPS, residual=RESIDUAL)
        gram = gram_of(leaning, spot.point)
        short = missing(problem, tilt, gram)
        if best is None or short < best[0]:
            best = short, gram
        if short <= enough:
            break
        begin, size = np.pad(spot.point, ((0, 0), (1, 0))), 3 * size  # with a dimension more, for the noise
    assert best is not None
    return best[1]


def gram_of(sides: Sides, point: FloatArray) -> PairedGram:
    """The Gram matrix of rows ``point``, whatever their numbers of their own."""
    paired = sides.paired
    u = np.sqrt(np.concatenate([paired.first, paired.second]))[:, None] * point[:, :-2]
    g, h, n = paired.several
    spread = np.stack([point[g, -2:], point[paired.n_first + h, -2:]], axis=1)
    contrast = spread @ np.swapaxes(spread, 1, 2) * (n / (n - 1))[:, None, None]
    return paired.entries(PairedBlocks(u @ u.T, contrast))
