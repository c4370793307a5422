"""InfoNCE where the positive may be of another class: the exact expected loss over k random negatives.

    F(C) = sum_a p_a E log( (e^{t_ab} + sum_{j=1..k} e^{t_{a c_j}}) / e^{t_ab} ),    b ~ pi(.|a),  c_j ~ r(.|a)

By the identity of ``expectation.py`` with a random first term,

    F(C) = sum_a p_a [ int_0^inf (e^{-s} - psi_a(s) phi_a(s)^k) ds/s - sum_b pi(b|a) t_ab ],
    phi_a(s) = sum_c r(c|a) e^{-s X_ac},   psi_a(s) = sum_b pi(b|a) e^{-s X_ab},   X = e^t,

decoupled (DCL): psi = 1.  With pi(a|a) = 1 this is InfoNCE after within-class collapse.  As k -> infinity, less
log k, it tends to the cross-entropy  sum_a p_a [ log sum_c r(c|a) e^{t_ac} - sum_b pi(b|a) t_ab ].
Derived for this project; enumeration and the case pi(a|a) = 1 are its tests.

Symbols: pi(b|a) ``positive`` and ``positive_own``, psi ``first``, phi^k through ``log_phi``, r ``chance``, ``own``.
"""

from __future__ import annotations

from math import inf

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import ConeForm, Curvature, Objective
from geomsolve.objectives.expectation import STEP, Anchor, LogExpectation
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.sampling import negative_distribution


class JointExpectation(LogExpectation):
    """See the module.  ``positive`` (m, m): probability that the positive of an anchor in orbit g is *another*
    class of orbit h; the rest of each row is the probability that it is the anchor's own class, where X = 1."""

    def __init__(
        self,
        positive: FloatArray,
        chance: FloatArray,
        own: FloatArray,
        mass: FloatArray,
        *,
        decoupled: bool,
        negatives: int,
        scale: float,
    ) -> None:
        super().__init__(
            chance, own, mass, base=0.0, factor=1.0, negatives=negatives, scale=scale, unique_minimiser=False
        )
        self.positive, self.positive_own = positive, 1 - positive.sum(axis=1)
        self.decoupled = decoupled

    def _terms(self, g: int, cosines: FloatArray) -> tuple[Anchor, FloatArray, FloatArray]:
        """For an anchor in orbit g: its expectation's parts, s X e^{-s X} (N, m), and psi (N,)."""
        at = self._anchor(g, cosines, series=False)
        decay = at.decay[:, at.place]
        first = np.ones_like(at.s)
        if not self.decoupled:
            first = decay @ self.positive[g] + self.positive_own[g] * np.exp(-at.s)
        return at, at.moved[:, at.place] * decay, first

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        k = self.negatives
        value, gradient = 0.0, np.zeros_like(self.chance)
        for g in np.flatnonzero(self.mass).tolist():
            at, moved, first = self._terms(g, cosines)
            all_k, one_less = self._power(k, at), self._power(k - 1, at)
            expected = STEP * float(np.sum(np.exp(-at.s) - first * all_k))
            aligned = float(self.positive[g] @ (cosines[g] - 1)) * self.scale
            value += self.mass[g] * (expected - aligned)
            slope = self.chance[g] * (k * (first * one_less) @ moved) - self.positive[g] / STEP
            if not self.decoupled:
                slope += self.positive[g] * (all_k @ moved)
            gradient[g] = self.mass[g] * self.scale * STEP * slope
        return value, gradient

    def curvature(self, cosines: FloatArray) -> Curvature:
        k = self.negatives
        m = self.mass.size
        dense = np.zeros((m, m, m))
        for g in np.flatnonzero(self.mass).tolist():
            at, moved, first = self._terms(g, cosines)
            chance = self.chance[g]
            positive = np.zeros_like(chance) if self.decoupled else self.positive[g]
            one_less = k * self._power(k - 1, at)
            two_less = k * (k - 1) * self._power(max(k - 2, 0), at)
            straight = np.outer(self._power(k, at), positive) + np.outer(first * one_less, chance)
            mixed = (moved.T * one_less) @ moved * (np.outer(positive, chance) + np.outer(chance, positive))
            both = (moved.T * (first * two_less)) @ moved * np.outer(chance, chance)
            bend = np.diag(np.sum(straight * moved * (1 - at.moved[:, at.place]), axis=0)) - mixed - both
            dense[g] = self.mass[g] * self.scale**2 * STEP * bend
        return lambda change: np.einsum("ghj,gj->gh", dense, change)

    def cone_form(self) -> ConeForm | None:
        """None: the positive's own randomness would multiply the terms of the enumeration."""
        return None


def joint_objective(
    joint: FloatArray, orbits: Orbits, *, decoupled: bool, negatives: float, temperature: float, sampling: str
) -> Objective:
    """The loss of points whose anchor and positive are drawn together from ``joint`` (n, n), sum 1.

    ``orbits`` are trivial, with the row sums of ``joint`` as proportions; infinitely many negatives: less log k.
    """
    positive = joint / joint.sum(axis=1, keepdims=True)
    np.fill_diagonal(positive, 0.0)
    chance, own = negative_distribution(orbits, sampling)
    scale = 1 / temperature
    if negatives == inf:
        return LogSum(chance, own, orbits.proportions, scale, positive, unique_minimiser=True)
    k = int(negatives)
    mass = orbits.proportions
    return JointExpectation(positive, chance, own, mass, decoupled=decoupled, negatives=k, scale=scale)
