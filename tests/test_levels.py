"""Levels of a loss: public figures and closed forms, then the batch loss itself on embeddings, then the command."""

from __future__ import annotations

import itertools
import json
from math import exp, factorial, log, prod

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import iv

from geomsolve import InputError, Orbits, solve
from geomsolve.analyses.levels import reading
from geomsolve.objectives.drawn_batches import Batches
from geomsolve.objectives.one_view import OneView
from geomsolve.objectives.random_start import random_hinge, random_log_sum, random_mean
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.levels import Levels, half_a_unit


def ask(loss="supcon", **flags):
    return solve(Levels(loss=loss, **flags))


def supcon(z, labels, temperature, base=None):
    """Khosla et al. 2020, L_out, mean over anchors; anchors without a positive contribute 0."""
    logits = z @ z.T / temperature
    np.fill_diagonal(logits, -np.inf)
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    same = (labels[:, None] == labels) & ~np.eye(len(labels), dtype=bool)
    terms = [-log_p[i, same[i]].mean() if same[i].any() else 0.0 for i in range(len(labels))]
    return float(np.mean(terms)) * (1 if base is None else temperature / base)


def simplex(k):
    centred = np.eye(k) - 1 / k
    return centred / np.linalg.norm(centred, axis=1, keepdims=True)


def sphere(rng, n, d):
    z = rng.standard_normal((n, d))
    return z / np.linalg.norm(z, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("batch", "classes", "collapse", "optimum"),
    [(64, 3, 6.9203, 5.328), (64, 6, 6.9203, 4.303), (256, 10, 8.909, 5.5945), (256, 100, 8.909, 2.03)],
)
def test_questions_from_public_issue_threads(batch, classes, collapse, optimum):
    """SupContrast issues 42, 3 and 157: temperature 0.1, base temperature 0.07, two views."""
    report = ask({"name": "supcon", "temperature": 0.1}, batch=batch, classes=classes, base_temperature=0.07)
    assert report.collapse == pytest.approx(collapse, abs=1e-3)
    assert report.optimum == pytest.approx(optimum, abs=1e-3)
    n, m, t = 2 * batch, 2 * batch / classes, 0.1
    assert report.collapse == pytest.approx(t / 0.07 * log(n - 1), rel=1e-12)
    best = t / 0.07 * log((m - 1) + (n - m) * exp(-classes / ((classes - 1) * t)))
    assert report.optimum == pytest.approx(best, rel=1e-12)
    assert report.certified
    assert report.optimum_random_batches > report.optimum


def test_simclr_takes_every_sample_for_its_own_class():
    """simclr issue 141: batch 128, temperature 0.1."""
    for name in ("simclr", "nt-xent"):
        report = ask({"name": name, "temperature": 0.1}, batch=128)
        assert report.collapse == pytest.approx(5.541, abs=1e-3)
        assert report.optimum == pytest.approx(log(1 + 254 * exp(-128 / 127 / 0.1)), rel=1e-12)
        assert report.optimum_random_batches is None
    infonce = ask({"name": "infonce", "temperature": 0.1}, batch=128)
    assert infonce.optimum == pytest.approx(report.optimum, rel=1e-12)  # 254 negatives and the positive: the same
    assert infonce.random_start == pytest.approx(report.random_start, rel=1e-12)


@pytest.mark.slow
def test_levels_are_values_of_the_batch_loss_itself():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 6)
    report = ask({"name": "supcon", "temperature": 0.3}, batch=12, classes=4, dim=8, base_temperature=0.07)
    assert supcon(np.tile(sphere(rng, 1, 8), (24, 1)), labels, 0.3, 0.07) == pytest.approx(report.collapse)
    assert supcon(simplex(4)[labels], labels, 0.3, 0.07) == pytest.approx(report.optimum)
    drawn = [supcon(sphere(rng, 24, 8), labels, 0.3, 0.07) for _ in range(2000)]
    assert report.random_start == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / len(drawn) ** 0.5)


