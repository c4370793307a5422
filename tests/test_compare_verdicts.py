"""What compare makes of embeddings: judged by ranges, by noise, by dimension; several checkpoints; what is measured."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.optimize import brentq

from geomsolve import Imbalance, InputError, solve
from geomsolve.analyses.compare import compare
from geomsolve.gram import measure
from geomsolve.gram.orbits import Orbits
from geomsolve.losses import make_loss
from geomsolve.questions.compare import Compare

COUNTS = (70, 20, 10)
LOW = {"name": "supcon", "temperature": 0.1}
LABELS = np.repeat([0, 1, 2], COUNTS)


def vectors(gram):
    """Unit vectors (K, K) with the cosines ``gram``."""
    w, v = np.linalg.eigh(gram)
    return v * np.sqrt(np.maximum(w, 0))


def cosines(ab, ac, bc):
    return np.array([[1, ab, ac], [ab, 1, bc], [ac, bc, 1.0]])


@pytest.fixture
def ask(tmp_path):
    def call(z, y=LABELS, loss=LOW, **more):
        np.save(tmp_path / "z.npy", z)
        np.save(tmp_path / "y.npy", y)
        return compare(Compare(embeddings="z.npy", labels="y.npy", base=tmp_path, loss=loss, **more))

    return call


# ---- judged by ranges

WARM = cosines(-0.687214, -0.578277, -0.195271)
"""The optimum at temperature .5, published: pair 2-3 is .24 from the optimum at .1."""


def test_at_low_temperature_the_loss_does_not_fix_the_angles(ask):
    pytest.importorskip("torch")
    report = ask(vectors(WARM)[LABELS])
    assert report.verdict == "loose"
    exact = make_loss("supcon", {"temperature": 0.1}).objective(Orbits.trivial([0.7, 0.2, 0.1])).value(WARM)
    assert report.excess == pytest.approx(exact - report.prediction.value, abs=1e-12)  # no scatter: F of the cosines
    assert report.angle_excess == pytest.approx(report.excess, abs=1e-9)
    assert report.judgement.slack == pytest.approx(report.excess, rel=1e-6)
    (pair, *_) = report.judgement.pairs
    assert pair.classes == ("1", "2")
    assert pair.range.low <= WARM[1, 2] <= pair.range.high
    assert report.max_gram_error <= report.judgement.allowed


def test_the_ranges_are_those_of_the_measured_excess(ask):
    """They are those that imbalance gives for that slack."""
    pytest.importorskip("torch")
    report = ask(vectors(WARM)[LABELS])
    slack = report.judgement.slack
    same = solve(Imbalance(counts=COUNTS, loss=LOW, slack=slack)).ranges
    for pair in report.judgement.pairs:
        names = {str(int(name) + 1) for name in pair.classes}
        other = next(each for each in same.pairs if set(each.classes) == names)
        assert pair.range.low == pytest.approx(other.range.low, abs=1e-7)
        assert pair.range.high == pytest.approx(other.range.high, abs=1e-7)


def test_a_name_of_its_own_is_no_other_geometry_where_the_loss_cannot_tell(ask):
    pytest.importorskip("torch")
    report = ask(np.eye(3)[LABELS])
    assert report.structure.kind == "orthogonal frame"
    assert report.verdict == "loose"
    assert ask(np.eye(3)[LABELS], loss={"name": "supcon", "temperature": 0.5}).verdict == "another geometry"


def test_far_above_the_optimum_is_not_there_yet_at_any_temperature(ask):
    pytest.importorskip("torch")
    report = ask(vectors(cosines(0.8, 0.5, 0.75))[LABELS])
    assert report.excess > 0.01
    assert report.verdict == "not there yet"
    assert report.judgement.pairs == ()


def test_without_the_loss_value_cosines_alone_are_judged(ask, monkeypatch, run, tmp_path):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "torch" else real(name, *a))
    report = ask(vectors(WARM)[LABELS])
    assert report.verdict == "not there yet"
    assert report.angle_excess is not None
    done = run("compare", tmp_path / "z.npy", "--labels", tmp_path / "y.npy", "-t", "0.1")
    assert "judged by cosines alone" in " ".join(done.stdout.split())


@pytest.mark.slow
def test_where_proofs_need_convexity_nothing_is_loose(ask):
    pytest.importorskip("torch")
    hard = {"name": "infonce", "temperature": 0.1, "hardness": 2.0}
    assert ask(np.eye(3)[LABELS], loss=hard).verdict != "loose"


@pytest.mark.slow
def test_with_many_proportions_the_cosines_are_their_own_witness(ask):
    """No range is solved for: an arrangement within the slack is inside every range."""
    pytest.importorskip("torch")
    counts = np.arange(2, 122)
    y = np.repeat(np.arange(120), counts)
    z = np.c_[np.eye(120)[y] + 0.45 * np.eye(120)[np.maximum(y - y % 2, 0)]]  # neighbours at an angle
    report = ask(z, y)
    assert report.max_gram_error > 0.1
    assert report.verdict == "loose"
    assert report.judgement.pairs == ()
    assert report.angle_excess <= report.judgement.slack < 1e-3 * 5
    assert report.judgement.allowed == report.max_gram_error


def test_noise_grants_no_more_than_is_asked_for(ask):
    """Six samples in all, one class of a single one: nothing about the angles is known, and so nothing matches."""
    rng = np.random.default_rng(0)
    report = ask(rng.standard_normal((6, 4)), np.array([0, 0, 0, 0, 0, 1]))
    assert 0.2 < report.max_gram_error < 0.1 + report.errors.noise_floor
    assert report.verdict != "matches"


def test_scatter_that_is_hotter_than_what_is_solved_is_left_out(ask):
    z = np.eye(3)[LABELS] + 0.1 * np.random.default_rng(0).standard_normal((100, 3))
    assert ask(z, loss={"name": "supcon", "temperature": 1e6}).heated is None


@pytest.mark.slow
def test_a_perceptron_trained_at_the_usual_temperature_is_loose(tmp_path, run):
    pytest.importorskip("torch")
    pytest.importorskip("pytorch_metric_learning")
    from test_digits import load

    load().save(tmp_path, steps=500)
    files = (tmp_path / "digits.npy", "--labels", tmp_path / "digits-labels.npy", "-t", "0.1")
    for more in ((), ("--batch", 64)):
        done = run("compare", *files, *more, "--json")
        assert done.json["verdict"] == "loose"
        assert done.json["max_gram_error"] > 0.1
    words = " ".join(run("compare", *files, "--batch", 64).stdout.split())
    assert words.startswith("Your loss is at the optimum, but supcon does not fix these angles")


# ---- angles that the loss leaves open

COLD = {"name": "supcon", "temperature": 0.001}
"""The loss of any angles that are not tiny is the optimum, sum p log p, to the last digit."""


def spoken(run, folder, temperature=0.001):
    done = run("compare", folder / "z.npy", "--labels", folder / "y.npy", "-t", temperature)
    return " ".join(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "gram", [1.5 * np.eye(3) - 0.5, np.eye(3), cosines(-0.9, 0.2, 0.1)], ids=["shown", "frame", "any"]
)
def test_where_no_angle_is_predicted_none_matches(ask, run, tmp_path, gram):
    pytest.importorskip("torch")
    report = ask(vectors(gram)[LABELS], loss=COLD)
    assert report.excess == pytest.approx(0, abs=1e-12)
    assert report.verdict == "loose"
    assert report.to_dict()["prediction"]["structure"] == "undetermined"
    told = spoken(run, tmp_path)
    assert told.startswith(
        "Your loss is at the optimum; nothing more can be compared, as the angles are not determined"
    )
    assert "matches" not in told
    assert "predicted" not in told
    assert "one of many" in told


def test_an_encoder_of_few_dimensions_is_at_the_optimum_too(ask):
    """Six classes on a circle are 60 degrees apart: the loss is the optimum to e^-500, in the plane as anywhere."""
    pytest.importorskip("torch")
    y = np.repeat(np.arange(6), 5)
    report = ask(circle(6)[y], y, loss=COLD)
    assert report.verdict == "loose"
    assert report.prediction.limited is False
    assert report.judgement.least_rms == 0


@pytest.mark.slow
def test_a_collapse_that_a_range_excludes_is_another_geometry(ask, run, tmp_path):
    """Classes 2 and 3 at one point lose p2 log((p2 + p3)/p2) + p3 log((p2 + p3)/p3); the range ends before it."""
    pytest.importorskip("torch")
    report = ask(np.eye(2)[np.minimum(LABELS, 1)], loss=COLD)
    assert report.excess == pytest.approx(0.2 * math.log(1.5) + 0.1 * math.log(3), abs=1e-12)
    assert report.verdict == "another geometry"
    (pair,) = report.judgement.pairs
    assert pair.classes == ("1", "2")
    assert report.judgement.slack == pytest.approx(1e-3)
    # only the pair's own two terms rise with its cosine: p2 log(1 + x p3/p2) + p3 log(1 + x p2/p3) is the slack
    x = brentq(lambda x: 0.2 * math.log1p(x / 2) + 0.1 * math.log1p(2 * x) - 1e-3, 0, 1, xtol=1e-15)
    assert pair.range.high == pytest.approx(1 + 0.001 * math.log(x), abs=1e-6)
    assert "your class means 1 and 2 coincide, which no optimum allows" in spoken(run, tmp_path)


@pytest.mark.slow
def test_nearly_coinciding_means_are_no_other_geometry_where_the_range_holds_them(ask):
    """Cosines of .993 and .93 count as one point for the name, but some optimum may have them."""
    pytest.importorskip("torch")
    report = ask(vectors(cosines(0, 0, 0.993))[LABELS], loss=COLD)
    assert report.structure.kind == "minority collapse"
    exact = 0.2 * math.log1p(math.exp(-7) / 2) + 0.1 * math.log1p(2 * math.exp(-7))
    assert report.excess == pytest.approx(exact, rel=1e-6)
    assert report.verdict == "loose"
    spread = ask(scattered(vectors(cosines(0, 0, 0.95)), COUNTS, 0.8), loss=COLD)
    assert spread.structure.kind == "minority collapse"
    assert spread.excess > 1
    assert spread.verdict == "not there yet"


@pytest.mark.slow
def test_without_the_loss_the_class_means_are_judged(ask, monkeypatch, run, tmp_path):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "torch" else real(name, *a))
    assert ask(np.eye(3)[LABELS], loss=COLD).verdict == "loose"
    told = spoken(run, tmp_path)
    assert told.startswith("The loss at your class means is at the optimum")
    assert "samples that scatter in their class raise it" in told
    assert ask(vectors(cosines(0, 0, 1))[LABELS], loss=COLD).verdict == "another geometry"


def test_scatter_as_heat_predicts_nothing_where_the_angles_are_open(ask):
    z = np.eye(3)[LABELS] + 0.05 * np.random.default_rng(0).standard_normal((100, 3))
    assert ask(z, loss=COLD).heated is None
    assert ask(z, loss=LOW).heated is not None


# ---- noise of class means


def test_standard_errors_are_those_of_a_bootstrap():
    rng = np.random.default_rng(5)
    counts = np.array([60, 25, 12])
    y = np.repeat([0, 1, 2], counts)
    z = np.eye(3)[y] @ rng.standard_normal((3, 5)) + 0.4 * rng.standard_normal((y.size, 5)) * [2, 1, 1, 0.5, 0.1]
    z /= np.linalg.norm(z, axis=1, keepdims=True)

    def sums(rows):
        return np.array([rows[y == a].sum(0) for a in range(3)])

    drawn = []
    for _ in range(2000):
        places = np.concatenate([rng.choice(np.flatnonzero(y == a), n) for a, n in enumerate(counts)])
        drawn.append(measure.cosines_of(sums(z[places])))
    found = measure.standard_errors(z, y, sums(z), counts)
    np.testing.assert_allclose(found, np.std(drawn, axis=0), rtol=0.12, atol=1e-12)


def test_a_class_of_one_sample_is_as_noisy_as_the_others():
    z = np.array([[1, 0.1], [1, -0.1], [0, 1.0]])
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    sums = np.array([z[:2].sum(0), z[2]])
    found = measure.standard_errors(z, np.array([0, 0, 1]), sums, np.array([2, 1]))
    assert found[0, 1] > 0
    alone = measure.standard_errors(z[1:], np.array([0, 1]), z[1:], np.array([1, 1]))
    assert not alone.any()


def test_noise_counts_as_a_match(ask):
    """Samples that are off at random in one direction: their mean is off by less than its own noise."""
    loss = {"name": "supcon", "temperature": 0.5}
    best = solve(Imbalance(counts=COUNTS, loss=loss)).gram
    off = np.random.default_rng(1).standard_normal(100) * 0.5
    z = np.c_[vectors(best)[LABELS], np.zeros(100)]
    z[:, :3] += off[:, None] * np.array([0.3, 0.5, -0.8])
    report = ask(z, loss=loss)
    pair = np.unravel_index(np.argmax(np.abs(report.measured.gram - report.prediction.gram)), (3, 3))
    assert report.max_gram_error > 0.1
    assert report.max_gram_error < 0.1 + 2 * report.errors.standard[pair]
    assert report.verdict == "matches"
    assert report.errors.noise_floor == pytest.approx(2 * report.errors.standard.max())


def test_differences_by_hand():
    difference = np.array([[0, 0.1, -0.2], [0.1, 0, 0.4], [-0.2, 0.4, 0]])
    p = np.array([0.7, 0.2, 0.1])
    rms, weighted, of_class = measure.rms_errors(difference, p)
    assert rms == pytest.approx(math.sqrt((0.01 + 0.04 + 0.16) / 3))
    shares = np.array([0.14, 0.07, 0.02])
    assert weighted == pytest.approx(math.sqrt(shares @ [0.01, 0.04, 0.16] / shares.sum()))
    assert of_class == pytest.approx(np.sqrt([(0.01 + 0.04) / 2, (0.01 + 0.16) / 2, (0.04 + 0.16) / 2]))


# ---- scatter, NC2, NC3


def scattered(means, counts, rho):
    """Rows whose cosine is exactly rho^2 within a class and rho^2 G_ab across: noise orthogonal to all else."""
    y = np.repeat(np.arange(len(counts)), counts)
    return np.c_[math.sqrt(rho) * means[y], math.sqrt(1 - rho) * np.eye(y.size)]


def test_scatter_within_classes_acts_as_a_higher_temperature(ask):
    """Published: at rho^2 = .8 and temperature .5 the class means are wanted as at .625."""
    loss = {"name": "supcon", "temperature": 0.5}
    published = cosines(-0.7411094365, -0.5800172625, -0.1170561472)
    answer = ask(scattered(vectors(published), COUNTS, 0.8), loss=loss).to_dict()
    assert answer["measured"]["within_class_cosine"] == pytest.approx(0.8, abs=1e-9)
    at = answer["prediction_at_scatter"]
    assert at["temperature"] == pytest.approx(0.625, abs=1e-9)
    np.testing.assert_allclose(at["gram"], published, atol=1e-8)
    # the length of a class mean is not quite rho: its noise is averaged, not gone
    shrunk = [0.8 / math.sqrt((0.8 + 0.2 / n) * (0.8 + 0.2 / m)) for n, m in ((70, 20), (70, 10), (20, 10))]
    measured, wanted = np.array(answer["measured"]["gram"])[[0, 0, 1], [1, 2, 2]], published[[0, 0, 1], [1, 2, 2]]
    np.testing.assert_allclose(measured, wanted * shrunk, atol=1e-9)
    assert at["max_gram_error"] == pytest.approx(np.abs(wanted * (1 - np.array(shrunk))).max(), abs=1e-8)


def test_the_published_collapse_by_scatter(ask):
    """.95, .025, .025 at .5 collapses iff rho^2 <= .5964450883."""
    loss, counts = {"name": "supcon", "temperature": 0.5}, (38, 1, 1)
    y = np.repeat([0, 1, 2], np.multiply(counts, 3))
    means = vectors(cosines(-1, -1, 1))
    for rho, collapsed in ((0.5960, True), (0.5970, False)):
        gram = ask(scattered(means, np.multiply(counts, 3), rho), y, loss=loss).heated.gram
        assert (gram[1, 2] > 1 - 1e-9) == collapsed


@pytest.mark.parametrize(
    ("loss", "known"),
    [
        ({"name": "soft-supcon", "temperature": 0.5}, True),
        ({"name": "dcl", "temperature": 0.5}, True),
        ({"name": "dcl", "temperature": 0.5, "negatives": 4}, False),
        ({"name": "infonce", "temperature": 0.5}, False),
        ({"name": "supcon", "temperature": 0.5, "batch": 8}, False),
        ({"name": "triplet"}, False),
    ],
)
def test_which_losses_take_scatter_for_heat(loss, known):
    parameters = {key: value for key, value in loss.items() if key != "name"}
    assert make_loss(loss["name"], parameters).scatter_is_heat is known


@pytest.mark.parametrize("name", ["supcon", "soft-supcon", "dcl"])
def test_scatter_adds_a_constant(name):
    """The expected loss of scattered samples less that of the means at tau / rho^2 is the same for any geometry.

    Noise xi is uniform on the corners +-e_1, +-e_2 of directions of its own, so that expectations are finite sums.
    """
    p, tau, rho = np.array([0.5, 0.3, 0.2]), 0.4, 0.7
    xi = np.array([[1, 0], [-1, 0], [0, 1], [0, -1.0]])
    noise = (1 - rho) * xi @ xi.T
    hot = make_loss(name, {"temperature": tau / rho}).objective(Orbits.trivial(p))
    epsilon = make_loss("soft-supcon", {}).parameters()["epsilon"]
    constants = []
    for gram in (cosines(-0.6, -0.4, -0.3), cosines(0.2, 0.5, 0.1), np.eye(3)):
        s = (rho * gram[:, :, None, None] + noise) / tau  # (class, class, noise, noise)
        crowd = np.log(np.einsum("b,abij->ai", p, np.exp(s)) / 4).mean(1)
        weights = np.where(np.eye(3) > 0, 1.0, epsilon if name == "soft-supcon" else 0.0) * p
        weights /= weights.sum(1, keepdims=True)
        value = p @ (crowd - np.einsum("ab,abij->a", weights, s) / 16)
        constants.append(value - hot.value(gram))
    assert np.ptp(constants) < 1e-12


def test_nc2_by_hand(ask):
    report = ask(vectors(1.5 * np.eye(3) - 0.5)[LABELS])
    assert report.measured.equinorm == pytest.approx(0, abs=1e-9)
    assert report.measured.equiangular == pytest.approx(0, abs=1e-9)
    means = np.array([[1, 0], [0, 1], [-1, 0.0]])
    found = ask(means[LABELS])
    centred = means - means.mean(0)
    lengths = np.linalg.norm(centred, axis=1)
    assert found.measured.equinorm == pytest.approx(lengths.std() / lengths.mean())
    angles = [centred[a] @ centred[b] / lengths[a] / lengths[b] for a, b in ((0, 1), (0, 2), (1, 2))]
    assert found.measured.equiangular == pytest.approx(np.std(angles))


def test_nc3_of_a_classifier(ask, tmp_path, run):
    means = np.array([[1, 0, 0], [0, 1, 0], [0.6, 0, 0.8]])
    rows = np.array([[2, 0, 0], [1, 1, 0], [0, 0, 3.0]])
    np.save(tmp_path / "w.npy", rows)
    report = ask(means[LABELS], classifier="w.npy")
    assert report.duality.plain == pytest.approx([1, math.sqrt(0.5), 0.8])
    a, b = rows - rows.mean(0), means - means.mean(0)
    centred = np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert report.duality.centred == pytest.approx(centred)
    files = (tmp_path / "z.npy", "--labels", tmp_path / "y.npy", "--classifier", tmp_path / "w.npy")
    done = run("compare", *files, "--json")
    assert done.json["measured"]["nc3"]["plain"]["min"] == pytest.approx(math.sqrt(0.5))
    assert "NC3" in run("compare", *files).stdout
    for bad, part in ((rows[:2], "2 rows for 3 classes"), (rows[:, :2], "2 entries, the embeddings 3 columns")):
        np.save(tmp_path / "w.npy", bad)
        done = run("compare", *files)
        assert done.code == 2
        assert part in done.stderr
        assert "--classifier" in done.stderr


# ---- dimension


def test_no_embedding_in_few_dimensions_is_nearer(rng):
    """The orthoplex attains the bound from the simplex's spectrum; random vectors stay above it."""
    simplex = np.r_[np.full(15, 16 / 15), 0.0]
    best = np.zeros((16, 16))
    best[:8, 8:] = best[8:, :8] = -np.eye(8)
    np.fill_diagonal(best, 1)
    bound = measure.least_rms_error(simplex, 8)
    assert bound == pytest.approx(math.sqrt(8 / (8 * 15)) - 1 / 15, abs=1e-12)
    target = np.full((16, 16), -1 / 15)
    p = np.full(16, 1 / 16)
    assert measure.rms_errors(best - target, p)[0] >= bound
    for _ in range(20):
        x = measure.directions(rng.standard_normal((16, 8)))
        assert measure.rms_errors(x @ x.T - target, p)[0] >= bound
    assert measure.least_rms_error(simplex, 15) == pytest.approx(0, abs=1e-12)
    # a tetrahedron in the plane: one eigenvalue of 4/3 is missing, which says more than Welch's bound
    tetrahedron = np.array([4 / 3, 4 / 3, 4 / 3, 0])
    assert measure.least_rms_error(tetrahedron, 2) == pytest.approx(4 / 3 / math.sqrt(12), abs=1e-12)


