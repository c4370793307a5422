"""Embeddings against the prediction: measurements by hand, every file format, every verdict, every complaint."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from click.testing import CliRunner

from geomsolve import Imbalance, InputError, solve
from geomsolve.analyses import compare as module
from geomsolve.analyses.compare import compare
from geomsolve.cli.main import cli, main
from geomsolve.gram.measure import Measurement
from geomsolve.questions.compare import Compare
from geomsolve.reading import source

COUNTS = (70, 20, 10)
LOSS = {"name": "supcon", "temperature": 0.5}


def embed(gram, labels, *, noise=0.0, dim=6, lengths=(1.0, 1.0), seed=0):
    """Vectors (n, dim) whose class means have about the cosines ``gram``."""
    rng = np.random.default_rng(seed)
    w, v = np.linalg.eigh(gram)
    means = np.zeros((len(gram), dim))
    means[:, : len(gram)] = v * np.sqrt(np.maximum(w, 0))
    z = means[labels] + noise * rng.standard_normal((labels.size, dim))
    return z * rng.uniform(*lengths, size=(labels.size, 1))


@pytest.fixture(scope="module")
def labels():
    return np.random.default_rng(1).permutation(np.repeat(np.arange(3), COUNTS))


@pytest.fixture(scope="module")
def best():
    return solve(Imbalance(counts=COUNTS, loss=LOSS))


@pytest.fixture
def files(tmp_path, labels, best):
    z = embed(best.gram, labels, noise=0.05, lengths=(0.5, 3))
    np.save(tmp_path / "z.npy", z)
    np.save(tmp_path / "y.npy", labels)
    return tmp_path, z


def ask(folder, embeddings="z.npy", labels="y.npy", **more):
    return compare(Compare(embeddings=embeddings, labels=labels, base=folder, **{"loss": LOSS, **more}))


# ---- measurement


def test_measurement_by_hand(labels, best):
    z = embed(best.gram, labels, noise=0.3)
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    means = np.array([unit[labels == a].mean(0) for a in range(3)])
    sums = np.array([unit[labels == a].sum(0) for a in range(3)])
    found = Measurement.of(sums, np.array(COUNTS, float))
    directions = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(found.gram, directions @ directions.T, atol=1e-12)
    within = np.mean(np.sum((unit - means[labels]) ** 2, axis=1))
    between = np.mean(np.sum((means[labels] - unit.mean(0)) ** 2, axis=1))
    assert found.within_class == pytest.approx(within, rel=1e-10)
    assert found.nc1 == pytest.approx(within / between, rel=1e-10)
    of_class = [np.mean(np.sum((unit[labels == a] - means[a]) ** 2, axis=1)) for a in range(3)]
    assert found.scatter == pytest.approx(of_class)
    off = (directions @ directions.T)[np.triu_indices(3, 1)]
    assert found.simplex_distance == pytest.approx(np.abs(off + 0.5).max(), rel=1e-10)


def test_measurement_agrees_with_sklearn(labels, best):
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    from sklearn.neighbors import NearestCentroid
    from sklearn.preprocessing import normalize

    unit = normalize(embed(best.gram, labels, noise=0.3))
    centroids = NearestCentroid().fit(unit, labels).centroids_
    sums = np.array([unit[labels == a].sum(0) for a in range(3)])
    found = Measurement.of(sums, np.array(COUNTS, float))
    np.testing.assert_allclose(found.gram, pairwise.cosine_similarity(centroids), atol=1e-12)


def test_class_whose_mean_is_zero_has_no_direction():
    found = Measurement.of(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([2.0, 3.0]))
    np.testing.assert_array_equal(found.gram, np.eye(2))
    assert found.scatter.tolist() == [1.0, 0.0]


# ---- verdicts


def test_predicted_geometry_matches(files, best):
    report = ask(files[0])
    assert report.verdict == "matches"
    assert report.counts == COUNTS
    assert report.max_gram_error < 0.03
    assert report.prediction.value == pytest.approx(best.value, abs=1e-12)
    assert 0.4 < report.lengths[0] < 0.7
    assert 2.5 < report.lengths[1] < 3.3


def test_regular_simplex_is_another_geometry(tmp_path, labels):
    np.save(tmp_path / "z.npy", embed(1.5 * np.eye(3) - 0.5, labels, noise=0.01))
    np.save(tmp_path / "y.npy", labels)
    report = ask(tmp_path)
    assert report.verdict == "another geometry"
    assert report.structure.kind == "regular simplex"
    assert report.measured.simplex_distance < 0.02


def test_merged_classes_are_named(tmp_path, labels):
    gram = np.array([[1, -1, -1], [-1, 1, 1], [-1, 1, 1]], float)
    np.save(tmp_path / "z.npy", embed(gram, labels, noise=0.01))
    np.save(tmp_path / "y.npy", labels + 5)
    report = ask(tmp_path)
    assert report.verdict == "another geometry"
    assert report.structure.kind == "minority collapse"
    assert report.collapsed == [["6", "7"]]


def test_halfway_is_not_there_yet(tmp_path, labels, best):
    start = np.array([[1, 0.9, 0.1], [0.9, 1, 0.3], [0.1, 0.3, 1]])
    np.save(tmp_path / "z.npy", embed((best.gram + start) / 2, labels))
    np.save(tmp_path / "y.npy", labels)
    report = ask(tmp_path)
    assert report.verdict == "not there yet"


@pytest.mark.slow
def test_where_many_geometries_are_optimal_the_loss_decides(tmp_path, labels):
    pytest.importorskip("torch")
    loss = {"name": "triplet", "margin": 0.5}
    np.save(tmp_path / "z.npy", embed(np.eye(3), labels))
    np.save(tmp_path / "y.npy", labels)
    assert ask(tmp_path, loss=loss).verdict == "matches"
    np.save(tmp_path / "z.npy", embed(0.1 * np.eye(3) + 0.9, labels))
    assert ask(tmp_path, loss=loss).verdict == "not there yet"


# ---- the loss on the data


def test_full_batch_loss_by_hand(files):
    pytest.importorskip("torch")
    folder, z = files
    y = np.load(folder / "y.npy")
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    s = unit @ unit.T / 0.5
    total = 0.0
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        positive = others & (y == y[i])
        total += np.log(np.exp(s[i, others]).sum()) - s[i, positive].mean()
    report = ask(folder, loss={**LOSS, "full_batch": True})
    assert report.loss_on_data.value == pytest.approx(total / len(y), rel=1e-12)
    assert report.loss_on_data.standard_error == 0
    assert report.excess > 0


def test_expected_batch_loss_by_hand(files):
    """Batches of two samples: all pairs."""
    pytest.importorskip("torch")
    folder, z = files
    y = np.load(folder / "y.npy")
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    s = unit @ unit.T / 0.5
    # an anchor sees its own other view (cosine 1) and two views of the other sample, which may be itself
    same = y[:, None] == y
    logs = np.log(math.exp(2) + 2 * np.exp(s))
    losses = np.where(same, logs - (2 + 2 * s) / 3, logs - 2)
    report = ask(folder, loss={**LOSS, "batch": 2, "views": 2})
    found = report.loss_on_data
    assert found.value == pytest.approx(losses.mean(), abs=4 * found.standard_error)
    assert 0 < found.standard_error < 1e-3


def test_subset_stands_for_the_rest(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    y = rng.choice(5, 2000, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    np.save(tmp_path / "z.npy", np.eye(5)[y] + 0.2 * rng.standard_normal((2000, 5)))
    np.save(tmp_path / "y.npy", y)
    loss = {"name": "supcon", "temperature": 0.1}  # the anchor itself weighs e^10: counted too often, it would show
    exact = ask(tmp_path, loss=loss).loss_on_data
    monkeypatch.setattr(module, "WHOLE_SAMPLES", 1000)
    monkeypatch.setattr(module, "SUBSET", 400)
    found = ask(tmp_path, loss=loss).loss_on_data
    assert exact.samples == 2000
    assert found.samples == pytest.approx(400, abs=3)
    assert found.value == pytest.approx(exact.value, abs=0.05)
    full = ask(tmp_path, loss={**loss, "full_batch": True}).loss_on_data
    assert full.value is None
    assert "full batch" in full.missing


def test_without_torch_the_geometry_is_still_compared(files, monkeypatch):
    real = module.importlib.util.find_spec
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None if name == "torch" else real(name))
    report = ask(files[0])
    assert report.verdict == "matches"
    assert report.loss_on_data.value is None
    assert "pip install" in report.loss_on_data.missing
    assert report.to_dict()["value_measured"] is None


# ---- files


def write_all(folder, z, y):
    """The same embeddings and labels in every format."""
    names = np.array(["a", "b", "c"])
    np.savez(folder / "two.npz", emb=z, other=z[:, :2])
    np.savez_compressed(folder / "one.npz", z.astype(np.float32))
    np.savez(folder / "fortran.npz", np.asfortranarray(z))
    np.save(folder / "half.npy", z.astype(np.float16))
    np.savetxt(folder / "plain.csv", z, delimiter=",")
    header = ",".join(f"f{i}" for i in range(z.shape[1]))
    np.savetxt(folder / "head.csv", z, delimiter=",", header=header, comments="")
    np.savetxt(folder / "tabs.tsv", z, delimiter="\t")
    np.savez(folder / "y.npz", y=y)
    np.save(folder / "names.npy", names[y])
    np.save(folder / "float.npy", y.astype(float))
    (folder / "y.txt").write_text("\n".join(map(str, y)) + "\n")
    (folder / "headed.csv").write_text("label\n" + "\n".join(map(str, y)))
    (folder / "table.csv").write_text("id,label\n" + "".join(f"{i},{names[k]}\n" for i, k in enumerate(y)))


@pytest.mark.parametrize(
    "embeddings", ["two.npz:emb", "one.npz", "fortran.npz", "half.npy", "plain.csv", "head.csv", "tabs.tsv"]
)
def test_every_format_holds_the_same_embeddings(files, embeddings):
    folder, z = files
    write_all(folder, z, np.load(folder / "y.npy"))
    want, found = ask(folder).measured, ask(folder, embeddings).measured
    tolerance = 1e-3 if "half" in embeddings else 1e-6
    np.testing.assert_allclose(found.gram, want.gram, atol=tolerance)
    assert found.nc1 == pytest.approx(want.nc1, rel=10 * tolerance)


@pytest.mark.parametrize("name", ["y.npz", "names.npy", "float.npy", "y.txt", "headed.csv", "table.csv:label"])
def test_every_format_holds_the_same_labels(files, name):
    folder, z = files
    write_all(folder, z, np.load(folder / "y.npy"))
    report = ask(folder, labels=name)
    assert report.counts == COUNTS
    assert report.names == (("a", "b", "c") if name in ("names.npy", "table.csv:label") else ("0", "1", "2"))
    np.testing.assert_array_equal(report.measured.gram, ask(folder).measured.gram)


def test_tensors_of_torch(files):
    torch = pytest.importorskip("torch")
    folder, z = files
    y = np.load(folder / "y.npy")
    torch.save(torch.tensor(z).requires_grad_(), folder / "z.pt")
    torch.save({"emb": torch.tensor(z).bfloat16(), "y": torch.tensor(y)}, folder / "both.pt")
    np.testing.assert_array_equal(ask(folder, "z.pt").measured.gram, ask(folder).measured.gram)
    report = ask(folder, "both.pt", "both.pt:y")
    np.testing.assert_allclose(report.measured.gram, ask(folder).measured.gram, atol=0.01)
    np.testing.assert_array_equal(ask(folder, "both.pt:emb").measured.gram, report.measured.gram)


def test_parquet(files):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    folder, z = files
    y = np.load(folder / "y.npy")
    columns = {f"f{i}": z[:, i] for i in range(z.shape[1])} | {"label": y, "name": np.array(["a", "b", "c"])[y]}
    parquet.write_table(pa.table(columns), folder / "z.parquet", row_group_size=13)
    report = ask(folder, "z.parquet", "z.parquet:name")
    assert report.names == ("a", "b", "c")
    np.testing.assert_array_equal(report.measured.gram, ask(folder).measured.gram)
    parquet.write_table(pa.table({"emb": list(z), "label": y}), folder / "list.parquet")
    np.testing.assert_array_equal(ask(folder, "list.parquet", "list.parquet:label").measured.gram, report.measured.gram)


@pytest.mark.parametrize("embeddings", ["z.npy", "two.npz:emb", "plain.csv"])
def test_chunks_change_nothing(files, embeddings, monkeypatch):
    folder, z = files
    write_all(folder, z, np.load(folder / "y.npy"))
    whole = ask(folder, embeddings)
    monkeypatch.setattr(source, "CHUNK", 7 * z.shape[1])
    told = []
    problem = Compare(embeddings=embeddings, labels="y.npy", base=folder, loss=LOSS)
    parts = compare(problem, progress=lambda done, total: told.append((done, total)))
    np.testing.assert_allclose(parts.measured.gram, whole.measured.gram, atol=1e-14)
    assert parts.loss_on_data == whole.loss_on_data
    assert told[-1] == (100, 100)
    assert len(told) == 15


# ---- bad input


def nothing_of(kind):
    def spoil(folder, z, y):
        z = z.copy()
        z[[3, 7]] = {"zero": 0.0, "nan": np.nan, "inf": np.inf}[kind]
        np.save(folder / "z.npy", z)

    return spoil


BAD = {
    "zero rows": (nothing_of("zero"), "embeddings", "2 rows are zero, first row 3"),
    "nan rows": (nothing_of("nan"), "embeddings", "2 rows are not finite, first row 3"),
    "infinite rows": (nothing_of("inf"), "embeddings", "2 rows are not finite, first row 3"),
    "one class": (lambda f, z, y: np.save(f / "y.npy", 0 * y), "labels", "one class"),
    "fewer labels": (lambda f, z, y: np.save(f / "y.npy", y[:-1]), "labels", "99 labels for 100"),
    "matrix of labels": (lambda f, z, y: np.save(f / "y.npy", z), "labels", "one label a sample, or a one-hot"),
    "fractions as labels": (lambda f, z, y: np.save(f / "y.npy", y + 0.5), "labels", "whole numbers"),
    "nan label": (lambda f, z, y: np.save(f / "y.npy", np.where(y == 2, np.nan, y)), "labels", "nan"),
    "whole numbers": (lambda f, z, y: np.save(f / "z.npy", z.astype(int)), "embeddings", "int64"),
    "three axes": (lambda f, z, y: np.save(f / "z.npy", z[None]), "embeddings", "two dimensions"),
    "objects": (lambda f, z, y: np.save(f / "z.npy", np.array([{}, 1], object)), "embeddings", "cannot be read"),
    "text": (lambda f, z, y: (f / "z.npy").write_text("hello"), "embeddings", r"it is no \.npy file"),
    "text for labels": (lambda f, z, y: (f / "y.npy").write_text("hello"), "labels", r"it is no \.npy file"),
    "empty": (lambda f, z, y: (f / "z.npy").write_bytes(b""), "embeddings", "cannot be read"),
    "no rows": (lambda f, z, y: np.save(f / "z.npy", z[:0]), "embeddings", "empty: an array of 0 rows and 6 columns"),
    "no columns": (lambda f, z, y: np.save(f / "z.npy", z[:, :0]), "embeddings", "empty: an array of 100 rows"),
    "absent": (lambda f, z, y: (f / "z.npy").unlink(), "embeddings", "no file"),
    "absent labels": (lambda f, z, y: (f / "y.npy").unlink(), "labels", "no file"),
}


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 2.0**1023])
def test_length_of_rows_does_not_matter(files, scale):
    folder, _ = files
    z = np.eye(3)[np.load(folder / "y.npy")]
    np.save(folder / "z.npy", scale * z)
    found = ask(folder)
    assert np.array_equal(found.measured.gram, np.eye(3))
    assert found.lengths == (scale, scale)


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_one_message(files, case):
    folder, z = files
    spoil, field, part = BAD[case]
    spoil(folder, z, np.load(folder / "y.npy"))
    with pytest.raises(InputError, match=part) as caught:
        ask(folder)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("z.csv", "1,2\n3,x\n", "'x' in line 2"),
        ("z.csv", "a,b\n1,2\n\n3\n", "line 4 of .* has 1 column instead of 2"),
        ("z.csv", "", "is empty"),
        ("z.npz", "", "cannot be read"),
        ("z.docx", "1", "known: .npy"),
    ],
)
def test_bad_tables_say_where(files, name, content, part):
    folder, _ = files
    (folder / name).write_text(content)
    with pytest.raises(InputError, match=part):
        ask(folder, name)


def test_several_arrays_have_to_be_named(files):
    folder, z = files
    write_all(folder, z, np.load(folder / "y.npy"))
    with pytest.raises(InputError, match=r"name one, as in two\.npz:emb"):
        ask(folder, "two.npz")
    with pytest.raises(InputError, match="no array 'nope'"):
        ask(folder, "two.npz:nope")
    with pytest.raises(InputError, match="several columns"):
        ask(folder, labels="table.csv")
    (folder / "more.csv").write_text((folder / "plain.csv").read_text() + "1,1,1,1,1,1\n")
    with pytest.raises(InputError, match="100 labels for more"):
        ask(folder, "more.csv")


def test_pickles_are_not_opened(files):
    torch = pytest.importorskip("torch")
    folder, _ = files
    (folder / "z.pt").write_bytes(pickle.dumps({"a": print}))
    with pytest.raises(InputError, match="nothing is unpickled"):
        ask(folder, "z.pt")
    torch.save(torch.nn.Linear(2, 2), folder / "z.pt")
    with pytest.raises(InputError, match="nothing is unpickled"):
        ask(folder, "z.pt")


def test_degenerate_loss_has_nothing_to_compare_with(files):
    with pytest.raises(InputError, match="nothing to compare"):
        ask(files[0], loss={"name": "weince"})


# ---- the command


def run(*arguments):
    return CliRunner().invoke(cli, list(arguments), standalone_mode=False)


def test_command_in_words_and_json(files, monkeypatch):
    folder, _ = files
    monkeypatch.chdir(folder)
    arguments = ("compare", "z.npy", "--labels", "y.npy", "-t", "0.5")
    shown = run(*arguments)
    assert shown.return_value == 0
    assert shown.output.startswith("Your encoder matches")
    for part in ("predicted", "measured", "unit length", "NC1", "classes 0 and 1", "Within-class scatter"):
        assert part in shown.output
    answer = json.loads(run(*arguments, "--json").output)
    wanted = {"classes", "measured", "prediction", "max_gram_error", "value_measured", "value_predicted", "collapsed"}
    assert wanted <= set(answer)
    assert {"gram", "within_class", "nc1", "simplex_distance"} <= set(answer["measured"])
    assert [c["count"] for c in answer["classes"]] == list(COUNTS)
    assert answer["command"] == "compare"
    assert run(*arguments, "--quiet").output.count("\n") <= 2


def test_command_names_another_geometry(tmp_path, labels, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("z.npy", embed(np.eye(3), labels))
    np.save("y.npy", labels)
    shown = run("compare", "z.npy", "--labels", "y.npy", "-t", "0.5")
    assert shown.return_value == 0
    assert "an orthogonal frame" in shown.output.replace("\n", " ")


def test_command_complains_in_one_line(files, capsys, monkeypatch):
    folder, _ = files
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["geomsolve", "compare", "nope.npy", "--labels", "y.npy"])
    with pytest.raises(SystemExit) as caught:
        main()
    shown = capsys.readouterr()
    assert caught.value.code == 2
    assert shown.out == ""
    assert shown.err.startswith("Error: there is no file 'nope.npy'")
    assert shown.err.count("\n") == 1


# ---- the probe


def test_probe_measures_what_compare_does(files):
    torch = pytest.importorskip("torch")
    from geomsolve.torch import GeometryProbe

    folder, z = files
    y = np.load(folder / "y.npy")
    probe = GeometryProbe(counts=COUNTS, loss=LOSS)
    weights = torch.nn.Parameter(torch.tensor(z, dtype=torch.float32))
    for part in np.array_split(np.arange(len(y)), 7):
        probe.update(weights[part], torch.tensor(y[part]))
    reading, report = probe.compute(), ask(folder)
    np.testing.assert_allclose(reading.gram, report.measured.gram, atol=1e-6)
    assert reading.max_gram_error == pytest.approx(report.max_gram_error, abs=1e-6)
    assert reading.within_class == pytest.approx(report.measured.within_class, abs=1e-6)
    assert reading.nc1 == pytest.approx(report.measured.nc1, abs=1e-6)
    assert reading.samples == 100
    assert weights.grad is None
    probe.reset()
    assert probe.compute().samples == 0


def test_where_the_loss_fixes_no_angle_there_is_nothing_to_be_off_from(tmp_path, run, labels):
    """SupCon at t .001: the angles are not determined.  Two classes at one point are none of its optima; the triplet
    loss is as content with many."""
    torch = pytest.importorskip("torch")
    from geomsolve import plots
    from geomsolve.torch import GeometryProbe

    v = np.array([1.0, -1, -1])
    np.save(tmp_path / "z.npy", embed(np.outer(v, v), labels, noise=0.01))
    np.save(tmp_path / "y.npy", labels)
    z = torch.tensor(np.load(tmp_path / "z.npy"))
    for loss in ({"name": "supcon", "temperature": 0.001}, {"name": "triplet", "margin": 1}):
        probe = GeometryProbe(counts=COUNTS, loss=loss)
        probe.update(z, torch.tensor(labels))
        assert probe.compute().open
        assert math.isnan(probe.compute().max_gram_error)
        answer = ask(tmp_path, loss=loss).to_dict()
        assert answer["prediction"]["open"] is True
        axes = plots.draw(answer).axes[0]
        assert axes.get_xlabel() == "cosine in one of many optima"
        assert "does not fix these angles" in axes.get_title("left")
        assert "largest difference" not in axes.get_title("left")
        assert not axes.lines  # no line to be on
        several = plots.draw(ask(tmp_path, ["z.npy", "z.npy"], loss=loss).to_dict()).axes[0]
        assert [text.get_text() for text in several.get_legend().get_texts()] == ["within-class scatter"]
    flags = ("--labels", tmp_path / "y.npy", "--loss", "triplet")
    assert "difference of a cosine" not in run("compare", tmp_path / "z.npy", *flags, "--quiet").stdout
    spoken = run("compare", tmp_path / "z.npy", tmp_path / "z.npy", *flags).stdout
    assert "largest" not in spoken
    assert "rms" not in spoken


# ---- what to change


def test_after_a_collapse_two_lines_say_what_helps(tmp_path, run):
    """.95, .03, .02 at t 1: 2 and 3 coincide; drawn equally often they form a regular simplex, of 120 degrees."""
    labels, v = np.repeat([0, 1, 2], [950, 30, 20]), np.array([1.0, -1, -1])
    np.save(tmp_path / "z.npy", embed(np.outer(v, v), labels, noise=0.01))
    np.save(tmp_path / "y.npy", labels)
    files = (tmp_path / "z.npy", "--labels", tmp_path / "y.npy")
    for first in (files, (tmp_path / "z.npy", *files)):
        lines = " ".join(run("compare", *first, "-t", 1).stdout.split())
        assert lines.endswith(
            "Draw the classes equally often (--sampler balanced), and the smaller classes are 120.0° apart or more "
            "(proven; --sampler sqrt: 76.9°). What every change would do: geomsolve advise --counts 950,30,20 "
            "--names 0,1,2 -t 1"
        )
    tried = run("compare", *files, "-t", 1, "--json").json["remedy"]["tried"]
    assert [found["sampler"] for found in tried] == ["balanced", "sqrt"]
    assert "geomsolve advise" not in run("compare", *files, "-t", 0.1).stdout
    assert "remedy" not in run("compare", *files, "-t", 0.1, "--json").json
