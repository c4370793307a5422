"""A target of distances: squared or plain, in the forms in which programs write it; ranges of missing entries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from geomsolve import Realizable, solve
from geomsolve.errors import InputError
from geomsolve.reading.matrices import read_partial
from geomsolve.weightings.custom import looks_plain

TRIANGLE = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])

FORMS = {
    "above.csv": "a,b,c\n0,3,4\n3,0,5\n4,5,0\n",
    "both.csv": ",a,b,c\na,0,3,4\nb,3,0,5\nc,4,5,0\n",
    "corner.tsv": "id\ta\tb\tc\na\t0\t3\t4\nb\t3\t0\t5\nc\t4\t5\t0\n",
    "order.csv": ",c,a,b\na,4,0,3\nb,5,3,0\nc,0,4,5\n",
    "beside.csv": "a,0,3,4\nb,3,0,5\nc,4,5,0\n",
    "pairs.csv": "i,j,s\na,b,3\na,c,4\nc,b,5\n",
    "bare.csv": "a,b,3\na,c,4\nb,c,5\n",
}


@pytest.mark.parametrize("file", FORMS)
def test_names_of_samples_are_read(file, tmp_path):
    (tmp_path / file).write_text(FORMS[file])
    table = read_partial(f"@{tmp_path / file}")
    assert table.names == ("a", "b", "c")
    known = ~np.isnan(table.values)
    assert known[~np.eye(3, dtype=bool)].all()
    assert np.array_equal(table.values[known], TRIANGLE[known])


@pytest.mark.parametrize(
    "written",
    [
        "3,4,5",
        [3, 4, 5],
        np.array([3.0, 4, 5]),
        "1,2,3;1,3,4;2,3,5",
        "7,20,3;7,100,4;100,20,5",
        "@line.csv",
        "@ij.csv",
        "@index.csv",
        "@ids.csv",
    ],
)
def test_condensed_vectors_and_pairs_by_number_are_read(written, tmp_path):
    (tmp_path / "line.csv").write_text("3\n4\n5\n")
    (tmp_path / "ij.csv").write_text("i,j,s\n0,1,3\n0,2,4\n1,2,5\n")
    (tmp_path / "index.csv").write_text(",0,1,2\n0,0,3,4\n1,3,0,5\n2,4,5,0\n")
    (tmp_path / "ids.csv").write_text(",101,102,103\n101,0,3,4\n102,3,0,5\n103,4,5,0\n")
    found = np.nan_to_num(read_partial(written, tmp_path).values)
    if isinstance(written, str) and written.startswith("7"):  # 7, 20 and 100 in order
        assert [found[0, 1], found[0, 2], found[1, 2]] == [3, 4, 5]
    assert np.array_equal(found, TRIANGLE)


def test_what_is_a_matrix_stays_one(tmp_path):
    (tmp_path / "blank.csv").write_text(",9,16\n9,,25\n16,25,\n")  # its diagonal is blank, and no name
    assert np.array_equal(np.nan_to_num(read_partial("@blank.csv", tmp_path).values), TRIANGLE**2)
    assert np.array_equal(read_partial("1,2,3;2,1,4;3,4,1").values, [[1, 2, 3], [2, 1, 4], [3, 4, 1]])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("3,4,5,6", "n \\(n - 1\\)/2 numbers"),
        ("@twice.csv", "the pair b, a is listed twice, as 3 and as 4"),
        ("@same.csv", "two rows are called 'a'"),
        ("@word.csv", "'x' in line 3"),
    ],
)
def test_what_is_wrong_is_said(written, said, tmp_path):
    (tmp_path / "twice.csv").write_text("i,j,s\na,b,3\nb,a,4\n")
    (tmp_path / "same.csv").write_text("a,0,3\na,3,0\n")
    (tmp_path / "word.csv").write_text(",a,b\na,0,3\nb,x,0\n")
    with pytest.raises(InputError, match=said):
        read_partial(written, tmp_path)


def test_what_no_pair_lists_is_unknown():
    values = read_partial("1,2,3;1,3,4").values
    assert np.isnan(values[1, 2])
    assert values[2, 0] == 4


def test_plain_distances_are_squared():
    """3, 4, 5 is a right triangle in the plane: its squared distances are 9, 16, 25 and its circle has radius 2.5."""
    plain = solve(Realizable("custom", target="3,4,5", distances="plain"))
    assert (plain.verdict, plain.least_dimension) == ("realizable", 2)
    assert plain.attained[np.triu_indices(3, 1)] == pytest.approx([9, 16, 25])
    assert plain.target["radius"] == pytest.approx(2.5)
    squared = solve(Realizable("custom", target="9,16,25", distances="squared"))
    assert np.allclose(plain.attained, squared.attained)
    # 3 is a longer way than 1 + 1; its root is not
    assert solve(Realizable("custom", target="1,1,3", distances="plain")).verdict == "inconsistent"
    assert solve(Realizable("custom", target="1,1,3", distances="squared")).verdict == "realizable"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ("--target", "3,4,5", "--distances", "plain", "--similarity", "cosine"),
            "--distances: cosines are no distances",
        ),
        (("--weights", "1,.5;.5,1", "--distances", "plain"), "--distances: this says what a target holds"),
        (("--target", "-3,4,5", "--distances", "plain"), "--target: squared distances lie at least 0"),
        (("--target", "3,4,5", "--distances", "cubed"), "--distances: unknown distances 'cubed'"),
    ],
)
def test_distances_that_make_no_sense(run, flags, said):
    shown = run("realizable", "--weighting", "custom", *flags)
    assert (shown.code, shown.stdout) == (2, "")
    assert said in shown.stderr


def test_the_command_says_squared_or_not(run):
    line = "1,2,3,1,2,1"  # 0, 1, 2, 3 on a line
    asked = ("realizable", "--weighting", "custom", "--target", line)
    shown = run(*asked, "--similarity", "euclidean")
    assert "taken as squared distances" in shown.stderr
    assert "looks like plain ones" in shown.stderr
    assert "in 3 dimensions" in shown.stdout
    shown = run(*asked, "--distances", "plain")
    assert (shown.code, shown.stderr) == (0, "")
    assert "in 1 dimension attains" in " ".join(shown.stdout.split())
    assert "distances plain" in shown.stdout
    assert run(*asked, "--distances", "squared").stderr == ""


def squared(points):
    return np.sum((points[:, None] - points[None]) ** 2, axis=-1)


def test_plain_distances_are_told_from_squared_ones(rng):
    """A cube has no obtuse triangle: its squared distances obey the triangle inequality, too."""
    plane = squared(rng.normal(size=(8, 2)))
    cube = squared(np.array(list(itertools.product((0.0, 1.0), repeat=3))))
    many = squared(rng.normal(size=(40, 25)))
    for points in (plane, cube):
        assert looks_plain(np.sqrt(points))
    for points in (plane, cube, many, 1 - np.eye(6)):
        assert not looks_plain(points)
    assert not looks_plain(np.array([[0.0, 9, 16], [9, 0, 25], [16, 25, 0]]))


def test_each_of_ten_missing_entries_gets_its_range(tmp_path, run):
    """Five points around one, at cosines c_i to it: between two of them c_i c_j -+ sqrt(1 - c_i^2) sqrt(1 - c_j^2)."""
    cosines = np.array([0.6, -0.3, 0.8, 0.1, 0.5])
    (tmp_path / "star.csv").write_text(
        "i,j,s\n" + "".join(f"hub,{x},{c}\n" for x, c in zip("abcde", cosines, strict=True))
    )
    shown = run("realizable", "--weighting", "custom", "--target", f"@{tmp_path / 'star.csv'}", "--json").json
    assert [each["name"] for each in shown["labels"]] == ["hub", *"abcde"]
    assert len(shown["completions"]) == 10
    for entry in shown["completions"]:
        one, other = cosines[entry["row"] - 2], cosines[entry["column"] - 2]
        spread = np.sqrt((1 - one**2) * (1 - other**2))
        assert entry["low"] == pytest.approx(one * other - spread, abs=1e-6)
        assert entry["high"] == pytest.approx(one * other + spread, abs=1e-6)


def test_ranges_that_are_not_worked_out_are_counted(run, monkeypatch):
    monkeypatch.setattr("geomsolve.solvers.completion.FEWEST_RANGES", 1)
    monkeypatch.setattr("geomsolve.solvers.completion.MOST_RANGES", 1)
    said = run("realizable", "--weighting", "custom", "--target", "1,2,.6;1,3,.5;1,4,.4").stdout
    assert said.count("Missing entry, row") == 1
    assert "The range of 2 missing entries was not worked out." in said
