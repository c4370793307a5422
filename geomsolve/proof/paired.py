"""The proof for two sides, recomputed from the loss alone: no x_i, y_j do better than these.

The program is  minimise F(C) over C such that [[A, C], [C', B]] is psd with unit diagonal for some A, B.  There, let
D = dF/dC, alpha_i = -sum_j D_ij C_ij, beta_j = -sum_i D_ij C_ij and

    S = [[diag alpha, D], [D', diag beta]].

F is convex, 2 <D, C'> = <S, G'> - sum alpha - sum beta for every feasible G', and <S, G> = 0, so

    F(C') >= F(C) + <S, G'> / 2 >= F(C) + (n_x + n_y) min(0, lambda_min(S)) / 2.

Any positive weights t of the points do as well, S + delta diag(t) psd giving the bound delta sum(t) / 2; with t the
multipliers alpha, beta rare points count little.  The better of the two is taken.  S comes in the blocks of
``gram/paired.py``: diagonal within the sides.

*Do the sides coincide?*  C with unit diagonal that is itself a Gram matrix is tied: x_i = y_i.  It is optimal where
this certificate closes (for symmetric C and D: where lambda_min(diag alpha - D) >= 0).  By the same argument every tied
C' of K classes has

    F(C') >= F(C) + (K / 2) lambda_min(T),   T = diag(alpha + beta) + D + D',

so that none is optimal where that exceeds the gap (:func:`tied_excess`); or else where the least F of all tied C
(``objectives/tied.py``, with the certificate of one side) lies above the optimum.

Symbols: D ``slope / counts``, alpha, beta ``multipliers``, S ``dual_blocks``.
"""

from __future__ import annotations

import numpy as np

from geomsolve.gram.orbits import Blocks, Orbits
from geomsolve.gram.paired import Paired, PairedBlocks, PairedGram
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossObjective
from geomsolve.proof.certificate import TOLERANCE, Certificate


def multipliers(paired: Paired, cross: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """D (m_x, m_y + 1) of one pair of each kind, alpha (m_x,), beta (m_y,), for ``slope`` = dF/dC of all of a kind."""
    force = np.divide(slope, paired.counts, out=np.zeros_like(slope), where=paired.counts > 0)
    pull = force * cross
    alpha = -np.sum(paired.per_point * pull, axis=1)
    beta = -np.sum(paired.mirror.per_point * paired.flip(pull), axis=1)
    return force, alpha, beta


def dual_gram(paired: Paired, cross: FloatArray, slope: FloatArray) -> PairedGram:
    """S by its entries."""
    force, alpha, beta = multipliers(paired, cross, slope)
    none = np.zeros((paired.n_first, paired.n_first)), np.zeros((paired.n_second, paired.n_second))
    return PairedGram(alpha, none[0], beta, none[1], force)


def dual_blocks(paired: Paired, cross: FloatArray, slope: FloatArray) -> PairedBlocks:
    """S in blocks."""
    return paired.blocks(dual_gram(paired, cross, slope))


def relative(paired: Paired, blocks: PairedBlocks, first: FloatArray, second: FloatArray) -> PairedBlocks:
    """The matrix with rows and columns divided by ``first`` (m_x,) and ``second`` (m_y,)."""
    both = np.concatenate([first, second])
    g, h, _ = paired.several
    ends = np.stack([first[g], second[h]], axis=1)
    return PairedBlocks(blocks.quotient / np.outer(both, both), blocks.contrast / (ends[:, :, None] * ends[:, None]))


def certify_cross(
    objective: CrossObjective, paired: Paired, cross: FloatArray, *, tolerance: float = TOLERANCE
) -> Certificate:
    """The certificate of *feasible* ``cross`` (m_x, m_y + 1)."""
    value, slope = objective.evaluate(cross)
    dual = dual_gram(paired, cross, slope)
    blocks = paired.blocks(dual)
    lowest = blocks.min_eigenvalue()
    gap = sum(paired.points) / 2 * max(0.0, -lowest)
    alpha, beta = np.maximum(dual.first_own, 0.0), np.maximum(dual.second_own, 0.0)
    total = float(paired.first @ alpha + paired.second @ beta)
    if total > 0 and np.isfinite(gap):
        floor = 1e-6 * total / sum(paired.points)
        one, two = np.maximum(alpha, floor), np.maximum(beta, floor)
        worst = relative(paired, blocks, np.sqrt(one), np.sqrt(two)).min_eigenvalue()
        gap = min(gap, float(paired.first @ one + paired.second @ two) / 2 * max(0.0, -worst))
    return Certificate.of(value, gap, lowest, tolerance)


def tied_excess(objective: CrossObjective, orbits: Orbits, cross: FloatArray, gap: float) -> float:
    """By how much at least every tied C' lies above the optimum, in nats: a bound, which may be negative.

    ``orbits`` of the classes whose two points are tied, ``cross`` (m, m + 1) within ``gap`` of optimal.
    """
    paired = Paired.of(orbits)
    dual = dual_gram(paired, cross, objective.gradient(cross))
    own = dual.first_own + dual.second_own + 2 * dual.cross[:, -1]
    blocks = orbits.blocks(own, dual.cross[:, :-1] + dual.cross[:, :-1].T)
    best = orbits.n_classes * blocks.min_eigenvalue()
    if np.all(own > 0):
        root = np.sqrt(own)
        scaled = Blocks(blocks.quotient / np.outer(root, root), blocks.contrast / own)
        best = max(best, float(orbits.sizes @ own) * scaled.min_eigenvalue())
    return best / 2 - gap
