"""``imbalance --slack``: the command, problem files and messages; the mathematics is in test_ranges.py."""

from __future__ import annotations

import pytest

from geomsolve import Imbalance, InputError, solve

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
