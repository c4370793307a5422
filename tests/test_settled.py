"""At which temperatures the loss settles the geometry: ``sweep --slack`` and ``threshold --slack --width``."""

from __future__ import annotations

import csv
from math import exp, log

import pytest
from scipy.optimize import brentq

from geomsolve import Imbalance, InputError, Sweep, Threshold, solve

THREE = "0.7,0.2,0.1"


def two_classes(temperature, slack):
    """Width of the range of the one cosine of two equal classes, in closed form: from -1 to where F is slack higher."""
    optimum = log((1 + exp(-2 / temperature)) / 2)
    return 2 + temperature * log(2 * exp(optimum + slack) - 1)


@pytest.mark.slow
def test_two_classes_settle_where_the_closed_form_says(run):
    answer = run("threshold", "--props", "0.5,0.5", "--slack", 1e-4, "--width", 0.1, "--json").json
    exact = brentq(lambda t: two_classes(t, 1e-4) - 0.1, 0.1, 0.5)
    found = answer["determined"]
    assert found["value"] == pytest.approx(exact, rel=2e-3)
    assert (found["over"], found["slack"], found["width"]) == ("temperature", 1e-4, 0.1)
    assert found["until"] is None
    assert two_classes(50, 1e-4) < 0.1


@pytest.mark.slow
def test_three_classes_are_settled_in_a_window_of_temperatures():
    """Checked by the ranges themselves on either side of both ends."""
    report = solve(Threshold(props=[0.7, 0.2, 0.1], slack=1e-4))
    found = report.determined
    assert found is not None
    assert found["width"] == 0.1
    assert found["pair"] == ["2", "3"]

    def widest(temperature):
        loss = {"name": "supcon", "temperature": temperature}
        return solve(Imbalance(props=[0.7, 0.2, 0.1], loss=loss, slack=1e-4)).ranges.widest.range.width

    assert widest(found["value"] * 0.995) > 0.1 > widest(found["value"] * 1.005)
    assert widest(found["until"] * 1.005) > 0.1 > widest(found["until"] * 0.995)


@pytest.mark.slow
def test_where_nothing_settles_that_is_said_and_the_best_is_named(run):
    done = run("threshold", "--props", THREE, "--slack", 0.1, "--width", 0.01)
    said = " ".join(done.stdout.split())
    assert "no temperature from 0.1 to 50 was found at which every cosine is settled to 0.01" in said
    assert solve(Threshold(props=[0.7, 0.2, 0.1], slack=0.1, width=0.01)).determined["value"] is None


def test_without_slack_nothing_is_added(run):
    assert "determined" not in run("threshold", "--props", THREE, "--json").json
    rows = run("sweep", "--props", THREE, "--over", "temperature=0.5,1", "--json").json["rows"]
    assert not any("widest" in row for row in rows)


def test_a_sweep_shows_the_widest_range_of_every_point(run, tmp_path):
    over = ("sweep", "--props", THREE, "--over", "temperature=0.3,0.5,1", "--slack", 1e-4)
    rows = run(*over, "--csv", tmp_path / "t.csv", "--json").json["rows"]
    assert [row["widest_pair"] for row in rows] == [["2", "3"]] * 3
    # published: .7, .2, .1 at temperature .5, slack 1e-4, pair 2-3
    assert rows[1]["widest"] == pytest.approx(0.2334630729 - 0.1571239416, abs=1e-8)
    assert [row["widest_pair"] for row in csv.DictReader((tmp_path / "t.csv").read_text().splitlines())] == ["2+3"] * 3
    said = " ".join(run(*over).stdout.split())
    assert "settled to 0.1 from temperature 0.5 on, among the points looked at." in said
    assert "widest range" in said


@pytest.mark.slow
def test_of_many_sizes_only_those_asked_about_are_said_to_be_settled(run):
    many = ("--counts", ",".join(str(n) for n in range(10, 24)))
    sweep = run("sweep", *many, "--over", "temperature=0.5,1", "--slack", 1e-6)
    assert "every cosine asked about is settled to 0.1 at all 2 points" in " ".join(sweep.stdout.split())
    threshold = run("threshold", *many, "--slack", 1e-6, "--quiet").stdout
    assert "every cosine asked about is settled to 0.1 from temperature" in " ".join(threshold.split())


def test_a_sweep_of_two_equal_classes_agrees_with_the_closed_form():
    report = solve(Sweep(classes=2, over={"temperature": [0.1, 0.2, 0.5, 2.0]}, slack=1e-4))
    for row in report.rows:
        assert row["widest"] == pytest.approx(two_classes(row["temperature"], 1e-4), abs=1e-8)


def test_a_sweep_that_nowhere_settles_says_so(run):
    said = " ".join(
        run("sweep", "--classes", 2, "--over", "temperature=0.1,0.15", "--slack", 1e-4, "--quiet").stdout.split()
    )
    assert "settled at none of 2 points: some cosine may vary by" in said


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (lambda: Threshold(props=[0.7, 0.2, 0.1], width=0.1), "give the slack too"),
        (lambda: Threshold(props=[0.7, 0.2, 0.1], over="majority", slack=1e-4), "over temperature"),
        (lambda: Threshold(props=[0.7, 0.2, 0.1], slack=0), "slack"),
        (lambda: Threshold(props=[0.7, 0.2, 0.1], slack=1e-4, width=3), "width"),
        (lambda: Sweep(props=[0.7, 0.2, 0.1], over={"dim": [1, 2]}, slack=1e-4), "any dimension"),
        (lambda: Sweep(props=[0.7, 0.2, 0.1], over={"temperature": [1]}, dim=1, slack=1e-4), "any dimension"),
    ],
)
def test_what_makes_no_sense_is_refused(question, words):
    with pytest.raises(InputError, match=words):
        question()


def test_a_loss_without_ranges_is_refused(run):
    for command in (("threshold",), ("sweep", "--over", "temperature=0.1,1")):
        done = run(*command, "--props", THREE, "--loss", "weince", "--slack", 1e-4)
        assert (done.code, done.stdout) == (2, "")
        assert "every geometry is optimal" in done.stderr


@pytest.mark.slow
def test_problem_files_take_slack_and_width(tmp_path, run):
    file = tmp_path / "p.yaml"
    file.write_text("kind: threshold\nprops: [0.5, 0.5]\nslack: 1e-4\nwidth: 0.2\n")
    assert run("validate", file).code == 0
    assert run("solve", file, "--json").json["determined"]["width"] == 0.2
