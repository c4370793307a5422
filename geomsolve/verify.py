"""Checks proofs without trusting who wrote them: this one file, python-flint's ball arithmetic, nothing of geomsolve.

    python -m geomsolve.verify FILE...       exit code 0 if every claim holds, 1 if one does not, 2 for what is no proof

Numbers of a proof are decimals or fractions in quotes, and exact; all others here are balls that hold the true ones.
Classes of one kind ("orbit") have the same weight w and are interchangeable; p_a = w_a / sum w.  Class i of orbit g is
the point  centroid_g + spread_g s_i, divided by its length, s_i the corners of a centred regular simplex across: G is
feasible whatever the numbers are.  With D = dF/dG, any mu and S = D + diag(mu),  F(G') >= F(G) + <D, G' - G> = F(G) +
<S, G'> - <S, G> >= F(G) - <S, G> - K delta  for all feasible G' where S + delta I is definite.  At G = v v', v = +-1,
S v = 0 for mu = -diag(D G): where S is definite on a complement of v this is the only optimum, and none where some x
has x'Sx < 0.  docs/proofs.md has it in words, verify_further.py more claims.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

FORMAT = "geomsolve-proof/1"
ENTRIES = "format written_by about assuming kind question point dual points polynomial claims further"
MOST_BITS, MOST_ORBITS, MOST_BYTES, MOST_SIZE = 2048, 1000, 2**27, 10**9
NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][-+]?[0-9]{1,3})?|-?[0-9]{1,4000}/[0-9]{1,4000}")
Balls = list[list[Any]]
Outcome = tuple[str, bool | None, str]  # what is claimed; whether it holds, None if no precision told; what says so

try:
    flint: Any = importlib.import_module("flint")
except ImportError:  # said when something is to be checked
    flint = None


class NotAProofError(Exception):
    """Says what is wrong with a file."""


def _need(holds: object, message: str) -> None:
    if not holds:
        raise NotAProofError(message)


def _entry(data: Any, key: str, kind: type, known: str = "") -> Any:
    """An entry of its kind, with none but ``known`` entries of its own: nothing is said that the check does not see."""
    _need(isinstance(data, dict) and key in data, f"{key!r} is missing")
    _need(type(data[key]) is kind, f"{key!r} must be {kind.__name__}, got {data[key]!r:.60}")
    other = {*data[key]} - {*known.split()} if known else ()
    _need(not other, f"{key!r} has {', '.join(sorted(map(repr, other))):.60}, but known are only {known}")
    return data[key]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _need(len(dict(pairs)) == len(pairs), f"an entry comes twice among {', '.join(key for key, _ in pairs):.60}")
    return dict(pairs)


def _number(text: Any, key: str) -> Fraction:
    _need(isinstance(text, str) and NUMBER.fullmatch(text), f"{key}: wanted a number in quotes, got {text!r:.60}")
    _need("/" not in text or text.split("/")[1].strip("0"), f"{key}: {text!r:.60} divides by zero")
    return Fraction(text)


def _numbers(data: Any, key: str, count: int | None = None) -> list[Fraction]:
    listed = _entry(data, key, list)
    _need(count is None or len(listed) == count, f"{key!r} has {len(listed)} entries, not {count}")
    return [_number(text, key) for text in listed]


def _ball(x: Any) -> Any:
    return x if isinstance(x, flint.arb) else flint.arb(flint.fmpq(*Fraction(x).as_integer_ratio()))


def _dot(x: list[Any], y: list[Any]) -> Any:
    return sum(a * b for a, b in zip(x, y, strict=True))


def below(*pairs: tuple[Any, Any]) -> bool | None:
    """Whether a < b for all pairs, of balls; False where one is not, None where that is not told."""
    parts = [True if a < b else False if a >= b else None for a, b in pairs]
    return False if False in parts else None if None in parts else True


TAKES = {"supcon": "temperature full_batch batch views", "infonce": "temperature sampling form negatives"}
TAKES |= {"dcl": "temperature sampling negatives", "triplet": "margin sampling", "spectral": ""}
TAKES |= {"sigmoid": "temperature bias sampling"}
PAIRS = ("triplet", "sigmoid", "spectral")


class Classes:
    """The loss and the classes of a question; ``option`` reads a parameter of the loss."""

    takes, asks, each = TAKES, "loss classes", "size weight names"

    def __init__(self, question: Any) -> None:
        self.loss, groups = _entry(question, "loss", dict), _entry(question, "classes", list)
        self.name, taken = _entry(self.loss, "name", str), self.takes.get(self.loss["name"], "").split()
        _need(self.name in self.takes, f"unknown loss {self.name!r:.40}; known are {', '.join(self.takes)}")
        _need({*self.loss} <= {"name", *taken}, f"{self.name} takes {', '.join(taken)} and no more")
        _need(1 <= len(groups) <= MOST_ORBITS, f"wanted 1 to {MOST_ORBITS} kinds of classes, got {len(groups)}")
        self.groups, self.m = [_entry({"classes": x}, "classes", dict, self.each) for x in groups], range(len(groups))
        self.sizes = [_entry(group, "size", int) for group in groups]
        self.count, self.others = sum(self.sizes), [[n - (g == h) for h, n in enumerate(self.sizes)] for g in self.m]
        _need(all(0 < n <= MOST_SIZE for n in self.sizes) and self.count > 1, "size: wanted 1 to a billion, 2 in all")
        self.weigh([_number(_entry(group, "weight", str), "weight") for group in groups])
        temperature = self.option("temperature", "0" if "temperature" in taken else "1")
        _need(temperature > 0, "the temperature must be given and above 0")
        self.scale, self.mean = 1 / temperature, self.loss.get("form", "sum") == "mean"
        _need(self.loss.get("form", "sum") in ("sum", "mean"), "form must be sum or mean")
        self.full, batch = self.loss.get("full_batch", False), "batch" in self.loss
        _need(type(self.full) is bool and not self.full & batch, "full_batch: wanted true or false, and no batch")
        _need(batch or "views" not in self.loss, "views are those of a batch")

    def weigh(self, weights: list[Fraction]) -> None:
        _need(all(w > 0 for w in weights), "weights must be positive")
        self.weights, self.total = weights, Fraction(_dot(self.sizes, weights))
        self.p = [w / self.total for w in weights]

    def pairs(self, each: Callable[[int, int], Any]) -> Any:
        return sum(self.sizes[g] * self.others[g][h] * each(g, h) for g in self.m for h in self.m if self.others[g][h])

    def option(self, key: str, default: str) -> Fraction:
        return _number(self.loss.get(key, default), key)

    def drawn(self, default: str = "iid") -> tuple[list[Fraction], list[list[Fraction]]]:
        """Chance of the anchor's own class, and of each other single class, by orbit of the anchor."""
        way, p = self.loss.get("sampling", default), self.p
        _need(way in ("iid", "supervised"), f"sampling {way!r:.40} is neither iid nor supervised")
        return (p, [p] * len(p)) if way == "iid" else ([0 * x for x in p], [[x / (1 - own) for x in p] for own in p])

    def rows(self) -> tuple[list[Fraction], list[Fraction], list[list[Fraction]]]:
        """Mass, what does not depend on G, and the weight of each other class in a logarithm, by orbit of anchors."""
        if not self.full:
            own, chance = self.drawn()
            return self.p, [x + self.mean for x in own], chance
        w = self.weights
        _need(all(x.denominator == 1 for x in w), "a full batch has whole counts for weights")
        return [x / self.total if x > 1 else Fraction(0) for x in w], [x - 1 for x in w], [w for _ in w]

    def draws(self) -> tuple[Fraction, Fraction, int] | None:
        """a0, b and k of finitely many draws, None in the limit."""
        if "batch" not in self.loss and "negatives" not in self.loss:
            return None
        supcon, views = self.name == "supcon", self.option("views", "2")
        k = self.option("batch", "0") - 1 if supcon else self.option("negatives", "0")
        _need(k.denominator == 1 and 1 <= k <= 10**9 and views > 1, "wanted whole draws above 0, and two views or more")
        base, factor = Fraction(self.name == "infonce"), 1 / k if self.mean else Fraction(1)
        return (views - 1, views, int(k)) if supcon else (base, factor, int(k))

    def terms(self, C: Balls, shares: Any) -> tuple[Any, Any, Balls]:
        """F at the cosines C, a minorant of F there, and dF/dG_ab of that for an anchor a and a class b, by orbit."""
        if self.name in PAIRS:
            return _pair_terms(self, C, shares)
        drawn, (mass, offset, weight), scale = self.draws(), self.rows(), _ball(self.scale)
        value, slope = _ball(0), []
        for g in self.m:
            x = [((C[g][h] - 1) * scale).exp() if self.others[g][h] else _ball(0) for h in self.m]
            total = _ball(offset[g]) + sum(self.others[g][h] * _ball(weight[g][h]) * x[h] for h in self.m)
            plain = total.log(), [_ball(w) / total for w in weight[g]]
            loss, rates = expected(self, g, x, *drawn) if drawn else plain
            value += self.sizes[g] * _ball(mass[g]) * loss
            slope.append([_ball(mass[g]) * scale * x[h] * rates[h] for h in self.m])
        return value, value, slope

    def strictly_convex(self) -> bool:
        """Whether F has one minimiser by its form: log(sum of exponentials) is straight along 11', but rises there."""
        drawn, (mass, offset, _) = self.draws(), self.rows()
        if self.name in PAIRS or drawn is not None:
            return self.name != "triplet" if drawn is None else bool(drawn[0] > 0 or drawn[2] > 1)
        heard = [x > 0 and (y > 0 or not any(offset)) for x, y in zip(mass, offset, strict=True)]
        return bool(_dot(self.sizes, [not h for h in heard]) < 2)


