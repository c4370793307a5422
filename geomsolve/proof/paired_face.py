"""Is the optimum of two sides the only one?  Decided by linear algebra, as in ``uniqueness.py``.

All optima of a convex F have the gradient of one of them, so that they lie among the feasible G' with <S, G'> = 0, S as
in ``proof/paired.py``: G' = W Y W' with W the null space of S.  Another optimum is G + Delta with Delta of that form,
diag(Delta) = 0, and F straight along it.  Where the linear equations

    diag(W Y W') = 0,    (d^2 F)[cross block of W Y W'] = 0

have no solution but 0, there is none.  In the blocks of ``gram/paired.py``: of optima that treat alike what is alike,
and so of everything that is the same for all of an orbit, as the mean of a side is.

Symbols: W ``kernel``, Y the coefficients, Delta ``change``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geomsolve.gram.paired import Paired, PairedBlocks, PairedGram
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossObjective
from geomsolve.proof.paired import dual_blocks

NULL, ROUNDING = 1e-7, 1e-11
"""Eigenvalues of S below this, relative to its largest entry, or to the forces that cancel in it, count as zero."""

DEPENDENT = 1e-6
"""Singular value of the equations, relative to the largest, below which they may have a solution."""

MOST = 800
"""Unknowns up to which the equations are looked at."""


def is_only_optimum(objective: CrossObjective, paired: Paired, gram: PairedGram, gap: float = 0.0) -> bool:
    """Whether linear algebra shows that no optimum but ``gram``, within ``gap`` of one, is; False says nothing."""
    dual = dual_blocks(paired, gram.cross, objective.gradient(gram.cross))
    felt = dual_blocks(paired, -np.ones_like(gram.cross), objective.forces(gram.cross))
    # what is ``gap`` nats away has its cosines, and so the eigenvalues of S, off by about the root of it
    near = max(NULL, 10 * float(np.sqrt(max(gap, 0.0))))
    zero = max(near * float(np.abs(dual.quotient).max()), ROUNDING * float(np.abs(felt.quotient).max()))
    kernel = null_space(dual.quotient, zero)
    kernels = [null_space(block, zero) for block in dual.contrast]
    unknown = [int(k.shape[1] * (k.shape[1] + 1) // 2) for k in (kernel, *kernels)]
    if not 0 < sum(unknown) <= MOST:
        return not sum(unknown)
    bend = objective.curvature(gram.cross)
    columns = []
    for change in _changes(paired, kernel, kernels):
        entries = paired.entries(change)
        columns.append((np.concatenate([entries.first_own, entries.second_own]), bend(entries.cross).ravel()))
    equations = []
    for rows in (np.stack(part, axis=1) for part in zip(*columns, strict=True)):
        largest = np.abs(rows).max()
        equations.append(rows / largest if largest > 0 else rows)
    values = np.linalg.svd(np.concatenate(equations), compute_uv=False)
    return values.size == sum(unknown) and bool(values[-1] > DEPENDENT * values[0])


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
