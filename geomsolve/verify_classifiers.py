"""Checks proofs about classifiers, of the format geomsolve-proof/3, with ``verify.py`` and nothing else.

Class k has the mean h_k of its features and its classifier w_k; Z_kj = <h_k, w_j>, all K classes one by one:

    F(Z) = sum_k m_k [ log sum_j v_j e^{Z_kj} - sum_j T_kj (Z_kj + log v_j) ],   T_kk = 1 - e + e/K,  T_kj = e/K

    budget   F                                            sum |h_k|^2 <= K features,  sum |w_k|^2 <= K classifiers
    decay    F + weight (sum n_k |h_k|^2 + sum |w_k|^2)/2
    margin   (sum p_k |h_k|^2 + sum |w_k|^2)/2            Z_kk - Z_kj >= 1

With chances Q, D = diag(m) (Q - T), h = sum_k m_k [ entropy of q_k + sum_j (Q - T)_kj log v_j ] and |.| the operator
norm no embedding goes below  h - K root(features classifiers) |D|,  nor below h where |diag(1/root(n)) D| <= weight;
and with prices B >= 0 not below sum_kj B_kj where |diag(1/root(p)) (diag(B 1) - B)| <= 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from geomsolve.verify import Balls, Classes, Outcome, _ball, _dot, _entry, _need, _number, _numbers, below, definite

MOST = 100
"""Classes of which all logits are looked at."""

TAKES = {"cross-entropy": "charge smoothing anchors logit_adjust features classifiers weight"}
FORMS = {"budget": "features classifiers", "decay": "weight", "margin": ""}


class Peeled(Classes):
    """Cross-entropy of free features and classifiers."""

    takes, each = TAKES, f"{Classes.each} anchor"

    def __init__(self, question: Any) -> None:
        super().__init__(question)
        self.charge = str(self.loss.get("charge"))
        _need(self.charge in FORMS, f"charge: wanted {', '.join(FORMS)}")
        _need(self.count <= MOST, f"{self.count:,} classes are too many, at most {MOST} are looked at")
        taken = {"name", "charge", *FORMS[self.charge].split()}
        also = set() if self.charge == "margin" else {"smoothing", "anchors", "logit_adjust"}
        _need(taken <= {*self.loss} <= taken | also, f"{self.charge} takes {', '.join(sorted(taken | also))}")
        self.parameters = {key: _number(self.loss[key], key) for key in FORMS[self.charge].split()}
        _need(all(x > 0 for x in self.parameters.values()), "wanted numbers above 0")
        kinds = [g for g in self.m for _ in range(self.sizes[g])]
        e, eta = self.option("smoothing", "0"), self.option("logit_adjust", "0")
        rule = self.loss.get("anchors", "plain")
        own = ["anchor" in group for group in self.groups]
        _need(0 <= e < 1 and rule in ("plain", "balanced"), "smoothing: wanted 0 to 1; anchors: plain or balanced")
        fits = all(own) or not any(own)
        _need(fits and not (any(own) and "anchors" in self.loss), "anchor: wanted of all, or a rule for anchors")
        given = [_number(group.get("anchor", "1"), "anchor") for group in self.groups]
        _need(all(x > 0 for x in given), "anchor: wanted numbers above 0")
        mass = [Fraction(1) if rule == "balanced" else p * x for p, x in zip(self.p, given, strict=True)]
        self.mass = [_ball(mass[g] / _dot(self.sizes, mass)) for g in kinds]
        self.log_v = [_ball(self.p[g]).log() * _ball(eta) for g in kinds]
        k = self.every = range(self.count)
        self.target = [[_ball((1 - e) * (a == b) + e / self.count) for b in k] for a in k]
        self.rho = [{"budget": Fraction(1), "decay": self.weights[g], "margin": self.p[g]}[self.charge] for g in kinds]
        whole = self.charge != "decay" or all(w.denominator == 1 for w in self.weights)
        _need(whole, "weight: wanted the counts of classes, as the features of all samples are charged")

    def loss_at(self, Z: list[list[Fraction]]) -> Any:
        """F."""
        found = _ball(0)
        for a in self.every:
            z = [_ball(x) + v for x, v in zip(Z[a], self.log_v, strict=True)]
            found += self.mass[a] * (sum(x.exp() for x in z).log() - _dot(self.target[a], z))
        return found

    def slope(self, Q: Balls) -> Balls:
        """diag(1/rho) D."""
        return [
            [self.mass[a] * (q - t) / _ball(self.rho[a]).sqrt() for q, t in zip(Q[a], self.target[a], strict=True)]
            for a in self.every
        ]

    def least(self, Q: Balls) -> Any:
        """h."""
        found = _ball(0)
        for a in self.every:
            entropy = -sum(q * q.log() for q in Q[a] if q != 0)
            rest = (_ball(0), *((q - t) * v for q, t, v in zip(Q[a], self.target[a], self.log_v, strict=True)))
            found += self.mass[a] * (entropy + sum(rest))
        return found


def shorter(matrix: Balls, size: Any) -> bool | None:
    """Whether the operator norm of a matrix is below a ball."""
    k = range(len(matrix))
    return definite([[size**2 * (a == b) - _dot(matrix[a], matrix[b]) for b in k] for a in k])


def square(data: Any, key: str, k: int) -> list[list[Fraction]]:
    """A matrix of ``k`` rows of numbers, as long as each other."""
    rows = [_numbers({key: row}, key) for row in _entry(data, key, list)]
    _need(len(rows) == k and len({*map(len, rows)}) == 1 and rows[0], f"{key}: wanted {k} rows of one length")
    return rows


def peeled(data: Any, claim: str, text: str) -> Outcome:
    """A claim about the least loss of features and classifiers."""
    q, limit = Peeled(_entry(data, "question", dict, Peeled.asks)), _ball(_number(text, claim))
    given, k = q.parameters, q.count
    if claim == "value":
        point = _entry(data, "point", dict, "features classifiers")
        H, W = (square(point, key, k) for key in ("features", "classifiers"))
        _need(len(H[0]) == len(W[0]), "features and classifiers: wanted as many dimensions")
        Z = [[_dot(h, w) for w in W] for h in H]
        long = sum(rho * _dot(h, h) for rho, h in zip(q.rho, H, strict=True)), sum(_dot(w, w) for w in W)
        said = f"the features and classifiers have a loss of at most {text}"
        if q.charge == "budget" and not (long[0] <= k * given["features"] and long[1] <= k * given["classifiers"]):
            return said, False, "they are longer than their budget"
        if q.charge == "margin":
            ahead = min(Z[a][a] - Z[a][b] for a in q.every for b in q.every if a != b)
            return said, ahead >= 1 and below((_ball(sum(long) / 2), limit)), f"least margin {_ball(ahead).str(8)}"
        value = q.loss_at(Z) + _ball(given.get("weight", 0) * sum(long) / 2)
        return said, below((value, limit)), f"loss {value.str(20)}"
    said = f"no features and classifiers have a loss below {text}"
    if q.charge == "margin":
        B = square(_entry(data, "dual", dict, "prices"), "prices", k)
        _need(len(B[0]) == k and all(x >= 0 for row in B for x in row), "prices: wanted as many columns, of 0 or more")
        signed = [[sum(B[a]) * (a == b) - B[a][b] for b in q.every] for a in q.every]
        M = [[_ball(x) / _ball(rho).sqrt() for x in row] for rho, row in zip(q.rho, signed, strict=True)]
        total = sum(sum(row) - row[a] for a, row in enumerate(B))
        return said, both(below((limit, _ball(total))), shorter(M, _ball(1))), f"prices {_ball(total).str(20)}"
    chances = square(_entry(data, "dual", dict, "chances"), "chances", k)
    fits = len(chances[0]) == k and all(x >= 0 for row in chances for x in row) and all(map(any, chances))
    _need(fits, "chances: wanted as many columns, of 0 or more, and no row of zeros")
    Q = [[_ball(x / sum(row)) for x in row] for row in chances]
    least, M = q.least(Q), q.slope(Q)
    if q.charge == "decay":
        return said, both(below((limit, least)), shorter(M, _ball(given["weight"]))), f"h {least.str(20)}"
    room = (least - limit) / (k * _ball(given["features"] * given["classifiers"]).sqrt())
    return said, both(below((_ball(0), room)), shorter(M, room)), f"h {least.str(20)}, |D| < {room.str(5)}"


def both(*parts: bool | None) -> bool | None:
    """Whether all hold."""
    return False if False in parts else None if None in parts else True


KINDS = {"classifiers": (peeled, {"value": "at_most", "bound": "at_least"})}
