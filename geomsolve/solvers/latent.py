"""The latent route: few coordinates a point, found by quasi-Newton steps, for many labels or a limit on dimensions.

Each orbit g is a row (u_g, w_g): the centroid of its points in r shared dimensions and a radius w_g >= 0 in
dimensions of its own (a regular simplex for several points, one more axis for a single one), so that

    D_gh = |u_g - u_h|^2 + w_g^2 + w_h^2,   D_gg = 2 w_g^2 n_g / (n_g - 1),   C = 1 - D/2.

Rows of unit length give cosines C, free rows give squared Euclidean distances D = 2 (1 - C).  Optima for continuous
labels have a few large dimensions and many tiny ones; the w_g stand in for the latter, which is why a small r
suffices.  Whether it does is for the certificate to say: rounds of L-BFGS alternate with it, and r grows as needed.

Symbols: u ``rows[:, :-1]``, w ``rows[:, -1]``, r ``rank``, A = dF/dC ``slope``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geomsolve.certificate import TOLERANCE, Certificate, certify, certify_distances, tighten
from geomsolve.gram.embedding import embed
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.losses.base import Objective
from geomsolve.solvers.base import Solution

STEPS = 200
"""L-BFGS steps between two looks at the certificate."""

FIRST_RANK = 100
"""Most shared dimensions at the start; they double when progress stops."""

MAX_ROUNDS = 15
SPREAD = 0.03
"""Radius that every orbit gets in its own dimensions at the start; from exactly 0 it could not leave."""


@dataclass(frozen=True)
class Latents:
    """The parameterisation; ``unit`` rows or free ones; ``own`` whether orbits have dimensions of their own."""

    objective: Objective
    orbits: Orbits
    unit: bool
    own: bool = True

    def cosines(self, rows: FloatArray) -> FloatArray:
        """C = 1 - D/2 (m, m) of rows (m, r + 1)."""
        u, w = rows[:, :-1], rows[:, -1]
        squares = np.sum(u * u, axis=1) + w * w
        cosines: FloatArray = u @ u.T
        if not self.unit:
            cosines += 1 - (squares[:, None] + squares) / 2
        n = self.orbits.sizes
        np.fill_diagonal(cosines, np.where(n > 1, 1 - w * w * n / np.maximum(n - 1, 1), 1.0))
        return np.clip(cosines, -1.0, 1.0, out=cosines) if self.unit else cosines

    def evaluate(self, rows: FloatArray) -> tuple[float, FloatArray]:
        """F and its gradient with respect to the rows (m, r + 1), before any projection."""
        value, slope = self.objective.evaluate(self.cosines(rows))
        slope = slope + slope.T
        inner = np.diag(slope).copy()
        np.fill_diagonal(slope, 0.0)
        pull = -slope.sum(axis=1)
        u, w = rows[:, :-1], rows[:, -1]
        n = self.orbits.sizes
        gradient = np.empty_like(rows)
        gradient[:, :-1] = pull[:, None] * u + slope @ u
        gradient[:, -1] = w * (pull - inner * np.where(n > 1, n / np.maximum(n - 1, 1), 0.0)) if self.own else 0.0
        return value, gradient

    def unpack(self, x: FloatArray, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
        """Rows of a flat vector, and the lengths they were divided by."""
        rows = x.reshape(shape)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True) if self.unit else np.ones((shape[0], 1))
        return rows / lengths, lengths

    def descend(self, rows: FloatArray, steps: int) -> tuple[FloatArray, int]:
        """At most ``steps`` L-BFGS steps from ``rows``: better rows, steps taken."""
        from scipy.optimize import minimize

        scale = float(self.orbits.n_classes)

        def function(x: FloatArray) -> tuple[float, FloatArray]:
            point, lengths = self.unpack(x, rows.shape)
            value, gradient = self.evaluate(point)
            if self.unit:
                gradient = (gradient - np.sum(gradient * point, axis=1, keepdims=True) * point) / lengths
            return scale * value, scale * gradient.ravel()

        options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20, "ftol": 0.0, "gtol": 1e-13}
        minimizer: Any = minimize  # its stubs know no function that returns value and gradient
        found = minimizer(function, rows.ravel(), jac=True, method="L-BFGS-B", options=options)
        return self.unpack(found.x, rows.shape)[0], int(found.nit)


def start_rows(gram: FloatArray, rank: int, *, unit: bool, own: bool, seed: int) -> FloatArray:
    """Rows (m, rank + 1) near a Gram matrix (m, m), with a little seeded noise in the dimensions it does not use."""
    u = embed(gram, rank)
    scale = float(np.sqrt(np.trace(gram) / gram.shape[0])) or 1.0
    rows = np.pad(u, ((0, 0), (0, rank + 1 - u.shape[1])))
    rows[:, :-1] += 1e-3 * scale * np.random.default_rng(seed).standard_normal((gram.shape[0], rank))
    rows[:, -1] = SPREAD * scale if own else 0.0
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows


def widen(rows: FloatArray, extra: int, *, unit: bool, seed: int) -> FloatArray:
    """The same rows with ``extra`` more shared dimensions, slightly disturbed so that these can grow."""
    noise = np.random.default_rng(seed).standard_normal((rows.shape[0], extra))
    scale = 1e-2 * float(np.sqrt(np.mean(np.sum(rows * rows, axis=1)) / extra))
    wide = np.column_stack([rows[:, :-1], scale * noise, rows[:, -1]])
    return wide / np.linalg.norm(wide, axis=1, keepdims=True) if unit else wide


def prove(latents: Latents, cosines: FloatArray, tolerance: float) -> Certificate:
    """The best certificate at hand for cosines (unit rows) or for squared distances (free rows)."""
    if not latents.unit:
        return certify_distances(latents.objective, latents.orbits, cosines, tolerance=tolerance)
    first = certify(latents.objective, latents.orbits, cosines, tolerance=tolerance)
    return tighten(latents.objective, latents.orbits, cosines, first)


def solve_latent(
    objective: Objective,
    orbits: Orbits,
    start: FloatArray,
    *,
    unit: bool,
    tolerance: float = TOLERANCE,
    seed: int = 0,
) -> tuple[Solution, Certificate]:
    """Minimise a smooth objective from near ``start``; the solution and its proof, certified or the best so far.

    ``start`` (m, m): a psd matrix whose leading dimensions are a good guess: cosines, or the Gram matrix of points.
    """
    values = np.linalg.eigvalsh(start)[::-1]
    energy = np.cumsum(np.maximum(values, 0)) / max(float(np.maximum(values, 0).sum()), 1e-300)
    rank = int(min(orbits.n_orbits, FIRST_RANK, max(3, int(np.sum(energy < 0.999)) + 3)))
    latents = Latents(objective, orbits, unit)
    rows = start_rows(start, rank, unit=unit, own=True, seed=seed)
    best: tuple[Solution, Certificate] | None = None
    steps, before = 0, np.inf
    for count in range(MAX_ROUNDS):
        rows, taken = latents.descend(rows, STEPS)
        steps += taken
        cosines = latents.cosines(rows)
        cosines = orbits.nearest_gram(cosines) if unit else cosines
        certificate = prove(latents, cosines, tolerance)
        if best is None or certificate.gap < best[1].gap:
            best = Solution(cosines, "latent", steps), certificate
        if certificate.certified:
            break
        stalled = taken < STEPS or certificate.gap > 0.5 * before
        before = certificate.gap
        if stalled and rows.shape[1] - 1 < orbits.n_orbits:
            extra = min(rows.shape[1] - 1, orbits.n_orbits - rows.shape[1] + 1)
            rows = widen(rows, extra, unit=unit, seed=seed + count)
        elif taken == 0:
            break
    assert best is not None
    return best


def solve_limited(
    objective: Objective, orbits: Orbits, starts: list[FloatArray], dim: int, *, unit: bool, seed: int = 0
) -> FloatArray:
    """The best of several local solves with at most ``dim`` dimensions: points (n, dim), one row a class.

    ``starts`` are Gram matrices (n, n); ``orbits`` must be trivial.  Not certified: with a limit on dimensions
    the program is not convex.
    """
    latents = Latents(objective, orbits, unit, own=False)
    best: tuple[float, FloatArray] | None = None
    for count, gram in enumerate(starts):
        rows = start_rows(gram, dim, unit=unit, own=False, seed=seed + count)
        rows, _ = latents.descend(rows, 5 * STEPS)
        value = latents.evaluate(rows)[0]
        if best is None or value < best[0]:
            best = value, rows[:, :-1]
    assert best is not None
    return best[1]
