"""Is the optimum of two sides the only one?  As in ``uniqueness.py``, for the joint Gram matrix G of all points.

All optima of a convex F have one gradient, hence lie among the feasible G' with <S, G'> = 0: any other is G + Delta,
Delta = W Y W', W the null space of S, diag(Delta) = 0, and F straight along its block between the sides.  No such
Delta: unique.  If there is one within the range of G along which F stays as it is, it leads to a second optimum, found.
Otherwise: not determined.

A quicker way, for any number of points: S G' = 0 says alpha_i A'_ik = - sum_j D_ij C'_kj, so that where alpha, beta > 0
the cosines between the sides determine those within.  If F is strictly convex in C, they are the same at all optima.
If it is but for a number c added to all of C, then c (D 1)_i = alpha_i Delta_ii = 0: c = 0 where some row or column of
D does not sum to 0, and where the x, or the y, sum to the vector 0, as then c 1 1' leaves the psd matrices.

Symbols: W ``basis``, Y the coefficients, Delta ``change``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from geomsolve.gram.paired import PairedGram
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossObjective, Joint
from geomsolve.proof.paired import multipliers

MOST_POINTS = 30
"""Points of both sides together up to which the linear algebra (about n^6 operations) is done."""

CENTRED = 1e-12
"""Square of the sum of the points of a side, relative to their number, that is 0 but for rounding."""

NULL = 1e-7
"""Eigenvalues of S and curvatures below this, relative to the largest force, count as zero."""


def strictly(joint: Joint, objective: CrossObjective, gram: PairedGram) -> bool:
    """Whether strict convexity shows that no optimum but ``gram`` is, as the module says; False says nothing."""
    paired = joint.paired
    force, alpha, beta = multipliers(paired, gram.cross, objective.gradient(gram.cross))
    felt = np.divide(objective.forces(gram.cross), paired.counts, out=np.zeros_like(force), where=paired.counts > 0)
    sides = ((paired, force, felt), (paired.mirror, paired.flip(force), paired.flip(felt)))
    loads = [np.sum(side.per_point * pull, axis=1) for side, _, pull in sides]
    if not objective.strict or np.any(alpha <= NULL * loads[0]) or np.any(beta <= NULL * loads[1]):
        return False
    if objective.strict == "everywhere":
        return True
    sums = [np.sum(side.per_point * pull, axis=1) for side, pull, _ in sides]
    if any(np.any(np.abs(one) > NULL * load) for one, load in zip(sums, loads, strict=True)):
        return True
    m, quotient = paired.n_first, paired.blocks(gram).quotient
    one, two = np.sqrt(paired.first), np.sqrt(paired.second)
    means = one @ quotient[:m, :m] @ one / paired.points[0], two @ quotient[m:, m:] @ two / paired.points[1]
    return bool(min(means) <= CENTRED)


def sides_are_unique(
    joint: Joint, objective: CrossObjective, single: Callable[[], CrossObjective], gram: PairedGram, gap: float
) -> bool | None:
    """True, False or None (not determined) for the Gram matrix of ``joint``, within ``gap`` of optimal.

    ``single()`` is F with every point an orbit of its own.
    """
    if strictly(joint, objective, gram):
        return True
    if sum(joint.paired.points) > MOST_POINTS:
        return None
    plain = single()
    paired = joint.paired.apart()
    first, cross, second = joint.paired.lift(gram)
    whole = np.block([[first, cross], [cross.T, second]])
    wide = paired.reduce_cross(cross)
    force, alpha, beta = multipliers(paired, wide, plain.gradient(wide))
    d = paired.lift_cross(force)
    dual = np.block([[np.diag(alpha), d], [d.T, np.diag(beta)]])
    steepest = float(plain.forces(wide).max())
    values, vectors = np.linalg.eigh(dual)
    null = np.abs(values) <= max(NULL, 10 * np.sqrt(max(gap, 0.0))) * steepest

    def straight(basis: FloatArray) -> list[FloatArray]:
        """Directions W Y W' of norm 1 with zero diagonal along which F has no curvature."""
        units = []
        for i in range(basis.shape[1]):
            for j in range(i, basis.shape[1]):
                unit = np.outer(basis[:, i], basis[:, j])
                units.append((unit + unit.T) / (2 if i == j else np.sqrt(2)))
        if not units:
            return []
        bend, m = plain.curvature(wide), first.shape[0]
        columns = []
        for unit in units:
            curved = bend(paired.reduce_cross(unit[:m, m:])) / steepest
            columns.append(np.concatenate([np.diag(unit), curved.ravel()]))
        _, singular, right = np.linalg.svd(np.array(columns).T, full_matrices=True)
        free = np.concatenate([singular, np.zeros(right.shape[0] - singular.size)]) <= NULL
        changes = [np.einsum("k,kab->ab", y, np.array(units)) for y in right[free]]
        return [c / np.linalg.norm(c) for c in changes]

    if not straight(vectors[:, null]):
        # a point that stands for several may be their mean, shorter than 1, unless it is pulled outwards
        many = np.concatenate(
            [joint.first_given[joint.paired.first_index], joint.second_given[joint.paired.second_index]]
        )
        pulled = np.concatenate([alpha, beta]) > NULL * steepest
        return True if np.all(pulled | (many == 1)) else None
    values, vectors = np.linalg.eigh(whole)
    inside = values > 1e-4
    reach, value, m = float(values[inside].min()), plain.value(wide), first.shape[0]
    for change in straight(vectors[:, inside]):
        for sign in (1, -1):
            other = whole + sign * 0.5 * reach * change
            if plain.value(paired.reduce_cross(other[:m, m:])) <= value + 1e-12 * max(1.0, abs(value)):
                return False
    return None
