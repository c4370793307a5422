"""Pairs of two halves: closed forms, the whole dual matrix, and descent on embeddings that nothing ties together."""

from __future__ import annotations

from math import exp, inf, log, nan

import numpy as np
import pytest
from scipy.optimize import minimize

from geomsolve import solve
from geomsolve.objectives.two_towers import ContrastPairs, SigmoidPairs
from geomsolve.proof.certificate import Certificate
from geomsolve.proof.two_towers import certify_pairs
from geomsolve.questions.levels import Levels
from geomsolve.solvers.two_towers import solve_pairs


def ask(loss, **flags):
    return solve(Levels(loss=loss, **flags))


@pytest.mark.parametrize(
    ("n", "scale", "bias", "value", "on", "off"),
    [
        (8, 10, 0, 0.13035816004, 0.32124317, -0.43375293),
        (8, 5, 2, 0.42262813442, 0.79373235, -0.23125757),
        (4, 5, 0, 0.31555893717, 0.5, -0.5),
        (32768, 10, 10, 2.13049495901, 0.95814488, None),
        (256, 10, 0, 2.283403852, None, None),
        (64, 10, 0, 0.948674512, None, None),
    ],
)
def test_sigmoid_of_matched_pairs(n, scale, bias, value, on, off):
    """Values of the two-tower program found independently."""
    objective = SigmoidPairs(n, scale, bias, n - 1)
    found = solve_pairs(objective)
    proof = certify_pairs(objective, *found)
    assert proof.value == pytest.approx(value, abs=1e-9)
    assert proof.certified
    assert proof.gap < 1e-10
    for got, wanted in zip(found, (on, off), strict=True):
        assert wanted is None or got == pytest.approx(wanted, abs=1e-8)


def test_where_the_simplex_ends():
    """bias = 1/tau = 10: the simplex is optimal up to 22,039 pairs; bias 0: antipodal iff 1/tau <= log((n - 2) / 2)."""
    for n, at_simplex in ((22_039, True), (22_040, False)):
        assert (solve_pairs(SigmoidPairs(n, 10, 10, n - 1))[0] == 1) is at_simplex
    edge = log(98 / 2)
    assert solve_pairs(SigmoidPairs(100, edge - 1e-6, 0, 99)) == (-1, -1)
    assert -1 < solve_pairs(SigmoidPairs(100, edge + 1e-6, 0, 99))[0] < -0.9


@pytest.mark.parametrize("objective", [SigmoidPairs(5, 2.0, 0.3, 4.0), ContrastPairs(5, 3.0, 1.0, 4.0)])
def test_the_certificate_is_that_of_the_whole_matrix(objective):
    """S of all 2n points by plain linear algebra; slopes by differences; and its bound against random points."""
    rng, n, h = np.random.default_rng(4), objective.n_pairs, 1e-6
    for on, off in [solve_pairs(objective), (0.3, -0.1)]:
        cross = np.full((n, n), off) + (on - off) * np.eye(n)
        by_on = (objective.evaluate(on + h, off)[0] - objective.evaluate(on - h, off)[0]) / (2 * h)
        by_off = (objective.evaluate(on, off + h)[0] - objective.evaluate(on, off - h)[0]) / (2 * h)
        slope = np.full((n, n), by_off / (n * (n - 1)))
        np.fill_diagonal(slope, by_on / n)
        alpha = -np.sum(slope * cross, axis=1)
        whole = np.block([[np.diag(alpha), slope], [slope.T, np.diag(alpha)]])
        proof = certify_pairs(objective, on, off)
        assert proof.min_eigenvalue == pytest.approx(np.linalg.eigvalsh(whole)[0], abs=1e-8)
        for _ in range(200):
            z = rng.standard_normal((2 * n, 3))
            z /= np.linalg.norm(z, axis=1, keepdims=True)
            c = z[:n] @ z[n:].T
            mean = (c.sum() - np.trace(c)) / (n * (n - 1))
            assert objective.evaluate(np.trace(c) / n, mean)[0] >= proof.lower_bound


def test_cosines_that_no_points_have_prove_nothing():
    objective = SigmoidPairs(5, 2.0, 0.3, 4.0)
    best = certify_pairs(objective, *solve_pairs(objective))
    assert certify_pairs(objective, 1.0, -1.0).value >= best.lower_bound


def log_sum(x):
    return np.log(np.sum(np.exp(x), axis=-1))


def off_diagonal(x):
    n = x.shape[-1]
    return x[..., ~np.eye(n, dtype=bool)].reshape(*x.shape[:-1], n - 1)


