"""Objectives that are sums of logarithms of sums of exponentials: the k -> infinity end of the log family.

    F(C) = sum_r mass_r [ log( offset_r + sum_j weight_rj e^{t_rj} ) - sum_j target_rj t_rj ],   t = (C - 1) scale

Rows r are either the orbits, one anchor class each (population losses), or a single row over all pairs
(align-uniform).  ``offset`` collects what does not depend on C, such as the anchor's own class, where t = 0.

Symbols: 1/tau ``scale``, p_a ``proportions``, softmax probabilities ``share``.
"""

from __future__ import annotations

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.losses.base import ConeForm, Curvature, LogTerms, Objective


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
        self.mass, self.scale = mass, scale
        self.target = np.zeros_like(weights) if target is None else target
        with np.errstate(divide="ignore"):
            self.log_weights, self.log_offset = np.log(weights), np.log(offset)
        self.unique_minimiser = unique_minimiser

    def _rows(self, cosines: FloatArray) -> FloatArray:
        return cosines.reshape(self.rows, -1)

    def _logs(self, cosines: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """t (R, T); log of each row's sum (R,); softmax shares of the terms (R, T)."""
        t = self.scale * (self._rows(cosines) - 1)
        logits = t + self.log_weights
        top = np.maximum(logits.max(axis=1), self.log_offset)
        top = np.where(np.isfinite(top), top, 0.0)
        terms = np.exp(logits - top[:, None])
        sums = terms.sum(axis=1) + np.exp(self.log_offset - top)
        safe = np.where(sums > 0, sums, 1.0)  # a row without any term has no mass either
        return t, np.log(safe) + top, terms / safe[:, None]

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        t, log_sums, share = self._logs(cosines)
        value = float(self.mass @ (log_sums - (self.target * t).sum(axis=1)))
        gradient = self.scale * self.mass[:, None] * (share - self.target)
        return value, gradient.reshape(self.m, self.m)

    def curvature(self, cosines: FloatArray) -> Curvature:
        share = self._logs(cosines)[2]
        factor = self.scale**2 * self.mass[:, None]

        def apply(change: FloatArray) -> FloatArray:
            dt = self._rows(change)
            result: FloatArray = factor * share * (dt - (share * dt).sum(axis=1, keepdims=True))
            return result.reshape(self.m, self.m)

        return apply

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
        linear = -self.scale * (self.mass[:, None] * self.target).reshape(self.m, self.m)
        return ConeForm(self.m, constant=-float(linear.sum()), linear=linear, logs=logs)
