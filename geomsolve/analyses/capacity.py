"""How many classes fit: the largest angle that K unit vectors in d dimensions can all keep from each other.

    maximise  min_{a != b} angle(x_a, x_b)        (the Tammes problem on the sphere)

Closed forms where they are known (K <= 2 d, and the plane); elsewhere the best arrangement that a search finds, beside
the strongest bound of ``gram/codes.py``.  The search minimises a soft maximum of the cosines,

    max c + log sum_{a < b} e^{beta (c_ab - max c)} / beta,

with beta growing, from seeded random starts (L-BFGS), and small arrangements are finished by a sequence of linear
programs on the pairs that are nearly closest.

Symbols: K ``n_classes``, d ``dim``, x ``points``, c ``cosines``, beta ``sharpness``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.packing import PackingReport, packing
from geomsolve.errors import InputError
from geomsolve.gram import families
from geomsolve.gram.codes import bounds, closed_form, is_closed, largest_cosine, welch_bound
from geomsolve.gram.packing import cap_share
from geomsolve.gram.structure import angle_degrees
from geomsolve.gram.types import FloatArray
from geomsolve.questions.capacity import Capacity
from geomsolve.report import Report, Table, jsonable, understood
from geomsolve.words import counted

FULL_GRAM = 64
"""Classes up to which the K x K Gram matrix is part of the JSON without being asked for."""

MOST_ARRANGED = 4096
"""Classes and dimensions up to which points are searched for: their K x K cosines are compared at once."""

MOST_DRAWN = 100_000
"""Points that are drawn at random where nothing better is known."""

WRITTEN = 10**7
"""Numbers up to which the points of a large arrangement are kept."""

BLOCK = 2048
"""Points that are compared with so many others at once."""

SINGLE = 1e-6
"""What a cosine may lose in single precision."""

OPTIMAL = 1e-9
"""How close a found arrangement must come to a bound to count as attaining it."""

SHARPNESS = (8.0, 32.0, 128.0, 512.0, 2048.0, 8192.0)
"""Values of beta, in this order."""

EFFORT = 4e10
"""Multiplications that the search may spend, roughly: they decide how many starts and steps a problem gets."""

MOST_STEPS = 300
"""Steps of each sharpness."""

FEW_STEPS = 15
"""Steps of each sharpness that a search has beyond ``EFFORT``, in single precision, up to ``MOST_EFFORT``."""

LEAST_STEPS = 5
"""With fewer, points by formula or at random are as good."""

MOST_EFFORT = 4e11
"""Multiplications in single precision that no search goes beyond: about ten seconds."""

LEAST_EXPONENT = -80.0
"""Exponentials below are numbers that single precision is slow with, and count for nothing."""

POLISHED = 500
"""Numbers K d up to which the best arrangement is finished by linear programs; up to an eighth of it, every one."""


@dataclass(frozen=True)
class CapacityReport(Report):
    """``points`` (K, d) unit vectors, None where they are too many to write down; ``max_cosine`` and
    ``best_min_angle_deg`` (degrees) of their closest pair.

    ``bound`` is the strongest bound on the largest cosine, ``bounds`` all of them and the Welch bound on its absolute
    value; ``optimal`` is True where a bound is attained and None where that is not known.
    """

    command: ClassVar[str] = "capacity"
    apart: ClassVar[tuple[str, ...]] = ("points",)

    fits_simplex: bool
    points: FloatArray | None
    max_cosine: float
    best_min_angle_deg: float
    bound: dict[str, Any]
    bounds: list[dict[str, Any]]
    optimal: bool | None
    method: str

    @property
    def table(self) -> Table:
        if self.gram is None:
            return super().table
        return Table.of_matrix(self.gram, [str(a + 1) for a in range(self.gram.shape[0])])

    @property
    def value(self) -> float | None:
        return self.max_cosine

    @property
    def gap(self) -> float | None:
        return 0.0 if self.optimal else None

    @property
    def headline(self) -> str:
        return f"angles of {self.best_min_angle_deg:.6g}° or more"

    @property
    def asked(self) -> dict[str, Any]:
        return {"max_cosine": self.max_cosine}

    @property
    def gram(self) -> FloatArray | None:
        """Cosines between the points (K, K)."""
        if self.points is None or len(self.points) > MOST_ARRANGED:
            return None
        gram: FloatArray = np.clip(self.points @ self.points.T, -1.0, 1.0)
        np.fill_diagonal(gram, 1.0)
        return gram

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` includes the Gram matrix however many classes there are."""
        plain = super().to_dict(**detail)
        if full or self.problem["classes"] <= FULL_GRAM:
            plain["gram"] = jsonable(self.gram)
        return plain


