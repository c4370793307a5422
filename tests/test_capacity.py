"""How many classes fit: closed forms, published bounds and arrangements, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from math import acos, cos, degrees, pi, sqrt

import numpy as np
import pytest

from geomsolve.analyses.capacity import capacity
from geomsolve.errors import InputError
from geomsolve.gram.codes import bounds, closed_form, fejes_toth_bound, largest_cosine, levenshtein_bound, welch_bound
from geomsolve.questions.capacity import Capacity


@pytest.mark.parametrize(
    ("dim", "points", "degrees_apart"),
    [(2, 2, 180), (2, 3, 120), (2, 4, 90), (3, 4, 109.4712), (3, 5, 90), (3, 6, 90), (1, 3, 0), (2, 7, 360 / 7)],
)
def test_angles_known_in_closed_form(dim, points, degrees_apart):
    report = capacity(Capacity(classes=points, dim=dim))
    assert report.best_min_angle_deg == pytest.approx(degrees_apart, abs=1e-4)
    assert report.optimal is True
    assert report.method == "closed form"
    assert report.fits_simplex == (points <= dim + 1)


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 20])
def test_closed_forms_are_unit_vectors_that_attain_their_bound(dim):
    for points in range(2, 2 * dim + 1):
        arrangement = closed_form(points, dim)
        assert arrangement.shape == (points, dim)
        np.testing.assert_allclose(np.linalg.norm(arrangement, axis=1), 1)
        assert largest_cosine(arrangement) == pytest.approx(max(bounds(points, dim).values()), abs=1e-12)


@pytest.mark.parametrize(
    ("dim", "points", "cosine"),
    # sharp configurations: table 1 of Cohn & Kumar 2007, "Universally optimal distribution of points on spheres"
    [
        (3, 12, 1 / sqrt(5)),
        (5, 16, 1 / 5),
        (6, 27, 1 / 4),
        (7, 56, 1 / 3),
        (8, 240, 1 / 2),
        (21, 162, 1 / 7),
        (22, 100, 1 / 11),
        (22, 275, 1 / 6),
        (22, 891, 1 / 4),
        (23, 552, 1 / 5),
        (23, 4600, 1 / 3),
        (24, 196560, 1 / 2),
    ],
)
def test_levenshtein_bound_is_attained_by_sharp_configurations(dim, points, cosine):
    assert levenshtein_bound(points, dim) == pytest.approx(cosine, abs=1e-13)


def test_levenshtein_bound_grows_with_points_and_falls_with_dimension():
    table = np.array([[levenshtein_bound(k, d) for k in range(50, 500, 37)] for d in range(3, 20)])
    assert np.all(np.diff(table, axis=1) > 0)
    assert np.all(np.diff(table, axis=0) < 0)


def test_fejes_toth_bound_is_attained_by_tetrahedron_octahedron_icosahedron():
    for points, cosine in ((3, -1 / 2), (4, -1 / 3), (6, 0), (12, 1 / sqrt(5))):
        assert fejes_toth_bound(points) == pytest.approx(cosine, abs=1e-12)


def test_welch_bound_of_a_public_issue():
    assert welch_bound(1041, 384) == pytest.approx(0.04056, abs=1e-5)
    assert welch_bound(10, 10) == 0


@pytest.mark.parametrize(
    ("dim", "points", "angle"),
    # Sloane's tables of spherical codes; (4, 10) is Bachoc & Vallentin 2009, (5, 16) and (6, 27) are sharp
    [
        (3, 7, 77.8695421),
        (3, 8, 74.8584922),
        (3, 9, 70.5287794),
        (3, 11, 63.4349488),
        (3, 12, 63.4349488),
        (4, 10, degrees(acos(1 / 6))),
        (5, 16, degrees(acos(1 / 5))),
        (6, 27, degrees(acos(1 / 4))),
    ],
)
def test_search_finds_known_optima_and_says_so(dim, points, angle):
    report = capacity(Capacity(classes=points, dim=dim))
    assert report.best_min_angle_deg == pytest.approx(angle, abs=1e-6)
    assert report.optimal is True
    np.testing.assert_allclose(np.diag(report.gram), 1)


@pytest.mark.slow
def test_search_claims_no_more_than_it_knows():
    report = capacity(Capacity(classes=10, dim=3))
    assert report.best_min_angle_deg == pytest.approx(66.1468220, abs=1e-5)  # Danzer; Sloane's tables
    assert report.optimal is None
    assert report.bound["max_cosine"] < report.max_cosine
    again = capacity(Capacity(classes=10, dim=3))
    np.testing.assert_array_equal(report.points, again.points)


def test_too_many_points_to_arrange():
    assert capacity(Capacity(classes=10**6, dim=2)).max_cosine == pytest.approx(cos(2 * pi / 10**6))
    assert capacity(Capacity(classes=50_000, dim=60_000)).max_cosine == -1 / 49_999
    with pytest.raises(InputError, match="4,096"):
        capacity(Capacity(classes=5000, dim=30))


def geomsolve(*flags):
    return subprocess.run([sys.executable, "-m", "geomsolve", *flags], capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_command_answers_in_words_and_in_json():
    spoken = geomsolve("capacity", "--classes", "6", "--dim", "3")
    assert spoken.returncode == 0
    assert spoken.stdout.startswith("6 classes in 3 dimensions can all keep at least 90.00°")
    answer = json.loads(geomsolve("capacity", "--classes", "6", "--dim", "3", "--json").stdout)
    assert answer["bound"] == {"name": "orthoplex", "max_cosine": 0.0}
    assert answer["optimal"] is True
    assert answer["fits_simplex"] is False
    assert len(answer["gram"]) == 6
    assert answer["command"] == "capacity"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (("--classes", "1", "--dim", "2"), "--classes"),
        (("--classes", "3", "--dim", "0"), "--dim"),
        ((), "--classes"),
        (("--classes", "5000", "--dim", "30"), "4,096"),
        (("--classes", "3", "--dim", "2", "--seed", "-1"), "--seed"),
    ],
)
def test_command_refuses_bad_input(flags, word):
    done = geomsolve("capacity", *flags)
    assert done.returncode == 2
    assert done.stdout == ""
    assert word in done.stderr
