"""The exact expected log-loss over k random negatives, for any k, without enumeration or sampling.

    F(C) = sum_a p_a E log Y_a,    Y_a = a0 + b sum_{j=1..k} X_j,    X_j i.i.d., X = e^{t_ac} with probability r(c|a)

uses the identity  E log Y = int_0^inf (e^{-s} - E e^{-sY}) ds/s  (Frullani), in which the expectation factorises:

    E e^{-sY} = e^{-a0 s} phi(b s)^k,    phi(s) = sum_c r(c|a) e^{-s X_ac}.

With s = e^x the integrand is analytic in the strip |Im x| < pi/2 and decays at both ends, so the trapezoid
rule converges like exp(-pi^2/step): step 1/4 is exact to rounding.  Gradient and curvature differentiate
under the integral.  Derived for this project; enumeration over multinomials is its test.

Symbols: k ``negatives``, a0 ``base``, b ``factor``, r ``chance``, r(own|a) ``own``, phi^k through ``log_phi``.
"""

from __future__ import annotations

from math import comb, exp, inf, lgamma, log

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.losses.base import ConeForm, Curvature, LogTerms, Objective

STEP = 0.25
"""Trapezoid step in x = log s; the discretisation error is about exp(-pi^2 / STEP) = 1e-17."""

ENUMERATION_LIMIT = 1500
"""Most terms that a cone form may have: beyond it the conic program is slower than any other route."""

DENSE_CURVATURE = 96
"""Orbits up to which the curvature is kept as m matrices of m x m (8 m^3 bytes), not recomputed."""


class LogExpectation(Objective):
    """See the module.  ``chance`` (m, m): probability that a negative of an anchor in orbit g is *another* class
    of orbit h; ``own`` (m,): that it is the anchor's own class, where X = 1; ``mass`` (m,) of the anchors."""

    def __init__(
        self,
        chance: FloatArray,
        own: FloatArray,
        mass: FloatArray,
        *,
        base: float,
        factor: float,
        negatives: int,
        scale: float,
        unique_minimiser: bool,
    ) -> None:
        self.chance, self.own, self.mass = chance, own, mass
        self.base, self.factor, self.negatives, self.scale = base, factor, negatives, scale
        self.unique_minimiser = unique_minimiser

    def _nodes(self, x: FloatArray, chance: FloatArray, own: float) -> FloatArray:
        """Quadrature nodes s for an anchor whose negatives have X = ``x`` with probability ``chance`` (or 1, ``own``).

        Left of the first node the integrand is below 1e-18, since it is at most s (1 + E Y); right of the last
        both e^{-s} and e^{-sY} are below 1e-18.
        """
        mean = self.base + self.factor * self.negatives * float(chance @ x + own)
        low = min([float(x[chance > 0].min(initial=inf))] + ([1.0] if own > 0 else []))
        least = self.base + self.factor * self.negatives * low
        start, stop = log(1e-18 / (1 + mean)), log(42 / min(1.0, least))
        return np.exp(STEP * np.arange(np.floor(start / STEP), np.ceil(stop / STEP) + 1))

    def _anchor(self, g: int, cosines: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """For an anchor in orbit g: X (m,), nodes s (N,), e^{-b s X} (N, m), log phi(b s) (N,)."""
        x = np.exp(self.scale * (cosines[g] - 1))
        s = self._nodes(x, self.chance[g], float(self.own[g]))
        decay = np.expm1(-self.factor * s[:, None] * x)
        own = np.expm1(-self.factor * s) * self.own[g]
        with np.errstate(divide="ignore"):
            log_phi = np.log1p(np.maximum(decay @ self.chance[g] + own, -1.0))
        return x, s, decay + 1, log_phi

    def _power(self, k: int, s: FloatArray, log_phi: FloatArray) -> FloatArray:
        """e^{-a0 s} phi(b s)^k at the nodes."""
        return np.exp(-self.base * s + (k * log_phi if k else 0.0))

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        k, b = self.negatives, self.factor
        value, gradient = 0.0, np.zeros_like(self.chance)
        for g in np.flatnonzero(self.mass).tolist():
            x, s, decay, log_phi = self._anchor(g, cosines)
            value += self.mass[g] * STEP * float(np.sum(np.exp(-s) - self._power(k, s, log_phi)))
            weight = STEP * k * b * s * self._power(k - 1, s, log_phi)
            gradient[g] = self.mass[g] * self.scale * self.chance[g] * x * (weight @ decay)
        return value, gradient

    def curvature(self, cosines: FloatArray) -> Curvature:
        k, b = self.negatives, self.factor
        m = self.mass.size

        def anchor(g: int) -> tuple[FloatArray, FloatArray, FloatArray]:
            """The second derivative at anchor g is diag(own) - terms' diag(pair) terms."""
            x, s, decay, log_phi = self._anchor(g, cosines)
            terms = self.chance[g] * x * decay
            weight = STEP * k * b * s * self._power(k - 1, s, log_phi)
            own = np.einsum("n,nh,nh->h", weight, terms, 1 - b * s[:, None] * x)
            pair = STEP * b * b * k * (k - 1) * s * s * self._power(max(k - 2, 0), s, log_phi)
            return own, pair, terms

        if m <= DENSE_CURVATURE:
            dense = np.zeros((m, m, m))
            for g in np.flatnonzero(self.mass).tolist():
                own, pair, terms = anchor(g)
                dense[g] = self.mass[g] * self.scale**2 * (np.diag(own) - (terms.T * pair) @ terms)
            return lambda change: np.einsum("ghj,gj->gh", dense, change)

        def apply(change: FloatArray) -> FloatArray:
            result = np.zeros_like(change)
            for g in np.flatnonzero(self.mass).tolist():
                own, pair, terms = anchor(g)
                result[g] = self.mass[g] * self.scale**2 * (own * change[g] - (pair * (terms @ change[g])) @ terms)
            return result

        return apply

    def cone_form(self) -> ConeForm | None:
        """Enumerate how often each class is drawn (a multinomial), if that is short enough."""
        k, m = self.negatives, self.mass.size
        anchors = np.flatnonzero(self.mass).tolist()
        kinds = {g: np.flatnonzero(self.chance[g]) for g in anchors}
        if sum(comb(k + kinds[g].size, k) for g in anchors) > ENUMERATION_LIMIT:
            return None
        mass: list[float] = []
        offset: list[float] = []
        terms: list[tuple[int, int, int, float]] = []
        for g, others in kinds.items():
            has_own = bool(self.own[g] > 0)
            log_chance = [log(c) for c in ([float(self.own[g])] if has_own else []) + self.chance[g, others].tolist()]
            for drawn in compositions(k, others.size + has_own):
                ways = sum(n * q - lgamma(n + 1) for n, q in zip(drawn, log_chance, strict=True))
                constant = self.base + self.factor * (drawn[0] if has_own else 0)
                offset.append(log(constant) if constant > 0 else -inf)
                for h, n in zip(others, drawn[has_own:], strict=True):
                    if n:
                        terms.append((len(mass), g, int(h), log(self.factor * n)))
                mass.append(float(self.mass[g]) * exp(lgamma(k + 1) + ways))
        row, first, second, log_weight = (np.array(column) for column in zip(*terms, strict=True))
        logs = LogTerms(
            np.array(mass),
            np.array(offset),
            row.astype(np.int64),
            first.astype(np.int64),
            second.astype(np.int64),
            log_weight.astype(np.float64),
            self.scale,
        )
        return ConeForm(m, logs=logs)


def compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write ``total`` as an ordered sum of ``parts`` numbers >= 0."""
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in compositions(total - first, parts - 1)]
