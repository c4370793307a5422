"""Levels of random batches: with and without replacement, anchors without a positive, and what is not accused."""

from __future__ import annotations

import itertools
from math import comb, log, prod

import numpy as np
import pytest

from geomsolve import InputError, Orbits, solve
from geomsolve.objectives.drawn_batches import Batches, MeanNonzero
from geomsolve.questions.levels import Levels


def ask(loss="supcon", **flags):
    return solve(Levels(loss=loss, **flags))


def orbits_of(*counts):
    return Orbits.of(np.array(counts) / sum(counts), counts)


def nonzero(labels: np.ndarray, gram: np.ndarray, temperature: float) -> float:
    """Mean over the anchors of one batch that have a positive; 0 if none has."""
    logits = gram[np.ix_(labels, labels)] / temperature
    np.fill_diagonal(logits, -np.inf)
    same = (labels[:, None] == labels) & ~np.eye(len(labels), dtype=bool)
    costs = [np.logaddexp.reduce(row) - 1 / temperature for row, s in zip(logits, same, strict=True) if s.any()]
    return float(np.mean(costs)) if costs else 0.0


def sequences(counts, size, *, finite):
    """All batches as sequences of classes, with their probability."""
    total = sum(counts)
    for labels in itertools.product(range(len(counts)), repeat=size):
        left, chance = list(counts), 1.0
        for i, a in enumerate(labels):
            chance *= left[a] / (total - i if finite else total)
            left[a] -= finite
        if chance > 0:
            yield np.array(labels), chance


@pytest.mark.parametrize("finite", [True, False])
def test_mean_nonzero_is_the_enumeration_of_all_batches(finite, rng):
    counts, size, temperature = (4, 2, 2), 5, 0.4
    orbits = orbits_of(*counts)
    batches = Batches(orbits, size, 1, finite)
    cosines = np.array([[1.0, 0.3], [0.3, -0.4]])
    every = list(sequences(counts, size, finite=finite))
    wanted = sum(chance * nonzero(labels, orbits.lift(cosines), temperature) for labels, chance in every)
    objective = MeanNonzero(batches, temperature)
    assert objective.value(cosines) == pytest.approx(wanted, rel=1e-11)
    form = objective.cone_form()
    assert form is not None
    assert form.value(cosines) == pytest.approx(wanted, rel=1e-11)
    change = np.array([[0.0, 1.0], [-0.5, 2.0]])
    h = 1e-5
    slope = (objective.value(cosines + h * change) - objective.value(cosines - h * change)) / (2 * h)
    assert float(np.sum(objective.gradient(cosines) * change)) == pytest.approx(slope, rel=1e-8)
    bend = (objective.gradient(cosines + h * change) - objective.gradient(cosines - h * change)) / (2 * h)
    np.testing.assert_allclose(objective.curvature(cosines)(change), bend, atol=1e-8)
    alone = sum(chance * np.mean([np.sum(labels == a) == 1 for a in labels]) for labels, chance in every)
    assert batches.lonely() == pytest.approx(alone, rel=1e-11)
    missing = sum(chance for labels, chance in every if len(set(labels.tolist())) < 3)
    assert batches.lacks_a_class() == pytest.approx(missing, rel=1e-10)
    three = list(sequences(counts, 3, finite=finite))
    some = sum(chance for labels, chance in three if len(set(labels.tolist())) < 3)
    assert Batches(orbits, 3, 1, finite).any_positive() == pytest.approx(some, rel=1e-11)


def test_large_batches_without_replacement_lack_a_class_as_the_urn_says():
    """Two classes: exactly one of them can be missing."""
    counts, size = (5000, 7), 900
    urn = comb(5000, size) / comb(5007, size)
    assert Batches(orbits_of(*counts), size, 1, finite=True).lacks_a_class() == pytest.approx(urn, rel=1e-9)
    assert Batches(orbits_of(*counts), 5007, 1, finite=True).lacks_a_class() == 0.0


