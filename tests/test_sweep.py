"""Sweeps: every point as solved on its own, collapse where threshold finds it, files and errors."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from geomsolve import InputError, solve
from geomsolve.analyses.sweep import profile
from geomsolve.cli.render import sparkline
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.sweep import Sweep, read_range
from geomsolve.questions.threshold import Threshold

PROPS = [0.8, 0.12, 0.08]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0:1:5", [0, 0.25, 0.5, 0.75, 1]),
        ("1:0:3", [1, 0.5, 0]),
        ("log:0.01:100:5", [0.01, 0.1, 1, 10, 100]),
        ("1/4,2*0.5", [0.25, 0.5, 0.5]),
        ("7", [7]),
    ],
)
def test_ranges(text, values):
    assert read_range(text) == pytest.approx(values)


@pytest.mark.parametrize(
    "text", ["1:2", "1:2:1", "1:2:2.5", "1:1:3", "log:0:1:3", "log:1:2", "a:1:3", "1:nan:3", "1:2:nan"]
)
def test_bad_ranges(text):
    with pytest.raises(ValueError, match=r"range|number"):
        read_range(text)


@pytest.mark.parametrize(
    ("loss", "name", "values"),
    [
        ({"name": "supcon"}, "temperature", [0.1, 0.4, 1.0, 1.7, 2.5, 1.7, 0.4]),
        ({"name": "infonce", "temperature": 0.5, "sampling": "supervised"}, "negatives", [1, 3, 20, math.inf]),
        ({"name": "soft-supcon", "temperature": 0.5}, "epsilon", [0.01, 0.05, 0.5]),
        ({"name": "triplet"}, "margin", [0.5, 1.2, 1.8]),
    ],
)
def test_every_point_is_the_answer_to_its_own_problem(loss, name, values):
    report = solve(Sweep(props=PROPS, loss=loss, over={name: values}))
    assert [row[name] for row in report.rows] == values
    for row, value in zip(report.rows, values, strict=True):
        alone = solve(Imbalance(props=PROPS, loss={**loss, name: value}))
        assert row["certified"]
        assert row["value"] == pytest.approx(alone.value, abs=2e-9)
        assert row["structure"] == alone.structure.kind
        assert row["groups"] == alone.groups()
        if alone.unique:
            assert row["max_cosine"] == pytest.approx(alone.structure.max_cosine, abs=1e-5)


def test_collapse_is_marked_where_threshold_finds_it():
    report = solve(Sweep(props=PROPS, over={"temperature": "0.5:3:4"}))
    exact = solve(Threshold(props=PROPS, over="temperature")).threshold["value"]
    assert [c["temperature"] for c in report.collapse] == pytest.approx([exact], rel=1e-9)
    assert report.collapse[0]["collapsed_above"] is True
    assert solve(Sweep(props=PROPS, over={"temperature": [exact * 1.01, exact * 1.02]})).collapse == []
    share = solve(Threshold(props=PROPS, over="majority", loss={"name": "supcon", "temperature": 1})).threshold["value"]
    loss = {"name": "supcon", "temperature": 1}
    report = solve(Sweep(props=PROPS, loss=loss, over={"majority": "0.5:0.99:3"}))
    assert [c["majority"] for c in report.collapse] == pytest.approx([share], rel=1e-9)
    assert solve(Sweep(props=PROPS, loss="spectral", over={"majority": [0.5, 0.9]})).collapse == []
    assert solve(Sweep(props=PROPS, loss="soft-supcon", over={"epsilon": [0.5, 0.9]})).collapse is None


def test_two_parameters_make_a_grid_with_an_exact_boundary():
    report = solve(Sweep(props=PROPS, over={"temperature": "0.5:3:3", "majority": [0.7, 0.9]}))
    points = [(row["temperature"], row["majority"]) for row in report.rows]
    assert points == [(t, p) for t in (0.5, 1.75, 3.0) for p in (0.7, 0.9)]
    boundary = {change["majority"]: change["temperature"] for change in report.collapse}
    for row in report.rows:
        collapsed = row["structure"] == "minority collapse"
        assert collapsed is (row["temperature"] > boundary[row["majority"]])
    for share, temperature in boundary.items():
        props = [share, (1 - share) * 0.6, (1 - share) * 0.4]
        assert solve(Threshold(props=props)).threshold["value"] == pytest.approx(temperature, rel=1e-9)


def test_imbalance_profiles():
    published = np.array([5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50])  # CIFAR-10-LT, factor 100
    assert profile(10, 100, "exp") == pytest.approx(published / published.sum(), rel=2e-2)
    assert profile(5, 10, "step") == pytest.approx(np.array([10, 10, 1, 1, 1]) / 23)
    report = solve(Sweep(classes=4, over={"imbalance": [1, 10]}, profile="step", loss={"name": "supcon"}))
    assert [row["structure"] for row in report.rows] == ["regular simplex", "symmetric by proportion"]
    wanted = solve(Imbalance(props=[10, 10, 1, 1], loss="supcon"))
    assert report.rows[1]["value"] == pytest.approx(wanted.value, abs=1e-9)


def test_dimensions():
    report = solve(Sweep(classes=4, over={"dim": [1, 2, 3, 4]}, loss={"name": "supcon", "temperature": 0.5}))
    by_dim = {row["dim"]: row for row in report.rows}
    # the square and the simplex: closed forms of log mean e^{(c - 1) / t}
    square = math.log((1 + 2 * math.exp(-2) + math.exp(-4)) / 4)
    simplex = math.log((1 + 3 * math.exp(-8 / 3)) / 4)
    assert by_dim[2]["value"] == pytest.approx(square, abs=1e-9)
    assert by_dim[2]["certified"] is False
    assert by_dim[2]["lower_bound"] == pytest.approx(simplex, abs=1e-9)
    for dim in (3, 4):
        assert by_dim[dim]["value"] == pytest.approx(simplex, abs=1e-9)
        assert by_dim[dim]["certified"] is True
    assert report.exit_code == 1
    assert by_dim[1]["value"] > square
    fixed = solve(Sweep(classes=4, dim=2, over={"temperature": [0.5, 1.0]}))
    assert fixed.rows[0]["value"] == pytest.approx(square, abs=1e-9)


@pytest.mark.parametrize(
    ("over", "word"),
    [
        ({"temprature": [1, 2]}, "did you mean 'temperature'"),
        ({"margin": [1]}, "has no margin"),
        ({"temperature": [0.0]}, "above 0"),
        ({"majority": [1.0]}, "between 0 and 1"),
        ({"batch": [1.5]}, "whole number"),
        ({"dim": [0.5]}, "whole number"),
        ({"imbalance": "0.5:10:3"}, "at least 1"),
        ({}, "one or two"),
        ({"temperature": [1], "batch": [4], "majority": [0.5]}, "one or two"),
        ({"temperature": "1:2:200000"}, "whole number of values"),
        ({"temperature": "1:2:1000", "majority": "0.1:0.9:1000"}, "more than"),
    ],
)
def test_errors(over, word):
    with pytest.raises(InputError) as error:
        solve(Sweep(props=PROPS, over=over))
    assert word in str(error.value)


def test_command_writes_its_table(run, tmp_path):
    files = tmp_path / "table.csv", tmp_path / "rows.jsonl"
    arguments = ["sweep", "--props", "0.8,0.12,0.08", "--over", "temperature=1:2:3", "--over", "batch=4,64"]
    done = run(*arguments, "--csv", files[0], "--jsonl", files[1], "--json")
    rows = list(csv.DictReader(files[0].read_text().splitlines()))
    assert done.json["command"] == "sweep"
    assert done.json["over"] == {"temperature": [1.0, 1.5, 2.0], "batch": [4, 64]}
    assert [json.loads(line) for line in files[1].read_text().splitlines()] == done.json["rows"]
    assert [float(row["value"]) for row in rows] == [row["value"] for row in done.json["rows"]]
    assert rows[4]["groups"] == "2+3"
    text = run("sweep", "--props", "0.8,0.12,0.08", "--over", "temperature=1:2:3").stdout
    assert "minority collapse" in text
    assert "Collapse of all smaller classes sets in at temperature 1.78537" in text
    assert run("sweep", "--props", "0.8,0.2", "--over", "temperature").code == 2


def test_sparkline():
    assert sparkline([0, 1, 2, 7], 10) == "▁▂▃█"
    assert sparkline([3, 3, 3], 10) == "▁▁▁"
    assert sparkline([0, 7], 10, plain=True) == "_#"
    assert len(sparkline(list(range(100)), 12)) == 12


def test_where_the_angles_are_open_the_limit_stands_for_them_and_is_not_named():
    """At temperature 0.001 the loss of three classes does not feel G in floating point; the limit is 120°."""
    report = solve(Sweep(props=[0.7, 0.2, 0.1], over={"temperature": [0.001, 0.1]}))
    assert report.rows[0]["structure"] == "undetermined"
    assert report.headline.startswith("undetermined at 1, general at 1 of 2 points")
    assert report.rows[0]["max_angle_deg"] == pytest.approx(120)
    assert report.rows[1]["structure"] == "general"


def test_classes_that_are_given_are_stretched_over_imbalance():
    """8:1:1 at temperature 1: twice the critical majority share over the rest is the critical ratio."""
    asked = {"props": [0.8, 0.1, 0.1], "loss": {"name": "supcon", "temperature": 1.0}}
    report = solve(Sweep(**asked, over={"imbalance": [4, 8, 16, 64]}))
    share = solve(Threshold(**asked, over="majority")).threshold["value"]
    (change,) = report.collapse
    assert change["imbalance"] == pytest.approx(2 * share / (1 - share), rel=1e-7)
    alone = solve(Imbalance(props=[16, 2, 2], loss=asked["loss"]))
    assert report.rows[1]["value"] == pytest.approx(alone.value, abs=1e-12)
    with pytest.raises(InputError, match="all classes are of one size"):
        solve(Sweep(counts=[5, 5], over={"imbalance": [1, 2]}))


def test_features_and_classifiers_along_weight_decay(run, tmp_path):
    """Minorities merge at root(n_B)/N, all vanish at root(n_A)/N; each row is the answer of imbalance."""
    table = tmp_path / "rows.csv"
    asked = ("sweep", "--counts", "9,9,1,1", "--loss", "cross-entropy", "--over", "regularize=.01,.0499,.0501,.2")
    found = run(*asked, "--csv", table, "--plot", tmp_path / "picture.png", "--json")
    assert found.code == 0
    rows = found.json["rows"]
    assert [row["structure"] for row in rows[2:]] == ["minority collapse", "total collapse"]
    assert [row["groups"] for row in rows] == [[], [], [["3", "4"]], [["1", "2", "3", "4"]]]
    merging, end = found.json["collapse"]
    assert merging["regularise"] == pytest.approx(1 / 20, rel=1e-12)
    assert merging["groups"] == [["3", "4"]]
    assert end["regularise"] == pytest.approx(3 / 20, rel=1e-12)
    assert end["structure"] == "total collapse"
    for row in rows:
        alone = solve(Imbalance(counts=[9, 9, 1, 1], loss={"name": "cross-entropy", "regularise": row["regularise"]}))
        assert row["value"] == alone.value
        assert row["features"] == alone.features.structure.kind
        assert row["feature_min_angle_deg"] == pytest.approx(alone.features.structure.min_angle_deg)
    assert rows[-1]["alignment"] is rows[-1]["rarest_angle_deg"] is None
    assert len(table.read_text().splitlines()) == 5
    assert (tmp_path / "picture.png").stat().st_size > 1000
    shown = run(*asked).stdout
    assert "From weight decay 0.05 on classes 3 and 4 share a point." in shown
    assert "From weight decay 0.15 on all features and classifiers are 0." in shown
    assert "ufm" not in shown


@pytest.mark.slow
def test_layer_peeled_minorities_along_imbalance(run):
    """Published cosines -1/9, -.06728, .07253, .51750 and 1 between ratios 1 and 13."""
    asked = ("sweep", "--classes", "10", "--profile", "step", "--loss", "cross-entropy", "--constraint", "budget:5,1")
    rows = run(*asked, "--over", "imbalance=1,2,5,10,13", "--json").json["rows"]
    assert [row["max_cosine"] for row in rows] == pytest.approx([-1 / 9, -0.06728, 0.07253, 0.51750, 1.0], abs=1e-4)


def test_a_budget_along_one_number_and_two_parameters_of_one_form():
    """Angles depend on E_H E_W alone; a parameter that the form in force lacks is judged with the form that varies."""
    peeled = {"name": "cross-entropy", "constraint": "budget:5,1"}
    alone = solve(Imbalance(counts=[9, 9, 1, 1], loss=peeled))
    report = solve(Sweep(counts=[9, 9, 1, 1], loss=peeled, over={"constraint": [math.sqrt(5), 9]}))
    assert report.rows[0]["max_cosine"] == pytest.approx(alone.structure.max_cosine, abs=1e-8)
    both = {"regularise": [0.01, 0.02], "logit_adjust": [0, 1]}
    assert solve(Sweep(counts=[5, 2, 1], loss="cross-entropy", over=both)).certified


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (("--props", ".7,.2,.1", "--over", "regularise=.1,.2"), "give the classes by counts"),
        (("--counts", "5,2", "--over", "temperature=.1,.2"), "has no temperature"),
        (("--counts", "5,2", "--over", "constraint=0,2"), "or one number for both"),
        (("--counts", "5,2", "--over", "regularise=.1,.2", "--slack", "1e-4"), "lengths are free here"),
        (("--counts", "5,2", "--over", "dim=1,2"), "in fewer dimensions"),
        (("--counts", "5,2", "--over", "smoothing=.1,.2"), "do not depend on this"),
    ],
)
def test_what_classifiers_are_not_swept_over(run, flags, word):
    found = run("sweep", "--loss", "cross-entropy", *flags)
    assert found.code == 2
    assert word in found.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        "--props 0.95,0.025,0.025 --over temperature=0.5:1.5:3 --over majority=0.5:0.95:2",
        "--props 0.5,0.3,0.2 --loss clip --over noise=0:0.4:3",
    ],
)
def test_points_on_two_processes_are_those_of_one(run, flags):
    alone, shared = (json.loads(run("sweep", *flags.split(), "--json", *jobs).stdout) for jobs in ([], ["--jobs", "2"]))
    assert {**alone, "seconds": 0} == {**shared, "seconds": 0}


def test_a_cluster_needs_its_address(run):
    found = run("sweep", "--props", "0.7,0.3", "--over", "temperature=0.5,1", "--backend", "dask")
    assert found.code == 2
    assert "--scheduler" in found.stderr
