"""Bounds that hold for one encoder only: two encoders do go lower, found by descent on them, and the answer says so."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

PROPS = "0.45,0.35,0.2"
P = np.array([0.45, 0.35, 0.2])
OTHER = ~np.eye(3, dtype=bool)
SUPERVISED = OTHER * P / (1 - P)[:, None]


def softplus(x):
    return np.logaddexp(0, x)


def sigmoid(c):
    """Temperature 0.5, bias 0, one negative a pair: both halves of the loss."""
    return P @ softplus(-2 * np.diag(c)) + np.sum(P[:, None] * SUPERVISED * softplus(2 * c))


def infonce(c):
    """Temperature 1, one negative, supervised."""
    return np.sum(P[:, None] * SUPERVISED * softplus(c - np.diag(c)[:, None]))


def triplet(c, chance):
    """Margin 2, at which every pair costs something."""
    return np.sum(P[:, None] * chance * np.maximum(c - np.diag(c)[:, None] + 2, 0))


def two_encoders(loss):
    """The least loss found over cosines of anchors (3 of one encoder) and classes (3 of another)."""

    def value(z):
        x, y = z.reshape(2, 3, 3) / np.linalg.norm(z.reshape(2, 3, 3), axis=2, keepdims=True)
        return loss(x @ y.T)

    rng = np.random.default_rng(0)
    return min(minimize(value, rng.standard_normal(18), method="L-BFGS-B").fun for _ in range(6))


CASES = {
    "sigmoid": (sigmoid, ("--loss", "sigmoid", "-t", 0.5), softplus(-2.0)),
    "infonce": (infonce, ("--loss", "infonce", "--negatives", 1, "-t", 1, "--sampling", "supervised"), 0.0),
    "triplet": (lambda c: triplet(c, SUPERVISED), ("--loss", "triplet", "--margin", 2), 0.0),
}


@pytest.mark.parametrize("name", CASES)
def test_two_encoders_go_below_the_bound_for_one(run, name):
    loss, flags, positive = CASES[name]
    ended = run("imbalance", *flags, "--props", PROPS, "--json")
    assert ended.code == 0
    assert ended.json["certified"]
    assert ended.json["lower_bound"] + positive > two_encoders(loss) + 1e-4
    assert ended.json["assumption"].startswith("one encoder, which embeds ")
    text = " ".join(run("imbalance", *flags, "--props", PROPS).stdout.split())
    assert "Proven for one encoder, which embeds " in text
    assert "no such embedding goes below" in text
    assert "no embedding" not in text
    assert "Two encoders, as in " in text


def test_draws_that_are_alike_both_ways_need_no_assumption(run):
    """Triplets drawn iid: anchor and negative have the chance p_a p_b either way round; two encoders gain nothing."""
    flags = ("--loss", "triplet", "--margin", 2, "--sampling", "iid", "--props", PROPS)
    answer = run("imbalance", *flags, "--json").json
    assert answer["assumption"] is None
    assert two_encoders(lambda c: triplet(c, OTHER * P)) >= answer["lower_bound"] - 1e-6
    assert "; no embedding goes below" in " ".join(run("imbalance", *flags).stdout.split())


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--loss", "supcon", "--props", "0.6,0.3,0.1"), False),
        (("--loss", "spectral", "--props", "0.6,0.3,0.1"), False),
        (("--loss", "align-uniform", "--props", "0.6,0.3,0.1"), False),
        (("--loss", "infonce", "--props", "3*1/3"), False),
        (("--loss", "dcl", "--props", "0.6,0.3,0.1"), True),
        (("--loss", "weince", "--delta", 0.1, "--props", "0.6,0.3,0.1"), True),
        # for equal classes, too: with 256 pairs, temperature .1 and bias 0 two encoders reach 2.28, one 171.8
        (("--loss", "sigmoid", "--props", "3*1/3"), True),
    ],
)
def test_which_losses_assume_something(run, flags, said):
    answer = run("imbalance", *flags, "--json").json
    assert (answer["assumption"] is not None) is said


@pytest.mark.slow
def test_the_assumption_stands_beside_every_proof(run):
    flags = ("--loss", "sigmoid", "--props", "0.9,0.06,0.04")
    held = " ".join(run("imbalance", *flags, "--slack", 1e-3).stdout.split())
    assert "no such embedding within that loss leaves a range" in held
    assert "no embedding" not in held
    commands = {"threshold": (), "sweep": ("--over", "temperature=0.2,0.5"), "imbalance": ("--dim", 1)}
    for command, more in commands.items():
        answer = run(command, *flags, *more, "--json").json
        assert (
            answer["assumption"]
            == "one encoder, which embeds both halves of a pair; two encoders, as in SigLIP, may go lower"
        )
        text = " ".join(run(command, *flags, *more).stdout.split())
        assert "for one encoder, which embeds both halves of a pair" in text
        assert "Two encoders, as in SigLIP, may go lower." in text
        assert "no embedding" not in text
    for command, more in commands.items():
        answer = run(command, "--props", "0.9,0.06,0.04", *more, "--json").json
        assert answer["assumption"] is None
        assert "encoder" not in run(command, "--props", "0.9,0.06,0.04", *more).stdout


@pytest.mark.parametrize("name", ["infonce", "triplet"])
def test_levels_of_unequal_classes_are_those_of_one_encoder(run, name):
    """Two encoders go below the optimum, which is proven for one."""
    loss, flags, _ = CASES[name]
    ended = run("levels", *flags, "--props", PROPS, "--batch", 64, "--json")
    assert ended.code == 0
    assert ended.json["certified"]
    assert ended.json["assumption"].startswith("one encoder, which embeds anchors and negatives alike; two encoders")
    assert ended.json["lower_bound"] > two_encoders(loss) + 1e-4
    optimum = ended.json["optimum"]
    for value in (None, optimum, optimum - 0.05, optimum + 0.05):
        more = () if value is None else ("--loss-value", value)
        text = " ".join(run("levels", *flags, "--props", PROPS, "--batch", 64, *more).stdout.split())
        assert "Proven for one encoder, which embeds anchors and negatives alike: no such embedding goes below" in text
        assert "Two encoders, as in CLIP, may go lower." in text
        assert "no embedding goes" not in text
        assert "of one encoder" in text.partition("Loss ")[0]


@pytest.mark.parametrize(
    "flags",
    [
        ("--loss", "triplet", "--margin", 2, "--sampling", "iid", "--props", PROPS),
        ("--loss", "triplet", "--props", "3*1/3"),
        ("--loss", "infonce", "--negatives", 8, "--props", "3*1/3"),
        ("--loss", "supcon", "--props", PROPS),
    ],
)
def test_levels_that_assume_nothing(run, flags):
    ended = run("levels", *flags, "--batch", 16, "--json")
    assert ended.json["assumption"] is None
    assert "encoder" not in run("levels", *flags, "--batch", 16).stdout


def test_limits_of_many_negatives_are_those_of_one_encoder(run):
    flags = ("negatives", "--props", PROPS, "-t", 0.5, "--negatives", "1,8")
    assert run(*flags, "--json").json["assumption"].startswith("one encoder")
    text = " ".join(run(*flags).stdout.split())
    assert "The limit. Proven for one encoder, which embeds anchors and negatives alike: " in text
    assert "no embedding" not in text
    equal = ("negatives", "--props", "3*1/3", "-t", 0.5, "--negatives", "1,8")
    assert run(*equal, "--json").json["assumption"] is None
    assert "The limit. Proven: " in run(*equal).stdout


def test_settings_found_for_a_level_are_those_of_one_encoder(run):
    flags = ("levels", "--find", "negatives", "--loss", "infonce", "-t", 1, "--props", PROPS, "--loss-value", 2.5)
    assert run(*flags, "--json").json["assumption"].startswith("one encoder")
    text = " ".join(run(*flags).stdout.split())
    assert "The optimum is proven for one encoder, which embeds anchors and negatives alike." in text


@pytest.mark.slow
def test_what_descent_is_compared_with_is_proven_for_one_encoder(run):
    pytest.importorskip("torch")
    flags = ("check", "--props", PROPS, "--steps", 5, "--samples", 20, "--device", "cpu", "-t", 1)
    said = " ".join(run(*flags, "--loss", "infonce", "--negatives", 1).stdout.split())
    assert "(proven for one encoder, which embeds anchors and negatives alike)" in said
    assert "(proven)" in " ".join(run(*flags).stdout.split())
