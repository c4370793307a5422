"""Which solver answers for two sides, and why; every answer leaves with its certificate.

    tied     where all points have partners: the program of one side, in which they coincide, by whatever solver is
             quickest there.  Its optimum is that of two sides where the certificate of two sides closes on it
    points   else Newton steps on the vectors of both sides (``sides.py``)
    conic    the reference, where asked for, or where these left a gap in a small problem: at low temperature the loss
             falls through long curved valleys; polished by the same steps

Whether the sides coincide at the optimum (``tied``) is True or False only where proven, see ``proof/paired.py``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from geomsolve.errors import InputError, SolverError
from geomsolve.gram.paired import Paired, PairedGram
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossObjective, Joint
from geomsolve.objectives.tied import Tied, can_be_tied, tied_cross, tied_orbits
from geomsolve.proof.certificate import TOLERANCE, Certificate, certify
from geomsolve.proof.paired import certify_cross, tied_excess
from geomsolve.solvers.base import Solution
from geomsolve.solvers.choose import CONIC_ORBITS, PRECISE, check_solver, solve_objective
from geomsolve.solvers.dual import solve_dual
from geomsolve.solvers.paired_conic import solve_conic_sides
from geomsolve.solvers.paired_line import solve_paired_line
from geomsolve.solvers.sides import Sides, Spot, descend, rows_of, solve_sides

TIED = 2e-12
"""Gap of the tied optimum, relative to the value, at which it is the optimum."""

APART = 1e-13
"""What all that is tied lies above the optimum, relative to the value, at which nothing tied is optimal."""

GOAL = 1e-12
"""Relative gap at which Newton steps stop."""

CONIC_POINTS = 24
"""Orbits of both sides together up to which auto goes on to cones where Newton steps leave a gap."""

THOROUGH = 40
"""Distinct classes up to which the program of one side is solved by any solver, to settle whether sides coincide."""


@dataclass(frozen=True)
class SidesAnswer:
    """The Gram matrix of both sides by orbit, its certificate, and whether its sides coincide (None: not known).

    ``rows`` (m_x + m_y, r + 2) are its vectors as in ``solvers/sides.py``; ``solver``, ``reason``, ``iterations`` and
    ``seconds`` say what it took.
    """

    gram: PairedGram
    rows: FloatArray
    certificate: Certificate
    tied: bool | None
    solver: str
    reason: str
    iterations: int
    seconds: float


def gram_of(paired: Paired, rows: FloatArray) -> PairedGram:
    """The Gram matrix of rows as in ``solvers/sides.py``."""
    m = paired.n_first
    whole = rows[:, :-2] @ rows[:, :-2].T
    g, h, n = paired.several
    for place in (g, m + h):
        whole[place, place] -= np.sum(rows[place, -2:] ** 2, axis=1) / (n - 1)
    first, second = whole[:m, :m], whole[m:, m:]
    cross = Sides.cross_of(paired, rows, rows)
    return PairedGram(np.ones(m), first, np.ones(paired.n_second), second, cross)


def solve_two_sides(
    objective: CrossObjective, joint: Joint, *, solver: str = "auto", tolerance: float = TOLERANCE, seed: int = 0
) -> SidesAnswer:
    """Minimise ``objective`` over unit vectors of both sides of ``joint``, and certify the result."""
    check_solver(solver)
    if solver == "dual":
        raise InputError("two sides are solved by points (manifold) or by cones (conic); leave it out", field="solver")
    began = time.perf_counter()
    paired = joint.paired
    rows: FloatArray | None = None
    one = tied_optimum(objective, joint, thorough=False) if can_be_tied(paired) else None
    if one is not None:
        gram = tied_gram(one.cosines)
        proof = certify_cross(objective, paired, gram.cross, tolerance=tolerance)
        blocks = paired.blocks(gram)
        rows = rows_of(paired, blocks.quotient, blocks.contrast)
        if solver == "auto" and proof.gap <= TIED * scale_of(objective, gram.cross, proof.value):
            reason = f"both sides coincide, which is proven; {one.note}"
            spent = time.perf_counter() - began
            return SidesAnswer(gram, rows, proof, True, one.name, reason, one.iterations, spent)
    if solver == "conic":
        found = by_cones(objective, paired, tolerance)
        reason = f"asked for; {found.how}"
    else:
        _, rows, steps = solve_sides(objective, paired, seed=seed, near=rows, goal=GOAL)
        found = Found.at(
            objective, paired, rows, "manifold", "Newton steps on the vectors of both sides", steps, tolerance
        )
        reason = found.how
        small = paired.n_first + paired.n_second <= CONIC_POINTS and objective.cone_form() is not None
        if solver == "auto" and small and found.proof.gap > PRECISE * max(1.0, abs(found.proof.value)):
            try:
                cones = by_cones(objective, paired, tolerance)
            except SolverError:
                cones = found
            if cones.proof.gap < found.proof.gap:
                found, reason = cones, f"Newton steps alone left a gap; {cones.how}"
    gram, proof = found.gram, found.proof
    tied = whether_tied(objective, joint, gram, proof) if can_be_tied(paired) else None
    spent = time.perf_counter() - began
    return SidesAnswer(gram, found.rows, proof, tied, found.name, reason, found.steps, spent)


@dataclass(frozen=True)
class Found:
    """What one solver found: a Gram matrix with its rows and its certificate, by ``name``, ``how`` in words."""

    gram: PairedGram
    rows: FloatArray
    proof: Certificate
    name: str
    how: str
    steps: int

    @classmethod
    def at(
        cls,
        objective: CrossObjective,
        paired: Paired,
        rows: FloatArray,
        name: str,
        how: str,
        steps: int,
        tolerance: float,
    ) -> Found:
        """At rows as in ``solvers/sides.py``."""
        gram = gram_of(paired, rows)
        return cls(gram, rows, certify_cross(objective, paired, gram.cross, tolerance=tolerance), name, how, steps)


def by_cones(objective: CrossObjective, paired: Paired, tolerance: float) -> Found:
    """The conic solution, after Newton steps where these help."""
    plain, name, count = solve_conic_sides(objective, paired, tolerance=tolerance)
    blocks = paired.blocks(plain)
    start = rows_of(paired, blocks.quotient, blocks.contrast)
    first = certify_cross(objective, paired, plain.cross, tolerance=tolerance)
    _, rows, steps = solve_sides(objective, paired, near=start, nudge=0.0)
    how = f"cvxpy with {name}, then {steps} Newton steps"
    polished = Found.at(objective, paired, rows, "conic", how, count + steps, tolerance)
    if polished.proof.gap < first.gap:
        return polished
    return Found(plain, start, first, "conic", f"cvxpy with {name}", count)


def tied_optimum(objective: CrossObjective, joint: Joint, *, thorough: bool) -> Solution | None:
    """The best of what is tied, where a quick solver finds it, or, ``thorough``, where any does."""
    program, orbits = Tied(objective), tied_orbits(joint)
    quick = solve_dual(program, orbits)
    if quick is not None or not (thorough or orbits.n_orbits <= CONIC_ORBITS):
        return quick
    try:
        return solve_objective(program, orbits).solution
    except SolverError:
        return None


def whether_tied(objective: CrossObjective, joint: Joint, gram: PairedGram, proof: Certificate) -> bool | None:
    """True if some optimum is tied, False if none is, None where neither is proven; ``gram`` is (nearly) optimal."""
    scale = scale_of(objective, gram.cross, proof.value)
    orbits = tied_orbits(joint)
    if tied_excess(objective, orbits, gram.cross, proof.gap) > APART * scale:
        return False
    if orbits.n_orbits > THOROUGH:
        return None
    best = tied_optimum(objective, joint, thorough=True)
    if best is None:
        return None
    alone = certify(Tied(objective), orbits, best.cosines)
    if alone.value - proof.lower_bound <= TIED * scale:
        return True
    return False if alone.lower_bound > proof.value + APART * scale else None


def scale_of(objective: CrossObjective, cross: FloatArray, value: float) -> float:
    """What differences of F in nats are small beside: its value, and where that is hardly felt, all forces together."""
    return min(max(1.0, abs(value)), float(objective.forces(cross).sum()))


def tied_gram(cosines: FloatArray) -> PairedGram:
    """The Gram matrix of two sides that coincide, with orbit ``cosines`` (m, m)."""
    ones = np.ones(cosines.shape[0])
    return PairedGram(ones, cosines, ones, cosines, tied_cross(cosines))


REACHED = 1e-10
"""Gap, relative to the value, at which a search in limited dimension has found what the unlimited one would."""

STARTS = 20
"""Random starts of a search in limited dimension."""


def solve_limited_sides(
    objective: CrossObjective, paired: Paired, dim: int, *, lower_bound: float, seed: int = 0
) -> tuple[FloatArray, float, int]:
    """The best of several local searches in ``dim`` dimensions, each point an orbit of its own: rows, value, steps.

    Stops early where ``lower_bound`` is reached.
    """
    if dim == 1:
        return solve_paired_line(objective, paired, seed=seed)
    sides = Sides(objective, paired)
    best: Spot | None = None
    steps = 0
    for start in range(STARTS):
        spot, count = descend(Spot.at(sides, sides.start(dim, seed + start)), narrow=False)
        steps += count
        if best is None or spot.value < best.value:
            best = spot
        if best.value - lower_bound <= REACHED * max(1.0, abs(best.value)):
            break
    assert best is not None
    return best.point, best.value, steps
