"""Newton steps on the vectors of two sides: any smooth F of the cosines between them, whatever the rank.

Orbit g of the first side is a row (u_g, s_g): the centroid u_g of its points in r shared dimensions, and two numbers
s_g that say how they spread around it, in dimensions that they share with their partners alone.  With a row (v_h, t_h)
for each orbit of the second,

    off_gh = <u_g, v_h>,  or, h the partners of g,  <u_g, v_h> - <s_g, t_h> / (n - 1),   on_g = <u_g, v_h> + <s_g, t_h>

(every ``cross`` of unit vectors that are alike arises so from rows of unit length; two numbers, since a contrast of
``gram/paired.py`` is 2 x 2).  F is minimised over unit rows by a Riemannian trust region with truncated conjugate
gradients (Absil, Baker & Gallivan 2007).  A second-order point that leaves a dimension unused is optimal; whether this
one is, the certificate decides, and where S has a negative eigenvalue the rows gain a dimension along it.

Symbols: u, s and v, t ``point``, alpha, beta ``-radial``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from geomsolve.gram.paired import Paired
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossCurvature, CrossObjective
from geomsolve.proof.paired import certify_cross, dual_blocks

RESIDUAL = 1e-12
"""Stop when every row's gradient is this small relative to the forces that cancel in it."""

MAX_STEPS = 500
MAX_INNER = 400
MAX_ESCAPES = 12

PATIENCE = 25
"""Steps without progress, where F no longer resolves any, before giving up."""

NOISE = 1e3 * float(np.finfo(float).eps)
"""Relative rounding of F, with a margin."""

LITTLE = 1e-3
"""Squared length, relative to the mean of all dimensions, below which one is tried to be left out."""

LONG = 80
"""Dimensions beyond which the blocks of rows are taken by their diagonals."""

ROOMY = 400
"""Orbits of both sides together up to which rows have all dimensions at once, so that no escape is needed."""

NUDGE = 0.05
"""How far a start is moved at random: symmetric ones are saddles."""


@dataclass(frozen=True)
class Sides:
    """The rows of a problem: ``point`` (m_x + m_y, r + 2), the last two columns the spread."""

    objective: CrossObjective
    paired: Paired

    def spread(self) -> FloatArray:
        """(m_x + m_y, 1): 1 where the spread is in use."""
        used = np.zeros((self.paired.n_first + self.paired.n_second, 1))
        g, h, _ = self.paired.several
        used[g] = used[self.paired.n_first + h] = 1.0
        return used

    def cross(self, one: FloatArray, two: FloatArray) -> FloatArray:
        """:meth:`cross_of` the points of this problem."""
        return self.cross_of(self.paired, one, two)

    @staticmethod
    def cross_of(paired: Paired, one: FloatArray, two: FloatArray) -> FloatArray:
        """The cosines between the first side of ``one`` and the second side of ``two``: bilinear in the rows."""
        m = paired.n_first
        cross = np.zeros((m, paired.n_second + 1))
        cross[:, :-1] = one[:m, :-2] @ two[m:, :-2].T
        g, h = paired.matched
        cross[g, -1] = cross[g, h]
        g, h, n = paired.several
        turn = np.sum(one[g, -2:] * two[m + h, -2:], axis=1)
        cross[g, -1] += turn
        cross[g, h] -= turn / (n - 1)
        return cross

    def pull(self, slope: FloatArray, point: FloatArray) -> FloatArray:
        """The gradient (m_x + m_y, r + 2) of sum slope * cross with respect to the rows."""
        paired, m = self.paired, self.paired.n_first
        table = slope[:, :-1].copy()
        g, h = paired.matched
        table[g, h] += slope[g, -1]
        pull = np.zeros_like(point)
        pull[:m, :-2] = table @ point[m:, :-2]
        pull[m:, :-2] = table.T @ point[:m, :-2]
        g, h, n = paired.several
        turn = (slope[g, -1] - slope[g, h] / (n - 1))[:, None]
        pull[g, -2:] = turn * point[m + h, -2:]
        pull[m + h, -2:] = turn * point[g, -2:]
        return pull

    def beside(self, point: FloatArray) -> tuple[float, FloatArray]:
        """What is added to F that is no function of the cosines between the sides, and its gradient."""
        return 0.0, np.zeros_like(point)

    def beside_bend(self, step: FloatArray) -> FloatArray:
        """The Hessian of that, applied to a ``step``."""
        return np.zeros_like(step)

    def start(self, width: int, seed: int, near: FloatArray | None = None, nudge: float = NUDGE) -> FloatArray:
        """Rows at random, or ``near`` some."""
        rows = self.paired.n_first + self.paired.n_second
        noise = np.random.default_rng(seed).standard_normal((rows, width + 2)) / sqrt(width + 2)
        if near is not None:
            fixed = np.zeros_like(noise)
            kept = min(width, near.shape[1] - 2)
            fixed[:, :kept], fixed[:, -2:] = near[:, :kept], near[:, -2:]
            noise = fixed + nudge * noise
        noise[:, -2:] *= self.spread()
        return normalised(noise)


