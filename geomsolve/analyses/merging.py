"""Which classes coincide at the optimum, and where along a path do they merge?

A *merger* is a set of groups of classes, each group at one point.  Its best geometry is the optimum of a smaller
problem, F restricted to geometries in which each group is one vector; it is an optimum of the whole problem iff
that geometry X (K x d, G = X X') passes the certificate:

    S X = 0   (no force pulls a member away from its group: the small problem only balances whole groups)
    S psd     (no split lowers F to second order)

S X = 0 puts the range of G into the null space of S, so the smallest eigenvalue of S on the rest decides, and its
sign changes where the merger begins or ends.  The same holds with the whole minority merged, where the small
problem has two points and its answer is known (``proof/collapse.py``).  Derived for this project.

Symbols: G ``cosines`` (orbit form), S ``dual``, range of G ``reached``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import coinciding
from geomsolve.objectives.base import Objective
from geomsolve.objectives.merged import Merged, Merger
from geomsolve.proof.certificate import collapse_is_optimal, dual_blocks
from geomsolve.proof.collapse import has_majority
from geomsolve.proof.crossings import changes
from geomsolve.solvers.choose import solve_objective
from geomsolve.solvers.manifold import solve_manifold

SUSPICION = (1e-3, 1e-5, 1e-7)
"""Distances 1 - cosine below which classes are suspected to coincide; the certificate then decides."""

FORCE = 1e-7
"""Largest |S X|, relative to the entries of S, that counts as no force."""

SOLVED = 1e-12
"""Eigenvalues of S, relative to its entries, below which the small problem's own accuracy hides their sign."""

WIDE = 1.02
"""Ratio of an interval's ends above which a third state may hide in it, so that only solving tells."""

ONE_PLACE = 1e-6
"""Changes closer than this, relatively, are one: right at a change no solver tells which classes coincide."""

PARTIAL_ORBITS = 24
"""Distinct proportions up to which partial mergers are looked for; each point of the scan is solved."""


def merger_margin(objective: Objective, orbits: Orbits, merger: Merger) -> float:
    """Smallest eigenvalue of S, off the range of G, at the best geometry of a merger; -inf if a force is left.

    The merger is optimal iff this is >= 0.
    """
    small = Merged(objective, orbits, merger)
    cosines = np.ones((1, 1))
    if small.orbits.n_orbits > 1 or small.orbits.sizes[0] > 1:
        cosines = solve_manifold(small, small.orbits).cosines
    cosines = small.expand(cosines)
    dual = dual_blocks(orbits, cosines, objective.gradient(cosines))
    gram = orbits.gram_blocks(cosines)
    values, vectors = np.linalg.eigh(gram.quotient)
    reached = vectors[:, values > 1e-9 * orbits.n_classes]
    size = float(np.abs(dual.quotient).sum())
    if np.abs(dual.quotient @ reached).max() > FORCE * size:
        return -np.inf
    rest = float(np.linalg.eigvalsh(dual.quotient + size * reached @ reached.T)[0])
    points = (orbits.sizes > 1) & (gram.contrast < 1e-9)
    margin = min(rest, float(dual.contrast[points].min(initial=np.inf)))
    return 0.0 if abs(margin) <= SOLVED * size else margin


def full_merger(orbits: Orbits) -> Merger | None:
    """All classes but the largest in one point; None where no class is larger than every other."""
    return (tuple(range(1, orbits.n_orbits)),) if has_majority(orbits) else None


def is_optimal(objective: Objective, orbits: Orbits, merger: Merger) -> bool:
    """Whether the best geometry of the merger is an optimum of the whole problem."""
    if merger == full_merger(orbits):
        return collapse_is_optimal(objective, orbits)
    return merger_margin(objective, orbits, merger) >= 0


def optimal_merger(objective: Objective, orbits: Orbits) -> Merger:
    """Which classes coincide at the optimum: found by solving, then decided by the certificate."""
    full = full_merger(orbits)
    if full is not None and is_optimal(objective, orbits, full):
        return full
    cosines = solve_objective(objective, orbits).solution.cosines
    for distance in SUSPICION:
        groups = coinciding(orbits, cosines, distance)
        merger = tuple(sorted(tuple(sorted({int(orbits.index[a]) for a in group})) for group in groups))
        if merger and is_optimal(objective, orbits, merger):
            return merger
    return ()


def merging_path(
    at: Callable[[float], tuple[Objective, Orbits]], scan: Sequence[float], *, whole: bool = False
) -> list[tuple[float, Merger]]:
    """Which classes coincide along a path: (from which x on, merger), the first at the start of the scan.

    ``at(x)`` is the problem at x, its orbits in the same order everywhere.
    """

    def merged(merger: Merger) -> int:
        return sum(len(group) for group in merger)

    def between(x: float, width: float, before: Merger, after: Merger) -> Merger:
        objective, orbits = at(x)
        fine, coarse = sorted((before, after), key=merged)
        if is_optimal(objective, orbits, coarse):
            return coarse
        if width <= WIDE or (fine and is_optimal(objective, orbits, fine)):
            return fine
        return optimal_merger(objective, orbits)

    found = changes(lambda x: optimal_merger(*at(x)), scan, whole=whole, between=between)
    stages = [(scan[0], found[0].before if found else optimal_merger(*at(scan[0])))]
    for change in found:
        if not whole and change.at <= stages[-1][0] * (1 + ONE_PLACE):
            stages[-1] = (stages[-1][0], change.after)
        else:
            stages.append((change.at, change.after))
    return [stage for i, stage in enumerate(stages) if i == 0 or stage[1] != stages[i - 1][1]]