Tried = Callable[[int, int], None]
"""Takes how many parts of a search are done, and how many there are."""


def capacity(problem: Capacity, *, progress: Tried | None = None) -> CapacityReport | PackingReport:
    """Answer the question of :class:`Capacity`; raises :class:`InputError` where a search would be too large.

    ``progress`` is told how many parts of a search are done, and how many there are.
    """
    return arranged(problem, progress) if problem.max_cosine is None else packing(problem)


def arranged(problem: Capacity, progress: Tried | None = None) -> CapacityReport:
    """The best arrangement of so many classes in so many dimensions."""
    n, dim = problem.classes, problem.dim
    assert n is not None
    assert dim is not None
    known = bounds(n, dim)
    name = max(known, key=lambda each: known[each])
    points, cosine, method = None, known[name], "closed form"
    by_formula = None if is_closed(n, dim) else large(n, dim)
    if max(n, dim) <= MOST_ARRANGED and (is_closed(n, dim) or steps_of(n, dim) >= LEAST_STEPS):
        points = closed_form(n, dim)
        if points is None:
            points, starts = search(n, dim, problem.seed, known[name], progress)
            method = f"best of {counted(starts, 'random start')}"
        cosine = largest_cosine(points)
        if by_formula is not None and by_formula[0] < cosine - OPTIMAL:
            cosine, method, points = by_formula
    elif not is_closed(n, dim):
        if n <= MOST_DRAWN and (by_formula is None or by_formula[0] > expected(n, dim)):
            by_formula = drawn(n, dim, problem.seed, progress)
        if by_formula is None:
            raise InputError(
                f"{n:,} points in {dim:,} dimensions are more than the {MOST_DRAWN:,} that are drawn here; no "
                f"arrangement has all cosines below {known[name]:.6g} ({name} bound)",
                field="classes",
            )
        cosine, method, points = by_formula
    return CapacityReport(
        problem=understood(problem),
        fits_simplex=n <= dim + 1,
        points=points,
        max_cosine=cosine,
        best_min_angle_deg=angle_degrees(cosine),
        bound={"name": name, "max_cosine": known[name]},
        bounds=[
            *({"name": each, "max_cosine": value} for each, value in known.items()),
            {"name": "Welch", "max_absolute_cosine": welch_bound(n, dim)},
        ],
        optimal=True if cosine <= known[name] + OPTIMAL else None,
        method=method,
    )


Arrangement = tuple[float, str, FloatArray | None]
"""The largest cosine, how it was made, and the points (K, d), None where they are too many numbers."""


def large(n_points: int, dim: int) -> Arrangement | None:
    """An arrangement by formula (``gram/families.py``), None where there is none or points would coincide."""
    prime, degree = families.least_degree(n_points, dim)
    if not prime or degree - 1 >= sqrt(prime):
        return None
    points = families.points(n_points, dim, prime, degree) if n_points * dim <= WRITTEN else None
    few = points is not None and n_points <= MOST_ARRANGED  # of some of the points it may be less than the formula's
    cosine = largest_cosine(points) if few and points is not None else (degree - 1) / sqrt(prime)
    return cosine, families.named(prime, degree), points