@pytest.mark.slow
def test_a_loader_is_not_accused(run):
    """Counts 110, 7, 7, batch 64, two views, temperature .5: the optimum is 4.470 without replacement, 4.477 with."""
    flags = {"loss": {"name": "supcon", "temperature": 0.5}, "counts": [110, 7, 7], "batch": 64}
    report = ask(**flags)
    assert report.replacement == "no"
    assert report.optimum == report.optimum_random_batches == pytest.approx(4.470, abs=1e-3)
    assert report.optimum_other_replacement == pytest.approx(4.477, abs=1e-3)
    assert report.certified
    within = ask(**flags, replacement="yes")
    assert (within.replacement, within.optimum) == ("yes", report.optimum_other_replacement)
    assert within.optimum_other_replacement == report.optimum
    for value in (4.4702, 4.472, 4.476, 4.477):
        assert ask(**flags, replacement="yes", loss_value=value).reading == "optimum"
    # a single batch: the spread is that of drawn ones
    rng = np.random.default_rng(3)
    gram = solve_gram(flags)
    samples = np.repeat(np.arange(3), (110, 7, 7))
    singles = [two_views(rng.choice(samples, 64, replace=False), gram, 0.5) for _ in range(2000)]
    assert report.batch_spread == pytest.approx(np.std(singles), rel=0.1)
    assert ask(**flags, loss_value=float(np.quantile(singles, 0.02))).reading == "one batch"
    assert ask(**flags, loss_value=3.5).reading == "below"
    arguments = ("levels", "--counts", "110,7,7", "--batch", 64, "-t", 0.5)
    text = run(*arguments).stdout
    assert "drawn without replacement" in " ".join(text.split())
    assert "drawn with replacement have the optimum 4.477" in " ".join(text.split())
    asked = run(*arguments, "--replacement", "yes", "--json").json
    assert asked["replacement"] == asked["problem"]["replacement"] == "yes"
    single = run(*arguments, "--loss-value", 4.4).stdout
    assert "no embedding can reach" not in single


def solve_gram(flags) -> np.ndarray:
    from geomsolve import Imbalance

    loss = {**flags["loss"], "batch": flags["batch"], "replacement": "no"}
    return solve(Imbalance(counts=flags["counts"], loss=loss)).gram


def two_views(labels: np.ndarray, gram: np.ndarray, temperature: float) -> float:
    n = np.bincount(labels, minlength=len(gram))
    others = 2 * (np.exp((gram - 1) / temperature) * (1 - np.eye(len(gram)))) @ n
    return float(n @ np.log(np.maximum(2 * n - 1.0 + others, 1.0)) / n.sum())


@pytest.mark.slow
def test_one_view_of_many_classes(run):
    """100 samples of 1,000 equal classes: ln 99 = 4.595 times the chance that any anchor has a positive."""
    flags = ("levels", "--props", "1000*0.001", "--batch", 100, "--views", 1)
    some = 1 - prod(1 - i / 1000 for i in range(100))
    plain = run(*flags, "--json").json
    assert plain["collapse"] == pytest.approx(0.4333, abs=1e-4)
    beside = plain["other_reduction"]
    assert beside["reduction"] == "mean-nonzero"
    assert beside["collapse"] == pytest.approx(some * log(99), rel=1e-10)
    assert beside["random_start"] == pytest.approx(some * 4.979, rel=2e-3)
    fits = run(*flags, "--loss-value", 4.595, "--json").json
    assert fits["other_reduction"]["reading"] == "collapse"
    text = " ".join(run(*flags, "--loss-value", 4.595).stdout.split())
    assert text.startswith("4.595 is total collapse if the loss is averaged over anchors with a positive")
    asked = run(*flags, "--reduction", "mean-nonzero", "--json")
    assert asked.code == 1  # the expectation of a quotient is not proven here
    assert asked.json["collapse"] == pytest.approx(some * log(99), rel=1e-10)
    assert asked.json["expectation"] == "ratio"
    drawn = asked.json["drawn_mean"]
    assert asked.json["optimum"] == pytest.approx(drawn["value"], abs=0.01)
    assert asked.json["lower_bound"] <= drawn["value"]


def test_few_compositions_are_exact(run):
    flags = ("levels", "--props", "0.6,0.3,0.1", "--batch", 8, "--views", 1, "--reduction", "mean-nonzero")
    answer = run(*flags, "--json")
    assert answer.code == 0
    assert answer.json["expectation"] == "exact"
    assert answer.json["certified"]
    assert answer.json["optimum"] == pytest.approx(
        answer.json["drawn_mean"]["value"], abs=4 * answer.json["drawn_mean"]["standard_error"]
    )
    assert answer.json["other_reduction"]["reduction"] == "mean"
    assert answer.json["other_reduction"]["optimum"] < answer.json["optimum"]


