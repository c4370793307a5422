"""Embeddings as rows of numbers: what the manifold solver moves (Burer & Monteiro), and the local model of F there.

Each orbit g is a row x_g = (u_g, w_g): the centroid u_g of its classes in r shared dimensions, and the radius w_g of
the regular simplex that they form around it in dimensions of their own (w_g = 0 if n_g = 1).  Then

    D_gh = |u_g - u_h|^2 + w_g^2 + w_h^2,   D_gg = 2 w_g^2 n_g / (n_g - 1),   C = 1 - D/2,

for rows of any length, and every D of Euclidean points arises so.  Rows of unit length are the feasible C of the
program: there C_gh = <u_g, u_h>.

The Hessian of F sees S (``proof/certificate.py``), which resists turning a row at all, and the curvature of F, which
resists moving it against its neighbours.  Block by block, one block a row, both are inverted:

    B_g = ground_g + sum_h stiffness_gh (x_h - x_g)(x_h - x_g)',

the preconditioner of the conjugate gradients.  Without the second term labels close to each other, whose cosines a
loss fixes a hundred times as firmly as others, would take several times as many steps (derived for this project).

Symbols: u ``point[:, :-1]``, w ``point[:, -1]``, n_g / (n_g - 1) ``widening``, A = dF/dC ``slope``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from geomsolve.gram.orbits import Blocks, Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Curvature, Objective, RowCurvature
from geomsolve.proof.certificate import dual_blocks

MAX_INNER = 1000
SHORTER = (64.0, 16.0, 4.0)
"""A step is also taken at these fractions of the trust region's radius, in case the whole one does not hold."""

FIRM = 0.05
"""Stiffness, relative to the ground, from which a neighbour enters the block of a row."""

NEIGHBOURS = 32
"""Most neighbours in a block that is not small."""


@dataclass(frozen=True)
class Points:
    """The parameterisation of one problem; rows of ``unit`` length or free ones."""

    objective: Objective
    orbits: Orbits
    unit: bool = True

    @property
    def widening(self) -> FloatArray:
        """(m,) n_g / (n_g - 1), 0 for orbits of one class."""
        n = self.orbits.sizes
        return np.where(n > 1, n / np.maximum(n - 1, 1), 0.0)

    def cosines(self, point: FloatArray) -> FloatArray:
        """C = 1 - D/2 (m, m) of rows ``point`` (m, r + 1)."""
        u, w = point[:, :-1], point[:, -1]
        cosines: FloatArray = u @ u.T
        if not self.unit:
            squares = np.sum(point * point, axis=1)
            cosines += 1 - (squares[:, None] + squares) / 2
        np.fill_diagonal(cosines, 1 - self.widening * w * w)
        return np.clip(cosines, -1.0, 1.0, out=cosines) if self.unit else cosines

    def change(self, point: FloatArray, step: FloatArray) -> FloatArray:
        """Directional derivative (m, m) of the cosines along a tangent ``step`` (m, r + 1)."""
        change = step[:, :-1] @ point[:, :-1].T
        if not self.unit:
            change -= np.sum(point * step, axis=1, keepdims=True)
        change = change + change.T
        np.fill_diagonal(change, -2 * self.widening * point[:, -1] * step[:, -1])
        return change

    def pull(self, slope: FloatArray, point: FloatArray) -> FloatArray:
        """Gradient (m, r + 1) of sum_gh slope_gh C_gh with respect to the rows; ``slope`` symmetric, linear in both."""
        inner = np.diag(slope)[:, None]
        pull = np.empty_like(point)
        pull[:, :-1] = 2 * (slope @ point[:, :-1] - inner * point[:, :-1])
        pull[:, -1:] = -2 * inner * self.widening[:, None] * point[:, -1:]
        return pull if self.unit else pull - 2 * (slope.sum(axis=1, keepdims=True) - inner) * point

    def tangent(self, point: FloatArray, vector: FloatArray) -> FloatArray:
        """What is left of each row of ``vector`` when rows must keep their length."""
        return vector - np.sum(vector * point, axis=1, keepdims=True) * point if self.unit else vector

    def normalise(self, point: FloatArray) -> FloatArray:
        """Rows of the length they must have."""
        return point / np.linalg.norm(point, axis=1, keepdims=True) if self.unit else point


