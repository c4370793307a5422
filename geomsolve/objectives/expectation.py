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

from dataclasses import dataclass
from math import comb, exp, inf, lgamma, log

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import ConeForm, Curvature, LogTerms, Objective, RowCurvature

STEP = 0.25
"""Trapezoid step in x = log s; the discretisation error is about exp(-pi^2 / STEP) = 1e-17."""

ENUMERATION_LIMIT = 1500
"""Most terms that a cone form may have: beyond it the conic program is slower than any other route."""

NEGLIGIBLE = 1e-12
"""Normalisers that carry less than this part of a row's largest one are left out of its curvature."""


@dataclass(frozen=True)
class Anchor:
    """One anchor's distinct X, ``x`` (n,), and the ``place`` (m,) of each orbit's X among them; nodes ``s`` (N,);
    e^{-b s X}, ``decay`` (N, n); log phi(b s), ``log_phi`` (N,)."""

    x: FloatArray
    place: IntArray
    s: FloatArray
    decay: FloatArray
    log_phi: FloatArray


TINY = 1e-300
"""A sum of exponentials below this has lost its accuracy, or is 0."""


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
        if least < TINY:
            raise InputError(
                "too low for an exact expectation: where all negatives are far, e^(-2/t) is no floating-point number; "
                "take 0.003 or more",
                field="loss.temperature",
            )
        start, stop = log(1e-18 / (1 + mean)), log(42 / min(1.0, least))
        return np.exp(STEP * np.arange(np.floor(start / STEP), np.ceil(stop / STEP) + 1))

    def _anchor(self, g: int, cosines: FloatArray) -> Anchor:
        """What value and derivatives at an anchor in orbit g are made of; equal X are treated once."""
        x, place = np.unique(np.exp(self.scale * (cosines[g] - 1)), return_inverse=True)
        chance = np.bincount(place, weights=self.chance[g]).astype(np.float64)
        s = self._nodes(x, chance, float(self.own[g]))
        decay = np.expm1(-self.factor * s[:, None] * x)
        own = np.expm1(-self.factor * s) * self.own[g]
        with np.errstate(divide="ignore"):
            log_phi = np.log1p(np.maximum(decay @ chance + own, -1.0))
        decay += 1
        return Anchor(x, place, s, decay, log_phi)

    def _power(self, k: int, s: FloatArray, log_phi: FloatArray) -> FloatArray:
        """e^{-a0 s} phi(b s)^k at the nodes."""
        return np.exp(-self.base * s + (k * log_phi if k else 0.0))

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        k, b = self.negatives, self.factor
        value, gradient = 0.0, np.zeros_like(self.chance)
        for g in np.flatnonzero(self.mass).tolist():
            at = self._anchor(g, cosines)
            value += self.mass[g] * STEP * float(np.sum(np.exp(-at.s) - self._power(k, at.s, at.log_phi)))
            weight = STEP * k * b * at.s * self._power(k - 1, at.s, at.log_phi)
            gradient[g] = self.mass[g] * self.scale * self.chance[g] * (at.x * (weight @ at.decay))[at.place]
        return value, gradient

    def curvature(self, cosines: FloatArray) -> Curvature:
        """The second derivative at anchor g is diag(own) - sum_n pair_n terms_n terms_n', over the nodes n; the sum has
        low rank, so it is kept as a few normalisers a row."""
        k, b = self.negatives, self.factor
        own = np.zeros_like(self.chance)
        normalisers: list[FloatArray] = [np.zeros((0, own.shape[1]))] * own.shape[0]
        for g in np.flatnonzero(self.mass).tolist():
            at = self._anchor(g, cosines)
            weight = STEP * k * b * at.s * self._power(k - 1, at.s, at.log_phi)
            straight = at.x * (weight @ at.decay - at.x * ((b * at.s * weight) @ at.decay))
            own[g] = self.mass[g] * self.scale**2 * self.chance[g] * straight[at.place]
            if k > 1:
                pair = np.sqrt(STEP * k * (k - 1) * self._power(k - 2, at.s, at.log_phi)) * b * at.s
                terms = pair[:, None] * at.decay * at.x
                reach = terms.max(axis=1)
                terms = terms[reach > NEGLIGIBLE**0.5 * reach.max()]
                if terms.shape[0] > terms.shape[1]:
                    terms = np.asarray(
                        np.linalg.qr(terms, mode="r"), dtype=np.float64
                    )  # as many nodes as different X carry the same sum
                chance = np.bincount(at.place, weights=self.chance[g])
                sizes, turns = np.linalg.eigh((terms * chance) @ terms.T)
                kept = turns[:, sizes > NEGLIGIBLE * sizes[-1]].T @ terms
                normalisers[g] = np.sqrt(self.mass[g]) * self.scale * self.chance[g] * kept[:, at.place]
        rows = np.zeros((max(n.shape[0] for n in normalisers), *own.shape))
        for g, normaliser in enumerate(normalisers):
            rows[: normaliser.shape[0], g] = normaliser[::-1]
        return RowCurvature(own, rows)

    def cone_form(self) -> ConeForm | None:
        """Enumerate how often each class is drawn (a multinomial), if that is short enough."""
        k = self.negatives
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
        return ConeForm(logs=logs)


def compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write ``total`` as an ordered sum of ``parts`` numbers >= 0."""
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in compositions(total - first, parts - 1)]