@pytest.mark.slow
def test_random_batches_are_the_mean_over_batches():
    props = [0.6, 0.3, 0.1]
    report = ask({"name": "supcon", "temperature": 0.5}, batch=16, props=props, views=3)
    wanted = solve(Imbalance(props=props, loss={"name": "supcon", "temperature": 0.5, "batch": 16, "views": 3}))
    assert report.optimum == report.optimum_random_batches == pytest.approx(wanted.value, rel=1e-12)
    assert report.lower_bound == pytest.approx(wanted.lower_bound, rel=1e-9)
    z = np.linalg.svd(wanted.gram)[0] * np.sqrt(np.linalg.svd(wanted.gram)[1])
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(2000):
        labels = np.repeat(rng.choice(3, size=16, p=props), 3)
        drawn.append(supcon(z[labels], labels, 0.5))
    assert report.optimum == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / len(drawn) ** 0.5)


def batches(p, size):
    """All batches of class labels with their probability."""
    for labels in itertools.product(range(len(p)), repeat=size):
        yield np.array(labels), prod(p[a] for a in labels)


def test_one_view_by_enumerating_all_batches():
    p, size = [0.5, 0.3, 0.2], 5
    z = sphere(np.random.default_rng(2), 3, 3)
    mean = sum(chance * supcon(z[labels], labels, 0.4) for labels, chance in batches(p, size))
    orbits = Orbits.of(p)
    objective = OneView(orbits, size, 0.4)
    gram = z @ z.T
    assert objective.value(orbits.reduce(gram)) == pytest.approx(mean, rel=1e-10)
    lonely = sum(chance * np.mean([np.sum(labels == a) == 1 for a in labels]) for labels, chance in batches(p, size))
    assert Batches(orbits, size, 1, finite=False).lonely() == pytest.approx(lonely, rel=1e-12)
    assert Batches(orbits, size, 2, finite=False).lonely() == 0
    missing = sum(chance for labels, chance in batches(p, size) if len(set(labels.tolist())) < 3)
    assert Batches(orbits, size, 1, finite=False).lacks_a_class() == pytest.approx(missing, rel=1e-11)
    report = ask({"name": "supcon", "temperature": 0.4}, batch=size, views=1, props=p)
    one_point = sum(chance * supcon(np.ones((size, 1)), labels, 0.4) for labels, chance in batches(p, size))
    assert report.collapse == pytest.approx(one_point, rel=1e-12)
    assert report.certified
    assert report.optimum <= mean
    # gradient and curvature by differences
    cosines, step = orbits.reduce(gram), 1e-6
    change = np.array([[0, 1, 0.5], [1, 0, -2], [0.5, -2, 0]])
    ahead, behind = objective.evaluate(cosines + step * change), objective.evaluate(cosines - step * change)
    slope = (ahead[0] - behind[0]) / (2 * step)
    assert np.sum(objective.gradient(cosines) * change) == pytest.approx(slope, rel=1e-7)
    bend = (ahead[1] - behind[1]) / (2 * step)
    assert objective.curvature(cosines)(change) == pytest.approx(bend, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("p", "size"), [([1 / 3] * 3, 2), ([0.9, 0.05, 0.05], 40), ([0.01] * 20 + [0.08] * 10, 300)])
def test_missing_classes_by_inclusion_and_exclusion(p, size):
    if len(p) > size:
        assert Batches(Orbits.of(p), size, 1, finite=False).lacks_a_class() == 1.0
        return
    n = {x: p.count(x) for x in set(p)}
    (a, na), (b, nb) = n.items()
    missing = 0.0
    for i, j in itertools.product(range(na + 1), range(nb + 1)):
        if i + j:
            ways = (
                factorial(na) // factorial(i) // factorial(na - i) * factorial(nb) // factorial(j) // factorial(nb - j)
            )
            missing -= (-1) ** (i + j) * ways * max(0.0, 1 - i * a - j * b) ** size
    assert Batches(Orbits.of(p), size, 1, finite=False).lacks_a_class() == pytest.approx(missing, rel=1e-8)


