"""Arrays, names and keywords in Python: the same question, in whatever form the data is."""

from __future__ import annotations

import types

import numpy as np
import pytest

from geomsolve import (
    Capacity,
    Check,
    Compare,
    Contrast,
    Crossmodal,
    Imbalance,
    InputError,
    Levels,
    Realizable,
    Sweep,
    from_lightly,
    from_pml,
    from_sentence_transformers,
    solve,
)

PROPS = [0.7, 0.2, 0.1]
VALUE = -0.7208670871
"""SupCon of .7, .2, .1 at t .5 (the same as clean CLIP's)."""


class Index(list):
    """An index of labels, as pandas has it."""


class RangeIndex(Index):
    """An index that is only positions."""

    start, step = 0, 1


class Series:
    """What of pandas.Series is looked at; the real one is tried where it is installed."""

    ndim = 1

    def __init__(self, values, index=None):
        self.values = np.asarray(values)
        self.index = RangeIndex(range(len(self.values))) if index is None else Index(index)
        self.shape = self.values.shape

    def to_numpy(self):
        return self.values


class Frame(Series):
    """The same of pandas.DataFrame."""

    ndim = 2

    def __init__(self, values, columns=None):
        super().__init__(values)
        self.columns = RangeIndex(range(self.values.shape[1])) if columns is None else Index(columns)


@pytest.fixture(params=["stand-in", "pandas"])
def tables(request):
    """(Series, DataFrame) of the stand-ins here, and of pandas where it is installed."""
    if request.param == "stand-in":
        return Series, Frame
    pandas = pytest.importorskip("pandas")
    return pandas.Series, lambda values, columns=None: pandas.DataFrame(values, columns=columns)


def test_flat_keywords_and_a_first_argument_ask_the_same_question():
    asked = Imbalance(props=PROPS, loss={"name": "supcon", "temperature": 0.5})
    for same in (
        Imbalance(PROPS, loss="supcon", temperature=0.5),
        Imbalance(PROPS, tau=0.5),
        Imbalance(PROPS, t=0.5),
        Imbalance(PROPS, scale=2),
        Imbalance("0.7,0.2,0.1", loss={"temperature": 0.5}),
        Imbalance(np.array(PROPS), temperature=np.float64(0.5)),
    ):
        assert same == asked
    assert solve(same).value == pytest.approx(VALUE, abs=1e-8)
    assert Imbalance("cifar10-lt:100").dataset == "cifar10-lt:100"
    assert Check(PROPS, tau=0.5, steps=10).question == asked
    assert Check(PROPS, tau=0.5, steps=10).training.steps == 10
    assert Contrast(PROPS, temperature=0.5) == Contrast(props=PROPS, loss={"temperature": 0.5})
    assert Levels(PROPS, batch=64).loss.parameters == {}  # it is a setting of the question, not of the loss
    assert Levels(PROPS, batch=64).batch == 64
    assert Capacity(10, dim=3) == Capacity(classes=10, dim=3)
    assert Realizable("yaware", labels=[1, 2, 3]) == Realizable(weighting="yaware", labels=[1, 2, 3])
    assert Realizable("yaware", labels=[1, 2, 3], tau=0.2).temperature == 0.2
    assert Imbalance(PROPS, temperature=None) == Imbalance(props=PROPS)
    assert Imbalance(["cat", "dog", "cat"]).class_counts == (2, 1)
    weights = [0.2, 0.4, 0.4]
    assert Imbalance(PROPS, anchor_weights=np.array(weights)).loss.parameters == {"anchor_weights": tuple(weights)}


@pytest.mark.parametrize(
    ("make", "field", "words"),
    [
        (lambda: Imbalance(PROPS, temprature=1), "temprature", "did you mean 'temperature'"),
        (lambda: Imbalance(PROPS, "supcon"), "", "one argument without a name"),
        (lambda: Imbalance(PROPS, counts=[1, 2, 3]), "", "exactly one of"),
        (lambda: Imbalance(PROPS, props=PROPS), "props", "given twice"),
        (lambda: Imbalance(PROPS, loss={"temperature": 1}, temperature=2), "temperature", "given twice"),
        (lambda: Imbalance(PROPS, scale=0), "scale", "a number above 0"),
        (lambda: Imbalance(PROPS, loss=object()), "loss", "from_pml"),
        (lambda: Realizable("yaware", temprature=1), "temprature", "did you mean 'temperature'"),
        (lambda: solve(PROPS), "", "wanted a question, such as Imbalance"),
        (lambda: Imbalance(np.eye(3)), "props", "not a number"),
        (lambda: Compare(np.zeros(3), labels=[0, 1, 1]), "embeddings", "two dimensions"),
        (lambda: Compare(np.ones((3, 2)), labels=np.ones((3, 3))), "labels", "one label a row"),
        (lambda: Compare(np.ones((3, 2)), labels=[0.5, 1, 1]), "labels", "whole numbers or names"),
    ],
)
def test_what_does_not_fit_is_said(make, field, words):
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.field == field
    assert words in caught.value.message