def test_where_every_anchor_has_a_positive_the_reductions_are_one():
    for flags in ({"props": [0.6, 0.3, 0.1]}, {"classes": 3}):
        mean, other = (ask(batch=12, reduction=r, **flags) for r in ("mean", "mean-nonzero"))
        assert mean.optimum == other.optimum
        assert mean.collapse == other.collapse
        assert mean.other_reduction is None


@pytest.mark.slow
@pytest.mark.parametrize("geometry", ["collapse", "random", "simplex"])
def test_pytorch_metric_learning_on_drawn_batches(geometry):
    """Its SupConLoss, default reducer: mean over the anchors with a positive, 0 for a batch without any."""
    torch = pytest.importorskip("torch")
    losses = pytest.importorskip("pytorch_metric_learning.losses")
    loss = losses.SupConLoss(temperature=0.1)
    rng = np.random.default_rng(4)
    dim, classes, size, batches = 128, 100, 20, 1500
    centred = np.eye(classes) - 1 / classes
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    values = []
    for _ in range(batches):
        labels = rng.integers(classes, size=size)
        if geometry == "collapse":
            z = np.ones((size, 2)) / 2**0.5
        elif geometry == "random":
            z = rng.standard_normal((size, dim))
        else:
            z = centred[labels]
        values.append(float(loss(torch.tensor(z), torch.tensor(labels))))
    report = ask(
        {"name": "supcon", "temperature": 0.1},
        props=[1 / classes] * classes,
        batch=size,
        views=1,
        dim=dim,
        reduction="mean-nonzero",
    )
    error = 4 * np.std(values) / batches**0.5
    if geometry == "collapse":
        assert report.collapse == pytest.approx(np.mean(values), abs=error)
    elif geometry == "random":
        assert report.random_start == pytest.approx(np.mean(values), abs=error)
    else:
        drawn = report.drawn_mean
        assert drawn["value"] == pytest.approx(np.mean(values), abs=error + 4 * drawn["standard_error"])


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        ({"classes": 3, "batch": 12, "replacement": "no"}, "replacement"),
        ({"loss": "infonce", "counts": [5, 5], "batch": 4, "replacement": "no"}, "replacement"),
        ({"props": [0.5, 0.5], "batch": 4, "replacement": "no"}, "loss.replacement"),
        ({"counts": [5, 5], "batch": 40, "replacement": "no"}, "loss.batch"),
        ({"loss": "triplet", "classes": 3, "reduction": "mean-nonzero"}, "reduction"),
    ],
)
def test_errors_name_the_field(flags, field):
    with pytest.raises(InputError) as error:
        ask(**flags)
    assert error.value.field == field


def test_a_stand_in_for_the_optimum_is_not_called_the_best_possible(run):
    """E sum / E number stands for the mean over anchors with a positive; nothing but the lower bound is proven."""
    flags = ("levels", "--views", 1, "--batch", 100, "--counts", "1000*10", "--reduction", "mean-nonzero")
    answer = run(*flags)
    assert answer.code == 1
    assert answer.stdout.startswith("The best value is about ")
    assert "best possible" not in answer.stdout
    assert "about the best any embedding can do" in answer.stdout
    assert "NOT PROVEN" in answer.stdout


def test_only_below_what_is_proven_no_embedding_gets(run):
    """Sigmoid of unequal classes: the optimum rests on an assumption, the bound does not."""
    flags = ("levels", "--loss", "sigmoid", "--props", "0.6,0.3,0.1", "--sampling", "iid", "--batch", 4)
    flags = (*flags, "-t", 1, "--bias", 0)
    report = run(*flags, "--json").json
    # three negatives of another class with probability .54 at cosine -1, and the positive at 1
    assert report["lower_bound"] == pytest.approx((1 + 3 * 0.54) * log(1 + np.exp(-1)), rel=1e-9)
    between = run(*flags, "--loss-value", 0.9).stdout
    assert "without that it may be" in between
    assert "no embedding can reach" not in " ".join(between.split())
    below = " ".join(run(*flags, "--loss-value", 0.5).stdout.split())
    assert below.startswith("0.5 is below 0.8207, which no embedding can reach")
