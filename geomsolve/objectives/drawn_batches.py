"""Single random batches of supcon: what each is worth, and which compositions they have.

A batch of B samples with N_c of class c, in V views.  An anchor of class c costs

    l_c = log( V N_c - 1 + V sum_{d != c} N_d e^{t_cd} ),    0 where it has no positive, V N_c = 1,

and the batch, R the anchors that have one,  sum_c N_c l_c / B (mean)  or  sum_c N_c l_c / R (mean-nonzero, 0 where
R = 0).  The expectation of the second has no product form.  It is a sum over compositions where these are few
(:class:`MeanNonzero`, convex as each logarithm is); else E sum / E R times P(R > 0) stands for it, whose error batches
drawn here measure.

Symbols: B ``batch``, V ``views``, N_c ``numbers``, P(R > 0) ``any_positive``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import comb, exp, lgamma, log

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import ConeForm, Curvature, Objective
from geomsolve.objectives.expectation import Row, compositions, log_terms
from geomsolve.objectives.finite_draws import drawn

MOST_COMPOSITIONS = 2000
"""Compositions of a batch up to which they are enumerated."""

MOST_HELD = 10**9
"""Samples in all from which on drawing without replacement is drawing with it: numpy draws from fewer only."""

ENTRIES = 2e7
"""Numbers of samples (batches times classes) that are drawn at most."""


@dataclass(frozen=True)
class Batches:
    """How random batches are drawn: ``batch`` samples in ``views`` views, from ``orbits``; ``finite``: without
    replacement from the counts."""

    orbits: Orbits
    batch: int
    views: int
    finite: bool

    @property
    def counts(self) -> IntArray:
        """(K,) samples of each class."""
        assert self.orbits.counts is not None
        return np.round(self.orbits.counts[self.orbits.index]).astype(np.int64)

    def draw(self, how_many: int, rng: np.random.Generator) -> IntArray:
        """(n, K): how often each class stands in each of n batches."""
        n = max(1, min(how_many, int(ENTRIES / self.orbits.n_classes)))
        if self.finite and self.counts.sum() < MOST_HELD:
            return rng.multivariate_hypergeometric(self.counts, self.batch, size=n, method="marginals")
        p = self.orbits.proportions[self.orbits.index]
        return rng.multinomial(self.batch, p / p.sum(), size=n)

    def values(self, numbers: IntArray, cosines: FloatArray, temperature: float) -> tuple[FloatArray, FloatArray]:
        """(n,) mean and mean-nonzero of the batches ``numbers`` (n, K) at orbit ``cosines`` (m, m)."""
        orbits = self.orbits
        x = np.exp((cosines - 1) / temperature)
        x[orbits.sizes == 1, orbits.sizes == 1] = 0.0
        by_orbit = numbers @ np.eye(orbits.n_orbits)[orbits.index]
        others = (by_orbit @ x.T)[:, orbits.index] - numbers * np.diag(x)[orbits.index]
        paired = self.views * numbers > 1
        cost = np.log(np.where(paired, self.views * (numbers + others) - 1, 1.0))
        total = np.sum(numbers * cost, axis=1)
        heard = np.sum(numbers * paired, axis=1)
        return total / self.batch, np.divide(total, heard, out=np.zeros_like(total), where=heard > 0)

    def lonely(self) -> float:
        """How likely an anchor has no positive: the rest of its batch is of other classes."""
        orbits, others = self.orbits, self.batch - 1
        if self.views > 1:
            return 0.0
        if not self.finite:
            p = orbits.proportions
            return float(np.sum(orbits.sizes * p * (1 - p) ** others))
        assert orbits.counts is not None
        n = orbits.counts
        total = float(orbits.sizes @ n)
        left = np.maximum(1 - (n[:, None] - 1) / (total - 1 - np.arange(others)), 0.0)
        return float(np.sum(orbits.sizes * n / total * np.prod(left, axis=1)))

    def lacks_a_class(self) -> float:
        """How likely a batch lacks at least one class.

        P(all there) = B! [z^B] prod (e^{p_a z} - 1), or, without replacement, [z^B] prod ((1 + z)^{n_a} - 1) / C(N, B);
        by Cauchy's integral on the circle |z| = B, or B / (N - B).
        """
        orbits, b = self.orbits, self.batch
        p, n = orbits.proportions, orbits.sizes
        if orbits.n_classes > b:
            return 1.0
        if self.finite:
            counts = np.asarray(orbits.counts)
            total = float(n @ counts)
            if b == total:
                return 0.0
            gone = np.maximum(1 - counts[:, None] / (total - np.arange(b)), 0.0)
            expected = float(np.sum(n * np.prod(gone, axis=1)))
        else:
            expected = float(np.sum(n * (1 - p) ** b))
        if expected < 1e-9:  # then one class at most is missing, up to the square of this
            return expected
        nodes = 2 * b + 200
        theta = 2 * np.pi * np.arange(nodes) / nodes
        if self.finite:
            growth = np.log(1 + b / (total - b) * np.exp(1j * theta))
            powers = np.multiply.outer(growth, counts)
            ahead = powers.real > 0
            small = np.exp(np.where(ahead, -powers, powers))
            terms = np.where(ahead, powers + np.log(1 - small), np.log(small - 1)) @ n
            size = growth[0].real * total
            every = np.exp(growth * total - size - 1j * b * theta).real.mean()
        else:
            z = b * np.exp(1j * theta)
            terms, size = np.log(1 - np.exp(-np.multiply.outer(z, p))) @ n + z, float(b)
            every = exp(b * log(b) - b - lgamma(b + 1))
        present = float(np.exp(terms - size - 1j * b * theta).real.mean()) / every
        return float(min(1.0, max(0.0, 1 - present)))

    def any_positive(self) -> float:
        """P(R > 0): not every class of the batch comes once.  By the coefficient of ``finite_draws.py``: all single
        draws out of prod (1 + p_a z)."""
        orbits = self.orbits
        if self.views > 1 or orbits.n_classes < self.batch:
            return 1.0
        weights = orbits.counts if self.finite else orbits.proportions
        assert weights is not None
        moved = np.log(weights.max() / weights)
        # elementary symmetric polynomial e_B(weights) = max^B C(K, B) E e^{-moved} over B of the K classes
        log_phi = drawn(np.stack([np.zeros_like(moved), moved]), orbits.sizes.astype(np.float64), self.batch).log_phi
        steps = np.arange(self.batch)
        single = float(log_phi[1]) + float(np.log(orbits.n_classes - steps).sum())
        if self.finite:
            total = float(self.counts.sum())
            single += float((log(weights.max()) - np.log(total - steps)).sum())
        else:
            single += self.batch * log(weights.max())
        return -float(np.expm1(min(0.0, single)))

    @property
    def few(self) -> bool:
        """Whether compositions are few enough to be enumerated."""
        k = self.orbits.n_classes
        return comb(self.batch + k - 1, k - 1) <= MOST_COMPOSITIONS

    def compositions(self) -> list[tuple[float, tuple[int, ...]]]:
        """Every composition (K,) with its probability."""
        k, b = self.orbits.n_classes, self.batch
        found = []
        log_p = np.log(self.orbits.proportions[self.orbits.index]).tolist()
        counts = self.counts.tolist() if self.finite else []
        for numbers in compositions(b, k):
            if not self.finite:
                ways = lgamma(b + 1) + sum(n * q - lgamma(n + 1) for n, q in zip(numbers, log_p, strict=True))
            elif all(d <= n for d, n in zip(numbers, counts, strict=True)):
                ways = sum(log(comb(n, d)) for n, d in zip(counts, numbers, strict=True)) - log(comb(sum(counts), b))
            else:
                continue
            found.append((exp(ways), numbers))
        return found


class MeanNonzero(Objective):
    """E of the mean over the anchors that have a positive, by enumeration; see the module."""

    unique_minimiser = False

    def __init__(self, batches: Batches, temperature: float) -> None:
        orbits, views = batches.orbits, batches.views
        index, m = orbits.index, orbits.n_orbits
        self.scale = 1 / temperature
        mass, constant, anchor, weights = [], [], [], []
        for chance, numbers in batches.compositions():
            heard = sum(n for n in numbers if views * n > 1)
            by_orbit = views * np.bincount(index, weights=numbers, minlength=m)
            for g, n in product(range(m), sorted(set(numbers))):
                alike = sum(1 for a, other in enumerate(numbers) if index[a] == g and other == n)
                if alike and views * n > 1:
                    row = by_orbit.copy()
                    row[g] -= views * n
                    mass.append(chance * alike * n / heard)
                    constant.append(views * n - 1.0)
                    anchor.append(g)
                    weights.append(row)
        self.mass, self.constant = np.array(mass), np.array(constant)
        self.anchor, self.weights = np.array(anchor, dtype=np.int64), np.array(weights)

    def _shares(self, cosines: FloatArray) -> tuple[FloatArray, FloatArray]:
        terms = self.weights * np.exp(self.scale * (cosines[self.anchor] - 1))
        sums = self.constant + terms.sum(axis=1)
        return np.log(sums), terms / sums[:, None]

    def _gathered(self, rows: FloatArray) -> FloatArray:
        m = rows.shape[1]
        gathered = np.zeros((m, m))
        np.add.at(gathered, self.anchor, rows)
        return gathered

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        logs, share = self._shares(cosines)
        return float(self.mass @ logs), self._gathered(self.scale * self.mass[:, None] * share)

    def curvature(self, cosines: FloatArray) -> Curvature:
        share = self._shares(cosines)[1]
        rate = self.scale**2 * self.mass[:, None]

        def bend(change: FloatArray) -> FloatArray:
            moved = share * change[self.anchor]
            return self._gathered(rate * (moved - share * moved.sum(axis=1, keepdims=True)))

        return bend

    def cone_form(self) -> ConeForm | None:
        rows: list[Row] = [
            (float(p), float(c), int(g), {h: float(w) for h, w in enumerate(row) if w})
            for p, c, g, row in zip(self.mass, self.constant, self.anchor, self.weights, strict=True)
        ]
        return ConeForm(logs=log_terms(rows, self.scale))
