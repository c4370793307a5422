"""Is the optimum the only one?  Decided by linear algebra where the loss itself does not settle it.

All optima of a convex F have the same gradient, hence lie among the feasible G' with <S, G'> = 0, S the dual matrix
of one optimum G.  So any other optimum is G + Delta with Delta = W Y W', W the null space of S, diag(Delta) = 0 and
F straight along Delta.  No such Delta: unique.  If there is one even within the range of G, a step along it
that leaves F as it was is a second optimum, found: not unique.  So is a step towards the orthogonal frame that does.
Otherwise: not determined.

Symbols: W ``basis``, Y the coefficients, Delta ``change``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import dual_matrix

MOST_CLASSES = 30
"""Classes up to which the linear algebra (about K^6 operations) is done."""

NULL = 1e-7
"""Eigenvalues of S and curvatures below this, relative to the steepest slope of F, count as zero."""


def optimum_is_unique(
    objective: Objective,
    orbits: Orbits,
    cosines: FloatArray,
    slopes: FloatArray | None = None,
    *,
    single: Callable[[], Objective],
    gap: float = 0.0,
) -> bool | None:
    """True, False or None (not determined) for orbit ``cosines`` (m, m) of ``objective`` within ``gap`` of optimal.

    ``single()`` is the same objective with each class an orbit of its own.
    """
    if objective.unique_minimiser:
        return True
    if objective.degenerate:
        return False
    if objective.below is not None:  # what follows holds for convex losses
        return None
    if orbits.n_classes > MOST_CLASSES:
        return None
    plain = single()
    gram = orbits.lift(cosines)
    multipliers, off_diagonal = dual_matrix(orbits, cosines, objective.minorant(cosines, slopes).slope)
    dual = off_diagonal[np.ix_(orbits.index, orbits.index)]
    np.fill_diagonal(dual, multipliers[orbits.index])
    forces, vectors = np.linalg.eigh(dual)
    steepest = float(np.abs(plain.gradient(np.ones_like(gram))).max())
    null = np.abs(forces) <= max(NULL, 10 * np.sqrt(max(gap, 0.0))) * steepest
    if not _straight(plain, gram, vectors[:, null], steepest):
        return True
    values, vectors = np.linalg.eigh(gram)
    inside = values > 1e-4
    reach = float(values[inside].min())
    value = plain.value(gram)
    for change in _straight(plain, gram, vectors[:, inside], steepest):
        for sign in (1, -1):
            other = plain.value(gram + sign * 0.5 * reach * change)
            if other <= value + 1e-12 * max(1.0, abs(value)):
                return False
    inward = plain.value(0.9 * gram + 0.1 * np.eye(gram.shape[0]))
    return False if inward <= value + 1e-12 * max(1.0, abs(value)) else None


def _straight(objective: Objective, gram: FloatArray, basis: FloatArray, steepest: float) -> list[FloatArray]:
    """Directions W Y W' of norm 1 with zero diagonal along which F has no curvature at ``gram``.

    ``steepest``, the largest slope of F anywhere, is what curvature is compared with.
    """
    r = basis.shape[1]
    curvature = objective.curvature(gram)
    units = []
    for i in range(r):
        for j in range(i, r):
            unit = np.outer(basis[:, i], basis[:, j])
            units.append((unit + unit.T) / (2 if i == j else np.sqrt(2)))
    if not units:
        return []
    bends = np.array([np.concatenate([np.diag(u), curvature(u - np.diag(np.diag(u))).ravel()]) for u in units]).T
    diagonal = bends[: gram.shape[0]]
    curved = bends[gram.shape[0] :]
    system = np.vstack([diagonal, curved / steepest])
    _, singular, right = np.linalg.svd(system, full_matrices=True)
    free = np.concatenate([singular, np.zeros(right.shape[0] - singular.size)]) <= NULL
    changes = [np.einsum("k,kab->ab", y, np.array(units)) for y in right[free]]
    return [c / np.linalg.norm(c) for c in changes]