@dataclass(frozen=True)
class Place:
    """Value and gradient at a point; ``weights`` (m, 1) are the sizes of the forces on each row."""

    points: Points
    point: FloatArray
    value: float
    slope: FloatArray
    gradient: FloatArray
    radial: FloatArray
    weights: FloatArray

    @classmethod
    def at(cls, points: Points, point: FloatArray) -> Place:
        """The place at rows ``point`` (m, r + 1)."""
        value, slope = points.objective.evaluate(points.cosines(point))
        slope = (slope + slope.T) / 2
        pull = points.pull(slope, point)
        radial = np.sum(pull * point, axis=1, keepdims=True) if points.unit else np.zeros((point.shape[0], 1))
        forces = 2 * np.sum(np.abs(slope), axis=1, keepdims=True)
        weights = np.maximum(forces, np.finfo(float).tiny + 1e-30 * forces.max())
        return cls(points, point, value, slope, pull - radial * point, radial, weights)

    @property
    def residual(self) -> float:
        """Largest relative gradient of a row; 0 where there is no force at all."""
        return float(np.max(np.linalg.norm(self.gradient, axis=1) / self.weights[:, 0])) / self.size

    @property
    def force(self) -> float:
        """The largest force on a row: it falls with every step where exponents still do, however flat F is."""
        return float(self.weights.max())

    @property
    def size(self) -> float:
        """Root mean square length of the rows."""
        return float(np.sqrt(np.mean(np.sum(self.point**2, axis=1)))) or 1.0

    def dual(self) -> Blocks:
        """S of ``proof/certificate.py``, or for free rows the Laplacian L: F falls along its negative eigenvectors."""
        cosines = self.points.cosines(self.point) if self.points.unit else np.ones_like(self.slope)
        return dual_blocks(self.points.orbits, cosines, self.slope)


class RowBlocks:
    """The inverse of the blocks B_g; see the module.  With E = ground^(-1/2) and v_h = E stiffness_gh^(1/2) (x_h - x_g)
    it is E (1 + sum_h v_h v_h')^(-1) E: worked out as it stands in few dimensions, else through the neighbours."""

    def __init__(self, place: Place, curvature: Curvature, dtype: type[np.floating]) -> None:
        points, X, weights = place.points, place.point, place.weights
        inner = np.diag(place.slope)[:, None]
        ground = np.repeat(-place.radial, X.shape[1], axis=1)
        if not points.unit:
            ground -= 2 * (place.slope.sum(axis=1, keepdims=True) - inner)
        ground[:, -1:] -= 2 * inner * points.widening[:, None]
        stiffness = np.zeros_like(place.slope)
        if isinstance(curvature, RowCurvature):
            stiffness = np.maximum(curvature.own + curvature.own.T, 0.0)
        own = np.diag(stiffness) / 2
        np.fill_diagonal(stiffness, 0.0)
        total = stiffness.sum(axis=1, keepdims=True)
        ground = np.maximum(ground, np.maximum(1e-2 * weights, 1e-6 * total))
        self.scale = (1 / np.sqrt(ground)).astype(dtype)
        self.inverse = self.middle = None
        centres = np.pad(X[:, :-1], ((0, 0), (0, 1)))
        turn = 2 * points.widening * X[:, -1] * np.sqrt(own)
        m, r = X.shape
        firm = np.sum(stiffness > FIRM * ground.min(axis=1, keepdims=True), axis=1)
        count = min(int(np.quantile(firm, 0.9)) + 1, NEIGHBOURS, m - 1)
        if 2 * count < r:
            near = np.argpartition(-stiffness, count, axis=1)[:, :count]
            strength = np.sqrt(np.take_along_axis(stiffness, near, axis=1))[:, :, None]
            vectors = np.empty((m, count + 1, r), dtype)
            vectors[:, :-1] = strength * (centres[near] - X[:, None])
            vectors[:, -1] = 0.0
            vectors[:, -1, -1] = turn
            self.vectors = vectors * self.scale[:, None]
            self.middle = np.linalg.inv(np.eye(count + 1, dtype=dtype) + self.vectors @ self.vectors.transpose(0, 2, 1))
        else:
            upper = np.triu_indices(r)
            moments = np.empty((m, r, r))
            moments[:, upper[0], upper[1]] = stiffness @ (centres[:, upper[0]] * centres[:, upper[1]])
            moments[:, upper[1], upper[0]] = moments[:, upper[0], upper[1]]
            cross = (stiffness @ centres)[:, :, None] * X[:, None]
            moments += total[:, :, None] * X[:, :, None] * X[:, None] - cross - cross.transpose(0, 2, 1)
            moments[:, -1, -1] += turn**2
            moments *= self.scale[:, :, None] * self.scale[:, None]
            self.inverse = np.linalg.inv(np.eye(r) + moments).astype(dtype)

    def solve(self, vector: FloatArray) -> FloatArray:
        """B^(-1) of each row of ``vector`` (m, r + 1)."""
        scaled = self.scale * vector
        if self.inverse is not None:
            scaled = np.matmul(self.inverse, scaled[:, :, None])[:, :, 0]
        elif self.middle is not None:
            inner = self.middle @ np.matmul(self.vectors, scaled[:, :, None])
            scaled -= np.matmul(inner.transpose(0, 2, 1), self.vectors)[:, 0]
        solved: FloatArray = self.scale * scaled
        return solved


@dataclass(frozen=True)
class Step:
    """A step of the rows (m, r + 1), the decrease of F that the quadratic model predicts, and the length of the step
    in the metric of the blocks."""

    rows: FloatArray
    predicted: float
    length: float


