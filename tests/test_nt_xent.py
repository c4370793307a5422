"""NT-Xent on labelled batches: against its definition, enumerated and drawn batches, and pytorch-metric-learning."""

from __future__ import annotations

import itertools
from math import exp, factorial, log, prod

import numpy as np
import pytest
from helpers import define, random_gram

from geomsolve import Imbalance, Levels, Orbits, make_loss, solve
from geomsolve.objectives.drawn_batches import Batches
from geomsolve.objectives.positive_pairs import PairBatches, PairMean, PairRatio

DIGITS = (110, 20, 10)
FLAGS = ("--counts", "110,20,10", "--loss", "nt-xent", "--batch", 64)
COLLAPSED = np.array([[1.0, -1, -1], [-1, 1, 1], [-1, 1, 1]])


def loss_of_batch(z, labels, temperature):
    """The definition, pair by pair."""
    s = z @ z.T / temperature
    costs = []
    for i, j in itertools.permutations(range(len(labels)), 2):
        if labels[i] == labels[j]:
            crowd = sum(exp(s[i, n]) for n in range(len(labels)) if labels[n] != labels[i])
            costs.append(-log(exp(s[i, j]) / (exp(s[i, j]) + crowd)))
    return float(np.mean(costs)) if costs else 0.0


def batches(props, orbits=None, batch=4, views=2, finite=False):
    return PairBatches(orbits or Orbits.trivial(props), batch, views, finite=finite)


