"""The symmetry reduction: classes with equal proportions are interchangeable.

Averaging a Gram matrix over the permutations that keep the proportions changes neither its
feasibility nor raises a convex loss, so some optimum depends only on the *orbits* (groups of classes
with equal proportion) of the two classes.  It is then given by m x m cosines C instead of K x K:

    G_ab = C_gh   for different classes a in orbit g, b in orbit h,      G_aa = 1.

Every symmetric matrix A of this form, with diagonal a_g, is block-diagonal in a fixed basis:

    quotient   Q_gh = sqrt(n_g n_h) A_gh,  Q_gg = a_g + (n_g - 1) A_gg     (m x m, seen once)
    contrast   c_g  = a_g - A_gg                                          (seen n_g - 1 times)

so its eigenvalues cost m^3, however many classes there are.  For a Gram matrix Q_gg = n_g says that
orbit g has collapsed to a point, and Q_gg = 0 that it is a centred simplex of its own.

Symbols: K ``n_classes``, m ``n_orbits``, n_g ``sizes``, p_a ``proportions``, C ``cosines``,
Q ``Blocks.quotient``, c ``Blocks.contrast``.  Diagonals of ``cosines`` that belong to an orbit of
one class describe no pair; they are kept at 1 and never used.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.types import FloatArray, IntArray

EXACT = 300
"""Orbits up to which eigenvalues are computed one by one; beyond, bounds and counts from factorisations are tried."""

FEW = 6
"""Eigenvalues that are counted one by one where all others are known to be larger."""

AFFORDABLE = 1500
"""Orbits up to which eigenvalues are computed all the same where the quickest bound says little."""

EQUAL_PROPORTIONS = 1e-12
"""Proportions closer than this, relatively, belong to one orbit: they differ by rounding only."""


@dataclass(frozen=True)
class Blocks:
    """A permutation-invariant symmetric matrix, block-diagonalised (see the module's text).

    ``quotient`` (m, m); ``contrast`` (m,), +inf where the orbit has one class and hence no contrast.
    """

    quotient: FloatArray
    contrast: FloatArray

    def min_eigenvalue(self) -> float:
        """Smallest eigenvalue of the full K x K matrix; of large ones a lower bound of it, which costs less."""
        if not np.isfinite(np.sum(self.quotient)):
            return -np.inf  # no number is no proof
        if self.quotient.shape[0] <= EXACT:
            lowest = float(np.linalg.eigvalsh(self.quotient)[0])
        else:
            lowest = self._eigenvalue_bound()
        return float(min(lowest, self.contrast.min()))

    def _eigenvalue_bound(self) -> float:
        """A number that no eigenvalue of the quotient Q is below, up to rounding (m eps trace).

        With u = sqrt(diag Q), no eigenvalue of Q is below -|Q - u u'| (Weyl): this is tight when Q has rank one.
        Else no eigenvalue is below -shift if Q + (shift - c) I has a Cholesky factorisation in floating point,
        c = (m + 2) eps trace (Rump 2006); shifts are tried upwards.
        """
        m = self.quotient.shape[0]
        trace = float(np.abs(np.diag(self.quotient)).sum())
        rounding = (m + 2) * float(np.finfo(float).eps) * trace
        root = np.sqrt(np.maximum(np.diag(self.quotient), 0.0))
        difference = np.outer(root, root)
        difference -= self.quotient
        leftover = float(np.linalg.norm(difference))
        del difference
        if leftover <= rounding or trace == 0:
            return -leftover
        if m <= AFFORDABLE:
            return float(np.linalg.eigvalsh(self.quotient)[0])
        shift = 4 * rounding
        quotient = Blocks(self.quotient, np.zeros(0))
        while not quotient.is_psd(shift - rounding * (1 + m * shift / trace)):
            shift *= 4
        return -float(shift)

    def is_psd(self, slack: float) -> bool:
        """Whether no eigenvalue is below -``slack``, up to rounding: by one Cholesky factorisation."""
        if self.contrast.min(initial=0.0) < -slack:
            return False
        shifted = self.quotient.copy()
        shifted.flat[:: shifted.shape[0] + 1] += slack
        try:
            factor = np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            return False
        return bool(np.isfinite(factor.diagonal()).all())  # no number is no proof

    def quotient_rank(self, threshold: float) -> int:
        """How many eigenvalues of the quotient exceed ``threshold``; of large ones, where more than a few do not, they
        are counted by Sylvester's inertia."""
        m = int(self.quotient.shape[0])
        if m <= EXACT:
            return int(np.sum(np.linalg.eigvalsh(self.quotient) > threshold))
        few = self._few_below(threshold)
        if few is not None:
            return m - few
        shifted = self.quotient.copy()
        shifted[np.diag_indices(m)] -= threshold
        factor, pivots, _ = importlib.import_module("scipy.linalg.lapack").dsytrf(shifted, lower=1, overwrite_a=1)
        # a 1 x 1 pivot has the sign of an eigenvalue; a 2 x 2 pivot (two negative marks) has one of each sign
        return int(np.sum((pivots > 0) & (np.diag(factor) > 0)) + np.sum(pivots < 0) // 2)

    def _few_below(self, threshold: float) -> int | None:
        """How many eigenvalues of the quotient Q do not exceed ``threshold``; None where they are many, or too close.

        N, orthonormal (m, k), has Ritz values that do not, so that k eigenvalues do not, at least; and Q + c N N' has
        none that does not, so that no more do.
        """
        m, several = self.quotient.shape[0], 2 * FEW
        size = float(np.abs(np.diag(self.quotient)).sum())
        shifted = self.quotient.copy()
        shifted[np.diag_indices(m)] += m * np.finfo(float).eps * size
        probes = np.cos(np.outer(np.arange(m), np.arange(1, several + 1)))
        try:
            basis = np.linalg.qr(np.linalg.solve(shifted, probes))[0]
        except np.linalg.LinAlgError:
            return None
        values, turn = np.linalg.eigh(basis.T @ self.quotient @ basis)
        below = values <= threshold
        basis = basis @ turn[:, below]
        shifted = size * basis @ basis.T
        shifted += self.quotient
        shifted[np.diag_indices(m)] -= threshold
        alone = below.sum() <= FEW and Blocks(shifted, np.zeros(0)).is_psd(0.0)
        return int(below.sum()) if alone else None

    def negative_part(self) -> Blocks:
        """The psd matrix A_- of A = A_+ - A_- with A_+ psd and A_+ A_- = 0."""
        values, vectors = np.linalg.eigh(self.quotient)
        below = values < 0
        quotient = (vectors[:, below] * -values[below]) @ vectors[:, below].T
        return Blocks(quotient, np.where(np.isfinite(self.contrast), np.maximum(-self.contrast, 0.0), np.inf))


@dataclass(frozen=True, eq=False)
class Orbits:
    """Groups of interchangeable classes.

    ``sizes`` (m,) classes in each orbit; ``proportions`` (m,) proportion of *one* class of the orbit;
    ``index`` (K,) the orbit of each class; ``counts`` (m,) samples of one class, where they are known.
    """

    sizes: IntArray
    proportions: FloatArray
    index: IntArray
    counts: FloatArray | None = None

    @classmethod
    def of(cls, proportions: ArrayLike, counts: ArrayLike | None = None, *, rtol: float = EQUAL_PROPORTIONS) -> Orbits:
        """Group classes whose proportions agree within ``rtol``; orbits run from frequent to rare.

        ``proportions`` (K,), positive, sum 1.
        """
        p = np.asarray(proportions, dtype=np.float64)
        order = np.argsort(-p, kind="stable")
        ranked = p[order]
        new = np.concatenate([[True], ranked[:-1] - ranked[1:] > rtol * ranked[:-1]])
        index = np.empty(p.size, dtype=np.int64)
        index[order] = np.cumsum(new) - 1
        first = order[np.flatnonzero(new)]
        n = None if counts is None else np.asarray(counts, dtype=np.float64)[first]
        return cls(np.bincount(index).astype(np.int64), p[first], index, n)

    @classmethod
    def trivial(cls, proportions: ArrayLike, counts: ArrayLike | None = None) -> Orbits:
        """One orbit a class: no reduction; also the independent route that tests and benchmarks compare with."""
        p = np.asarray(proportions, dtype=np.float64)
        n = None if counts is None else np.asarray(counts, dtype=np.float64)
        return cls(np.ones(p.size, dtype=np.int64), p, np.arange(p.size), n)

    @classmethod
    def equal(cls, count: int) -> Orbits:
        """``count`` equally frequent classes, however many, without an entry for each."""
        return cls(np.array([count]), np.array([1 / count]), np.broadcast_to(np.int64(0), count))

    def single(self) -> Orbits:
        """The same classes, each an orbit of its own."""
        return Orbits.trivial(self.proportions[self.index], None if self.counts is None else self.counts[self.index])

    def refined(self, values: ArrayLike) -> Orbits:
        """The same classes, an orbit split where its classes differ in a row of ``values`` (K, q)."""
        rows = np.column_stack([self.index, np.asarray(values, dtype=np.float64)])
        return self._by(np.unique(rows, axis=0, return_inverse=True)[1].ravel())

    def _by(self, index: IntArray) -> Orbits:
        """The same classes grouped by ``index`` (K,), which tells more apart than the orbits do."""
        first, place = np.unique(index, return_index=True, return_inverse=True)[1:]
        parent = self.index[first]
        counts = None if self.counts is None else self.counts[parent]
        return Orbits(np.bincount(place).astype(np.int64), self.proportions[parent], place.astype(np.int64), counts)

    def apart(self, classes: Sequence[int]) -> Orbits:
        """The same classes, the given ones each an orbit of its own."""
        index = self.index.copy()
        for number, a in enumerate(classes):
            if int(np.sum(index == index[a])) > 1:
                index[a] = self.n_orbits + number
        return self._by(index)

    def expand(self, cosines: FloatArray, finer: Orbits) -> FloatArray:
        """Orbit cosines (m, m) of ``self`` as those of ``finer`` orbits of the same classes."""
        parent = self.index[np.unique(finer.index, return_index=True)[1]]
        return cosines[np.ix_(parent, parent)]

    @property
    def n_orbits(self) -> int:
        return int(self.sizes.size)

    @property
    def n_classes(self) -> int:
        return int(self.index.size)

    @property
    def others(self) -> FloatArray:
        """(m, m): how many classes of orbit h differ from a given class of orbit g, n_h - [g = h]."""
        others = np.tile(self.sizes.astype(np.float64), (self.n_orbits, 1))
        others[np.diag_indices(self.n_orbits)] -= 1
        return others

    @property
    def pairs(self) -> FloatArray:
        """(m, m): ordered pairs of different classes from orbits g and h, n_g (n_h - [g = h])."""
        pairs = self.others
        pairs *= self.sizes[:, None]
        return pairs

    def pair(self, g: int, h: int) -> tuple[int, int]:
        """Positions, ascending, of two classes, one of orbit ``g`` and one of orbit ``h``, each the first there is."""
        first, second = np.flatnonzero(self.index == g), np.flatnonzero(self.index == h)
        a, b = int(first[0]), int(second[1 if g == h else 0])
        return min(a, b), max(a, b)

    def lift(self, cosines: FloatArray) -> FloatArray:
        """The (K, K) Gram matrix of orbit cosines (m, m)."""
        gram = cosines[np.ix_(self.index, self.index)]
        np.fill_diagonal(gram, 1.0)
        return gram

    def reduce(self, gram: FloatArray) -> FloatArray:
        """Orbit cosines (m, m) of a (K, K) Gram matrix, averaged over the symmetry: ``reduce(lift(C)) == C``."""
        member = np.eye(self.n_orbits)[self.index]
        total = member.T @ gram @ member - np.diag(member.T @ np.diag(gram))
        cosines: FloatArray = np.divide(total, self.pairs, out=np.ones_like(total), where=self.pairs > 0)
        return cosines

    def blocks(self, diagonal: FloatArray, off_diagonal: FloatArray) -> Blocks:
        """Block-diagonalise the matrix with ``diagonal`` (m,) and ``off_diagonal`` (m, m) entries by orbit."""
        root = np.sqrt(self.sizes)
        quotient = root[:, None] * off_diagonal
        quotient *= root
        inner = off_diagonal.diagonal()
        quotient.flat[:: root.size + 1] = diagonal + (self.sizes - 1) * inner
        return Blocks(quotient, np.where(self.sizes > 1, diagonal - inner, np.inf))

    def entries(self, blocks: Blocks) -> tuple[FloatArray, FloatArray]:
        """The inverse of :meth:`blocks`: diagonal (m,) and off-diagonal (m, m) entries by orbit."""
        contrast = np.where(self.sizes > 1, blocks.contrast, 0.0)
        diagonal = (np.diag(blocks.quotient) + (self.sizes - 1) * contrast) / self.sizes
        root = np.sqrt(self.sizes)
        off_diagonal: FloatArray = blocks.quotient / root[:, None] / root
        np.fill_diagonal(off_diagonal, np.where(self.sizes > 1, diagonal - contrast, 0.0))
        return diagonal, off_diagonal

    def gram_blocks(self, cosines: FloatArray) -> Blocks:
        """:meth:`blocks` of the Gram matrix, whose diagonal is 1."""
        return self.blocks(np.ones(self.n_orbits), cosines)

    def nearest_gram(self, cosines: FloatArray) -> FloatArray:
        """Repair to exact feasibility: clip negative eigenvalues, then rescale to a unit diagonal."""
        blocks = self.gram_blocks((cosines + cosines.T) / 2)
        values, vectors = np.linalg.eigh(blocks.quotient)
        quotient = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return self.cosines_of(Blocks(quotient, np.where(self.sizes > 1, np.maximum(blocks.contrast, 0.0), 0.0)))

    def cosines_of(self, blocks: Blocks) -> FloatArray:
        """Orbit cosines of psd ``blocks`` (contrast 0 at orbits of one class), rescaled to a unit diagonal."""
        quotient, contrast = blocks.quotient, blocks.contrast
        diagonal = (np.diag(quotient) + (self.sizes - 1) * contrast) / self.sizes
        scale = 1 / np.sqrt(diagonal * self.sizes)
        cosines: FloatArray = scale[:, None] * quotient
        cosines *= scale
        inner = (np.diag(quotient) - contrast) / (diagonal * self.sizes)
        np.fill_diagonal(cosines, np.where(self.sizes > 1, inner, 1.0))
        return np.clip(cosines, -1.0, 1.0, out=cosines)

    def regular_simplex(self) -> FloatArray:
        """Orbit cosines (m, m) of the regular simplex."""
        cosines = np.full((self.n_orbits, self.n_orbits), simplex_cosine(self.n_classes))
        np.fill_diagonal(cosines, np.where(self.sizes > 1, cosines[0, 0], 1.0))
        return cosines

    def factor(self, cosines: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Vectors of feasible orbit cosines: ``centroids`` (m, m) and ``spread`` (m,) >= 0.

        C_gh = <centroid_g, centroid_h> for g != h and C_gg = |centroid_g|^2 - spread_g^2 / (n_g - 1): each
        class is its orbit's centroid plus its own corner of a regular simplex, |centroid|^2 + spread^2 = 1.
        """
        blocks = self.gram_blocks(cosines)
        values, vectors = np.linalg.eigh(blocks.quotient)
        centroids = vectors * np.sqrt(np.maximum(values, 0.0)) / np.sqrt(self.sizes)[:, None]
        contrast = np.where(self.sizes > 1, np.maximum(blocks.contrast, 0.0), 0.0)
        return centroids, np.sqrt(contrast * (self.sizes - 1) / self.sizes)

    def eigenvalues(self, blocks: Blocks) -> FloatArray:
        """All K eigenvalues of a block-diagonalised matrix, ascending, each as often as it occurs."""
        repeated = np.repeat(np.where(self.sizes > 1, blocks.contrast, 0.0), self.sizes - 1)
        return np.sort(np.concatenate([np.linalg.eigvalsh(blocks.quotient), repeated]))

    def rank(self, cosines: FloatArray, threshold: float) -> int:
        """How many eigenvalues of the K x K Gram matrix of orbit cosines exceed ``threshold``."""
        blocks = self.gram_blocks(cosines)
        return blocks.quotient_rank(threshold) + int(np.sum((self.sizes - 1)[blocks.contrast > threshold]))
