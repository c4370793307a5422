"""Two sides as they are trained: the losses by their own codes, descent against the prediction, embeddings in files."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from geomsolve import CompareCrossmodal, Crossmodal, solve
from geomsolve.gram.orbits import Orbits
from geomsolve.objectives.cross import Joint
from geomsolve.pair_losses import make_pair_loss

torch = pytest.importorskip("torch")

from geomsolve import CheckCrossmodal  # noqa: E402
from geomsolve.descent.pair_recipes import recipe_of  # noqa: E402


def unit(n, d, seed):
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def trained(name, joint, cosines, **parameters):
    loss = make_pair_loss(name, parameters)
    pairs = torch.tensor(joint / joint.sum())
    return float(recipe_of(loss).loss_of(loss, pairs)(torch.tensor(cosines)))


def test_the_loss_of_open_clip():
    """Logits in both directions, labels 0, ..., n - 1, the mean of two cross-entropies."""
    n, scale = 6, 14.3
    image, text = (torch.tensor(unit(n, 4, seed)) for seed in (0, 1))
    logits_per_image = scale * image @ text.T
    labels = torch.arange(n)
    ce = torch.nn.functional.cross_entropy
    published = float((ce(logits_per_image, labels) + ce(logits_per_image.T, labels)) / 2)
    ours = trained("clip", np.eye(n), (image @ text.T).numpy(), temperature=1 / scale)
    assert ours + log(n) == pytest.approx(published, abs=1e-12)


def test_the_loss_of_siglip():
    """-sum log sigmoid(labels * logits) / n with labels 2 I - 1."""
    n = 6
    image, text = (torch.tensor(unit(n, 4, seed)) for seed in (0, 1))
    logits = image @ text.T * 10 - 10
    published = -float(torch.nn.functional.logsigmoid((2 * torch.eye(n) - 1) * logits).sum() / n)
    ours = trained("siglip", np.eye(n), (image @ text.T).numpy(), temperature=0.1, bias=-10.0)
    assert ours == pytest.approx(published, rel=1e-13)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("clip", {"temperature": 0.3}),
        ("siglip", {"temperature": 0.3, "bias": -1.0}),
        ("siglip", {"temperature": 0.3, "bias": 2.0, "sampling": "iid", "batch": 9}),
        ("cosine-softmax", {"temperature": 0.3, "prior": "props"}),
        ("cosine-softmax", {"temperature": 0.3, "margin": 0.2}),
    ],
)
def test_objectives_are_the_trained_losses(name, parameters):
    """On any cosines, matched or not: no formula is shared between the two."""
    weights = np.random.default_rng(3).uniform(0.1, 1, (4, 4))
    cosines = unit(4, 3, 0) @ unit(4, 3, 1).T
    joint = Joint.of(weights, merge=False)
    objective = make_pair_loss(name, parameters).objective(joint)
    own = objective.value(joint.paired.reduce_cross(cosines))
    assert own == pytest.approx(trained(name, weights, cosines, **parameters), abs=1e-12)


@pytest.mark.parametrize(
    "flags",
    [
        {"props": [0.5, 0.3, 0.2], "noise": 0.1, "loss": {"name": "clip", "temperature": 0.5}},
        {"props": [0.25] * 4, "loss": {"name": "siglip", "temperature": 0.2}},
        {"props": [0.7, 0.2, 0.1], "loss": {"name": "cosine-softmax", "temperature": 0.5, "margin": 0.1}},
        {"pairs": [[3, 1, 1, 1], [1, 2, 1, 1], [0.5, 1, 3, 3]], "loss": {"name": "clip", "temperature": 1.0}},
    ],
)
@pytest.mark.slow
def test_descent_reaches_what_is_predicted(flags):
    report = solve(CheckCrossmodal(**flags, optimizer="lbfgs", device="cpu", steps=2000))
    assert report.verdict == "agrees"
    assert report.descent.value >= report.prediction.lower_bound - 1e-9
    assert report.descent.value == pytest.approx(report.prediction.value, abs=1e-8)


def test_a_batch_of_clip_is_that_of_its_rows():
    """Pairs that are drawn twice included: cross-entropy of both directions with the labels 0, ..., B - 1."""
    cosines, drawn = (
        torch.tensor(unit(4, 3, 0) @ unit(5, 3, 1).T),
        torch.tensor([[0, 0], [1, 4], [0, 0], [3, 2], [1, 2]]),
    )
    logits = cosines[drawn[:, 0]][:, drawn[:, 1]] / 0.3
    ce, labels = torch.nn.functional.cross_entropy, torch.arange(5)
    published = float((ce(logits, labels) + ce(logits.T, labels)) / 2)
    times = torch.zeros(1, 4, 5, dtype=torch.float64)
    for i, j in drawn.tolist():
        times[0, i, j] += 1
    loss = make_pair_loss("clip", {"temperature": 0.3, "batch": 5})
    assert float(recipe_of(loss).of_batches(loss)(cosines, times)) == pytest.approx(published, abs=1e-12)


def test_random_batches_have_the_exact_expectation(monkeypatch):
    """Of any vectors, with pairs that are more and less often: sampled against the integral."""
    from geomsolve.descent.two_sides import BatchesOfPairs

    monkeypatch.setattr("geomsolve.descent.experiments.STANDARD_ERROR", 1e-3)
    weights = np.random.default_rng(3).uniform(0.1, 1, (3, 4))
    x, y = unit(3, 3, 0), unit(4, 3, 1)
    loss = make_pair_loss("clip", {"temperature": 0.4, "batch": 6})
    joint = Joint.of(weights, merge=False)
    exact = loss.objective(joint).value(joint.paired.reduce_cross(x @ y.T))
    trial = BatchesOfPairs(torch.tensor(weights / weights.sum()), recipe_of(loss).of_batches(loss), 6, 0.4)
    found = trial.value(torch.tensor(np.vstack([x, y])), torch.Generator().manual_seed(0))
    assert 0 < found.standard_error < 2e-3
    assert found.value == pytest.approx(exact, abs=4 * found.standard_error)


@pytest.mark.slow
def test_random_batches_of_clip_reach_what_is_predicted(run):
    done = run("check", "--loss", "clip", "--batch", 8, "--props", ".5,.3,.2", "-t", 0.5, "--steps", 400)
    assert done.code == 0
    said = " ".join(done.stdout.split())
    assert said.startswith("Descent agrees: trained with a free vector for every image and every text, clip reaches")
    assert "image 1 and text 2" in said
    assert "6 free vectors in 6 dimensions" in said


def test_check_as_a_command(run):
    done = run("check", "--loss", "siglip", "--props", "2*.5", "-t", 0.5, "--optimizer", "lbfgs", "--json")
    assert done.code == 0
    assert done.json["verdict"] == "agrees"
    # K = 2 at b = 0: the cosines are +-1, softplus(-s) + softplus(-s)
    assert done.json["descent"]["value"] == pytest.approx(2 * np.logaddexp(0, -2), abs=1e-9)
    assert len(done.json["prediction"]["gram"]) == 4
    for flags, words in (
        (
            ("--loss", "clip", "--batch", 8, "--props", ".5,.5", "--optimizer", "lbfgs"),
            "draws random batches; use adam",
        ),
        (("--loss", "clip", "--batch", 10**8, "--props", ".5,.5"), "--batch: at most 32,768 pairs a batch are drawn"),
        (("--loss", "clip", "--props", ".5,.5", "--synthetic", "synco"), "--synthetic: this belongs to a loss over"),
        (("--loss", "clip", "--counts", "201*1"), "--counts: at most 400 points are trained"),
    ):
        ended = run("check", *flags)
        assert (ended.code, ended.stdout) == (2, "")
        assert words in " ".join(ended.stderr.split())


def files(folder, x, y):
    np.save(folder / "images.npy", x)
    np.save(folder / "texts.npy", y)
    return {"embeddings": str(folder / "images.npy"), "texts": str(folder / "texts.npy")}


def test_images_and_texts_at_the_optimum_match(tmp_path, run):
    """A regular simplex with both sides at its corners; 5 times as long."""
    k = 6
    simplex = 5 * (np.eye(k) - 1 / k)
    where = files(tmp_path, simplex, 2 * simplex)
    report = solve(CompareCrossmodal(**where, loss={"name": "clip", "temperature": 0.2}))
    assert report.verdict == "matches"
    assert report.value_measured == pytest.approx(np.log((1 + (k - 1) * np.exp(-k / (k - 1) / 0.2)) / k), abs=1e-12)
    assert report.excess == pytest.approx(0, abs=1e-12)
    assert report.measured["other_cosine"]["max"] == pytest.approx(-1 / (k - 1), abs=1e-12)
    text = run("compare", where["embeddings"], "--texts", where["texts"], "-t", 0.2, "--plot", tmp_path / "a.svg")
    assert text.code == 0
    assert text.stdout.startswith("Your images and texts are arranged as clip wants")
    assert "predicted" in (tmp_path / "a.svg").read_text()


def test_a_gap_scales_the_margin(tmp_path):
    """Sides moved apart by g along a new axis: delta = K / (K - 1) (1 - g^2 / 4), and the loss rises accordingly."""
    k, g, t = 6, 0.8, 0.2
    simplex = sqrt(k / (k - 1)) * (np.eye(k) - 1 / k) * sqrt(1 - g**2 / 4)
    up = np.full((k, 1), g / 2)
    where = files(tmp_path, np.hstack([simplex, up]), np.hstack([simplex, -up]))
    report = solve(CompareCrossmodal(**where, loss={"name": "clip", "temperature": t}))
    assert report.measured["modality_gap"] == pytest.approx(g, abs=1e-12)
    assert report.excess == pytest.approx(report.gap_price, abs=1e-12)
    assert report.gap_price > 1e-3
    delta = k / (k - 1) * (1 - g**2 / 4)
    assert report.value_measured == pytest.approx(np.log((1 + (k - 1) * np.exp(-delta / t)) / k), abs=1e-12)
    forced = solve(Crossmodal(counts=[1] * k, gap=g, loss={"name": "clip", "temperature": t}))
    assert forced.modality_gap["price"] == pytest.approx(report.gap_price, abs=1e-8)
    assert report.verdict == "not there yet"


def test_what_two_files_must_be(tmp_path, run):
    where = files(tmp_path, unit(5, 3, 0), unit(4, 3, 1))
    both = (where["embeddings"], "--texts", where["texts"])
    np.save(tmp_path / "bad.npy", np.zeros((5, 3)))
    np.save(tmp_path / "wide.npy", unit(5, 4, 0))
    (tmp_path / "three.txt").write_text("a\nb\nc\n")
    (tmp_path / "five.txt").write_text("a\nb\nc\na\nb\n")
    for flags, words in (
        (both, "--texts: 4 rows for 5 images"),
        ((where["embeddings"], "--texts", tmp_path / "bad.npy"), "is zero and has no direction"),
        ((where["embeddings"], "--texts", tmp_path / "wide.npy"), "in one space"),
        ((where["embeddings"], "--loss", "clip"), "--texts: a loss of two sides compares images and texts"),
        ((where["embeddings"],), "give the class of each row by --labels, or the text of each image by --texts"),
        ((*both, where["embeddings"]), "--texts: 4 rows for 5 images"),
        ((*both, "--texts", where["texts"], "--texts", where["texts"]), "--texts: 3 files for 1 file of images"),
        ((*both, "--labels", tmp_path / "three.txt"), "5 images for 3 labels"),
        ((*both, "--labels", tmp_path / "five.txt"), "4 texts for 5 labels; give one a label, or one a class (3)"),
        ((*both, "--classifier", "w.npy"), "--classifier: this belongs to a loss over classes"),
    ):
        ended = run("compare", *flags)
        assert (ended.code, ended.stdout) == (2, "")
        assert words in " ".join(ended.stderr.split())


def of_classes(counts, seed=0, scatter=0.4, gap=0.5):
    """Rows of classes around directions of their own, texts with a coordinate of their own; and the classes."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(counts)), counts)
    centres = unit(len(counts), 6, seed)
    x, y = (centres[labels] + scatter * rng.standard_normal((labels.size, 6)) for _ in range(2))
    y[:, 0] += gap
    return x, y, labels


