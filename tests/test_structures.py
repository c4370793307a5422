"""Labels with a structure: several a sample, trees, orders; the weightings made for them; rounded labels."""

from __future__ import annotations

import numpy as np
import pytest

from geomsolve import InputError, Realizable, solve
from geomsolve.reading.labels import read_labels

# ---------------------------------------------------------------- reading


def test_several_labels_a_sample_in_every_form(tmp_path):
    rows = [[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 1, 1]]
    (tmp_path / "tags.txt").write_text("a|c\nb|c\n\na|b\nc|b\n")
    (tmp_path / "tags.csv").write_text("id,tags\n1,a|c\n2,b|c\n3,a|b\n4,c|b\n")
    (tmp_path / "rows.csv").write_text("file,a,b,c\nx,1,0,1\ny,0,1,1\nz,1,1,0\nw,0,1,1\n")
    (tmp_path / "plain.txt").write_text("1 0 1\n0 1 1\n1 1 0\n0 1 1\n")
    np.save(tmp_path / "rows.npy", np.array(rows))
    named = ("a|c", "b|c", "a|b", "b|c")
    for text in ("a|c,b|c,a|b,c|b", "a|c;b|c;a|b;c|b", "multilabel:a|c,b|c,a|b,c|b"):
        table = read_labels(text)
        assert (table.values.tolist(), table.names, table.spelled) == (rows, ("a", "b", "c"), named)
    for file in ("tags.txt", "tags.csv:tags", "rows.csv"):
        table = read_labels(f"multilabel:@{file}", tmp_path)
        assert (table.values.tolist(), table.spelled) == (rows, named)
    for text in ("101,011,110,011", "1,0,1;0,1,1;1,1,0;0,1,1", "@plain.txt", "@rows.npy"):
        assert read_labels(f"multilabel:{text}", tmp_path).values.tolist() == rows
    assert read_labels(["a|c", "b|c", "a|b", "c|b"]).values.tolist() == rows
    for given in (np.array(["a|c", "b|c", "a|b", "c|b"]), [["a", "c"], ["b", "c"], ["b", "a"], {"c", "b"}]):
        table = read_labels(given)
        assert (table.values.tolist(), table.names, table.spelled) == (rows, ("a", "b", "c"), named)
    with pytest.raises(InputError, match="row 2 holds 3"):
        read_labels("multilabel:1,0;0,3")
    (tmp_path / "heading.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="there are no labels"):
        read_labels("multilabel:@heading.csv", tmp_path)


def test_trees_and_orders(tmp_path):
    (tmp_path / "paths.txt").write_text("animal/dog\nanimal/cat\nplant/oak\nanimal/dog\n")
    (tmp_path / "levels.csv").write_text("kind,class,count\nanimal,dog,2\nanimal,cat,1\nplant,oak,3\n")
    assert read_labels("tree:@paths.txt", tmp_path).values.tolist() == [[0, 0], [0, 1], [1, 0], [0, 0]]
    table = read_labels("tree:@levels.csv", tmp_path)
    assert table.values.tolist() == [[0, 0], [0, 0], [0, 1], [1, 0], [1, 0], [1, 0]]
    assert table.spelled[2:4] == ("animal/cat", "plant/oak")
    for paths in ("a/x,a/y,b/x", "a/x;a/y;b/x", "a,x;a,y;b,x"):
        assert read_labels(f"tree:{paths}").values.tolist() == [[0, 0], [0, 1], [1, 0]]
    table = read_labels(["a/x", "a/y", "b/x"])
    assert (table.values.tolist(), table.spelled) == ([[0, 0], [0, 1], [1, 0]], ("a/x", "a/y", "b/x"))
    with pytest.raises(InputError, match=r"takes one place in a tree.*several labels a sample"):
        Realizable("hierarchy", labels=[["a", "x"], ["a", "y"]])
    assert read_labels("tree:2x3").values.shape == (6, 2)
    assert read_labels("ordered:low<mid<high:mid,low,high,low").values.tolist() == [1, 0, 2, 0]
    with pytest.raises(InputError, match="as many levels"):
        read_labels("tree:a/x,b")
    with pytest.raises(InputError, match=r"'hihg', which is not in the order.*did you mean 'high'"):
        read_labels("ordered:low<mid<high:mid,hihg")
    with pytest.raises(InputError, match=r"'cat' is not a number; names, one a sample, are written multilabel:cat,dog"):
        read_labels("cat,dog")
    with pytest.raises(InputError, match=r"'x' is not a number$"):
        read_labels("1,x")
    with pytest.raises(InputError, match="is no tree"):
        read_labels("tree:cat")


# ---------------------------------------------------------------- several labels


ROWS = "multilabel:101,011,110,011"


def test_per_label_weights_are_inconsistent(run):
    answer = run("realizable", "--weighting", "shared", "--per-label", "--labels", ROWS, "-t", 0.5, "--json").json
    assert answer["verdict"] == "inconsistent"
    assert answer["optimum"]["value"] == pytest.approx(-0.06606758950, abs=1e-10)
    assert answer["optimum"]["certified"]
    assert [label["name"] for label in answer["labels"]] == ["1|3", "2|3", "1|2"]


@pytest.mark.parametrize(
    ("weighting", "weight"), [("jaccard", 1 / 3), ("shared", 1 / 2), ("any", 1.0)], ids=["jaccard", "shared", "any"]
)
def test_weights_of_two_samples_that_share_one_of_three_labels(weighting, weight):
    """Two labels each: 1 of 3 by Jaccard, 1 against 2 with itself by number, 1 by any."""
    report = solve(Realizable(weighting=weighting, labels="a|b,b|c", temperature=0.5))
    assert report.verdict == "realizable"
    assert report.attained[0, 1] == pytest.approx(1 + 0.5 * np.log(weight), abs=1e-12)


def test_samples_without_a_label_in_common_are_degenerate_and_without_a_label_refused(run):
    assert solve(Realizable(weighting="any", labels="a|b,b|c,d", temperature=0.5)).verdict == "degenerate"
    for labels, said in (("multilabel:10,00", "one sample has none"), ("1,2,3", "rows of 0 and 1")):
        shown = run("realizable", "--weighting", "jaccard", "--labels", labels)
        assert shown.code == 2
        assert said in shown.stderr


# ---------------------------------------------------------------- trees


def tree(groups, classes, tau, upper, labels=None, **more):
    settings = {"level_weights": [upper, 1 - upper], "temperature": tau, **more}
    return solve(Realizable(weighting="hierarchy", labels=labels or f"tree:{groups}x{classes}", **settings))


def test_a_tree_of_two_groups_of_two(run):
    report = tree(2, 2, 0.5, 0.3)
    assert report.attained[0, 1] == pytest.approx(0.2745023624, abs=1e-9)
    assert report.attained[0, 2] == pytest.approx(-0.6372511812, abs=1e-9)
    assert report.value == pytest.approx(-0.8986115752, abs=1e-10)
    assert report.merging["value"] == pytest.approx(0.9640275801, abs=1e-9)
    assert not report.merging["merged"]
    arguments = ("realizable", "--weighting", "hierarchy", "--labels", "tree:2x2", "-t", 0.5)
    shown = run(*arguments, "--level-weights", "0.3,0.7")
    assert "Classes of a group share a point from a weight of the upper level of 0.96402758" in shown.stdout
    assert run(*arguments, "--level-weights", "0.3,0.7", "--json").json["merging"]["value"] == report.merging["value"]
    shown = run(*arguments, "--level-weights", "1,2,3")
    assert shown.code == 2
    assert "3 weights for a tree of 2 levels" in shown.stderr


def test_a_tree_of_five_groups_of_twenty():
    """Cosines to rounding, not only to the root of the gap: the optimum has nearly full rank."""
    report = tree(5, 20, 0.1, 0.3)
    assert report.certified
    assert report.attained[0, 1] == pytest.approx(0.6137134721, abs=1e-9)
    assert report.attained[0, 20] == pytest.approx(-0.1582569496, abs=1e-9)


@pytest.mark.parametrize("upper", [0.5371, 0.5373])
def test_siblings_merge_from_the_threshold_on(upper):
    """At 3 groups of 2 the threshold is (1 - x) / (1 + 2 x), x = e^{-3/2}; both sides of it are solved."""
    report = tree(3, 2, 1.0, upper)
    assert report.merging["value"] == pytest.approx(0.5371576811, abs=1e-9)
    assert report.merging["merged"] == (upper > 0.5372)
    assert (report.attained[0, 1] > 1 - 1e-6) == report.merging["merged"]


def test_the_lowest_groups_of_a_deep_tree_merge_from_a_share_on(run):
    """With hardly any weight at the top, 2 x 2 x 2 is a tree of 4 groups of 2: (1 - x) / (1 + 3 x), x = e^{-4/3}.  With
    some weight there, both sides of the threshold are solved."""
    x = np.exp(-4 / 3)
    asked = {"weighting": "hierarchy", "labels": "tree:2x2x2", "temperature": 1.0}
    plain = solve(Realizable(level_weights=[1e-10, 0.5, 0.5], **asked))
    assert plain.merging["value"] == pytest.approx((1 - x) / (1 + 3 * x), abs=1e-8)
    found = solve(Realizable(level_weights=[0.2, 0.4, 0.4], **asked)).merging["value"]
    for share in (found - 1e-3, found + 1e-3):
        report = solve(Realizable(level_weights=[0.2, 0.8 * share, 0.8 * (1 - share)], **asked))
        assert report.merging["value"] == pytest.approx(found, abs=1e-9)
        assert report.merging["merged"] == (share > found) == (report.attained[0, 1] > 1 - 1e-6)
    shown = run("realizable", "--weighting", "hierarchy", "--labels", "tree:2x2x2", "-t", 1)
    assert "from a share of the last level but one in the last two of " in " ".join(shown.stdout.split())


def test_rank_n_contrast_says_what_stands_in_its_way(run):
    shown = run("realizable", "--weighting", "rnc", "--labels", "0,1,2", "--quiet")
    assert "because every pair should beat those with farther labels" in " ".join(shown.stdout.split())
    assert "some weights are 0" not in shown.stdout


def test_shares_of_classes_move_the_threshold_to_where_the_solver_merges(tmp_path):
    """Samples 3, 1 in one group and 2, 2 in the other; the least upper weight whose solution is merged agrees."""
    (tmp_path / "t.csv").write_text("g,c,count\na,x,3\na,y,1\nb,x,2\nb,y,2\n")
    found = tree(0, 0, 0.5, 0.5, labels="tree:@t.csv", base=tmp_path).merging["value"]
    for upper in (found - 1e-3, found + 1e-3):
        report = tree(0, 0, 0.5, upper, labels="tree:@t.csv", base=tmp_path)
        both = report.attained[0, 1] > 1 - 1e-6 and report.attained[2, 3] > 1 - 1e-6
        assert both == (upper > found)


def test_one_level_is_supcon():
    one = solve(Realizable(weighting="hierarchy", labels="tree:a,a,a,b,b,c", temperature=0.3))
    other = solve(Realizable(weighting="supcon", labels="classes:3,2,1", temperature=0.3))
    assert one.value == pytest.approx(other.value, abs=1e-9)


# ---------------------------------------------------------------- rank-n-contrast


@pytest.mark.parametrize("tau", [0.1, 0.5, 2.0])
def test_rank_n_contrast_of_three_scalars(tau):
    report = solve(Realizable(weighting="Rank-N-Contrast", labels=[0, 1, 2], temperature=tau))
    assert report.verdict == "degenerate"
    assert report.value == pytest.approx((np.log(2) + np.log1p(np.exp(-9 / (8 * tau)))) / 3, abs=1e-10)
    np.testing.assert_allclose(report.attained[[0, 0, 1], [1, 2, 2]], [0.25, -0.875, 0.25], atol=1e-5)


def test_rank_n_contrast_as_a_command(run):
    answer = run("realizable", "--loss", "rnc", "--labels", "0,1,2", "-t", 0.5, "--json").json
    assert answer["optimum"]["value"] == pytest.approx(0.26445124649, abs=1e-10)
    answer = run("realizable", "--loss", "rnc", "--labels", "line:5", "-t", 0.5, "--json").json
    assert answer["optimum"]["value"] == pytest.approx(0.45369529484, abs=1e-10)
    assert answer["attained"][0][1] == pytest.approx(0.733810404, abs=1e-7)
    assert answer["attained"][0][4] == pytest.approx(-0.999611196, abs=1e-7)
    shown = run("realizable", "--loss", "rnc", "--labels", "0,1,2", "--similarity", "euclidean")
    assert (shown.code, "on cosines" in shown.stderr) == (2, True)


def test_rank_n_contrast_against_its_definition(rng):
    """Equal labels, ties and all, pair by pair over single samples."""
    labels = np.array([0.0, 0.1, 0.2, 0.2, 0.3, 0.5])
    problem = Realizable(weighting="rnc", labels=labels.tolist(), temperature=0.7)
    from geomsolve.analyses.realizable import target_of, weighting_of

    target = target_of(problem, weighting_of(problem))
    x = rng.standard_normal((6, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[3] = x[2]
    s, apart, total = x @ x.T / 0.7, np.round(np.abs(labels[:, None] - labels), 9), 0.0
    for i in range(6):
        for j in range(6):
            if i != j:
                farther = [k for k in range(6) if k != i and apart[i, k] >= apart[i, j]]
                total += np.log(np.exp(s[i, farther]).sum()) - s[i, j]
    cosines = target.orbits.reduce(x @ x.T)
    assert target.objective().value(cosines) == pytest.approx(total / 30, abs=1e-12)
    assert target.floor < total / 30


def test_equally_far_labels_attain_rank_n_contrast_and_nothing_trains_it(run):
    assert solve(Realizable(weighting="rnc", labels="simplex:4")).verdict == "realizable"
    shown = run("check", "--weighting", "rnc", "--labels", "0,1,2")
    assert shown.code == 2
    assert "no training recipe" in shown.stderr or "torch" in shown.stderr


# ---------------------------------------------------------------- rounding


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({}, 30),
        ({"arc": 8.0}, 30),
        ({"similarity": "euclidean"}, 30),
        ({"self_pairs": "exclude"}, 8),
        ({"kernel": "epanechnikov"}, 9),
    ],
    ids=("plain", "arc", "euclidean", "exclude", "epanechnikov"),
)
def test_the_optimum_of_labels_as_given_lies_where_rounding_says(rng, asked, count):
    """Proven from the rounded labels alone; the optimum of all of them, solved, lies within, and the bound of an
    ordinary loss is as sharp as its excess over the floor."""
    labels = np.round(rng.uniform(20, 60, count), 2)
    common = {"weighting": "yaware", "sigma": 5, **asked}
    exact = solve(Realizable(labels=labels.tolist(), **common))
    report = solve(Realizable(labels=labels.tolist(), bin=2.0, **common))
    found = report.binning
    assert found.low <= exact.value + 1e-12
    assert found.high >= exact.lower_bound - 1e-12
    assert abs(report.value - exact.value) <= found.error + 1e-12
    if not asked:
        assert found.high - found.low < exact.best["excess"]


def test_labels_in_the_plane_are_bounded_too_when_rounded(rng):
    labels = rng.uniform(0, 12, (14, 2)).tolist()
    exact = solve(Realizable("yaware", labels=labels, sigma=5))
    found = solve(Realizable("yaware", labels=labels, sigma=5, bin=1)).binning
    assert found.low <= exact.value
    assert found.high >= exact.lower_bound


def test_rounded_labels_say_what_that_costs(run):
    arguments = ("realizable", "--weighting", "yaware", "--labels", "20.1,24.9,30,30.2", "--sigma", 5, "--bin", 1)
    answer = run(*arguments, "--json").json
    assert [label["name"] for label in answer["labels"]] == ["20", "25", "30"]
    found = answer["binning"]
    assert (found["before"], found["distinct"]) == (4, 3)
    exact = run(*arguments[:-2], "--json").json["optimum"]
    assert found["low"] <= exact["value"]
    assert found["high"] >= exact["lower_bound"]
    assert "rounded to multiples of 1: 3 distinct ones of 4; as given, their optimum is between" in " ".join(
        run(*arguments).stdout.split()
    )
    shown = run("realizable", "--weighting", "jaccard", "--labels", "a|b,b", "--bin", 1)
    assert (shown.code, "these labels are names" in shown.stderr) == (2, True)


def test_a_quiet_check_prints_both_sentences(run):
    pytest.importorskip("torch")
    shown = run("realizable", "--weighting", "yaware", "--labels", "20,25", "--sigma", 5, "--check", "--quiet")
    assert shown.stdout.startswith("Realizable")
    assert len([line for line in shown.stdout.splitlines() if line[:1].isupper()]) >= 2
