"""Proof that no denominators make a regular simplex optimal, from the masses of the anchors alone.

At the regular simplex of K classes every term of the loss is e = e^{-K/((K-1) tau)}, its null space is the vector of
ones, and its forces cancel iff all pairs have the same:

    x_a v_b + x_b v_a = c  for all a != b,    x_a = w_a / Z_a,    Z_a = v_a + e (1 - v_a),    v > 0, sum v = 1.

Let P_a = (x_a, v_a).  Every P_b with b != a lies on the line L_a = {(x, v): v_a x + x_a v = c}, and L_a = L_b only
where P_a = P_b.  If P_c != P_d, any two other classes a, b have lines through both, hence P_a = P_b.  Applied to every
pair that differs, with K >= 4: all P but one at most are the same.  Then these have one v, hence one Z, hence one
w = x Z.

So for K >= 4 all anchor masses but one at most must be equal, whatever the denominators.  Where they are, with W the
mass of the other class relative to theirs and r = v / v' that of its denominator, one equation is left, a quadratic,

    Q(r) = (2 - r) (r + e (K-1)) - W (1 + e (K-2 + r)) = 0  for some r > 0,

with Q(2) < 0, so that there are none iff the maximum of Q over r >= 0 is negative.  Derived for this project.

Symbols: w ``anchors``, v denominators, e ``term``, Q ``excess``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.types import FloatArray

EQUAL = 1e-9
"""Relative difference of masses up to which they may be equal and rounded, and of Q from 0."""


@dataclass(frozen=True)
class UnequalMasses:
    """``difference``: how far the masses are from being equal but for one, relative to the largest.

    ``excess``: the largest Q, None where they are not.
    """

    difference: float
    excess: float | None

    @property
    def holds(self) -> bool:
        """Whether no denominators are left, beyond rounding."""
        return self.difference > EQUAL or (self.excess is not None and self.excess < -EQUAL)

    @property
    def plain(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "kind": "unequal masses",
            "residual": 0.0,
            "least_difference": self.difference,
            "largest_excess": self.excess,
        }


def unequal_masses(anchors: FloatArray, term: float) -> UnequalMasses:
    """What ``anchors`` (K,), K >= 4, say of denominators for a regular simplex, at which e is ``term``."""
    ordered = np.sort(anchors)
    k = ordered.size
    assert k >= 4
    least, most = ordered[-2] - ordered[0], ordered[-1] - ordered[1]
    difference = float(min(least, most) / ordered[-1])
    if difference > EQUAL:
        return UnequalMasses(difference, None)
    other, same = (ordered[-1], ordered[1]) if least <= most else (ordered[0], ordered[-1])
    ratio = float(other / same)
    r = max(0.0, 1 - term * (k - 1 + ratio) / 2)
    return UnequalMasses(difference, (2 - r) * (r + term * (k - 1)) - ratio * (1 + term * (k - 2 + r)))