def test_classes_of_pairs_are_compared_by_their_means(tmp_path, run):
    """Against the pairs of all rows, one by one, and the loss of the mean directions as its own code has it."""
    counts, t = [30, 20, 10], 0.3
    x, y, labels = of_classes(counts)
    order = np.random.default_rng(1).permutation(labels.size)
    where = files(tmp_path, x[order], y[order])
    names = [f"c{each}" for each in labels[order]]
    report = solve(CompareCrossmodal(**where, labels=names, loss={"name": "clip", "temperature": t}))
    x, y = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (x, y))
    assert report.measured["modality_gap"] == pytest.approx(np.linalg.norm(x.mean(0) - y.mean(0)), abs=1e-12)
    same = [(i, j) for i in range(labels.size) for j in range(labels.size) if labels[i] == labels[j]]
    square = sum(np.sum((x[i] - y[j]) ** 2) / counts[labels[i]] for i, j in same) / labels.size
    assert report.measured["alignment"] == pytest.approx(square, abs=1e-12)
    means = [[side[labels == a].mean(0) for a in range(3)] for side in (x, y)]
    scatter = [
        np.mean([np.sum((side[i] - mean[a]) ** 2) for i, a in enumerate(labels)])
        for side, mean in zip((x, y), means, strict=True)
    ]
    assert list(report.measured["scatter"].values()) == pytest.approx(scatter, abs=1e-12)
    images, texts = (np.array(side) / np.linalg.norm(side, axis=1, keepdims=True) for side in means)
    share = np.array(counts) / 60
    assert report.measured["cross"] == pytest.approx(images @ texts.T, abs=1e-12)
    assert report.value_measured == pytest.approx(trained("clip", np.diag(share), images @ texts.T, temperature=t))
    wanted = solve(Crossmodal(counts=counts, loss={"name": "clip", "temperature": t}))
    assert report.value == wanted.value
    assert report.last.max_cosine_error == pytest.approx(
        np.abs(images @ texts.T - wanted.matrices()[1]).max(), abs=1e-12
    )
    assert report.verdict == "not there yet"
    (tmp_path / "y.txt").write_text("\n".join(names))
    text = run("compare", where["embeddings"], "--texts", where["texts"], "--labels", tmp_path / "y.txt", "-t", t)
    assert text.code == 0
    assert "60 pairs of 3 classes, whose means are compared" in " ".join(text.stdout.split())