@pytest.mark.parametrize(("batch", "views"), [(2, 2), (4, 1), (3, 3)])
def test_the_expectation_over_every_batch_there_is(batch, views, rng):
    props, points = (0.5, 0.3, 0.2), rng.normal(size=(3, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    wanted = sum(
        prod(props[a] for a in labels)
        * loss_of_batch(np.repeat(points[list(labels)], views, 0), np.repeat(labels, views), 0.5)
        for labels in itertools.product(range(3), repeat=batch)
    )
    loss = make_loss("nt-xent", {"temperature": 0.5, "batch": batch, "views": views})
    assert loss.objective(Orbits.trivial(props)).value(points @ points.T) == pytest.approx(wanted, rel=1e-12)


def test_scatter_within_classes_never_helps(rng):
    """By Jensen's inequality no batch is below that of its class means, each brought to length 1."""
    labels = np.repeat([0, 1, 2], (4, 3, 2))
    for _ in range(20):
        z = rng.normal(size=(9, 4)) + 2 * rng.normal(size=(3, 4))[labels]
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        found = loss_of_batch(z, labels, 0.5)
        means = np.array([z[labels == a].mean(axis=0) for a in range(3)])
        gram = means @ means.T
        np.fill_diagonal(gram, 1.0)
        m = np.array([4, 3, 2])
        cost = [log(1 + sum(m[b] * exp((gram[a, b] - 1) / 0.5) for b in range(3) if b != a)) for a in range(3)]
        assert found >= float(np.sum(m * (m - 1) * cost) / np.sum(m * (m - 1))) - 1e-12


@pytest.mark.parametrize(("batch", "views"), [(6, 2), (5, 1), (2, 3)])
def test_the_ratio_is_that_of_two_enumerated_expectations(batch, views, rng):
    p, gram, t = (0.5, 0.3, 0.2), random_gram(rng, 3), 0.4
    x = np.exp((gram - 1) / t) * (1 - np.eye(3))
    total = pairs = 0.0
    for n in itertools.product(range(batch + 1), repeat=3):
        if sum(n) == batch:
            chance = factorial(batch) * prod(q**k / factorial(k) for q, k in zip(p, n, strict=True))
            m = views * np.array(n)
            total += chance * float(np.sum(m * (m - 1) * np.log1p(x @ m)))
            pairs += chance * float(np.sum(m * (m - 1)))
    drawn = batches(p, batch=batch, views=views)
    ratio = PairRatio(drawn, t)
    assert drawn.expected_pairs == pytest.approx(pairs, rel=1e-12)
    assert ratio.value(gram) == pytest.approx(total / pairs, rel=1e-12)
    cone = ratio.cone_form()
    assert cone is not None
    assert cone.value(gram) == pytest.approx(total / pairs, rel=1e-12)
    exact = PairMean(drawn, t).value(gram)
    mean = ratio.drawn_mean(gram)
    assert abs(mean["value"] - exact) < 4 * mean["standard_error"] + 1e-15  # of rounding
    assert mean["standard_error"] < 0.1 * abs(exact - ratio.value(gram))
    assert exact >= ratio.least_share * ratio.value(gram)


@pytest.mark.parametrize("kind", [PairMean, PairRatio])
def test_derivatives(kind, rng):
    orbits = Orbits.of([0.4, 0.2, 0.2, 0.1, 0.1])
    objective = kind(batches(None, orbits, 7), 0.4)
    cosines = orbits.reduce(random_gram(rng, 5))
    gradient, change, step = objective.gradient(cosines), rng.normal(size=(3, 3)), 1e-5
    ahead, behind = cosines + step * change, cosines - step * change
    slope = (objective.value(ahead) - objective.value(behind)) / (2 * step)
    assert float(np.sum(gradient * change)) == pytest.approx(slope, rel=1e-7)
    bend = (objective.gradient(ahead) - objective.gradient(behind)) / (2 * step)
    np.testing.assert_allclose(objective.curvature(cosines)(change), bend, rtol=1e-6, atol=1e-9)


def test_orbits_change_nothing(rng):
    props = [0.4, 0.2, 0.2, 0.1, 0.1]
    orbits = Orbits.of(props)
    cosines = orbits.reduce(random_gram(rng, 5))
    for kind in (PairMean, PairRatio):
        whole = kind(batches(props, batch=6), 0.4).value(orbits.lift(cosines))
        assert kind(batches(None, orbits, 6), 0.4).value(cosines) == pytest.approx(whole, rel=1e-12)


@pytest.mark.slow
def test_digits_collapse_far_below_supcon(run):
    """110, 20 and 10 digits, batch 64, two views: the rare ones share a point from a temperature between .3 and .5 on.

    Drawn batches at the collapsed geometry and temperature .5 have the mean .4952 by an independent run, up to the
    error of some thousand batches that differ by .14.
    """
    answer = run("threshold", *FLAGS, "--json").json
    assert 0.3 < answer["threshold"]["value"] < 0.5
    assert answer["collapsed_above"]
    supcon = run("threshold", "--counts", "110,20,10", "--batch", 64, "--json").json
    assert supcon["threshold"]["value"] > 2 * answer["threshold"]["value"]
    at = run("imbalance", *FLAGS, "-t", 0.5, "--json").json
    assert at["structure"]["groups"] == [["2", "3"]]
    assert at["certified"]
    assert at["expectation"] == "exact"
    assert at["value"] == pytest.approx(0.4952, abs=2e-3)
    rng = np.random.default_rng(0)
    m = 2 * rng.multinomial(64, np.array(DIGITS) / 140, size=400_000)
    cost = np.log1p(m @ (np.exp((COLLAPSED - 1) / 0.5) * (1 - np.eye(3))))
    pairs = m * (m - 1)
    drawn = (pairs * cost).sum(axis=1) / pairs.sum(axis=1)
    assert abs(at["value"] - drawn.mean()) < 4 * drawn.std() / drawn.size**0.5
    assert run("imbalance", *FLAGS, "-t", 0.3, "--json").json["structure"]["groups"] == []


def test_the_threshold_is_where_opening_the_rare_classes_stops_to_pay(run):
    at = run("threshold", *FLAGS[:5], 12, "--json").json["threshold"]["value"]

    def opening(temperature):
        """Second-order change of the enumerated F when the rare classes open by a small angle, in the best way."""
        definition = define("nt-xent", {"temperature": temperature, "batch": 12}, np.array(DIGITS) / 140)

        def value(x, y):
            points = np.array([[1.0, 0], [-np.cos(x), np.sin(x)], [-np.cos(y), np.sin(y)]])
            return definition.value(points @ points.T)

        h = 1e-3
        xx = (value(h, 0) - 2 * value(0, 0) + value(-h, 0)) / h**2
        yy = (value(0, h) - 2 * value(0, 0) + value(0, -h)) / h**2
        xy = (value(h, h) - value(h, -h) - value(-h, h) + value(-h, -h)) / (4 * h**2)
        return float(np.linalg.eigvalsh([[xx, xy], [xy, yy]])[0])

    assert opening(0.995 * at) < 0 < opening(1.005 * at)


@pytest.mark.slow
def test_many_classes_say_that_a_ratio_stands_for_the_mean(run):
    flags = ("--dataset", "cifar10-lt:100", "--loss", "nt-xent", "--batch", 64, "-t", 0.5)
    answer = run("imbalance", *flags, "--json").json
    assert answer["expectation"] == "ratio"
    assert answer["certified"]
    mean, error = answer["drawn_mean"]["value"], answer["drawn_mean"]["standard_error"]
    assert 0 < error < 1e-3
    assert abs(mean - answer["value"]) > 10 * error  # what the text is about
    said = " ".join(run("imbalance", *flags).stdout.split())
    assert "a batch has too many compositions to enumerate" in said
    assert f"is {mean:.5g} +-" in said
    levels = run("levels", *flags, "--json")
    assert levels.json["expectation"] == "ratio"
    assert not levels.json["certified"]
    assert levels.json["lower_bound"] < levels.json["optimum"] == pytest.approx(answer["value"], rel=1e-9)
    assert "positive pairs; drawn batches have the mean" in " ".join(run("levels", *flags).stdout.split())
    assert "expectation" not in run("imbalance", "--props", "0.6,0.4", "--json").json


@pytest.mark.parametrize("name", ["nt-xent", "simclr"])
def test_every_sample_its_own_class_is_simclr(name, run):
    """simclr issue 141: batch 128, temperature 0.1, two views: ln 255 and log(1 + 254 e^{-128/127/t})."""
    answer = run("levels", "--loss", name, "--batch", 128, "-t", 0.1, "--json").json
    assert answer["collapse"] == pytest.approx(log(255), rel=1e-12)
    assert answer["optimum"] == pytest.approx(log(1 + 254 * exp(-128 / 127 / 0.1)), rel=1e-12)
    assert answer["certified"]
    summed = run("levels", "--loss", name, "--batch", 128, "-t", 0.1, "--reduction", "sum", "--json").json
    assert summed["collapse"] == pytest.approx(256 * log(255), rel=1e-12)


@pytest.mark.slow
def test_levels_of_drawn_batches(rng):
    """Collapse and random start against drawn batches of the definition."""
    loss, props = {"name": "nt-xent", "temperature": 0.5}, (0.5, 0.3, 0.2)
    report = solve(Levels(loss=loss, props=props, batch=6, dim=8))
    collapse, start = [], []
    for _ in range(1500):
        labels = np.repeat(rng.choice(3, size=6, p=props), 2)
        z = rng.normal(size=(12, 8))
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        collapse.append(loss_of_batch(np.ones((12, 1)), labels, 0.5))
        start.append(loss_of_batch(z, labels, 0.5))
    for level, drawn in ((report.collapse, collapse), (report.random_start, start)):
        assert level == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / len(drawn) ** 0.5)
    balanced = solve(Levels(loss=loss, classes=3, batch=6))
    assert balanced.optimum == pytest.approx(log(1 + 8 * exp(-3 / 2 / 0.5)), rel=1e-12)
    assert balanced.collapse == pytest.approx(log(9), rel=1e-12)


def test_a_random_start_of_many_numbers_of_negatives():
    """Interpolated, with 256 samples; against the sum over all of them."""
    from geomsolve.objectives.random_start import random_log_sum

    report = solve(Levels(loss={"name": "nt-xent", "temperature": 0.2}, props=(0.7, 0.3), batch=100, dim=16))
    crowds, mass = PairMean(batches((0.7, 0.3), batch=100), 0.2).crowds()
    assert crowds.size > 64
    wanted = sum(
        w * random_log_sum([(1.0, k + 1)], 0.2, 16) for k, w in zip(crowds.tolist(), mass.tolist(), strict=True)
    )
    assert report.random_start == pytest.approx(wanted, rel=1e-7)


def test_with_and_without_replacement(run):
    """From counts, batches are drawn as data loaders draw them; both optima are given."""
    answer = run("levels", *FLAGS, "-t", 0.5, "--json").json
    assert answer["replacement"] == "no"
    assert answer["optimum"] < answer["optimum_other_replacement"] == pytest.approx(0.4964606363, abs=1e-9)
    drawn = Batches(Orbits.of(np.array(DIGITS) / 140, DIGITS), 64, 2, finite=True)
    chance, numbers = drawn.compositions()
    assert chance.sum() == pytest.approx(1, rel=1e-12)
    assert (numbers <= drawn.counts).all()
    assert chance @ numbers == pytest.approx(64 * np.array(DIGITS) / 140, rel=1e-12)


def test_a_sampler_is_a_change_of_the_shares():
    q = np.sqrt(DIGITS) / np.sqrt(DIGITS).sum()
    loss = {"name": "nt-xent", "temperature": 0.3, "batch": 16}
    drawn = solve(Imbalance(counts=DIGITS, loss={**loss, "sampler": "sqrt"}))
    assert drawn.value == pytest.approx(solve(Imbalance(props=tuple(q.tolist()), loss=loss)).value, abs=1e-12)


@pytest.mark.slow
def test_all_solvers_agree():
    loss, props = {"name": "nt-xent", "temperature": 0.4, "batch": 6}, (0.5, 0.3, 0.2)
    value, gram = define("nt-xent", loss, props).solve()
    for solver in ("conic", "dual", "manifold"):
        report = solve(Imbalance(props=props, loss=loss, solver=solver))
        assert report.value == pytest.approx(value, abs=1e-6)
        np.testing.assert_allclose(report.gram, gram, atol=2e-3)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("imbalance", "--props", "0.6,0.4"), "--batch: it compares within a batch"),
        (("imbalance", "--props", "0.6,0.4", "--batch", 2, "--views", 1), "take a larger batch"),
        (("imbalance", "--props", "0.6,0.4", "--batch", 8, "--replacement", "no"), "needs whole counts"),
        (("imbalance", "--counts", "6,4", "--batch", 11, "--replacement", "no"), "from 10 samples"),
        (
            ("imbalance", "--counts", "6,4", "--batch", 8, "--replacement", "no", "--sampler", "sqrt"),
            "with replacement",
        ),
        (("imbalance", "--dataset", "cifar10-lt:100", "--batch", 64, "--replacement", "no"), "smaller batch or fewer"),
        (("levels", "--props", "0.6,0.4", "--batch", 8, "--reduction", "sum"), "take mean"),
        (("levels", "--props", "0.6,0.4", "--batch", 8, "--reduction", "mean-nonzero"), "mean over positive pairs"),
        (("levels", "--classes", 8, "--batch", 8, "--views", 1), "no positive pair"),
    ],
)
def test_what_makes_no_sense_is_refused(args, words, run):
    answer = run(*args, "--loss", "nt-xent")
    assert answer.code == 2
    assert words in " ".join(answer.stderr.split())


