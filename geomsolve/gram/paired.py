"""Points of two sides, and their symmetry: images and texts, features and classifiers, samples and prototypes.

The x_i (i = 1..n_x) of the first side and the y_j (j = 1..n_y) of the second have the joint Gram matrix

    [[A, C], [C', B]],    A_ii' = <x_i, x_i'>,   B_jj' = <y_j, y_j'>,   C_ij = <x_i, y_j>.

An x may have a *partner* y: the text of an image, the classifier of a class.  Points that have partners and are alike
on both sides form an orbit of n_g of them; averaging over the permutations that move x and y together leaves one
number for each kind of pair.  A point without partner is an orbit of its own: two that are alike may be made one.
With g an orbit of the first side, h one of the second, of m_x and m_y,

    first_gg', second_hh'   <x, x'>, <y, y'> of different points        first_own_g, second_own_h   |x|^2, |y|^2
    cross_gh                <x, y>, y not the partner of x              cross_g,m_y (last column)   <x, its partner>

(``cross`` is (m_x, m_y + 1)).  Every symmetric matrix of this form is block-diagonal in a fixed basis:

    quotient   Q (m_x + m_y square, seen once): root(n_g n_h) times the entries, sums over the partners of an orbit
    contrast   T_k (2 x 2, seen n_k - 1 times), of the k-th orbit with partners and more than one of them:
               [[first_own - first, on - off], [on - off, second_own - second]]

so that eigenvalues cost (m_x + m_y)^3 however many points there are.  Nothing here wants diagonals to be 1.

Symbols: m_x, m_y ``n_first``, ``n_second``; n_x, n_y ``points``; n_g ``first``, n_h ``second``; on, off ``cross``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray


@dataclass(frozen=True)
class PairedBlocks:
    """A symmetric matrix of two sides, block-diagonalised: ``quotient`` (m_x + m_y square), ``contrast`` (k, 2, 2)."""

    quotient: FloatArray
    contrast: FloatArray

    def min_eigenvalue(self) -> float:
        """Smallest eigenvalue of the whole matrix; -inf where an entry is no number."""
        if not (np.isfinite(self.quotient).all() and np.isfinite(self.contrast).all()):
            return -np.inf
        lowest = float(np.linalg.eigvalsh(self.quotient)[0])
        return min(lowest, float(np.linalg.eigvalsh(self.contrast).min())) if self.contrast.size else lowest

    def psd_part(self) -> PairedBlocks:
        """The nearest psd matrix: negative eigenvalues become 0."""
        return PairedBlocks(_clip(self.quotient), _clip(self.contrast) if self.contrast.size else self.contrast)


def _clip(matrix: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh((matrix + np.swapaxes(matrix, -1, -2)) / 2)
    clipped: FloatArray = (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return clipped


@dataclass(frozen=True)
class PairedGram:
    """A symmetric matrix of two sides by its entries, one for each kind of pair; see the module."""

    first_own: FloatArray
    first: FloatArray
    second_own: FloatArray
    second: FloatArray
    cross: FloatArray


@dataclass(frozen=True, eq=False)
class Paired:
    """Which points of two sides are alike.

    ``first`` (m_x,) and ``second`` (m_y,) points in each orbit; ``partner`` (m_x,) the orbit of the second side that
    holds the partners of orbit g, -1 for none.  ``first_index`` (n_x,) and ``second_index`` (n_y,) the orbit of each
    point; ``mate`` (n_x,) the partner of each x, -1 for none.
    """

    first: IntArray
    second: IntArray
    partner: IntArray
    first_index: IntArray
    second_index: IntArray
    mate: IntArray

    @classmethod
    def of(cls, orbits: Orbits) -> Paired:
        """Classes with two points each: the same orbits on both sides."""
        m = np.arange(orbits.n_orbits)
        return cls(orbits.sizes, orbits.sizes, m, orbits.index, orbits.index, np.arange(orbits.n_classes))

    @classmethod
    def single(cls, n_first: int, n_second: int, mate: IntArray | None = None) -> Paired:
        """Every point an orbit of its own: no reduction."""
        mate = np.full(n_first, -1) if mate is None else mate
        one, two = np.arange(n_first), np.arange(n_second)
        return cls(np.ones(n_first, np.int64), np.ones(n_second, np.int64), mate, one, two, mate)

    def apart(self) -> Paired:
        """The same points, each an orbit of its own."""
        return Paired.single(self.first_index.size, self.second_index.size, self.mate)

    @property
    def n_first(self) -> int:
        return int(self.first.size)

    @property
    def n_second(self) -> int:
        return int(self.second.size)

    @property
    def points(self) -> tuple[int, int]:
        """How many points each side has."""
        return int(self.first_index.size), int(self.second_index.size)

    @cached_property
    def matched(self) -> tuple[IntArray, IntArray]:
        """Orbits of the first side that have partners, and those of their partners."""
        g = np.flatnonzero(self.partner >= 0)
        return g, self.partner[g]

    @cached_property
    def several(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The same for orbits of more than one, in the order of the contrasts, and their sizes."""
        g, h = self.matched
        many = self.first[g] > 1
        return g[many], h[many], self.first[g[many]].astype(np.float64)

    @cached_property
    def owner(self) -> IntArray:
        """(m_y,) the orbit of the first side whose partners orbit h holds, -1 for none."""
        owner = np.full(self.n_second, -1)
        g, h = self.matched
        owner[h] = g
        return owner

    @cached_property
    def counts(self) -> FloatArray:
        """(m_x, m_y + 1): pairs (x, y) of each kind that ``cross`` tells apart."""
        per_point = self.per_point
        return per_point * self.first[:, None]

    @cached_property
    def per_point(self) -> FloatArray:
        """(m_x, m_y + 1): how many y of each kind stand opposite a given x."""
        counts = np.zeros((self.n_first, self.n_second + 1))
        counts[:, :-1] = self.second
        g, h = self.matched
        counts[g, h] -= 1
        counts[g, -1] = 1
        return counts

    @cached_property
    def mirror(self) -> Paired:
        """The same with the sides exchanged."""
        back = np.full(self.second_index.size, -1)
        have = np.flatnonzero(self.mate >= 0)
        back[self.mate[have]] = have
        return Paired(self.second, self.first, self.owner, self.second_index, self.first_index, back)

    def flip(self, cross: FloatArray) -> FloatArray:
        """``cross`` (m_x, m_y + 1) as it is with the sides exchanged, (m_y, m_x + 1)."""
        other = np.zeros((self.n_second, self.n_first + 1))
        other[:, :-1] = cross[:, :-1].T
        g, h = self.matched
        other[h, -1] = cross[g, -1]
        return other

    def blocks(self, gram: PairedGram) -> PairedBlocks:
        """Block-diagonalise a matrix given by its entries."""
        m = self.n_first
        root = np.sqrt(np.concatenate([self.first, self.second]))
        quotient = np.empty((root.size, root.size))
        quotient[:m, :m], quotient[m:, m:] = gram.first, gram.second
        quotient[:m, m:] = self.sums(gram.cross)
        quotient[m:, :m] = quotient[:m, m:].T
        quotient *= root[:, None]
        quotient *= root
        own = np.concatenate([gram.first_own, gram.second_own])
        inner = np.concatenate([np.diag(gram.first), np.diag(gram.second)])
        size = np.concatenate([self.first, self.second])
        np.fill_diagonal(quotient, own + np.where(size > 1, (size - 1) * inner, 0.0))
        g, h, _ = self.several
        contrast = np.empty((g.size, 2, 2))
        contrast[:, 0, 0] = gram.first_own[g] - np.diag(gram.first)[g]
        contrast[:, 1, 1] = gram.second_own[h] - np.diag(gram.second)[h]
        contrast[:, 0, 1] = contrast[:, 1, 0] = gram.cross[g, -1] - gram.cross[g, h]
        return PairedBlocks(quotient, contrast)

    def sums(self, cross: FloatArray) -> FloatArray:
        """(m_x, m_y): the mean of ``cross`` over the y of orbit h, the partner of x among them."""
        mean = cross[:, :-1].copy()
        g, h = self.matched
        n = self.first[g]
        mean[g, h] = (cross[g, -1] + (n - 1) * np.where(n > 1, cross[g, h], 0.0)) / n
        return mean

    def entries(self, blocks: PairedBlocks) -> PairedGram:
        """The inverse of :meth:`blocks`; entries that describe no pair are 0."""
        m = self.n_first
        size = np.concatenate([self.first, self.second]).astype(np.float64)
        mean = blocks.quotient / np.sqrt(size)[:, None] / np.sqrt(size)  # the mean entry between two orbits
        g, h, n = self.several
        extra = np.zeros(size.size)
        extra[g], extra[m + h] = blocks.contrast[:, 0, 0], blocks.contrast[:, 1, 1]
        own = np.diag(mean) + (size - 1) / size * extra
        inner = np.where(size > 1, np.diag(mean) - extra / size, 0.0)
        np.fill_diagonal(mean, inner)
        cross = np.zeros((m, self.n_second + 1))
        cross[:, :-1] = mean[:m, m:]
        matched, partners = self.matched
        cross[matched, -1] = cross[matched, partners]
        cross[g, -1] += (n - 1) / n * blocks.contrast[:, 0, 1]
        cross[g, h] -= blocks.contrast[:, 0, 1] / n
        alone = self.first[matched] == 1
        cross[matched[alone], partners[alone]] = 0.0
        return PairedGram(own[:m], mean[:m, :m], own[m:], mean[m:, m:], cross)

    def lift_cross(self, cross: FloatArray) -> FloatArray:
        """The (n_x, n_y) block between the sides."""
        full = cross[:, :-1][np.ix_(self.first_index, self.second_index)]
        have = np.flatnonzero(self.mate >= 0)
        full[have, self.mate[have]] = cross[self.first_index[have], -1]
        return full

    def lift(self, gram: PairedGram) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The full blocks A (n_x, n_x), C (n_x, n_y) and B (n_y, n_y)."""
        first = gram.first[np.ix_(self.first_index, self.first_index)]
        np.fill_diagonal(first, gram.first_own[self.first_index])
        second = gram.second[np.ix_(self.second_index, self.second_index)]
        np.fill_diagonal(second, gram.second_own[self.second_index])
        return first, self.lift_cross(gram.cross), second

    def reduce_cross(self, full: FloatArray) -> FloatArray:
        """The cross cosines (m_x, m_y + 1) of a block (n_x, n_y), averaged over the symmetry."""
        have = np.flatnonzero(self.mate >= 0)
        rest = full.copy()
        rest[have, self.mate[have]] = 0.0
        total = np.zeros((self.n_first, self.n_second + 1))
        total[:, :-1] = _sums(_sums(rest, self.first_index).T, self.second_index).T
        np.add.at(total[:, -1], self.first_index[have], full[have, self.mate[have]])
        return np.divide(total, self.counts, out=np.zeros_like(total), where=self.counts > 0)

    def unit(self, blocks: PairedBlocks) -> PairedGram:
        """The Gram matrix of unit vectors nearest in kind to ``blocks``: made psd, every length then made 1."""
        gram = self.entries(blocks.psd_part())
        one, two = (np.sqrt(np.maximum(own, 1e-300)) for own in (gram.first_own, gram.second_own))
        cross = gram.cross / one[:, None]
        cross[:, :-1] /= two
        g, h = self.matched
        cross[g, -1] /= two[h]
        first, second = gram.first / np.outer(one, one), gram.second / np.outer(two, two)
        return PairedGram(np.ones_like(one), first, np.ones_like(two), second, cross)


def _sums(rows: FloatArray, index: IntArray) -> FloatArray:
    """(m, k): the sum of the ``rows`` (n, k) of each orbit, of which none is empty."""
    order = np.argsort(index, kind="stable")
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    return rows[order] if starts.size == order.size else np.asarray(np.add.reduceat(rows[order], starts, axis=0))


def partners_of(weights: FloatArray) -> IntArray:
    """(n_x,) the y that is most of an x's own where that is mutual, else -1; ``weights`` (n_x, n_y) >= 0.

    Most of its own: by weight relative to what chance would give.
    """
    rows, columns = weights.sum(axis=1, keepdims=True), weights.sum(axis=0, keepdims=True)
    lift = weights / rows / columns
    best, back = lift.argmax(axis=1), lift.argmax(axis=0)
    mutual = back[best] == np.arange(weights.shape[0])
    return np.where(mutual, best, -1).astype(np.int64)


def alike(weights: FloatArray, *, rtol: float = 1e-12) -> Paired:
    """The orbits of a joint weight matrix (n_x, n_y): exchanging two points and their partners leaves it as it was."""
    mate = partners_of(weights)
    have = np.flatnonzero(mate >= 0)
    index = np.full(mate.size, -1, dtype=np.int64)
    leaders: list[int] = []
    own = weights[have, mate[have]]
    sums = np.stack([own, weights[have].sum(axis=1), weights[:, mate[have]].sum(axis=0)], axis=1)

    def same(a: FloatArray, b: FloatArray) -> bool:
        return bool(np.all(np.abs(a - b) <= rtol * np.maximum(np.abs(a), np.abs(b))))

    def exchange(i: int, j: int) -> bool:
        k, m = mate[i], mate[j]
        row, column = np.ones(weights.shape[1], bool), np.ones(weights.shape[0], bool)
        row[[k, m]] = column[[i, j]] = False
        return (
            same(weights[i, row], weights[j, row])
            and same(weights[column, k], weights[column, m])
            and same(weights[[i, i], [k, m]], weights[[j, j], [m, k]])
        )

    by_sum: dict[bytes, list[int]] = {}
    for place, i in enumerate(have.tolist()):
        key = np.array([float(f"{x:.9g}") for x in sums[place]]).tobytes()
        for leader in by_sum.setdefault(key, []):
            if exchange(leader, i):
                index[i] = index[leader]
                break
        else:
            index[i] = len(leaders)
            leaders.append(i)
            by_sum[key].append(i)
    m = len(leaders)
    rest = np.flatnonzero(mate < 0)
    index[rest] = m + np.arange(rest.size)
    second = np.full(weights.shape[1], -1, dtype=np.int64)
    second[mate[have]] = index[have]
    free = np.flatnonzero(second < 0)
    second[free] = m + np.arange(free.size)
    partner = np.concatenate([np.arange(m), np.full(rest.size, -1)])
    return Paired(np.bincount(index), np.bincount(second), partner, index, second, mate)