def diagonal(x):
    return np.einsum("...ii->...i", x)


def gram(x, y):
    return x @ np.swapaxes(y, -1, -2)


def two_views(x, y, t):
    """SimCLR: all other embeddings of both views stand in the denominator."""
    z = np.concatenate([x, y], axis=-2)
    n = x.shape[-2]
    logits = gram(z, z) / t
    return np.mean(
        log_sum(off_diagonal(logits)) - logits[..., np.arange(2 * n), (np.arange(2 * n) + n) % (2 * n)], axis=-1
    )


def supervised(x, y, t):
    """SupCon of two balanced classes."""
    z = np.concatenate([x, y], axis=-2)
    n = z.shape[-2]
    labels = np.arange(n) % 2
    logits = gram(z, z) / t
    same = (labels[:, None] == labels) & ~np.eye(n, dtype=bool)
    return np.mean(log_sum(off_diagonal(logits)) - np.sum(logits * same, axis=-1) / same.sum(axis=1), axis=-1)


def sigmoid(x, y, t, bias):
    c = gram(x, y) / t
    near, far = np.log1p(np.exp(bias - diagonal(c))), np.log1p(np.exp(off_diagonal(c) - bias))
    return np.mean(near + far.sum(axis=-1), axis=-1)


def pairs(x, y, t):
    """CLIP, both directions."""
    c = gram(x, y) / t
    both = (log_sum(c) + log_sum(np.swapaxes(c, -1, -2))) / 2
    return np.mean(both - diagonal(c), axis=-1)


def decoupled(x, y, t):
    c = gram(x, y) / t
    return np.mean(log_sum(off_diagonal(c)) - diagonal(c), axis=-1)


def hinge(x, y, margin):
    c = gram(x, y)
    excess = off_diagonal(c) - diagonal(c)[..., None] + margin
    return np.mean(np.where(excess.real > 0, excess, 0), axis=(-1, -2))


def uniform(x, y, s):
    def spread(z):
        return np.log(np.mean(np.exp(-2 * s * (1 - off_diagonal(gram(z, z)))), axis=(-1, -2)))

    return np.mean(np.sum((x - y) ** 2, axis=-1), axis=-1) + (spread(x) + spread(y)) / 2


N, D = 5, 6