def scaled_down(curvature: Curvature, force: float) -> Curvature:
    """The curvature of F / ``force``."""
    if isinstance(curvature, RowCurvature):
        return replace(curvature, own=curvature.own / force, rows=curvature.rows / np.sqrt(force))
    return lambda change: curvature(change) / force


class Quadratic:
    """The second-order model of F around a place, in arithmetic of ``dtype``: single precision costs a step more.

    It is the model of F / ``force``, the largest force, so that no number is too large or small for that.
    """

    def __init__(self, place: Place, dtype: type[np.floating]) -> None:
        self.force = place.force
        scaled = replace(
            place, slope=place.slope / self.force, radial=place.radial / self.force, weights=place.weights / self.force
        )
        self.place, self.points, self.dtype = place, place.points, dtype
        curvature = scaled_down(self.points.objective.curvature(self.points.cosines(place.point)), self.force)
        self.blocks = RowBlocks(scaled, curvature, dtype)
        if isinstance(curvature, RowCurvature):
            curvature = replace(curvature, own=curvature.own.astype(dtype), rows=curvature.rows.astype(dtype))
        self.curvature = curvature
        self.point, self.slope, self.radial = (a.astype(dtype) for a in (scaled.point, scaled.slope, scaled.radial))
        if self.points.unit:
            self.outward = self.blocks.solve(self.point)
            self.resistance = np.sum(self.point * self.outward, axis=1, keepdims=True)

    def hessian(self, step: FloatArray) -> FloatArray:
        """The Riemannian Hessian of F / force applied to a tangent ``step`` (m, r + 1)."""
        points = self.points
        moved = self.curvature(points.change(self.point, step))
        moved = moved + moved.T
        moved /= 2
        image = points.pull(moved, self.point) + points.pull(self.slope, step)
        return points.tangent(self.point, image - self.radial * step)

    def precondition(self, vector: FloatArray) -> FloatArray:
        """The inverse of the blocks on the tangent space, applied to ``vector`` (m, r + 1)."""
        solved = self.blocks.solve(vector)
        if self.points.unit:
            solved -= np.sum(self.point * solved, axis=1, keepdims=True) / self.resistance * self.outward
        return self.points.tangent(self.point, solved)

    def steps(self, radius: float) -> list[Step]:
        """Truncated conjugate gradients (Steihaug): the step in a trust region of ``radius``, and shorter ones."""
        place = self.place
        size = float(np.abs(place.gradient).max()) or 1.0
        ratio = size / self.force
        slope = self.points.tangent(self.point, (place.gradient / size).astype(self.dtype))
        residual = slope
        step, image = np.zeros_like(slope), np.zeros_like(slope)
        scaled = self.precondition(residual)
        power = float(np.sum(residual * scaled))
        if not power > 0:  # no force but rounding
            return [Step(np.zeros_like(place.point), 0.0, 0.0)]
        goal = np.sqrt(power) * min(0.1, np.sqrt(power) * ratio / float(np.sqrt(np.sum(place.weights / self.force))))
        goal = max(goal, 1e-4 * np.sqrt(power)) if self.dtype is np.float32 else goal
        direction = -scaled
        unit = np.sqrt(self.force) * ratio  # of lengths
        radii = [radius / unit / part for part in SHORTER] + [radius / unit]
        square, along, ahead = 0.0, 0.0, power  # |step|^2, <step, direction>, |direction|^2 in the metric of the blocks
        found: list[Step] = []

        def stop(length: float) -> None:
            rows, turned = step + length * direction, image + length * curved
            predicted = -(float(np.sum(slope * rows)) + 0.5 * float(np.sum(rows * turned))) * size * ratio
            long = np.sqrt(max(square + 2 * length * along + length**2 * ahead, 0.0))
            found.append(Step(ratio * rows.astype(np.float64), predicted, unit * float(long)))

        for _ in range(MAX_INNER):
            curved = self.hessian(direction)
            bend = float(np.sum(direction * curved))
            if not np.isfinite(bend):
                break
            length = power / bend if bend > 0 else 0.0
            while radii and (bend <= 0 or square + 2 * length * along + length**2 * ahead >= radii[0] ** 2):
                reach = radii.pop(0) ** 2 - square
                stop((-along + np.sqrt(max(along**2 + ahead * reach, 0.0))) / ahead)
            if not radii:
                break
            step, image, residual = step + length * direction, image + length * curved, residual + length * curved
            square, along = square + 2 * length * along + length**2 * ahead, along + length * ahead
            scaled = self.precondition(self.points.tangent(self.point, residual))
            new = float(np.sum(residual * scaled))
            if np.sqrt(max(new, 0.0)) <= goal:
                break
            turn = new / power
            direction = -scaled + turn * direction
            along, ahead, power = turn * along, new + turn**2 * ahead, new
        if radii:
            curved = np.zeros_like(step)
            stop(0.0)
        return found[::-1]