def test_one_text_a_class_and_checkpoints(tmp_path, run):
    """Classifiers at the optimum, of which there is a row a class; features that come nearer from file to file."""
    loss = {"name": "cosine-softmax", "temperature": 0.5}
    best = solve(Crossmodal(counts=[7, 2, 1], loss=loss))
    first, cross, second = best.matrices()
    values, vectors = np.linalg.eigh(np.block([[first, cross], [cross.T, second]]))
    points = vectors * np.sqrt(np.maximum(values, 0))
    labels = np.repeat(["a", "b", "c"], [7, 2, 1])
    features, noise = np.repeat(points[:3], [7, 2, 1], axis=0), unit(10, 6, 0)
    for name, amount in (("one", 1.0), ("two", 0.2), ("three", 0.0)):
        np.save(tmp_path / f"{name}.npy", features + amount * noise)
    np.save(tmp_path / "texts.npy", points[3:])
    (tmp_path / "y.txt").write_text("\n".join(labels))
    where = [tmp_path / f"{name}.npy" for name in ("one", "two", "three")]
    flags = ("--texts", tmp_path / "texts.npy", "--labels", tmp_path / "y.txt", "--loss", "cosine-softmax", "-t", 0.5)
    done = run("compare", *where, *flags, "--json", "--plot", tmp_path / "curve.svg")
    found = done.json["checkpoints"]
    assert (done.code, done.json["verdict"]) == (0, "matches")
    assert found[0]["excess"] > found[1]["excess"] > found[2]["excess"] == pytest.approx(0, abs=1e-9)
    assert found[2]["max_cosine_error"] < 1e-6
    assert [each["verdict"] for each in found] == ["not there yet", found[1]["verdict"], "matches"]
    assert done.json["prediction"]["cross"] == pytest.approx(np.asarray(cross), abs=1e-12)
    text = run("compare", *where, *flags)
    assert text.stdout.startswith("Last of 3 checkpoints: Your features and classifiers are arranged as")
    single = run("compare", where[2], *flags, "--json").json
    assert {key: single[key] for key in found[2]} == {**found[2]}


