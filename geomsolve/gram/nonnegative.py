"""Non-negative vectors, as ReLU makes them: which cosines have them, and vectors that do.

Cosines G of non-negative vectors are psd and nowhere negative; for up to four vectors that is enough (Maxfield & Minc
1962), for five or more it is not: such G are called completely positive, and no quick test decides.  In orbit form
(``orbits.py``) let u_g be the centroid of the classes of orbit g:

    <u_g, u_h> = C_gh  for g != h,     |u_g|^2 = (1 + (n_g - 1) C_gg) / n_g.

G has non-negative vectors iff C_gg >= 0 and the m x m matrix of the <u_g, u_h> has some (derived for this project).  If
G = B B' with B >= 0, its centroids are averages of rows of B.  Conversely, for every column k of non-negative centroids
there are n_g numbers >= 0 of mean u_gk and mean square t_gk whenever u_gk^2 <= t_gk <= n_g u_gk^2; as |u_g|^2 lies
between 1/n_g and 1 these can be chosen with sum_k t_gk = 1.  The mean of B B' over all permutations of the classes
within orbits is then G, and a mean of such matrices is one.  So four *distinct* proportions are enough, too.

Symbols: u_g ``centroids``, K ``n_classes``, m ``n_orbits``.
"""

from __future__ import annotations

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray

ENOUGH = 4
"""Distinct proportions up to which every psd G without a negative entry has non-negative vectors."""


def frame(orbits: Orbits) -> FloatArray:
    """Orbit cosines (m, m) of the orthogonal frame."""
    return np.diag(np.where(orbits.sizes > 1, 0.0, 1.0))


def floor_of(orbits: Orbits, cosines: FloatArray) -> float:
    """The smallest cosine between two different classes."""
    return float(cosines[orbits.pairs > 0].min())


def raised(orbits: Orbits, cosines: FloatArray) -> FloatArray:
    """Feasible orbit cosines (m, m) moved towards total collapse until none is negative: for what rounding left."""
    low = floor_of(orbits, cosines)
    if low >= 0:
        return cosines
    part = -low / (1 - low)
    lifted: FloatArray = np.maximum((1 - part) * cosines + part, 0.0)
    return lifted


def centroid_gram(orbits: Orbits, cosines: FloatArray) -> FloatArray:
    """<u_g, u_h> (m, m)."""
    gram = cosines.copy()
    np.fill_diagonal(gram, np.where(orbits.sizes > 1, (1 + (orbits.sizes - 1) * np.diag(cosines)) / orbits.sizes, 1.0))
    return gram


def of_centroids(orbits: Orbits, centroids: FloatArray) -> FloatArray:
    """Orbit cosines (m, m) of ``centroids`` (m, r) >= 0, rescaled to a length that classes of length 1 allow."""
    n = orbits.sizes
    squares = np.sum(centroids**2, axis=1)
    allowed = np.where(n > 1, np.clip(squares, 1 / n, 1.0), 1.0)
    vectors = centroids * np.sqrt(allowed / squares)[:, None]
    cosines: FloatArray = np.minimum(vectors @ vectors.T, 1.0)
    np.fill_diagonal(cosines, np.where(n > 1, (n * allowed - 1) / np.maximum(n - 1, 1), 1.0))
    return np.maximum(cosines, 0.0)


def square_root(orbits: Orbits, cosines: FloatArray) -> FloatArray:
    """The symmetric square root (m, m) of the Gram matrix of centroids, its negative entries set to 0."""
    values, vectors = np.linalg.eigh(centroid_gram(orbits, cosines))
    root: FloatArray = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.maximum(root, 0.0)
