"""Checks further proofs, of the format geomsolve-proof/2, with ``verify.py`` (``verify_codes.py``) and nothing else.

    python -m geomsolve.verify_further FILE...       the same exit codes; files of the format 1 are checked as there

More losses, in terms of those of ``verify.py``; groups of classes that share a point; the rank of an optimum; and two
sides, such as images and texts, whose points x_i and y_j have the Gram matrix G, of which F sees the cosines between.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from geomsolve import verify, verify_codes
from geomsolve.verify import PAIRS, Balls, Classes, Outcome, _ball, _dot, _entry, _need, _number, _numbers, _once, below

FURTHER = "geomsolve-proof/2"
ENOUGH = 128
"""Bits beyond which an optimum is not enclosed more closely: its point is that of a solver in double precision."""
BALANCE = "sampler anchors denominator logit_adjust"
SAME = {"kcl": "supcon", "supcon-in": "supcon", "contrastive": "triplet", "soft-margin-triplet": "sigmoid"}
"""Losses that are, of classes that are points, the same as another."""


TOO = {
    name: f"{taken} {BALANCE}" * (name in ("supcon", "infonce", "dcl")) or taken for name, taken in verify.TAKES.items()
}
TOO |= {"kcl": "temperature batch views positives", "supcon-in": "temperature", "align-uniform": "uniform_t"}
TOO |= {"contrastive": "neg_margin sampling", "soft-margin-triplet": "temperature margin sampling"}
TOO |= {"bcl": "temperature", "n-pair": "temperature", "soft-supcon": "temperature epsilon"}
TOO |= {"weince": "temperature sampling tail_weight tail_shape delta"}
"""The parameters that each loss takes."""


SIDES = {"clip": "temperature", "siglip": "temperature bias batch sampling"}
SIDES |= {"cosine-softmax": "temperature margin prior"}


class Further(Classes):
    """More losses; ``bend``: how convex they are."""

    takes, each = TOO, f"{Classes.each} anchor compared"

    def __init__(self, question: Any) -> None:
        super().__init__(question)
        self.called = self.name
        if self.name == "contrastive":
            self.loss = {**self.loss, "margin": str(1 - self.option("neg_margin", "0"))}
        elif self.name == "soft-margin-triplet":
            self.loss = {**self.loss, "bias": str((1 - self.option("margin", "0")) * self.scale)}
        self.name = SAME.get(self.name, self.name)
        own = {*self.groups[0]} & {"anchor", "compared"}
        self.changed = own | {*BALANCE.split()} & {*self.loss}
        _need(all({*group} & {"anchor", "compared"} == own for group in self.groups), "anchor, compared: wanted of all")
        _need(not own or BALANCE in TOO[self.called], f"{self.called} has no weights of its own, anchor or compared")
        twice = {"anchor", "anchors"} <= self.changed or {"compared", "denominator"} <= self.changed
        _need(not twice, "weights of anchors and of denominators: wanted numbers or a rule, not both")

    def parts(self, x: list[Any]) -> list[Any]:
        """What one class of each orbit has of the whole."""
        _need(all(y > 0 for y in x), "weights must be positive")
        total = _dot(self.sizes, x)
        return [y / total for y in x]

    def given(self, key: str) -> list[Any]:
        return [_number(_entry(group, key, str), key) for group in self.groups]

    def word(self, key: str, *known: str) -> str:
        _need(self.loss.get(key, known[0]) in known, f"{key} must be {' or '.join(known)}")
        return str(self.loss.get(key, known[0]))

    def balance(self) -> tuple[list[Any], list[Any], list[Any]]:
        """How often a class is drawn, its mass among anchors, and in denominators: p unless the loss says otherwise."""
        even = self.parts([_ball(1) for _ in self.m])
        alpha, eta = self.option("sampler", "1"), self.option("logit_adjust", "0")
        q = self.p if alpha == 1 else self.parts([_ball(x) ** _ball(alpha) for x in self.p])
        w, v = (even if self.word(key, "plain", "balanced") == "balanced" else q for key in ("anchors", "denominator"))
        if "anchor" in self.groups[0]:
            w = self.parts([_ball(x) * _ball(y) for x, y in zip(q, self.given("anchor"), strict=True)])
        v = self.parts(self.given("compared")) if "compared" in self.groups[0] else v
        return q, w, self.parts([_ball(x) * _ball(y) ** _ball(eta) for x, y in zip(v, q, strict=True)]) if eta else v

    def rows(self) -> tuple[list[Any], list[Any], Balls]:
        _, w, v = self.balance()
        if self.name in ("bcl", "n-pair"):
            ones: list[Any] = [1 for _ in self.m]
            return (w if self.name == "bcl" else self.parts([_ball(1) for _ in self.m])), ones, [ones for _ in self.m]
        if self.full:
            _need(not self.changed, "a full batch is compared as it stands")
            return super().rows()
        mean = self.name == "weince" or self.loss.get("form") == "mean"
        if self.word("sampling", "iid", "supervised") == "iid":
            return w, [x + mean for x in v], [v for _ in v]
        return w, [Fraction(mean) for _ in v], [[x / (1 - own) for x in v] for own in v]

    def draws(self) -> Any:
        found = super().draws()
        _need(found is None or not self.changed, "finitely many draws are not rebalanced here")
        return found

    def pull(self) -> Balls:
        """Part of an anchor's pull of soft-supcon that goes to each class of another kind."""
        _need(0 <= self.option("epsilon", "0.1") <= 1, "epsilon: wanted 0 to 1")
        e, p = _ball(self.option("epsilon", "0.1")), [_ball(x) for x in self.p]
        return [[e * y / (x + e * (1 - x)) for y in p] for x in p]

    def logit(self, C: Balls) -> tuple[Balls, Balls]:
        """The cosines that have weince's logits without a pole, and how they rise with the true ones."""
        part, d, shape = (self.option(*each) for each in (("tail_weight", "0.5"), ("delta", "0"), ("tail_shape", "1")))
        _need(d > 0 and 0 <= part <= 1 and shape >= 0, "wanted delta above 0, tail_weight in [0, 1], shape above 0")
        line, pole, d = _ball(1 - part), _ball(part * shape / self.scale), _ball(d)
        inner = [[1 + line * (c - 1) - pole * ((1 - c + d) / d).log() for c in row] for row in C]
        return inner, [[line + pole / (1 - c + d) for c in row] for row in C]

    def uniform(self, C: Balls) -> tuple[Any, Balls, Balls]:
        """log sum_ab p_a p_b e^{2 t (G_ab - 1)}, its slope and bend."""
        s, alone, p = _ball(2 * self.option("uniform_t", "2")), _ball(_dot(self.sizes, [x * x for x in self.p])), self.p
        x = [[_ball(p[g] * p[h]) * ((C[g][h] - 1) * s).exp() for h in self.m] for g in self.m]
        total = alone + self.pairs(lambda g, h: x[g][h])
        slope = [[s * y / total for y in row] for row in x]
        return total.log(), slope, [[s * (alone / total) * y for y in row] for row in slope]

    def terms(self, C: Balls, shares: Any) -> tuple[Any, Any, Balls]:
        if self.name == "align-uniform":
            value, slope, _ = self.uniform(C)
            return value, value, slope
        if self.name == "weince":
            inner, rise = self.logit(C)
            value, floor, slope = super().terms(inner, shares)
            return value, floor, [[x * y for x, y in zip(a, b, strict=True)] for a, b in zip(slope, rise, strict=True)]
        value, floor, slope = super().terms(C, shares)
        if self.name == "soft-supcon":
            pull, scale = self.pull(), _ball(self.scale)
            value -= self.pairs(lambda g, h: _ball(self.p[g]) * pull[g][h] * (C[g][h] - 1) * scale)
            slope = [
                [x - _ball(p) * y * scale for x, y in zip(*row, strict=True)]
                for p, *row in zip(self.p, slope, pull, strict=True)
            ]
            return value, value, slope
        return value, floor, slope

    def bend(self, C: Balls) -> Balls:
        """c_ab >= 0, by orbits of an anchor and another class: F is at least as convex as sum c_ab G_ab^2 / 2.
        The second derivative of a logarithm along t' is  E t'^2 - (E t')^2 >= (share of the constant) E t'^2."""
        if self.name == "align-uniform":
            return self.uniform(C)[2]
        if self.name in PAIRS:
            slope, scale, rate = self.terms(C, self.flat)[2], _ball(self.scale), _ball(self.option("bias", "0"))
            if self.name == "sigmoid":
                return [
                    [x * scale / (1 + (c * scale - rate).exp()) for x, c in zip(*row, strict=True)]
                    for row in zip(slope, C, strict=True)
                ]
            one = super().terms([[_ball(1) for _ in row] for row in C], self.flat)[2]
            return [[x * (self.name == "spectral") for x in row] for row in one]
        inner, rise = self.logit(C) if self.name == "weince" else (C, [[_ball(1) for _ in row] for row in C])
        drawn, (mass, offset, weight), scale, found = self.draws(), self.rows(), _ball(self.scale), []
        for g in self.m:
            x = [((c - 1) * scale).exp() for c in inner[g]]
            if drawn:
                a0, b, k, (own, chance) = *map(_ball, drawn[:2]), drawn[2], Classes.drawn(self)
                most = a0 + b * k * max(_ball(1), *(y.upper() for y in x))
                rates, held = [b * k * _ball(c) for c in chance[g]], (a0 + b * (k - 1) * _ball(own[g])) / most**2
            else:
                total = _ball(offset[g]) + sum(
                    self.others[g][h] * _ball(weight[g][h]) * x[h] for h in self.m if self.others[g][h]
                )
                rates, held = [_ball(w) for w in weight[g]], _ball(offset[g]) / total**2
            found.append(
                [_ball(mass[g]) * scale**2 * held * c * y * z**2 for c, y, z in zip(rates, x, rise[g], strict=True)]
            )
        return found

    @property
    def flat(self) -> Balls:
        return [[0 for _ in self.m] for _ in self.m]

    def strictly_convex(self) -> bool:
        at = [[_ball(0) for _ in self.m] for _ in self.m]
        bend = self.bend(at)
        if all(bend[g][h] > 0 or not self.others[g][h] for g in self.m for h in self.m):
            return True
        return self.called in Classes.takes and super().strictly_convex()

    @property
    def blind(self) -> bool:
        """Whether classes at one point count as one class of their joint weight."""
        same = not self.changed and not self.full
        return self.name in ("supcon", "infonce", "dcl") and same and self.loss.get("sampling", "iid") == "iid"


