"""What geometry do given embeddings have?  From class sums alone, so that one pass over the data is enough.

For unit vectors z_i with class means m_a (not unit: the more a class scatters, the shorter its mean), overall mean m,
mean of the class means c and class shares p_a:

    G_ab           = <m_a, m_b> / (|m_a| |m_b|)                     cosines between the directions of the class means
    within class   = sum_a p_a (1 - |m_a|^2)                        mean squared distance to the class mean
    NC1            = within / sum_a p_a |m_a - m|^2                 within-class over between-class scatter
    equinorm       = std_a |m_a - c| / mean_a |m_a - c|             NC2: centred class means of one length
    equiangular    = std_{a != b} cos(m_a - c, m_b - c)             NC2: and with one angle between any two
    rho_a^2        = (|S_a|^2 - n_a) / (n_a (n_a - 1))              mean cosine of two samples of a class, S_a their sum
    NC3            = cos(w_a, m_a)  and  cos(w_a - w, m_a - c)      rows w_a of a classifier, w their mean

NC1 here is tr(Sigma_W) / tr(Sigma_B); Papyan, Han & Donoho 2020 use tr(Sigma_W Sigma_B^+) / K, which needs a second
pass.  Both are 0 exactly when every class is a point.  NC2 is theirs, centred at the mean of the class means.

The cosines of class means of few samples are themselves uncertain.  To first order

    Var G_ab = Var_{i in a} <z_i, u_b - G_ab u_a> / (n_a |m_a|^2) + the same with a and b exchanged,  u_a = m_a / |m_a|.

In d dimensions no Gram matrix of unit vectors comes nearer to a given one, G*, by the root of the mean square over
pairs (rms), than sqrt(sum_{i > d} lambda_i(G*)^2 / (K (K - 1))) (Eckart & Young), nor than the least rms cosine
sqrt((K - d) / (d (K - 1))) (Welch) less that of G*.

Symbols: m_a ``sums`` / ``weights``, p_a ``weights`` / their sum, n_a ``counts``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.codes import welch_bound
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.types import FloatArray, IntArray

TINY = 1e-12
"""Lengths of class means up to which they have no direction."""


@dataclass(frozen=True)
class Measurement:
    """``gram`` (K, K); ``scatter`` (K,) within each class; ``within_class``, ``nc1``, ``equinorm`` and ``equiangular``
    as in the module, ``simplex_distance`` as in :class:`geomsolve.gram.structure.Structure`.  A class whose mean is 0
    has no direction: its cosines are 0.
    """

    gram: FloatArray
    scatter: FloatArray
    within_class: float
    nc1: float
    simplex_distance: float
    equinorm: float
    equiangular: float

    @classmethod
    def of(cls, sums: FloatArray, weights: FloatArray) -> Measurement:
        """From ``sums`` (K, d), the weighted sum of the unit vectors of each class, and ``weights`` (K,), the sum
        of the weights (or the count) of each class."""
        means = sums / weights[:, None]
        share = weights / weights.sum()
        gram = cosines_of(means)
        scatter = np.maximum(1 - np.linalg.norm(means, axis=1) ** 2, 0.0)
        within = float(share @ scatter)
        between = float(share @ np.sum((means - share @ means) ** 2, axis=1))
        distance = float(np.abs(different(gram) - simplex_cosine(gram.shape[0])).max())
        centred = means - means.mean(0)
        lengths = np.linalg.norm(centred, axis=1)
        typical = float(lengths.mean())
        return cls(
            gram=gram,
            scatter=scatter,
            within_class=within,
            nc1=within / between if between > 0 else np.inf,
            simplex_distance=distance,
            equinorm=float(lengths.std()) / typical if typical > TINY else 0.0,
            equiangular=float(different(cosines_of(centred)).std()),
        )


def directions(rows: FloatArray) -> FloatArray:
    """``rows`` (K, d) brought to unit length, or 0 where they have none."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: FloatArray = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > TINY)
    return found


