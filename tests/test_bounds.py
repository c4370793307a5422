"""Lower bounds: minorants stay below the loss, tightened certificates below any feasible value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomsolve.gram.embedding import embed
from geomsolve.gram.orbits import Orbits
from geomsolve.objectives.logsum import LogSum
from geomsolve.proof.certificate import Certificate, certify, certify_distances, projected, tighten
from geomsolve.solvers.conic import solve_conic
from geomsolve.solvers.manifold import descend
from geomsolve.solvers.points import Place, Points


def weighted(random, sizes, *, own, tau=0.5):
    """A weighted InfoNCE objective on orbits with random symmetric weights."""
    m, n = len(sizes), int(np.sum(sizes))
    orbits = Orbits(np.array(sizes), np.full(m, 1 / n), np.repeat(np.arange(m), sizes))
    weights = random.uniform(0.1, 1, (m, m))
    weights = (weights + weights.T) / 2
    total = orbits.others * weights
    normaliser = total.sum(axis=1) + (1 if own else 0)
    target = total / normaliser[:, None]
    q = 1 / n
    offset = np.full(m, q if own else 0.0)
    return LogSum(orbits.others * q, offset, orbits.sizes * q, 1 / tau, target, unique_minimiser=own), orbits


def random_cosines(random, orbits):
    points = random.standard_normal((orbits.n_classes, orbits.n_classes))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return orbits.nearest_gram(orbits.reduce(points @ points.T))


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=50)
def test_a_minorant_for_any_wish_stays_below_the_loss(seed, own):
    random = np.random.default_rng(seed)
    objective, orbits = weighted(random, [2, 1, 3], own=own)
    at = random_cosines(random, orbits)
    wish = random.standard_normal((3, 3))
    minorant = objective.minorant(at, wish)
    for _ in range(10):
        other = random_cosines(random, orbits)
        below = minorant.value + np.sum(minorant.slope * (other - at))
        assert below <= objective.value(other) + 1e-12


def test_the_tangent_is_the_minorant_without_a_wish():
    random = np.random.default_rng(0)
    objective, orbits = weighted(random, [2, 1, 3], own=True)
    at = random_cosines(random, orbits)
    value, slope = objective.evaluate(at)
    minorant = objective.minorant(at)
    wished = objective.minorant(at, slope)
    assert minorant.value == value
    assert wished.value == pytest.approx(value, abs=1e-14)
    np.testing.assert_allclose(wished.slope, slope, atol=1e-14)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=30)
def test_tightened_bounds_stay_below_every_feasible_value(seed, own):
    random = np.random.default_rng(seed)
    objective, orbits = weighted(random, [1, 2, 1, 1], own=own)
    at = random_cosines(random, orbits)
    first = certify(objective, orbits, at)
    best = tighten(objective, orbits, at, first)
    assert best.gap <= first.gap
    for _ in range(20):
        assert best.lower_bound <= objective.value(random_cosines(random, orbits)) + 1e-12


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("own", [True, False], ids=["self pairs", "no self pairs"])
def test_bounds_by_projection_are_below_the_optimum_and_come_near_with_the_geometry(seed, own):
    """The optimum is another solver's."""
    random = np.random.default_rng(seed)
    objective, orbits = weighted(random, [1, 2, 1, 3, 1], own=own)
    optimum = solve_conic(objective, orbits, tolerance=1e-10).cosines
    lowest = objective.value(optimum)
    for far in (1.0, 0.1, 0.01):
        at = (1 - far) * optimum + far * random_cosines(random, orbits)
        value = objective.value(at)
        bound = projected(objective, orbits, at, Certificate.of(value, np.inf, -np.inf, 1e-9)).lower_bound
        assert bound <= lowest + 1e-8
        assert lowest - bound < 0.3 * far


def test_tightening_closes_what_the_tangent_leaves_open():
    """Sixty ages after some steps: optimal to 1e-7, as the tightened bound proves, where the tangent proves 1e-5."""
    y = np.linspace(0, 60, 60)
    log_weights = -((y[:, None] - y) ** 2) / 50
    target = np.exp(log_weights)
    target /= target.sum(axis=1, keepdims=True)
    orbits = Orbits.trivial(np.full(60, 1 / 60))
    q = np.full(60, 1 / 60)
    objective = LogSum(orbits.others / 60, q, q, 10.0, orbits.others * target, unique_minimiser=True)
    rows = np.column_stack([embed(np.exp(0.1 * log_weights)), np.zeros(60)])
    place, *_ = descend(Place.at(Points(objective, orbits), rows), 25)
    cosines = place.points.cosines(place.point)
    plain = certify(objective, orbits, cosines, tolerance=1e-9)
    assert tighten(objective, orbits, cosines, plain).gap < plain.gap / 3


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_bounds_over_distances_stay_below_every_embedding(seed):
    random = np.random.default_rng(seed)
    objective, orbits = weighted(random, [1, 1, 1, 1, 1], own=True)
    points = Points(objective, orbits, unit=False)
    rows = np.column_stack([random.standard_normal((5, 3)), np.zeros(5)])
    proof = certify_distances(objective, orbits, points.cosines(rows))
    for _ in range(20):
        other = np.column_stack([random.choice([0.1, 1, 5]) * random.standard_normal((5, 3)), np.zeros(5)])
        assert proof.lower_bound <= Place.at(points, other).value + 1e-12
