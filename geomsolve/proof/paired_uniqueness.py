"""Is the optimum of two sides the only one?  Decided by linear algebra, as in ``uniqueness.py``.

All optima of a convex F have the gradient of one of them, so that they lie among the feasible G' with <S, G'> = 0, S as
in ``proof/paired.py``: G' = W Y W' with W the null space of S.  Another optimum is G + Delta with Delta of that form,
diag(Delta) = 0, and F straight along it.  Where the linear equations

    diag(W Y W') = 0,    (d^2 F)[cross block of W Y W'] = 0

have no solution but 0, there is none (:func:`is_only_optimum`).  In the blocks of ``gram/paired.py``: of optima that
treat alike what is alike, and so of everything that is the same for all of an orbit, as the mean of a side is; of all
optima where every point is an orbit of its own.  Where there is a solution with W the range of G, and F stays as it is
along it, it leads to a second optimum, found.  Otherwise: not determined; so too where F is strictly convex and not
at its floor: forces then hold every point, and what seems a second optimum is one up to rounding.

A quicker way, for any number of points: S G' = 0 says alpha_i A'_ik = - sum_j D_ij C'_kj, so that where alpha, beta > 0
the cosines between the sides determine those within.  If F is strictly convex in C, they are the same at all optima.
If it is but for a number c added to all of C, then c (D 1)_i = alpha_i Delta_ii = 0: c = 0 where some row or column of
D does not sum to 0, and where the x, or the y, sum to the vector 0, as then c 1 1' leaves the psd matrices.

Symbols: W ``kernel`` of the quotient and ``kernels`` of the contrasts, Y the coefficients, Delta ``change``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from geomsolve.gram.paired import Paired, PairedBlocks, PairedGram
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossObjective, Joint
from geomsolve.proof.paired import dual_blocks, multipliers

MOST_POINTS = 30
"""Points of both sides together up to which each is looked at as an orbit of its own."""

CENTRED = 1e-12
"""Square of the sum of the points of a side, relative to their number, that is 0 but for rounding."""

NULL, ROUNDING = 1e-7, 1e-11
"""Eigenvalues of S below this, relative to its largest entry, or to the forces that cancel in it, count as zero."""

DEPENDENT = 1e-6
"""Singular value of the equations, relative to the largest, below which they may have a solution."""

MOST = 800
"""Unknowns up to which the equations are looked at."""

NEAR = 1e-6
"""Gap, relative to all forces together, at which a geometry is looked at as an optimum."""

APART = 1e-5
"""Cosines that differ by more are different ones, of geometries that are optimal up to rounding."""

INSIDE = 1e-4
"""Eigenvalues of G that are not 0."""


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
    joint: Joint,
    objective: CrossObjective,
    single: Callable[[], CrossObjective],
    gram: PairedGram,
    gap: float,
    *,
    reached: bool = False,
) -> bool | None:
    """True, False or None (not determined) for the Gram matrix of ``joint``, within ``gap`` of optimal.

    ``single()`` is F with every point an orbit of its own.  ``reached``: whether it is as low as with free logits, so
    that no force is left.
    """
    if not is_near(objective, gram, gap):
        return None
    if strictly(joint, objective, gram):
        return True
    if sum(joint.paired.points) > MOST_POINTS:
        return None
    plain, paired = single(), joint.paired.apart()
    first, cross, second = joint.paired.lift(gram)
    wide = PairedGram(np.diag(first), first, np.diag(second), second, paired.reduce_cross(cross))
    if is_only_optimum(plain, paired, wide, gap):
        # a point that stands for several may be their mean, shorter than 1, unless it is pulled outwards
        many = np.concatenate(
            [joint.first_given[joint.paired.first_index], joint.second_given[joint.paired.second_index]]
        )
        _, alpha, beta = multipliers(paired, wide.cross, plain.gradient(wide.cross))
        pulled = np.concatenate([alpha, beta]) > NULL * float(plain.forces(wide.cross).max())
        return True if np.all(pulled | (many == 1)) else None
    if plain.strict and not reached:
        return None  # forces hold every point: what seems straight is so up to rounding
    whole = paired.blocks(wide).quotient
    values, vectors = np.linalg.eigh(whole)
    inside = values > INSIDE
    reach, value = float(values[inside].min()), plain.value(wide.cross)
    for change in straight(plain, paired, wide.cross, vectors[:, inside], []) or ():
        for sign in (1, -1):
            moved = PairedBlocks(whole + sign * 0.5 * reach * change.quotient, change.contrast)
            if are_told_apart(plain, paired, wide.cross, paired.entries(moved).cross):
                continue
            if plain.value(paired.entries(moved).cross) <= value + 1e-12 * max(1.0, abs(value)):
                return False
    return None


def are_told_apart(objective: CrossObjective, paired: Paired, one: FloatArray, two: FloatArray) -> bool:
    """Whether strict convexity rules out that both ``cross`` are optimal: the same loss is then that of rounding."""
    move = (two - one)[paired.counts > 0]
    if objective.strict == "up to a constant":
        move = move - move.mean()
    return bool(objective.strict) and float(np.abs(move).max()) > APART


def is_near(objective: CrossObjective, gram: PairedGram, gap: float) -> bool:
    """Whether ``gap`` nats are little beside the forces that hold a geometry: else an optimum may lie far away."""
    return gap <= NEAR * float(objective.forces(gram.cross).sum())


def is_only_optimum(objective: CrossObjective, paired: Paired, gram: PairedGram, gap: float = 0.0) -> bool:
    """Whether linear algebra shows that no optimum but ``gram``, within ``gap`` of one, is; False says nothing."""
    if not is_near(objective, gram, gap):
        return False
    dual = dual_blocks(paired, gram.cross, objective.gradient(gram.cross))
    felt = dual_blocks(paired, -np.ones_like(gram.cross), objective.forces(gram.cross))
    # what is ``gap`` nats away has its cosines, and so the eigenvalues of S, off by about the root of it
    near = max(NULL, 10 * float(np.sqrt(max(gap, 0.0))))
    zero = max(near * float(np.abs(dual.quotient).max()), ROUNDING * float(np.abs(felt.quotient).max()))
    kernel, kernels = null_space(dual.quotient, zero), [null_space(block, zero) for block in dual.contrast]
    return straight(objective, paired, gram.cross, kernel, kernels) == []


def straight(
    objective: CrossObjective, paired: Paired, cross: FloatArray, kernel: FloatArray, kernels: list[FloatArray]
) -> list[PairedBlocks] | None:
    """The changes W Y W' of norm 1 with zero diagonal along which F has no curvature: a basis of them, empty for none,
    None for more unknowns than are looked at."""
    unknown = sum(int(k.shape[1] * (k.shape[1] + 1) // 2) for k in (kernel, *kernels))
    if not 0 < unknown <= MOST:
        return None if unknown else []
    changes = list(_changes(paired, kernel, kernels))
    bend = objective.curvature(cross)
    columns = []
    for change in changes:
        entries = paired.entries(change)
        columns.append((np.concatenate([entries.first_own, entries.second_own]), bend(entries.cross).ravel()))
    equations = []
    for rows in (np.stack(part, axis=1) for part in zip(*columns, strict=True)):
        largest = np.abs(rows).max()
        equations.append(rows / largest if largest > 0 else rows)
    _, values, right = np.linalg.svd(np.concatenate(equations), full_matrices=True)
    every = np.concatenate([values, np.zeros(unknown - values.size)])
    free = every <= DEPENDENT * values[0]
    found = []
    for y in right[free]:
        quotient = sum(c * change.quotient for c, change in zip(y, changes, strict=True))
        contrast = sum(c * change.contrast for c, change in zip(y, changes, strict=True))
        size = np.sqrt(np.sum(quotient**2) + np.sum(contrast**2))
        found.append(PairedBlocks(np.asarray(quotient / size), np.asarray(contrast / size)))
    return found


def null_space(matrix: FloatArray, zero: float) -> FloatArray:
    """(n, r): the eigenvectors of a psd matrix whose eigenvalues are no more than ``zero``."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors[:, values <= zero])


def _changes(paired: Paired, kernel: FloatArray, kernels: list[FloatArray]) -> Iterator[PairedBlocks]:
    """The changes W Y W', one for each coefficient of Y."""
    m, none = paired.n_first + paired.n_second, np.zeros((len(kernels), 2, 2))
    for product in _products(kernel):
        yield PairedBlocks(product, none)
    for place, own in enumerate(kernels):
        for product in _products(own):
            contrast = none.copy()
            contrast[place] = product
            yield PairedBlocks(np.zeros((m, m)), contrast)


def _products(basis: FloatArray) -> Iterator[FloatArray]:
    for a in range(basis.shape[1]):
        for b in range(a + 1):
            product = np.outer(basis[:, a], basis[:, b])
            yield product + product.T