def normalised(point: FloatArray) -> FloatArray:
    """Rows of unit length."""
    return np.asarray(point / np.linalg.norm(point, axis=1, keepdims=True))


@dataclass(frozen=True)
class Spot:
    """Value and gradient at rows ``point``; ``weights`` (m_x + m_y, 1) are the sizes of the forces on each row."""

    sides: Sides
    point: FloatArray
    cross: FloatArray
    value: float
    slope: FloatArray
    gradient: FloatArray
    radial: FloatArray
    weights: FloatArray

    @classmethod
    def at(cls, sides: Sides, point: FloatArray) -> Spot:
        """The spot at rows ``point``."""
        cross = sides.cross(point, point)
        value, slope = sides.objective.evaluate(cross)
        more, push = sides.beside(point)
        pull = sides.pull(slope, point) + push
        radial = np.sum(pull * point, axis=1, keepdims=True)
        size = sides.objective.forces(cross)
        forces = np.concatenate([size.sum(axis=1), sides.paired.flip(size).sum(axis=1)])[:, None]
        forces = forces + np.linalg.norm(push, axis=1, keepdims=True)
        weights = np.maximum(forces, np.finfo(float).tiny + 1e-30 * forces.max())
        return cls(sides, point, cross, value + more, slope, pull - radial * point, radial, weights)

    @property
    def residual(self) -> float:
        """Largest relative gradient of a row."""
        return float(np.max(np.linalg.norm(self.gradient, axis=1) / self.weights[:, 0]))


class RowBlocks:
    """The blocks of the Hessian that see one row alone, (alpha or beta) 1 + sum stiffness y y', and their inverse; of
    rows longer than ``LONG`` their diagonals."""

    def __init__(self, spot: Spot) -> None:
        paired, point, m = spot.sides.paired, spot.point, spot.sides.paired.n_first
        stiff = spot.sides.objective.stiffness(spot.cross)
        table = stiff[:, :-1].copy()
        g, h = paired.matched
        table[g, h] += stiff[g, -1]
        r = point.shape[1] - 2
        ground = np.maximum(-spot.radial, 1e-2 * spot.weights)
        g, h, n = paired.several
        turn = (stiff[g, -1] + stiff[g, h] / (n - 1) ** 2)[:, None]
        self.point, self.long = point, r > LONG
        if self.long:
            squares = np.zeros_like(point)
            squares[:m, :r], squares[m:, :r] = table @ point[m:, :r] ** 2, table.T @ point[:m, :r] ** 2
            squares[g, r:], squares[m + h, r:] = turn * point[m + h, r:] ** 2, turn * point[g, r:] ** 2
            self.inverse = 1 / (squares + ground)
        else:
            blocks = np.zeros((point.shape[0], r + 2, r + 2))
            for rows, weights, others in (
                (slice(None, m), table, point[m:, :r]),
                (slice(m, None), table.T, point[:m, :r]),
            ):
                moments = weights @ (others[:, :, None] * others[:, None, :]).reshape(others.shape[0], -1)
                blocks[rows, :r, :r] = moments.reshape(-1, r, r)
            blocks[g, r:, r:] = turn[:, :, None] * point[m + h, r:, None] * point[m + h, None, r:]
            blocks[m + h, r:, r:] = turn[:, :, None] * point[g, r:, None] * point[g, None, r:]
            blocks[:, np.arange(r + 2), np.arange(r + 2)] += ground
            self.inverse = np.linalg.inv(blocks)
        self.outward = self._times(point)
        self.resistance = np.sum(point * self.outward, axis=1, keepdims=True)

    def _times(self, vector: FloatArray) -> FloatArray:
        if self.long:
            return self.inverse * vector
        return np.asarray(np.matmul(self.inverse, vector[:, :, None])[:, :, 0])

    def solve(self, vector: FloatArray) -> FloatArray:
        """The inverse on the tangent space."""
        solved = self._times(vector)
        solved -= np.sum(self.point * solved, axis=1, keepdims=True) / self.resistance * self.outward
        return tangent(self.point, solved)


