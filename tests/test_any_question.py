"""Any question about classes, asked as a user would ask it: what has to hold of whatever comes back.

Every loss with any of its parameters, temperatures from .005 to 100, 2 to 400 classes of shares from 1e-12 to 1.  The
exit code is that of the contract; no embedding found by drawing or by descent, its loss written down a second time
where that can be enumerated, goes below a certified bound; a permutation of the classes permutes the answer; equal
classes may be told apart or not.

``pytest -m nightly`` asks for as long as GEOMSOLVE_FUZZ_SECONDS says (default: 1200), each time something else.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import os
import random
import time
import warnings
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest
from helpers import define
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from geomsolve import Orbits, make_loss
from geomsolve.losses import ClassifierLoss
from geomsolve.registry import LOSSES

LARGE = 30
"""Classes up to which a descent is affordable."""

ROWS = 20_000
"""Terms up to which a loss is written down a second time."""


def logarithmic(low: float, high: float):
    return st.floats(math.log(low), math.log(high)).map(lambda x: float(f"{math.exp(x):.6g}"))


VALUES = {
    "temperature": logarithmic(0.005, 100),
    "negatives": st.one_of(st.integers(1, 4), st.just("inf"), st.integers(1, 100_000)),
    "batch": st.one_of(st.integers(2, 6), st.integers(2, 4096)),
    "views": st.integers(1, 4),
    "positives": st.integers(1, 50),
    "sampling": st.sampled_from(["iid", "supervised"]),
    "form": st.sampled_from(["sum", "mean"]),
    "complement": st.sampled_from(["yes", "no"]),
    "sampler": st.sampled_from(["0", "0.5", "1", "2", "sqrt", "balanced"]),
    "anchor_weights": st.sampled_from(["balanced", "effective:0.9", "effective:0.9999"]),
    "denominator": st.sampled_from(["plain", "balanced"]),
    "logit_adjust": st.floats(-3, 3).map(lambda x: round(x, 3)),
    "hardness": logarithmic(1e-3, 100),
    "bias": st.floats(-30, 30).map(lambda x: round(x, 3)),
    "margin": st.floats(0.01, 2).map(lambda x: round(x, 3)),
    "pos_margin": st.floats(0.5, 1).map(lambda x: round(x, 3)),
    "neg_margin": st.floats(-1, 0.4).map(lambda x: round(x, 3)),
    "base": st.floats(-1, 1).map(lambda x: round(x, 3)),
    "uniform_t": logarithmic(1e-3, 100),
    "epsilon": logarithmic(1e-12, 1),
    "target_weight": logarithmic(1e-3, 100),
    "delta": st.one_of(st.just(0.0), logarithmic(1e-9, 10)),
    "tail_weight": st.floats(0, 1).map(lambda x: round(x, 3)),
    "tail_shape": st.floats(0, 5).map(lambda x: round(x, 3)),
    "regularise": logarithmic(1e-5, 1),
    "constraint": st.sampled_from(["budget:5,1", "budget:1,1", "2"]),
    "ufm": st.just("seli"),
    "smoothing": st.sampled_from([0, 0.01, 0.1, 0.5]),
    "psi": st.sampled_from(["exp(2*x)", "log1p(exp(5*(x-0.3)))", "x*x", "max(x-0.2, 0)"]),
}
"""What a parameter is given, by its name.  Those of matrices and of groups of classes have tests of their own."""

DEFINED = {"temperature", "negatives", "batch", "views", "sampling", "form", "epsilon", "bias", "margin", "uniform_t"}
DEFINED |= {"base", "neg_margin"}
"""Parameters that the second definition of a loss knows."""

ALWAYS = {"pairwise": ("psi",)}


@dataclass(frozen=True)
class Question:
    loss: str
    parameters: dict[str, object]
    shares: tuple[float, ...]
    counted: bool

    def args(self, shares=None) -> list[str]:
        flags = {name: declared.flags[-1] for name, declared in LOSSES[self.loss].takes().items()}
        given = [str(x) for name, value in self.parameters.items() for x in (flags[name], value)]
        written = ",".join(f"{n}*{x!r}" if (n := len(list(same))) > 1 else repr(x) for x, same in grouped(shares, self))
        return ["imbalance", "--counts" if self.counted else "--props", written, "--loss", self.loss, *given]


def grouped(shares, question):
    return itertools.groupby(question.shares if shares is None else shares)


@st.composite
def questions(draw) -> Question:
    name = draw(st.sampled_from(sorted(LOSSES)))
    takes = [each for each in LOSSES[name].takes() if each in VALUES]
    some = draw(st.lists(st.sampled_from(takes), unique=True, max_size=3)) if takes else []
    wanted = {*ALWAYS.get(name, ()), *some, *({"temperature"} & {*takes})}
    parameters = {each: draw(VALUES[each]) for each in takes if each in wanted}
    most = draw(st.sampled_from([3, 6, 12, 40, 400]))
    counted = draw(st.booleans())
    one = st.integers(1, draw(st.sampled_from([3, 100, 10**6]))) if counted else logarithmic(1e-12, 1)
    sizes = draw(st.lists(st.tuples(one, st.integers(1, max(1, most // 2))), min_size=1, max_size=min(most, 12)))
    shares = [x for x, n in sizes for _ in range(n)][:most]
    if len(shares) < 2:
        shares = [*shares, *shares]
    if counted:
        shares = shares if sum(shares) > len(shares) else [2, *shares[1:]]
        return Question(name, parameters, tuple(shares), counted=True)
    total = math.fsum(shares)
    return Question(name, parameters, tuple(x / total for x in shares), counted=False)


def asked(args: list[str]) -> tuple[int, dict | None, str]:
    """Exit code, the answer and stderr; warnings that a library gives are errors."""
    from geomsolve.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch("sys.argv", ["geomsolve", *args, "--json", "--full"]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    code = ended.value.code
    assert code in (0, 1, 2, 3), err.getvalue()
    if code in (2, 3):
        assert not out.getvalue()
        (line,) = [line for line in err.getvalue().splitlines() if line.startswith("{")]
        assert json.loads(line)["error"]["message"]
        assert "internal error" not in line, line
        return code, None, line
    return code, json.loads(out.getvalue(), parse_constant=pytest.fail), err.getvalue()


def second_time(question: Question, p: np.ndarray, counts):
    """The loss as a function of the cosines, from its definition; None where that is too long or not written down."""
    parameters = {key: math.inf if x == "inf" else x for key, x in question.parameters.items()}
    draws = max((x for name in ("batch", "negatives") if (x := parameters.get(name, 1)) != math.inf), default=1)
    if {*parameters} - DEFINED or math.comb(draws + p.size, draws) * p.size**2 > ROWS:
        return None
    if question.loss == "kcl" or (question.loss, parameters.get("negatives", math.inf)) == (
        "multi-similarity",
        math.inf,
    ):
        return None
    if question.loss == "nt-xent" and "batch" not in parameters:
        return None
    try:
        return define(question.loss, parameters, p, counts).value
    except (AssertionError, OverflowError):
        return None


def straight(loss, p: np.ndarray) -> float:
    """By how much a pull to targets is understated where square roots go on straight (``objectives/targets.py``)."""
    if loss.name != "tsc":
        return 0.0
    return loss.shares[1] / loss.temperature * p.size * p.max() * math.sqrt(1e-15 * p.size / (p.size - 1))


def bounds_hold(question: Question, answer: dict, rng: np.random.Generator) -> None:
    """No embedding goes below the bound; the one that is answered has the loss that is answered."""
    counts = np.array(question.shares) if question.counted else None
    p = np.array(question.shares, dtype=float)
    p = p / p.sum()
    parameters = {key: math.inf if x == "inf" else x for key, x in question.parameters.items()}
    loss = make_loss(question.loss, parameters)
    if isinstance(loss, ClassifierLoss):
        return
    single = Orbits.trivial(p, counts)
    objective = loss.objective(single)
    again = second_time(question, p, counts)

    def value(gram: np.ndarray) -> float:
        if again is None:
            return objective.value(gram)
        try:
            return again(gram)
        except (ValueError, OverflowError):  # e^x of no floating-point number
            return objective.value(gram)

    gram, bound, found = np.array(answer["gram"]), answer["lower_bound"], answer["value"]
    scale = max(1.0, abs(found))
    np.testing.assert_array_equal(np.diag(gram), 1.0)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-9 * p.size
    assert answer["gap"] >= 0
    if not objective.degenerate and np.isfinite(found):
        assert value(gram) == pytest.approx(found, abs=1e-9 * scale + straight(loss, p))
    if not np.isfinite(bound):
        assert not answer["certified"]
        return
    room = 1e-11 * scale * max(1.0, p.size / 10) + straight(loss, p)
    eigenvalues, vectors = np.linalg.eigh(gram)
    best = vectors * np.sqrt(np.maximum(eigenvalues, 0))
    for spread in (1e-4, 0.03, 1.0, 30.0):
        z = best + spread * rng.standard_normal(best.shape)
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        assert value(z @ z.T) >= bound - room, f"drawn at {spread}"
    if p.size > LARGE:
        return

    def slope(flat: np.ndarray) -> tuple[float, np.ndarray]:
        x = flat.reshape(p.size, -1)
        length = np.linalg.norm(x, axis=1, keepdims=True)
        u = x / length
        at, gradient = objective.evaluate(u @ u.T)
        np.fill_diagonal(gradient, 0.0)
        push = (gradient + gradient.T) @ u
        push -= np.sum(push * u, axis=1, keepdims=True) * u
        return at, (push / length).ravel()

    for start in (best + 0.01 * rng.standard_normal(best.shape), rng.standard_normal(best.shape)):
        x = minimize(slope, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 40}).x.reshape(best.shape)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        assert value(x @ x.T) >= bound - room, "descended"


def holds(question: Question, number: int) -> int:
    """What has to hold of a question, whatever it is; its exit code."""
    args = question.args()
    code, answer, said = asked(args)
    if answer is None:
        return code
    assert (code == 0) == answer["certified"], said
    if answer["certified"]:
        assert answer["gap"] <= 1e-6 * max(1, abs(answer["value"])) * (1 + 1e-9)
    rng = np.random.default_rng(number)
    if "gram" in answer:
        bounds_hold(question, answer, rng)
    order = rng.permutation(len(question.shares))
    shuffled = question.args([question.shares[a] for a in order])
    code, other, said = asked(shuffled)
    assert other is not None, said
    same(answer, other)
    if not question.counted and len({*question.shares}) < len(question.shares) <= LARGE:
        apart = [x * (1 + 1e-10 * n) for n, x in enumerate(question.shares)]
        code, other, said = asked(question.args(apart))
        assert other is not None, said
        same(answer, other)
    return code


def same(one: dict, other: dict) -> None:
    """Two answers to one question: neither's value is below the other's bound."""
    if one.get("lower_bound") is None:
        return
    room = 1e-7 * max(1.0, abs(one["value"]))
    assert one["value"] >= other["lower_bound"] - room
    assert other["value"] >= one["lower_bound"] - room
    if one["certified"] and other["certified"]:
        assert abs(one["value"] - other["value"]) <= one["gap"] + other["gap"] + room


@pytest.mark.slow
@seed(19)
@settings(max_examples=40)
@given(questions(), st.integers(0, 2**32 - 1))
def test_any_question_has_an_answer_that_holds(question, number):
    holds(question, number)


@pytest.mark.slow
@pytest.mark.nightly
def test_any_question_for_as_long_as_there_is_time():
    until = time.monotonic() + float(os.environ.get("GEOMSOLVE_FUZZ_SECONDS", "1200"))

    @settings(max_examples=50)
    @given(questions(), st.integers(0, 2**32 - 1))
    def some(question, number):
        if time.monotonic() < until:
            holds(question, number)

    while time.monotonic() < until:
        seed(random.SystemRandom().randrange(2**32))(some)()