def test_random_start_by_closed_forms_and_quadrature():
    for t in (0.05, 0.5, 3.0):
        three = random_mean(lambda c, t=t: np.exp(c / t), 3, 1 / t)
        assert three == pytest.approx(t * np.sinh(1 / t), rel=1e-12)
        assert random_mean(lambda c, t=t: np.exp(c / t), 2, 1 / t) == pytest.approx(iv(0, 1 / t), rel=1e-12)
        for d in (2, 3, 50, 5000):
            # one term: E log e^{c/tau} = E c / tau = 0
            assert random_log_sum([(1.0, 1)], t, d) == pytest.approx(0, abs=1e-12 / t)
            assert random_log_sum([(2.5, 1)], t, d) == pytest.approx(log(2.5), abs=1e-12 / t)
    for d, t in ((3, 0.2), (6, 0.5)):
        norm = dblquad(lambda a, b, d=d: (np.sin(a) * np.sin(b)) ** (d - 2), 0, np.pi, 0, np.pi)[0]
        two = dblquad(
            lambda a, b, t=t, d=d: (np.sin(a) * np.sin(b)) ** (d - 2)
            * log(exp(np.cos(a) / t) + 0.3 * exp(np.cos(b) / t)),
            0, np.pi, 0, np.pi,
        )[0]  # fmt: skip
        assert random_log_sum([(1.0, 1), (0.3, 1)], t, d) == pytest.approx(two / norm, abs=1e-8)
        hinge = dblquad(
            lambda a, b, d=d: (np.sin(a) * np.sin(b)) ** (d - 2) * max(np.cos(a) - np.cos(b) + 0.4, 0),
            0, np.pi, 0, np.pi,
        )[0]  # fmt: skip
        assert random_hinge(0.4, d) == pytest.approx(hinge / norm, abs=1e-5)
    assert random_hinge(2.0, 7) == pytest.approx(2.0, rel=1e-12)


def test_other_losses_on_embeddings():
    rng = np.random.default_rng(3)
    d, t = 6, 0.4
    z = sphere(rng, 3 * 4000, d).reshape(3, 4000, d)
    near, far = np.sum(z[0] * z[1], axis=1), np.sum(z[0] * z[2], axis=1)

    def close(report, sample):
        assert report.random_start == pytest.approx(np.mean(sample), abs=4 * np.std(sample) / len(sample) ** 0.5)

    close(ask({"name": "triplet", "margin": 0.5}, classes=3, dim=d), np.maximum(far - near + 0.5, 0))
    logits = sphere(rng, 4000 * 10, d).reshape(4000, 10, d)[..., 0] / t
    close(
        ask({"name": "infonce", "temperature": t, "negatives": 9}, classes=3, dim=d),
        np.logaddexp.reduce(logits, axis=1) - near / t,
    )
    weighted = np.logaddexp(logits[:, 0], np.logaddexp.reduce(logits[:, 1:], axis=1) - log(9))
    close(ask({"name": "infonce", "temperature": t, "negatives": 9, "form": "mean"}, classes=3, dim=d), weighted)
    close(
        ask({"name": "dcl", "temperature": t, "negatives": 10}, classes=3, dim=d), np.logaddexp.reduce(logits, axis=1)
    )
    sigmoid = np.logaddexp(0, 2 - logits[:, 0]) + np.logaddexp(0, logits[:, 1:] - 2).sum(axis=1)
    close(ask({"name": "sigmoid", "temperature": t, "bias": 2}, batch=10, dim=d), sigmoid)
    uniform = ask({"name": "align-uniform", "uniform_t": 2}, classes=3, dim=d)
    kernel = np.exp(-4 * (1 - far))
    assert uniform.random_start == pytest.approx(2 + log(kernel.mean()), abs=4 * kernel.std() / 60 / kernel.mean())
    assert ask({"name": "infonce", "negatives": 9}, classes=3).collapse == pytest.approx(log(10))
    assert ask({"name": "infonce", "negatives": 9, "form": "mean"}, classes=3).collapse == pytest.approx(log(2))
    assert ask({"name": "dcl", "negatives": 9}, classes=3).collapse == pytest.approx(log(9))
    assert ask({"name": "triplet", "margin": 0.5}, classes=3).collapse == 0.5
    limit = ask({"name": "infonce", "temperature": t}, classes=3, dim=3)
    assert limit.random_start == pytest.approx(log(t * np.sinh(1 / t)), rel=1e-10)