@pytest.mark.slow
def test_thresholds_and_sweeps_say_which_mean_they_are_of(run):
    flags = ("--props", "0.8,0.1,0.1", "--loss", "nt-xent", "--batch", 4)
    assert run("threshold", *flags, "--json").json["expectation"] == "exact"
    exact = "The mean over batches is exact"
    assert exact in run("threshold", *flags).stdout
    assert exact in run("sweep", *flags, "--over", "temperature=0.5").stdout
    many = ("--props", "0.4,12*0.05", "--loss", "nt-xent", "--batch", 7)
    assert run("threshold", *many, "--json").json["expectation"] == "ratio"
    swept = run("sweep", *many, "--over", "temperature=0.5", "--json").json
    assert [row["expectation"] for row in swept["rows"]] == ["ratio"]
    ratio = "the ratio of expectations stands for the mean over batches"
    assert ratio in " ".join(run("threshold", *many).stdout.split())
    assert f"As a batch has too many compositions to enumerate, {ratio}" in " ".join(
        run("sweep", *many, "--over", "temperature=0.5").stdout.split()
    )
    mixed = " ".join(run("sweep", *many[:4], "--over", "batch=2,7").stdout.split())
    assert f"Where a batch has too many compositions to enumerate, {ratio}" in mixed
    for command in (("threshold",), ("sweep", "--over", "temperature=0.5")):
        assert "mean over batches" not in run(*command, "--props", "0.6,0.3,0.1").stdout