class Level:
    """Steps that turn nothing: what is left of a step without the rotations of all rows together, X Omega with
    (X'X) Omega + Omega (X'X) = X' step - step' X, and of the spreads of each orbit.  F does not see these, but its
    second-order model does away from a stationary point, and would go astray along them."""

    def __init__(self, spot: Spot) -> None:
        self.paired, self.shared, self.spread = spot.sides.paired, spot.point[:, :-2], spot.point[:, -2:]
        values, self.turn = np.linalg.eigh(self.shared.T @ self.shared)
        both = values[:, None] + values
        self.share = np.divide(1.0, both, out=np.zeros_like(both), where=both > 1e-12 * values[-1])
        self.quarter = self.spread @ np.array([[0.0, 1.0], [-1.0, 0.0]])

    def __call__(self, step: FloatArray) -> FloatArray:
        level = step.copy()
        slant = self.turn.T @ (self.shared.T @ step[:, :-2]) @ self.turn
        level[:, :-2] -= self.shared @ (self.turn @ ((slant - slant.T) * self.share) @ self.turn.T)
        g, h, _ = self.paired.several
        if g.size:
            h = h + self.paired.n_first
            one, two = self.quarter[g], self.quarter[h]
            along = np.sum(one * step[g, -2:] + two * step[h, -2:], axis=1)
            size = np.sum(one**2 + two**2, axis=1)
            along = np.divide(along, size, out=np.zeros_like(along), where=size > 1e-24)[:, None]
            level[g, -2:] -= along * one
            level[h, -2:] -= along * two
        return level


@dataclass(frozen=True)
class Model:
    """The second-order model of F around a spot, preconditioned row by row."""

    spot: Spot
    curvature: CrossCurvature
    blocks: RowBlocks
    level: Level

    @classmethod
    def of(cls, spot: Spot) -> Model:
        """The model at a spot."""
        return cls(spot, spot.sides.objective.curvature(spot.cross), RowBlocks(spot), Level(spot))

    def hessian(self, step: FloatArray) -> FloatArray:
        """The Riemannian Hessian applied to a tangent ``step``."""
        spot, sides = self.spot, self.spot.sides
        change = sides.cross(step, spot.point) + sides.cross(spot.point, step)
        image = sides.pull(self.curvature(change), spot.point) + sides.pull(spot.slope, step)
        image += sides.beside_bend(step)
        return self.level(tangent(spot.point, image - spot.radial * step))

    def precondition(self, residual: FloatArray) -> FloatArray:
        """The inverse of the blocks on what neither stretches nor turns."""
        return self.level(self.blocks.solve(self.level(residual)))

    def step(self, radius: float) -> tuple[FloatArray, float, float]:
        """Truncated conjugate gradients (Steihaug): the step, the decrease predicted, and its length in the metric."""
        gradient = self.spot.gradient
        step, image = np.zeros_like(gradient), np.zeros_like(gradient)
        residual = gradient
        scaled = self.precondition(residual)
        power = float(np.sum(residual * scaled))
        if not power > 0:
            return step, 0.0, 0.0
        first = sqrt(power)
        goal = first * min(0.1, first / sqrt(float(self.spot.weights.sum())))
        direction = -scaled
        square, along, ahead = 0.0, 0.0, power
        for _ in range(MAX_INNER):
            curved = self.hessian(direction)
            bend = float(np.sum(direction * curved))
            length = power / bend if bend > 0 else 0.0
            if bend <= 0 or square + 2 * length * along + length**2 * ahead >= radius**2:
                reach = max(along**2 + ahead * (radius**2 - square), 0.0)
                length = (-along + sqrt(reach)) / ahead
                step, image = step + length * direction, image + length * curved
                square = radius**2
                break
            step, image, residual = step + length * direction, image + length * curved, residual + length * curved
            square += 2 * length * along + length**2 * ahead
            along += length * ahead
            scaled = self.precondition(residual)
            new = float(np.sum(residual * scaled))
            if sqrt(max(new, 0.0)) <= goal:
                break
            turn = new / power
            direction = -scaled + turn * direction
            along, ahead, power = turn * along, new + turn**2 * ahead, new
        predicted = -(float(np.sum(gradient * step)) + 0.5 * float(np.sum(step * image)))
        return step, predicted, sqrt(max(square, 0.0))


def tangent(point: FloatArray, vector: FloatArray) -> FloatArray:
    """What is left of each row of ``vector`` when rows must keep their length."""
    return np.asarray(vector - np.sum(vector * point, axis=1, keepdims=True) * point)