class Sides(Classes):
    """Points of two sides, first x_i, then y_j, each a kind of its own; pi: how often each pair belongs together."""

    takes, asks = SIDES, "loss pairs"

    def __init__(self, question: Any) -> None:
        pairs = [_numbers({"pairs": row}, "pairs") for row in _entry(question, "pairs", list)]
        total, points = sum(map(sum, pairs)), len(pairs) + len(pairs[0] if pairs else [])
        _need(
            len({len(row) for row in pairs}) == 1 and points <= verify.MOST_ORBITS, "pairs: wanted rows of one length"
        )
        _need(total > 0 and all(x >= 0 for row in pairs for x in row), "pairs: wanted weights of at least 0")
        one = {"size": 1, "weight": "1"}
        super().__init__({"loss": _entry(question, "loss", dict), "classes": [one] * points})
        self.pi, self.first = [[x / total for x in row] for row in pairs], range(len(pairs))
        self.x, self.y = [sum(row) for row in self.pi], [sum(row) for row in zip(*self.pi, strict=True)]
        _need(all(0 < x < 1 for x in (*self.x, *self.y)), "pairs: a point without a pair, or only one")

    def terms(self, C: Balls, shares: Any) -> tuple[Any, Any, Balls]:
        s, n, columns, value = _ball(self.scale), len(self.x), range(len(self.y)), _ball(0)
        X, pi, force = [row[n:] for row in C[:n]], self.pi, [[_ball(0) for _ in columns] for _ in self.first]

        def log_sum(mass: Any, of: list[tuple[int, int]], weight: list[Any], margin: Any) -> Any:
            parts = [_ball(w) * ((X[i][j] - a) * s).exp() for (i, j), w, a in zip(of, weight, margin, strict=True)]
            total = sum(parts)
            for (i, j), part in zip(of, parts, strict=True):
                force[i][j] += _ball(mass) * s * part / total
            return _ball(mass) * total.log()

        sampling, share = self.loss.get("sampling", "supervised"), self.loss.get("prior", "uniform")
        _need(sampling in ("supervised", "iid") and share in ("uniform", "props"), "no such sampling, or no such prior")
        m, none = _ball(self.option("margin", "0")), [0] * max(len(self.x), len(self.y))
        bias, size = _ball(self.option("bias", "0")), self.option("batch", str(len(none))) - 1
        _need(size >= 0, "batch: wanted one pair or more")
        for i in self.first if self.name == "clip" else ():
            value += log_sum(self.x[i] / 2, [(i, j) for j in columns], self.y, none[: len(self.y)])
        for j in columns if self.name == "clip" else ():
            value += log_sum(self.y[j] / 2, [(i, j) for i in self.first], self.x, none[: len(self.x)])
        prior = self.y if share == "props" else [Fraction(1, len(self.y))] * len(self.y)
        for i, j in ((i, j) for i in self.first for j in columns):
            if self.name != "siglip":
                value -= _ball(pi[i][j]) * (X[i][j] - m) * s
                force[i][j] -= _ball(pi[i][j]) * s
                if self.name == "cosine-softmax" and pi[i][j]:
                    margin = [m * (h == j) for h in columns]
                    value += log_sum(pi[i][j], [(i, h) for h in columns], [x * len(self.y) for x in prior], margin)
                continue
            x, y, z = self.x[i], self.y[j], X[i][j] * s + bias
            other = x * (y - pi[i][j]) / (1 - x) / 2 + y * (x - pi[i][j]) / (1 - y) / 2
            near, far = _ball(pi[i][j]), _ball(size * (x * y if sampling == "iid" else other))
            value += near * (1 + (-z).exp()).log() + far * (1 + z.exp()).log()
            force[i][j] += s * (far / (1 + (-z).exp()) - near / (1 + z.exp()))
        slope = [[_ball(0) for _ in self.m] for _ in self.m]
        for i in self.first:
            slope[i][n:] = force[i]
        return value, value, slope


