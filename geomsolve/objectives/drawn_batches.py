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
from itertools import chain, combinations
from math import exp, lgamma, log

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.enumerated import Enumerated, how_many
from geomsolve.objectives.finite_draws import drawn

MOST_COMPOSITIONS = 2000
"""Compositions of a batch up to which they are enumerated."""

LEAST = -45.0
"""Logarithm of the probability of a composition below which it is left out: all of them together are below 1e-14."""

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
        by_orbit = self.by_orbit(numbers)
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
        return how_many(self.batch, self.orbits.n_classes) <= MOST_COMPOSITIONS

    def compositions(self) -> tuple[FloatArray, IntArray]:
        """Every composition that there may be: its probability (n,) and how often it has each class (n, K)."""
        k, b = self.orbits.n_classes, self.batch
        bars = np.fromiter(chain.from_iterable(combinations(range(b + k - 1), k - 1)), dtype=np.int64)
        edges = bars.reshape(-1, k - 1)
        ends = np.full((edges.shape[0], 1), b + k - 1)
        numbers = np.diff(np.hstack([np.full_like(ends, -1), edges, ends]), axis=1) - 1
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, b + 1)))])
        if self.finite:
            numbers = numbers[np.all(numbers <= self.counts, axis=1)]
            total = int(self.counts.sum())
            ways = -log_factorial[numbers].sum(axis=1) + log_factorial[b]
            for c, n in enumerate(self.counts.tolist()):  # n (n - 1) ... (n - d + 1) for d drawn
                most = min(n, b)
                ways += np.concatenate([[0.0], np.cumsum(np.log(n - np.arange(most)))])[numbers[:, c]]
            ways -= float(np.log(total - np.arange(b)).sum())
        else:
            log_p = np.log(self.orbits.proportions[self.orbits.index])
            ways = numbers @ log_p - log_factorial[numbers].sum(axis=1) + log_factorial[b]
        kept = ways > LEAST
        return np.exp(ways[kept]), numbers[kept]

    def by_orbit(self, numbers: IntArray) -> FloatArray:
        """(n, m) samples of each orbit from those of each class (n, K)."""
        by_orbit: FloatArray = numbers @ np.eye(self.orbits.n_orbits)[self.orbits.index]
        return by_orbit


def whole_counts(orbits: Orbits, batch: int) -> FloatArray:
    """The counts (m,) of ``orbits``; :class:`InputError` unless a ``batch`` can be drawn without replacement."""
    counts = orbits.counts
    if counts is None or np.any(counts != np.round(counts)):
        raise InputError(
            "batches without replacement are drawn from the samples of each class; this needs whole counts, not shares",
            field="loss.replacement",
        )
    total = int(orbits.sizes @ counts)
    if batch > total:
        raise InputError(
            f"a batch of {batch:,} cannot be drawn without replacement from {total:,} samples; take a smaller one",
            field="loss.batch",
        )
    return counts


class MeanNonzero(Enumerated):
    """E of the mean over the anchors that have a positive, by enumeration; see the module."""

    unique_minimiser = False

    def __init__(self, batches: Batches, temperature: float) -> None:
        views = batches.views
        chance, numbers = batches.compositions()
        paired = numbers * (views * numbers > 1)
        heard = np.maximum(paired.sum(axis=1), 1)
        super().__init__(
            batches.orbits,
            paired * (chance / heard)[:, None],
            np.maximum(views * numbers - 1.0, 1.0),
            views * numbers,
            temperature,
        )
