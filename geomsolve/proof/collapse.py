"""Which classes coincide at an optimum?  Decided by the certificate at the candidate, never by a distance.

*All minority classes.*  With one majority class the candidate is v = (1, -1, ..., -1), G = v v': all other classes
opposite the majority.  It is optimal iff its dual matrix S (``certificate.py``) is psd; S v = 0 always, so the rest of
the spectrum decides.  A threshold is where the smallest of these eigenvalues changes sign along a path, found by
bisection; nothing is solved.

*Any merger* (``objectives/merged.py``: groups of classes, each at one point).  Its best geometry X (K x d, G = X X')
is the optimum of a smaller problem.  Let the columns of A be the movements of whole groups, which the small problem
knows, and those of B movements within groups.  X is an optimum of the whole problem iff, S_AA being psd already,

    S_BX = 0                           (no force pulls a member away from its group)
    S_BB - S_BA (S_AA)^+ S_AB psd      (no split lowers F to second order),

and the smallest eigenvalue of the latter is the margin.  Every optimum G' has <S, G'> = 0, so where the margin is
positive the classes of a group coincide in every optimum.  For the n_g classes of one proportion all cross terms vanish
by symmetry, and the margin is the dual contrast mu_g - D_gg: the multiplier of the primal contrast 1 - C_gg >= 0.

*How many dimensions?*  <S, G> = 0 as well, so along an eigenvector of G its eigenvalue or the force of S vanishes:
a small eigenvalue of G counts where it exceeds the force, relative to the forces that cancel in it.

S is weighed by the forces on each class, S_ab / sqrt(r_a r_b) with r_a = sum_b |S_ab|, which changes no sign and
makes its eigenvalues comparable with 1 however rare a class is.  Derived for this project; docs/sources.md.

Symbols: S ``blocks``, ``dual``; r ``forces``; X ``reached``, A ``whole``, B ``within``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan

import numpy as np
from numpy.typing import NDArray

from geomsolve.gram.orbits import EXACT, Blocks, Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import Objective
from geomsolve.objectives.merged import Merger
from geomsolve.proof.certificate import COLLAPSE_ROUNDING, collapse_blocks, collapse_is_optimal, dual_matrix
from geomsolve.proof.crossings import Change, changes, nearest

TEMPERATURES = (0.005, 200.0)
"""Range of temperatures that is searched for a threshold."""

MOST_ORBITS = 3000
"""Distinct proportions up to which the search is made: it takes some twenty factorisations."""

SCAN = 17
"""Temperatures, evenly in the logarithm, at which the search looks for a change of sign."""

EXACT_MARGIN = 100
"""Distinct proportions up to which all eigenvalues of S are computed to guess where the smallest is 0."""

FORCE = 1e-8
"""Largest |S_BX|, relative to the forces that cancel, that counts as none."""

SOLVED = 1e-12
"""Eigenvalues of the weighed S below which rounding hides their sign."""

UNSOLVED = 1e-6
"""Negative eigenvalues of the weighed S_AA from which on the small problem was not solved, so that nothing follows."""

REACHED = 1e-9
"""Eigenvalues of G, relative to K, from which on a direction is in use."""


def has_majority(orbits: Orbits) -> bool:
    """Whether one class is more frequent than every other, and there are at least two others to collapse."""
    return bool(orbits.sizes[0] == 1 and orbits.n_classes > 2)


def collapse_margin(objective: Objective, orbits: Orbits) -> float:
    """Smallest eigenvalue of S at the collapsed candidate, v left out: collapse is optimal iff this is >= 0."""
    blocks, size = collapse_blocks(objective, orbits)
    margin = float(min(np.linalg.eigvalsh(blocks.quotient)[0], blocks.contrast.min()))
    return 0.0 if abs(margin) <= COLLAPSE_ROUNDING * size else margin


Place = Callable[[float], tuple[Objective, Orbits]]
"""The problem at a place of a path."""


def collapse_changes(at: Place, scan: Sequence[float], *, whole: bool = False) -> list[Change[bool]]:
    """Where full minority collapse sets in or ends along the path ``at``, in order; see :func:`crossings.changes`."""
    margin = None if whole else guessed_margin(at)
    return changes(lambda x: collapse_is_optimal(*at(x)), scan, whole=whole, margin=margin)


def guessed_margin(at: Place) -> Callable[[float], float]:
    """The eigenvalue of S that changes sign at a threshold, relative to the size of S, at the places of a path.

    For large S it is that nearest to 0, by inverse iteration that goes on from place to place: a guess, not a proof.
    """
    start: FloatArray = np.zeros(0)

    def margin(x: float) -> float:
        nonlocal start
        blocks, size = collapse_blocks(*at(x))
        m = blocks.contrast.size
        if not (size > 0 and np.isfinite(blocks.quotient).all()):
            return nan
        if m <= EXACT_MARGIN:
            lowest = float(np.linalg.eigvalsh(blocks.quotient)[0])
        else:
            start = start if start.size == m else np.ones(m) / np.sqrt(m)
            try:
                turned = np.linalg.solve(blocks.quotient, start)
            except np.linalg.LinAlgError:
                return 0.0
            lowest = float(1 / (start @ turned))
            start = turned / np.linalg.norm(turned)
        return min(lowest, float(blocks.contrast.min())) / size

    return margin


def nearest_collapse_temperature(
    at: Callable[[float], Objective], temperature: float | None, orbits: Orbits
) -> float | None:
    """The temperature nearest to ``temperature`` (by ratio) at which full minority collapse sets in or ends.

    ``at(t)`` is the objective at temperature t.  None where the loss has no temperature or kinks, there is no majority,
    no temperature in :data:`TEMPERATURES` makes a difference, or there are more than :data:`MOST_ORBITS` distinct
    proportions.
    """
    if temperature is None or not has_majority(orbits) or orbits.n_orbits > MOST_ORBITS:
        return None

    def place(t: float) -> tuple[Objective, Orbits]:
        return at(t), orbits

    found = nearest(
        lambda t: collapse_is_optimal(at(t), orbits),
        np.geomspace(*TEMPERATURES, SCAN).tolist(),
        temperature,
        margin=guessed_margin(place),
    )
    return None if found is None else found.at


def weighed_dual(objective: Objective, orbits: Orbits, cosines: FloatArray) -> tuple[Blocks, FloatArray] | None:
    """S with each class weighed by its forces r, and r (m,); None where a class feels no force that is a number."""
    multipliers, off_diagonal = dual_matrix(orbits, cosines, objective.gradient(cosines))
    forces = np.abs(multipliers) + np.sum(np.abs(off_diagonal) * orbits.others, axis=1)
    if not (np.isfinite(forces).all() and forces.min() > 0):
        return None
    root = np.sqrt(forces)  # before the product, which may be no number above 0
    return orbits.blocks(multipliers / forces, off_diagonal / np.outer(root, root)), forces


@dataclass(frozen=True)
class Verdict:
    """Whether the best geometry of a merger is an optimum of the whole problem.

    ``margin`` of the weighed S, see the module; 0 within rounding, -inf where a force is left: optimal iff >= 0, and
    where it is positive every optimum has these classes together.  ``guilty`` are the groups that had better split,
    where it is negative; all, where no one group is to blame.
    """

    margin: float
    guilty: Merger = ()

    @property
    def optimal(self) -> bool:
        return self.margin >= 0


def judge(objective: Objective, orbits: Orbits, merger: Merger, cosines: FloatArray) -> Verdict:
    """The verdict on ``merger`` at its best geometry ``cosines`` (m, m), orbits in one group having the same rows."""
    weighed = weighed_dual(objective, orbits, cosines)
    if weighed is None:
        return Verdict(-inf, merger)
    dual, forces = weighed
    weight = np.sqrt(forces * orbits.sizes)
    whole, within, owner = _movements(weight, merger)
    stiff, ways = np.linalg.eigh(whole.T @ dual.quotient @ whole)
    if stiff[0] < -UNSOLVED:
        return Verdict(-inf, merger)
    contrasts = [float(dual.contrast[list(group)].min()) for group in merger]
    split = np.zeros((0, 0))
    if owner.size:
        values, vectors = np.linalg.eigh(orbits.gram_blocks(cosines).quotient)
        used = vectors[:, values > REACHED * orbits.n_classes] * np.sqrt(forces)[:, None]
        reached = np.linalg.qr(whole.T @ used)[0]
        across = within.T @ dual.quotient @ whole
        pulled = np.abs(across @ reached).max(axis=1) > FORCE
        if pulled.any():
            return Verdict(-inf, tuple(merger[i] for i in sorted(set(owner[pulled]))))
        across = (across - across @ reached @ reached.T) @ ways
        split = within.T @ dual.quotient @ within - (across / np.maximum(stiff, SOLVED)) @ across.T
    values, vectors = np.linalg.eigh(split) if owner.size else (np.full(1, inf), split)
    margin = min(*contrasts, float(values[0]))
    if abs(margin) <= SOLVED:
        return Verdict(0.0)
    if margin > 0:
        return Verdict(margin)
    own = [np.linalg.eigvalsh(split[np.ix_(owner == i, owner == i)]).min(initial=inf) for i in range(len(merger))]
    guilty = [i for i in range(len(merger)) if min(contrasts[i], own[i]) < -SOLVED]
    if not guilty:
        guilty = [int(owner[np.argmax(np.abs(vectors[:, 0]))])]
    return Verdict(margin, tuple(merger[i] for i in guilty))


def _movements(weight: FloatArray, merger: Merger) -> tuple[FloatArray, FloatArray, IntArray]:
    """Orthonormal movements of whole groups and orbits apart, A (m, s), and within groups, B (m, m - s), with the
    position of the group that each of the latter belongs to.  ``weight`` (m,) of each orbit in the weighed S."""
    m = weight.size
    grouped = {g for group in merger for g in group}
    whole = [np.eye(m)[g] for g in range(m) if g not in grouped]
    within, owner = [], []
    for i, group in enumerate(merger):
        members = list(group)
        turn = np.linalg.qr(np.column_stack([weight[members], np.eye(len(members))[:, 1:]]))[0]
        moves = np.zeros((len(members), m))
        moves[:, members] = turn.T
        whole.append(moves[0])
        within += list(moves[1:])
        owner += [i] * (len(members) - 1)
    return np.array(whole).T, np.array(within).reshape(-1, m).T, np.array(owner, dtype=np.int64)


def held_together(objective: Objective, orbits: Orbits, cosines: FloatArray) -> Merger:
    """The proportions whose classes coincide, each a group, by the multipliers at optimal orbit ``cosines`` (m, m).

    <S, G> = 0, so of the primal contrast 1 - C_gg and the weighed dual contrast one vanishes: the smaller.
    """
    weighed = weighed_dual(objective, orbits, cosines)
    if weighed is None:
        return ()
    dual, several = weighed[0].contrast, orbits.sizes > 1
    held = several & (dual > np.maximum(1 - np.diag(cosines), UNSOLVED))
    return tuple((int(g),) for g in np.flatnonzero(held))


def dual_rank(objective: Objective, orbits: Orbits, cosines: FloatArray, tolerance: float) -> int:
    """How many dimensions optimal orbit ``cosines`` (m, m) span; see the module.

    Eigenvalues above ``tolerance`` count anyway, and those at rounding level never; without S, or with more distinct
    proportions than :data:`EXACT`, only the tolerance decides.
    """
    weighed = weighed_dual(objective, orbits, cosines) if orbits.n_orbits <= EXACT else None
    if weighed is None:
        return orbits.rank(cosines, tolerance)
    dual, forces = weighed
    gram = orbits.gram_blocks(cosines)
    values, vectors = np.linalg.eigh(gram.quotient)
    ways = vectors * np.sqrt(forces)[:, None]
    resisted = np.abs(np.sum(ways * (dual.quotient @ ways), axis=0)) / np.sum(ways**2, axis=0)
    rounding = 1e-14 * orbits.n_classes

    def counts(eigenvalue: FloatArray, force: FloatArray) -> NDArray[np.bool_]:
        used: NDArray[np.bool_] = (eigenvalue > tolerance) | ((eigenvalue > rounding) & (eigenvalue > force))
        return used

    several = orbits.sizes > 1
    inner = counts(gram.contrast[several], np.abs(dual.contrast[several]))
    return int(np.sum(counts(values, resisted)) + np.sum((orbits.sizes[several] - 1)[inner]))