def expected(n_points: int, dim: int) -> float:
    """The cosine that one pair of random points exceeds on average."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        above = log(n_points) + log(n_points - 1) - log(2) + cap_share(dim, middle) > 0
        low, high = (middle, high) if above else (low, middle)
    return high


def drawn(n_points: int, dim: int, seed: int, progress: Tried | None = None) -> Arrangement:
    """Random points, and the largest of their cosines, by blocks in single precision."""
    rows = np.random.default_rng(seed).standard_normal((n_points, dim), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    best = -1.0
    starts = range(0, n_points, BLOCK)
    for number, start in enumerate(starts):
        if progress is not None:
            progress(number, len(starts))
        for other in starts[number:]:
            cosines = rows[start : start + BLOCK] @ rows[other : other + BLOCK].T
            if other == start:
                np.fill_diagonal(cosines, -1.0)
            best = max(best, float(cosines.max()))
    kept = rows.astype(np.float64) if n_points * dim <= WRITTEN else None
    return min(1.0, best + SINGLE), "random points", kept


def cost_of(n_points: int, dim: int) -> float:
    """Multiplications of one step, roughly."""
    return 4.0 * n_points**2 * (dim + 8)


def steps_of(n_points: int, dim: int) -> int:
    """Steps of each sharpness that a search can spend."""
    stage = cost_of(n_points, dim) * len(SHARPNESS)
    return int(max(min(MOST_STEPS, EFFORT / stage), min(FEW_STEPS, MOST_EFFORT / stage)))


def search(n_points: int, dim: int, seed: int, bound: float, progress: Tried | None = None) -> tuple[FloatArray, int]:
    """The best arrangement (K, d) that random starts lead to, and how many were tried; stops at ``bound``."""
    steps = steps_of(n_points, dim)
    starts = int(min(24, max(1, EFFORT / cost_of(n_points, dim) / steps / len(SHARPNESS))))
    generator = np.random.default_rng(seed)
    best = np.ones((n_points, 1))
    for start in range(starts):
        points = generator.standard_normal((n_points, dim))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        # a late, sharp beginning leads elsewhere than an early, smooth one
        for stage, sharpness in enumerate(SHARPNESS[start % 4 :], start % 4):
            if progress is not None:
                progress(start * len(SHARPNESS) + stage, starts * len(SHARPNESS))
            points = spread(points, sharpness, steps)
        if n_points * dim <= POLISHED / 8:
            points = polish(points)
        if start == 0 or largest_cosine(points) < largest_cosine(best):
            best = points
        if largest_cosine(best) <= bound + OPTIMAL:
            return best, start + 1
    return polish(best) if n_points * dim <= POLISHED else best, starts


def spread(points: FloatArray, sharpness: float, steps: int) -> FloatArray:
    """Unit vectors after at most ``steps`` L-BFGS steps on the soft maximum of their cosines; few steps end far from
    where single precision would matter."""
    shape = points.shape
    kind = np.float32 if steps <= FEW_STEPS else np.float64

    def soft_maximum(flat: FloatArray) -> tuple[float, FloatArray]:
        raw = flat.reshape(shape)
        length = np.linalg.norm(raw, axis=1, keepdims=True)
        unit = raw / length
        narrow = unit.astype(kind)
        weights = narrow @ narrow.T  # made into the weights in place
        np.fill_diagonal(weights, -np.inf)
        top = float(weights.max())
        weights -= kind(top)
        weights *= kind(sharpness)
        np.maximum(weights, kind(LEAST_EXPONENT), out=weights)
        np.exp(weights, out=weights)
        total = float(weights.sum(dtype=np.float64))
        pull = 2 / total * (weights @ narrow).astype(np.float64)
        pull -= np.sum(pull * unit, axis=1, keepdims=True) * unit
        return top + log(total / 2) / sharpness, (pull / length).ravel()

    optimize = importlib.import_module("scipy.optimize")
    options = {"maxiter": steps, "maxfun": 2 * steps, "gtol": 1e-12, "ftol": 1e-15}
    found = optimize.minimize(soft_maximum, points.ravel(), jac=True, method="L-BFGS-B", options=options)
    moved: FloatArray = found.x.reshape(shape)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return moved


def polish(points: FloatArray) -> FloatArray:
    """Minimise the largest cosine by linear programs in tangent steps, each kept only if it helps."""
    optimize, sparse = (importlib.import_module(f"scipy.{name}") for name in ("optimize", "sparse"))
    n, dim = points.shape
    radius = 0.05
    first, second = np.triu_indices(n, 1)
    for _ in range(60):
        top = largest_cosine(points)
        cosines = np.sum(points[first] * points[second], axis=1)
        near = np.flatnonzero(cosines > top - 4 * radius)
        a, b = first[near], second[near]
        rows = np.repeat(np.arange(near.size), dim)
        axis = np.tile(np.arange(dim), near.size)
        last = np.full(near.size, n * dim)
        limits = sparse.csr_matrix(
            (
                np.concatenate([points[b].ravel(), points[a].ravel(), -np.ones(near.size)]),
                (
                    np.concatenate([rows, rows, np.arange(near.size)]),
                    np.concatenate([np.repeat(a, dim) * dim + axis, np.repeat(b, dim) * dim + axis, last]),
                ),
            ),
            shape=(near.size, n * dim + 1),
        )
        tangent = sparse.csr_matrix(
            (points.ravel(), (np.repeat(np.arange(n), dim), np.arange(n * dim))), shape=(n, n * dim + 1)
        )
        cost = np.zeros(n * dim + 1)
        cost[-1] = 1.0
        step = optimize.linprog(
            cost,
            A_ub=limits,
            b_ub=-cosines[near],
            A_eq=tangent,
            b_eq=np.zeros(n),
            bounds=[(-radius, radius)] * (n * dim) + [(None, None)],
            method="highs",
        )
        if step.x is None:
            break
        moved = points + step.x[:-1].reshape(n, dim)
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        if largest_cosine(moved) < top - 1e-16:
            points = moved
        else:
            radius /= 4
        if radius < 1e-12:
            break
    return points
