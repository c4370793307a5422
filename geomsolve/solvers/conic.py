"""The conic route: the program as data for an interior-point solver (cvxpy; Clarabel, then SCS).

In the orbit form the variable is the quotient Q of the Gram matrix (``gram/orbits.py``):

    minimise    linear . C + sum_r mass_r z_r + hinge . y + square . C^2
    subject to  Q psd                                                 (the named constraint ``psd``)
                Q_gg = 1 for orbits of one class,  Q_gg <= n_g otherwise
                sum over the terms of row r of w_rj + w_r0 <= 1,
                (scale (C_gh - 1) + log_weight - z_r, 1, w) in the exponential cone
                y >= C - knee,  y >= 0
                C >= 0, where features are non-negative

with C_gh = Q_gh / sqrt(n_g n_h), C_gg = (Q_gg - 1) / (n_g - 1).  The dual of the psd constraint is S.

This is the only module that imports cvxpy, and only on the first call.
Symbols: Q ``quotient``, z ``logs``, w ``weights``, y ``excess``.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from geomsolve.errors import SolverError
from geomsolve.gram.nonnegative import raised
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import ConeForm, Objective
from geomsolve.proof.certificate import certify
from geomsolve.proof.nonnegative import certify_nonnegative
from geomsolve.solvers.base import Solution

Attempts = tuple[tuple[str, dict[str, Any]], ...]

ATTEMPTS: Attempts = (
    ("CLARABEL", {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "tol_ktratio": 1e-8}),
    ("CLARABEL", {}),
    ("SCS", {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 50_000}),
)
"""Solvers with settings, in the order in which they are tried until the recomputed gap closes."""


def build(cp: Any, form: ConeForm, orbits: Orbits, nonnegative: bool = False) -> tuple[Any, Any, Any, Any]:
    """The cvxpy problem, its quotient variable, the hinge constraint and that of cosines nowhere negative (or None)."""
    m, n = orbits.n_orbits, orbits.sizes.astype(float)
    quotient = cp.Variable((m, m), symmetric=True, name="quotient")
    many = n > 1
    root = np.sqrt(n)
    scale = 1 / np.outer(root, root)
    np.fill_diagonal(scale, np.where(many, 1 / np.maximum(n - 1, 1), 0.0))
    cosines = cp.multiply(scale, quotient) + np.diag(np.where(many, -1 / np.maximum(n - 1, 1), 1.0))
    diagonal = cp.diag(quotient)
    psd = quotient >> 0
    constraints = [psd]
    if not many.all():
        constraints.append(diagonal[~many] == 1)
    if many.any():
        constraints.append(diagonal[many] <= n[many])
    floor = None
    if nonnegative:
        floor = cp.vec(cosines, order="C")[np.flatnonzero(orbits.pairs)] >= 0
        constraints.append(floor)
    cost: Any = form.constant
    if form.linear.size and np.any(form.linear):
        cost = cost + cp.sum(cp.multiply(form.linear, cosines))
    if form.square.size:
        cost = cost + cp.sum(cp.multiply(form.square, cp.square(cosines)))
    hinge = None
    if form.hinge.size:
        excess = cp.Variable((m, m), nonneg=True, name="excess")
        hinge = excess >= cosines - form.knee
        constraints.append(hinge)
        cost = cost + cp.sum(cp.multiply(form.hinge, excess))
    if form.logs is not None:
        logs = form.logs
        rows = logs.mass.size
        log_sums = cp.Variable(rows, name="logs")
        offset = np.flatnonzero(np.isfinite(logs.log_offset))
        row = np.concatenate([logs.row, offset])
        entries = logs.scale * (cp.vec(cosines, order="C")[logs.g * m + logs.h] - 1) + logs.log_weight
        if offset.size:  # cvxpy 1.6 takes no empty part
            entries = cp.hstack([entries, logs.log_offset[offset]])
        weights = cp.Variable(row.size, name="weights")
        gather = importlib.import_module("scipy.sparse").csr_matrix(
            (np.ones(row.size), (row, np.arange(row.size))), shape=(rows, row.size)
        )
        constraints += [cp.ExpCone(entries - log_sums[row], np.ones(row.size), weights), gather @ weights <= 1]
        cost = cost + logs.mass @ log_sums
    return cp.Problem(cp.Minimize(cost), constraints), quotient, hinge, floor


def load_cvxpy() -> Any:
    """The module cvxpy, imported when first needed."""
    return importlib.import_module("cvxpy")


def attempts(problem: Any, solvers: Attempts | None = None) -> Iterator[tuple[str, int]]:
    """Run each of the ``solvers``, by default those of :data:`ATTEMPTS`; yield its name and iterations whenever it left
    a point behind."""
    for solver, settings in ATTEMPTS if solvers is None else solvers:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # cvxpy warns of inaccuracy; the certificate measures it
                problem.solve(solver=solver, verbose=False, **settings)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException:  # noqa: S112 - a panic inside a compiled solver need not derive from Exception
            continue
        if problem.variables()[0].value is not None:
            yield solver, int(problem.solver_stats.num_iters or 0)


def solve_conic(objective: Objective, orbits: Orbits, *, tolerance: float, nonnegative: bool = False) -> Solution:
    """Solve by cvxpy; raises :class:`SolverError` if the loss has no cone form or no solver left a point.

    ``nonnegative``: no cosine may be below 0.  Stops at the first attempt whose certificate closes within ``tolerance``
    (relative), else keeps the best.
    """
    form = objective.cone_form()
    if form is None:
        raise SolverError("this loss has no cone form of reasonable size here; leave --solver out")
    cp = load_cvxpy()
    problem, quotient, hinge, floor = build(cp, form, orbits, nonnegative)
    best: tuple[float, Solution] | None = None
    for solver, iterations in attempts(problem):
        if not np.all(np.isfinite(quotient.value)):
            continue
        cosines = from_quotient(orbits, np.asarray(quotient.value, dtype=np.float64))
        slopes = None if hinge is None else np.asarray(hinge.dual_value, dtype=np.float64)
        if slopes is not None and form.linear.size:  # slopes are of the whole loss, not of its kinks alone
            slopes = slopes + form.linear
        found = Solution(cosines, "conic", iterations, slopes, note=f"cvxpy with {solver}")
        if floor is None:
            certificate = certify(objective, orbits, cosines, slopes=slopes, tolerance=tolerance)
        else:
            multipliers = np.zeros_like(cosines)
            multipliers[orbits.pairs > 0] = floor.dual_value
            found = replace(found, cosines=raised(orbits, cosines), multipliers=multipliers)
            certificate = certify_nonnegative(
                objective, orbits, found.cosines, multipliers, slopes=slopes, tolerance=tolerance
            )
        if best is None or certificate.gap < best[0]:
            best = certificate.gap, found
        if certificate.certified:
            break
    if best is None:
        raise SolverError("neither Clarabel nor SCS returned a point; leave --solver out, or raise the temperature")
    return best[1]


def from_quotient(orbits: Orbits, quotient: FloatArray) -> FloatArray:
    """Feasible orbit cosines of a quotient matrix that is feasible up to a solver's accuracy."""
    root = np.sqrt(orbits.sizes)
    cosines: FloatArray = quotient / root[:, None] / root
    inner = (np.diag(quotient) - 1) / np.maximum(orbits.sizes - 1, 1)
    np.fill_diagonal(cosines, np.where(orbits.sizes > 1, inner, 1.0))
    return orbits.nearest_gram(cosines)
