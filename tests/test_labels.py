"""Label sets as users write them, and what is said when they are wrong."""

import re

import numpy as np
import pytest

from geomsolve.reading import labels, matrices
from geomsolve.reading.generators import GENERATORS


def read_labels(*given, **more):
    return labels.read_labels(*given, **more).points


def read_matrix(*given):
    return matrices.read_partial(*given).values


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("20,25,30", [[20], [25], [30]]),
        ("20 25 1/4", [[20], [25], [0.25]]),
        ("0,0;1,0;0,1", [[0, 0], [1, 0], [0, 1]]),
        ("0,0; 1,0;", [[0, 0], [1, 0]]),
        ("line:3", [[0], [1], [2]]),
        ("line:3:0.5", [[0], [0.5], [1]]),
        ("grid:2x2", [[0, 0], [0, 1], [1, 0], [1, 1]]),
        ("classes:2,1", [[1, 0], [1, 0], [0, 1]]),
        ([1, 2], [[1], [2]]),
        (([1.0, 2.0], [3, 4]), [[1, 2], [3, 4]]),
        (np.array([1.0, 5.0]), [[1], [5]]),
    ],
)
def test_forms(text, wanted):
    np.testing.assert_allclose(read_labels(text), wanted)


def test_generated_spheres_and_simplices():
    circle = read_labels("circle:8:2.5")
    np.testing.assert_allclose(np.linalg.norm(circle, axis=1), 2.5)
    np.testing.assert_allclose(np.linalg.norm(np.diff(circle, axis=0), axis=1), 5 * np.sin(np.pi / 8))
    sphere = read_labels("sphere:40:3", seed=1)
    assert sphere.shape == (40, 3)
    np.testing.assert_allclose(np.linalg.norm(sphere, axis=1), 1)
    np.testing.assert_array_equal(sphere, read_labels("sphere:40:3", seed=1))
    assert not np.array_equal(sphere, read_labels("sphere:40:3", seed=2))
    simplex = read_labels("simplex:4")
    np.testing.assert_allclose(simplex @ simplex.T, 4 / 3 * np.eye(4) - 1 / 3, atol=1e-12)


def test_every_generator_has_an_example_that_works():
    for generator in GENERATORS.values():
        assert read_labels(generator.example).shape[0] >= 2


def test_files(tmp_path):
    (tmp_path / "ages.csv").write_text("id,age,site\n1,20,0.5\n2,25,1\n")
    np.testing.assert_array_equal(read_labels("@ages.csv:age", tmp_path), [[20], [25]])
    np.testing.assert_array_equal(read_labels("@ages.csv:age,site", tmp_path), [[20, 0.5], [25, 1]])
    (tmp_path / "plain.txt").write_text("# ages\n20\n25\n30\n")
    np.testing.assert_array_equal(read_labels("@plain.txt", tmp_path), [[20], [25], [30]])
    (tmp_path / "rows.csv").write_text("0,1\n2,3\n")
    np.testing.assert_array_equal(read_labels("@rows.csv", tmp_path), [[0, 1], [2, 3]])
    np.save(tmp_path / "y.npy", np.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(read_labels("@y.npy", tmp_path), [[0, 1], [2, 3], [4, 5]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no labels"),
        ("7", "one label"),
        ("1,nan", "label 2 is nan"),
        ("1,inf", "label 2 is inf"),
        ("a,b", "'a' is not a number"),
        ("0,0;1", "2 entries"),
        ("0,0;1,x", "'x' is not a number in label 2"),
        ("lines:9", "did you mean 'line'"),
        ("line:1", "from 2"),
        ("line:x", "'x'"),
        ("line:9:0", "above 0"),
        ("circle:8:-1", "above 0"),
        ("circle:8:1:1", "like circle:8"),
        ("sphere:9:1", "dimension"),
        ("grid:2", None),
        ("grid:1x1", "from 2"),
        ("simplex:9999", "5,000"),
        ("classes:3,x", "class size"),
        ("@nowhere.csv:age", "no file"),
        (5, "got 5"),
        ([1, [2]], None),
        ([1, "x"], "not a number"),
        ([[1, 2], [3]], "label 2 has 1"),
        ({"a": 1}, "wanted labels"),
    ],
)
def test_mistakes(text, words):
    if words is None:
        assert read_labels(text).shape[0] == 2
        return
    with pytest.raises(ValueError, match=re.escape(words)):
        read_labels(text)


def test_a_header_that_does_not_match(tmp_path):
    (tmp_path / "ages.csv").write_text("id,age\n1,20\n2,25\n")
    with pytest.raises(ValueError, match=r"no column 'years'; its header is id, age"):
        read_labels("@ages.csv:years", tmp_path)
    with pytest.raises(ValueError, match="name one"):
        read_labels("@ages.csv", tmp_path)


def test_matrices(tmp_path):
    nan = np.nan
    np.testing.assert_array_equal(read_matrix("1,.5;.5,1"), [[1, 0.5], [0.5, 1]])
    np.testing.assert_array_equal(read_matrix("1,;nan,1"), [[1, nan], [nan, 1]])
    np.testing.assert_array_equal(read_matrix([[1, None], [None, 1]]), [[1, nan], [nan, 1]])
    (tmp_path / "w.csv").write_text("1,0.5,\n0.5,1,0.25\n,0.25,1\n")
    np.testing.assert_array_equal(read_matrix("@w.csv", tmp_path), [[1, 0.5, nan], [0.5, 1, 0.25], [nan, 0.25, 1]])
    for wrong in ("1,2;3", "1,2", [[1, 2], [3]], [[1, "x"], [2, 3]], "1,x;1,1", "@none.csv"):
        with pytest.raises(ValueError, match=r"."):
            read_matrix(wrong, tmp_path)
