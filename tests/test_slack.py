"""``imbalance --slack``, ``realizable --slack``: commands, files and messages; the mathematics is in test_ranges.py."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from geomsolve import Imbalance, InputError, Realizable, solve
from geomsolve.analyses.ranges import PairRange, Ranges
from geomsolve.cli.ranges import closing, opening
from geomsolve.proof.ranges import Range

THREE = ("imbalance", "--props", "0.7,0.2,0.1")


def test_json_holds_every_pair_with_its_range(run):
    answer = run(*THREE, "-t", 0.5, "--slack", 1e-4, "--json").json
    found = answer["ranges"]
    assert set(found) == {"slack", "pairs", "complete", "minority_mean"}
    assert found["slack"] == 1e-4
    assert [pair["classes"] for pair in found["pairs"]] == [["1", "2"], ["1", "3"], ["2", "3"]]
    assert all(pair["certified"] for pair in found["pairs"])
    assert found["pairs"][2]["low"] == pytest.approx(-0.2334630729, abs=1e-8)
    assert found["pairs"][2]["high"] == pytest.approx(-0.1571239416, abs=1e-8)
    only = found["pairs"][2]  # two minorities have one cosine, which is its own mean
    assert found["minority_mean"] == pytest.approx({"low": only["low"], "high": only["high"]}, abs=1e-8)


def test_without_slack_nothing_is_added(run):
    assert "ranges" not in run(*THREE, "--json").json


def test_a_person_reads_what_is_open_and_what_is_settled(run):
    settled = run(*THREE, "-t", 0.5, "--slack", 1e-5).stdout
    assert "every cosine asked about is settled to 0.024" in " ".join(settled.split())
    opened = " ".join(run(*THREE, "--slack", 1e-4).stdout.split())
    assert "no angle is settled" in opened
    assert "from -1.000 to +0.200" in opened


def test_nothing_is_said_of_the_smallest_angle_that_no_three_points_have(run):
    """Pair 2-3 may stand at 180 degrees, but then another angle is the smallest: never more than 120 of three."""
    said = " ".join(run(*THREE, "--slack", 1e-4).stdout.split())
    assert "The smallest angle at the optimum, 115.7° between classes 2 and 3: this pair may be anywhere from" in said
    assert "smallest angle, 115.7°" not in said


def test_bounds_that_are_not_known_to_be_reached_are_not_said_to_be():
    loose, tight = Range(-1.0, 0.5, certified=False), Range(-1.0, 0.5, certified=True)

    def said(*found, complete=True, mean=None):
        pairs = tuple(PairRange(("a", str(n)), 0.0, range_) for n, range_ in enumerate(found))
        ranges = Ranges(1e-4, pairs, complete, mean, pairs[0])
        return opening(ranges), " ".join(closing(ranges))

    assert all("may be anywhere from" in text for text in said(tight))
    assert "some come to each end" in said(tight, mean=tight)[1]
    assert not any("may be anywhere" in text for text in said(loose, tight))
    assert "no angle is proven to be settled" in said(loose, tight)[0]
    assert "some ends may not be reached" in said(tight, mean=loose)[1]
    assert "no angle asked about is settled" in said(tight, complete=False)[0]


@pytest.mark.slow
def test_many_sizes_ask_about_some_pairs_and_those_that_are_named(run):
    counts = ",".join(str(n) for n in range(10, 35))
    answer = run("imbalance", "--counts", counts, "-t", 1, "--slack", 1e-5, "--pairs", "3:9", "--json").json
    found = answer["ranges"]
    assert not found["complete"]
    assert ["3", "9"] in [pair["classes"] for pair in found["pairs"]]
    widths = {tuple(pair["classes"]): pair["high"] - pair["low"] for pair in found["pairs"]}
    assert widths["1", "2"] == max(widths.values())  # the two rarest classes
    assert widths["24", "25"] == min(widths.values())  # the two most frequent


def test_equal_classes_have_one_range_for_all_their_pairs():
    report = solve(Imbalance(counts=[4, 2, 2, 2], loss={"name": "supcon", "temperature": 0.5}, slack=1e-4))
    assert report.ranges is not None
    assert [pair.classes for pair in report.ranges.pairs] == [("1", "2"), ("2", "3")]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--slack", 0), "--slack"),
        (("--slack", "inf"), "--slack"),
        (("--pairs", "1:2"), "give the slack too"),
        (("--slack", 1e-4, "--pairs", "1:4"), "there is no class '4'"),
        (("--slack", 1e-4, "--pairs", "1"), "'1' is no pair of classes"),
        (("--slack", 1e-4, "--pairs", "2:2"), "'2' stands twice"),
        (("--slack", 1e-4, "--dim", 1), "leave the dimension or the slack out"),
        (("--slack", 1e-4, "--loss", "infonce", "--hardness", 1), "not convex"),
        (("--slack", 1e-4, "--loss", "weince"), "every geometry is optimal"),
    ],
)
def test_what_makes_no_sense_is_refused(run, flags, words):
    ended = run(*THREE, *flags)
    assert (ended.code, ended.stdout) == (2, "")
    assert words in ended.stderr


def test_kinks_have_ranges_too():
    """Triplet with margin 1 of three equal classes charges nothing below cosine 0: every such geometry is optimal."""
    report = solve(Imbalance(counts=[1, 1, 1], loss="triplet", slack=1e-3))
    assert report.ranges is not None
    (pair,) = report.ranges.pairs
    assert pair.range.low == -1.0
    # F = mean over pairs of max(cosine, 0); all of the slack on one of three pairs
    assert pair.range.high == pytest.approx(3e-3, abs=1e-6)


def test_problem_files_ask_for_ranges(tmp_path, run):
    file = tmp_path / "p.yaml"
    file.write_text("kind: imbalance\nprops: [0.7, 0.2, 0.1]\nslack: 1e-4\npairs: ['1:2']\n")
    assert run("validate", file).code == 0
    assert run("solve", file, "--json").json["ranges"]["slack"] == 1e-4
    with pytest.raises(InputError, match="slack"):
        Imbalance(props=[0.5, 0.5], slack=-1)


@pytest.mark.slow
def test_a_long_tailed_set_has_the_published_range(run):
    answer = run("imbalance", "--dataset", "cifar10-lt:100", "--slack", 1e-5, "--json").json
    found = answer["ranges"]
    assert len(found["pairs"]) == 45
    (pair,) = [pair for pair in found["pairs"] if pair["classes"] == ["ship", "truck"]]
    assert (pair["low"], pair["high"]) == pytest.approx((-0.5656, 0.3347), abs=1e-4)
    assert pair["certified"]


def test_the_smallest_angle_has_its_range_where_one_pair_has_it(run):
    said = " ".join(run(*THREE, "-t", 0.5, "--slack", 1e-4).stdout.split())
    low, high = (math.degrees(math.acos(x)) for x in (-0.1571239416, -0.2334630729))
    assert f"between classes 2 and 3: this pair may be anywhere from {low:.1f}° to {high:.1f}°." in said
    assert "smallest angle" not in run("imbalance", "--props", "4*0.25", "-t", 0.5, "--slack", 1e-4).stdout


def test_two_labels_in_closed_form(run):
    """F(c) = -P (c - 1)/t + log((1 + e^{(c - 1)/t})/2), P = w/(1 + w), w = e^{-1/2}: least at c = 1 + t log w."""
    t, w, slack = 0.5, math.exp(-0.5), 1e-3

    def loss(c):
        return -w / (1 + w) * (c - 1) / t + math.log((1 + math.exp((c - 1) / t)) / 2)

    best = 1 + t * math.log(w)
    ends = [brentq(lambda c: loss(c) - loss(best) - slack, *sorted((best, far))) for far in (-1.0, 1.0)]
    command = ("realizable", "--weighting", "yaware", "--similarity", "cosine", "--labels", "0,1", "-t", t)
    answer = run(*command, "--slack", slack, "--json").json
    (pair,) = answer["ranges"]["pairs"]
    assert pair["classes"] == ["0", "1"]
    assert (pair["low"], pair["high"]) == pytest.approx(ends, abs=1e-7)
    assert pair["certified"]
    assert answer["ranges"]["minority_mean"] is None
    assert "ranges" not in run(*command, "--json").json


@pytest.mark.slow
def test_labels_that_repeat_agree_with_the_full_size_program():
    """Straight in cvxpy, one row a sample: the largest cosine of one sample of each label within the slack."""
    cp = pytest.importorskip("cvxpy")
    labels, sigma, t, slack = np.array([20.0, 25.0, 30.0, 30.0]), 5.0, 0.5, 1e-3
    weights = np.exp(-(np.subtract.outer(labels, labels) ** 2) / (2 * sigma**2))
    target = weights / weights.sum(axis=1, keepdims=True)
    gram = cp.Variable((4, 4), PSD=True)
    rows = [cp.log_sum_exp((gram[i] - 1) / t) - target[i] @ (gram[i] - 1) / t for i in range(4)]
    loss, unit = sum(rows) / 4, cp.diag(gram) == 1
    best = cp.Problem(cp.Minimize(loss), [unit]).solve(solver="CLARABEL")

    def end(a, b, sign):
        inside = [unit, loss <= best + slack]
        return sign * cp.Problem(cp.Maximize(sign * gram[a, b]), inside).solve(solver="CLARABEL")

    question = Realizable(
        weighting="yaware", labels=labels.tolist(), sigma=sigma, temperature=t, similarity="cosine", slack=slack
    )
    report = solve(question)
    found = {pair.classes: pair.range for pair in report.ranges.pairs}
    assert set(found) == {("20", "25"), ("20", "30"), ("25", "30")}
    for (a, b), names in {(0, 1): ("20", "25"), (0, 2): ("20", "30"), (1, 3): ("25", "30")}.items():
        assert found[names].low == pytest.approx(end(a, b, -1), abs=2e-4)
        assert found[names].high == pytest.approx(end(a, b, 1), abs=2e-4)
        assert found[names].certified


def test_a_person_reads_ranges_of_labels(run):
    command = ("realizable", "--weighting", "yaware", "--similarity", "cosine", "--labels", "20,25,30", "--sigma", 5)
    said = " ".join(run(*command, "-t", 0.5, "--slack", 0.1).stdout.split())
    assert "no angle is settled: the cosine of labels" in said


@pytest.mark.slow
def test_many_labels_ask_about_some_pairs_and_those_that_are_named():
    labels = [float(x) for x in range(13)]
    question = {"weighting": "yaware", "similarity": "cosine", "labels": labels, "sigma": 2, "temperature": 1}
    report = solve(Realizable(**question, slack=1e-4, pairs="3:9"))
    assert not report.ranges.complete
    assert ("3", "9") in [pair.classes for pair in report.ranges.pairs]
    assert len(report.ranges.pairs) <= 8


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--labels", "1,2", "--similarity", "euclidean", "--slack", 1e-4), "ask with similarity cosine"),
        (("--similarity", "cosine", "--slack", 1e-4), "there are none; add --labels"),
        (("--labels", "1,2", "--similarity", "cosine", "--pairs", "1:2"), "give the slack too"),
        (("--labels", "1,2", "--similarity", "cosine", "--slack", 1e-4, "--pairs", "1:3"), "there is no label '3'"),
        (
            ("--labels", "1,2", "--similarity", "cosine", "--slack", 1e-4, "--dim", 1),
            "leave the dimension or the slack",
        ),
        (("--labels", "2,2", "--similarity", "cosine", "--slack", 1e-4), "one distinct label"),
    ],
)
def test_ranges_of_labels_that_make_no_sense_are_refused(run, flags, words):
    ended = run("realizable", "--weighting", "yaware", *flags)
    assert (ended.code, ended.stdout) == (2, "")
    assert words in " ".join(ended.stderr.split())