def rank_at_least(matrix: Balls) -> int:
    """Pivots above 0 that are found, the largest first: a principal submatrix of so many rows is definite."""
    a, left = [list(row) for row in matrix], [*range(len(matrix))]
    while left and a[j := max(left, key=lambda i: float(a[i][i].lower()))][j] > 0:
        left.remove(j)
        for i in left:
            for k in left:
                a[i][k] -= a[i][j] * a[j][k] / a[j][j]
    return len(matrix) - len(left)


def around(q: Further, C: Balls, mu: list[Any], fixed: Any) -> Balls | None:
    """Balls that hold the cosines of the best geometry in which those ``fixed`` are 1, as in C; None unless found.

    With S + delta I definite any G' has  F(G') - F(G) >= (1/2) sum bend (G' - G)^2 - <S, G> - K delta  as long as no
    cosine is farther off than R, bend from below there.  F is convex: where what is that far off is worse, so is all
    beyond.
    """
    D, m = verify.dual(q, C, q.flat)[2], q.m
    top, R = max(abs(_ball(x)).upper() for row in (mu, *D) for x in row), 1 / (1000 * max(_ball(1), _ball(q.scale)))
    shifts = (top * _ball(2) ** -j for j in range(verify.flint.ctx.prec, -4, -4))
    delta = next((x for x in shifts if verify.positive(q, D, [y + x for y in mu])), None)
    if delta is None:
        return None
    spare = _dot(q.sizes, mu) + q.pairs(lambda g, h: D[g][h] * C[g][h]) + q.count * delta
    bend = q.bend([[c if fixed(g, h) else c + verify.flint.arb(0, R.lower()) for h, c in enumerate(C[g])] for g in m])
    found = [list(row) for row in C]
    for g, h in ((g, h) for g in m for h in m if q.others[g][h] and not fixed(g, h)):
        weight = q.sizes[g] * q.others[g][h] * (bend[g][h] if g == h else bend[g][h] + bend[h][g])
        far = (2 * spare / weight).sqrt() if weight > 0 else R
        if not far < R:
            return None
        found[g][h] += verify.flint.arb(0, far.upper())
    return found