def circle(n, turns=1.0):
    angle = 2 * np.pi * turns * np.arange(n) / n
    return np.c_[np.cos(angle), np.sin(angle)]


def test_six_classes_in_the_plane(ask):
    y = np.repeat(np.arange(6), 5)
    loss = {"name": "supcon", "temperature": 0.5}
    report = ask(circle(6)[y], y, loss=loss)
    assert report.verdict == "dimension"
    assert report.dim == 2
    assert report.free.rank == 5
    assert report.judgement.least_rms == pytest.approx(math.sqrt(4 / 10) - 0.2, abs=1e-9)
    assert report.exit_code == 1  # what it is compared with is the best found in two dimensions
    merged = ask(circle(6, 2)[y], y, loss=loss)  # three points, two classes each: the plane holds better
    assert merged.verdict == "another geometry"


def test_the_dimension_can_be_said(ask):
    y = np.repeat(np.arange(6), 5)
    loss = {"name": "supcon", "temperature": 0.5}
    z = np.c_[circle(6), np.zeros((6, 30))][y]
    assert ask(z, y, loss=loss).verdict == "not there yet"
    limited = ask(z, y, loss=loss, dim=2)
    assert limited.verdict == "dimension"
    assert limited.to_dict()["dim"] == 2
    assert limited.to_dict()["prediction"]["dimension_limited"] is True


