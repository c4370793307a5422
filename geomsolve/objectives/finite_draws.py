"""The exact expected log-loss where a batch is drawn *without* replacement from a finite set, as every loader does.

An anchor of class a sees its own V - 1 other views and V views of each of k = B - 1 other samples, drawn from the
counts n' = n - e_a that are left:

    F = sum_a (n_a / N) E log Y_a,    Y_a = a0 + V sum_c N_c X_ac,    X = e^t, X_aa = 1,    a0 = V - 1,

or another a0 of the loss, N_c multivariate hypergeometric.  With the identity of ``expectation.py``, here with mu = E Y
in the first term,

    E log Y = log mu + int_0^inf (e^{-s mu} - e^{-a0 s} Phi(s)) ds/s,    a0 = V - 1, b = V,
    Phi(s) = E e^{-s b sum_c N_c X_c} = [z^k] prod_c (1 + z w_c)^{n'_c} / C(N - 1, k),    w_c = e^{-s b X_c}.

The coefficient is Cauchy's integral on a circle of any radius r.  Let pi_c = r w_c / (1 + r w_c) be the chance that a
sample of class c is drawn by an own coin; then it is prod (1 + r w_c)^{n'_c} r^{-k} P(S = k), S the number drawn by
coins, and P(S = k) is the trapezoid rule over its characteristic function.  At the saddle point, E S = k, S is most
likely k; M nodes err by P(S = k + jM), which Bernstein's inequality bounds, and |E e^{i theta S}| is at most
e^{-2 Var(S) sin^2(theta/2)}, so that about fifteen nodes are left whatever the counts.  Radii are relative to that of
s = 0, and all is in logarithms, so that nothing overflows or cancels.  Derivatives are of the same kind:

    dPhi/dX_c = -s b Phi E N_c,    d2Phi/dX_c dX_d = s^2 b^2 Phi E N_c N_d,

E the draw weighted by e^{-sY}: E N_c and E N_c N_d are n'_c pi_c(z) and n'_c n'_d pi_c(z) pi_d(z) under the integral,
plus n'_c pi_c (1 - pi_c) where c = d.  With one view an anchor whose class does not come again contributes 0: the same
less its part with n'_a = 0.  F is convex as every composition's logarithm is.  Derived for this project; enumeration
and drawn batches are its tests, and the full batch, B = N, which is one composition.

Symbols: a0 ``base``, N ``total``, k ``draws``, n' ``counts``, log X ``log_x``, s b X ``moved``, log r ``tilt``, pi
``coin``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, log

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import ConeForm, Curvature, Objective
from geomsolve.objectives.expectation import ENUMERATION_LIMIT, STEP, Row, compositions, log_terms

DIGITS = 37.0
"""What is left out is below e^-37 = 1e-16."""

HALVINGS = 26
"""Bisections for the radius, which only has to be near the saddle point."""

STEEP = 600.0
"""Exponent beyond which 1 + e^x is e^x."""


@dataclass(frozen=True)
class Drawn:
    """A draw weighted by e^{-sY} at the nodes s (N,): ``log_phi`` (N,), E N_c ``mean`` (N, n) and, for each node and
    each theta, real weights of pi_c pi_d under the integral."""

    log_phi: FloatArray
    mean: FloatArray
    weight: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]
    coin: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]


def drawn(moved: FloatArray, counts: FloatArray, draws: int) -> Drawn:
    """``draws`` samples out of ``counts`` (n,), sum >= ``draws``, each draw weighted by e^{-moved} (N, n); the first
    row of ``moved`` is 0."""
    total = float(counts.sum())
    first = min(draws / total, 1 - 0.25 / total)

    def coins(tilt: FloatArray) -> FloatArray:
        odds = first / (1 - first) * np.exp(np.minimum(tilt[:, None] - moved, STEEP))
        coin: FloatArray = odds / (1 + odds)
        return coin

    low, high = moved.min(axis=1), moved.max(axis=1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        more = coins(middle) @ counts < draws
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    tilt = (low + high) / 2
    coin = coins(tilt)
    spread = (coin * (1 - coin)) @ counts
    half = np.ceil((DIGITS / 3 + np.sqrt(DIGITS**2 / 9 + 2 * DIGITS * spread)) / 2)
    nodes = 2 * half + 1
    with np.errstate(divide="ignore"):
        widest = 2 * np.arcsin(np.minimum(np.sqrt(DIGITS / (2 * spread)), 1.0))
    reach = np.minimum(half, np.ceil(widest * nodes / (2 * np.pi)))
    j = np.arange(int(reach.max()) + 1)
    theta = 2 * np.pi * j / nodes[:, None]
    weight = np.where(j > reach[:, None], 0.0, np.where(j == 0, 1.0, 2.0)) / nodes[:, None]
    turn = np.exp(1j * theta)[:, :, None]
    bottom = 1 - coin[:, None] + coin[:, None] * turn
    size = np.log1p(-4 * (coin * (1 - coin))[:, None] * np.sin(theta / 2)[:, :, None] ** 2) @ counts / 2
    angle = np.arctan2(bottom.imag, bottom.real) @ counts - draws * theta
    weights = weight * np.exp(size + 1j * angle)
    chance = weights.real.sum(axis=1)
    ahead = tilt[:, None] - moved
    near = np.minimum(ahead, STEEP)
    log_phi = (np.log1p(first * np.expm1(near)) + (ahead - near)) @ counts - draws * tilt
    log_phi += np.log(chance) - np.log(chance[0])
    weights /= chance[:, None]
    turned = coin[:, None] * turn / bottom
    mean = counts * np.einsum("nj,njc->nc", weights, turned).real
    return Drawn(log_phi, mean, weights, turned)


@dataclass(frozen=True)
class Part:
    """``times`` (positive or negative) the expectation over draws from ``counts`` (n,), as ``drawn`` at all nodes."""

    times: float
    counts: FloatArray
    drawn: Drawn


@dataclass(frozen=True)
class Anchor:
    """One anchor: distinct X, ``x`` (n,), the last one its own class's, and the ``place`` (m,) of each orbit's among
    them; ``s`` (N,), its first node 0; what draws count, with their probability ``mass``, the mean ``mu`` of Y among
    them and E N_c, ``first`` (n,), both times that."""

    x: FloatArray
    place: IntArray
    s: FloatArray
    parts: list[Part]
    mass: float
    mu: float
    first: FloatArray


class FiniteDraws(Objective):
    """See the module.  ``batch`` samples out of the orbits' counts, ``views`` of each; ``base`` is V - 1 unless given,
    and where it is 0 an anchor without another of its class contributes 0."""

    unique_minimiser = True

    def __init__(self, orbits: Orbits, batch: int, views: int, temperature: float, base: float | None = None) -> None:
        assert orbits.counts is not None
        self.orbits, self.draws, self.views, self.scale = orbits, batch - 1, views, 1 / temperature
        self.base = float(views - 1) if base is None else base
        self.total = round(float(orbits.sizes @ orbits.counts))
        self.left = orbits.others * orbits.counts
        self.own = orbits.counts - 1
        self.mass = orbits.sizes * orbits.counts / self.total
        if self.base == 0:
            self.mass = np.where(self.own > 0, self.mass, 0.0)
            # two classes of one sample each are nobody's anchor, so their cosine does not enter
            self.unique_minimiser = batch > 2 and int(np.sum(orbits.sizes * (self.own == 0))) < 2

    def lonely(self, g: int) -> float:
        """How likely no other sample of the anchor's class is drawn."""
        if self.total - 1 - self.own[g] < self.draws:
            return 0.0
        return exp(float(np.log1p(-self.own[g] / (self.total - 1 - np.arange(self.draws))).sum()))

    def _anchor(self, g: int, cosines: FloatArray) -> Anchor:
        log_x, place = np.unique(self.scale * (cosines[g] - 1), return_inverse=True)
        counts = np.append(np.bincount(place, weights=self.left[g]), self.own[g]).astype(np.float64)
        x = np.append(np.exp(log_x), 1.0)
        b, base, k = self.views, self.base, self.draws
        wanted = [(1.0, counts)]
        alone = self.lonely(g) if self.base == 0 else 0.0
        if alone:
            wanted.append((-alone, np.append(counts[:-1], 0.0)))
        first = sum(times * n * (k / n.sum()) for times, n in wanted)
        mass = sum(times for times, _ in wanted)
        mu = base + b * float(first @ x) / mass
        # where a0 is 0 every Y that counts is at least 1; else a0
        start = log(exp(-DIGITS / 2) / (mu * (base + b * k)) ** 0.5)
        s = np.exp(STEP * np.arange(np.floor(start / STEP), np.ceil(log(DIGITS + 5) / STEP) + 1))
        s = np.concatenate([[0.0], s])
        moved = s[:, None] * b * x
        parts = [Part(times, n, drawn(moved, n, k)) for times, n in wanted]
        return Anchor(x, place.astype(np.int64), s, parts, mass, mu, np.asarray(first))

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = 0.0, np.zeros_like(self.left)
        b, base = self.views, self.base
        for g in np.flatnonzero(self.mass).tolist():
            at = self._anchor(g, cosines)
            s = at.s[1:]
            compared = np.exp(-s * at.mu)
            rest, slope = at.mass * compared, at.first * compared[:, None]
            for part in at.parts:
                phi = part.times * np.exp(part.drawn.log_phi[1:] - base * s)
                rest = rest - phi
                slope = slope - phi[:, None] * part.drawn.mean[1:]
            value += float(self.mass[g]) * (at.mass * log(at.mu) + STEP * float(rest.sum()))
            total = b * (at.first / at.mu - STEP * s @ slope)  # dF / dX of all samples with that X
            counts = at.parts[0].counts
            each = np.divide(total, counts, out=np.zeros_like(total), where=counts > 0)
            gradient[g] = self.mass[g] * self.scale * self.left[g] * (at.x * each)[at.place]
        return value, gradient

    def curvature(self, cosines: FloatArray) -> Curvature:
        """At anchor g the second derivative is diag(own_g) - dense_g: all of E N_c N_d that is no square is in own."""
        m = self.mass.size
        own, dense = np.zeros((m, m)), np.zeros((m, m, m))
        b, base = self.views, self.base
        gradient = self.evaluate(cosines)[1]
        for g in np.flatnonzero(self.mass).tolist():
            at = self._anchor(g, cosines)
            s = at.s[1:]
            pairs, single = np.zeros((at.x.size, at.x.size)), np.zeros(at.x.size)
            for part in at.parts:
                phi = part.times * STEP * (s * b) ** 2 * np.exp(part.drawn.log_phi[1:] - base * s)
                weight = (phi[:, None] * part.drawn.weight[1:]).reshape(-1)
                coin = part.drawn.coin[1:].reshape(weight.size, -1)
                turned = weight[:, None] * coin
                pairs += turned.real.T @ coin.real - turned.imag.T @ coin.imag
                single += turned.real.sum(axis=0) - np.einsum("nc,nc->c", turned, coin).real
            reached = self.left[g] * at.x[at.place]
            own[g] = self.scale * gradient[g]
            own[g] -= self.mass[g] * self.scale**2 * reached * at.x[at.place] * single[at.place]
            dense[g] = self.mass[g] * self.scale**2 * np.outer(reached, reached) * pairs[np.ix_(at.place, at.place)]
        return lambda change: own * change - np.einsum("ghj,gj->gh", dense, change)

    def cone_form(self) -> ConeForm | None:
        """Enumerate how often each class is drawn (a multivariate hypergeometric), if that is short enough."""
        rows: list[Row] = []
        k = self.draws
        anchors = np.flatnonzero(self.mass).tolist()
        if sum(comb(k + np.count_nonzero(self.left[g]), k) for g in anchors) > ENUMERATION_LIMIT:
            return None
        for g in anchors:
            others = np.flatnonzero(self.left[g])
            counts = [int(self.own[g]), *(round(n) for n in self.left[g, others])]
            ways = comb(self.total - 1, k)
            for taken in compositions(k, len(counts)):
                if all(d <= n for d, n in zip(taken, counts, strict=True)) and (self.base > 0 or taken[0]):
                    chance = exp(sum(log(comb(n, d)) for n, d in zip(counts, taken, strict=True)) - log(ways))
                    terms = {int(h): float(self.views * d) for h, d in zip(others, taken[1:], strict=True) if d}
                    rows.append((float(self.mass[g]) * chance, self.base + self.views * taken[0], g, terms))
        return ConeForm(logs=log_terms(rows, self.scale))
