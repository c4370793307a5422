"""Objectives that are sums of logarithms of sums of exponentials: the k -> infinity end of the log family.

    F(C) = sum_r mass_r [ log( offset_r + sum_j weight_rj e^{t_rj} ) - sum_j target_rj t_rj ],   t = (C - 1) scale

Rows r are either the orbits, one anchor class each (population losses), or a single row over all pairs
(align-uniform).  ``offset`` collects what does not depend on C, such as the anchor's own class, where t = 0.

Symbols: 1/tau ``scale``, p_a ``proportions``, softmax probabilities ``share``.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import ConeForm, Curvature, LogTerms, Minorant, Objective, RowCurvature


class LogSum(Objective):
    """See the module.  ``weights``, ``target`` (R, m*m/R), ``offset``, ``mass`` (R,); R = m or 1."""

    def __init__(
        self,
        weights: FloatArray,
        offset: FloatArray,
        mass: FloatArray,
        scale: float,
        target: FloatArray | None = None,
        *,
        unique_minimiser: bool,
    ) -> None:
        self.rows, width = weights.shape
        self.m = int(np.sqrt(self.rows * width))
        self.mass, self.scale, self.target = mass, scale, target
        with np.errstate(divide="ignore"):
            self.log_weights, self.log_offset = np.log(weights), np.log(offset)
        self.unique_minimiser = unique_minimiser
        if target is not None:
            self.attraction = self._square(scale * mass[:, None] * target)

    @classmethod
    def of_classes(
        cls, orbits: Orbits, counted: FloatArray, own: FloatArray, mass: FloatArray, scale: float, *, unique: bool
    ) -> LogSum:
        """The rows of anchors that count every other class of orbit h ``counted`` (m,) times, and their own class
        ``own`` (m,): without a logarithm for each pair of orbits, for searches that ask for many scales."""
        found = cls(np.zeros((1, 1)), own, mass, scale, unique_minimiser=unique)
        found.rows = found.m = orbits.n_orbits
        with np.errstate(divide="ignore"):
            found.log_weights = np.tile(np.log(orbits.sizes * counted), (found.m, 1))
            np.fill_diagonal(found.log_weights, np.log((orbits.sizes - 1) * counted))
        return found

    def at_scale(self, scale: float) -> LogSum:
        """The same, without a target, at another 1/tau."""
        assert self.target is None
        found = copy(self)
        found.scale = scale
        return found

    def _rows(self, cosines: FloatArray) -> FloatArray:
        return cosines.reshape(self.rows, -1)

    def _square(self, rows: FloatArray) -> FloatArray:
        return rows.reshape(self.m, self.m)

    def _shares(self, cosines: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log of each row's sum (R,); softmax shares of the terms (R, T).  Holds one matrix besides its arguments."""
        terms = self._rows(cosines) - 1
        terms *= self.scale
        terms += self.log_weights
        top = np.maximum(terms.max(axis=1), self.log_offset)
        top = np.where(np.isfinite(top), top, 0.0)
        terms -= top[:, None]
        np.exp(terms, out=terms)
        sums = terms.sum(axis=1) + np.exp(self.log_offset - top)
        safe = np.where(sums > 0, sums, 1.0)  # a row without any term has no mass either
        terms /= safe[:, None]
        return np.log(safe) + top, terms

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        log_sums, share = self._shares(cosines)
        value = float(self.mass @ log_sums)
        if self.target is not None:
            value -= float(self.mass @ (self.target * self.scale * (self._rows(cosines) - 1)).sum(axis=1))
            share -= self.target
        share *= self.scale * self.mass[:, None]
        return value, self._square(share)

    def curvature(self, cosines: FloatArray) -> Curvature:
        share = self._shares(cosines)[1]
        rows = self.scale * np.sqrt(self.mass)[:, None] * share
        share *= self.scale**2 * self.mass[:, None]
        return RowCurvature(self._square(share), self._square(rows)[None], joint=self.rows == 1)

    def minorant(self, cosines: FloatArray, slopes: FloatArray | None = None) -> Minorant:
        """Every row of probabilities R gives one, as log sum_j w_j e^{t_j} >= sum_j R_j t_j - KL(R || w).

        R is the softmax for the tangent; ``slopes`` are met by another R as far as R >= 0 and sum R = 1 allow.  Only
        their symmetric part matters, so a wanted change of the pair g, h is split between the two rows in
        proportion to their shares, where it costs least.
        """
        value, tangent = self.evaluate(cosines)
        if slopes is None:
            return Minorant(value, tangent)
        log_sums, share = self._shares(cosines)
        flow = self.scale * self.mass[:, None] * share
        change = (slopes - tangent).reshape(flow.shape)
        if self.rows == self.m:
            both = flow + flow.T
            change = (change + change.T) * np.divide(flow, both, out=np.full_like(flow, 0.5), where=both > 0)
        wanted = flow + change
        wanted = np.where(wanted > 0, wanted, flow / 2)
        rate = self.scale * self.mass[:, None]
        other = np.divide(wanted, rate, out=share.copy(), where=rate > 0)
        other = np.where(np.isfinite(self.log_weights), other, 0.0)
        total = other.sum(axis=1)
        own = np.isfinite(self.log_offset)
        over = np.where(own, np.maximum(total, 1.0), total)
        other = other / np.where(over > 0, over, 1.0)[:, None]
        rest = np.where(own, np.maximum(1 - other.sum(axis=1), 0.0), 0.0)
        logits = self.scale * (self._rows(cosines) - 1) + self.log_weights - log_sums[:, None]
        # logarithms of the shares: the divergence is from those
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.where(other > 0, other * (np.log(other) - logits), 0.0).sum(axis=1)
            loss += np.where(rest > 0, rest * (np.log(rest) - (self.log_offset - log_sums)), 0.0)
        slope = rate * (other if self.target is None else other - self.target)
        return Minorant(value - float(self.mass @ np.maximum(loss, 0.0)), slope.reshape(self.m, self.m))

    def cone_form(self) -> ConeForm:
        finite = np.isfinite(self.log_weights) & (self.mass[:, None] > 0)
        row, place = np.nonzero(finite)
        flat = row * self.log_weights.shape[1] + place
        used = self.mass > 0
        number = np.cumsum(used) - 1
        logs = LogTerms(
            self.mass[used],
            self.log_offset[used],
            number[row].astype(np.int64),
            (flat // self.m).astype(np.int64),
            (flat % self.m).astype(np.int64),
            self.log_weights[row, place],
            self.scale,
        )
        linear = -self.attraction * np.ones((self.m, self.m))
        return ConeForm(constant=-float(linear.sum()), linear=linear, logs=logs)