def geometry(data: Any, claim: str, groups: Any, rank: Any = None, *, made: Any = Further) -> Outcome:
    """That in every optimum the classes of each group of kinds share a point; or what the rank of the only optimum is.

    Let G be the best geometry with these groups A and S its dual matrix, S G = 0.  With pi_a = p_a / p_A the rows of S
    for the classes of a group are pi_a times one row.  So S is psd, and S G' = 0 only for G' with these groups, if in
    each  m_A (diag pi - pi pi') - (diag(D 1) - D),  m_A = - sum_{a in A, b not in A} D_ab G_ab,  is positive on
    differences: as D_ab = beta_A pi_a pi_b within it, if m_A > beta_A.  As S G = 0, rank S + rank G <= K; both are
    bounded from below by pivots.
    """
    q = made(_entry(data, "question", dict, made.asks))
    C, n = verify.point_of(q, data)[0], q.sizes
    mu = [_ball(x) for x in _numbers(_entry(data, "dual", dict), "mu", len(q.p))]
    fits = type(groups) is list and all(
        type(group) is list and all(type(g) is int and g in q.m for g in group) for group in groups
    )
    _need(
        fits and len({g for group in groups for g in group}) == sum(map(len, groups)), "groups: wanted kinds of classes"
    )
    _need(all(groups), "groups: wanted one kind of classes in each, or more")
    place, point = {g: i for i, group in enumerate(groups) for g in group}, data["point"]
    alike = all(point["centroids"][g] == point["centroids"][group[0]] for group in groups for g in group)
    said = f"in every optimum the classes share a point in each of {len(groups)} groups of kinds: {groups}"
    if claim == "rank":
        said = f"the only optimum has the rank {rank}"
    if not alike or any(_number(point["spread"][g], "spread") for g in place):
        return said, False, "at the point that is given they do not"
    if any(len(group) > 1 for group in groups) and not q.blind:
        return said, False, "this loss tells classes at one point apart"

    def fixed(g: int, h: int) -> bool:
        return g in place and place[g] == place.get(h)

    undecided = None if verify.flint.ctx.prec < ENOUGH else False
    C, curved = [[_ball(1) if fixed(g, h) else c for h, c in enumerate(C[g])] for g in q.m], q.bend(C)
    if not all(curved[g][h] > 0 for g in q.m for h in q.m if q.others[g][h]):
        return said, False, "the loss is not known to be strictly convex"
    box = around(q, C, mu, fixed)
    if box is None:
        return said, undecided, "the optimum is not enclosed"
    D, force = verify.dual(q, box, q.flat)[2:]
    parts = [*groups, *([g] for g in q.m if g not in place)]
    pull = [-sum(n[g] * n[h] * D[g][h] * box[g][h] for g in part for h in q.m if h not in part) for part in parts]
    mass = [sum(n[g] * _ball(q.p[g]) for g in part) for part in parts]
    tests = [
        (D[g][h] * mass[i] ** 2 / _ball(q.p[g] * q.p[h]), pull[i])
        for i, part in enumerate(groups)
        for g in part
        for h in part
        if q.others[g][h]
    ]
    holds = below(*tests)
    if claim == "groups" or not holds:
        why = f"beta < m in each: {', '.join(f'{a.str(4)} < {b.str(4)}' for a, b in tests[:4])}"
        return said, undecided if holds is None else holds, why
    _need(type(rank) is int and q.strictly_convex(), "rank: wanted a whole number, of a strictly convex loss")
    S = [[sum(n[g] * n[h] * D[g][h] for g in a for h in b) for b in parts] for a in parts]
    G, alone = [[box[a[0]][b[0]] for b in parts] for a in parts], parts[len(groups) :]
    for i, (g, *_) in enumerate(parts):
        S[i][i] = pull[i] if i < len(groups) else n[g] * (force[g] + (n[g] - 1) * D[g][g])
        G[i][i] = _ball(1) if i < len(groups) else (1 + (n[g] - 1) * box[g][g]) / n[g]
    spread = [(n[g] - 1, box[g][g] < 1) for (g,) in alone if n[g] > 1]
    low = rank_at_least(G) + sum(k for k, apart in spread if apart)
    high = len(parts) - rank_at_least(S) + sum(k for k, _ in spread)
    why = f"rank G >= {low}, and rank S leaves it {high} at most"
    return said, True if low == high == rank else False if not low <= rank <= high else undecided, why


