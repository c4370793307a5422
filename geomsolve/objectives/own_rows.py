"""Rows of a softmax that each have one own point, without what cancels: for pairs of which none is random.

    sum_r mass_r log( w_r,own + sum_{j != own} w_rj e^{scale (C_rj - C_r,own)} )

is a :class:`LogRows` less its attraction to the own point.  At a low temperature both parts are near 1, and what is
left of them, which alone holds the geometry, is lost in their rounding; here it never meets them.

Symbols: own ``own``, the place in the row of the kind of pair that belongs together.
"""

from __future__ import annotations

import numpy as np

from geomsolve.gram.paired import Paired
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import ConeForm
from geomsolve.objectives.cross import CrossCurvature, CrossObjective, Joint, LogRows


class OwnRows(LogRows):
    """See the module.  As :class:`LogRows`, with ``own`` (R,), whose weight is not 0 in any row."""

    def __init__(
        self,
        mass: FloatArray,
        weights: FloatArray,
        scale: float,
        own: IntArray,
        *,
        row: IntArray | None = None,
        paired: Paired | None = None,
    ) -> None:
        super().__init__(mass, weights, scale, row=row, paired=paired)
        self.own = own
        each = np.arange(own.size)
        self.log_own = self.log_weights[each, own]
        with np.errstate(invalid="ignore"):
            self.log_others = self.log_weights - self.log_own[:, None]
        self.log_others[each, own] = -np.inf

    def _parts(self, cross: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log(1 + sum of others relative to the own term) (R,) and the shares of the others; that of the own is 0."""
        seen, each = self._seen(cross), np.arange(self.own.size)
        terms = self.scale * (seen - seen[each, self.own][:, None]) + self.log_others
        top = terms.max(axis=1, keepdims=True)
        safe = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            others = np.log(np.exp(terms - safe).sum(axis=1)) + safe[:, 0]
        total = np.logaddexp(0.0, others)
        return total, np.exp(terms - total[:, None])

    def _balanced(self, others: FloatArray) -> FloatArray:
        """Rows (R, k) in which the own entry is less the sum of the others."""
        rows = others.copy()
        rows[np.arange(self.own.size), self.own] = -others.sum(axis=1)
        return rows

    def evaluate(self, cross: FloatArray) -> tuple[float, FloatArray]:
        total, share = self._parts(cross)
        slope = self._balanced(self.scale * self.mass[:, None] * share)
        return float(self.mass @ (total + self.log_own)), self._back(slope, self._n_rows(cross))

    def curvature(self, cross: FloatArray) -> CrossCurvature:
        share = self._parts(cross)[1]
        rate = self.scale**2 * self.mass[:, None] * share
        each = np.arange(self.own.size)

        def bend(change: FloatArray) -> FloatArray:
            seen = self._seen(change)
            moved = seen - seen[each, self.own][:, None]
            moved = moved - np.sum(share * moved, axis=1, keepdims=True)
            return self._back(self._balanced(rate * moved), self._n_rows(cross))

        return bend

    def forces(self, cross: FloatArray) -> FloatArray:
        pulls = self._balanced(self.scale * self.mass[:, None] * self._parts(cross)[1])
        return self._back(np.abs(pulls), self._n_rows(cross))

    def stiffness(self, cross: FloatArray) -> FloatArray:
        share = self._parts(cross)[1]
        alone = share.copy()
        others = share.sum(axis=1)
        alone[np.arange(self.own.size), self.own] = others * (1 - others)
        return self._back(self.scale**2 * self.mass[:, None] * alone, self._n_rows(cross))

    @property
    def attraction(self) -> FloatArray | float:
        rows = np.zeros_like(self.weights)
        rows[np.arange(self.own.size), self.own] = self.scale * self.mass
        width = self.weights.shape[1] - 1 if self.row is None else int(self.row.max()) + 1
        return self._back(rows, width)

    def folded(self) -> CrossObjective:
        return OwnRows(self.mass, self.weights, self.scale, self.own, row=self.row)

    def normalisers(self, cross: FloatArray) -> FloatArray | None:
        if self.row is not None or self.paired is not None:
            return None
        return np.asarray(self.scale * np.sqrt(self.mass)[:, None] * self._parts(cross)[1])[None]

    def cone_form(self) -> ConeForm:
        form = super().cone_form()
        return ConeForm(self.scale * float(self.mass.sum()), -np.asarray(self.attraction), form.logs)


def is_clean(joint: Joint) -> bool:
    """Whether each point of either side belongs to its partner alone."""
    matched, partners = joint.paired.matched
    paired = matched.size == joint.paired.n_first == joint.paired.n_second == np.unique(partners).size
    return bool(paired and not joint.weights[:, :-1].any())
