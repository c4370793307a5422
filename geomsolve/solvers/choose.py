"""Which solver answers, and why; every answer leaves with its certificate.

``auto`` is conic for small problems that have a cone form, and otherwise manifold.  A smooth conic answer is
then polished by Newton steps on the manifold, whoever asked for it: interior-point methods stop near 1e-9, while
at low temperature the loss differs by less than that between geometries 40 degrees apart.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from geomsolve.certificate import TOLERANCE, Certificate, certify
from geomsolve.errors import InputError, SolverError, nearest
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Objective
from geomsolve.solvers.base import Solution
from geomsolve.solvers.conic import solve_conic
from geomsolve.solvers.manifold import interior, solve_manifold

SOLVERS = ("auto", "conic", "manifold")

CONIC_ORBITS = 12
"""Distinct proportions up to which auto takes the conic route first."""

INWARD = 1e-3
"""How far a conic answer is moved into the interior before it is polished: on the boundary, where a direction has
length zero, Newton steps cannot tell whether it should."""

MEMORY_LIMIT = 8 * 2**30
"""Bytes that a solve may need; larger problems are refused rather than started."""

MATRICES = 14
"""Matrices of m x m doubles that a solve holds at once, measured."""


@dataclass(frozen=True)
class Answer:
    """A solution with its proof; ``reason`` says why this solver; ``seconds`` of solving and proving."""

    solution: Solution
    certificate: Certificate
    reason: str
    seconds: float


def refuse_oversize(n_orbits: int, *, field: str) -> None:
    """Raise :class:`InputError` if ``n_orbits`` distinct proportions would need more than the memory limit."""
    need = MATRICES * 8 * n_orbits**2
    if need > MEMORY_LIMIT:
        most = int((MEMORY_LIMIT / MATRICES / 8) ** 0.5)
        raise InputError(
            f"{n_orbits:,} distinct proportions would need about {need / 2**30:,.0f} GiB of memory; at most {most:,} "
            "are solved. Round them so that more classes share one: cost grows with distinct values, not with classes",
            field=field,
        )


def check_solver(solver: str) -> None:
    """Raise :class:`InputError` if there is no such solver."""
    if solver not in SOLVERS:
        raise InputError(f"unknown solver {solver!r}; {nearest(solver, SOLVERS)}", field="solver")


def solve_objective(
    objective: Objective, orbits: Orbits, *, solver: str = "auto", tolerance: float = TOLERANCE
) -> Answer:
    """Minimise ``objective`` over unit-diagonal Gram matrices, by ``solver``, and certify the result."""
    check_solver(solver)
    began = time.perf_counter()
    form = None
    if solver == "auto":
        small = orbits.n_orbits <= CONIC_ORBITS
        form = objective.cone_form() if small or not objective.smooth else None
        if form is not None:
            why = f"{_orbits(orbits)}, and the loss has a cone form" if small else "the loss has kinks"
            chosen = "conic"
        else:
            why = "the loss has no short cone form here" if small else f"{_orbits(orbits)}: too many for conic"
            chosen = "manifold"
    else:
        chosen, why = solver, "asked for"
    if chosen == "manifold":
        solution = solve_manifold(objective, orbits)
    else:
        try:
            solution = solve_conic(objective, orbits, tolerance=tolerance)
            why = f"{why}; {solution.note}"
        except SolverError:
            if solver == "conic" or not objective.smooth:
                raise
            solution, why = solve_manifold(objective, orbits), "no conic solver returned a point"
    certificate = certify(objective, orbits, solution.cosines, slopes=solution.slopes, tolerance=tolerance)
    if chosen == "conic" and objective.smooth:
        inside = (1 - INWARD) * solution.cosines + INWARD * interior(orbits)
        polished = solve_manifold(objective, orbits, start=inside)
        proof = certify(objective, orbits, polished.cosines, tolerance=tolerance)
        if proof.gap < certificate.gap:
            why += f", then {polished.iterations} Newton steps on the manifold"
            solution = Solution(polished.cosines, solution.name, solution.iterations + polished.iterations)
            certificate = proof
    return Answer(solution, certificate, why, time.perf_counter() - began)


def _orbits(orbits: Orbits) -> str:
    return f"{orbits.n_orbits:,} distinct proportion" + ("" if orbits.n_orbits == 1 else "s")