def expected(q: Classes, g: int, x: list[Any], a0: Any, b: Any, k: int, own_x: int = 1) -> tuple[Any, list[Any]]:
    """E log Y = int (e^-s - E e^-sY) ds/s, Y = a0 + b sum of k draws from x, and its derivatives by x_h, over log s.

    E e^-sY = e^{-a0 s} phi^k, phi = sum_c r_c e^{-b s x_c};  dE/dx_h = k b r_h int e^{-a0 s} phi^{k-1} e^{-b s x_h} ds.
    |e^-s - E e^-sY| <= s (1 + E Y) near 0, <= e^-s + e^{-s Ymin} far out; the other integrands are <= 1, e^{-s Ymin}.
    """
    own, chance = q.drawn()
    parts = [(_ball(q.others[g][h] * chance[g][h]), x[h]) for h in q.m if q.others[g][h]]
    parts += [(_ball(own[g]), _ball(own_x))] if own[g] else []
    A, B, tiny = _ball(a0), _ball(b), flint.arb(2) ** -int(0.9 * flint.ctx.prec)
    least, mean = A + B * k * min(y.lower() for _, y in parts), A + B * k * sum(r * y for r, y in parts)
    _need(least > 0, "a cosine too low for its temperature")
    near = -int(0.7 * flint.ctx.prec) - 2 - int(abs(float(mean.log())))
    far = max(7, 2 + int(float((flint.ctx.prec / least).log().upper())))
    low, high = flint.arb(near).exp(), flint.arb(far).exp()

    def integral(f: Callable[[Any], Any], tail: Any) -> Any:
        found = flint.acb.integral(lambda t, _: f(t.exp()), near, far, rel_tol=tiny, abs_tol=tiny)
        return found.real + flint.arb(0, tail.upper())

    def decay(s: Any, times: int) -> Any:
        return (-A * s).exp() * sum(r * (-s * B * y).exp() for r, y in parts) ** times

    end = (-high * least).exp() / least
    value = integral(lambda s: (-s).exp() - decay(s, k), low * (1 + mean) + ((-high).exp() + end) / high)
    part = [integral(lambda s, y=y: s * decay(s, k - 1) * (-s * B * y).exp(), low + end) for y in x]  # type: ignore[misc]
    return value, [B * _ball(k * chance[g][h]) * part[h] for h in q.m]


