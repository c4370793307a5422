"""The orbit reduction: classes with equal proportions are interchangeable."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import random_gram
from hypothesis import given
from hypothesis import strategies as st

from geomsolve import Orbits
from geomsolve.gram.orbits import EXACT, Blocks

MULTIPLICITIES = ([1, 1, 1], [3], [2, 1, 4], [1, 5], [2, 2, 2])


def orbits_of(sizes: list[int]) -> Orbits:
    """Orbits of the given sizes, their classes shuffled."""
    weights = np.repeat(1.0 / np.arange(1, len(sizes) + 1), sizes)
    np.random.default_rng(3).shuffle(weights)
    return Orbits.of(weights / weights.sum())


@pytest.fixture(params=MULTIPLICITIES, ids=str)
def orbits(request: pytest.FixtureRequest) -> Orbits:
    return orbits_of(request.param)


def feasible(orbits: Orbits, rng: np.random.Generator, dim: int | None = None) -> np.ndarray:
    """Orbit cosines of a random Gram matrix, averaged over the symmetry by ``reduce``."""
    return orbits.reduce(random_gram(rng, orbits.n_classes, dim))


def test_orbits_run_from_frequent_to_rare_and_hold_the_right_classes():
    orbits = Orbits.of([0.1, 0.4, 0.1, 0.3, 0.1])
    assert orbits.sizes.tolist() == [1, 1, 3]
    assert orbits.proportions.tolist() == [0.4, 0.3, 0.1]
    assert orbits.index.tolist() == [2, 0, 2, 1, 2]
    assert (orbits.n_classes, orbits.n_orbits) == (5, 3)


def test_counts_follow_their_classes():
    orbits = Orbits.of(np.array([2, 7, 2]) / 11, [2, 7, 2])
    assert orbits.counts is not None
    assert orbits.counts.tolist() == [7, 2]


def test_proportions_that_differ_by_rounding_share_an_orbit():
    assert Orbits.of([0.3, 0.3 + 1e-15, 0.4 - 1e-15]).sizes.tolist() == [1, 2]
    assert Orbits.of([0.1 + 0.2, 0.3, 0.4]).sizes.tolist() == [1, 2]
    assert Orbits.of([0.3, 0.3 + 1e-9, 0.4 - 1e-9]).sizes.tolist() == [1, 1, 1]


def test_tiny_proportions_are_compared_relatively():
    assert Orbits.of([1 - 3e-13, 1e-13, 2e-13]).n_orbits == 3


def test_trivial_orbits_reduce_nothing(rng):
    orbits = Orbits.trivial([0.25] * 4)
    gram = random_gram(rng, 4)
    np.testing.assert_array_equal(orbits.lift(orbits.reduce(gram)), gram)


def test_reduce_undoes_lift(orbits, rng):
    cosines = feasible(orbits, rng)
    np.testing.assert_allclose(orbits.reduce(orbits.lift(cosines)), cosines, atol=1e-14)


def test_reduce_is_the_average_over_permutations_that_keep_the_proportions(rng):
    from itertools import permutations

    orbits = Orbits.of([0.4, 0.2, 0.2, 0.2])
    gram = random_gram(rng, 4)
    kept = [p for p in permutations(range(4)) if p[0] == 0]
    average = np.mean([gram[np.ix_(p, p)] for p in kept], axis=0)
    np.testing.assert_allclose(orbits.lift(orbits.reduce(gram)), average, atol=1e-14)


def test_lift_has_unit_diagonal_and_the_cosine_of_the_orbits(orbits, rng):
    cosines = feasible(orbits, rng)
    gram = orbits.lift(cosines)
    for a in range(orbits.n_classes):
        for b in range(orbits.n_classes):
            wanted = 1.0 if a == b else cosines[orbits.index[a], orbits.index[b]]
            assert gram[a, b] == wanted


def test_pairs_and_others_count_classes(orbits):
    different = ~np.eye(orbits.n_classes, dtype=bool)
    for g in range(orbits.n_orbits):
        for h in range(orbits.n_orbits):
            members = np.outer(orbits.index == g, orbits.index == h) & different
            assert orbits.pairs[g, h] == members.sum()
            assert orbits.others[g, h] * orbits.sizes[g] == members.sum()


def test_blocks_have_the_eigenvalues_of_the_full_matrix(orbits, rng):
    m = orbits.n_orbits
    off = rng.normal(size=(m, m))
    off = off + off.T
    diagonal = rng.normal(size=m)
    full = off[np.ix_(orbits.index, orbits.index)]
    np.fill_diagonal(full, diagonal[orbits.index])
    blocks = orbits.blocks(diagonal, off)
    expected = np.linalg.eigvalsh(full)
    np.testing.assert_allclose(orbits.eigenvalues(blocks), expected, atol=1e-12)
    assert blocks.min_eigenvalue() == pytest.approx(expected[0], abs=1e-12)


def test_nearest_gram_is_feasible_whatever_it_is_given(orbits, rng):
    m = orbits.n_orbits
    for _ in range(20):
        rough = rng.normal(size=(m, m))
        gram = orbits.lift(orbits.nearest_gram(rough))
        np.testing.assert_array_equal(np.diag(gram), 1.0)
        np.testing.assert_allclose(gram, gram.T, atol=1e-15)
        assert np.abs(gram).max() <= 1
        assert np.linalg.eigvalsh(gram)[0] >= -1e-13


def test_nearest_gram_leaves_feasible_cosines_alone(orbits, rng):
    for dim in (1, 2, None):
        cosines = feasible(orbits, rng, dim)
        np.testing.assert_allclose(orbits.nearest_gram(cosines), cosines, atol=1e-13)


def test_nearest_gram_agrees_with_clipping_the_full_matrix(rng):
    """Clipping eigenvalues and rescaling rows commute with the symmetry."""
    orbits = Orbits.of([0.4, 0.2, 0.2, 0.1, 0.1])
    cosines = -np.abs(rng.normal(size=(3, 3)))
    cosines = (cosines + cosines.T) / 2
    full = orbits.lift(cosines)
    values, vectors = np.linalg.eigh(full)
    assert values[0] < 0
    clipped = (vectors * np.maximum(values, 0)) @ vectors.T
    root = np.sqrt(np.diag(clipped))
    np.testing.assert_allclose(orbits.lift(orbits.nearest_gram(cosines)), clipped / np.outer(root, root), atol=1e-12)


def test_factor_gives_vectors_with_these_cosines(orbits, rng):
    cosines = feasible(orbits, rng)
    centroids, spread = orbits.factor(cosines)
    np.testing.assert_allclose(np.sum(centroids**2, axis=1) + spread**2, 1.0, atol=1e-13)
    gram = centroids @ centroids.T
    many = orbits.sizes > 1
    inner = np.diag(gram) - spread**2 / np.maximum(orbits.sizes - 1, 1)
    np.fill_diagonal(gram, np.where(many, inner, 1.0))
    np.testing.assert_allclose(gram, np.where(np.eye(orbits.n_orbits, dtype=bool) & ~many, 1.0, cosines), atol=1e-13)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_order_of_classes_does_not_change_the_orbits(counts, random):
    shuffled = counts.copy()
    random.shuffle(shuffled)
    total = sum(counts)
    one, other = (Orbits.of(np.array(c) / total) for c in (counts, shuffled))
    np.testing.assert_array_equal(one.sizes, other.sizes)
    np.testing.assert_array_equal(one.proportions, other.proportions)
    for orbits, written in ((one, counts), (other, shuffled)):
        np.testing.assert_array_equal(orbits.proportions[orbits.index], np.array(written) / total)


@pytest.mark.parametrize("low", [[], [0.0], [0.0, 0.0, 1e-9, 1e-7], [0.0] * 8, [-1e-9, -2.0], [0.999e-6, 1.001e-6]])
def test_the_rank_of_large_matrices_counts_eigenvalues_above_the_threshold(low, rng):
    m = EXACT + 20
    values = np.concatenate([low, np.exp(rng.uniform(np.log(1e-4), 3, m - len(low)))])
    vectors = np.linalg.qr(rng.standard_normal((m, m)))[0]
    matrix = (vectors * values) @ vectors.T
    assert Blocks((matrix + matrix.T) / 2, np.zeros(0)).quotient_rank(1e-6) == int(np.sum(values > 1e-6))
