"""The proof where no cosine may be negative: features after a ReLU.

For  minimise F(G), G psd, G_aa = 1, G >= 0 entrywise,  let N >= 0 be symmetric with zero diagonal: the multipliers of
G >= 0.  With D the slope of an affine minorant of F at G, mu_a = -((D - N) G)_aa and S = D + diag(mu) - N,

    F(G') >= F(G) + <D, G' - G> = F(G) + <S, G'> - <N, G> + <N, G'> >= F(G) - <N, G> + K min(0, lambda_min(S))

for every feasible G', as <S, G> = 0, <N, G'> >= 0 and G' has trace K.  So

    gap = <N, G> + K max(0, -lambda_min(S)),

whatever N is.  That is the certificate of ``certificate.py`` for F - <N, .>, whose bound holds for F where G' >= 0.

At the orthogonal frame G = I, <N, G> = 0 for every N; N = max(D, 0) leaves S = min(D, 0), so that the frame is optimal
if raising any cosine from 0 raises F: for every loss that only drives classes apart, whatever their proportions.  It is
the only optimum if raising any one does so strictly.

How far may a cosine rise above the frame at a loss F(I) + eps?  Let P be the frame with that one cosine, of a and b, at
such a t that F(P) = F(I) + eps, and D the slope at P, of which only D_ab is sure to be positive.  By convexity, and as
0 <= G'_cd <= 1, every G' within that loss has

    G'_ab <= t + (F(I) + eps - F(P) + sum of max(-D_cd, 0) over all other pairs) / D_ab,

and P attains t.  For a loss that only drives classes apart that sum is 0, and the range is [0, t].

In orbit form N is given as sums over the pairs of two orbits, as slopes are: N_gh ``multipliers`` (m, m).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geomsolve.gram.nonnegative import frame
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.objectives.tilted import Tilted
from geomsolve.proof.certificate import TOLERANCE, Certificate, certify, tighten
from geomsolve.proof.ranges import MEETS, Range

FALLING = 1e-12
"""Slopes at the frame, relative to the largest, down to which those that fall are rounding."""


def certify_nonnegative(
    objective: Objective,
    orbits: Orbits,
    cosines: FloatArray,
    multipliers: FloatArray,
    *,
    slopes: FloatArray | None = None,
    tolerance: float = TOLERANCE,
) -> Certificate:
    """The certificate of orbit cosines (m, m) that are psd and nowhere negative; ``multipliers`` (m, m) of any sign are
    first made admissible; ``slopes`` of F as in :meth:`Objective.minorant`."""
    admitted = np.where(orbits.pairs > 0, np.maximum(multipliers + multipliers.T, 0.0) / 2, 0.0)
    held = Tilted(objective, -admitted)
    below = None if slopes is None else slopes - admitted
    proof = certify(held, orbits, cosines, slopes=below, tolerance=tolerance)
    if objective.smooth:
        proof = tighten(held, orbits, cosines, proof)
    value = objective.value(cosines)
    bound = min(proof.lower_bound, value)
    return replace(proof, value=value, lower_bound=bound, gap=value - bound)


def frame_slopes(objective: Objective, orbits: Orbits) -> FloatArray:
    """How F rises (m, m) when cosines are raised from the orthogonal frame, summed over the pairs of two orbits."""
    slope = objective.minorant(frame(orbits)).slope
    return np.where(orbits.pairs > 0, slope + slope.T, 0.0) / 2


def frame_is_optimal(objective: Objective, orbits: Orbits) -> bool:
    """Whether no cosine lowers F when it is raised from the orthogonal frame, up to rounding."""
    slopes = frame_slopes(objective, orbits)
    return bool(np.all(np.isfinite(slopes)) and slopes.min() >= -FALLING * slopes.max())


def frame_is_unique(objective: Objective, orbits: Orbits) -> bool | None:
    """Whether the orthogonal frame, if it is optimal, is the only optimum.

    True where raising any cosine raises F; False where raising some pair of orbits a little, or all, leaves F as it is;
    None where neither was found.
    """
    if objective.unique_minimiser:
        return True
    slopes = frame_slopes(objective, orbits)
    there = orbits.pairs > 0
    if np.all(slopes[there] > 0):
        return True
    if objective.smooth and not slopes.any():  # too small for numbers, for all that is known
        return None
    start = frame(orbits)
    value = objective.value(start)
    step = 0.5 / orbits.n_classes  # so small that the matrix stays positive definite
    for g, h in np.argwhere(there & (slopes <= 0)):
        other = start.copy()
        other[g, h] = other[h, g] = step
        if objective.value(other) <= value:
            return False
    return None


def frame_range(objective: Objective, orbits: Orbits, a: int, b: int, slack: float) -> Range:
    """How far the cosine of classes ``a`` and ``b``, which stand alone in their orbits, may be at a loss of at most
    ``slack`` above that of the orthogonal frame, which is optimal; see the module."""
    g, h = orbits.index[a], orbits.index[b]
    most = objective.value(frame(orbits)) + slack

    def at(cosine: float) -> FloatArray:
        cosines = frame(orbits)
        cosines[g, h] = cosines[h, g] = cosine
        return cosines

    if objective.value(at(1.0)) <= most:
        return Range(0.0, 1.0, True)
    from scipy.optimize import brentq  # here, since only these ranges need it

    reached = float(brentq(lambda t: objective.value(at(t)) - most, 0.0, 1.0, xtol=1e-14))
    minorant = objective.minorant(at(reached))
    slopes = np.where(orbits.pairs > 0, minorant.slope + minorant.slope.T, 0.0) / 2
    rise = 2 * float(slopes[g, h])
    slopes[g, h] = slopes[h, g] = 0.0
    left = max(most - minorant.value, 0.0) + float(np.maximum(-slopes, 0.0).sum())
    high = min(1.0, reached + left / rise) if rise > 0 else 1.0
    return Range(0.0, high, high - reached <= MEETS)