BATCHES = {
    "sigmoid": (lambda x, y: sigmoid(x, y, 0.5, 0.0), {"name": "sigmoid", "temperature": 0.5}, {}),
    "sigmoid, between": (
        lambda x, y: sigmoid(x, y, 0.8, -0.2), {"name": "sigmoid", "temperature": 0.8, "bias": -0.2}, {}),
    "sigmoid, biased": (lambda x, y: sigmoid(x, y, 0.5, 1.0), {"name": "sigmoid", "temperature": 0.5, "bias": 1}, {}),
    "clip": (lambda x, y: pairs(x, y, 0.5), {"name": "clip", "temperature": 0.5}, {}),
    "mnrl": (lambda x, y: pairs(x, y, 0.5), {"name": "mnrl", "temperature": 0.5}, {}),
    "simclr": (lambda x, y: two_views(x, y, 0.5), {"name": "simclr", "temperature": 0.5}, {}),
    "infonce": (lambda x, y: two_views(x, y, 0.5), {"name": "infonce", "temperature": 0.5}, {}),
    "infonce, k": (lambda x, y: pairs(x, y, 0.5), {"name": "infonce", "temperature": 0.5, "negatives": N - 1}, {}),
    "dcl": (lambda x, y: decoupled(x, y, 0.5), {"name": "dcl", "temperature": 0.5}, {"views": 1}),
    "triplet": (lambda x, y: hinge(x, y, 1.6), {"name": "triplet", "margin": 1.6}, {}),
    "align-uniform": (lambda x, y: uniform(x, y, 2.0), {"name": "align-uniform"}, {}),
    "supcon": (lambda x, y: supervised(x, y, 0.5), {"name": "supcon", "temperature": 0.5}, {"classes": 2, "batch": 4}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BATCHES)
def test_descent_never_goes_below_the_optimum(name):
    """The batch loss itself, on embeddings of two views that are free of each other, from 20 starts."""
    loss, choice, flags = BATCHES[name]
    report = ask(choice, **{"batch": N, **flags})
    n = report.problem["batch"]
    rng = np.random.default_rng(7)

    def value(z):
        z = z.reshape(*z.shape[:-1], 2, n, D)
        z = z / np.sqrt(np.sum(z * z, axis=-1, keepdims=True))
        return loss(z[..., 0, :, :], z[..., 1, :, :])

    def both(z):
        slope = value(z + 1e-30j * np.eye(z.size)).imag / 1e-30  # the complex step: exact to rounding
        return float(value(z)), slope

    ends = [minimize(both, rng.standard_normal(2 * n * D), jac=True, method="L-BFGS-B").fun for _ in range(20)]
    assert min(ends) >= report.lower_bound - 1e-9
    assert min(ends) <= report.optimum + 1e-4  # and it gets there, so that the bound is no idle one
    assert report.certified


SETTINGS = [
    *[({"name": name, "temperature": t}, {"batch": b}) for name in ("simclr", "clip", "infonce", "dcl", "sigmoid")
      for t in (0.07, 1.0) for b in (2, 3, 64)],
    *[({"name": "sigmoid", "temperature": t, "bias": bias}, {"batch": 16, **classes}) for t in (0.1, 1.0)
      for bias in (-10, 3, 10) for classes in ({}, {"classes": 4}, {"props": [0.6, 0.3, 0.1]})],
    *[({"name": "triplet", "margin": m, "sampling": s}, {"props": [0.6, 0.3, 0.1]}) for m in (0.2, 1.0, 2.0)
      for s in ("iid", "supervised")],
    *[({"name": "align-uniform", "uniform_t": s}, flags) for s in (0.5, 2, 10) for flags in (
        {"batch": 2}, {"batch": 64}, {"batch": 8, "props": [0.6, 0.3, 0.1]}, {"counts": [5, 3, 2]}, {"classes": 3})],
    *[({"name": name, "temperature": 0.5, **form, "sampling": s}, flags) for name in ("infonce", "dcl")
      for form in ({}, {"negatives": 1}, {"negatives": 20}) for s in ("iid", "supervised")
      for flags in ({"props": [0.6, 0.3, 0.1]}, {"batch": 9, "classes": 3}, {"batch": 9, "views": 1, "classes": 3})],
    *[({"name": "supcon", "temperature": t}, {"batch": 8, "views": v, **classes}) for t in (0.1, 1.0) for v in (1, 2)
      for classes in ({"classes": 4}, {"props": [0.6, 0.3, 0.1]})],
    ({"name": "infonce", "temperature": 0.3, "form": "mean"}, {"props": [0.6, 0.3, 0.1]}),
    ({"name": "infonce", "temperature": 0.3, "form": "mean", "negatives": 7}, {}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "flags"), SETTINGS)
def test_levels_stand_in_order(loss, flags):
    report = ask(loss, **flags)
    room = 1e-9 * max(1.0, abs(report.collapse))
    assert report.lower_bound <= report.optimum
    assert report.optimum <= report.random_start + room
    assert report.optimum <= report.collapse + room
    if report.optimum_random_batches is not None:
        assert report.optimum <= report.optimum_random_batches + room


@pytest.mark.parametrize(("batch", "optimum"), [(2, -8), (64, -4.0635), (256, -4.0157), (768, -4.0052)])
def test_uniformity_is_over_pairs_of_different_samples(run, batch, optimum):
    answer = run("levels", "--loss", "align-uniform", "--batch", batch, "--json").json
    assert answer["optimum"] == pytest.approx(optimum, abs=5e-5)
    assert answer["optimum"] == pytest.approx(-4 * batch / (batch - 1), rel=1e-12)
    assert answer["certified"]
    assert answer["optimum"] < answer["random_start"] < answer["collapse"] == 0
    classes = run("levels", "--loss", "align-uniform", "--batch", batch, "--props", "0.6,0.3,0.1")
    assert classes.code == 0
    assert "Classes make no difference" in classes.stdout


@pytest.mark.parametrize(("batch", "optimum"), [(256, 2.283403852), (64, 0.948674512)])
def test_sigmoid_as_a_user_asks(run, batch, optimum):
    ended = run("levels", "--loss", "sigmoid", "--batch", batch, "-t", 0.1, "--json")
    assert ended.code == 0
    assert ended.json["optimum"] == pytest.approx(optimum, abs=1e-9)
    assert ended.json["assumption"] is None
    assert "two towers" in ended.json["effort"]["reason"]


def test_sigmoid_of_unequal_classes_is_no_theorem(run):
    flags = ("levels", "--loss", "sigmoid", "--batch", 8, "-t", 0.2, "--bias", 2, "--props", "0.6,0.3,0.1")
    ended = run(*flags, "--json")
    assert ended.code == 1
    assert not ended.json["certified"]
    assert ended.json["assumption"] == "the two views of a sample coincide"
    # no cosine beyond +-1: what holds for any embeddings
    bound = log(1 + exp(2 - 5)) + 7 * log(1 + exp(-5 - 2))
    assert ended.json["lower_bound"] == pytest.approx(bound, rel=1e-12)
    for value in (None, 0.09, 0.5, ended.json["optimum"]):
        text = run(*flags, *(("--loss-value", value) if value is not None else ())).stdout
        assert "if the two views of a sample coincide" in text
        assert "NOT PROVEN" in text
        assert "no embedding" not in text
        assert "Proven" not in text


def test_pairs_of_unequal_classes_are_no_theorem(run):
    """One negative of another class, anchors of one half: free halves reach .164484, halves that coincide .164850."""
    flags = ("--props", "0.6,0.3,0.1", "--batch", 2, "-t", 1, "--sampling", "supervised", "--json")
    ended = run("levels", "--loss", "infonce", "--views", 1, *flags)
    assert ended.code == 1
    assert ended.json["optimum"] == pytest.approx(0.1648500857, abs=1e-8)
    assert ended.json["lower_bound"] == pytest.approx(log(1 + exp(-2)), rel=1e-12)
    assert ended.json["lower_bound"] < 0.164484
    assert ended.json["assumption"] == "the two halves of a pair coincide"
    assert run("levels", "--loss", "infonce", "--views", 2, *flags).json["certified"]
    equal = run("levels", "--loss", "infonce", "--views", 1, "--batch", 4, "--classes", 3, "--json")
    assert equal.json["certified"]


def test_whose_sign_the_bias_has(run):
    wrong = run("levels", "--loss", "sigmoid", "--batch", 64, "--bias", -10)
    assert "its -10 is --bias 10 here" in wrong.stderr
    assert "subtracted bias -10" in wrong.stdout
    right = run("levels", "--loss", "sigmoid", "--batch", 64, "--bias", 10)
    assert right.stderr == ""
    assert "--bias 10" in run("imbalance", "--loss", "sigmoid", "--bias", -10, "--props", "0.5,0.3,0.2").stderr
    assert "-10 there is 10 here" in " ".join(run("levels", "--help").stdout.split())


def test_the_number_of_samples_matters_with_few_negatives(run):
    few = run("levels", "--loss", "infonce", "--negatives", 1, "-t", 1)
    assert "The optimum is that of 2 samples" in few.stdout
    answer = run("levels", "--loss", "infonce", "--negatives", 1, "-t", 1, "--json").json
    assert answer["optimum"] == pytest.approx(log(1 + exp(-2)), rel=1e-12)
    assert answer["optimum"] == pytest.approx(0.1269, abs=1e-4)
    assert answer["optimum_many_samples"] == pytest.approx(log(1 + exp(-1)), rel=1e-12)
    thousand = run("levels", "--loss", "infonce", "--negatives", 1, "-t", 1, "--batch", 1000, "--json").json
    assert thousand["optimum"] == pytest.approx(0.3130, abs=5e-5)
    assert thousand["optimum_many_samples"] is None


def test_nothing_that_is_not_finite_is_certified(run):
    for numbers in ((inf, inf, 0.0), (inf, inf, nan), (nan, nan, nan), (1.0, -inf, inf), (-inf, -inf, 0.0)):
        assert not Certificate(*numbers, 0.0, 1e-6).certified
    proven = Certificate(2.0, 2.0, 0.0, 0.0, 1e-6)
    assert proven.certified
    assert proven.scaled(3.0, 1.0, unit=3.0).value == 7
    assert not proven.scaled(inf, unit=inf).certified
    assert not Certificate.of(nan, nan, 0.0, 1e-6).certified
    # the scale of the user does not decide what is proven
    near = Certificate(0.0, -9e-7, 9e-7, 0.0, 1e-6)
    assert near.scaled(128, unit=128).certified is near.certified is True
    ended = run("levels", "--batch", 8, "--classes", 2, "--base-temperature", "1e-320")
    assert (ended.code, ended.stdout) == (2, "")
    assert "--base-temperature" in ended.stderr
    huge = run("levels", "--batch", 8, "--classes", 2, "--loss-value", "1e308", "-t", 1e6, "--json").json
    assert huge["position"] is None or np.isfinite(huge["position"])
    for flag in ("--batch", "--views"):
        assert run("levels", "--loss", "simclr", "--batch", 8, flag, 10**400).code == 2
    assert run("levels", "--loss", "clip", "--batch", 10**12).code == 0
