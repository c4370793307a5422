"""Two sides under a loss that is not convex: the best of several local searches, and a proven bound beside it.

The bound is the optimum of a convex F that is nowhere above the loss; a search starts there, at the best of what is
tied, and at random.  Kinks of the loss are smoothed, less and less.  What is found is the answer: it is proven only
where it meets the bound to rounding.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numpy as np

from geomsolve.gram.paired import Paired
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossObjective, Joint
from geomsolve.objectives.tied import can_be_tied
from geomsolve.proof.certificate import TOLERANCE
from geomsolve.solvers.paired_line import solve_paired_line
from geomsolve.solvers.sides import Sides, Spot, descend, rows_of
from geomsolve.solvers.two_sides import REACHED, SidesAnswer, gram_of, solve_two_sides, tied_gram, tied_optimum

STARTS = 8
"""Random starts."""

SOFT = (1e-1, 1e-2, 1e-3, 1e-5, 1e-7)
"""How far kinks are smoothed, one after the other."""

STEPS = 150
"""Steps at each of them."""

FREE = 24
"""Points of both sides together up to which random starts do not keep alike what is alike."""

MEETS = 2e-12
"""Gap, relative to the value, at which a search has met the bound."""


def solve_searched_sides(
    smoothed: Callable[[Joint, float], CrossObjective],
    below: Callable[[Joint], CrossObjective],
    joint: Joint,
    *,
    dim: int | None = None,
    tolerance: float = TOLERANCE,
    seed: int = 0,
) -> tuple[SidesAnswer, Joint]:
    """The best arrangement found, with the bound, and the ``joint`` by whose orbits it is given.

    ``smoothed(joint, soft)`` is the loss with kinks smoothed so far, 0 the loss itself; ``below(joint)`` the convex F.
    In ``dim`` dimensions every point is an orbit of its own.
    """
    began = time.perf_counter()
    convex = below(joint)
    bound = solve_two_sides(convex, joint, tolerance=tolerance, seed=seed)
    apart = joint.apart()
    best: tuple[float, FloatArray, Joint] | None = None
    steps = bound.iterations
    if dim == 1:
        begun = [(apart, solve_paired_line(smoothed(apart, 0.0), apart.paired, seed=seed)[0])]
    else:
        begun = starts(convex, bound, joint, apart, dim, seed)
    for origin, start in begun:
        paired, exact = origin.paired, smoothed(origin, 0.0)
        rows = start
        for soft in SOFT:
            spot, count = descend(Spot.at(Sides(smoothed(origin, soft), paired), rows), STEPS, narrow=False)
            rows, steps = spot.point, steps + count
        for candidate in (start, rows):
            value = exact.value(Sides.cross_of(paired, candidate, candidate))
            if best is None or value < best[0] - MEETS * max(1.0, abs(value)):
                best = value, candidate, origin
        if best is not None and best[0] - bound.certificate.lower_bound <= REACHED * max(1.0, abs(best[0])):
            break
    assert best is not None
    value, rows, origin = best
    gram = gram_of(origin.paired, rows)
    proof = dataclasses.replace(bound.certificate.at(value), tolerance=min(tolerance, REACHED))
    tied: bool | None = None
    own = gram.cross[origin.paired.matched[0], -1]
    if proof.gap <= MEETS * max(1.0, abs(value)) and can_be_tied(origin.paired) and float(own.min()) >= 1 - MEETS:
        tied = True
    reason = "best of several local searches; the bound is that of a convex loss that is nowhere above"
    spent = time.perf_counter() - began
    return SidesAnswer(gram, rows, proof, tied, "local", reason, steps, spent), origin


def starts(
    below: CrossObjective, bound: SidesAnswer, joint: Joint, apart: Joint, dim: int | None, seed: int
) -> list[tuple[Joint, FloatArray]]:
    """Rows to start from, each with the orbits that they are of."""
    if dim is not None:
        return [(apart, Sides(below, apart.paired).start(dim, seed + k)) for k in range(STARTS)]
    paired = joint.paired
    found = []
    if can_be_tied(paired) and (one := tied_optimum(below, joint, thorough=True)) is not None:
        found.append((joint, rows_at(paired, one.cosines)))
    width = paired.n_first + paired.n_second
    near = Sides(below, paired).start(max(width, bound.rows.shape[1] - 2), seed, bound.rows, 1e-3)
    found.append((joint, near))
    origin = apart if sum(paired.points) <= FREE else joint
    wide = origin.paired.n_first + origin.paired.n_second
    return [*found, *((origin, Sides(below, origin.paired).start(wide, seed + k)) for k in range(STARTS))]


def rows_at(paired: Paired, cosines: FloatArray) -> FloatArray:
    """Rows of two sides that coincide, with orbit ``cosines`` (m, m)."""
    blocks = paired.blocks(tied_gram(cosines))
    rows = rows_of(paired, blocks.quotient, blocks.contrast)
    m = paired.n_first
    rows[m:] = rows[:m]  # to the last place
    return np.asarray(rows)