def test_optima_of_other_losses_at_the_simplex():
    t, k = 0.4, 5
    cosine = -1 / (k - 1)
    sigmoid = ask({"name": "sigmoid", "temperature": t, "bias": 2}, batch=9, classes=k)
    best = np.logaddexp(0, 2 - 1 / t) + 8 * np.logaddexp(0, cosine / t - 2)
    assert sigmoid.optimum == pytest.approx(best, rel=1e-10)
    assert sigmoid.certified
    queue = ask({"name": "infonce", "temperature": t, "negatives": 99}, dim=64)
    assert queue.optimum == pytest.approx(log(1 + 99 * exp(-100 / 99 / t)), rel=1e-12)
    two_views = ask({"name": "infonce", "temperature": t}, batch=8, classes=k)
    drawn = solve(Imbalance(props=[1 / k] * k, loss={"name": "supcon", "temperature": t, "batch": 8}))
    assert two_views.optimum == pytest.approx(drawn.value, rel=1e-12)  # after collapse only the denominator matters
    triplet = ask({"name": "triplet", "margin": 1}, classes=k)
    assert triplet.optimum == pytest.approx(0, abs=1e-9)


def test_position_reading_and_reduction():
    flags = {"batch": 64, "classes": 6, "base_temperature": 0.07}
    low = ask(**flags).optimum
    high = ask(**flags).collapse
    for value, position, wanted in (
        (low, 0, "optimum"),
        (high, 1, "collapse"),
        (6.92, 1, "collapse"),
        ((low + high) / 2, 0.5, "between"),
        (7.4702, None, "random start"),
        (7.2, None, "above"),
        (3.0, None, "below"),
    ):
        report = ask(**flags, loss_value=value)
        assert report.reading == wanted
        if position is not None:
            assert report.position == pytest.approx(position, abs=1e-3)
    total = ask(**flags, reduction="sum")
    assert total.collapse == pytest.approx(128 * high)
    assert total.optimum == pytest.approx(128 * low)


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        ({"batch": 64}, "classes"),
        ({"classes": 3}, "batch"),
        ({"batch": 8, "classes": 9}, "classes"),
        ({"batch": 8, "classes": 8, "views": 1}, "views"),
        ({"loss": "spectral", "classes": 3}, "loss.name"),
        ({"loss": "simclr", "batch": 8, "classes": 3}, "loss.name"),
        ({"loss": "triplet", "classes": 3, "base_temperature": 0.07}, "base_temperature"),
        ({"loss": "triplet", "classes": 3, "reduction": "sum"}, "batch"),
        ({"loss": "infonce"}, "batch"),
        ({"batch": 8, "classes": 2, "loss_value": float("nan")}, "loss_value"),
        ({"batch": 8, "classes": 2, "loss": {"name": "supcon", "batch": 9}}, ""),
    ],
)
def test_errors_name_the_field(flags, field):
    with pytest.raises(InputError) as error:
        solve(Levels(**flags))
    assert error.value.field == field


def test_command_places_the_value(run):
    arguments = [
        "levels",
        "--batch",
        "64",
        "--views",
        "2",
        "--classes",
        "6",
        "--base-temperature",
        "0.07",
        "--loss-value",
        "6.92",
    ]
    text = run(*arguments).stdout
    assert text.startswith("6.92 is total collapse, to the digits given: all 128 embeddings coincide.")
    answer = run(*arguments, "--json").json
    keys = {"collapse", "optimum", "optimum_random_batches", "certified", "position", "no_positive_probability"}
    assert keys <= set(answer)
    assert answer["position"] == pytest.approx(1, abs=1e-3)


def test_draws_of_the_own_class_cost_nothing():
    """A pair of different classes is drawn with probability 1 - (.36 + .09 + .01) = .54."""
    props = [0.6, 0.3, 0.1]
    triplet = ask({"name": "triplet", "margin": 1, "sampling": "iid"}, props=props)
    assert triplet.collapse == pytest.approx(0.54, abs=1e-12)
    assert triplet.random_start == pytest.approx(0.54 * random_hinge(1, 128), rel=1e-12)
    sigmoid = ask({"name": "sigmoid", "temperature": 1, "bias": 0, "sampling": "iid"}, props=props, batch=4)
    assert sigmoid.collapse == pytest.approx(log(1 + exp(-1)) + 3 * 0.54 * log(1 + exp(1)), rel=1e-12)
    assert sigmoid.collapse == pytest.approx(2.4407, abs=1e-4)