def cosines_of(rows: FloatArray) -> FloatArray:
    """Cosines (K, K) between ``rows`` (K, d)."""
    units = directions(rows)
    gram: FloatArray = np.clip(units @ units.T, -1.0, 1.0)
    np.fill_diagonal(gram, 1.0)
    return gram


def different(gram: FloatArray) -> FloatArray:
    """The entries (K (K - 1),) of a Gram matrix (K, K) between different classes."""
    found: FloatArray = gram[~np.eye(gram.shape[0], dtype=bool)]
    return found


def gram_error(one: FloatArray, other: FloatArray) -> float:
    """Largest difference of two Gram matrices (K, K), entry by entry."""
    return float(np.abs(one - other).max())


def rms_errors(difference: FloatArray, share: FloatArray) -> tuple[float, float, FloatArray]:
    """Root mean squares of a ``difference`` of Gram matrices (K, K): over all pairs of different classes, over pairs
    weighted by the product of their ``share`` s (K,), and over the pairs of each class (K,)."""
    square = difference**2
    np.fill_diagonal(square, 0.0)
    n = share.size
    of_class: FloatArray = np.sqrt(square.sum(1) / (n - 1))
    weighted = float(share @ square @ share) / (1 - float(share @ share))
    return float(np.sqrt(square.sum() / (n * (n - 1)))), float(np.sqrt(weighted)), of_class


def within_cosines(sums: FloatArray, counts: IntArray) -> FloatArray:
    """rho_a^2 (K,) from ``sums`` (K, d) of the unit vectors of each class; nan for a class of one sample."""
    n = counts.astype(np.float64)
    square = np.sum(sums**2, axis=1)
    pairs = n * (n - 1)
    found: FloatArray = np.divide(square - n, pairs, out=np.full(n.size, np.nan), where=pairs > 0)
    return found


def alignment(rows: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """NC3: cosines (K,) between classifier ``rows`` (K, d) and class ``means`` (K, d), plain and both centred."""

    def between(one: FloatArray, other: FloatArray) -> FloatArray:
        found: FloatArray = np.clip(np.sum(directions(one) * directions(other), axis=1), -1.0, 1.0)
        return found

    return between(rows, means), between(rows - rows.mean(0), means - means.mean(0))


def standard_errors(z: FloatArray, codes: IntArray, sums: FloatArray, counts: IntArray) -> FloatArray:
    """Standard errors (K, K) of the cosines between class means of ``counts`` (K,) samples with ``sums`` (K, d).

    ``z`` (n, d): some or all of the unit vectors, of classes ``codes`` (n,), from which the variances are estimated.
    A class with fewer than two of them takes the mean variance of the others; 0 where no class has two.
    """
    units = directions(sums)
    gram = cosines_of(sums)
    variance = np.zeros_like(gram)
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(counts.size + 1))
    known = np.diff(edges) > 1
    for a in np.flatnonzero(known):
        along = z[order[edges[a] : edges[a + 1]]] @ units.T
        along -= along[:, [a]] * gram[a]
        variance[a] = along.var(0, ddof=1)
    if known.any() and not known.all():
        variance[~known] = variance[known].mean(0)
    lengths = np.linalg.norm(sums, axis=1) / counts
    variance /= np.maximum(counts * lengths**2, TINY)[:, None]
    errors: FloatArray = np.minimum(np.sqrt(variance + variance.T), 1.0)
    np.fill_diagonal(errors, 0.0)
    return errors


def least_rms_error(eigenvalues: FloatArray, dim: int) -> float:
    """The rms difference over pairs that no embedding in ``dim`` dimensions goes below, from a Gram matrix whose
    ``eigenvalues`` (K,) are given; 0 where it fits."""
    n = eigenvalues.size
    pairs = n * (n - 1)
    tail = np.sort(eigenvalues)[: max(0, n - dim)]
    own = max(0.0, float(eigenvalues @ eigenvalues) - n)  # the diagonal is 1
    return max(float(np.sqrt(tail @ tail / pairs)), welch_bound(n, dim) - float(np.sqrt(own / pairs)), 0.0)
