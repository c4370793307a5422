"""Which solver answers, and why; every answer leaves with its certificate.

``auto`` takes, in this order and until one is precise, every solver that can:

    dual       smooth losses; seconds for thousands of proportions, but only where the optimum has nearly full rank
    manifold   smooth losses, whatever the rank of the optimum
    closed     losses with kinks: the regular simplex, where it costs nothing
    smoothing  losses with kinks and many proportions, or no cone form
    conic      small problems that have a cone form, and with kinks

and of what they return the answer with the smallest gap.  A smooth conic answer is polished by Newton steps on the
manifold, whoever asked for it: interior-point methods stop near 1e-9, while at low temperature the loss differs by
less than that between geometries 40 degrees apart.
Where the caller knows cosines to start from, all but small problems go to the manifold solver at once.  It stops by
the gap, and cosines are only as good as its root: where the optimum has nearly full rank the dual solver then takes
them to rounding, in a few steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from geomsolve.errors import InputError, SolverError, nearest
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import TOLERANCE, Certificate, certify, tighten, unbalanced
from geomsolve.solvers.base import Answer, Solution
from geomsolve.solvers.conic import solve_conic
from geomsolve.solvers.dual import solve_dual
from geomsolve.solvers.local import solve_locally
from geomsolve.solvers.manifold import (
    INWARD,
    LARGE,
    MARGIN,
    MAX_STEPS,
    approached,
    interior,
    solve_distances,
    solve_manifold,
)
from geomsolve.solvers.smoothing import solve_smoothed

SOLVERS = ("auto", "conic", "dual", "manifold")

CONIC_ORBITS = 12
"""Distinct proportions up to which auto goes on to the conic solver for a smooth loss."""

CONIC_KINKS = 40
"""Distinct proportions up to which auto takes the conic solver for a loss with kinks: seconds, and ever more beyond."""

PRECISE = 1e-9
"""Relative gap at which auto looks no further: interior-point methods, the reference, do not get below it."""

CLOSED = 1e-13
"""Relative gap at which an optimum near a known one is exact enough."""

APPROACH = (30, 90)
"""Evaluations of F and its gradient before Newton steps are tried from a start of nearly full rank, and tried again."""

FURTHER = 1e-2
"""Weight of a geometry inside in the second start of a search that ran out of steps."""

UNRESOLVED = 1e-2
"""Relative force left from which on a geometry is said to be unresolved."""

MEMORY_LIMIT = 8 * 2**30
"""Bytes that a solve may need; larger problems are refused rather than started."""

MATRICES = 9
"""Matrices of m x m doubles that the dual solver holds at once, measured."""

MANIFOLD_ORBITS = 4000
"""Distinct proportions up to which auto goes on to the manifold solver, which needs more memory and far more time."""


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
    objective: Objective,
    orbits: Orbits,
    *,
    solver: str = "auto",
    tolerance: float = TOLERANCE,
    start: FloatArray | None = None,
    seed: int = 0,
    unit: bool = True,
) -> Answer:
    """Minimise ``objective`` over unit-diagonal Gram matrices, by ``solver``, and certify the result.

    ``start`` (m, m): psd cosines worth starting from, if the caller knows some.  ``seed`` of the random starts that a
    loss takes which is not convex.  Not ``unit``: over squared distances D of points anywhere, C = 1 - D/2, from a
    ``start``.
    """
    check_solver(solver)
    if not unit:
        return anywhere(objective, orbits, solver, tolerance, start)
    if objective.below is not None:
        if solver not in ("auto", "manifold"):
            raise InputError("this loss is not convex; only the manifold solver takes it", field="solver")
        convex = solve_objective(objective.below, orbits, tolerance=tolerance)
        return solve_locally(objective, orbits, convex, tolerance=tolerance, seed=seed)
    began = time.perf_counter()
    goal = MARGIN * tolerance
    if solver != "auto":
        answers = forced(objective, orbits, solver, tolerance, start)
    elif start is not None and objective.smooth and orbits.n_orbits > CONIC_ORBITS:
        answers = begun(objective, orbits, start, goal)
    else:
        answers = automatic(objective, orbits, tolerance)
    best: tuple[Solution, Certificate, str] | None = None
    for solution, reason in answers:
        proof = certify(objective, orbits, solution.cosines, slopes=solution.slopes, tolerance=tolerance)
        if best is None or proof.gap < best[1].gap:
            best = solution, proof, reason
        if proof.gap <= PRECISE * max(1.0, abs(proof.value)):
            break
    if best is None:
        raise SolverError("no solver returned a usable point; try another temperature, or --solver conic or manifold")
    solution, proof, reason = best
    if objective.smooth:
        proof = tighten(objective, orbits, solution.cosines, replace(proof, tolerance=goal))
        proof = replace(proof, tolerance=tolerance)
    resolved = True
    if objective.smooth and not objective.degenerate and solution.name != "dual":  # which solves for the forces
        left = unbalanced(objective, orbits, solution.cosines)
        resolved = left <= UNRESOLVED
        if proof.certified and not resolved:
            reason += f"; the loss is proven, but the angles are not: forces cancel only to {left:.1g}"
    return Answer(solution, proof, reason, time.perf_counter() - began, resolved)


def anywhere(objective: Objective, orbits: Orbits, solver: str, tolerance: float, start: FloatArray | None) -> Answer:
    """The optimum over squared distances, by the one solver that takes them."""
    if solver != "auto":
        raise InputError("Euclidean latents are solved in one way only; leave the solver out", field="solver")
    began = time.perf_counter()
    near = orbits.regular_simplex() if start is None else start
    solution, proof = solve_distances(objective, orbits, near, tolerance=tolerance)
    return Answer(solution, proof, "squared distances, by Newton steps on points", time.perf_counter() - began)


def minimise(
    objective: Objective,
    orbits: Orbits,
    near: FloatArray,
    enough: float = 0.0,
    *,
    tell: Callable[[int], None] = lambda steps: None,
) -> tuple[FloatArray, float]:
    """The optimum of a convex objective that differs little from one with optimum ``near`` (m, m), and a proven bound.

    Returns cosines (m, m) and a lower bound in nats; how far it lies below the value at the cosines is for the caller
    to judge.  A gap of ``enough`` nats is small enough; with 0 it goes on to rounding.
    ``tell`` is told the steps that the manifold solver took, which cost the most.
    """
    goal = max(CLOSED, enough / max(1.0, abs(objective.value(near))))
    found: list[Solution] = []
    if objective.smooth:
        solution = solve_dual(objective, orbits, near)
        if solution is not None:
            found.append(solution)
            proof = certify(objective, orbits, solution.cosines)
            if proof.gap <= goal * max(1.0, abs(proof.value)):
                return solution.cosines, proof.lower_bound
        inside = (1 - INWARD) * near + INWARD * interior(orbits)
        found.append(solve_manifold(objective, orbits, start=inside, goal=goal if goal > CLOSED else 0.0))
        tell(found[-1].iterations)
    elif orbits.n_orbits > CONIC_KINKS or objective.cone_form() is None:
        found.append(solve_smoothed(objective, orbits, tolerance=MARGIN * TOLERANCE))
    else:
        found.append(solve_conic(objective, orbits, tolerance=CLOSED))
    proofs = [certify(objective, orbits, s.cosines, slopes=s.slopes) for s in found]
    best = min(range(len(found)), key=lambda i: proofs[i].gap)
    cosines = found[best].cosines
    proof = (
        tighten(objective, orbits, cosines, replace(proofs[best], tolerance=goal)) if objective.smooth else proofs[best]
    )
    return cosines, proof.lower_bound


def precise(orbits: Orbits) -> float:
    """The relative gap at which the manifold solver may stop where no tolerance says so: small problems go on to
    rounding."""
    return PRECISE if orbits.n_orbits >= LARGE else 0.0


def begun(objective: Objective, orbits: Orbits, start: FloatArray, goal: float) -> Iterator[tuple[Solution, str]]:
    """Solutions from a known ``start``, to a relative gap of ``goal``, with the reason for each: what few steps by the
    gradient and Newton steps on the optimality conditions make of it, if it has nearly full rank; else the manifold's,
    and what such Newton steps make of that."""
    for evaluations in APPROACH:
        near = approached(objective, orbits, start, goal, evaluations)
        if near is None:
            break
        start, polished = near, solve_dual(objective, orbits, near)
        if polished is not None:
            yield polished, f"a good start is known, of nearly full rank; {polished.note}"
    solution = solve_manifold(objective, orbits, start=start, goal=goal)
    yield solution, "a good start is known"
    if solution.iterations >= MAX_STEPS:  # near the boundary steps stay short: once more, from further inside
        inside = (1 - FURTHER) * solution.cosines + FURTHER * interior(orbits)
        again = solve_manifold(objective, orbits, start=inside, goal=goal)
        solution = replace(again, iterations=solution.iterations + again.iterations)
        yield solution, "a good start is known, then one further inside"
    polished = solve_dual(objective, orbits, solution.cosines)
    if polished is not None:
        steps = solution.iterations + polished.iterations
        why = f"a good start is known; then {polished.iterations} Newton steps on the optimality conditions"
        yield replace(polished, name=solution.name, iterations=steps), why


def forced(
    objective: Objective, orbits: Orbits, solver: str, tolerance: float, start: FloatArray | None
) -> Iterator[tuple[Solution, str]]:
    """The one solver that was asked for."""
    if solver == "dual":
        solution = solve_dual(objective, orbits)
        if solution is None:
            raise SolverError(
                "the dual solver found no optimum here: it needs a smooth loss and an optimum of nearly full rank; "
                "leave out --solver, or take manifold or conic"
            )
    elif solver == "manifold":
        solution = solve_manifold(objective, orbits, start=start, goal=precise(orbits))
    else:
        solution = polished_conic(objective, orbits, tolerance)
    yield solution, f"asked for; {solution.note}" if solution.note else "asked for"


def automatic(objective: Objective, orbits: Orbits, tolerance: float) -> Iterator[tuple[Solution, str]]:
    """Solutions with the reason for each, the quickest solver's first."""
    if objective.smooth:
        solution = solve_dual(objective, orbits)
        if solution is not None:
            yield solution, solution.note
        if orbits.n_orbits > MANIFOLD_ORBITS:
            return
        yield (
            solve_manifold(objective, orbits, goal=precise(orbits)),
            "the dual solver found no optimum of nearly full rank",
        )
        if orbits.n_orbits > CONIC_ORBITS:
            return
    else:
        yield Solution(orbits.regular_simplex(), "closed form", 0), "the regular simplex is optimal"
        many = orbits.n_orbits > CONIC_KINKS
        if many or objective.cone_form() is None:
            solution = solve_smoothed(objective, orbits, tolerance=tolerance)
            yield solution, f"a loss with kinks and {'many proportions' if many else 'no cone form'}; {solution.note}"
            return
    try:
        solution = polished_conic(objective, orbits, tolerance)
    except SolverError:
        if not objective.smooth:
            raise
        return
    why = "the other solvers left a gap" if objective.smooth else "the loss has kinks"
    yield solution, f"{why}; {solution.note}"


def polished_conic(objective: Objective, orbits: Orbits, tolerance: float) -> Solution:
    """The conic solution, after Newton steps on the manifold where these help."""
    solution = solve_conic(objective, orbits, tolerance=tolerance)
    if not objective.smooth:
        return solution
    inside = (1 - INWARD) * solution.cosines + INWARD * interior(orbits)
    polished = solve_manifold(objective, orbits, start=inside)
    gaps = [certify(objective, orbits, s.cosines, tolerance=tolerance).gap for s in (solution, polished)]
    if gaps[1] >= gaps[0]:
        return solution
    steps = solution.iterations + polished.iterations
    note = f"{solution.note}, then {polished.iterations} Newton steps on the manifold"
    return Solution(polished.cosines, solution.name, steps, note=note)
