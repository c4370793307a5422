"""Shared by the tests: every loss written down a second time, from its definition, on all K classes.

Nothing here uses geomsolve.  A :class:`Definition` is a loss for given classes as a plain list of terms; it can be
evaluated by loops, or handed to cvxpy as the full-size program, without orbits and without certificates.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Pair = tuple[int, int]


@dataclass
class Definition:
    """Sum of weight log(constant + sum coefficient e^{scale (G_ab - 1)}), and of pairwise terms.

    The latter are linear . G + hinge . (G - knee)_+ + square . G^2.
    ``rows`` are (weight, constant, {(a, b): coefficient}).
    """

    n_classes: int
    scale: float = 1.0
    rows: list[tuple[float, float, dict[Pair, float]]] = field(default_factory=list)
    constant: float = 0.0
    linear: dict[Pair, float] = field(default_factory=dict)
    hinge: dict[Pair, float] = field(default_factory=dict)
    knee: float = 0.0
    square: dict[Pair, float] = field(default_factory=dict)

    def value(self, gram: np.ndarray) -> float:
        total = self.constant
        for weight, constant, terms in self.rows:
            total += weight * math.log(
                constant + sum(c * math.exp(self.scale * (gram[ab] - 1)) for ab, c in terms.items())
            )
        total += sum(c * gram[ab] for ab, c in self.linear.items())
        total += sum(c * max(gram[ab] - self.knee, 0.0) for ab, c in self.hinge.items())
        return total + sum(c * gram[ab] ** 2 for ab, c in self.square.items())

    def solve(self) -> tuple[float, np.ndarray]:
        """The full-size program, K x K, straight in cvxpy: optimal value and Gram matrix."""
        import cvxpy as cp

        k = self.n_classes
        gram = cp.Variable((k, k), PSD=True)
        cost: Any = self.constant
        for weight, constant, terms in self.rows:
            logits = [self.scale * (gram[ab] - 1) + math.log(c) for ab, c in terms.items()]
            if constant > 0:
                logits.append(cp.Constant(math.log(constant)))
            cost = cost + weight * cp.log_sum_exp(cp.hstack(logits))
        for mass, of in (
            (self.linear, lambda x: x),
            (self.hinge, lambda x: cp.pos(x - self.knee)),
            (self.square, cp.square),
        ):
            for ab, c in mass.items():
                cost = cost + c * of(gram[ab])
        problem = cp.Problem(cp.Minimize(cost), [cp.diag(gram) == 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of inaccuracy: the tests measure it
            problem.solve(solver="CLARABEL")
        return float(problem.value), np.array(gram.value)


def multinomials(k: int, chance: dict[int, float]):
    """Every way to draw k classes: (probability, how often each class was drawn)."""
    for drawn in itertools.combinations_with_replacement(sorted(chance), k):
        counts = Counter(drawn)
        probability = float(math.factorial(k))
        for c, n in counts.items():
            probability *= chance[c] ** n / math.factorial(n)
        yield probability, counts


def hypergeometrics(k: int, counts: list[int]):
    """Every way to take k samples out of ``counts`` without replacement: (probability, how often each class)."""
    for drawn in itertools.product(*(range(min(n, k) + 1) for n in counts)):
        if sum(drawn) == k:
            ways = math.prod(math.comb(n, d) for n, d in zip(counts, drawn, strict=True))
            yield ways / math.comb(sum(counts), k), Counter({c: d for c, d in enumerate(drawn) if d})


def define(name: str, parameters: dict[str, Any], p: Any, counts: Any = None) -> Definition:
    """The loss ``name`` for class proportions ``p`` (K,), from its definition."""
    p = [float(x) for x in p]
    k = len(p)
    classes = range(k)
    get = parameters.get
    tau = get("temperature", 0.1)
    d = Definition(k, scale=1 / tau)

    def others(a: int) -> list[int]:
        return [b for b in classes if b != a]

    def negatives_of(a: int, sampling: str) -> dict[int, float]:
        if sampling == "iid":
            return dict(enumerate(p))
        return {b: p[b] / sum(p[c] for c in others(a)) for b in others(a)}

    def random_negatives(
        draws: int, sampling: str, base: float, factor: float, *, finite: bool = False, positive: bool = False
    ) -> None:
        """``finite``: without replacement from the counts; ``positive``: an anchor without one adds nothing."""
        for a in classes:
            left = [n - (c == a) for c, n in enumerate(counts)] if finite else []
            for probability, drawn in (
                hypergeometrics(draws, left) if finite else multinomials(draws, negatives_of(a, sampling))
            ):
                own = drawn.pop(a, 0)
                if positive and not own:
                    continue
                d.rows.append((p[a] * probability, base + factor * own, {(a, b): factor * n for b, n in drawn.items()}))

    if name == "supcon" and get("full_batch"):
        total = sum(counts)
        for a in classes:
            if counts[a] > 1:
                d.rows.append((counts[a] / total, counts[a] - 1, {(a, b): counts[b] for b in others(a)}))
    elif name == "supcon" and get("batch"):
        views = get("views", 2)
        finite = get("replacement") == "no"
        random_negatives(get("batch") - 1, "iid", views - 1, views, finite=finite, positive=views == 1)
    elif name == "kcl":
        return define("supcon", {key: x for key, x in parameters.items() if key != "positives"}, p, counts)
    elif name == "bcl" and get("batch"):
        for a in classes:
            for probability, drawn in multinomials(get("batch") - 1, dict(enumerate(p))):
                if get("views", 2) > 1 or a in drawn:
                    d.rows.append((p[a] * probability, 1.0, {(a, b): 1.0 for b in drawn if b != a}))
    elif name == "bcl":
        d.rows = [(p[a], 1.0, {(a, b): 1.0 for b in others(a)}) for a in classes]
    elif name == "supcon":
        d.rows = [(p[a], p[a], {(a, b): p[b] for b in others(a)}) for a in classes]
    elif name in ("infonce", "dcl"):
        draws, sampling = get("negatives", math.inf), get("sampling", "iid")
        mean = get("form") == "mean"
        base = 1.0 if name == "infonce" else 0.0
        if draws == math.inf:
            for a in classes:
                chance = negatives_of(a, sampling)
                constant = chance.pop(a, 0.0) + (base if mean else 0.0)
                d.rows.append((p[a], constant, {(a, b): c for b, c in chance.items()}))
        else:
            random_negatives(draws, sampling, base, 1 / draws if mean else 1.0)
    elif name == "nt-xent":
        views, batch = get("views", 2), get("batch")
        q = [x ** get("sampler", 1.0) for x in p]
        q = [x / sum(q) for x in q]
        finite = get("replacement") == "no"
        draws = hypergeometrics(batch, counts) if finite else multinomials(batch, dict(enumerate(q)))
        for probability, drawn in draws:
            m = {a: views * n for a, n in drawn.items()}
            pairs = sum(n * (n - 1) for n in m.values())
            for a, n in m.items():
                if n > 1:
                    mass = probability * n * (n - 1) / pairs
                    d.rows.append((mass, 1.0, {(a, b): m[b] for b in m if b != a}))
    elif name == "soft-supcon":
        epsilon = get("epsilon", 0.1)
        for a in classes:
            norm = p[a] + epsilon * sum(p[b] for b in others(a))
            d.rows.append((p[a], p[a], {(a, b): p[b] for b in others(a)}))
            for b in others(a):
                pull = p[a] * epsilon * p[b] / norm / tau
                d.linear[a, b] = -pull
                d.constant += pull
    elif name == "align-uniform":
        d.scale = 2 * get("uniform_t", 2.0)
        d.rows = [(1.0, sum(x * x for x in p), {(a, b): p[a] * p[b] for a in classes for b in others(a)})]
    elif name in ("triplet", "sigmoid"):
        sampling = get("sampling", "supervised")
        pairs = {(a, b): p[a] * negatives_of(a, sampling)[b] for a in classes for b in others(a)}
        if name == "triplet":
            d.hinge, d.knee = pairs, 1 - get("margin", 1.0)
        else:
            lift = math.exp(1 / tau - get("bias", 0.0))
            d.rows = [(mass, 1.0, {ab: lift}) for ab, mass in pairs.items()]
    elif name == "contrastive":
        return define("triplet", {"margin": 1 - get("neg_margin", 0.0), "sampling": get("sampling", "supervised")}, p)
    elif name == "soft-margin-triplet":
        lift = math.exp(get("margin", 0.0) / tau)
        for a in classes:
            chance = negatives_of(a, get("sampling", "supervised"))
            d.rows += [(p[a] * chance[b], 1.0, {(a, b): lift}) for b in others(a)]
    elif name == "multi-similarity":
        lift = math.exp((1 - get("base", 0.5)) / tau)
        for a in classes:
            for probability, drawn in multinomials(get("negatives"), negatives_of(a, get("sampling", "supervised"))):
                drawn.pop(a, 0)
                d.rows.append((tau * p[a] * probability, 1.0, {(a, b): lift * n for b, n in drawn.items()}))
    elif name == "supcon-in":
        return define("supcon", parameters, p)
    elif name == "n-pair":
        drawn = get("negatives", k - 1)
        for a in classes:
            some = list(itertools.combinations(others(a), drawn))
            d.rows += [(1 / k / len(some), 1.0, {(a, b): 1.0 for b in batch}) for batch in some]
    elif name == "spectral":
        d.constant = sum(x * x for x in p)
        d.square = {(a, b): p[a] * p[b] for a in classes for b in others(a)}
    else:
        raise AssertionError(f"write down the definition of {name} here")
    return d


LOSSES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("supcon", {"temperature": 0.5}),
    ("supcon", {"temperature": 0.5, "full_batch": True}),
    ("supcon", {"temperature": 0.5, "batch": 4}),
    ("supcon", {"temperature": 1.0, "batch": 3, "views": 3}),
    ("supcon", {"temperature": 0.5, "batch": 4, "views": 1}),
    ("supcon", {"temperature": 0.5, "batch": 5, "replacement": "no"}),
    ("supcon", {"temperature": 0.5, "batch": 4, "views": 1, "replacement": "no"}),
    ("kcl", {"temperature": 0.5, "batch": 3, "positives": 2}),
    ("bcl", {"temperature": 0.5}),
    ("bcl", {"temperature": 0.5, "batch": 4}),
    ("nt-xent", {"temperature": 0.5, "batch": 4}),
    ("nt-xent", {"temperature": 1.0, "batch": 5, "views": 1, "sampler": 0.5}),
    ("nt-xent", {"temperature": 0.5, "batch": 5, "replacement": "no"}),
    ("infonce", {"temperature": 0.5}),
    ("infonce", {"temperature": 0.5, "form": "mean", "sampling": "supervised"}),
    ("infonce", {"temperature": 0.5, "negatives": 3}),
    ("infonce", {"temperature": 0.5, "negatives": 2, "form": "mean", "sampling": "supervised"}),
    ("dcl", {"temperature": 0.5}),
    ("dcl", {"temperature": 0.5, "sampling": "supervised"}),
    ("dcl", {"temperature": 0.5, "negatives": 3}),
    ("dcl", {"temperature": 0.5, "negatives": 2, "sampling": "supervised"}),
    ("triplet", {}),
    ("triplet", {"margin": 1.4, "sampling": "iid"}),
    ("contrastive", {"neg_margin": -0.2}),
    ("soft-margin-triplet", {"temperature": 0.5, "margin": 0.3}),
    ("soft-margin-triplet", {"temperature": 1.0, "sampling": "iid"}),
    ("multi-similarity", {"temperature": 0.5, "negatives": 3}),
    ("multi-similarity", {"temperature": 0.5, "negatives": 2, "base": 0.1, "sampling": "iid"}),
    ("supcon-in", {"temperature": 0.5}),
    ("n-pair", {"temperature": 0.5}),
    ("n-pair", {"temperature": 0.5, "negatives": 1}),
    ("sigmoid", {"temperature": 0.5, "bias": 1.0}),
    ("sigmoid", {"temperature": 1.0, "sampling": "iid"}),
    ("spectral", {}),
    ("align-uniform", {}),
    ("soft-supcon", {"temperature": 0.5, "epsilon": 0.2}),
    ("soft-supcon", {"temperature": 0.5, "epsilon": 0.01}),
)
"""The losses in all their forms, small enough to be enumerated."""


def label(case: tuple[str, dict[str, Any]]) -> str:
    name, parameters = case
    return "-".join([name, *(f"{key}={value}" for key, value in parameters.items())])


def random_gram(rng: np.random.Generator, n: int, dim: int | None = None) -> np.ndarray:
    """Gram matrix (n, n) of random unit vectors."""
    x = rng.normal(size=(n, dim or n))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gram = x @ x.T
    np.fill_diagonal(gram, 1.0)
    return gram


def off_diagonal(gram: np.ndarray) -> np.ndarray:
    """The entries of pairs of different classes."""
    return gram[~np.eye(len(gram), dtype=bool)]