@pytest.mark.slow
def test_a_thousand_balanced_classes_in_128_dimensions(tmp_path, run):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(1000), 3)
    np.save(tmp_path / "z.npy", measure.directions(rng.standard_normal((1000, 128)))[y])
    np.save(tmp_path / "y.npy", y)
    files = (tmp_path / "z.npy", "--labels", tmp_path / "y.npy")
    done = run("compare", *files, "--json")
    assert done.code == 0
    assert done.json["verdict"] == "dimension"
    assert done.json["least_rms_gram_error"] == pytest.approx(math.sqrt(872 / (128 * 999)) - 1 / 999, abs=1e-9)
    assert run("compare", *files, "--quiet").stdout.startswith("128 dimensions cannot hold it")
    np.save(tmp_path / "z.npy", (measure.directions(rng.standard_normal((1000, 128))) + 0.2)[y])
    assert run("compare", *files, "--json").json["verdict"] == "not there yet"


# ---- several checkpoints


@pytest.fixture
def epochs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    best = solve(Imbalance(counts=COUNTS, loss={"name": "supcon", "temperature": 0.5})).gram
    rng = np.random.default_rng(3)
    start = vectors(cosines(0.9, 0.8, 0.85))
    for number, part in enumerate((0.0, 0.5, 1.0)):
        z = ((1 - part) * start + part * vectors(best))[LABELS]
        np.save(f"epoch{number}.npy", z + 0.01 * rng.standard_normal(z.shape))
    np.save("y.npy", LABELS)
    return ("epoch0.npy", "epoch1.npy", "epoch2.npy")