def test_classes_from_arrays_and_tables(tables):
    series, frame = tables
    for given in (np.array(PROPS), np.array([PROPS]).T, series(PROPS), frame(np.array([PROPS]).T)):
        assert Imbalance(given).props == tuple(PROPS)
        assert Imbalance(given).class_names == ("1", "2", "3")
    for given in (series(PROPS, index=["a", "b", "c"]), {"a": 0.7, "b": 0.2, "c": 0.1}):
        assert Imbalance(props=given).class_names == ("a", "b", "c")
    counts = series([4, 2, 1], index=[5, 0, 9])  # value_counts() of whole numbers
    assert Imbalance(counts=counts).class_names == ("5", "0", "9")
    assert Imbalance(counts=counts).counts == (4, 2, 1)
    pairs = frame(np.array([["cat", 4], ["dog", 2]], dtype=object), columns=["name", "count"])
    assert Imbalance(counts=pairs).class_names == ("cat", "dog")
    labels = series(np.array(["cat", "dog", "cat"], dtype=object))
    assert Imbalance(labels=labels).class_names == ("cat", "dog")
    assert Imbalance(labels=labels).class_counts == (2, 1)
    one_hot = frame(np.array([[1, 0], [0, 1], [1, 0]]), columns=["x", "y"])
    assert Imbalance(labels=one_hot).class_names == ("x", "y")
    with pytest.raises(InputError, match="stands twice"):
        Imbalance(series(PROPS, index=["a", "a", "c"]))
    with pytest.raises(InputError, match="3 columns"):
        Imbalance(frame(np.eye(3), columns=["a", "b", "c"]))


def test_matrices_and_ranges_from_arrays_and_tables(tables):
    series, frame = tables
    ages = Realizable("yaware", labels=[20, 25, 30], sigma=5)
    assert np.array_equal(Realizable("yaware", labels=series([20, 25, 30]), sigma=5).points, ages.points)
    target = Realizable("custom", target=frame(np.eye(3)), labels=[1, 2, 3]).parameters["target"]
    assert np.array_equal(target, np.eye(3))
    assert np.array_equal(Crossmodal(frame(np.array([[3, 1], [0, 2]]))).pairs.values, [[3, 1], [0, 2]])
    evenly = {"temperature": (0.1, 0.55, 1.0)}
    for over in ("temperature=0.1:1:3", ["tau=0.1:1:3"], {"temperature": "0.1:1:3"}, {"tau": series([0.1, 0.55, 1.0])}):
        assert Sweep(PROPS, over=over).over == evenly
    with pytest.raises(InputError, match=r"temperature=0\.05:1:20"):
        Sweep(PROPS, over="0.1:1:3")


def test_an_encoder_in_memory_is_compared_as_its_file(tmp_path, tables):
    series, frame = tables
    y = np.repeat([0, 1, 2], [70, 20, 10])
    z = np.eye(3)[y] - 1 / 3 + 0.01 * np.random.default_rng(0).standard_normal((100, 3))
    np.save(tmp_path / "z.npy", z)
    np.save(tmp_path / "y.npy", y)
    asked = {"tau": 0.5, "solver": "dual"}
    wanted = solve(Compare(str(tmp_path / "z.npy"), labels=str(tmp_path / "y.npy"), **asked))
    for vectors, labels in ((z, y), (frame(z), series(y)), (z.tolist(), [str(x) for x in y]), (z, np.eye(3)[y])):
        report = solve(Compare(vectors, labels=labels, **asked))
        assert np.array_equal(report.measured.gram, wanted.measured.gram)
        assert report.max_gram_error == wanted.max_gram_error
        assert report.to_dict()["read"]["embeddings"] == "array of 100 x 3"
    assert [point.headline for point in solve(Compare([z, z], labels=y, **asked)).checkpoints] == [wanted.headline] * 2
    with pytest.raises(InputError, match="99 labels for 100 embeddings"):
        solve(Compare(z, labels=y[:99]))


