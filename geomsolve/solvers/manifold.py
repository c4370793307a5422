"""The manifold route: gradient and curvature on unit vectors (Burer & Monteiro), for any smooth loss.

Each orbit g is a unit row x_g = (u_g, w_g): the centroid u_g of its classes and the radius w_g of the regular
simplex that they form around it in dimensions of their own, so that

    C_gh = <u_g, u_h>,   C_gg = |u_g|^2 - w_g^2 / (n_g - 1),   |u_g|^2 + w_g^2 = 1   (w_g = 0 if n_g = 1),

and every feasible C arises so.  F(x) is minimised over the product of spheres by a Riemannian trust-region
Newton method with truncated conjugate gradients (Absil, Baker & Gallivan 2007).  Rows are scaled by the size
of their gradient, without which classes of proportion 1e-6 would never settle.  With as many columns as orbits a
second-order point is optimal; whether this one is, the certificate decides, and where S has a negative
eigenvalue the solver leaves along its eigenvector.

Symbols: u ``point[:, :-1]``, w ``point[:, -1]``, S as in ``certificate.py``, 1/(n_g - 1) ``inverse``.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from geomsolve.certificate import dual_blocks
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.losses.base import Curvature, Objective
from geomsolve.solvers.base import Solution

RESIDUAL = 1e-13
"""Stop when every row's gradient is this small relative to the forces that cancel in it."""

PATIENCE = 60
"""Steps without progress, where F no longer resolves any, before giving up; a tenth of it once rows nearly balance."""

MAX_STEPS = 300
MAX_INNER = 400
MAX_ESCAPES = 8

MOST_STARTS, FEWEST_STARTS = 20, 3
"""Starts of a search in limited dimension: the most up to 100 classes, then fewer."""

MOST_SIGNS = 14
"""Classes up to which all 2^(K-1) ways to put them at two points are tried."""


@dataclass(frozen=True)
class Sphere:
    """The parameterisation of one problem; ``inverse`` (m,) is 1/(n_g - 1), or 0 for orbits of one class."""

    objective: Objective
    orbits: Orbits
    inverse: FloatArray

    def cosines(self, point: FloatArray) -> FloatArray:
        """C (m, m) of unit rows ``point`` (m, r + 1)."""
        u, w = point[:, :-1], point[:, -1]
        cosines: FloatArray = np.clip(u @ u.T, -1.0, 1.0)
        inner = np.clip(np.sum(u * u, axis=1) - self.inverse * w * w, -1.0, 1.0)
        np.fill_diagonal(cosines, np.where(self.inverse > 0, inner, 1.0))
        return cosines

    def change(self, point: FloatArray, step: FloatArray) -> FloatArray:
        """Directional derivative of the cosines along ``step`` (m, r + 1)."""
        half = step[:, :-1] @ point[:, :-1].T
        change: FloatArray = half + half.T
        inner = np.diag(change) - 2 * self.inverse * point[:, -1] * step[:, -1]
        np.fill_diagonal(change, np.where(self.inverse > 0, inner, 0.0))
        return change

    def pull(self, slope: FloatArray, point: FloatArray) -> FloatArray:
        """Euclidean gradient (m, r + 1) of sum_gh slope_gh C_gh with respect to the rows; ``slope`` symmetric."""
        return np.column_stack([2 * slope @ point[:, :-1], -2 * np.diag(slope) * self.inverse * point[:, -1]])


def tangent(point: FloatArray, vector: FloatArray) -> FloatArray:
    """Project each row of ``vector`` to the tangent space of the sphere at the row of ``point``."""
    projected: FloatArray = vector - np.sum(vector * point, axis=1, keepdims=True) * point
    return projected


def normalise(point: FloatArray) -> FloatArray:
    """Scale each row to length 1."""
    unit: FloatArray = point / np.linalg.norm(point, axis=1, keepdims=True)
    return unit