def _pair_terms(q: Classes, C: Balls, shares: Any) -> tuple[Any, Any, Balls]:
    chance = q.drawn("iid" if q.name == "spectral" else "supervised")[1]
    value = floor = _ball(sum(n * p * p for n, p in zip(q.sizes, q.p, strict=True)) if q.name == "spectral" else 0)
    slope = [[_ball(0) for _ in q.m] for _ in q.m]
    for g, h in ((g, h) for g in q.m for h in q.m if q.others[g][h]):
        if q.name == "triplet":
            over, rate = C[g][h] - 1 + _ball(q.option("margin", "1")), _ball(shares[g][h])
            cost, least = over.max(_ball(0)), rate * over
        elif q.name == "sigmoid":
            logit, rate = C[g][h] * _ball(q.scale) - _ball(q.option("bias", "0")), _ball(q.scale)
            cost, least, rate = (1 + logit.exp()).log(), (1 + logit.exp()).log(), rate / (1 + (-logit).exp())
        else:
            cost, least, rate = C[g][h] ** 2, C[g][h] ** 2, 2 * C[g][h]
        times = _ball(q.sizes[g] * q.p[g] * q.others[g][h] * chance[g][h])
        value, floor = value + times * cost, floor + times * least
        slope[g][h] = _ball(q.p[g] * chance[g][h]) * rate
    return value, floor, slope


