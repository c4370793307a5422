"""Spherical codes: how close the closest two of K points on the unit sphere in d dimensions must be.

Every function bounds the largest cosine from below, over all arrangements of K points:

    simplex        max cos >= -1/(K - 1), from |sum of the points|^2 >= 0; attained iff K <= d + 1
    orthoplex      max cos >= 0 if K >= d + 2 (Rankin 1955); attained iff K <= 2 d
    Fejes Toth     d = 3: chord^2 <= 4 - 1/sin^2(pi K / (6 (K - 2)))  (1943); attained for K = 3, 4, 6, 12
    Levenshtein    K <= L_j(d, max cos), the best bound by polynomials of its degree (1979; 1998, theorem 5.42)
    Welch          max |cos| >= sqrt((K - d) / (d (K - 1)))  (1974), a bound on lines, not on points

Levenshtein's functions, with P_k the Gegenbauer polynomial of the d-sphere, P_k(1) = 1, and s up to the largest zero
of a Jacobi polynomial, where the next takes over:

    L_2k-1 = C(k+d-3, k-1) [ (2k+d-3)/(d-1) - (P_k-1 - P_k) / ((1-s) P_k) ]
    L_2k   = C(k+d-2, k) [ (2k+d-1)/(d-1) - (1+s) (P_k - P_k+1) / ((1-s) (P_k + P_k+1)) ].

Symbols: K ``n_points``, d ``dim``, s ``cosine``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from math import comb, cos, pi, radians, sin, sqrt, tan

import numpy as np

from geomsolve.gram.edm import complement
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.types import FloatArray

MOST_DEGREES = 40
"""Degrees of Levenshtein's polynomials that are tried; beyond, the last one still gives a bound."""

PROVEN = {
    (3, 7): (1 / (tan(radians(40)) * tan(radians(80))), "Schuette & van der Waerden 1951"),
    (3, 8): ((2 * sqrt(2) - 1) / 7, "Schuette & van der Waerden 1951"),
    (3, 9): (1 / 3, "Schuette & van der Waerden 1951"),
    (3, 11): (1 / sqrt(5), "Danzer 1963"),
    (4, 10): (1 / 6, "Bachoc & Vallentin 2009"),
}
"""Largest cosines of optimal arrangements (d, K) that no bound above reaches, with who proved them."""


def gegenbauer(degree: int, dim: int, cosine: float) -> tuple[float, float]:
    """P_degree and P_degree+1 of the sphere in ``dim`` >= 2 dimensions, normalised to 1 at 1."""
    before, now = 1.0, cosine
    for k in range(1, degree + 1):
        before, now = now, ((2 * k + dim - 2) * cosine * now - k * before) / (k + dim - 2)
    return before, now


def levenshtein(degree: int, dim: int, cosine: float) -> float:
    """L_degree(d, s): no more points than this have mutual cosines at most ``cosine``, within its range."""
    k = (degree + 1) // 2
    if degree % 2:
        before, now = gegenbauer(k - 1, dim, cosine)
        return comb(k + dim - 3, k - 1) * ((2 * k + dim - 3) / (dim - 1) - (before - now) / ((1 - cosine) * now))
    now, after = gegenbauer(k, dim, cosine)
    ratio = (1 + cosine) * (now - after) / ((1 - cosine) * (now + after))
    return comb(k + dim - 2, k) * ((2 * k + dim - 1) / (dim - 1) - ratio)


def ranges(dim: int) -> Iterator[tuple[int, float, float]]:
    """Degree j and the cosines between which L_j holds, from -1 upwards."""
    special = importlib.import_module("scipy.special")
    low = -1.0
    half = (dim - 3) / 2
    for degree in range(1, MOST_DEGREES + 1):
        k = (degree + 1) // 2
        high = float(special.roots_jacobi(k, half + 1, half + (degree % 2 == 0))[0][-1])
        yield degree, low, high
        low = high


def levenshtein_bound(n_points: int, dim: int) -> float:
    """The smallest cosine that Levenshtein's bound allows as the largest one of ``n_points`` in ``dim`` >= 3."""
    high = -1.0
    for degree, low, high in ranges(dim):
        if levenshtein(degree, dim, high) < n_points:
            continue
        below, above = low, high
        while above - below > 1e-15:
            middle = (below + above) / 2
            if middle in (below, above):
                break
            if levenshtein(degree, dim, middle) < n_points:
                below = middle
            else:
                above = middle
        return below
    return high


def fejes_toth_bound(n_points: int) -> float:
    """The same in 3 dimensions, for ``n_points`` >= 3."""
    chord = 4 - 1 / sin(pi * n_points / (6 * (n_points - 2))) ** 2
    return 1 - chord / 2


def welch_bound(n_points: int, dim: int) -> float:
    """The smallest possible largest |cosine| of ``n_points`` in ``dim``; 0 where they can be orthogonal."""
    return sqrt((n_points - dim) / (dim * (n_points - 1))) if n_points > dim else 0.0


def bounds(n_points: int, dim: int) -> dict[str, float]:
    """Every bound on the largest cosine that applies, by name; the largest is the strongest."""
    found = {"simplex": simplex_cosine(n_points)}
    if n_points >= dim + 2:
        found["orthoplex"] = 0.0
    if dim == 1 and n_points > 2:
        found["two points"] = 1.0
    if dim == 2 and n_points > 4:
        found["polygon"] = cos(2 * pi / n_points)
    if n_points > 2 * dim and dim >= 3:
        found["Levenshtein"] = levenshtein_bound(n_points, dim)
        if dim == 3:
            found["Fejes Toth"] = fejes_toth_bound(n_points)
        if (dim, n_points) in PROVEN:
            value, source = PROVEN[dim, n_points]
            found[source] = value
    return found


def is_closed(n_points: int, dim: int) -> bool:
    """Whether an optimal arrangement is known in closed form."""
    return n_points <= 2 * dim or dim <= 2


def closed_form(n_points: int, dim: int) -> FloatArray | None:
    """Unit vectors (K, d) of an optimal arrangement, where one is known in closed form."""
    if n_points <= dim + 1:
        basis = complement(np.ones(n_points))
        corners = np.zeros((n_points, dim))
        corners[:, : n_points - 1] = basis / np.linalg.norm(basis, axis=1, keepdims=True)
        return corners
    if dim == 1 or n_points <= 2 * dim:
        axes = np.vstack([np.eye(dim), -np.eye(dim)])
        return axes[np.arange(n_points) % (2 * dim)]
    if dim == 2:
        angle = 2 * pi * np.arange(n_points) / n_points
        return np.column_stack([np.cos(angle), np.sin(angle)])
    return None


def largest_cosine(points: FloatArray) -> float:
    """Largest cosine between two different unit vectors (rows of ``points``)."""
    cosines = points @ points.T
    np.fill_diagonal(cosines, -1.0)
    return float(min(1.0, cosines.max()))
