"""Proof that no weights make a geometry optimal.

G is optimal for weights w only where the forces between classes cancel, D_ab(w) = (N Y N')_ab for a != b with Y psd
and N a basis of the null space of G (see ``solvers/inverse.py``).  Symmetric multipliers Lambda with zero diagonal and

    sum_ab Lambda_ab D_ab(w) > 0  for every w,        N' Lambda N  negative semidefinite

refute that, as <Lambda, N Y N'> = <N' Lambda N, Y> <= 0 for every psd Y.  D is linear in anchor masses, and in how
often fixed batches come, w >= 0, sum 1: D = sum_i w_i D^i, so that the first is  g_i = sum_ab Lambda_ab D^i_ab > 0  for
every anchor or batch i.  And D_ab > 0 whatever is changed, in losses that push every two classes apart, so that
Lambda_ab > 0 for every pair will do as well.

Both are computed here from the multipliers alone, whoever found them.

Symbols: Lambda ``multipliers``, N ``basis``, g ``gains``, D^i ``pushes``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.types import FloatArray

ROUNDING = 1e-12
"""Sums this small, relative to the size of their terms, are zero."""


@dataclass(frozen=True, eq=False)
class Refutation:
    """``multipliers`` (K, K), the least of the gains, the ``largest_eigenvalue`` of N' Lambda N (-inf if N is empty).

    ``anything``: the gains are of any forces that push, not of anchors or batches alone.
    """

    multipliers: FloatArray
    least_gain: float
    largest_eigenvalue: float
    anything: bool

    @property
    def holds(self) -> bool:
        """Whether both conditions are met beyond rounding."""
        size = ROUNDING * float(np.abs(self.multipliers).sum())
        return self.least_gain > size and self.largest_eigenvalue < -size

    @property
    def plain(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "kind": "farkas",
            "residual": self.residual,
            "least_gain": self.least_gain,
            "largest_eigenvalue": self.largest_eigenvalue if np.isfinite(self.largest_eigenvalue) else None,
            "whatever_changes": self.anything,
            "multipliers": self.multipliers,
        }

    @property
    def residual(self) -> float:
        """How far N' Lambda N is from being negative semidefinite: 0 for a proof."""
        return max(0.0, self.largest_eigenvalue)


def refutation(multipliers: FloatArray, basis: FloatArray, pushes: FloatArray | None) -> Refutation:
    """The two conditions for symmetric ``multipliers`` (K, K) with zero diagonal and a ``basis`` (K, k).

    ``pushes`` (n, K, K) with zero diagonals, of a size of 1; None where forces may be any that push.
    """
    if pushes is None:
        gains = multipliers[~np.eye(len(multipliers), dtype=bool)]
    else:
        gains = np.einsum("ab,nab->n", multipliers, pushes)
    reduced = basis.T @ multipliers @ basis
    largest = float(np.linalg.eigvalsh((reduced + reduced.T) / 2)[-1]) if basis.shape[1] else -np.inf
    return Refutation(multipliers, float(gains.min()), largest, pushes is None)