def dual(q: Classes, C: Balls, shares: Any = None) -> tuple[Any, Any, Balls, list[Any]]:
    """F, a minorant's value, its D, and the mu = -diag(D G) with which S = D + diag(mu) leaves no force."""
    value, floor, slope = q.terms(C, shares)
    D = [[(slope[g][h] + slope[h][g]) / 2 for h in q.m] for g in q.m]
    return value, floor, D, [-sum(q.others[g][h] * D[g][h] * C[g][h] for h in q.m) for g in q.m]


def definite(matrix: Balls, semi: bool = False) -> bool | None:
    """Whether all pivots of LDL' of a symmetric matrix are above 0; ``semi``, of fractions: or 0 with 0 beside it."""
    a: Balls = [row[: i + 1] for i, row in enumerate(matrix)]
    for j in range(len(a)):
        if not a[j][j] > 0 and not (semi and not any(a[i][j] for i in range(j, len(a)))):
            return False if semi or a[j][j] < 0 else None
        for i in range(j + 1, len(a)) if a[j][j] > 0 else ():
            ratio = a[i][j] / a[j][j]
            for k in range(j + 1, i + 1):
                a[i][k] -= ratio * a[k][j]
    return True


def positive(q: Classes, D: Balls, mu: list[Any], without: int | None = None) -> bool | None:
    """Whether S = D + diag(mu) is definite on vectors that are 0 on ``without``: constant on orbits, or differences."""
    m, n = [g for g in q.m if g != without], q.sizes
    block = [[n[g] * (mu[g] + (n[g] - 1) * D[g][g]) if g == h else n[g] * n[h] * D[g][h] for h in m] for g in m]
    within = below(*((D[g][g], mu[g]) for g in q.m if n[g] > 1))
    return definite(block) if within else within


def collapsed(q: Classes, signs: list[int]) -> tuple[Balls, list[Any]]:
    """D and mu at G = v v', v the ``signs``, with S v = 0 exactly."""
    return dual(q, [[_ball(a * b) for b in signs] for a in signs])[2:]


def point_of(q: Classes, data: Any) -> tuple[Balls, list[int] | None]:
    """The cosines of the primal point, feasible whatever its numbers are; and its signs if it is at +1 and -1 only."""
    data = _entry(data, "point", dict, "centroids spread")
    listed, spread = _entry(data, "centroids", list), _numbers(data, "spread", len(q.p))
    c = [_numbers({"centroids": row}, "centroids") for row in listed]
    _need(len(c) == len(q.p) and len({len(row) for row in c}) == 1, "centroids: wanted one of one length for each kind")
    _need(all(n > 1 or s == 0 for n, s in zip(q.sizes, spread, strict=True)), "spread: a single class has none")
    length = [_dot(row, row) + s * s for row, s in zip(c, spread, strict=True)]
    _need(all(length), "centroids: a point at the origin has no direction")
    unit = [[_ball(x) / _ball(square).sqrt() for x in row] for row, square in zip(c, length, strict=True)]
    cosines = [[_dot(x, y) for y in unit] for x in unit]
    for g, n in enumerate(q.sizes):
        cosines[g][g] = _ball(1 - spread[g] ** 2 * Fraction(n, max(n - 1, 1)) / length[g])
    flat = len(c[0]) == 1 and not any(spread) and all(row[0] in (1, -1) for row in c)
    return cosines, [int(row[0]) for row in c] if flat else None