@pytest.mark.slow
def test_checkpoints_are_a_table_a_curve_and_one_object(epochs, run, tmp_path):
    arguments = ("compare", *epochs, "--labels", "y.npy", "-t", "0.5")
    answer = run(*arguments, "--json", "--plot", "curve.svg", "--out", "a.json").json
    assert (tmp_path / "curve.svg").read_bytes().startswith(b"<?xml")
    assert json.loads((tmp_path / "a.json").read_text()) == answer
    found = answer["checkpoints"]
    assert [each["read"]["embeddings"] for each in found] == list(epochs)
    assert answer["problem"]["embeddings"] == list(epochs)
    assert answer["verdict"] == found[-1]["verdict"] == "matches"
    assert found[0]["verdict"] != "matches"
    single = run("compare", epochs[1], "--labels", "y.npy", "-t", "0.5", "--json").json
    head = {"schema", "command", "versions", "problem"}
    assert set(found[1]) == set(single) - head
    assert found[1]["max_gram_error"] == single["max_gram_error"]
    assert single["problem"]["embeddings"] == "epoch1.npy"
    shown = run(*arguments).stdout
    assert shown.startswith("Last of 3 checkpoints: Your encoder matches")
    for name in epochs:
        assert name in shown
    assert "after the projection head" in " ".join(shown.split())
    assert run(*arguments, "--quiet").stdout.count("\n") <= 2


