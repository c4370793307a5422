"""Checks proofs about weightings of labels, of the format geomsolve-proof/3, with ``verify.py`` and nothing else.

Samples i have labels y_i, and w_ij says how much two should be alike, w_ij = w_ji:

    weighted InfoNCE   F = sum_i a_i [ log (1/N) sum_j e^{t_ij} - sum_j P_ij t_ij ],   P_ij = w_ij / sum_k w_ik,

a_i = 1/N unless ``masses`` say otherwise, t = (G - 1)/temperature, all samples with themselves among the others.  F is
convex in G.  Where all w_ii are the same F is least, its floor, at  T_ij = 1 + temperature log(w_ij / w_ii),  if that
is positive semidefinite.  Where self pairs are excluded the sums are over j != i, N - 1 of them, and F is least at
T_ij = c + temperature log w_ij,  1 on the diagonal, if that is positive semidefinite for a constant c.

    xclr         log w = (cosine of y_i and y_j - 1) / target_temperature    T = r S + 1 - r, r = temperature / that
    yaware       a kernel of u = |y_i - y_j| / sigma                         soft-supcon   1, or epsilon
    jaccard      labels in common / labels of either, rows of 0 and 1        custom        as given
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from geomsolve import verify
from geomsolve.verify import Balls, Classes, Outcome, _ball, _dot, _entry, _need, _number, _numbers, below, definite

TAKES = {"xclr": "target_temperature", "yaware": "sigma kernel", "soft-supcon": "epsilon", "jaccard": ""}
TAKES |= {"custom": "weights"}
"""The parameters that each weighting takes."""

KERNELS = ("gaussian", "exponential", "epanechnikov", "linear", "cosine")
ASKS = "weighting labels sizes temperature self_pairs masses"


def logarithms(question: Any) -> Balls:
    """log w between distinct labels, symmetric; None where a matrix has a 0."""
    given = _entry(question, "weighting", dict)
    name = _entry(given, "name", str)
    _need(name in TAKES and {*given} == {"name", *TAKES.get(name, "").split()}, f"{name:.40} takes {TAKES.get(name)}")
    if name == "custom":
        _need("labels" not in question, "labels: a matrix takes none")
        rows = [_numbers({"weights": row}, "weights") for row in _entry(given, "weights", list)]
        fits = 1 <= len(rows) <= verify.MOST_ORBITS and all(len(row) == len(rows) for row in rows)
        _need(fits, f"weights: wanted a square matrix, of up to {verify.MOST_ORBITS} rows")
        _need([*map(list, zip(*rows, strict=True))] == rows, "weights: wanted a symmetric matrix")
        _need(all(w >= 0 for row in rows for w in row), "weights: wanted numbers of 0 or more")
        return [[_ball(w).log() if w else None for w in row] for row in rows]
    y = [_numbers({"labels": row}, "labels") for row in _entry(question, "labels", list)]
    _need(1 <= len(y) <= verify.MOST_ORBITS and len({*map(len, y)}) == 1, "labels: too many, none, or not alike")
    _need(len({tuple(row) for row in y}) == len(y), "labels: wanted distinct ones, with their sizes")
    if name == "soft-supcon":
        epsilon = _number(given["epsilon"], "epsilon")
        _need(0 < epsilon <= 1, "epsilon: wanted a number above 0, up to 1")
        return [[_ball(1 if i == j else epsilon).log() for j in range(len(y))] for i in range(len(y))]
    if name == "jaccard":
        _need(all(x in (0, 1) for row in y for x in row) and all(map(any, y)), "labels: wanted rows of 0 and 1")
        n, both = list(map(sum, y)), [[_dot(u, v) for v in y] for u in y]
        _need(all(x > 0 for row in both for x in row), "labels: two samples share none, so that their weight is 0")
        return [[_ball(x / (n[i] + n[j] - x)).log() for j, x in enumerate(row)] for i, row in enumerate(both)]
    if name == "xclr":
        softness = _number(given["target_temperature"], "target_temperature")
        _need(softness > 0 and all(map(any, y)), "target_temperature: wanted above 0, and no label of zeros")
        length = [_ball(_dot(u, u)).sqrt() for u in y]
        unit = [[_ball(x) / size for x in row] for row, size in zip(y, length, strict=True)]
        cosines = [[_ball(1) if u is v else _dot(u, v) for v in unit] for u in unit]
        return [[(c - 1) / _ball(softness) for c in row] for row in cosines]
    sigma, kernel = _number(given["sigma"], "sigma"), given["kernel"]
    _need(sigma > 0 and kernel in KERNELS, f"sigma: wanted above 0; kernel: wanted one of {', '.join(KERNELS)}")
    square = [[sum((a - b) ** 2 for a, b in zip(u, v, strict=True)) / sigma**2 for v in y] for u in y]
    _need(kernel in KERNELS[:2] or all(x < 1 for row in square for x in row), "sigma: some weights are 0")
    return [[kernel_log(kernel, x) for x in row] for row in square]


def kernel_log(kernel: str, square: Fraction) -> Any:
    """log k(u) for u^2 ``square``."""
    if kernel == "gaussian":
        return _ball(-square / 2)
    if kernel == "epanechnikov":
        return _ball(1 - square).log()
    u = _ball(square).sqrt()
    if kernel == "cosine":
        return (u * verify.flint.arb.pi() / 2).cos().log()
    return -u if kernel == "exponential" else (1 - u).log()


class Weighted(Classes):
    """Weighted InfoNCE on samples, those with one label a kind."""

    asks = ASKS

    def __init__(self, question: Any) -> None:
        self.logs = logarithms(question)
        sizes = _entry(question, "sizes", list)
        _need(len(sizes) == len(self.logs), "sizes: wanted one for each label")
        loss = {"name": "supcon", "temperature": _entry(question, "temperature", str)}
        super().__init__({"loss": loss, "classes": [{"size": n, "weight": "1"} for n in sizes]})
        _need(question.get("self_pairs", "include") in ("include", "exclude"), "self_pairs: wanted include or exclude")
        self.itself = question.get("self_pairs", "include") == "include"
        _need(self.itself or self.count > 1, "sizes: wanted two samples or more")
        w = [[_ball(0) if x is None else x.exp() for x in row] for row in self.logs]
        total = [sum((n if self.itself else n - (g == h)) * w[g][h] for h, n in enumerate(self.sizes)) for g in self.m]
        _need(all(z > 0 for z in total), "weights: a sample has none above 0")
        given = _numbers(question, "masses", len(self.sizes)) if "masses" in question else [Fraction(1)] * len(total)
        _need(all(x > 0 for x in given), "masses: wanted numbers above 0")
        self.masses = [_ball(x / _dot(self.sizes, given)) for x in given]
        self.target = [[y / z for y in row] for row, z in zip(w, total, strict=True)]

    def terms(self, C: Balls, shares: Any) -> tuple[Any, Any, Balls]:
        value, scale, slope = _ball(0), _ball(self.scale), []
        for g in self.m:
            used = [h for h in self.m if self.others[g][h]]
            t = [(C[g][h] - 1) * scale if h in used else _ball(0) for h in self.m]
            x = [y.exp() for y in t]
            whole = int(self.itself) + sum(self.others[g][h] * x[h] for h in used)
            pulled = sum(self.others[g][h] * self.target[g][h] * t[h] for h in used)
            value += self.sizes[g] * self.masses[g] * ((whole / (self.count - (not self.itself))).log() - pulled)
            slope.append([self.masses[g] * scale * (x[h] / whole - self.target[g][h]) for h in self.m])
        return value, value, slope

    def strictly_convex(self) -> bool:
        return bool(self.itself)  # the constant in every logarithm is above 0, and every pair is in one


def wanted(q: Weighted, weighting: dict[str, Any]) -> tuple[Balls, Any]:
    """T between distinct labels, and 1 - r of X-CLR, None for others; all self weights have to be the same."""
    given, softness = weighting.get("weights"), weighting.get("target_temperature")
    same = given is None or len({_number(row[i], "weights") for i, row in enumerate(given)}) == 1
    _need(same, "weights: those of samples with themselves differ, so that there is no such matrix")
    t, logs = 1 / q.scale, q.logs
    T = [[_ball(1) if i == j else 1 + _ball(t) * (logs[i][j] - logs[0][0]) for j in q.m] for i in q.m]
    return T, None if softness is None else 1 - t / _number(softness, "target_temperature")


def verdict(data: Any, claim: str, given: Any = None) -> Outcome:
    """Whether unit vectors have all cosines T, or what the least loss is."""
    if claim in ("value", "bound", "unique"):
        return verify.optimum(data, claim, given or "0", Weighted)
    question = _entry(data, "question", dict, ASKS)
    q = Weighted(question)
    _need(q.itself == (claim != FREE), f"{claim}: self_pairs say otherwise")
    _need(not any(x is None for row in q.logs for x in row), f"{claim}: some weights are 0")
    if claim == FREE:
        c, t = _ball(_number(given, "constant")), _ball(1 / q.scale)
        holds = verify.positive(q, [[c + t * x for x in row] for row in q.logs], [_ball(1) for _ in q.m])
        said = "some unit vectors have exactly the cosines asked for, of different samples, up to a constant"
        return said, holds, f"all pivots of the matrix of wanted cosines are positive with the constant {c.str(8)}"
    T, rest = wanted(q, question["weighting"])
    if claim == "realizable":
        said = "some unit vectors have exactly the cosines asked for"
        if rest is not None and rest >= 0:
            return said, True, "a mixture of the cosines of the labels and of ones"
        return said, definite(T), "all pivots of the matrix of wanted cosines are positive"
    x = [_ball(y) for y in _numbers({"against": given}, "against", len(T))]
    form = _dot(x, [_dot(row, x) for row in T])
    return "no unit vectors have the cosines asked for", below((form, 0)), f"x'Tx = {form.str(5)}"


FREE = "realizable with a constant"
CLAIMS = {"value": "at_most", "bound": "at_least", "unique": "", "realizable": "", "not realizable": "against"}
CLAIMS |= {FREE: "constant"}
KINDS: verify.Kinds = {"weighting": (verdict, CLAIMS)}