def optimum(data: Any, claim: str, text: str = "0", made: Any = Classes) -> Outcome:
    """A claim about the least loss."""
    q, given = made(_entry(data, "question", dict, made.asks)), _entry(data, "dual", dict, "mu shares")
    (C, signs), mu = point_of(q, data), [_ball(x) for x in _numbers(given, "mu", len(q.p))]
    shares = [_numbers({"shares": row}, "shares", len(q.p)) for row in _entry({"shares": [], **given}, "shares", list)]
    bounded = all(0 <= x <= 1 for row in shares for x in row)
    _need(bounded and len(shares) == len(q.p) * (q.name == "triplet"), "shares: wanted those of triplet, in [0, 1]")
    if claim in ("value", "bound"):
        (value, floor, D, _), limit = dual(q, C, shares), _ball(_number(text, claim))
        if claim == "value":
            return f"the point has a loss of at most {text}", below((value, limit)), f"loss {value.str(20)}"
        inner = _dot(q.sizes, mu) + q.pairs(lambda g, h: D[g][h] * C[g][h])
        delta = (room := (floor - inner - limit) / q.count).lower()
        holds = positive(q, D, [x + delta for x in mu]) if delta > 0 else False if room < 0 else None
        why = f"F {floor.str(20)}, <S, G> {inner.str(3)}, delta {delta.str(3, radius=False)}"
        return f"no embedding has a loss below {text}", holds, why
    said = "the optimal cosines are unique" if claim == "unique" else "only one class opposite all others is optimal"
    if claim == "unique" and q.strictly_convex():
        return said, True, "the loss is strictly convex in every cosine"
    if signs is None or signs.count(1) != 1 or q.sizes[signs.index(1)] != 1 or q.name == "triplet":
        return said, False, "the point is not one class opposite all others"
    return said, positive(q, *collapsed(q, signs), 0), "S v = 0 exactly, S definite on a complement of v"


def along(question: Any, x: Fraction, made: type[Classes] = Classes) -> tuple[Classes, list[int]]:
    """The question with x for what varies, and the signs +1 of the largest class and -1 of all others."""
    over, loss = _entry(question, "over", str), _entry(question, "loss", dict)
    _need(over in {"temperature", "batch", "negatives", "majority"} - {*loss}, f"over: unknown or given: {over!r:.40}")
    q = made({**question, "loss": loss if over == "majority" else {**loss, over: str(x)}})
    first = max(q.m, key=q.p.__getitem__)
    _need(q.sizes[first] == 1 and q.name != "triplet", "no threshold: several largest classes, or a loss with kinks")
    if over == "majority":
        q.weigh([x if g == first else (1 - x) * w / (q.total - q.weights[first]) for g, w in enumerate(q.weights)])
    return q, [1 if g == first else -1 for g in q.m]


def threshold(data: Any, _: str, low: Any, high: Any, side: Any, against: Any, made: Any = Classes) -> Outcome:
    """The claim that collapse sets in, or ends, within an interval."""
    question, ends = _entry(data, "question", dict, f"over {made.asks}"), [_number(low, "low"), _number(high, "high")]
    _need(0 < ends[0] < ends[1] and side in ("above", "below"), "wanted 0 < low < high, collapsed above or below")
    no, yes = (low, high) if side == "above" else (high, low)
    (q, signs), (other, others) = (along(question, Fraction(x), made) for x in (no, yes))
    D, mu = collapsed(q, signs)
    if isinstance(against, dict):
        g = _entry(against, "within", int)
        _need(g in q.m and q.sizes[g] > 1, "against: no such kind of classes, or only one class of it")
        form = 2 * (mu[g] - D[g][g])
    else:
        x = [_ball(each) for each in _numbers({"against": against}, "against", len(q.p))]
        form = sum(q.sizes[g] * mu[g] * x[g] ** 2 for g in q.m) + q.pairs(lambda g, h: D[g][h] * x[g] * x[h])
    holds = positive(other, *collapsed(other, others), 0) if form < 0 else below((form, 0))
    said = f"one class opposite all others is the only optimum at {question['over']} {yes}, and no optimum at {no}"
    return said, holds, f"x'Sx = {form.str(3)} at {no}, S definite on a complement of v at {yes}"


