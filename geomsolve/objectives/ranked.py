"""Rank-N-Contrast on cosines: every pair against the pairs of its anchor that are at least as far apart in labels.

    F(C) = sum_r mass_r [ log sum_h weight_rh e^{t_{g(r) h}} ] - sum_gh linear_gh t_gh,    t = (C - 1) scale

A row r stands for an anchor of orbit g and its pairs with one orbit j; weight_rh is how many samples of orbit h, the
anchor left out, are at least as far from g as j is, so 0 or that orbit's size.  Log-sum-exp less linear: convex.
Labels 0, 1, 2: the cosines are 1/4, 1/4, -7/8 at every temperature, F = (log 2 + log(1 + e^{-9/(8 tau)})) / 3.

Source: Zha et al. 2023 (Rank-N-Contrast), there on distances; on cosines derived for this project.

Symbols: 1/tau ``scale``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import ConeForm
from geomsolve.objectives.enumerated import Enumerated
from geomsolve.objectives.expectation import ENUMERATION_LIMIT, Row, log_terms

CONIC_TERMS = 20_000
"""Exponential terms up to which there is a cone form."""


class Ranked(Enumerated):
    """See the module.  ``pairs`` (m, m): how many partners of each orbit a sample has; ``sizes`` (m,) of orbits;
    ``farness`` (m, m): label distances, equal where they count as such."""

    def __init__(self, pairs: FloatArray, sizes: FloatArray, farness: FloatArray, temperature: float) -> None:
        self.scale = 1 / temperature
        n = float(sizes.sum())
        share = pairs * sizes[:, None] / (n * (n - 1))
        g, j = np.nonzero(pairs > 0)
        weights = np.where(farness[g] >= farness[g, j][:, None], pairs[g], 0.0)
        self.linear: FloatArray = share
        self.attraction = self.scale * share
        self._hold(share[g, j], np.zeros(g.size), g, weights)

    def _rows(self, cosines: FloatArray) -> Iterator[tuple[int, FloatArray, FloatArray, FloatArray]]:
        """As in the base, without a constant in the sums: relative to the largest term of each row."""
        for g, (first, last) in enumerate(zip(self._ends[:-1], self._ends[1:], strict=True)):
            if first < last:
                weights, t = self.weights[first:last], self.scale * (cosines[g] - 1)
                top = np.where(weights > 0, t, -np.inf).max(axis=1, keepdims=True)
                terms = weights * np.exp(np.minimum(t - top, 0.0))
                crowd = terms.sum(axis=1)
                yield g, self.mass[first:last], np.log(crowd) + top[:, 0], terms / crowd[:, None]

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = super().evaluate(cosines)
        return value - self.scale * float(np.sum(self.linear * (cosines - 1))), gradient - self.attraction

    def cone_form(self) -> ConeForm | None:
        if np.count_nonzero(self.weights) > min(CONIC_TERMS, ENUMERATION_LIMIT):
            return None
        rows: list[Row] = [
            (float(p), 0.0, int(g), {h: float(w) for h, w in enumerate(row) if w})
            for p, g, row in zip(self.mass, self.anchor, self.weights, strict=True)
        ]
        linear = -self.scale * self.linear
        return ConeForm(constant=-float(linear.sum()), linear=linear, logs=log_terms(rows, self.scale))
