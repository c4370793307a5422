"""Losses with kinks by a path of smooth ones, F_w with w -> 0 (``Objective.smoothed``), each solved from the last.

The slopes of F_w at its optimum are slopes of a minorant of F, and hand over to the next: they are the multipliers of a
proximal point method, so that w need not be tiny.  What is left of the gap of F itself has two parts,

    F(G) - minorant(G)         the rounding of the kinks: w shrinks
    K max(0, -lambda_min(S))   F_w is not solved exactly: it is solved more exactly

While w is large every pair of classes repels, and optima have nearly full rank: the dual solver.  Where it finds none
any more the manifold solver goes on, and only as exactly as the gap of F asks.  The proof is that of F.

Symbols: w ``width``, S as in ``proof/certificate.py``.
"""

from __future__ import annotations

import numpy as np

from geomsolve.errors import SolverError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import certify
from geomsolve.solvers.base import Solution
from geomsolve.solvers.dual import solve_dual
from geomsolve.solvers.manifold import interior, solve_manifold

WIDEST = 0.2
"""Width, in cosine, at which the path begins."""

NARROWER = 0.5
"""Factor by which the width shrinks from one smooth loss to the next."""

RETREATS = 2
"""How often the dual solver may try a wider loss than planned before the manifold solver takes over."""

ROUGH = 1e-3
"""Relative gap that suffices for a first smooth loss."""

EXACTER = 0.5
"""Part of the gap so far that the next smooth loss may leave: once more for each in a row that was of no use."""

INWARD = 1e-4
"""How far a start is moved inside."""

MOST_ROUNDS, MOST_USELESS = 40, 5
"""Smooth losses that are solved: the most, and the most in a row that narrow the gap by less than a tenth."""


def solve_smoothed(objective: Objective, orbits: Orbits, *, tolerance: float) -> Solution:
    """Minimise a convex loss with kinks until its gap is within ``tolerance`` (relative), or no more can be gained.

    Raises :class:`SolverError` for a loss of which no smooth form is known.
    """
    width, wider = WIDEST, WIDEST / NARROWER
    slopes: FloatArray | None = None
    best: tuple[float, Solution] | None = None
    cosines: FloatArray | None = None
    dual, retreats, steps, useless = True, 0, 0, 0
    for _ in range(MOST_ROUNDS):
        smooth = objective.smoothed(width, slopes)
        if smooth is None:
            raise SolverError("no smooth form of this loss is known; leave --solver out, or take conic")
        solution = solve_dual(smooth, orbits, cosines) if dual else None
        if dual and solution is None:
            retreats += 1
            if cosines is not None and retreats <= RETREATS:
                width = float(np.sqrt(width * wider))
                continue
            dual = False
        if solution is None:
            start = None if cosines is None else (1 - INWARD) * cosines + INWARD * interior(orbits)
            goal = ROUGH if best is None else min(ROUGH, best[0] * EXACTER ** (1 + useless))
            solution = solve_manifold(smooth, orbits, start=start, goal=goal)
        steps += solution.iterations
        cosines, slopes = solution.cosines, smooth.gradient(solution.cosines)
        proof = certify(objective, orbits, cosines, slopes=slopes, tolerance=tolerance)
        size = max(1.0, abs(proof.value))
        gap = proof.gap / size
        useless = 0 if best is None or gap < 0.9 * best[0] else useless + 1
        if best is None or gap < best[0]:
            note = f"kinks rounded over {width:.1g} in cosine"
            best = gap, Solution(cosines, "smoothing", steps, slopes, note=note)
        if proof.certified or useless > MOST_USELESS:
            break
        wider = width
        lost, allowed = proof.value - objective.minorant(cosines, slopes).value, EXACTER * tolerance * size
        if lost > allowed:  # which falls at least as fast as the width, and often much faster
            width *= max(NARROWER, (allowed / lost) ** 0.25)
    if best is None:
        raise SolverError("no smooth form of this loss was solved; leave --solver out, or take conic")
    return best[1]
