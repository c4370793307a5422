"""Gram and distance-matrix tests: closed forms, published cases, and scans as the independent route."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomsolve.gram.edm import Spectrum, centred, circumradius, shift_interval, spectrum_of
from geomsolve.gram.embedding import embed, procrustes


def squared(points):
    return ((points[:, None] - points[None]) ** 2).sum(-1)


def test_the_matrix_of_borg_and_groenen_is_not_euclidean():
    """Borg & Groenen, Modern Multidimensional Scaling, p. 154: its Gram matrix has the eigenvalues below."""
    distances = np.array([[0, 5, 3, 4], [5, 0, 2, 2], [3, 2, 0, 1], [4, 2, 1, 0]], dtype=float)
    spectrum = spectrum_of(centred(distances**2))
    np.testing.assert_allclose(spectrum.values, [-0.262, 0, 1.421, 13.591], atol=1.5e-3)
    assert not spectrum.psd
    assert spectrum.rank == 2
    assert spectrum.negative_mass == pytest.approx(0.262 / (0.262 + 1.421 + 13.591), abs=1e-4)
    assert circumradius(distances**2) is None


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_circumradius_of_a_regular_simplex(n):
    assert circumradius(2 * (1 - np.eye(n))) == pytest.approx(np.sqrt((n - 1) / n), rel=1e-12)


def test_circumradius_of_special_sets():
    assert circumradius(squared(np.array([[0.0], [3.0]]))) == pytest.approx(1.5)
    assert circumradius(squared(np.array([[0.0], [1.0], [3.0]]))) is None
    assert circumradius(np.zeros((3, 3))) == 0
    right = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    assert circumradius(squared(right)) == pytest.approx(2.5)
    grid = np.array([[x, y] for x in range(3) for y in range(3)], dtype=float)
    assert circumradius(squared(grid)) is None


@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 4))
@settings(max_examples=60)
def test_circumradius_agrees_with_the_linear_system(seed, n, dim):
    """Gower 1985: D w = 1 is consistent for spherical points, and 1 / (2 sum w) is the squared radius."""
    random = np.random.default_rng(seed)
    points = random.standard_normal((n, dim))
    points *= 2.5 / np.linalg.norm(points, axis=1, keepdims=True)
    distances = squared(points + random.standard_normal(dim))
    radius = circumradius(distances)
    assert radius is not None
    assert radius <= 2.5 + 1e-9
    if distances.max() > 1e-3:
        w = np.linalg.pinv(distances, rcond=1e-11) @ np.ones(n)
        if np.abs(distances @ w - 1).max() < 1e-6:
            assert radius**2 == pytest.approx(1 / (2 * w.sum()), rel=1e-5)


@given(st.integers(0, 10**6), st.integers(2, 6))
@settings(max_examples=80)
def test_unit_diagonal_and_psd_is_spherical_with_radius_at_most_one(seed, n):
    random = np.random.default_rng(seed)
    gram = random.standard_normal((n, n + 1))
    gram = gram @ gram.T
    root = 1 / np.sqrt(np.diag(gram))
    gram = root[:, None] * gram * root
    stretched = 1 - random.uniform(0.5, 2) * (1 - gram)
    radius = circumradius(2 * (1 - stretched))
    lowest = np.linalg.eigvalsh(stretched)[0]
    if abs(lowest) > 1e-8:
        assert (lowest > 0) == (radius is not None and radius <= 1)


def brute_interval(matrix, ones, grid):
    b = np.outer(ones, ones) - np.eye(ones.size)
    return np.array([np.linalg.eigvalsh(matrix + c * b)[0] for c in grid])


@given(st.integers(0, 10**6), st.integers(2, 6), st.booleans(), st.booleans())
@settings(max_examples=80)
@pytest.mark.slow
def test_shift_interval_agrees_with_a_scan(seed, m, repeated, uncoupled):
    random = np.random.default_rng(seed)
    ones = np.sqrt(random.integers(1, 4, m).astype(float)) if repeated else np.ones(m)
    matrix = random.standard_normal((m, m))
    matrix = np.eye(m) + random.choice([0.1, 1.0]) * (matrix + matrix.T) / 2
    if uncoupled:
        u = ones / np.linalg.norm(ones)
        matrix = matrix - np.outer(matrix @ u, u) - np.outer(u, matrix @ u) + 2 * np.outer(u, u) * (u @ matrix @ u)
    shift = shift_interval(matrix, ones)
    grid = np.linspace(shift.best - 3, shift.best + 3, 301)
    lowest = brute_interval(matrix, ones, grid)
    assert lowest.max() <= shift.margin + 1e-9
    assert brute_interval(matrix, ones, [shift.best])[0] == pytest.approx(shift.margin, abs=1e-7)
    if shift.low is None:
        assert lowest.max() < 0
    else:
        np.testing.assert_allclose(brute_interval(matrix, ones, [shift.low, shift.high]), 0, atol=1e-6)
        assert (brute_interval(matrix, ones, [shift.low - 1e-3, shift.high + 1e-3]) < 0).all()


def test_shift_interval_of_two_points_is_all_cosines():
    shift = shift_interval(np.eye(2), np.ones(2))
    assert (shift.low, shift.high) == (pytest.approx(-1), pytest.approx(1))


def test_negative_mass_and_rank():
    spectrum = Spectrum.of(np.array([-1.0, 0.0, 1e-14, 3.0]))
    assert (spectrum.psd, spectrum.rank) == (False, 1)
    assert spectrum.negative_mass == pytest.approx(0.25)


def test_embed_and_procrustes():
    random = np.random.default_rng(3)
    points = random.standard_normal((7, 3))
    again = embed(points @ points.T, tolerance=1e-9)
    assert again.shape == (7, 3)
    distance, moved = procrustes(again, points)
    assert distance < 1e-12
    np.testing.assert_allclose(moved, points, atol=1e-12)
    assert procrustes(points + 5, points, shift=True)[0] < 1e-12
    assert procrustes(points + 5, points)[0] > 1
    np.testing.assert_array_equal(embed(points @ points.T), embed(points @ points.T))