@pytest.mark.slow
def test_other_commands(run):
    sweep = run("sweep", *FLAGS, "--over", "temperature=0.3,0.5", "--json")
    assert sweep.code == 0
    batch = run(
        "threshold", "--counts", "110,20,10", "--loss", "nt-xent", "--batch", 64, "-t", 0.4, "--over", "batch", "--json"
    )
    assert batch.json["threshold"]["value"] == 74
    limited = run(
        "imbalance", "--dataset", "cifar10-lt:100", "--loss", "nt-xent", "--batch", 8, "--dim", 3, "--json"
    ).json
    assert limited["dimension_limited"]
    assert limited["drawn_mean"]["standard_error"] > 0


def pml_loss(temperature):
    pytest.importorskip("pytorch_metric_learning")
    from pytorch_metric_learning.losses import NTXentLoss

    return NTXentLoss(temperature=temperature)


def test_the_library_on_one_batch(rng):
    torch = pytest.importorskip("torch")
    from geomsolve.descent import batch_losses

    library = pml_loss(0.5)
    for labels in ([0, 0, 1, 1, 1, 2], [0, 1, 2, 3, 4, 5], [1, 1, 1, 1, 1, 1]):
        z = torch.nn.functional.normalize(torch.from_numpy(rng.normal(size=(6, 4))), dim=1)
        y = torch.tensor(labels)
        wanted = loss_of_batch(z.numpy(), np.array(labels), 0.5)
        assert float(batch_losses.nt_xent(z @ z.T, y, 0.5)) == pytest.approx(wanted, rel=1e-12)
        assert float(library(z, y)) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.slow