@dataclass(frozen=True)
class Model:
    """Value, gradient and Hessian at a point; ``weights`` (m, 1) are the sizes of the forces on each row."""

    sphere: Sphere
    point: FloatArray
    value: float
    slope: FloatArray
    gradient: FloatArray
    radial: FloatArray
    weights: FloatArray

    @classmethod
    def at(cls, sphere: Sphere, point: FloatArray) -> Model:
        value, slope = sphere.objective.evaluate(sphere.cosines(point))
        slope = (slope + slope.T) / 2
        euclidean = sphere.pull(slope, point)
        radial = np.sum(euclidean * point, axis=1, keepdims=True)
        forces = 2 * np.sum(np.abs(slope), axis=1, keepdims=True)
        weights = np.maximum(forces, np.finfo(float).tiny + 1e-30 * forces.max())
        return cls(sphere, point, value, slope, euclidean - radial * point, radial, weights)

    @property
    def residual(self) -> float:
        """Largest relative gradient of a row; 0 where there is no force at all."""
        return float(np.max(np.linalg.norm(self.gradient, axis=1) / self.weights[:, 0]))

    def hessian(self, curvature: Curvature, step: FloatArray) -> FloatArray:
        moved = curvature(self.sphere.change(self.point, step))
        moved = (moved + moved.T) / 2
        euclidean = self.sphere.pull(moved, self.point) + self.sphere.pull(self.slope, step)
        return tangent(self.point, euclidean - self.radial * step)

    def step(self, radius: float) -> tuple[FloatArray, float]:
        """Truncated conjugate gradients (Steihaug) in the metric sum_g weight_g |.|^2: the step, predicted decrease."""
        curvature = self.sphere.objective.curvature(self.sphere.cosines(self.point))
        weights = self.weights
        step, image = np.zeros_like(self.point), np.zeros_like(self.point)
        residual = self.gradient
        scaled = residual / weights
        power = float(np.sum(residual * scaled))
        goal = np.sqrt(power) * min(0.1, np.sqrt(power / float(weights.sum())))
        direction = -scaled
        for _ in range(MAX_INNER):
            curved = self.hessian(curvature, direction)
            bend = float(np.sum(direction * curved))
            length = power / bend if bend > 0 else np.inf
            ahead = step + length * direction if bend > 0 else step
            if bend <= 0 or np.sum(weights * ahead * ahead) >= radius**2:
                a, b = float(np.sum(weights * direction**2)), float(np.sum(weights * step * direction))
                c = float(np.sum(weights * step**2)) - radius**2
                length = (-b + np.sqrt(max(b * b - a * c, 0.0))) / a
                step, image = step + length * direction, image + length * curved
                break
            step, image = ahead, image + length * curved
            residual = residual + length * curved
            scaled = tangent(self.point, residual) / weights
            new = float(np.sum(residual * scaled))
            if np.sqrt(max(new, 0.0)) <= goal:
                break
            direction = -scaled + (new / power) * direction
            power = new
        return step, -float(np.sum(self.gradient * step) + 0.5 * np.sum(step * image))


