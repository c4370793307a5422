"""Classes in the forms in which people have them.  Numbers: 0.7, 0.2, 0.1 at the default temperature have the value
-.8018179979, however they are written."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from geomsolve import Imbalance, InputError, Levels, solve
from geomsolve.errors import bare
from geomsolve.losses import find_loss
from geomsolve.questions.kinds import kinds
from geomsolve.registry import LOSSES, REGISTRIES

LABELS = ("cat", "cat", "cat", "cat", "dog", "dog", "owl")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = {
        "y.txt": "\n".join(LABELS) + "\n",
        "numbers.txt": "1\n1\n1\n1\n2\n2\n3\n",
        "y.csv": "id,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(LABELS)),
        "y.tsv": "id\tlabel\n" + "".join(f"{i}\t{label}\n" for i, label in enumerate(LABELS)),
        "gap.csv": "id,label\n1,cat\n2,dog\n3,cat\n4,n/a\n",
        "onehot.csv": "cat,dog,owl\n1,0,0\n1,0,0\n0,1,0\n0,0,1\n",
        "counts.csv": "class,count\ncat,500\ndog,100\n",
        "plain.csv": "cat,500\ndog,100\n",
        "swapped.csv": "count,class\n500,cat\n100,dog\n",
        "ids.csv": "0,500\n1,100\n",
        "counts.txt": "cat 500\ndog 100\n",
        "colons.txt": "cat: 500\ndog: 100\n",
        "counts.json": '{"cat": 500, "dog": 100}',
        "list.json": "[500, 100]",
        "series.csv": ",count\ncat,500\ndog,100\n",
    }
    for name, text in made.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "y.npy", np.array([3, 3, 3, 3, 5, 5, 9]))
    np.save(tmp_path / "onehot.npy", np.eye(3)[[0, 0, 0, 0, 1, 1, 2]])
    return tmp_path


THREE = (
    *(
        "70%,20%,10%",
        "70% 20% 10%",
        "70 %, 20 %, 10 %",
        "[0.7, 0.2, 0.1]",
        "(0.7 0.2 0.1)",
        "7:2:1",
        "7 : 2 : 1",
        "7_000,2_000,1000",
    ),
    *("a:0.7,b:0.2,c:0.1", "a: 70%, b: 20%, c: 10%", "a=0.7,b=0.2,c=0.1", "a 0.7, b 0.2, c 0.1"),
    *('{"a": 0.7, "b": 0.2, "c": 0.1}', "{'a': 0.7, 'b': 0.2, 'c': 0.1}", "0,7;0,2;0,1"),
)


@pytest.mark.parametrize("text", THREE)
def test_three_proportions_however_they_are_written(text):
    question = Imbalance(props=text)
    assert question.proportions == pytest.approx((0.7, 0.2, 0.1), abs=1e-15)
    named = text.lstrip("{'\"")[0] == "a"
    assert question.class_names == (("a", "b", "c") if named else ("1", "2", "3"))
    assert (question.class_counts is None) == ("_" not in text)


def test_the_command_takes_them(run):
    for text in ("70%,20%,10%", "[0.7, 0.2, 0.1]", "a:0.7,b:0.2,c:0.1"):
        answer = run("imbalance", "--props", text, "--json").json
        assert answer["value"] == pytest.approx(-0.8018179979, abs=1e-9)
    assert [each["name"] for each in answer["classes"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        *((f"@{name}", "cat dog") for name in ("counts.csv", "plain.csv", "swapped.csv", "counts.txt", "colons.txt")),
        ("counts.csv", "cat dog"),
        *((text, "cat dog") for text in ("@counts.json", "@series.csv", "@counts.csv:class,count", "cat:500,dog:100")),
        *((text, "1 2") for text in ("@counts.csv:count", "@list.json", "[500, 100]", "500;100")),
        ("@ids.csv", "0 1"),
        ("0:500,1:100", "0 1"),
    ],
)
def test_counts_by_name(files, text, names):
    question = Imbalance(counts=text)
    assert question.class_counts == (500, 100)
    assert question.class_names == tuple(names.split())


@pytest.mark.parametrize("value", [{"cat": 500, "dog": 100}, {"cat": "500", "dog": "100"}])
def test_a_mapping_of_counts(value):
    question = Imbalance(counts=value)
    assert (question.class_names, question.class_counts) == (("cat", "dog"), (500, 100))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        *((text, "cat dog owl") for text in ("@y.txt", "y.txt", "@y.csv:label", "y.tsv:label", ",".join(LABELS))),
        (str(list(LABELS)), "cat dog owl"),
        ("@numbers.txt", "1 2 3"),
        ("1 1 1 1 2 2 3", "1 2 3"),
        ("@y.npy", "3 5 9"),
        ("@onehot.npy", "0 1 2"),
    ],
)
def test_labels_of_samples(files, text, names):
    question = Imbalance(labels=text)
    assert question.class_counts == (4, 2, 1)
    assert question.class_names == tuple(names.split())


FORMS = ("cat,cat,cat,cat,dog,dog,owl", "@y.txt", "y.txt", "@y.csv:label", "@y.npy", "@onehot.npy", "@onehot7.csv", "-")
MORE = {
    "sweep": {"over": {"temperature": [0.1]}},
    "sweep_crossmodal": {"over": {"temperature": [0.1]}},
    "compare": {"embeddings": "z.npy"},
    "compare_crossmodal": {"embeddings": "z.npy", "texts": "z.npy"},
}


@pytest.mark.parametrize(
    "kind", [name for name, model in kinds().items() if "labels" in model.model_fields and name != "realizable"]
)
@pytest.mark.parametrize("form", FORMS)
def test_every_question_takes_labels_of_classes_in_every_form(files, monkeypatch, kind, form):
    """Those of ``realizable`` are points, and no classes."""
    np.save(files / "z.npy", np.eye(7))
    rows = "".join(f"{a:d},{b:d},{c:d}\n" for a, b, c in np.eye(3, dtype=int)[[0, 0, 0, 0, 1, 1, 2]])
    (files / "onehot7.csv").write_text(f"cat,dog,owl\n{rows}")
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(LABELS)))
    question = kinds()[kind](labels=form, **MORE.get(kind, {}))
    if kind.startswith("compare"):
        names, counts = question.labels.names, tuple(question.labels.counts.tolist())
    else:
        names, counts = question.class_names, question.class_counts
    assert counts == (4, 2, 1)
    assert names == {"@y.npy": ("3", "5", "9"), "@onehot.npy": ("0", "1", "2")}.get(form, ("cat", "dog", "owl"))


@pytest.mark.parametrize("form", ["cat,cat,cat,cat,dog,dog,owl", "onehot.npy", "y.txt"])
def test_compare_takes_labels_as_a_list_and_one_hot(files, run, form):
    """Seven unit vectors of three classes that are orthogonal: cosines of class means are 0."""
    np.save(files / "z.npy", np.eye(3)[[0, 0, 0, 0, 1, 1, 2]])
    answer = run("compare", "z.npy", "--labels", form, "--json").json
    assert [each["count"] for each in answer["classes"]] == [4, 2, 1]
    assert np.allclose(answer["measured"]["gram"], np.eye(3))


def test_a_one_hot_table_has_its_names(files):
    question = Imbalance(labels="@onehot.csv")
    assert (question.class_names, question.class_counts) == (("cat", "dog", "owl"), (2, 1, 1))
    with pytest.raises(InputError, match="one-hot matrix with a single 1 in each row; row 2 of 2"):
        Imbalance(labels=[[1, 0], [1, 1]])


def test_parquet_and_tensors(files):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    torch = pytest.importorskip("torch")
    pandas.DataFrame({"label": LABELS}).to_parquet(files / "y.parquet")
    torch.save(torch.tensor([0, 0, 0, 0, 1, 1, 2]), files / "y.pt")
    for text in ("@y.parquet:label", "@y.pt"):
        assert Imbalance(labels=text).class_counts == (4, 2, 1)


@pytest.mark.parametrize("labels", [LABELS, np.array(LABELS), np.eye(3)[[0, 0, 0, 0, 1, 1, 2]], [1, 1, 1, 1, 2, 2, 3]])
def test_labels_as_such_are_counted(labels):
    question = Imbalance(labels=labels)
    assert question.counts == (4, 2, 1)
    assert question.labels is None
    again = Imbalance(**question.model_dump(exclude={"kind"}))
    assert again.class_names == question.class_names


def test_a_label_that_may_be_none_is_counted_and_said(files, run):
    shown = run("imbalance", "--labels", "@gap.csv:label", "--json")
    assert [each["name"] for each in shown.json["classes"]] == ["cat", "dog", "n/a"]
    assert "'n/a' is counted as a class, of 1 sample" in shown.stderr
    assert shown.json["problem"]["labels"] == "@gap.csv:label"


@pytest.mark.parametrize("command", ["imbalance", "advise", "contrast", "threshold", "levels", "negatives"])
def test_every_command_about_classes_takes_labels(files, run, command):
    more = ("--batch", "8") if command == "levels" else ("--losses", "spectral") if command == "contrast" else ()
    shown = run(command, "--labels", "@y.txt", *more, "--json")
    assert shown.code == 0
    assert shown.json["problem"]["labels"] == "@y.txt"


def test_labels_on_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("cat\ncat\n\ndog\n"))
    assert Imbalance(labels="-").class_counts == (2, 1)
    for text in ("", "\n", "cat\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        with pytest.raises(InputError, match="there are no labels" if not text.strip() else "all labels are 'cat'"):
            Imbalance(labels="-")


def test_labels_do_not_make_samples_their_own_classes(files):
    assert not Levels(labels="@y.txt", batch=8).instances


@pytest.mark.parametrize(
    ("how", "field", "words"),
    [
        ({"counts": "@numbers.txt"}, "counts", "7 numbers from 1 to 3, which look like the label of each sample"),
        ({"counts": "@y.txt"}, "counts", "'cat' in line 1 of 'y.txt' is not a number; if these are labels"),
        ({"props": "@y.csv:label"}, "props", "give them as labels"),
        ({"counts": "cat,dog"}, "counts", "give them as labels"),
        ({"counts": "5,000,500"}, "counts", "did you mean 5000, 500?"),
        ({"props": "70%,0.3"}, "props", "write all with % or none"),
        ({"props": "70%,20%"}, "props", "sum to 0.9, not 1"),
        ({"counts": "100:1:1"}, "counts", "counts are whole numbers of samples; give percentages and ratios as props"),
        ({"counts": "70%,30%"}, "counts", "give percentages and ratios as props"),
        ({"props": "0:0:0"}, "props", "no ratio"),
        ({"props": {"a": None, "b": 1}}, "props", "None is not a number"),
        ({"props": "a:1,b:2", "names": "c,d"}, "names", "the names stand in props already"),
        ({"labels": "a,a"}, "labels", "all labels are 'a'; one class has no geometry"),
        ({"labels": "nowhere.txt"}, "labels", "there is no file 'nowhere.txt'"),
        ({"labels": "@y.csv"}, "labels", "name one, as in y.csv:label"),
        ({"labels": 3}, "labels", "one a sample"),
        ({"labels": ""}, "labels", "there are no labels"),
        ({"props": np.array(0.5)}, "props", "wanted a list of numbers"),
        ({"labels": "@counts.json"}, "labels", "wanted labels"),
        ({"labels": "cat:500,dog:100"}, "labels", "give them as counts or props"),
        ({"props": "70/20/10"}, "props", "write numbers with commas between them"),
        ({"labels": "a,b", "counts": [1, 2]}, "", "found counts and labels"),
    ],
)
def test_what_is_refused_says_what_to_do(files, how, field, words):
    with pytest.raises(InputError) as refused:
        Imbalance(**how)
    assert refused.value.field == field
    assert words in refused.value.message


def test_counts_that_may_be_labels_are_said(run):
    shown = run("imbalance", "--counts", "1,1,1,1,2,2,3", "--quiet")
    assert "labels" not in shown.stderr
    assert "if these are labels" in Imbalance(counts="1,1,1,1,2,2,3").notices[0]
    assert Imbalance(counts="5*2,5*1").notices == ()


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("cifar100-lt:0.01", "cifar100-lt:100"),
        ("CIFAR-100-LT:100", "cifar100-lt:100"),
        ("cifar10_lt:0.1:step", "cifar10-lt:10:step"),
        ("HAM-10000", "ham10000"),
    ],
)
def test_data_sets_by_another_spelling(name, same):
    one, other = Imbalance(dataset=name), Imbalance(dataset=same)
    assert (one.class_counts, one.class_names) == (other.class_counts, other.class_names)
    assert ("smallest class over the largest" in " ".join(one.notices)) == (":0." in name)


@pytest.mark.parametrize(("name", "meant"), [("cifar100", "cifar100-lt:100"), ("CIFAR10", "cifar10-lt:100")])
def test_the_nearest_data_set_is_of_the_same_name(name, meant):
    with pytest.raises(InputError, match=f"did you mean {meant!r}"):
        Imbalance(dataset=name)


def test_a_list_in_several_words(run):
    shown = run("imbalance", "--props", "0.7", "0.2", "0.1")
    assert shown.code == 2
    assert "write: geomsolve imbalance --props 0.7,0.2,0.1" in shown.stderr
    assert "--props .7,.3" in run("imbalance", "--props=.7", ".3").stderr
    shown = run("imbalance", "--props", "[0.7,", "0.2,", "0.1]", "-t", "1")
    assert "--props 0.7,0.2,0.1" in shown.stderr


def test_a_problem_file_holds_names_with_numbers(tmp_path, run):
    file = tmp_path / "a.yaml"
    file.write_text("kind: imbalance\nprops: {cat: 70%, dog: 30%}\n")
    answer = json.loads(run("solve", file, "--json").stdout)
    assert [each["name"] for each in answer["classes"]] == ["cat", "dog"]
    file.write_text("kind: imbalance\nlabels: [cat, cat, dog]\n")
    assert run("validate", file).code == 0


@pytest.mark.parametrize(
    ("written", "name"),
    [
        *((text, "supcon") for text in ("SupCon", "SupConLoss", "sup-con", "Supervised_Contrastive_Loss")),
        *((text, "nt-xent") for text in ("NT-Xent", "ntxent", "NTXentLoss")),
        *((text, "simclr") for text in ("SimCLR", "simclr")),
        *((text, "mnrl") for text in ("MNRL", "MultipleNegativesRankingLoss")),
        *(("MoCo", "moco"), ("InfoNCELoss", "infonce"), ("CLIP", "clip"), ("TripletMarginLoss", "triplet")),
        *(("spectral contrastive loss", "spectral"), ("Alignment+Uniformity", "align-uniform")),
    ],
)
def test_a_loss_by_another_spelling(written, name):
    assert Imbalance(props=(0.5, 0.5), loss=written).loss.name == name
    assert find_loss(written) is find_loss(name)


def test_names_that_mean_one_thing_stand_with_one_choice():
    """Whatever the spelling, it leads to a single name."""
    for registry in REGISTRIES:
        found: dict[str, str] = {}
        for cls in registry.values():
            for spelled, name in cls.spellings().items():
                key = bare(spelled).removesuffix("loss")
                assert found.setdefault(key, name) == name, spelled
                assert registry.canonical(spelled) == name


def test_levels_by_the_names_of_libraries(run):
    """Collapse: log(2B - 1) of 2B embeddings, log B of pairs, log(K + 1) of a queue."""
    for name in ("NT-Xent", "ntxent", "SimCLR", "NTXentLoss"):
        answer = run("levels", "--loss", name, "--batch", "128", "--json").json
        assert answer["collapse"] == pytest.approx(np.log(255), abs=1e-9)
    for flags in (("-t", "0.07"), ("--logit-scale", "2.659260036932778"), ("--logit-scale=14.285714285714286",)):
        answer = run("levels", "--loss", "clip", "--batch", "128", *flags, "--json").json
        assert answer["collapse"] == pytest.approx(4.852030263919617, abs=1e-9)
        assert answer["problem"]["loss"]["temperature"] == pytest.approx(0.07, rel=1e-9)
    answer = run("levels", "--loss", "clip", "--batch_size", "128", "--logit_scale", "100", "--json").json
    assert (answer["problem"]["batch"], answer["problem"]["loss"]["temperature"]) == (128, 0.01)
    answer = run("levels", "--loss", "MoCo", "--queue", "65536", "--temp", "0.07", "--json").json
    assert answer["collapse"] == pytest.approx(np.log(65537), abs=1e-9)


@pytest.mark.parametrize("flags", [("--tau", "0.05"), ("--temp=0.05",), ("--scale", "20"), ("--scale=20",)])
@pytest.mark.parametrize("command", ["imbalance", "realizable"])
def test_a_temperature_by_another_flag(run, command, flags):
    more = ("--props", "0.7,0.3") if command == "imbalance" else ("--weighting", "y-Aware", "--labels", "20,25,30")
    shown = run(command, *more, *flags, "--json")
    problem = shown.json["problem"]
    assert (problem.get("loss") or problem)["temperature"] == 0.05
    assert ("Note: --scale 20 is --temperature 0.05" in shown.stderr) == flags[0].startswith("--scale")


def test_synonyms_along_a_path(run):
    one = run("sweep", "--props", "0.7,0.3", "--over", "tau=0.1,0.5", "--json").json
    assert list(one["over"]) == ["temperature"]
    assert (
        run("threshold", "--props", "0.9,0.05,0.05", "--over", "tau", "--json").json["threshold"]["over"]
        == "temperature"
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("imbalance", "--loss", "VICReg"), "--loss: VICReg is not contrastive over classes"),
        (("imbalance", "--loss", "BarlowTwinsLoss"), "is not contrastive over classes"),
        (("imbalance", "--loss", "vicerg"), "vicreg, if that is meant, is not contrastive over classes"),
        (
            ("imbalance", "--loss", "y-Aware"),
            "y-Aware is no loss over classes but a weighting: geomsolve realizable --weighting yaware",
        ),
        (("imbalance", "--loss", "SimCLR"), "simclr takes every sample for a class of its own"),
        (("imbalance", "--loss", "CLIP"), "geomsolve crossmodal --loss clip; "),
        (("imbalance", "--check", "--steps", "100"), "; it is a flag of geomsolve check ("),
        (("imbalance", "--loss", "SigLIP"), "--loss: siglip compares the two encoders of pairs"),
        (("imbalance", "--loss", "CosFaceLoss"), "a loss of two sides: geomsolve crossmodal --loss cosine-softmax"),
        (("crossmodal", "--loss", "SupConLoss"), "a loss over classes: geomsolve imbalance --loss supcon"),
        (("imbalance", "--loss", "ArcFaceLoss"), "a loss of two sides: geomsolve crossmodal --loss arcface"),
        (("crossmodal", "--loss", "SubCenterArcFaceLoss"), "is not among them: it has several classifiers a class"),
        (("contrast", "--losses", "vicreg"), "--losses: vicreg is not contrastive over classes"),
        (("imbalance", "--scale", "0"), "--scale: wanted a number above 0, got '0'"),
        (("imbalance", "--tau"), "requires an argument"),
    ],
)
def test_a_name_of_another_kind_says_so(run, command, words):
    name, *flags = command
    shown = run(name, "--props", "0.7,0.3", *flags)
    assert shown.code == 2
    assert shown.stdout == ""
    assert words in shown.stderr
    assert "did you mean" not in shown.stderr


@pytest.mark.parametrize("name", ["bce", "kl", "RINCELoss", "unicon", "hcl", "MarginLoss", "ce2", "mse"])
def test_no_neighbour_is_guessed_that_is_another_loss(name):
    said = LOSSES.unknown(name, field="loss.name").message
    assert said.startswith(f"unknown loss {name!r}; known: align-uniform")


@pytest.mark.parametrize(("name", "meant"), [("supcom", "supcon"), ("tripplet", "triplet"), ("spectal", "spectral")])
def test_a_misspelled_name_is_guessed(name, meant):
    assert f"did you mean {meant!r}?" in LOSSES.unknown(name, field="loss.name").message


def test_the_list_has_what_libraries_say(run):
    rows = {row["name"]: row for row in run("list", "losses", "--json").json["losses"]}
    assert "triplet-margin" in rows["triplet"]["also"]
    assert "multiple-negatives-ranking" in rows["infonce"]["also"]
    assert "mnrl" not in rows["infonce"]["also"]
    assert "what else libraries call each" in " ".join(run("list", "weightings").stdout.split())


def test_a_weighting_of_another_kind_says_so(run):
    assert "SimCLR is no weighting but a loss over classes" in run("realizable", "--weighting", "SimCLR").stderr
    assert "is not contrastive over classes" in run("realizable", "--weighting", "vicreg").stderr
    assert run("realizable", "--weighting", "X-CLR", "--quiet").code == 0


def test_what_was_understood_differently_is_part_of_the_answer(run):
    """On the command line, in Python and in JSON alike; an answer to what was taken as written has none."""
    report = solve(Imbalance([7, 2, 1]))
    assert len(report.notices) == 1
    assert "taken as counts" in report.notices[0]
    assert report.summary().endswith(f"Note: {report.notices[0]}")
    assert report.to_dict()["notes"] == list(report.notices)
    for more in ((), ("--quiet",)):
        assert run("imbalance", "--props", "7,2,1", "--json", *more).json["notes"] == list(report.notices)
    plain = solve(Imbalance([0.7, 0.2, 0.1]))
    assert plain.notices == ()
    assert "notes" not in plain.to_dict()
    assert "Note:" not in plain.summary()