def descend(spot: Spot, limit: int = MAX_STEPS, residual: float = RESIDUAL, *, narrow: bool = True) -> tuple[Spot, int]:
    """Trust-region steps until rows balance to rounding or nothing moves any more; returns the spot and the steps.

    ``narrow``: dimensions that hold little are left out on the way.
    """
    largest = 4 * sqrt(float(spot.weights.sum()))
    radius = largest / 8
    best, idle = spot.residual, 0
    model: Model | None = None
    for count in range(limit):
        if spot.residual <= residual or idle >= PATIENCE or radius < 1e-14 * largest:
            return spot, count
        model = model or Model.of(spot)
        step, predicted, length = model.step(radius)
        noise = NOISE * max(1e-3, abs(spot.value))
        trial = Spot.at(spot.sides, normalised(spot.point + step))
        if predicted > noise:
            ratio = (spot.value - trial.value + noise) / (predicted + noise)
        else:  # F says nothing any more, the forces still do
            ratio = 1.0 if trial.residual < 0.9 * spot.residual else 0.0
        if ratio > 0.75 and length > 0.9 * radius:
            radius = min(2 * radius, largest)
        elif not ratio > 0.25:
            radius = min(radius, length) / 4
        if ratio > 0.05:
            spot, model = narrowed(trial, max(predicted, 0.0)) if narrow else trial, None
        idle = 0 if spot.residual < 0.5 * best or abs(predicted) > noise else idle + 1
        best = min(best, spot.residual)
    return spot, limit


def narrowed(spot: Spot, allowance: float) -> Spot:
    """The spot without the dimensions that hold little, if F rises by less than ``allowance`` then."""
    point, m = spot.point, spot.point.shape[1] - 2
    lengths, turn = np.linalg.eigh(point[:, :-2].T @ point[:, :-2])
    little = lengths < LITTLE * lengths.sum() / m
    if not little.any():
        return spot
    kept = turn[:, ~little]
    trial = Spot.at(spot.sides, normalised(np.concatenate([point[:, :-2] @ kept, point[:, -2:]], axis=1)))
    return trial if trial.value <= spot.value + allowance else spot


def solve_sides(
    objective: CrossObjective,
    paired: Paired,
    *,
    seed: int = 0,
    near: FloatArray | None = None,
    nudge: float = NUDGE,
    goal: float = 0.0,
) -> tuple[FloatArray, FloatArray, int]:
    """The best ``cross`` (m_x, m_y + 1) found, its rows (m_x + m_y, r + 2) and the steps it took.

    ``near``: rows to start close to, moved at random by ``nudge``.  Stops at a relative gap of ``goal``.
    """
    sides = Sides(objective, paired)
    rows = paired.n_first + paired.n_second
    width = rows if rows <= ROOMY else int(4 * sqrt(rows)) + 320
    spot, steps = descend(Spot.at(sides, sides.start(width, seed, near, nudge)))
    for _ in range(MAX_ESCAPES):
        proof = certify_cross(objective, paired, spot.cross)
        if proof.gap <= max(goal, 1e-13) * max(1.0, abs(proof.value)) or steps > MAX_STEPS:
            break
        outside = escape(spot)
        if outside is None:
            break
        spot, more = descend(outside)
        steps += more
    return spot.cross, spot.point, steps


def escape(spot: Spot) -> Spot | None:
    """The spot moved along the negative eigenvectors of S into new dimensions; None where that does not lower F."""
    paired, point = spot.sides.paired, spot.point
    dual = dual_blocks(paired, spot.cross, spot.slope)
    values, vectors = np.linalg.eigh(dual.quotient)
    below = np.flatnonzero(values < 0)[:4]
    size = np.sqrt(np.concatenate([paired.first, paired.second]))[:, None]
    if not below.size:
        return None
    ways = vectors[:, below] / size
    for length in (0.3, 0.1, 0.03, 0.01, 1e-3):
        wider = np.concatenate([point[:, :-2], length * ways / np.abs(ways).max(), point[:, -2:]], axis=1)
        trial = Spot.at(spot.sides, normalised(wider))
        if trial.value < spot.value:
            return trial
    return None


def rows_of(paired: Paired, quotient: FloatArray, contrast: FloatArray) -> FloatArray:
    """Rows (m_x + m_y, r + 2) of a feasible Gram matrix in blocks."""
    size = np.sqrt(np.concatenate([paired.first, paired.second]))[:, None]
    values, vectors = np.linalg.eigh(quotient)
    point = np.zeros((quotient.shape[0], quotient.shape[0] + 2))
    point[:, :-2] = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1] / size
    g, h, n = paired.several
    if g.size:
        values, turns = np.linalg.eigh(contrast)
        part = turns * np.sqrt(np.maximum(values, 0.0))[:, None, :] * np.sqrt((n - 1) / n)[:, None, None]
        point[g, -2:], point[paired.n_first + h, -2:] = part[:, 0], part[:, 1]
    return normalised(point)
