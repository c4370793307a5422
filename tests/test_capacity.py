"""How many classes fit: closed forms, published bounds and arrangements, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from math import acos, cos, degrees, pi, sqrt

import numpy as np
import pytest

from geomsolve.analyses.capacity import FEW_STEPS, capacity, spread, steps_of
from geomsolve.errors import InputError
from geomsolve.gram import families
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
    with pytest.raises(InputError, match="100,000"):
        capacity(Capacity(classes=200_000, dim=6))


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
        (("--classes", "200000", "--dim", "6"), "100,000"),
        (("--classes", "3", "--dim", "2", "--seed", "-1"), "--seed"),
    ],
)
def test_command_refuses_bad_input(flags, word):
    done = geomsolve("capacity", *flags)
    assert done.returncode == 2
    assert done.stdout == ""
    assert word in done.stderr


# ---------------------------------------------------------------- how many fit


KISSING = [(2, 6), (3, 12), (4, 24), (8, 240), (24, 196560)]


@pytest.mark.parametrize(("dim", "most"), KISSING)
def test_kissing_numbers(dim, most):
    report = capacity(Capacity(dim=dim, max_cosine=0.5))
    assert (report.low, report.high) == (most, most)


@pytest.mark.parametrize(
    ("dim", "cosine", "least", "most"),
    [
        (5, 0.5, 40, 48),  # 44 is the record bound; linear programming alone proves 46
        (6, 0.5, 72, 82),
        (7, 0.5, 126, 140),
        (4, (1 + sqrt(5)) / 4, 120, 120),
        (3, 1 / sqrt(5), 12, 12),
        (3, -1 / 3, 4, 4),
        (9, 0, 18, 18),
        (16, 0.25, 288, 312),
        (64, 0.125, 4224, 4500),
    ],
)
def test_known_codes_within_published_bounds(dim, cosine, least, most):
    report = capacity(Capacity(dim=dim, max_cosine=cosine))
    assert report.low == least
    assert least <= report.high <= most


@pytest.mark.parametrize(
    ("dim", "cosine", "many"), [(3, 1 / sqrt(5), 6), (7, 1 / 3, 28), (23, 0.2, 276), (8, 0.5, 120), (16, 0.25, 144)]
)
def test_lines_that_attain_their_bound(dim, cosine, many):
    report = capacity(Capacity(dim=dim, max_cosine=cosine, lines=True))
    assert (report.low, report.high) == (many, many)


def test_bounds_on_counts_agree_with_the_arrangements_that_are_found():
    """Of every K that a search places below a cosine the upper bound is at least K."""
    for points, dim in ((7, 3), (10, 3), (14, 4)):
        found = capacity(Capacity(classes=points, dim=dim))
        assert capacity(Capacity(dim=dim, max_cosine=found.max_cosine)).high >= points


def test_greedy_covering_against_the_area_of_a_cap():
    """In three dimensions a cap of cosine s holds (1 - s)/2 of the sphere."""
    from geomsolve.gram.packing import cap_share

    assert cap_share(3, 0.9) == pytest.approx(np.log(0.05), abs=1e-12)
    assert cap_share(5000, 0.6) < np.log(1e-300)
    assert capacity(Capacity(dim=3, max_cosine=0.99)).low == 200


def test_dimensions_that_classes_need(run):
    for classes, cosine, need in ((240, 0.5, 8), (196560, 0.5, 24), (11, -0.1, 10), (6, 0, 3)):
        report = capacity(Capacity(classes=classes, max_cosine=cosine))
        assert (report.low, report.high) == (need, need)
    answer = run("capacity", "--classes", 100_000, "--max-cosine", 0.3, "--json").json
    assert answer["dim"]["at_least"] < answer["dim"]["at_most"]
    assert run("capacity", "--classes", 5, "--max-cosine", -0.5).stdout.startswith("5 classes do not fit in any")
    answer = run("capacity", "--dim", 24, "--max-cosine", 0.5, "--json").json
    assert answer["classes"] == {"at_least": 196560, "at_most": 196560}
    shown = run("capacity", "--dim", 7, "--max-cosine", 0.3333333333333, "--lines")
    assert shown.stdout.startswith("Exactly 28 lines fit in 7 dimensions")
    for arguments, said in (
        (("--dim", 3), "--classes"),
        (("--dim", 3, "--classes", 4, "--max-cosine", 0.1), "leave out what is asked for"),
        (("--dim", 3, "--classes", 4, "--lines"), "--lines"),
    ):
        shown = run("capacity", *arguments)
        assert (shown.code, said in shown.stderr) == (2, True)


@pytest.mark.parametrize(("prime", "degree"), [(5, 2), (7, 2), (7, 3), (11, 3)])
def test_points_by_formula_have_the_cosines_of_the_formula(prime, degree):
    """All of them, measured; with t = 2 the bound is attained, with no more it is Weil's."""
    count = min(4 * (prime**degree + prime), 400)
    points = families.points(4 * (prime**degree + prime), 2 * prime + 1, prime, degree)
    assert np.allclose(np.linalg.norm(points, axis=1), 1)
    cosines = np.vstack([points[:count], points[-4 * prime :]]) @ points.T
    allowed = (degree - 1) / np.sqrt(prime)
    others = cosines[np.abs(cosines) < 1 - 1e-9]
    assert np.abs(others).max() <= allowed + 1e-12
    assert (np.abs(cosines) > 1 - 1e-9).sum() == 2 * len(cosines)  # itself and its opposite
    if degree == 2:
        assert np.abs(others).max() == pytest.approx(allowed, abs=1e-12)