def realizable(data: Any, claim: str, against: Any = None) -> Outcome:
    """The claim that a matrix of fractions is, or is not, psd."""
    question = _entry(data, "question", dict, "labels temperature sigma")
    y = [_numbers({"labels": row}, "labels") for row in _entry(question, "labels", list)]
    _need(1 <= len(y) <= MOST_ORBITS and len({len(row) for row in y}) == 1, "labels: too many, none, or not alike")
    t, sigma = (_number(question.get(key), key) for key in ("temperature", "sigma"))
    _need(t > 0 and sigma > 0, "temperature and sigma must be above 0")
    T = [[1 - t / (2 * sigma**2) * sum((a - b) ** 2 for a, b in zip(u, v, strict=True)) for v in y] for u in y]
    if claim == "realizable":
        return "some unit vectors have exactly the cosines asked for", definite(T, semi=True), "by exact elimination"
    x = _numbers({"against": against}, "against", len(y))
    form = _dot(x, [_dot(row, x) for row in T])
    return "no unit vectors have the cosines asked for", form < 0, f"x'Tx = {form}, exactly"


Kinds = dict[str, tuple[Callable[..., Outcome], dict[str, str]]]  # what decides, each claim with the keys it needs
KINDS: Kinds = {
    "optimum": (optimum, {"value": "at_most", "bound": "at_least", "collapsed": "", "unique": ""}),
    "threshold": (threshold, {"threshold": "low high collapsed against"}),
    "realizable": (realizable, {"realizable": "", "not realizable": "against"}),
}


def check(text: str | bytes, known: dict[str, Kinds] | None = None) -> list[Outcome]:
    """All claims of a proof with what becomes of them; precision is doubled until they are decided."""
    _need(flint, "python-flint is needed to check proofs (not to write them): pip install 'geomsolve[proof]'")
    _need(len(text) <= MOST_BYTES, f"larger than {MOST_BYTES:,} bytes")
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise NotAProofError(f"not JSON: {error}") from None
    form, known = _entry(_entry({"a proof": data}, "a proof", dict, ENTRIES), "format", str), known or {FORMAT: KINDS}
    _need(form in known, f"format {form!r:.40} is not {' or '.join(known)}, all that is known here")
    _need(_entry(data, "kind", str) in known[form], f"unknown kind {data['kind']!r:.40}; known are {[*known[form]]}")
    claims, (decide, needs), outcomes = _entry(data, "claims", list), known[form][data["kind"]], []
    _need(claims, "claims: there are none")
    for claim in claims:
        _need(_entry(claim, "claim", str) in needs, f"claims: wanted some of {', '.join(needs)}")
        keys = needs[claim["claim"]].split()
        _need({*keys, "claim"} == {*claim}, f"{claim['claim']} lacks one of its keys or has others: {', '.join(keys)}")
        given, flint.ctx.prec = [data, claim["claim"], *(claim[key] for key in keys)], 64
        while (outcome := decide(*given))[1] is None and flint.ctx.prec < MOST_BITS:
            flint.ctx.prec *= 2
        bound = claim["claim"] != "value" and "assuming" in data
        outcomes.append((outcome[0] + f", assuming {data.get('assuming')!r:.300}" * bound, *outcome[1:]))
    return outcomes


def verify(path: str, by: Callable[[bytes], list[Outcome]] = check) -> tuple[int, str, list[Outcome]]:
    """Exit code 0, 1 or 2 of one file, what is wrong with it if it is no proof, and its claims."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            outcomes = by(file.read(MOST_BYTES + 1))
    except (ArithmeticError, ValueError) as error:
        return 2, f"its numbers are beyond what can be enclosed ({error})", []
    except (NotAProofError, OSError) as error:
        return 2, getattr(error, "strerror", None) or str(error), []
    return int(not all(holds for _, holds, _ in outcomes)), "", outcomes


def told(path: str, wrong: str, outcomes: list[Outcome]) -> str:
    """What became of one file, one claim a line."""
    verdict = f"no proof: {wrong}" if wrong else "proven" if all(o[1] for o in outcomes) else "NOT PROVEN"
    words = {True: "holds", False: "FAILS", None: "not decided"}
    return "\n".join([f"{path}: {verdict}", *(f"  {words[holds]}: {said}  ({why})" for said, holds, why in outcomes)])


if __name__ == "__main__":
    results = [(path, *verify(path)) for path in sys.argv[1:]]
    sys.stdout.writelines(f"{told(path, wrong, outcomes)}\n" for path, _, wrong, outcomes in results)
    sys.stdout.write("What stands under the key 'further' of a file is not checked here, but by verify_further.py.\n")
    sys.exit(max((code for _, code, _, _ in results), default=2))
