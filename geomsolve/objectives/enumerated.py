"""Expectations over random batches by enumeration: one logarithm for every kind of anchor in every composition.

    F(C) = sum_r mass_r log( constant_r + sum_h weight_rh e^{t_{g(r) h}} ),    t = (C - 1) scale,  constant_r >= 1

Rows are sorted by their anchor's orbit g, so that gradient and curvature are one matrix product an orbit.

Symbols: 1/tau ``scale``, softmax probabilities ``share``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import ConeForm, Curvature, Objective, RowCurvature
from geomsolve.objectives.expectation import ENUMERATION_LIMIT, NEGLIGIBLE, Row, log_terms


class Enumerated(Objective):
    """See the module.

    ``mass``, ``constant`` (n, K) for an anchor of each class in each of n batches, which hold ``numbers`` (n, K)
    embeddings of each class; an anchor is compared with those of the other classes.
    """

    def __init__(
        self, orbits: Orbits, mass: FloatArray, constant: FloatArray, numbers: IntArray | FloatArray, temperature: float
    ) -> None:
        self.scale = 1 / temperature
        by_orbit = numbers @ np.eye(orbits.n_orbits)[orbits.index]
        masses, constants, anchors, weights = [], [], [], []
        for a, g in enumerate(orbits.index.tolist()):
            used = mass[:, a] > 0
            others = by_orbit[used]
            others[:, g] -= numbers[used, a]
            masses.append(mass[used, a])
            constants.append(constant[used, a])
            anchors.append(np.full(others.shape[0], g))
            weights.append(others)
        found = (np.concatenate(masses), np.concatenate(constants), np.concatenate(anchors), np.concatenate(weights))
        if orbits.n_orbits < orbits.n_classes:
            found = _alike_once(*found)
        self._hold(*found)

    def _hold(self, mass: FloatArray, constant: FloatArray, anchor: IntArray, weights: FloatArray) -> None:
        """Take rows (R,) and the weights of their terms (R, m)."""
        order = np.argsort(anchor, kind="stable")
        self.mass, self.constant, self.weights = mass[order], constant[order], weights[order]
        self.anchor = anchor[order]
        self._ends = np.searchsorted(self.anchor, np.arange(weights.shape[1] + 1))

    def _rows(self, cosines: FloatArray) -> Iterator[tuple[int, FloatArray, FloatArray, FloatArray]]:
        """For each orbit g that has rows: g, their masses, logarithms and shares (R_g, m)."""
        for g, (first, last) in enumerate(zip(self._ends[:-1], self._ends[1:], strict=True)):
            if first < last:
                constant = self.constant[first:last]
                terms = self.weights[first:last] * np.exp(self.scale * (cosines[g] - 1))
                crowd = terms.sum(axis=1)
                logs = np.log(constant) + np.log1p(crowd / constant)
                yield g, self.mass[first:last], logs, terms / (constant + crowd)[:, None]

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = 0.0, np.zeros_like(cosines)
        for g, mass, logs, share in self._rows(cosines):
            value += float(mass @ logs)
            gradient[g] = self.scale * (mass @ share)
        return value, gradient

    def curvature(self, cosines: FloatArray) -> Curvature:
        """At anchor g it is diag(own_g) - share' diag(mass) share, whose eigenvectors are the normalisers."""
        m = cosines.shape[0]
        own, rows = np.zeros((m, m)), np.zeros((m, m, m))
        for g, mass, _, share in self._rows(cosines):
            own[g] = self.scale**2 * (mass @ share)
            sizes, turns = np.linalg.eigh(self.scale**2 * (share.T * mass) @ share)
            rows[:, g] = (turns * np.sqrt(np.maximum(sizes, 0.0))).T[::-1]
        reach = np.abs(rows).max(axis=(1, 2))
        return RowCurvature(own, rows[reach > NEGLIGIBLE * reach.max(initial=0.0)])

    def cone_form(self) -> ConeForm | None:
        if self.mass.size > ENUMERATION_LIMIT:
            return None
        rows: list[Row] = [
            (float(p), float(c), int(g), {h: float(w) for h, w in enumerate(row) if w})
            for p, c, g, row in zip(self.mass, self.constant, self.anchor, self.weights, strict=True)
        ]
        return ConeForm(logs=log_terms(rows, self.scale))


def _alike_once(
    mass: FloatArray, constant: FloatArray, anchor: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Equal rows, as classes of one orbit make them, as one row of their masses together."""
    rows, place = np.unique(np.column_stack([anchor, constant, weights]), axis=0, return_inverse=True)
    masses = np.bincount(place.ravel(), weights=mass).astype(np.float64)
    return masses, rows[:, 1], rows[:, 0].astype(np.int64), rows[:, 2:].astype(np.float64)


def how_many(total: int, parts: int) -> int:
    """How many ways there are to write ``total`` as an ordered sum of ``parts`` numbers >= 0."""
    return comb(total + parts - 1, parts - 1)
