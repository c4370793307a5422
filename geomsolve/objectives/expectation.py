"""The exact expected log-loss over k random negatives, for any k, without enumeration or sampling.

    F(C) = sum_a p_a E log Y_a,    Y_a = a0 + b sum_{j=1..k} X_j,    X_j i.i.d., X = v_ac e^{t_ac} with chance r(c|a)

uses the identity  E log Y = int_0^inf (e^{-s} - E e^{-sY}) ds/s  (Frullani), in which the expectation factorises:

    E e^{-sY} = e^{-a0 s} phi(b s)^k,    phi(s) = sum_c r(c|a) e^{-s X_ac}.

With s = e^x the integrand is analytic in the strip |Im x| < pi/2 and decays at both ends, so the trapezoid
rule converges like exp(-pi^2/step): step 1/4 is exact to rounding.  Gradient and curvature differentiate
under the integral.  Derived for this project; enumeration over multinomials is its test.

s X is made from logarithms, so that at low temperature neither s nor X overflows.  At most nodes all b s X are below a
tenth: there e^{-b s X} and what comes with it are their power series, in y = b s max X and u = X / max X, of which sums
over nodes and sums over classes are taken one after the other.

Symbols: k ``negatives``, a0 ``base``, b ``factor``, r ``chance``, r(own|a) ``own``, phi^k through ``log_phi``, v, 1
unless given, through ``log_weights``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, factorial, inf, lgamma, log

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import ConeForm, Curvature, LogTerms, Objective, RowCurvature

STEP = 0.25
"""Trapezoid step in x = log s; the discretisation error is about exp(-pi^2 / STEP) = 1e-17."""

COARSE, FEW_ORBITS = 2 * STEP, 64
"""The same for second derivatives with more than so many orbits, where nothing but steps is made of them: the error of
3e-9 is far below what these need."""

ENUMERATION_LIMIT = 1500
"""Most terms that a cone form may have: beyond it the conic program is slower than any other route."""

FAINT, TERMS = 0.1, 12
"""b s X up to which power series are used, and how many terms: the next is below 1e-22."""

NEGLIGIBLE = 1e-12
"""Normalisers that carry less than this part of a row's largest one are left out of its curvature."""


CAPPED = 50.0
"""Logarithm of s X from which on e^{-s X} is 0; no larger one is told apart, so that nothing overflows."""

ROOM = 300.0
"""Size of the logarithms of two numbers whose product neither overflows nor vanishes."""

LARGEST = 700.0
"""Logarithm of the largest s: e^{-s} is 0 long before."""

COLDEST = 0.003
"""Least temperature where Y may be as small as e^{-2/t}: the nodes reach over all of its logarithm."""


@dataclass(frozen=True)
class Anchor:
    """One anchor's distinct X: the ``place`` (m,) of each orbit's X among them, and their ``chance`` (n,); ``base``
    a0; nodes ``s`` (N,); log phi(b s), ``log_phi`` (N,); r(own) e^{-b s v(own)}, ``own`` (N,).

    At the first nodes series: y^j, ``faint`` (N', J), and u^j, ``powers`` (J, n), j = 1..J; at the others b s X,
    ``moved`` (N - N', n), no larger than e^50, and e^{-b s X}, ``decay``."""

    base: float
    place: IntArray
    chance: FloatArray
    s: FloatArray
    faint: FloatArray
    powers: FloatArray
    moved: FloatArray
    decay: FloatArray
    log_phi: FloatArray
    own: FloatArray

    def first(self, weights: FloatArray) -> FloatArray:
        """sum over nodes of ``weights`` (N,) times x e^{-x}, x = b s X, (n,)."""
        n = self.faint.shape[0]
        series = (weights[:n] @ self.faint * SERIES) @ self.powers
        return np.asarray(series + weights[n:] @ (self.moved * self.decay), dtype=np.float64)

    def second(self, weights: FloatArray) -> FloatArray:
        """The same of x (1 - x) e^{-x}."""
        n = self.faint.shape[0]
        series = (weights[:n] @ self.faint * (SERIES * ORDERS)) @ self.powers
        return np.asarray(series + weights[n:] @ (self.moved * (1 - self.moved) * self.decay), dtype=np.float64)

    def terms(self, weights: FloatArray) -> FloatArray:
        """Rows f (., n) with sum f f' the sum over nodes of ``weights``^2 (N,) times x e^{-x} (x e^{-x})'."""
        n = self.faint.shape[0]
        few = np.linalg.qr(weights[:n, None] * self.faint * SERIES, mode="r") @ self.powers
        return np.concatenate([few, weights[n:, None] * self.decay * self.moved])


