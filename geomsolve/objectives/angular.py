"""Softmax with a margin on the angle to the own point, as in ArcFace, and a convex F that is nowhere above it.

    F = sum_r mass_r [ -z_r + log( own_r e^{z_r} + sum_j rest_rj e^{scale C_ij} ) ],    z_r = scale h(C_ij(r))

over rows r, each of a point i of the first side and one j(r) of the second that belongs to it.  With the margin m

    h(c) = cos(theta + m) = c cos m - sin m sqrt(1 - c^2),    theta = arccos c <= pi - m,    c - m sin m beyond,

the published continuation.  h is convex up to there, so that F, which falls with h, is not; at c = 1 it has a kink in
theta.  For a search the root is taken of 1 - c^2 + ``soft``^2, which has no kink.  From -1 to 1 h stays below its chord
c cos m, which it meets at c = 1: with ``chord`` in its place F is convex and nowhere larger, and the same where all
that belongs together coincides.

Symbols: m ``margin``.
"""

from __future__ import annotations

from math import cos, sin

import numpy as np

from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.cross import CrossCurvature, CrossObjective

EQUAL = 1e-15
"""1 - c^2 that is rounding: the points coincide."""


class Angular(CrossObjective):
    """See the module.  ``mass`` and ``own`` (R,), ``rest`` (R, m_y + 1) of all terms of a kind together; row r sees the
    cosines of orbit ``row`` (R,), and the kind ``label`` (R,) of pair belongs together."""

    def __init__(
        self,
        mass: FloatArray,
        own: FloatArray,
        rest: FloatArray,
        row: IntArray,
        label: IntArray,
        scale: float,
        margin: float,
        *,
        soft: float = 0.0,
        chord: bool = False,
    ) -> None:
        self.mass, self.row, self.label, self.scale = mass, row, label, scale
        self.margin, self.soft, self.chord = margin, soft, chord
        with np.errstate(divide="ignore"):
            self.log_weights = np.log(np.column_stack([rest, own]))

    def bent(self, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """h and its first two derivatives."""
        along, across = cos(self.margin), sin(self.margin)
        if self.chord:
            return along * c, np.full_like(c, along), np.zeros_like(c)
        square = np.maximum(1 - c * c, 0.0)
        root = np.sqrt(np.where(square <= EQUAL, 0.0, square) + self.soft**2)
        safe = np.maximum(root, np.sqrt(EQUAL))
        beyond = c < -along
        h = np.where(beyond, c - self.margin * across, along * c - across * root)
        slope = np.where(beyond, 1.0, along + across * c / safe)
        return h, slope, np.where(beyond, 0.0, across * (1 / safe + c * c / safe**3))

    def _parts(self, cross: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """The logarithm of every row, less its own term, the shares of its terms (own last), h' and h''."""
        seen = cross[self.row]
        h, slope, bend = self.bent(seen[np.arange(self.row.size), self.label])
        terms = self.scale * np.column_stack([seen, h]) + self.log_weights
        top = terms.max(axis=1, keepdims=True)
        share = np.exp(terms - top)
        total = share.sum(axis=1, keepdims=True)
        logs = (np.log(total) + top)[:, 0] - self.scale * h
        return logs, share / total, slope, bend, seen

    def _back(self, rows: FloatArray, own: FloatArray, cross: FloatArray) -> FloatArray:
        """From entries of rows (R, m_y + 1), and of those that belong together (R,), to those of cosines."""
        total = np.zeros_like(cross)
        np.add.at(total, self.row, rows)
        np.add.at(total, (self.row, self.label), own)
        return total

    def evaluate(self, cross: FloatArray) -> tuple[float, FloatArray]:
        logs, share, slope, _, _ = self._parts(cross)
        rate = self.scale * self.mass
        gradient = self._back(rate[:, None] * share[:, :-1], rate * slope * (share[:, -1] - 1), cross)
        return float(self.mass @ logs), gradient

    def curvature(self, cross: FloatArray) -> CrossCurvature:
        _, share, slope, bend, _ = self._parts(cross)
        rate, each = self.scale**2 * self.mass, np.arange(self.row.size)
        curved = self.scale * self.mass * bend * (share[:, -1] - 1)

        def image(change: FloatArray) -> FloatArray:
            seen = change[self.row]
            own = seen[each, self.label]
            moved = np.column_stack([seen, slope * own])
            moved -= np.sum(share * moved, axis=1, keepdims=True)
            turned = rate[:, None] * share * moved
            return self._back(turned[:, :-1], slope * turned[:, -1] + curved * own, cross)

        return image

    def forces(self, cross: FloatArray) -> FloatArray:
        _, share, slope, _, _ = self._parts(cross)
        rate = self.scale * self.mass
        return self._back(rate[:, None] * share[:, :-1], rate * np.abs(slope) * (1 - share[:, -1]), cross)

    def stiffness(self, cross: FloatArray) -> FloatArray:
        return self.scale * self.forces(cross)
