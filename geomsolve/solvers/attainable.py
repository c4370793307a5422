"""What unit vectors with given logits can do, by semidefinite programs (cvxpy); see ``proof/attainable.py``.

    minimise  t    subject to   [[A, L + c], [L' + c, B]] psd,  A_ii <= t,  B_jj <= t          the largest temperature
    minimise  +- v' G v    subject to   G = [[A, C + c], [C' + c, B]] psd,  A_ii = B_jj = 1     the gap of the means

in the blocks of ``gram/paired.py``, c = 0 where the loss leaves no constant open.  Dual values suggest the multipliers,
and the bounds are recomputed from them after every attempt.

Symbols: L ``wanted``, C ``cross``, c ``shift``, A and B the diagonal blocks of ``quotient`` and ``own``, v ``centre``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geomsolve.errors import SolverError
from geomsolve.gram.paired import Paired, PairedBlocks
from geomsolve.gram.types import FloatArray
from geomsolve.proof.attainable import (
    Attainable,
    cross_blocks,
    gap_bound,
    lower_bound,
    ones,
    sizes,
    upper_bound,
)
from geomsolve.solvers.conic import ATTEMPTS, Attempts, attempts, load_cvxpy

MEET = 1e-9
"""Relative distance of the bounds at which no other solver is tried."""

EQUAL = 1e-12
"""Logits that differ by less, in nats, are the same: rounding apart."""

MOST = 100
"""Rows of the quotient up to which the programs are solved."""

MANY = 30
"""Rows from which on the interior points of Clarabel take too long, and SCS comes as near."""


@dataclass(frozen=True)
class Program:
    """G in blocks with a given block between its sides, as variables and constraints of cvxpy; ``total`` is the sum of
    the diagonal over the points of each orbit."""

    paired: Paired
    quotient: Any
    own: Any
    shift: Any
    psd: Any
    constraints: list[Any]
    total: Any

    @classmethod
    def of(cls, cp: Any, paired: Paired, cross: FloatArray, shift: float | None) -> Program:
        """With ``cross`` (m_x, m_y + 1) plus ``shift``, or plus any constant."""
        m, n = paired.n_first, sizes(paired)
        if n.size > MOST:
            raise SolverError(f"there are {n.size} kinds of points, and this is worked out for at most {MOST}")
        block, contrast = cross_blocks(paired, cross)
        quotient = cp.Variable((n.size, n.size), symmetric=True)
        c = cp.Variable() if shift is None else cp.Constant(shift)
        psd = quotient >> 0
        constraints = [psd, quotient[:m, m:] == block + c * ones(paired)]
        total, own = cp.diag(quotient), None
        g, h, size = paired.several
        if g.size:
            own = cp.Variable(2 * g.size, nonneg=True)
            spread = np.zeros((n.size, 2 * g.size))
            each = np.arange(g.size)
            spread[g, each] = spread[m + h, g.size + each] = size - 1
            total = total + spread @ own
            one, two = own[: g.size], own[g.size :]
            constraints.append(cp.SOC(one + two, cp.vstack([2 * contrast, one - two])))
        return cls(paired, quotient, own, c, psd, constraints, total)

    @property
    def found(self) -> PairedBlocks:
        """The blocks as they were found, but for the entries between the sides of the contrasts."""
        contrast = np.zeros((self.paired.several[0].size, 2, 2))
        if self.own is not None:
            contrast[:, 0, 0], contrast[:, 1, 1] = np.split(self.own.value, 2)
        return PairedBlocks(np.asarray(self.quotient.value, dtype=np.float64), contrast)

    @property
    def dual(self) -> FloatArray | None:
        """The dual value of the psd constraint, None where the solver left none."""
        value = self.psd.dual_value
        return None if value is None or not np.all(np.isfinite(value)) else np.asarray(value + value.T) / 2


def suited(rows: int) -> Attempts | None:
    """The solvers that are tried for so many rows; None: all."""
    return None if rows <= MANY else tuple(each for each in ATTEMPTS if each[0] == "SCS")


def largest_temperature(paired: Paired, wanted: FloatArray, *, shift: float | None = None) -> Attainable:
    """The bounds of tau* for finite logits ``wanted`` (m_x, m_y + 1), with a constant left open, or for that of
    ``shift``.

    Raises :class:`SolverError` where no solver left a point, or there are more than :data:`MOST` rows.
    """
    present, n = paired.counts > 0, sizes(paired)
    middle = 0.0
    if shift is None:  # so that logits which differ much less than they are large lose no digits
        middle = float(np.sum(paired.counts * wanted) / np.sum(paired.counts))
    centred = np.where(present, wanted - middle, 0.0)
    scale = float(np.abs(centred[present] + (shift or 0.0)).max())
    if scale <= EQUAL:
        return Attainable(np.inf, np.inf, -middle if shift is None else shift)
    cp = load_cvxpy()
    given = None if shift is None else shift / scale
    program, t = Program.of(cp, paired, centred / scale, given), cp.Variable()
    constraints = [*program.constraints, program.total <= t * n]
    low, high, best, m = 0.0, np.inf, 0.0, paired.n_first
    for _ in attempts(cp.Problem(cp.Minimize(t), constraints), suited(n.size)):
        c = float(program.shift.value)
        bound = upper_bound(paired, centred / scale, c, program.found)
        if bound < high:
            high, best = bound, c
        dual = program.dual
        if dual is not None:
            low = max(low, lower_bound(paired, centred / scale, np.diag(dual), -dual[:m, m:], shift=given))
        if high - low <= MEET * high:
            break
    if not np.isfinite(high):
        raise SolverError("no solver left a usable point; the largest temperature is not known")
    found = best * scale - middle if shift is None else shift
    return Attainable(1 / (high * scale), 1 / (low * scale) if low > 0 else np.inf, found)


def gap_range(
    paired: Paired, cross: FloatArray, centre: FloatArray, *, short: FloatArray, loose: bool
) -> tuple[float, float, bool]:
    """The least and largest g^2 of unit vectors with cosines ``cross`` (m_x, m_y + 1), both proven, and whether
    vectors that were found come as near to both as :data:`MEET` says; arguments as for :func:`gap_bound`."""
    cp = load_cvxpy()
    n, m = sizes(paired), paired.n_first
    w = centre * np.sqrt(n)
    ends, exact = [], True
    for sign in (-1.0, 1.0):
        program = Program.of(cp, paired, cross, None if loose else 0.0)
        lengths = []
        if not short.all():  # older releases of cvxpy take no empty constraint
            lengths.append(program.total[short == 0] == n[short == 0])
        if short.any():
            lengths.append(program.total[short > 0] <= n[short > 0])
        square = cp.sum(cp.multiply(np.outer(w, w), program.quotient))
        best, reached = (4.0 if sign > 0 else 0.0), -sign * np.inf
        for _ in attempts(cp.Problem(cp.Maximize(sign * square), [*program.constraints, *lengths]), suited(n.size)):
            dual = program.dual
            if dual is None:
                continue
            seen = dual + sign * np.outer(w, w)
            bound = gap_bound(paired, cross, centre, sign, np.diag(seen), -seen[:m, m:], short=short, loose=loose)
            best = min(best, bound) if sign > 0 else max(best, bound)
            reached = float(square.value)
            if abs(reached - best) <= MEET:
                break
        exact = exact and abs(reached - best) <= CLOSE
        ends.append(best)
    return ends[0], ends[1], exact


CLOSE = 1e-6
"""How near g^2 that was found and its bound must come for the range to be called exact."""