ORDERS: FloatArray = np.arange(1.0, TERMS + 1)
SERIES: FloatArray = np.array([(-1.0) ** (j - 1) / factorial(j - 1) for j in range(1, TERMS + 1)])
"""x e^{-x} = sum of these times x^j, j = 1..J; times -1/j they are those of e^{-x} - 1."""


def up_to(order: int, base: FloatArray) -> FloatArray:
    """Powers 1 to ``order`` of ``base`` (n,), (order, n)."""
    return np.multiply.accumulate(np.broadcast_to(base, (order, base.size)), axis=0)


class LogExpectation(Objective):
    """See the module.  ``chance`` (m, m): probability that a negative of an anchor in orbit g is *another* class
    of orbit h; ``own`` (m,): that it is the anchor's own class, where X = v; ``nothing`` (m,): that it adds nothing,
    X = 0, the chance that is left; ``mass`` (m,) of the anchors.  ``base`` is one number, or one an orbit (m,);
    ``log_weights`` (m, m), log v of another class, and ``own_weights`` (m,), v of the own one."""

    def __init__(
        self,
        chance: FloatArray,
        own: FloatArray,
        mass: FloatArray,
        *,
        base: float | FloatArray,
        factor: float,
        negatives: int,
        scale: float,
        unique_minimiser: bool,
        nothing: FloatArray | None = None,
        log_weights: FloatArray | None = None,
        own_weights: FloatArray | None = None,
    ) -> None:
        self.chance, self.own, self.mass = chance, own, mass
        self.nothing = np.zeros_like(own) if nothing is None else nothing
        self.base: FloatArray = np.broadcast_to(np.asarray(base, dtype=np.float64), mass.shape)
        self.log_weights = np.zeros_like(chance) if log_weights is None else log_weights
        self.own_weights = np.ones_like(own) if own_weights is None else own_weights
        self.factor, self.negatives, self.scale = factor, negatives, scale
        self.unique_minimiser = unique_minimiser
        self._last: tuple[FloatArray, float, FloatArray] | None = None
        farthest = self.log_weights - 2 * scale
        least = [self._log_least(g, row, np.ones(row.size), 0.0) for g, row in enumerate(farthest)]
        if not min(least) > -2.01 / COLDEST:
            raise InputError(
                "too low for an exact expectation: where all negatives are far, e^(-2/t) is no floating-point number; "
                f"take {COLDEST:g} or more",
                field="loss.temperature",
            )

    def _log_least(self, g: int, log_x: FloatArray, chance: FloatArray, own: float) -> float:
        """Logarithm of the least Y of an anchor in orbit g."""
        low = min([float(log_x[chance > 0].min(initial=inf))] + ([log(self.own_weights[g])] if own > 0 else []))
        least = low + log(self.factor * self.negatives)
        if self.base[g]:
            least = float(np.logaddexp(least, log(self.base[g])))
        return least

    def _log_nodes(self, g: int, log_x: FloatArray, chance: FloatArray, own: float, step: float = STEP) -> FloatArray:
        """log s at the nodes for an anchor in orbit g whose negatives have X = e^``log_x`` with probability ``chance``
        (or are of its own class, ``own``).

        Left of the first node the integrand is below 1e-18, since it is at most s (1 + E Y); right of the last
        both e^{-s} and e^{-sY} are below 1e-18.
        """
        largest = max(0.0, float(log_x.max()), log(self.own_weights[g]))
        most = log(1 + float(self.base[g]) + self.factor * self.negatives) + largest
        stop = log(42) - min(0.0, self._log_least(g, log_x, chance, own))
        return step * np.arange(np.floor((log(1e-18) - most) / step), np.ceil(stop / step) + 1)

    @staticmethod
    def _moved(log_s: FloatArray, log_x: FloatArray) -> FloatArray:
        """b s X (N, n), no larger than e^50, from the logarithms of b s and of X: their product where both are numbers
        with room, which saves an exponential for each."""
        if max(np.abs(log_s).max(initial=0.0), np.abs(log_x).max()) < ROOM:
            moved: FloatArray = np.exp(log_s)[:, None] * np.exp(log_x)
            return np.minimum(moved, exp(CAPPED), out=moved)
        return np.exp(np.minimum(log_s[:, None] + log_x, CAPPED))

    def _anchor(self, g: int, cosines: FloatArray, step: float = STEP, *, series: bool = True) -> Anchor:
        """What value and derivatives at an anchor in orbit g are made of; equal X are treated once."""
        log_x, place = np.unique(self.scale * (cosines[g] - 1) + self.log_weights[g], return_inverse=True)
        chance = np.bincount(place, weights=self.chance[g]).astype(np.float64)
        log_s = self._log_nodes(g, log_x, chance, float(self.own[g]), step)
        s = np.exp(np.minimum(log_s, LARGEST))
        log_y = log_s + log(self.factor)
        drawn = chance > 0
        top = float(log_x[drawn].max(initial=-LARGEST))
        n = int(np.searchsorted(log_y + top, log(FAINT))) if series else 0
        powers = up_to(TERMS, np.where(drawn, np.exp(np.minimum(log_x - top, 0.0)), 0.0))
        faint = up_to(TERMS, np.exp(log_y[:n] + top)).T
        moved = self._moved(log_y[n:], log_x)
        with np.errstate(over="ignore"):
            alike = self.factor * self.own_weights[g] * s
        less = np.expm1(-moved)
        decay = less + 1
        few = faint @ (powers @ chance * SERIES / -ORDERS)
        less = np.concatenate([few, less @ chance]) + np.expm1(-alike) * self.own[g]
        with np.errstate(divide="ignore"):
            log_phi = np.log1p(np.maximum(less, -1.0))
        own = self.own[g] * np.exp(-alike)
        at = place.astype(np.int64)
        return Anchor(float(self.base[g]), at, chance, s, faint, powers, moved, decay, log_phi, own)

    def _power(self, k: int, at: Anchor) -> FloatArray:
        """The part e^{-a0 s} phi(b s)^k of E e^{-sY} at the nodes, or for a smaller k of its derivatives."""
        power: FloatArray = np.exp(-at.base * at.s + (k * at.log_phi if k else 0.0))
        return power

    def _counted(self, g: int) -> float:
        """How likely a draw counts for an anchor in orbit g: here all do."""
        return 1.0

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        """The last place is kept, where a solver and then the proof ask again."""
        last = self._last
        if last is None or not np.array_equal(last[0], cosines):
            last = self._last = (cosines.copy(), *self._evaluate(cosines))
        return last[1], last[2].copy()

    def _evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        k = self.negatives
        value, gradient = 0.0, np.zeros_like(self.chance)
        for g in np.flatnonzero(self.mass).tolist():
            at = self._anchor(g, cosines)
            expected = STEP * float(np.sum(self._counted(g) * np.exp(-at.s) - self._power(k, at)))
            value += self.mass[g] * expected
            slope = STEP * k * at.first(self._power(k - 1, at))
            gradient[g] = self.mass[g] * self.scale * self.chance[g] * slope[at.place]
        return value, gradient

    def curvature(self, cosines: FloatArray) -> Curvature:
        """The second derivative at anchor g is diag(own) - sum_n pair_n terms_n terms_n', over the nodes n; the sum has
        low rank, so it is kept as a few normalisers a row."""
        k, step = self.negatives, COARSE if self.mass.size > FEW_ORBITS else STEP
        own = np.zeros_like(self.chance)
        normalisers: list[FloatArray] = [np.zeros((0, own.shape[1]))] * own.shape[0]
        for g in np.flatnonzero(self.mass).tolist():
            at = self._anchor(g, cosines, step)
            straight = step * k * at.second(self._power(k - 1, at))
            own[g] = self.mass[g] * self.scale**2 * self.chance[g] * straight[at.place]
            if k > 1:
                terms = at.terms(np.sqrt(step * k * (k - 1) * self._power(k - 2, at)))
                reach = np.abs(terms).max(axis=1)
                terms = terms[reach > NEGLIGIBLE**0.5 * reach.max()]
                if terms.shape[0] > terms.shape[1]:
                    terms = np.asarray(
                        np.linalg.qr(terms, mode="r"), dtype=np.float64
                    )  # as many nodes as different X carry the same sum
                if terms.size:
                    sizes, turns = np.linalg.eigh((terms * at.chance) @ terms.T)
                    kept = turns[:, sizes > NEGLIGIBLE * sizes[-1]].T @ terms
                    normalisers[g] = np.sqrt(self.mass[g]) * self.scale * self.chance[g] * kept[:, at.place]
        rows = np.zeros((max(n.shape[0] for n in normalisers), *own.shape))
        for g, normaliser in enumerate(normalisers):
            rows[: normaliser.shape[0], g] = normaliser[::-1]
        return RowCurvature(own, rows)

    def _counts(self, own_drawn: int) -> bool:
        """Whether a draw with so many of the anchor's own class counts: here all do."""
        return True

    def cone_form(self) -> ConeForm | None:
        """Enumerate how often each class is drawn (a multinomial), if that is short enough."""
        k = self.negatives
        anchors = np.flatnonzero(self.mass).tolist()
        kinds = {g: np.flatnonzero(self.chance[g]) for g in anchors}
        if sum(comb(k + kinds[g].size, k) for g in anchors) > ENUMERATION_LIMIT:
            return None
        rows: list[Row] = []
        for g, others in kinds.items():
            chances = {-1: float(self.own[g]), -2: float(self.nothing[g])}
            chances |= {int(h): float(self.chance[g, h]) for h in others}
            log_chance = {h: log(c) for h, c in chances.items() if c > 0}
            for numbers in compositions(k, len(log_chance)):
                drawn = dict(zip(log_chance, numbers, strict=True))
                own_drawn = drawn.pop(-1, 0)
                if self._counts(own_drawn):
                    ways = sum(n * q - lgamma(n + 1) for n, q in zip(numbers, log_chance.values(), strict=True))
                    mass = float(self.mass[g]) * exp(lgamma(k + 1) + ways)
                    drawn.pop(-2, None)
                    terms = {h: self.factor * n * exp(self.log_weights[g, h]) for h, n in drawn.items() if n}
                    alike = self.factor * own_drawn * float(self.own_weights[g])
                    rows.append((mass, float(self.base[g]) + alike, g, terms))
        return ConeForm(logs=log_terms(rows, self.scale))


Row = tuple[float, float, int, dict[int, float]]
"""mass, constant, anchor g and {h: weight}: mass log(constant + sum_h weight_h e^{t_gh})."""


def log_terms(rows: list[Row], scale: float) -> LogTerms:
    """Enumerated rows as a conic solver takes them."""
    terms = [(r, g, h, log(weight)) for r, (_, _, g, row) in enumerate(rows) for h, weight in row.items()]
    row, first, second, log_weight = (np.array(column) for column in zip(*terms, strict=True))
    return LogTerms(
        np.array([mass for mass, *_ in rows]),
        np.array([log(constant) if constant > 0 else -inf for _, constant, *_ in rows]),
        row.astype(np.int64),
        first.astype(np.int64),
        second.astype(np.int64),
        log_weight.astype(np.float64),
        scale,
    )


def compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write ``total`` as an ordered sum of ``parts`` numbers >= 0."""
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in compositions(total - first, parts - 1)]
