"""Lower bounds: minorants stay below the loss, tightened certificates below any feasible value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomsolve.certificate import certify, certify_distances, tighten
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.logsum import LogSum
from geomsolve.solvers.latent import Latents, solve_latent


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
@settings(max_examples=50, deadline=None)
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
@settings(max_examples=30, deadline=None)
def test_tightened_bounds_stay_below_every_feasible_value(seed, own):
    random = np.random.default_rng(seed)
    objective, orbits = weighted(random, [1, 2, 1, 1], own=own)
    at = random_cosines(random, orbits)
    first = certify(objective, orbits, at)
    best = tighten(objective, orbits, at, first)
    assert best.gap <= first.gap
    for _ in range(20):
        assert best.lower_bound <= objective.value(random_cosines(random, orbits)) + 1e-12


def test_tightening_closes_what_the_tangent_leaves_open():
    """Sixty ages: L-BFGS reaches the optimum to 1e-8, the tangent proves 1e-4, the tightened bound 1e-6."""
    y = np.linspace(0, 60, 60)
    log_weights = -((y[:, None] - y) ** 2) / 50
    target = np.exp(log_weights)
    target /= target.sum(axis=1, keepdims=True)
    orbits = Orbits.trivial(np.full(60, 1 / 60))
    q = np.full(60, 1 / 60)
    objective = LogSum(orbits.others / 60, q, q, 10.0, orbits.others * target, unique_minimiser=True)
    solution, proof = solve_latent(objective, orbits, np.exp(0.1 * log_weights), unit=True)
    plain = certify(objective, orbits, solution.cosines)
    assert proof.certified
    assert plain.gap > 3 * proof.gap


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_bounds_over_distances_stay_below_every_embedding(seed):
    random = np.random.default_rng(seed)
    objective, orbits = weighted(random, [1, 1, 1, 1, 1], own=True)
    latents = Latents(objective, orbits, unit=False, own=False)
    rows = np.column_stack([random.standard_normal((5, 3)), np.zeros(5)])
    proof = certify_distances(objective, orbits, latents.cosines(rows))
    for _ in range(20):
        other = np.column_stack([random.choice([0.1, 1, 5]) * random.standard_normal((5, 3)), np.zeros(5)])
        assert proof.lower_bound <= latents.evaluate(other)[0] + 1e-12


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_gradient_of_latents_by_differences(unit, own):
    random = np.random.default_rng(1)
    objective, orbits = weighted(random, [2, 1, 3], own=True)
    latents = Latents(objective, orbits, unit, own)
    rows = random.standard_normal((3, 4))
    if not own:
        rows[:, -1] = 0
    if unit:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    _, gradient = latents.evaluate(rows)
    step = random.standard_normal(rows.shape)
    if not own:
        step[:, -1] = 0
    if unit:  # along the sphere, where C = 1 - D/2 is the cosine
        step -= np.sum(step * rows, axis=1, keepdims=True) * rows

    def value(t):
        moved = rows + t * step
        return latents.evaluate(moved / np.linalg.norm(moved, axis=1, keepdims=True) if unit else moved)[0]

    assert np.sum(gradient * step) == pytest.approx((value(1e-6) - value(-1e-6)) / 2e-6, rel=1e-6)


def test_latent_cosines_are_those_of_points():
    random = np.random.default_rng(2)
    objective, orbits = weighted(random, [1, 1, 1], own=True)
    rows = random.standard_normal((3, 3))
    points = np.column_stack([rows[:, :-1], np.diag(rows[:, -1])])  # a private axis for each
    distances = ((points[:, None] - points[None]) ** 2).sum(-1)
    np.testing.assert_allclose(Latents(objective, orbits, False).cosines(rows), 1 - distances / 2, atol=1e-12)