def test_many_points_are_arranged_in_a_moment(run):
    """10,000 in 512 dimensions: unbiased bases modulo 251, with 4 (251^2 + 251) = 253,008 points of 1/sqrt(251)."""
    for count in (10_000, 100_000):
        answer = run("capacity", "--classes", count, "--dim", 512, "--json").json
        assert answer["max_cosine"] == pytest.approx(251**-0.5, abs=1e-12)
        assert answer["bound"]["max_cosine"] < answer["max_cosine"]
        assert answer["optimal"] is None
    report = capacity(Capacity(classes=10_000, dim=512))
    some = report.points[::37] @ report.points.T
    assert np.sort(some, axis=1)[:, -2].max() <= 251**-0.5 + 1e-12
    assert run("capacity", "--dim", 512, "--max-cosine", 0.0632, "--json").json["classes"]["at_least"] == 253_008
    assert run("capacity", "--dim", 257, "--max-cosine", 0.0625, "--json").json["classes"]["at_least"] == 2 * 256 * 129


@pytest.mark.slow
def test_where_no_formula_helps_random_points_are_measured():
    report = capacity(Capacity(classes=5000, dim=6))
    assert report.method == "random points"
    cosines = report.points @ report.points.T
    np.fill_diagonal(cosines, -1)
    assert report.max_cosine - 2e-6 <= cosines.max() <= report.max_cosine
    assert report.gram is None


def test_a_search_that_would_take_minutes_is_left_to_points_by_formula():
    assert [steps_of(*each) for each in ((6, 3), (4000, 64), (3000, 200), (4096, 1000))] == [300, 14, 8, 0]
    report = capacity(Capacity(classes=4096, dim=1000))
    assert report.method == "unbiased bases modulo 499"
    assert report.max_cosine == pytest.approx(1 / sqrt(499), abs=1e-9)  # Gauss sums; 499 is the last prime up to 500


def test_steps_in_single_precision_end_where_those_in_double_do(rng):
    points = rng.standard_normal((300, 8))
    few, many = (largest_cosine(spread(points, 128.0, steps)) for steps in (FEW_STEPS, FEW_STEPS + 1))
    assert few == pytest.approx(many, abs=0.02)
    assert few < largest_cosine(points / np.linalg.norm(points, axis=1, keepdims=True)) - 0.1