def test_many_pairs_are_drawn_from(tmp_path, run, monkeypatch):
    """So many of them, the same again with the same seed; arrays give the same as files."""
    monkeypatch.setattr("geomsolve.analyses.compare_crossmodal.MOST_PAIRS", 40)
    n = 100
    x, y = unit(n, 3, 0), unit(n, 3, 1)
    where = files(tmp_path, x, y)
    done = run("compare", where["embeddings"], "--texts", where["texts"])
    assert "40 of the 100 pairs, drawn at random (--seed)" in " ".join(done.stdout.split())
    assert "--labels FILE compares all of them" in " ".join(done.stdout.split())
    report = solve(CompareCrossmodal(x, texts=y))
    assert (report.pairs, report.rows) == (40, n)
    rows = np.sort(np.random.default_rng(0).choice(n, 40, replace=False))
    assert report.measured["partner_cosine"]["mean"] == pytest.approx(np.mean(np.sum(x[rows] * y[rows], 1)), abs=1e-12)


def test_many_equal_pairs_have_the_closed_form():
    """The prediction of a comparison is that of one batch of so many pairs."""
    joint = Joint.classes(Orbits.equal(50))
    loss = make_pair_loss("clip", {"temperature": 0.5})
    a, b = (loss.gap_price(50, g) for g in (0.0, 1.0))
    assert a == 0
    assert b == pytest.approx(np.log((1 + 49 * np.exp(-50 / 49 * 1.5)) / (1 + 49 * np.exp(-50 / 49 * 2))), abs=1e-12)
    assert loss.replace(batch=8).gap_price(50, 1.0) is None
    assert make_pair_loss("siglip", {}).gap_price(50, 1.0) is None
    assert joint.paired.points == (50, 50)
