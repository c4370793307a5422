"""Which classes coincide at the optimum, and where along a path do they merge?

Candidates come from solving, proofs from the certificate (``proof/collapse.py``).  Classes that the solver left close
to each other form a tree: groups at a generous distance, which fall apart into smaller ones at smaller distances.  The
coarsest groups are tried first.  Each trial solves the smaller problem in which every group is one point and reads the
multipliers there; groups that these show to be pulled apart are replaced by their parts.  What passes is an optimum;
what does not pass is not found, which is not a proof that there is none.

Symbols: 1 - C ``distances``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, classify
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.objectives.merged import Merged, Merger
from geomsolve.proof.certificate import collapse_is_optimal
from geomsolve.proof.collapse import Verdict, dual_rank, has_majority, held_together, judge
from geomsolve.proof.crossings import changes
from geomsolve.solvers.base import Answer
from geomsolve.solvers.choose import solve_objective
from geomsolve.solvers.manifold import solve_manifold

CLOSEST, FARTHEST, PER_ROOT = 1e-7, 1e-3, 30.0
"""Distances 1 - cosine up to which classes are suspected to coincide, the certificate then deciding: 30 sqrt(gap),
since F is flat to second order in them where a merger begins, within these limits."""

EQUAL = 1e-10
"""Distances at which classes coincide in a solved geometry unless the certificate denies it."""

ONE_PLACE = 1e-6
"""Changes closer than this, relatively, are one: right at a change no solver tells which classes coincide."""

PARTIAL_ORBITS = 24
"""Distinct proportions up to which mergers are tried, each solved, at one point and along a path; at one point of a
larger problem the multipliers of the geometry found decide."""

FINER = 8.0
"""Ratio of distances from one trial to the next."""

TRIALS = 20
"""Mergers tried for one problem before nothing counts as found."""


def best_geometry(objective: Objective, orbits: Orbits, merger: Merger) -> FloatArray:
    """Orbit cosines (m, m) of the best geometry in which each group of the merger is one point."""
    small = Merged(objective, orbits, merger)
    if small.orbits.n_orbits == 1 and small.orbits.sizes[0] == 1:
        return small.expand(np.ones((1, 1)))
    return small.expand(solve_manifold(small, small.orbits).cosines)


def full_merger(orbits: Orbits) -> Merger | None:
    """All classes but the largest in one point; None where no class is larger than every other."""
    return (tuple(range(1, orbits.n_orbits)),) if has_majority(orbits) else None


def is_optimal(objective: Objective, orbits: Orbits, merger: Merger) -> bool:
    """Whether the best geometry of the merger is an optimum of the whole problem."""
    if merger == full_merger(orbits):
        return collapse_is_optimal(objective, orbits)
    return judge(objective, orbits, merger, best_geometry(objective, orbits, merger)).optimal


def any_near(orbits: Orbits, cosines: FloatArray, distance: float) -> bool:
    """Whether any two classes are within ``distance``."""
    close = cosines >= 1 - distance
    inner = close.diagonal().copy()
    return bool(np.any(inner & (orbits.sizes > 1)) or close.sum() > inner.sum())


def births(orbits: Orbits, cosines: FloatArray) -> FloatArray:
    """(m, m): the distance from which on the classes of two orbits, or of one on the diagonal, can be one point."""
    distances = np.maximum(1 - cosines, 0.0)
    own = np.where(orbits.sizes > 1, np.diag(distances), 0.0)
    between: FloatArray = np.maximum(distances, np.maximum.outer(own, own))
    np.fill_diagonal(between, own)
    return between


def groups_within(orbits: Orbits, born: FloatArray, among: Sequence[int], distance: float) -> Merger:
    """The orbits ``among`` in groups linked by ``born`` (m, m) at most ``distance``, where two classes or more meet."""
    close = born <= distance
    close &= close.diagonal()[:, None] & close.diagonal()
    linked_at_all = (close.sum(axis=1) > 1) | ((orbits.sizes > 1) & close.diagonal())
    left = [g for g in among if linked_at_all[g]]
    found = []
    while left:
        group, reach = [], [left.pop(0)]
        while reach:
            g = reach.pop()
            group.append(g)
            linked = [h for h in left if close[g, h]]
            left = [h for h in left if h not in linked]
            reach += linked
        if orbits.sizes[group].sum() > 1:
            found.append(tuple(sorted(group)))
    return tuple(sorted(found))


def parts(orbits: Orbits, born: FloatArray, group: tuple[int, ...]) -> Merger:
    """The groups that ``group`` falls into below the distance at which it is one, and :data:`FINER` times below.

    Classes that do coincide stand out by more than that.  () where nothing is left to try.
    """
    inside = np.unique(born[np.ix_(group, group)])
    whole = next(d for d in inside if groups_within(orbits, born, group, float(d)) == (group,))
    return groups_within(orbits, born, group, float(min(whole / FINER, np.nextafter(whole, -1.0))))


def optimal_merger(objective: Objective, orbits: Orbits, answer: Answer | None = None) -> Merger:
    """Which classes coincide at the optimum: proposed by an ``answer``, decided by the certificate.

    What is returned is an optimum's.  () where nothing was found: the classes are apart, or no trial passed.
    """
    full = full_merger(orbits)
    suspected = answer is None or any_near(orbits, answer.solution.cosines, FARTHEST)
    if suspected and full is not None and is_optimal(objective, orbits, full):
        return full
    answer = answer or solve_objective(objective, orbits)
    cosines = answer.solution.cosines
    near = min(FARTHEST, max(CLOSEST, PER_ROOT * max(answer.certificate.gap, 0.0) ** 0.5))
    if not any_near(orbits, cosines, near):
        return ()
    if orbits.n_orbits > PARTIAL_ORBITS:
        return held_together(objective, orbits, cosines)
    born = births(orbits, cosines)
    merger = groups_within(orbits, born, range(orbits.n_orbits), near)
    for _ in range(TRIALS):
        if not merger:
            break
        verdict = Verdict(-np.inf, merger)
        if merger != full:
            geometry = best_geometry(objective, orbits, merger)
            verdict = judge(objective, orbits, merger, geometry)
        if verdict.optimal:
            return completed(objective, orbits, merger, geometry)
        innocent = tuple(group for group in merger if group not in verdict.guilty)
        merger = tuple(sorted(sum((parts(orbits, born, group) for group in verdict.guilty), innocent)))
    return ()


def completed(objective: Objective, orbits: Orbits, merger: Merger, geometry: FloatArray) -> Merger:
    """The merger with all that coincides in its best ``geometry`` besides, if that passes too."""
    more = groups_within(orbits, births(orbits, geometry), range(orbits.n_orbits), EQUAL)
    wider = more != merger and all(any(set(group) <= set(other) for other in more) for group in merger)
    return more if wider and is_optimal(objective, orbits, more) else merger


def merging_path(
    at: Callable[[float], tuple[Objective, Orbits]], scan: Sequence[float], *, whole: bool = False
) -> list[tuple[float, Merger]]:
    """Which classes coincide along a path: (from which x on, merger), the first at the start of the scan.

    ``at(x)`` is the problem at x, its orbits in the same order everywhere.  Mergers that begin and end between two
    neighbouring points of the scan are not found.
    """

    def merged(merger: Merger) -> int:
        return sum(len(group) for group in merger)

    def between(x: float, width: float, before: Merger, after: Merger) -> Merger:
        objective, orbits = at(x)
        fine, coarse = sorted((before, after), key=merged)
        if is_optimal(objective, orbits, coarse):
            return coarse
        if width <= 1 + ONE_PLACE or (fine and is_optimal(objective, orbits, fine)):
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


def structure_at(objective: Objective, orbits: Orbits, answer: Answer) -> tuple[Structure, int]:
    """The name of an answer's geometry, and how many dimensions it spans.

    Which classes coincide, and which short directions count, is decided by the dual matrix; by the tolerance of
    ``gram/structure.py`` only where there is none: losses with kinks or not convex.  Angles that are not resolved have
    no name: they are undetermined.
    """
    cosines = answer.solution.cosines
    gap = max(answer.certificate.gap, 0.0) if objective.below is None else 0.0
    if not (objective.decides and answer.resolved):
        structure = classify(orbits, cosines, gap)
        if not answer.resolved:
            structure = replace(structure, kind="undetermined", groups=())
        return structure, orbits.rank(cosines, structure.tolerance)
    merger = optimal_merger(objective, orbits, answer)
    groups = [tuple(np.flatnonzero(np.isin(orbits.index, group)).tolist()) for group in merger]
    structure = classify(orbits, cosines, gap, groups=tuple(sorted(groups)))
    return structure, dual_rank(objective, orbits, cosines, structure.tolerance)