@pytest.mark.parametrize("name", ["clip", "mnrl"])
def test_pairs_of_a_batch_are_one_view(run, name):
    """In-batch InfoNCE of 128 pairs: one positive and 127 negatives, so ln 128 where all coincide."""
    answer = run("levels", "--loss", name, "--batch", 128, "-t", 0.07, "--json").json
    assert answer["collapse"] == pytest.approx(4.852030263919617, rel=1e-12)
    assert answer["optimum"] == pytest.approx(log(1 + 127 * exp(-128 / 127 / 0.07)), rel=1e-9)
    assert answer["problem"]["views"] == 1
    assert answer["problem"]["loss"]["name"] == name
    assert run("levels", "--loss", name, "--batch", 128, "--views", 1).code == 0
    twice = run("levels", "--loss", name, "--batch", 128, "--views", 2)
    assert (twice.code, twice.stdout) == (2, "")
    assert "--views" in twice.stderr
    classes = run("imbalance", "--loss", name, "--props", "0.5,0.5")
    assert classes.code == 2
    assert "--loss infonce" in classes.stderr
    listed = {loss["name"]: loss["aliases"] for loss in run("list", "losses", "--json").json["losses"]}
    assert name in listed["infonce"]


def test_values_are_equal_within_the_digits_typed(run):
    """log 32 = 3.4657: 3.47 is that to its last digit, 3.470 is not."""
    assert reading(3.47, 0.5, 3.4736, 6.0, half_a_unit("3.47")) == "collapse"
    assert [half_a_unit(text) for text in ("3.47", "3.470", 3.5, "7", "34e1", "nan", "x")] == pytest.approx(
        [0.005, 0.0005, 0.05, 0.5, 5, 0, 0]
    )
    flags = ("levels", "--loss", "infonce", "--negatives", 31, "-t", 0.1, "--json", "--loss-value")
    assert run(*flags, "3.47").json["reading"] == "collapse"
    assert run(*flags, "3.470").json["reading"] == "above"
    assert run(*flags, "3").json["reading"] == "between"  # a digit alone does not blur the levels
    typo = run(*flags, "3,47")
    assert typo.code == 2
    assert json.loads(typo.stderr)["error"]["field"] == "loss_value"


def test_flags_without_a_level_are_refused():
    for loss, field in (
        ({"name": "supcon", "full_batch": True}, "loss.full_batch"),
        ({"name": "infonce", "hardness": 2.0}, "loss.hardness"),
    ):
        with pytest.raises(InputError) as error:
            ask(loss, batch=8, classes=2)
        assert error.value.field == field


def test_siglip_adds_its_bias(run):
    """The two-block truth: image and text of a pair need not coincide, and do not from 22,040 pairs on."""

    def softplus(z):
        return np.logaddexp(0, z)

    small = run("levels", "--loss", "siglip", "--batch", 256, "-t", 0.1, "--bias", 0, "--json").json
    assert small["optimum"] == pytest.approx(2.283403852, abs=1e-9)
    assert small["optimum"] < softplus(-10) + 255 * softplus(-10 / 255) - 150  # one embedding a pair: 171.8
    found = run("levels", "--loss", "SigLIP", "--batch", 32768, "-t", 0.1, "--bias", -10, "--json").json
    assert found["optimum"] == pytest.approx(2.13049495901, abs=1e-9)
    assert found["certified"]
    assert found["collapse"] == pytest.approx(32768 * log(2), rel=1e-12)
    assert found["problem"]["loss"]["bias"] == -10
    other = run("levels", "--loss", "sigmoid", "--batch", 32768, "-t", 0.1, "--bias", 10, "--json").json
    assert [other[key] for key in ("collapse", "random_start")] == [found[key] for key in ("collapse", "random_start")]
    wrong = run("levels", "--loss", "siglip", "--batch", 8, "--bias", 10)
    assert "the bias is added, as in the published code" in wrong.stderr
    best = run("levels", "--loss", "siglip", "--batch", 256, "--find", "bias", "--loss-value", 2.283403852, "--json")
    assert min(abs(match["value"]) for match in best.json["matches"]) < 1e-7
    assert run("levels", "--loss", "siglip", "--batch", 8, "--classes", 4).code == 2
