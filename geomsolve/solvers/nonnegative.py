"""Non-negative features, as after a ReLU: the same program with G >= 0 entrywise, and what it says about real vectors.

    minimise F(G)   subject to   G psd, G_aa = 1, G >= 0           (a relaxation: ``gram/nonnegative.py``)

Routes, the first that is proven by ``proof/nonnegative.py`` being taken:

    frame      the orthogonal frame, for every loss that only drives classes apart
    free       the optimum without the constraint, where none of its cosines is negative
    conic      the program as it stands

Then vectors, unless there are few proportions, where they exist by a theorem: the symmetric square root of G, if it has
no negative entry, or else a descent over non-negative vectors from several starts.  Where these lose nothing, the
answer is exact.  Otherwise the best of them is the answer, and the relaxation only its lower bound.

The descent moves rows x_g >= 0 of any length, u_g = s_g x_g / |x_g|, and the cosines c_g = C_gg in [0, 1] within
orbits, s_g^2 = (1 + (n_g - 1) c_g) / n_g; all are bounds on single numbers, which L-BFGS-B takes.

Symbols: x ``rows``, c ``inner``, s ``length``, u ``centroids``.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from geomsolve.errors import InputError, SolverError
from geomsolve.gram.nonnegative import ENOUGH, floor_of, frame, of_centroids, raised, square_root
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import TOLERANCE, Certificate
from geomsolve.proof.nonnegative import certify_nonnegative, frame_is_optimal, frame_slopes
from geomsolve.solvers.base import Answer, Solution
from geomsolve.solvers.choose import check_solver, solve_objective
from geomsolve.solvers.conic import solve_conic

How = Literal["frame", "few", "factorised", "relaxation", "local"]
"""Why there are non-negative vectors: they are the axes; there are few proportions; they were found.  Or there may be
none with so low a loss: the bound is that of a relaxation, or of a convex loss below one that is not convex."""

ROUNDING = 1e-9
"""Cosines this little below 0 are so by rounding."""

STARTS = 12
"""Starts of the descent over vectors."""

MOST_STEPS = 3000

MOST_ROWS = 300
"""Rows up to which vectors are searched by descent."""


@dataclass(frozen=True)
class Nonnegative:
    """An ``answer`` for non-negative features; ``how`` says why its cosines are those of non-negative vectors, and
    ``relaxed`` is the lower bound of the relaxation in nats."""

    answer: Answer
    how: How
    relaxed: float

    @property
    def exact(self) -> bool:
        """Whether the bound is that of non-negative vectors, and not only of a relaxation."""
        return self.how not in ("relaxation", "local")


def solve_nonnegative(
    objective: Objective,
    orbits: Orbits,
    *,
    solver: str = "auto",
    tolerance: float = TOLERANCE,
    seed: int = 0,
    dim: int | None = None,
) -> Nonnegative:
    """Minimise ``objective`` over unit-diagonal Gram matrices of non-negative vectors, with its proof.

    ``dim``: the vectors have at most so many coordinates; each class is then an orbit of its own.  Raises
    :class:`InputError` for a solver that knows no such constraint.
    """
    check_solver(solver)
    if solver not in ("auto", "conic"):
        raise InputError(f"the {solver} solver takes features of any sign; use auto or conic", field="solver")
    began = time.perf_counter()
    if objective.below is not None:
        below = solve_nonnegative(objective.below, orbits, tolerance=tolerance, seed=seed)
        found = descend(objective, orbits, below.answer.solution.cosines, dim, seed, tolerance)
        proof = Certificate.of(objective.value(found.cosines), np.inf, -np.inf, tolerance)
        proof = below.answer.certificate.at(proof.value)
        answer = Answer(found, proof, f"not convex: {found.note}", time.perf_counter() - began)
        return Nonnegative(answer, "local", below.relaxed)
    solution, proof, reason = relaxation(objective, orbits, solver, tolerance)

    def answered(solution: Solution, proof: Certificate, reason: str, how: How, bound: float) -> Nonnegative:
        return Nonnegative(Answer(solution, proof, reason, time.perf_counter() - began), how, bound)

    bound = proof.lower_bound
    axes = solution.name == "closed form"
    if dim is None or (axes and dim >= orbits.n_classes):
        if axes:
            return answered(solution, proof, reason, "frame", bound)
        if orbits.n_orbits <= ENOUGH:
            return answered(solution, proof, reason, "few", bound)
        root = of_centroids(orbits, square_root(orbits, solution.cosines))
        rooted = proof.at(objective.value(root))
        if rooted.certified:
            return answered(replace(solution, cosines=root), rooted, reason, "factorised", bound)
    found = descend(objective, orbits, solution.cosines, dim, seed, tolerance)
    best = proof.at(objective.value(found.cosines))
    how: How = "factorised" if best.certified else "relaxation"
    return answered(found, best, f"{found.note}, against the bound of {solution.name}: {reason}", how, bound)


def relaxation(
    objective: Objective, orbits: Orbits, solver: str, tolerance: float
) -> tuple[Solution, Certificate, str]:
    """The optimum over psd matrices without negative entries, its proof, and why this route was taken."""
    if solver == "auto":
        if frame_is_optimal(objective, orbits):
            proof = certify_nonnegative(
                objective, orbits, frame(orbits), frame_slopes(objective, orbits), tolerance=tolerance
            )
            return Solution(frame(orbits), "closed form", 0), proof, "no pair of classes gains by being closer"
        free = free_optimum(objective, orbits, tolerance)
        if free is not None:
            return free
        if objective.cone_form() is None:
            return guessed(objective, orbits, tolerance)
    solution = solve_conic(objective, orbits, tolerance=tolerance, nonnegative=True)
    assert solution.multipliers is not None
    proof = certify_nonnegative(
        objective, orbits, solution.cosines, solution.multipliers, slopes=solution.slopes, tolerance=tolerance
    )
    why = "asked for" if solver == "conic" else "some cosines are held at 0 and others not"
    return solution, proof, f"{why}; {solution.note}"


def free_optimum(objective: Objective, orbits: Orbits, tolerance: float) -> tuple[Solution, Certificate, str] | None:
    """The optimum over features of any sign, where none of its cosines is negative."""
    try:
        answer = solve_objective(objective, orbits, tolerance=tolerance)
    except SolverError:
        return None
    solution = answer.solution
    if floor_of(orbits, solution.cosines) < -ROUNDING:
        return None
    cosines = raised(orbits, solution.cosines)
    proof = answer.certificate.at(objective.value(cosines))
    return replace(solution, cosines=cosines), proof, f"no cosine is negative anyway: {answer.reason}"


def guessed(objective: Objective, orbits: Orbits, tolerance: float) -> tuple[Solution, Certificate, str]:
    """Vectors by descent, with the better bound of two guesses at the multipliers: none, and what pushes cosines at 0
    down.  Without a cone form there is no solver for the program itself."""
    found = descend(objective, orbits, frame(orbits), None, 0, tolerance)
    slope = objective.minorant(found.cosines).slope
    held = np.where(found.cosines <= ROUNDING, slope + slope.T, 0.0) / 2
    proofs = [
        certify_nonnegative(objective, orbits, found.cosines, multipliers, tolerance=tolerance)
        for multipliers in (np.zeros_like(held), held)
    ]
    return found, min(proofs, key=lambda proof: proof.gap), f"this loss has no cone form; {found.note}"


def descend(
    objective: Objective, orbits: Orbits, near: FloatArray, dim: int | None, seed: int, tolerance: float
) -> Solution:
    """The best non-negative vectors found, as cosines: from those ``near`` cosines (m, m), and from random starts.

    Nothing makes them the best there are.  With ``dim`` coordinates orbits are single classes; else there are as many
    coordinates as help.  Raises :class:`InputError` where there are too many rows.
    """
    m = orbits.n_orbits
    if m > MOST_ROWS:
        raise InputError(
            f"non-negative vectors are searched for at most {MOST_ROWS} rows, not {m:,}; leave out the dimension, or "
            "round the proportions so that more classes share one",
            field="dim" if dim is not None else "nonnegative",
        )
    generator = np.random.default_rng(seed)
    wide = 2 * m if dim is None else dim
    several = np.flatnonzero(orbits.sizes > 1)
    first = square_root(orbits, near)
    first = np.pad(first, ((0, 0), (0, max(0, wide - m))))[:, :wide] + 1e-3 * generator.random((m, wide))
    best: tuple[float, FloatArray] | None = None
    steps = 0
    for number in range(STARTS):
        rows = generator.random((m, wide)) ** 4 + 1e-3 if number else first
        inner = np.clip(np.diag(near), 0.0, 1.0)[several] if number % 2 == 0 else generator.random(several.size)
        value, cosines, taken = _slide(objective, orbits, rows, inner)
        steps += taken
        if best is None or value < best[0] - tolerance * 1e-3 * max(1.0, abs(best[0])):  # of equals the first
            best = value, cosines
    assert best is not None
    where = "" if dim is None else f" in {dim} dimensions"
    return Solution(best[1], "descent", steps, note=f"best non-negative vectors{where} of {STARTS} starts")


def _slide(objective: Objective, orbits: Orbits, rows: FloatArray, inner: FloatArray) -> tuple[float, FloatArray, int]:
    """The value and cosines (m, m) at the end of one descent from ``rows`` (m, r) and ``inner`` cosines, and its
    steps."""
    n, shape = orbits.sizes, rows.shape
    several = np.flatnonzero(n > 1)
    many = n[several]

    def place(unknowns: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        x, c = unknowns[: rows.size].reshape(shape), unknowns[rows.size :]
        norm = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-150)
        length = np.ones((shape[0], 1))
        length[several, 0] = np.sqrt((1 + (many - 1) * c) / many)
        centroids = length * x / norm
        cosines = centroids @ centroids.T
        np.fill_diagonal(cosines, 1.0)
        cosines[several, several] = c
        return np.clip(cosines, 0.0, 1.0), centroids, length, norm

    def fall(unknowns: FloatArray) -> tuple[float, FloatArray]:
        cosines, centroids, length, norm = place(unknowns)
        value, slope = objective.evaluate(cosines)
        both = slope + slope.T
        np.fill_diagonal(both, 0.0)
        push = both @ centroids
        unit = centroids / length
        along = np.sum(push * unit, axis=1, keepdims=True)
        turn = length / norm * (push - along * unit)
        within = np.diag(slope)[several] + along[several, 0] * (many - 1) / (2 * many * length[several, 0])
        return value, np.concatenate([turn.ravel(), within])

    optimize = importlib.import_module("scipy.optimize")
    bounds = [(0.0, None)] * rows.size + [(0.0, 1.0)] * several.size
    found = optimize.minimize(
        fall,
        np.concatenate([rows.ravel(), inner]),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": MOST_STEPS, "maxfun": 2 * MOST_STEPS, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 20},
    )
    cosines = place(found.x)[0]
    return float(objective.value(cosines)), cosines, int(found.nit)
