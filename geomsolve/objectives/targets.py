"""A pull of every class to a point of its own on a fixed regular simplex, beside a loss of the cosines between classes.

    F(G) = F0(G) + weight (1 - x(G)),    x(G) = max sum_a p_a z_a . u_a   over all points z with the cosines G,

u_a the K targets, whose Gram matrix T is the regular simplex's.  The targets are further rows of the Gram matrix, whose
block is fixed: [[G, X], [X', T]] psd.  The largest tr(P X), P = diag(p), that this allows is known in closed form, the
fidelity of P G P and T (Uhlmann 1976):

    x(G) = tr W^(1/2),    W = T^(1/2) P G P T^(1/2) = c H P G P H,    c = K / (K - 1),    H = I - 1 1' / K.

It is concave in G, so F is convex, and no target remains in the problem; nor does it matter which class has which.
In orbit coordinates W has a block of m - 1 rows, seen once, and c p_g^2 (1 - C_gg), seen n_g - 1 times.

With any weight above 0 no optimum has merged classes a and b, for an F0 that repels every pair.  Either G has a null
vector besides e_a - e_b; then W is singular on the space of the targets, and x rises there with infinite slope towards
the simplex.  Or it has no other; then S = s (e_a - e_b)(e_a - e_b)', so that all other forces vanish, and the gradient
R of x is positive at all other pairs.  But R is psd with R P^-1 1 = 0, so no row of it has only positive entries beside
its diagonal.

So that numbers stay finite, the square root goes on straight below a ``FLOOR`` of its argument; by concavity that is
above x, so that F as computed is convex and a bound all the same.

Derived for this project.  Symbols: W ``blocks``, x ``alignment``, B ``basis`` of the space orthogonal to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Curvature, Objective

FLOOR = 1e-15
"""Eigenvalues of W, relative to the largest there can be, below which its square root goes on straight."""


@dataclass(frozen=True)
class Roots:
    """W at some cosines: its block's eigenvalues ``values`` (m - 1,) and ``vectors``, the others ``contrast`` (m,)."""

    values: FloatArray
    vectors: FloatArray
    contrast: FloatArray


class ToTargets(Objective):
    """See the module.  ``base`` is F0, in nats, which repels every pair; ``weight`` > 0 of the pull, in nats."""

    keeps_apart = "targets of their own pull every two classes apart, the harder the closer these are"

    def __init__(self, base: Objective, orbits: Orbits, weight: float) -> None:
        self.base, self.orbits, self.weight = base, orbits, weight
        self.unique_minimiser = base.unique_minimiser  # the sum with a convex function
        k, n, p = orbits.n_classes, orbits.sizes, orbits.proportions
        self.factor = k / (k - 1)
        root = np.sqrt(n / k)
        span = np.linalg.qr(np.column_stack([root, np.eye(n.size)[:, 1:]]))[0][:, 1:]
        self.basis: FloatArray = np.sqrt(self.factor) * p[:, None] * span
        self.floor = FLOOR * self.factor * float(p.max()) ** 2

    def _roots(self, cosines: FloatArray) -> Roots:
        blocks = self.orbits.gram_blocks((cosines + cosines.T) / 2)
        values, vectors = np.linalg.eigh(self.basis.T @ blocks.quotient @ self.basis)
        several = self.orbits.sizes > 1
        contrast = self.factor * self.orbits.proportions**2 * np.where(several, blocks.contrast, 1.0)
        return Roots(values, vectors, contrast)

    def _root(self, values: FloatArray) -> FloatArray:
        """The square root, straight below the floor."""
        steep: FloatArray = np.sqrt(np.maximum(values, self.floor))
        return (steep + values / steep) / 2

    def _slope(self, values: FloatArray) -> FloatArray:
        """Its first derivative."""
        return 0.5 / np.sqrt(np.maximum(values, self.floor))

    def _bend(self, values: FloatArray) -> FloatArray:
        """Its second derivative."""
        return np.where(values > self.floor, -0.25 * np.maximum(values, self.floor) ** -1.5, 0.0)

    def alignment(self, cosines: FloatArray) -> float:
        """x: the mean cosine of a class with its target, over classes weighted by share, placed as well as can be."""
        at = self._roots(cosines)
        return float(self._root(at.values).sum() + (self.orbits.sizes - 1) @ self._root(at.contrast))

    def _by_cosine(self, quotient: FloatArray, contrast: FloatArray) -> FloatArray:
        """The derivative by the cosines (m, m) from that by the blocks of G."""
        n = self.orbits.sizes
        found: FloatArray = np.sqrt(np.outer(n, n)) * quotient
        np.fill_diagonal(found, (n - 1) * (np.diag(quotient) - contrast))
        return found

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.base.evaluate(cosines)
        at, p = self._roots(cosines), self.orbits.proportions
        turned = self.basis @ at.vectors
        slope = (turned * self._slope(at.values)) @ turned.T
        rise = self._by_cosine(slope, self.factor * p**2 * self._slope(at.contrast))
        aligned = float(self._root(at.values).sum() + (self.orbits.sizes - 1) @ self._root(at.contrast))
        return value + self.weight * (1 - aligned), gradient - self.weight * rise

    def curvature(self, cosines: FloatArray) -> Curvature:
        """The derivative of a function of a symmetric matrix is entrywise in its eigenvectors (Daleckii & Krein)."""
        base, at, orbits = self.base.curvature(cosines), self._roots(cosines), self.orbits
        turned = self.basis @ at.vectors
        slope, several = self._slope(at.values), orbits.sizes > 1
        with np.errstate(divide="ignore", invalid="ignore"):
            quotients = np.subtract.outer(slope, slope) / np.subtract.outer(at.values, at.values)
        steep = np.sqrt(np.maximum(at.values, self.floor))
        middle = -0.5 / (np.outer(steep, steep) * np.add.outer(steep, steep))
        above = np.logical_and.outer(at.values > self.floor, at.values > self.floor)
        divided = np.where(above, middle, np.nan_to_num(quotients, nan=0.0, posinf=0.0, neginf=0.0))
        bend = self.factor**2 * orbits.proportions**4 * self._bend(at.contrast)

        def bent(change: FloatArray) -> FloatArray:
            even = (change + change.T) / 2
            moved = orbits.blocks(np.zeros(orbits.n_orbits), even)
            inner = turned @ (divided * (turned.T @ moved.quotient @ turned)) @ turned.T
            rest = bend * np.where(several, moved.contrast, 0.0)
            result: FloatArray = base(change) - self.weight * self._by_cosine(inner, rest)
            return result

        return bent