def test_tensors_of_any_kind():
    torch = pytest.importorskip("torch")
    assert Imbalance(torch.tensor([70, 20, 10])).class_counts == (70, 20, 10)
    assert Imbalance(torch.tensor(PROPS, dtype=torch.float64, requires_grad=True)).props == tuple(PROPS)
    assert Imbalance(labels=torch.tensor([0, 2, 0])).class_names == ("0", "2")
    rows = torch.eye(4).bfloat16().requires_grad_()
    report = solve(Compare(rows.repeat(3, 1), labels=torch.arange(4).repeat(3)))
    assert np.array_equal(report.measured.gram, np.eye(4))


def test_losses_of_pytorch_metric_learning():
    losses = pytest.importorskip("pytorch_metric_learning.losses")
    distances = pytest.importorskip("pytorch_metric_learning.distances")
    assert from_pml(losses.SupConLoss(0.5)) == {"name": "supcon", "temperature": 0.5}
    assert from_pml(losses.NTXentLoss(0.07)) == {"name": "nt-xent", "temperature": 0.07}
    cosine = losses.TripletMarginLoss(margin=0.2, distance=distances.CosineSimilarity())
    assert from_pml(cosine) == {"name": "triplet", "margin": 0.2}
    hinges = losses.ContrastiveLoss(pos_margin=1, neg_margin=0.2, distance=distances.CosineSimilarity())
    assert from_pml(hinges) == {"name": "contrastive", "pos_margin": 1.0, "neg_margin": 0.2}
    as_it_comes = {"name": "contrastive-distance", "pos_distance": 0.0, "neg_distance": 1.0}
    assert from_pml(losses.ContrastiveLoss()) == as_it_comes
    assert from_pml(losses.LiftedStructureLoss()) == {"name": "lifted-structure", "neg_distance": 1.0}
    similar = {"name": "multi-similarity", "temperature": 0.02, "base": 0.5}
    assert from_pml(losses.MultiSimilarityLoss()) == similar
    report = solve(Imbalance(PROPS, loss=from_pml(losses.SupConLoss(0.5))))
    assert report.value == pytest.approx(VALUE, abs=1e-8)
    for loss, words in (
        (losses.TripletMarginLoss(margin=0.2), "has the distance LpDistance"),
        (losses.TripletMarginLoss(swap=True, distance=distances.CosineSimilarity()), "swap=True"),
        (losses.CircleLoss(), "constants by the gradient"),
        (losses.LiftedStructureLoss(distance=distances.LpDistance(power=2)), "plain Euclidean distances"),
        (losses.ProxyAnchorLoss(3, 2), "learned proxy"),
        (losses.SupConLoss, "make one"),
        ("supcon", "wanted a loss of pytorch-metric-learning"),
    ):
        with pytest.raises(InputError, match=words):
            from_pml(loss)


def made(package: str, name: str, **attributes):
    """An object of a class that a library would have."""
    return type(name, (types.SimpleNamespace,), {"__module__": f"{package}.loss"})(**attributes)


def test_losses_of_lightly_and_sentence_transformers():
    bank = types.SimpleNamespace(size=(4096, 128))
    empty = types.SimpleNamespace(size=(0,))
    assert from_lightly(made("lightly", "NTXentLoss", temperature=0.5, memory_bank=empty)) == {
        "name": "nt-xent",
        "temperature": 0.5,
    }
    assert from_lightly(made("lightly", "NTXentLoss", temperature=0.1, memory_bank=bank))["negatives"] == 4096
    assert from_lightly(made("lightly", "DCLLoss", temperature=0.1)) == {"name": "dcl", "temperature": 0.1}
    with pytest.raises(InputError, match="decorrelates"):
        from_lightly(made("lightly", "VICRegLoss"))
    package = "sentence_transformers"
    ranking = made(package, "MultipleNegativesRankingLoss", scale=20.0)
    assert from_sentence_transformers(ranking) == {"name": "mnrl", "temperature": 0.05}
    levels = solve(Levels(loss=from_sentence_transformers(ranking), batch=64))
    assert levels.collapse == pytest.approx(np.log(64), abs=1e-12)
    dot = made(package, "MultipleNegativesRankingLoss", scale=1.0, similarity_fct=np.dot)
    with pytest.raises(InputError, match="compares by dot"):
        from_sentence_transformers(dot)