def test_the_library_on_drawn_batches():
    """Its mean over batches of the digits, at the optimum of temperature .3 and batch 16, is the value printed.

    Batches of 64 take the library a second each.
    """
    torch = pytest.importorskip("torch")
    library, t = pml_loss(0.3), 0.3
    report = solve(Imbalance(counts=DIGITS, loss={"name": "nt-xent", "temperature": t, "batch": 16}))
    values, vectors = np.linalg.eigh(report.gram)
    points = torch.from_numpy(vectors * np.sqrt(np.maximum(values, 0)))
    rng = np.random.default_rng(5)
    found = []
    for _ in range(150):
        y = torch.from_numpy(np.repeat(rng.choice(3, size=16, p=np.array(DIGITS) / 140), 2))
        found.append(float(library(points[y], y)))
    assert np.mean(found) == pytest.approx(report.value, abs=4 * np.std(found) / len(found) ** 0.5)
    assert np.std(found) / len(found) ** 0.5 < 0.08 * report.value


@pytest.mark.slow
def test_the_library_on_batches_of_64():
    """On a batch of the digits it is what its composition says, of which 400,000 have the mean .4952 above."""
    torch = pytest.importorskip("torch")
    library, points = pml_loss(0.5), torch.tensor([[1.0], [-1.0], [-1.0]], dtype=torch.float64)
    rng = np.random.default_rng(7)
    drawn = rng.choice(3, size=64, p=np.array(DIGITS) / 140)
    y = torch.from_numpy(np.repeat(drawn, 2))
    m = 2 * np.bincount(drawn, minlength=3)
    cost = np.log1p((np.exp((COLLAPSED - 1) / 0.5) * (1 - np.eye(3))) @ m)
    pairs = m * (m - 1)
    assert float(library(points[y], y)) == pytest.approx(float(pairs @ cost / pairs.sum()), rel=1e-9)


@pytest.mark.slow
def test_descent_with_the_librarys_own_pairs(run):
    pytest.importorskip("pytorch_metric_learning")
    flags = ("--counts", "20,8,4", "--loss", "nt-xent", "-t", 0.5, "--batch", 8, "--steps", 500, "--json")
    for more in ((), ("--implementation", "pml")):
        answer = run("check", *flags, *more).json
        assert answer["verdict"] in ("agrees", "not there yet")
        assert abs(answer["descent"]["value"] - answer["prediction"]["value"]) < 0.03


@pytest.mark.slow
def test_embeddings_at_the_optimum_match(run, tmp_path):
    pytest.importorskip("torch")
    predicted = solve(Imbalance(counts=(20, 8, 4), loss={"name": "nt-xent", "temperature": 0.5, "batch": 8}))
    values, vectors = np.linalg.eigh(predicted.gram)
    labels = np.repeat([0, 1, 2], (20, 8, 4))
    np.save(tmp_path / "z.npy", (vectors * np.sqrt(np.maximum(values, 0)))[labels])
    np.save(tmp_path / "y.npy", labels)
    files = (tmp_path / "z.npy", "--labels", tmp_path / "y.npy")
    answer = run("compare", *files, "--loss", "nt-xent", "-t", 0.5, "--batch", 8, "--json").json
    assert answer["verdict"] == "matches"
    assert answer["value_measured"] == pytest.approx(predicted.value, abs=4 * answer["value_standard_error"] + 1e-9)


def test_a_path_over_batches_needs_one_to_start_from(run):
    """It has no limit of ever larger batches: how it stands now is asked of a batch."""
    done = run("threshold", "--counts", "90,5,5", "--loss", "nt-xent", "--over", "batch", "-t", 3)
    assert (done.code, done.stdout) == (2, "")
    assert "give its size, --batch B" in done.stderr
    assert (
        run("threshold", "--counts", "90,5,5", "--loss", "nt-xent", "--over", "batch", "-t", 3, "--batch", 4).code == 0
    )
