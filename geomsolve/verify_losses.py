"""Checks proofs of the format geomsolve-proof/3, about losses of random and of fixed batches, of soft maxima and of
distances, and about weightings of labels, with the other files called ``verify`` and nothing else.

    python -m geomsolve.verify_losses FILE...       the same exit codes; files of all formats are checked

    rows       F = sum_r mass_r log( constant_r + sum_b number_rb e^{t_ab} ),  one r for each kind of anchor a in each
               batch that there may be, which are all listed
    means      F = sum_a mass_a E log( a0 + b sum of k draws of X ),  X = e^{t_ac} with chance p_c, own classes 1 or 0
    distances  D = sqrt(2 - 2 G), of which - D is convex in G and rises
    pairwise   F = sum_a p_a sum_b r(b|a) psi(G_ab), psi convex (verify_potentials.py)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from math import comb
from typing import Any

from geomsolve import verify, verify_classifiers, verify_further, verify_potentials, verify_weightings
from geomsolve.verify import Balls, Classes, Outcome, _ball, _dot, _entry, _need, _number, _numbers
from geomsolve.verify_further import Further

LOSSES = "geomsolve-proof/3"
MOST_BATCHES, MOST_CLASSES = 20_000, 12
"""Batches that are listed at most, and classes of which all subsets are."""

BATCH = "temperature batch views replacement"
MORE: dict[str, str] = {**verify_further.TOO}
MORE["supcon"] += " replacement batches batch_weights"
MORE |= {"nt-xent": f"{BATCH} expectation", "bcl": "temperature batch views", "n-pair": "temperature negatives"}
MORE |= {"multi-similarity": "temperature base negatives sampling"}
MORE |= {"lifted-structure": "neg_distance negatives sampling"}
MORE |= {"contrastive-distance": "neg_distance squared sampling", "pairwise": "psi sampling"}
"""The parameters that each loss takes."""

AVERAGED = ("multi-similarity", "nt-xent")
Row = tuple[Any, int, int, tuple[tuple[int, Any], ...]]  # mass, constant, orbit of the anchor, others by orbit
Listing = Iterator[tuple[Any, int, int, dict[int, Any]]]  # mass, constant, class of the anchor, how much of each class


def needed(loss: dict[str, Any]) -> bool:
    """Whether a loss, as a proof states it, is one that ``verify_further.py`` does not know."""
    known = verify_further.TOO.get(loss["name"], "").split()
    effective = str(loss.get("anchors")).startswith("effective:")
    return loss["name"] not in verify_further.TOO or not {*loss} <= {"name", *known} or effective or one_view(loss)


def one_view(loss: dict[str, Any]) -> bool:
    """Whether it is SupCon on batches of one view a sample, where an anchor may have no positive."""
    return loss["name"] == "supcon" and "views" in loss and _number(loss["views"], "views") == 1


def too_many(loss: dict[str, Any], classes: int) -> bool:
    """Whether a loss, as a proof states it, is of more batches of so many classes than are listed."""
    if loss["name"] == "bcl":
        return "batch" in loss and classes > MOST_CLASSES
    if loss["name"] == "n-pair":
        return "negatives" in loss and ways("n-pair", int(Fraction(loss["negatives"])) + 1, classes) > MOST_BATCHES
    listed = loss.get("replacement") == "no" or loss.get("expectation") == "exact"
    return listed and ways(loss["name"], int(Fraction(loss["batch"])), classes) > MOST_BATCHES


def ways(name: str, size: int, classes: int) -> int:
    """How many batches of so many samples there may be: each class once in those of n-pair, else any number of each."""
    return comb(classes, size) if name == "n-pair" else comb(size + classes - 1, classes - 1)


def compositions(total: int, most: list[int]) -> Iterator[tuple[int, ...]]:
    """All ways to take ``total``, of each class no more than ``most``."""
    if len(most) == 1:
        if total <= most[0]:
            yield (total,)
        return
    for n in range(min(total, most[0]) + 1):
        for rest in compositions(total - n, most[1:]):
            yield n, *rest


class Batches(Further):
    """The losses of this file, as rows (``listed``), as means (``averaged``) or ``distant``; and all others."""

    takes = MORE

    def __init__(self, question: Any) -> None:
        super().__init__(question)
        self.kinds = [g for g in self.m for _ in range(self.sizes[g])] if self.count <= verify.MOST_ORBITS else []
        self.views = self.whole("views", "2") if "views" in self.loss else 2
        self.finite = self.word("replacement", "yes", "no") == "no"
        self.power = 2 if self.loss.get("squared", False) else 1
        _need(type(self.loss.get("squared", False)) is bool, "squared: wanted true or false")
        self.distant = self.name in ("contrastive-distance", "lifted-structure")
        self.psi = verify_potentials.Potential(_entry(self.loss, "psi", str)) if self.name == "pairwise" else None
        if self.name == "contrastive-distance" and self.power == 1:
            self.name = "triplet"  # a loss with kinks: it has shares
        listed = "batches" in self.loss or self.finite or (self.name == "bcl" and "batch" in self.loss)
        listed |= self.name == "n-pair" and "negatives" in self.loss
        if self.name == "nt-xent":
            exact = self.word("expectation", "exact", "ratio") == "exact"
            _need(exact or not self.finite, "a ratio is of draws with replacement")
            listed |= exact
        self.listed = self.merged() if listed else None
        self.averaged = self.means() if not listed and (self.name in AVERAGED or one_view(self.loss)) else None
        _need(not self.listed or not self.changed, "listed batches are compared as they stand")

    def whole(self, key: str, default: str) -> int:
        found = self.option(key, default)
        _need(found.denominator == 1 and 1 <= found <= 10**9, f"{key}: wanted a whole number above 0")
        return int(found)

    def counts(self) -> list[int]:
        _need(all(w.denominator == 1 for w in self.weights), "whole counts are wanted for weights")
        return [int(w) for w in self.weights]

    def balance(self) -> tuple[list[Any], list[Any], list[Any]]:
        """As there, and anchors by the effective number of samples, (1 - beta) / (1 - beta^n)."""
        rule = self.loss.get("anchors")
        if not isinstance(rule, str) or not rule.startswith("effective:"):
            return super().balance()
        beta, plain = _number(rule.partition(":")[2], "anchors"), self.loss
        _need(0 < beta < 1, "anchors: wanted effective:BETA between 0 and 1")
        self.loss = {key: value for key, value in plain.items() if key != "anchors"}
        q, _, v = super().balance()
        self.loss = plain
        return q, self.parts([_ball(x) / (1 - _ball(beta) ** n) for x, n in zip(q, self.counts(), strict=True)]), v

    # rows: every batch that there may be

    def merged(self) -> list[Row]:
        """Rows, alike ones together."""
        _need(self.kinds, "too many classes to list batches")
        together: dict[Any, Any] = defaultdict(lambda: 0)
        for mass, constant, a, numbers in self.listing():
            others: dict[int, Any] = defaultdict(lambda: 0)
            for b, number in numbers.items():
                if b != a and number:
                    others[self.kinds[b]] += number
            together[constant, self.kinds[a], tuple(sorted(others.items()))] += mass
        return [(mass, *key) for key, mass in together.items()]

    def listing(self) -> Listing:
        """One entry for each anchor in each batch, alike or not."""
        if "batches" in self.loss:
            yield from self.fixed()
        elif self.name == "bcl":
            yield from self.present()
        else:
            yield from self.drawn_batches()

    def fixed(self) -> Listing:
        """SupCon on batches that always hold the same classes: log(1 + sum over b in it of (q_b / q_a) e^t)."""
        groups, taken = _entry(self.loss, "batches", list), {"name", "temperature", "batches", "batch_weights"}
        _need({*self.loss} <= taken, "fixed batches: nothing else is taken")
        given = self.loss.get("batch_weights", ["1"] * len(groups))
        weight = _numbers({"batch_weights": given}, "batch_weights", len(groups))
        _need(all(w > 0 for w in weight), "batch_weights: wanted one above 0 for each")
        _need(groups and all(n == 1 for n in self.sizes), "batches: wanted some, and every class a kind of its own")
        for group, w in zip(groups, weight, strict=True):
            fits = type(group) is list and all(type(a) is int and 1 <= a <= self.count for a in group)
            _need(fits and len({*group}) == len(group) > 1, "batches: wanted lists of different classes, from 1")
            q = {a - 1: self.p[self.kinds[a - 1]] for a in group}
            for a in q:
                yield w * q[a] / (sum(q.values()) * sum(weight)), 1, a, {b: y / q[a] for b, y in q.items()}

    def drawn_batches(self) -> Listing:
        """Batches drawn from all samples: of supcon and n-pair the mean over anchors, of nt-xent over pairs."""
        pairs, once, arb = self.name == "nt-xent", self.name == "n-pair", verify.flint.arb
        size = self.whole("negatives", "0") + 1 if once else self.whole("batch", "0")
        few = ways(self.name, size, self.count)
        _need(size > 1 and 0 < few <= MOST_BATCHES, f"batch: {few:,} ways to draw it, wanted 1 to {MOST_BATCHES:,}")
        held = [1] * self.count if once else [size] * self.count
        if self.finite:
            held = [self.counts()[g] for g in self.kinds]
            _need(sum(held) < 2**63, "weight: too many samples")
            _need(size <= sum(held), "batch: larger than all samples together")
        if self.finite or once:
            chances = [[arb.bin_uiui(n, k) for k in range(min(n, size) + 1)] for n in held]
            front = 1 / arb.bin_uiui(sum(held), size)
        else:
            chances = [[_ball(self.p[g]) ** k / arb.fac_ui(k) for k in range(size + 1)] for g in self.kinds]
            front = arb.fac_ui(size)
        views = 1 if once else self.views
        for numbers in compositions(size, held):
            chance = front
            for n, table in zip(numbers, chances, strict=True):
                chance *= table[n]
            there = {a: views * n for a, n in enumerate(numbers) if n}
            whole = sum(m * (m - 1) for m in there.values())
            for a, m in there.items():
                if pairs and whole and m > 1:
                    yield chance * m * (m - 1) / whole, 1, a, there
                elif not pairs and (m > 1 or once):
                    yield chance * numbers[a] / size, 1 if once else m - 1, a, there

    def present(self) -> Listing:
        """BCL in random batches: a class that is there counts once.  The chance that just the classes of a set are
        there follows from those that no others are, by inclusion and exclusion."""
        draws = self.whole("batch", "0") - 1
        _need(draws > 0 and self.count <= MOST_CLASSES, f"batch: wanted 2 or more, and at most {MOST_CLASSES} classes")
        for g in self.m:
            a, own = self.kinds.index(g), _ball(self.p[g])
            others = [b for b in range(self.count) if b != a]
            shares = [_ball(0)]  # of each set of others, in the order of binary numbers
            for b in others:
                shares += [share + _ball(self.p[self.kinds[b]]) for share in shares]
            chance = [(x + own) ** draws - (x**draws if self.views == 1 else 0) for x in shares]
            for i in range(len(others)):
                for some in (j for j in range(len(chance)) if j >> i & 1):
                    chance[some] -= chance[some ^ 1 << i]
            for some, likely in enumerate(chance):
                there = {b: 1 for i, b in enumerate(others) if some >> i & 1}
                yield self.sizes[g] * own * likely, 1, a, there

    # means over draws

    def means(self) -> list[tuple[list[Any], Classes, Any, Any, int, int]]:
        """Mass by orbit of anchors, who draws, a0, b, k, and what the anchor's own class counts."""
        if self.name == "multi-similarity":
            factor = ((1 - _ball(self.option("base", "0.5"))) * _ball(self.scale)).exp()
            tau = 1 / _ball(self.scale)
            return [([tau * _ball(p) for p in self.p], self, 1, factor, self.whole("negatives", "0"), 0)]
        size, views = self.whole("batch", "0"), self.views
        _need(size > 1, "batch: wanted two samples or more")
        if self.name == "nt-xent":
            one = [views * (views - 1) * size * p for p in self.p]
            two = [views**2 * size * (size - 1) * p * p for p in self.p]
            whole = _dot(self.sizes, one) + _dot(self.sizes, two)
            both = (([p / whole for p in one], size - 1), ([p / whole for p in two], size - 2))
            return [(mass, self, 1, views, k, 0) for mass, k in both if k > 0 and any(mass)]
        _need(not self.changed, "one view is compared as it stands")
        k, loss = size - 1, {"name": "dcl", "temperature": self.loss["temperature"], "sampling": "supervised"}
        alike = [{"size": n, "weight": str(w)} for n, w in zip(self.sizes, self.weights, strict=True)]
        none = [-_ball(p) * (1 - _ball(p)) ** k for p in self.p]
        return [(self.p, self, 0, 1, k, 1), (none, Classes({"loss": loss, "classes": alike}), 0, 1, k, 1)]

    # the losses

    def exponentials(self, C: Balls) -> Balls:
        """e^t, and 0 where there is no such pair."""
        scale = _ball(self.scale)
        return [
            [((c - 1) * scale).exp() if self.others[g][h] else _ball(0) for h, c in enumerate(C[g])] for g in self.m
        ]

    def terms(self, C: Balls, shares: Any) -> tuple[Any, Any, Balls]:
        if self.distant:
            return self.by_distance(C, shares)
        if self.psi is not None:
            return self.by_potential(C, self.psi)
        scale, value = _ball(self.scale), _ball(0)
        slope = [[_ball(0) for _ in self.m] for _ in self.m]
        x = self.exponentials(C)
        if self.listed is not None:
            for mass, constant, g, others in self.listed:
                total = _ball(constant) + sum(_ball(n) * x[g][h] for h, n in others)
                value += _ball(mass) * total.log()
                for h, n in others:
                    share = _ball(mass) * _ball(n) * x[g][h] / (total * self.sizes[g] * self.others[g][h])
                    slope[g][h] += share * scale
            return value, value, slope
        if self.averaged is None:
            return super().terms(C, shares)
        for masses, q, a0, b, k, own in self.averaged:
            for g in self.m:
                loss, rates = verify.expected(q, g, x[g], a0, b, k, own)
                value += self.sizes[g] * _ball(masses[g]) * loss
                slope[g] = [y + _ball(masses[g]) * scale * z * r for y, z, r in zip(slope[g], x[g], rates, strict=True)]
        return value, value, slope

    def by_potential(self, C: Balls, psi: verify_potentials.Potential) -> tuple[Any, Any, Balls]:
        """psi of every pair, as often as it is drawn."""
        chance = self.drawn("supervised")[1]
        at = {(g, h): psi.at(C[g][h]) for g in self.m for h in self.m if self.others[g][h]}
        value = self.pairs(lambda g, h: _ball(self.p[g] * chance[g][h]) * at[g, h][0])
        mass = [[_ball(self.p[g] * chance[g][h]) for h in self.m] for g in self.m]
        return value, value, [[mass[g][h] * at[g, h][1] if (g, h) in at else _ball(0) for h in self.m] for g in self.m]

    def by_distance(self, C: Balls, shares: Any) -> tuple[Any, Any, Balls]:
        """Hinges on D, theta (M - D) for a minorant where they have kinks; or half the squares of soft maxima."""
        chance, far = self.drawn("supervised")[1], _ball(self.option("neg_distance", "1"))
        value = floor = _ball(0)
        slope = [[_ball(0) for _ in self.m] for _ in self.m]
        D = [[(2 - 2 * c).sqrt() for c in row] for row in C]
        if self.called == "lifted-structure":
            _need(self.option("negatives", "31") > 0, "negatives: wanted a number above 0")
            for g in self.m:
                many = [2 * self.option("negatives", "31") * chance[g][h] for h in self.m]
                part = [_ball(many[h]) * (far - D[g][h]).exp() if self.others[g][h] else _ball(0) for h in self.m]
                total = _dot(self.others[g], part)
                cost = total.log().max(_ball(0))
                value += self.sizes[g] * _ball(self.p[g]) * cost**2 / 2
                for h in (h for h in self.m if self.others[g][h]):
                    slope[g][h] = _ball(self.p[g]) * cost * part[h] / (total * D[g][h])
            return value, value, slope
        for g, h in ((g, h) for g in self.m for h in self.m if self.others[g][h]):
            short, mass = far - D[g][h], _ball(self.p[g] * chance[g][h])
            cost = short.max(_ball(0))
            rate, least = (2 * cost, cost**2) if self.power == 2 else (_ball(shares[g][h]), _ball(shares[g][h]) * short)
            value += self.sizes[g] * self.others[g][h] * mass * cost**self.power
            floor += self.sizes[g] * self.others[g][h] * mass * least
            slope[g][h] = mass * rate / D[g][h]
        return value, floor, slope

    def bend(self, C: Balls) -> Balls:
        none = [[_ball(0) for _ in self.m] for _ in self.m]
        if self.distant or self.psi is not None or (self.averaged and one_view(self.loss)):
            return none
        scale = _ball(self.scale)
        x = self.exponentials(C)
        if self.listed is not None:
            for mass, constant, g, others in self.listed:
                total = _ball(constant) + sum(_ball(n) * x[g][h] for h, n in others)
                for h, n in others:
                    share = _ball(mass) * _ball(n) * x[g][h] / (total * self.sizes[g] * self.others[g][h])
                    none[g][h] += share * scale**2 * constant / total
            return none
        if self.averaged is None:
            return super().bend(C)
        for masses, q, a0, b, k, _ in self.averaged:
            chance = q.drawn()[1]
            for g in self.m:
                most = _ball(a0) + _ball(b) * k * max(_ball(1), *(y.upper() for y in x[g]))
                size = _ball(masses[g]) * scale**2 * _ball(a0) / most**2 * _ball(b)
                none[g] = [y + size * _ball(k * c) * z for y, c, z in zip(none[g], chance[g], x[g], strict=True)]
        return none

    def strictly_convex(self) -> bool:
        """For distances where every pair always costs something; else as the bend says."""
        far = self.option("neg_distance", "1")
        if self.psi is not None:
            return self.psi.strict
        if self.called == "contrastive-distance":
            return far >= 2
        if self.called == "lifted-structure":
            chance, many = self.drawn("supervised")[1], 2 * self.option("negatives", "31")
            return all(_ball(many * _dot(self.others[g], chance[g])) * (_ball(far) - 2).exp() > 1 for g in self.m)
        if self.listed is None and self.averaged is None:
            return super().strictly_convex()
        if self.averaged is not None:
            return bool(self.averaged) and (not one_view(self.loss) or self.averaged[0][4] > 1)
        meet = {(g, h) for mass, _, g, others in self.listed or () for h, _ in others if _ball(mass) > 0}
        return all(not self.others[g][h] or (g, h) in meet or (h, g) in meet for g in self.m for h in self.m)

    @property
    def blind(self) -> bool:
        return self.listed is None and self.averaged is None and super().blind


KINDS: verify.Kinds = {
    "frame": (partial(verify_potentials.frame, made=Batches), verify_potentials.FRAME),
    "optimum": (partial(verify_further.of_optimum, made=Batches), verify_further.OPTIMUM),
    "threshold": (partial(verify.threshold, made=Batches), verify.KINDS["threshold"][1]),
    **verify_weightings.KINDS,
    **verify_classifiers.KINDS,
}


def check_all(text: str | bytes) -> list[Outcome]:
    """All claims of a proof of any format."""
    return verify_further.check_all(text, {LOSSES: KINDS})


if __name__ == "__main__":
    verify_further.main(check_all)
