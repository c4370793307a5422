"""What unit vectors with given logits can do: up to which temperature there are any, and how far their means are apart.

Logits L_ij between points of two sides are expressed at the temperature tau by unit vectors with cosines
C = tau (L + c), c a constant where the loss leaves one open.  Cosines C belong to unit vectors iff gamma_2(C) <= 1,

    gamma_2(M) = min t:  [[A, M], [M', B]] psd,  A_ii <= t,  B_jj <= t                                     (primal)
               = max <Y, M>:  [[diag a, -Y], [-Y', diag b]] psd,  sum a + sum b = 2                        (dual)

(Linial, Mendelson, Schechtman & Shraibman 2007), so that with t* = min over c of gamma_2(L + c) they are expressed iff
tau <= tau* = 1 / t*.  A constant that is open asks sum_ij Y_ij = 0 of the dual.

Any A, B and c bound t* from above: negative eigenvalues of the matrix are added to its diagonal, whose largest entry is
the bound.  Any Y and a, b bound it from below: Y made to sum to 0, what is missing added to a and b, and <Y, L> divided
by half the sum of a and b.

Below tau* many unit vectors have those cosines.  The gap between the means, g^2 = v' G v (``proof/modality_gap.py``),
then is bounded by any a, b and Y (the same sum):

    g^2 <= sum a + sum b - 2 <Y, C>    if  [[diag a, -Y], [-Y', diag b]] - v v'  is psd,

and from below with + v v' and the opposite sign.  What is missing to psd again is added to a and b.
All is worked out in the blocks of ``gram/paired.py``; within an orbit the best Y of a contrast is +-root(a b), which
needs no suggestion.

Symbols: L ``wanted``, c ``shift``, (A, B) ``suggestion``, Y ``between``, (a, b) ``multipliers``, v ``centre``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.paired import Paired, PairedBlocks, PairedGram
from geomsolve.gram.types import FloatArray

CLOSE = 1e-6
"""Relative distance of the two bounds within which the largest temperature is called proven."""


@dataclass(frozen=True)
class Attainable:
    """Logits can be expressed at temperatures up to ``temperature``, and at none above ``at_most``; both are proven.

    ``shift`` c goes with the first of them.  Infinite: at every temperature.
    """

    temperature: float
    at_most: float
    shift: float

    @property
    def certified(self) -> bool:
        """Whether the two leave nothing open."""
        return self.temperature == self.at_most or self.at_most - self.temperature <= CLOSE * self.temperature


def sizes(paired: Paired) -> FloatArray:
    """(m_x + m_y,) points of each orbit, those of the first side first."""
    return np.concatenate([paired.first, paired.second]).astype(np.float64)


def cross_blocks(paired: Paired, cross: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The block ``cross`` (m_x, m_y + 1) between the sides as quotient (m_x, m_y) and contrasts (k,)."""
    one, two = np.zeros(paired.n_first), np.zeros(paired.n_second)
    blocks = paired.blocks(PairedGram(one, np.diag(one), two, np.diag(two), cross))
    return blocks.quotient[: paired.n_first, paired.n_first :], blocks.contrast[:, 0, 1]


def ones(paired: Paired) -> FloatArray:
    """The quotient (m_x, m_y) of the block of ones."""
    return np.sqrt(np.outer(paired.first, paired.second))


def upper_bound(paired: Paired, wanted: FloatArray, shift: float, suggestion: PairedBlocks) -> float:
    """No more than this is gamma_2(L + c) for logits ``wanted`` (m_x, m_y + 1) and c = ``shift``.

    Of the ``suggestion`` only the blocks A and B are used, whatever stands between them.
    """
    m = paired.n_first
    quotient, contrast = suggestion.quotient.copy(), suggestion.contrast.copy()
    quotient[:m, m:], contrast[:, 0, 1] = cross_blocks(paired, wanted + shift)
    quotient[m:, :m], contrast[:, 1, 0] = quotient[:m, m:].T, contrast[:, 0, 1]
    lowest = PairedBlocks(quotient, contrast).min_eigenvalue()
    g, h, n = paired.several
    total = np.diag(quotient).copy()
    total[g] += (n - 1) * contrast[:, 0, 0]
    total[m + h] += (n - 1) * contrast[:, 1, 1]
    return float(np.max(total / sizes(paired))) + max(0.0, -lowest)


def lower_bound(
    paired: Paired, wanted: FloatArray, multipliers: FloatArray, between: FloatArray, *, shift: float | None = None
) -> float:
    """No less than this is gamma_2(L + c), whatever c is, or for the c of ``shift``.

    ``multipliers`` (m_x + m_y,) suggest a and b of one point of each orbit, ``between`` (m_x, m_y) the quotient of Y.
    """
    n = sizes(paired)
    y = between if shift is not None else balanced(paired, between)
    quotient, contrast = cross_blocks(paired, wanted + (shift or 0.0))
    a = np.maximum(multipliers, 0.0)
    a = a + missing(a, y, np.zeros(n.size))
    g, h, size = paired.several
    gain = float(np.sum(y * quotient))
    gain += float((size - 1) * np.sqrt(a[g] * a[paired.n_first + h]) @ np.abs(contrast))
    return 2 * gain / float(n @ a) if np.isfinite(gain) and n @ a > 0 else 0.0


def gap_bound(
    paired: Paired,
    cross: FloatArray,
    centre: FloatArray,
    sign: float,
    multipliers: FloatArray,
    between: FloatArray,
    *,
    short: FloatArray,
    loose: bool,
) -> float:
    """No more than this (``sign`` 1), or no less (-1), is g^2 of unit vectors with the cosines ``cross``.

    ``centre`` (m_x + m_y,): v of one point of each orbit.  ``short`` (m_x + m_y,): 1 for points that may be shorter.
    ``loose``: the cosines are known up to a constant.
    """
    n = sizes(paired)
    y = balanced(paired, between) if loose else between
    quotient, contrast = cross_blocks(paired, cross)
    g, h, size = paired.several
    h = paired.n_first + h
    positive = short > 0
    positive[g] = positive[h] = True  # as their contrasts must be psd
    a = np.where(positive, np.maximum(multipliers, 0.0), multipliers)
    a = a + missing(a, y, sign * centre * np.sqrt(n), sign)
    bound = float(n @ a) - 2 * float(np.sum(y * quotient))
    bound -= 2 * float((size - 1) * np.sqrt(a[g] * a[h]) @ np.abs(contrast))
    return sign * bound


def balanced(paired: Paired, between: FloatArray) -> FloatArray:
    """``between`` (m_x, m_y) made to sum to 0 over all pairs."""
    unit = ones(paired)
    balanced: FloatArray = between - np.sum(between * unit) / np.sum(unit * unit) * unit
    return balanced


def missing(multipliers: FloatArray, between: FloatArray, direction: FloatArray, sign: float = 1.0) -> float:
    """What has to be added to ``multipliers`` for [[diag a, -Y], [-Y', diag b]] - ``sign`` w w' to be psd."""
    m = between.shape[0]
    dual = np.diag(multipliers) - sign * np.outer(direction, direction)
    dual[:m, m:] -= between
    dual[m:, :m] -= between.T
    return max(0.0, -PairedBlocks(dual, np.zeros((0, 2, 2))).min_eigenvalue())
