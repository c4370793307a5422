"""The proof of every answer, recomputed from the loss alone; no solver's word is taken.

For the program  minimise F(G), G psd, G_aa = 1  and any feasible G, let D be the symmetrised slope of an affine
minorant of F at G (its gradient, if F is smooth; zero diagonal), mu_a = -(D G)_aa and S = D + diag(mu).
Since <S, G> = 0 and every feasible G' has trace K,

    F(G') >= F(G) + <D, G' - G> = F(G) + <S, G'> >= F(G) + K min(0, lambda_min(S)),

so  gap = K max(0, -lambda_min(S))  bounds how far F(G) lies above the optimum (plus what the minorant loses at G,
which is 0 for a smooth F).  In orbit coordinates the same S is block-diagonal, see ``gram/orbits.py``.
An answer is *certified* when gap <= tolerance * max(1, |F|).

Symbols: F ``value``, D ``off_diagonal``, mu ``multipliers``, S ``dual_blocks``, K ``n_classes``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.orbits import Blocks, Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.losses.base import Objective

TOLERANCE = 1e-6
"""Default relative gap below which an answer counts as certified."""


COLLAPSE_ROUNDING = 1e-13
"""Eigenvalues this small, relative to the entries of S, are zero: losses linear in G sit on the threshold exactly."""


@dataclass(frozen=True)
class Certificate:
    """``value`` and ``lower_bound`` in nats; ``gap`` is their difference; ``min_eigenvalue`` is lambda_min(S),
    or where that would take long a lower bound of it."""

    value: float
    lower_bound: float
    gap: float
    min_eigenvalue: float
    tolerance: float

    @property
    def certified(self) -> bool:
        return self.gap <= self.tolerance * max(1.0, abs(self.value))


def dual_matrix(orbits: Orbits, cosines: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """S = D + diag(mu) as mu (m,) and D (m, m) by orbit, for ``slope`` (m, m) = dF/dC at ``cosines`` (m, m)."""
    n = orbits.sizes
    off_diagonal = slope + slope.T
    off_diagonal /= 2 * n
    off_diagonal /= n[:, None]
    inner = np.diag(slope) / np.maximum(n * (n - 1), 1)
    np.fill_diagonal(off_diagonal, np.where(n > 1, inner, 0.0))
    multipliers = -np.einsum("gh,gh,h->g", off_diagonal, cosines, n) + inner * np.diag(cosines) * (n > 1)
    return multipliers, off_diagonal


def dual_blocks(orbits: Orbits, cosines: FloatArray, slope: FloatArray) -> Blocks:
    """The same S in block form."""
    return orbits.blocks(*dual_matrix(orbits, cosines, slope))


def collapse_blocks(objective: Objective, orbits: Orbits) -> tuple[Blocks, float]:
    """S at the minority collapse v = (1, -1, ..., -1), G = v v', with its null vector v lifted out of the way.

    Minority collapse of the first orbit's one class against all others is optimal iff the result is psd.  The second
    value is the size of its entries together, relative to which eigenvalues are rounding.
    """
    sign = np.where(np.arange(orbits.n_orbits) == 0, 1.0, -1.0)
    cosines = np.outer(sign, sign)
    blocks = dual_blocks(orbits, cosines, objective.gradient(cosines))
    size = float(np.abs(blocks.quotient).sum())
    v = np.sqrt(orbits.sizes) * sign / np.sqrt(orbits.n_classes)
    return Blocks(blocks.quotient + size * np.outer(v, v), blocks.contrast), size


def collapse_is_optimal(objective: Objective, orbits: Orbits) -> bool:
    """Whether a single majority class, first, with all others at one opposite point, minimises ``objective``."""
    blocks, size = collapse_blocks(objective, orbits)
    return blocks.is_psd(COLLAPSE_ROUNDING * size)


def certify(
    objective: Objective,
    orbits: Orbits,
    cosines: FloatArray,
    *,
    slopes: FloatArray | None = None,
    tolerance: float = TOLERANCE,
) -> Certificate:
    """The certificate of *feasible* orbit cosines (m, m); ``slopes`` as in :meth:`Objective.minorant`."""
    value = objective.value(cosines)
    minorant = objective.minorant(cosines, slopes)
    lowest = dual_blocks(orbits, cosines, minorant.slope).min_eigenvalue()
    gap = value - minorant.value + orbits.n_classes * max(0.0, -lowest)
    return Certificate(value, value - gap, gap, lowest, tolerance)