def descend(model: Model, limit: int) -> tuple[Model, int]:
    """Trust-region steps until the residual is at rounding level or nothing moves any more."""
    radius = 0.5 * float(np.sqrt(model.weights.sum()))
    largest = 4 * radius
    best_residual, idle = model.residual, 0
    for count in range(limit):
        if model.residual <= RESIDUAL or idle >= (PATIENCE if model.residual > 1e-8 else PATIENCE // 10):
            return model, count
        step, predicted = model.step(radius)
        trial = Model.at(model.sphere, normalise(model.point + step))
        noise = 1e3 * np.finfo(float).eps * max(1e-3, abs(model.value))
        ratio = (model.value - trial.value + noise) / (predicted + noise)
        if ratio > 0.75:
            radius = min(2 * radius, largest)
        elif ratio < 0.25:
            radius /= 4
        if ratio > 0.05:
            model = trial
        improved = model.residual < 0.5 * best_residual
        settled = abs(predicted) <= noise
        idle = 0 if improved or not settled else idle + 1
        best_residual = min(best_residual, model.residual)
        if radius < 1e-14 * largest:
            return model, count + 1
    return model, limit


def escape(model: Model) -> Model | None:
    """A point from which F falls, if S has a negative eigenvalue that a step can use; None if S is psd."""
    sphere, orbits = model.sphere, model.sphere.orbits
    blocks = dual_blocks(orbits, sphere.cosines(model.point), model.slope)
    values, vectors = np.linalg.eigh(blocks.quotient)
    lowest = float(min(values[0], blocks.contrast.min()))
    if orbits.n_classes * -lowest <= 1e-15 * max(1.0, abs(model.value)):
        return None
    # rotate so that the last centroid column carries least, then use it for the new direction
    u = model.point[:, :-1]
    turned = np.column_stack([u @ np.linalg.svd(u)[2].T, model.point[:, -1]])
    direction = np.zeros_like(turned)
    if values[0] <= lowest:
        direction[:, -2] = vectors[:, 0] / np.sqrt(orbits.sizes)
    else:
        direction[int(np.argmin(blocks.contrast)), -1] = 1.0
    for size in (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5):
        trial = Model.at(sphere, normalise(turned + size * direction))
        if trial.value < model.value:
            return trial
    return None


def interior(orbits: Orbits) -> FloatArray:
    """A start: the regular simplex, moved a little towards the orthogonal frame so that it has full rank."""
    cosines: FloatArray = 0.9 * orbits.regular_simplex() + np.diag(np.where(orbits.sizes > 1, 0.0, 0.1))
    return cosines


def solve_manifold(objective: Objective, orbits: Orbits, *, start: FloatArray | None = None) -> Solution:
    """Minimise a smooth objective from orbit cosines ``start`` (m, m), or from near the regular simplex.

    Raises :class:`InputError` for a loss with kinks.
    """
    if not objective.smooth:
        raise InputError("the manifold solver needs a loss without kinks; use conic", field="solver")
    inverse = np.where(orbits.sizes > 1, 1 / np.maximum(orbits.sizes - 1, 1), 0.0)
    sphere = Sphere(objective, orbits, inverse)
    centroids, spread = orbits.factor(interior(orbits) if start is None else start)
    model = Model.at(sphere, normalise(np.column_stack([centroids, spread])))
    steps = 0
    for _ in range(MAX_ESCAPES):
        model, taken = descend(model, MAX_STEPS - steps)
        steps += taken
        moved = escape(model) if steps < MAX_STEPS else None
        if moved is None:
            break
        model = moved
    return Solution(orbits.nearest_gram(sphere.cosines(model.point)), "manifold", steps)


def solve_limited(objective: Objective, orbits: Orbits, start: FloatArray, dim: int, seed: int) -> Solution:
    """The best of several local minima in at most ``dim`` dimensions; nothing makes it the global one.

    Classes with equal proportions need not be alike any more, so that ``orbits`` are single classes.  The first start
    is the Gram matrix ``start`` (K, K), cut to its ``dim`` main directions, the others are random (``seed``).
    Raises :class:`InputError` for a loss with kinks, or for one dimension and many classes.
    """
    if not objective.smooth:
        raise InputError(
            "the optimum found needs more dimensions, and in fewer only losses without kinks are searched", field="dim"
        )
    n = orbits.n_classes
    if dim == 1:
        return solve_line(objective, n)
    sphere = Sphere(objective, orbits, np.zeros(n))
    generator = np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(start)
    first = vectors[:, -dim:] * np.sqrt(np.maximum(values[-dim:], 0.0))
    starts = max(FEWEST_STARTS, min(MOST_STARTS, MOST_STARTS * 100**2 // n**2))
    best, steps = None, 0
    for number in range(starts):
        rows = generator.standard_normal((n, dim)) if number else first + 1e-3 * generator.standard_normal((n, dim))
        model, taken = descend(Model.at(sphere, normalise(np.column_stack([rows, np.zeros(n)]))), MAX_STEPS)
        steps += taken
        if best is None or model.value < best.value:
            best = model
    assert best is not None
    return Solution(sphere.cosines(best.point), "manifold", steps, note=f"best of {starts} starts in {dim} dimensions")


def solve_line(objective: Objective, n_classes: int) -> Solution:
    """One dimension: each class is at one of two points, so that all ways can be tried."""
    if n_classes > MOST_SIGNS:
        raise InputError(
            f"one dimension has only two points; they are tried for at most {MOST_SIGNS} classes, not {n_classes:,}",
            field="dim",
        )
    best = (np.inf, np.ones((n_classes, n_classes)))
    for signs in itertools.product((1.0, -1.0), repeat=n_classes - 1):
        side = np.array([1.0, *signs])
        cosines = np.outer(side, side)
        best = min(best, (objective.value(cosines), cosines), key=lambda each: each[0])
    return Solution(best[1], "manifold", 2 ** (n_classes - 1), note="all ways to put the classes at two points")
