"""One direction of the symmetric softmax in a batch of B random pairs, exactly, for any B.

    R = (1/2) E log( e^{t_ij} + sum_{b=1..B-1} e^{t_{i c_b}} ),   (i, j) ~ pi,  c_b ~ q independent,  t = scale (C - 1)

by the identity of ``expectation.py``, E log Y = int_0^inf (e^{-s} - E e^{-sY}) ds/s, in which

    E e^{-sY} = psi_i(s) phi_i(s)^{B-1},    psi_i(s) = sum_j pi(j|i) e^{-s X_ij},   phi_i(s) = sum_c q_c e^{-s X_ic},

X = e^t.  The attraction - scale <pi, C - 1> stands elsewhere.

Symbols: pi ``positive`` and q ``chance``, of all points of a kind together; B - 1 ``others``.
"""

from __future__ import annotations

from math import log

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.paired import Paired
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossCurvature, CrossObjective, Joint
from geomsolve.objectives.expectation import CAPPED, COLDEST, LARGEST, STEP


class BatchRows(CrossObjective):
    """The direction from the first side of ``joint`` to the second; with ``paired``, ``joint`` is its mirror."""

    def __init__(self, joint: Joint, scale: float, batch: int, paired: Paired | None = None) -> None:
        if scale > 1 / COLDEST:
            raise InputError(
                f"too low for an exact expectation over batches; take {COLDEST:g} or more, or leave the batch out",
                field="loss.temperature",
            )
        own = joint.paired
        self.joint, self.batch = joint, batch
        self.paired, self.scale, self.others = paired, scale, batch - 1
        self.mass = own.first / 2.0
        self.positive = joint.weights * own.per_point
        self.chance = own.per_point * joint.spread(np.tile(joint.second, (own.n_first, 1)))
        first, last = log(1e-18) - log(1.0 + batch), log(42) + 2 * scale
        self.log_s = STEP * np.arange(np.floor(first / STEP), np.ceil(last / STEP) + 1)
        self.s = np.exp(np.minimum(self.log_s, LARGEST))

    def _seen(self, cross: FloatArray) -> FloatArray:
        return cross if self.paired is None else self.paired.flip(cross)

    def _back(self, rows: FloatArray) -> FloatArray:
        return rows if self.paired is None else self.paired.mirror.flip(rows)

    def _parts(self, g: int, rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """For an anchor in orbit g: s X and e^{-sX} (N, m), psi (N,) and log phi (N,)."""
        moved = np.exp(np.minimum(self.log_s[:, None] + self.scale * (rows[g] - 1), CAPPED))
        decay = np.exp(-moved)
        with np.errstate(divide="ignore"):
            log_phi = np.log1p(np.maximum(np.expm1(-moved) @ self.chance[g], -1.0))
        return moved, decay, decay @ self.positive[g], log_phi

    def _power(self, k: int, log_phi: FloatArray) -> FloatArray:
        return np.exp(k * log_phi) if k else np.ones_like(log_phi)

    def evaluate(self, cross: FloatArray) -> tuple[float, FloatArray]:
        rows, k = self._seen(cross), self.others
        value, gradient = 0.0, np.zeros_like(rows)
        for g in range(rows.shape[0]):
            moved, decay, first, log_phi = self._parts(g, rows)
            all_k, one_less = self._power(k, log_phi), self._power(k - 1, log_phi)
            whole = float(self.positive[g].sum())
            value += self.mass[g] * STEP * float(np.sum(whole * np.exp(-self.s) - first * all_k))
            flow = moved * decay
            slope = self.positive[g] * (all_k @ flow) + self.chance[g] * (k * (first * one_less) @ flow)
            gradient[g] = self.mass[g] * self.scale * STEP * slope
        return value, self._back(gradient)

    def forces(self, cross: FloatArray) -> FloatArray:
        return self.gradient(cross)

    def stiffness(self, cross: FloatArray) -> FloatArray:
        return self.scale * self.gradient(cross)

    def folded(self) -> CrossObjective:
        return BatchRows(self.joint, self.scale, self.batch)

    def curvature(self, cross: FloatArray) -> CrossCurvature:
        rows, k = self._seen(cross), self.others
        width = rows.shape[1]
        dense = np.empty((rows.shape[0], width, width))
        for g in range(rows.shape[0]):
            moved, decay, first, log_phi = self._parts(g, rows)
            flow, positive, chance = moved * decay, self.positive[g], self.chance[g]
            one_less = k * self._power(k - 1, log_phi)
            two_less = k * (k - 1) * self._power(max(k - 2, 0), log_phi)
            straight = np.outer(self._power(k, log_phi), positive) + np.outer(first * one_less, chance)
            mixed = (flow.T * one_less) @ flow * (np.outer(positive, chance) + np.outer(chance, positive))
            both = (flow.T * (first * two_less)) @ flow * np.outer(chance, chance)
            bend = np.diag(np.sum(straight * flow * (1 - moved), axis=0)) - mixed - both
            dense[g] = self.mass[g] * self.scale**2 * STEP * bend
        return lambda change: self._back(np.einsum("ghj,gj->gh", dense, self._seen(change)))