@pytest.mark.slow
def test_checkpoints_in_a_problem_file_and_its_command(epochs, run, tmp_path):
    text = "{kind: compare, embeddings: [epoch0.npy, epoch2.npy], labels: y.npy, loss: {name: supcon, temperature: .5}"
    (tmp_path / "p.yaml").write_text(text + ", expect: {verdict: matches}}\n")
    run("batch", "p.yaml", "--out", "rows.jsonl")
    (row,) = (json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines())
    assert row["status"] == "ok"
    from geomsolve.cli.again import command_of

    assert command_of(row).startswith("geomsolve compare epoch0.npy epoch2.npy --labels y.npy")


def test_complaints_name_the_checkpoint(epochs, run):
    np.save("epoch1.npy", np.ones((7, 3)))
    done = run("compare", *epochs, "--labels", "y.npy")
    assert done.code == 2
    assert "100 labels for 7 embeddings in epoch1.npy" in done.stderr
    done = run("compare", *epochs[::2], "--labels", "y.npy", "--out", "epoch2.npy")
    assert done.code == 2
    with pytest.raises(InputError, match="or several"):
        Compare(embeddings=[], labels="y.npy")


def test_one_file_says_whose_embeddings_and_which_classes_are_worst(epochs, run):
    shown = " ".join(run("compare", epochs[1], "--labels", "y.npy", "-t", "0.5").stdout.split())
    for part in ("after the projection head", "rms difference of a class's cosines", "weighted by frequency", "NC2"):
        assert part in shown
    answer = run("compare", epochs[1], "--labels", "y.npy", "-t", "0.5", "--json").json
    wanted = {"rms_gram_error", "weighted_rms_gram_error", "noise_floor", "allowed_gram_error", "dim", "read"}
    assert wanted <= set(answer)
    assert all("rms_gram_error" in each for each in answer["classes"])
