"""NT-Xent on labelled random batches: every positive pair against the embeddings of the other classes.

A batch of B samples in V views, n_a of class a, so m_a = V n_a embeddings.  Its loss is the mean over ordered positive
pairs (i, j) of  -log( e^{s_ij} / (e^{s_ij} + sum_n e^{s_in}) ),  n of other classes.  That is convex in the cosines and
falls with every s_ij, so by Jensen's inequality nothing is lost where the embeddings of a class coincide.  Then it is

    L = sum_a w_a l_a / W,    w_a = m_a (m_a - 1),    W = sum_a w_a,    l_a = log( 1 + sum_{b != a} m_b e^{t_ab} ),

0 where W = 0, and the population objective is its expectation over batches:

    exact   E L, a sum over the compositions of a batch, where these are few                        (:class:`PairMean`)
    ratio   E[sum_a w_a l_a] / E W, the mean over the pairs of ever more batches                    (:class:`PairRatio`)

The ratio has a product form.  w_a is V (V - 1) n_a + V^2 n_a (n_a - 1), a sum over one sample of the class and over two
different ones; the others of the batch are then drawn independently of them, and those of the own class add nothing:

    sum_a V (V - 1) B p_a E log Y_a(B - 1) + V^2 B (B - 1) p_a^2 E log Y_a(B - 2),
    Y_a(k) = 1 + V sum_{j <= k} X_j,   X = e^{t_ac} with chance p_c, 0 with chance p_a         (``expectation.py``)

The two differ by E L - ratio = - Cov(L, W) / E W, which drawn batches measure (:meth:`PairBatches.mean`).  As no batch
has more than N (N - 1) pairs, N = V B, E L is at least E W / (N (N - 1)) times the ratio.

Symbols: B ``batch``, V ``views``, n_a ``numbers``, w_a ``pairs``, p_a ``proportions``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import ConeForm, LogTerms, Objective, RowCurvature
from geomsolve.objectives.drawn_batches import Batches
from geomsolve.objectives.enumerated import Enumerated, how_many
from geomsolve.objectives.expectation import LogExpectation

MOST_COMPOSITIONS = 20_000
"""Compositions of a batch up to which they are enumerated: an evaluation takes some ten milliseconds."""

DRAWN = 20_000
"""Batches that are drawn to see what a ratio of expectations differs by."""


@dataclass(frozen=True)
class PairBatches(Batches):
    """Random batches and their positive pairs."""

    @property
    def few(self) -> bool:
        return how_many(self.batch, self.orbits.n_classes) <= MOST_COMPOSITIONS

    def pairs(self, numbers: IntArray) -> FloatArray:
        """w (n, K): ordered positive pairs of each class."""
        embeddings = float(self.views) * numbers
        pairs: FloatArray = embeddings * (embeddings - 1)
        return pairs

    @property
    def expected_pairs(self) -> float:
        """E W."""
        b, v, orbits = float(self.batch), float(self.views), self.orbits
        same = float(np.sum(orbits.sizes * orbits.proportions**2))
        return v * (v - 1) * b + v**2 * b * (b - 1) * same

    def values(self, numbers: IntArray, cosines: FloatArray, temperature: float) -> tuple[FloatArray, FloatArray]:
        """(n,) losses L of the batches ``numbers`` (n, K) at orbit ``cosines`` (m, m), twice: no anchor is left out."""
        orbits = self.orbits
        x = np.exp((cosines - 1) / temperature)
        x[orbits.sizes == 1, orbits.sizes == 1] = 0.0
        others = (self.by_orbit(numbers) @ x.T)[:, orbits.index] - numbers * np.diag(x)[orbits.index]
        pairs = self.pairs(numbers)
        total, whole = np.sum(pairs * np.log1p(self.views * others), axis=1), pairs.sum(axis=1)
        loss = np.divide(total, whole, out=np.zeros_like(total), where=whole > 0)
        return loss, loss

    def mean(self, ratio: float, cosines: FloatArray, temperature: float, seed: int = 0) -> dict[str, float]:
        """E L at orbit ``cosines`` from drawn batches, ``value`` and ``standard_error``; E[W L] / E W is ``ratio``.

        W and W L, whose expectations are known, are regressed out.
        """
        numbers = self.draw(DRAWN, np.random.default_rng(seed))
        loss = self.values(numbers, cosines, temperature)[0]
        weight = self.pairs(numbers).sum(axis=1) / self.expected_pairs
        known = np.column_stack([np.ones_like(loss), weight - 1, weight * loss - ratio])
        fit, *_ = np.linalg.lstsq(known, loss, rcond=None)
        left = loss - known @ fit
        return {"value": float(fit[0]), "standard_error": float(left.std() / left.size**0.5)}


class PairMean(Enumerated):
    """E L by enumeration; see the module.

    It is strictly convex: for any two classes there are batches in which one is a positive pair and the other is there.
    """

    unique_minimiser = True
    expectation = "exact"

    def __init__(self, batches: PairBatches, temperature: float) -> None:
        chance, numbers = batches.compositions()
        pairs = batches.pairs(numbers)
        share = chance / np.maximum(pairs.sum(axis=1), 1)
        super().__init__(
            batches.orbits, pairs * share[:, None], np.ones(pairs.shape), batches.views * numbers, temperature
        )

    def crowds(self) -> tuple[IntArray, FloatArray]:
        """Every number of negatives that a pair may have, and how much of the loss falls on it."""
        crowd = np.round(self.weights.sum(axis=1)).astype(np.int64)
        mass = np.bincount(crowd, weights=self.mass).astype(np.float64)
        used = np.flatnonzero(mass)
        return used, mass[used]


class PairRatio(Objective):
    """E[W L] / E W; see the module."""

    unique_minimiser = True
    expectation = "ratio"

    def __init__(self, batches: PairBatches, temperature: float) -> None:
        self.batches, self.temperature = batches, temperature
        orbits = batches.orbits
        self.least_share = batches.expected_pairs / float(batches.pairs(np.array([batches.batch]))[0])
        b, v, p = batches.batch, batches.views, orbits.proportions
        one = v * (v - 1) * float(b) * p
        two = v**2 * float(b) * (b - 1) * p**2
        self.parts = [
            LogExpectation(
                orbits.others * p,
                np.zeros_like(p),
                orbits.sizes * mass / batches.expected_pairs,
                base=1.0,
                factor=v,
                negatives=draws,
                scale=1 / temperature,
                unique_minimiser=True,
                nothing=p,
            )
            for mass, draws in ((one, b - 1), (two, b - 2))
            if draws > 0 and mass.any()
        ]

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        found = [part.evaluate(cosines) for part in self.parts]
        return sum(value for value, _ in found), np.sum([slope for _, slope in found], axis=0)

    def curvature(self, cosines: FloatArray) -> RowCurvature:
        return RowCurvature.together([part.curvature(cosines) for part in self.parts])

    def cone_form(self) -> ConeForm | None:
        forms = [part.cone_form() for part in self.parts]
        logs = [form.logs for form in forms if form is not None and form.logs is not None]
        return ConeForm(logs=LogTerms.together(logs)) if len(logs) == len(self.parts) else None

    def drawn_mean(self, cosines: FloatArray, seed: int = 0) -> dict[str, float]:
        return self.batches.mean(self.value(cosines), cosines, self.temperature, seed)

    def crowds(self) -> tuple[IntArray, FloatArray]:
        """Every number of negatives that a pair may have, and how much of the loss falls on it."""
        from scipy.stats import binom  # here, since only levels need it

        n, v = self.batches.batch, self.batches.views
        drawn = np.arange(n)
        mass = np.zeros(n)
        for part in self.parts:
            for g in np.flatnonzero(part.mass):
                mass += part.mass[g] * binom.pmf(drawn, part.negatives, 1 - self.batches.orbits.proportions[g])
        kept = mass > 1e-15
        return v * drawn[kept], mass[kept]


def positive_pairs(batches: PairBatches, temperature: float) -> PairMean | PairRatio:
    """The exact expectation where compositions are few, else the ratio."""
    return PairMean(batches, temperature) if batches.few else PairRatio(batches, temperature)