def of_optimum(data: Any, claim: str, *given: Any, made: Any = Further) -> Outcome:
    """A claim about the least loss."""
    if claim in ("groups", "rank"):
        return geometry(data, claim, *given, made=made)
    return verify.optimum(data, claim, given[0] if given else "0", made)


OPTIMUM = {"value": "at_most", "bound": "at_least", "collapsed": "", "unique": "", "groups": "groups"}
OPTIMUM |= {"rank": "groups rank"}
KINDS_TOO: verify.Kinds = {
    "optimum": (of_optimum, OPTIMUM),
    "threshold": (partial(verify.threshold, made=Further), verify.KINDS["threshold"][1]),
    **verify_codes.KINDS,
    "sides": (partial(verify.optimum, made=Sides), {"value": "at_most", "bound": "at_least"}),
}


def check_all(text: str | bytes, more: dict[str, verify.Kinds] | None = None) -> list[Outcome]:
    """All claims of a proof of either format, or one of ``more``; those that stand under the key ``further``, too."""
    try:
        data = json.loads(text, object_pairs_hook=_once) if len(text) <= verify.MOST_BYTES else None
    except (ValueError, RecursionError):
        data = None
    known = {verify.FORMAT: verify.KINDS, FURTHER: KINDS_TOO, **(more or {})}
    if isinstance(data, dict) and "further" in data:
        known[verify.FORMAT] = KINDS_TOO
        text = json.dumps({**data, "claims": _entry(data, "claims", list) + _entry(data, "further", list)})
    return verify.check(text, known)


def main(by: Callable[[bytes], list[Outcome]]) -> None:
    """Check the files that are named, and exit."""
    results = [(path, *verify.verify(path, by)) for path in sys.argv[1:]]
    sys.stdout.writelines(f"{verify.told(path, wrong, outcomes)}\n" for path, _, wrong, outcomes in results)
    sys.exit(max((code for _, code, _, _ in results), default=2))


if __name__ == "__main__":
    main(check_all)
