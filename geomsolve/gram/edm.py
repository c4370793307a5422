"""Tests of Gram and squared-distance matrices: can they be realized, in how many dimensions, on which sphere?

    Gram          T = Z Z' for some points Z           iff  T psd; the least dimension is its rank
    Euclidean     D_ij = |z_i - z_j|^2                 iff  B = -J D J / 2 psd, J = I - 1 1'/n; rank B dimensions
    spherical     D Euclidean, and some centre x is equally far from all z_i: |x - z_i| = R, the circumradius

    unit vectors  T = Z Z' with |z_i| = 1              iff  D = 2 (1 - T) is spherical with R <= 1 (and T_ii = 1)

All are decided by eigenvalues: a matrix is psd when its smallest eigenvalue is at least -rtol times the largest
magnitude among them.  The last line says the same as T psd, but on the scale of D: targets close to the matrix of ones
would pass for psd by rounding alone.  Sources: Schoenberg 1935; Gower 1985 for the sphere.

Two linear matrix inequalities in one scalar c are solved exactly, by one eigendecomposition and a secular equation:

    A + c (r r' - I) psd, |r|^2 = n        (a constant added to all off-diagonal entries of a Gram matrix)
    B + (e / 2) J psd                      (a constant added to all off-diagonal squared distances)

Symbols: T ``gram``, D ``distances`` (squared), B ``centred``, R ``circumradius``, r ``ones``, c and e ``constant``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray

RTOL = 1e-10
"""An eigenvalue this small, relative to the largest one in magnitude, is zero."""


@dataclass(frozen=True)
class Spectrum:
    """What the eigenvalues of a symmetric matrix say.

    ``values`` ascending; ``tolerance`` is rtol times the largest magnitude; ``negative_mass`` is the share of the
    negative ones in the sum of all magnitudes, 0 for a psd matrix.
    """

    values: FloatArray
    tolerance: float

    @classmethod
    def of(cls, values: FloatArray, rtol: float = RTOL) -> Spectrum:
        return cls(values, rtol * float(np.abs(values).max(initial=0.0)))

    @property
    def min_eigenvalue(self) -> float:
        return float(self.values[0])

    @property
    def psd(self) -> bool:
        return self.min_eigenvalue >= -self.tolerance

    @property
    def rank(self) -> int:
        """Number of positive eigenvalues."""
        return int(np.sum(self.values > self.tolerance))

    @property
    def negative_mass(self) -> float:
        total = float(np.abs(self.values).sum())
        below = self.values[self.values < -self.tolerance]
        return float(np.abs(below).sum() / total) if total else 0.0


def spectrum_of(matrix: FloatArray, rtol: float = RTOL) -> Spectrum:
    """The spectrum of a symmetric matrix (n, n)."""
    return Spectrum.of(np.asarray(np.linalg.eigvalsh(matrix), dtype=np.float64), rtol)


def complement(ones: FloatArray) -> FloatArray:
    """An orthonormal basis (m, m - 1) of the vectors orthogonal to ``ones`` (m,)."""
    basis: FloatArray = np.linalg.qr(np.column_stack([ones, np.eye(ones.size)]))[0][:, 1:]
    return basis


def centred(distances: FloatArray) -> FloatArray:
    """B = -J D J / 2 (n, n): the Gram matrix about the centroid of points with squared distances D (n, n)."""
    rows = distances.mean(axis=1)
    gram: FloatArray = -(distances - rows[:, None] - rows + rows.mean()) / 2
    return gram


def centred_eigenvalues(orbits: Orbits, distances: FloatArray) -> FloatArray:
    """The n - 1 eigenvalues of B on the space that J projects to, ascending, of squared distances by orbit (m, m).

    The diagonal of ``distances`` is between different samples of one orbit, and not read where there is one sample.
    """
    blocks = orbits.blocks(np.zeros(orbits.n_orbits), -distances / 2)
    basis = complement(np.sqrt(orbits.sizes))
    repeated = np.repeat(np.where(orbits.sizes > 1, blocks.contrast, 0.0), orbits.sizes - 1)
    return np.sort(np.concatenate([np.linalg.eigvalsh(basis.T @ blocks.quotient @ basis), repeated]))


def circumradius(distances: FloatArray, rtol: float = RTOL) -> float | None:
    """R of the sphere through points with squared distances (n, n); None if D is not Euclidean or not spherical."""
    gram = centred(distances)
    values, vectors = np.linalg.eigh(gram)
    spectrum = Spectrum.of(values, rtol)
    if not spectrum.psd:
        return None
    kept = values > spectrum.tolerance
    root = np.sqrt(values[kept])
    squares = np.diag(gram)
    # |z_i|^2 - 2 <x, z_i> is the same for all i: with Z = V root, x solves 2 Z x = squares - mean in the range of Z
    wanted = (squares - squares.mean()) / 2
    reached = vectors[:, kept].T @ wanted
    left = wanted - vectors[:, kept] @ reached
    if np.abs(left).max(initial=0.0) > np.sqrt(rtol) * max(np.abs(wanted).max(initial=0.0), squares.max(initial=0.0)):
        return None
    centre = reached / root
    return float(np.sqrt(squares.mean() + centre @ centre))


@dataclass(frozen=True)
class Shift:
    """For which c is A + c (r r' - I) psd?

    For c in [``low``, ``high``], both None where there is none; ``margin`` is the largest value that the smallest
    eigenvalue attains over all c, at c = ``best``.
    """

    low: float | None
    high: float | None
    best: float
    margin: float


def shift_interval(matrix: FloatArray, ones: FloatArray, extra: FloatArray | None = None) -> Shift:
    """All c for which A + c (r r' - I) is psd, exactly.

    ``matrix`` A (m, m), ``ones`` r (m,) with |r|^2 = n > 1; ``extra`` are eigenvalues of further blocks A_k that
    only see -c I.  On the complement of r the matrix is A - c I with eigenvalues l_k - c; the Schur complement of
    that block is

        g(c) = a + c (n - 1) - sum_k b_k^2 / (l_k - c),      a = r'A r / n,  b = the coupling of r to the complement,

    concave for c < min l_k, so the answer is {c <= min l_k: g(c) >= 0}.  Replacing A by A - x I shows that the largest
    x with A + c (r r' - I) >= x I for some c is max g / n, at c = argmax g - max g / n.
    """
    from scipy.optimize import brentq

    n = float(ones @ ones)
    unit = ones / np.sqrt(n)
    basis = complement(ones)
    inner = basis.T @ matrix @ basis
    values, vectors = np.linalg.eigh((inner + inner.T) / 2) if inner.size else (np.zeros(0), np.zeros((0, 0)))
    squares = (vectors.T @ (basis.T @ (matrix @ unit))) ** 2
    a = float(unit @ matrix @ unit)
    top = float(min(values.min(initial=np.inf), np.inf if extra is None else extra.min(initial=np.inf)))
    size = max(1.0, float(np.abs(matrix).max()), abs(top))
    squares = np.where(squares > (1e-14 * size * n) ** 2, squares, 0.0)
    coupled = squares > 0
    poles, squares = values[coupled], squares[coupled]

    def g(c: float) -> float:
        return a + c * (n - 1) - float(np.sum(squares / (poles - c)))

    def slope(c: float) -> float:
        return n - 1 - float(np.sum(squares / (poles - c) ** 2))

    edge = top if not (poles <= top).any() else top - 1e-15 * size
    # below this the poles' pull is too weak to turn the slope
    floor = top - np.sqrt(float(squares.sum()) / (n - 1)) - size
    peak = edge if slope(edge) >= 0 else float(brentq(slope, floor, edge, xtol=1e-300, rtol=1e-15))
    margin = g(peak) / n
    if margin < 0:
        return Shift(None, None, peak - margin, margin)
    start = min(floor, -abs(a) / (n - 1) - size)
    while g(start) >= 0:
        start -= 2 * (abs(start) + size)
    low = float(brentq(g, start, peak, xtol=1e-300, rtol=1e-15)) if g(peak) > 0 else peak
    high = edge if g(edge) >= 0 else float(brentq(g, peak, edge, xtol=1e-300, rtol=1e-15))
    return Shift(low, high, peak - margin, margin)
