"""Rows of numbers as embeddings: their cosines, derivatives and preconditioner, from the definitions."""

import itertools

import numpy as np
import pytest

from geomsolve.gram.orbits import Orbits
from geomsolve.objectives.logsum import LogSum
from geomsolve.solvers.manifold import LARGE, solve_manifold
from geomsolve.solvers.points import Place, Points, Quadratic, RowBlocks

SIZES = [2, 1, 3, 1]


def problem(sizes, *, band=None, seed=0, tau=5.0):
    """Weighted InfoNCE on orbits, with random weights that vanish beyond a ``band``."""
    random = np.random.default_rng(seed)
    m, n = len(sizes), int(np.sum(sizes))
    orbits = Orbits(np.array(sizes), np.full(m, 1 / n), np.repeat(np.arange(m), sizes))
    weights = random.uniform(0.1, 1, (m, m))
    weights = (weights + weights.T) / 2
    target = orbits.others * weights
    target /= target.sum(axis=1, keepdims=True) + 1
    near = np.abs(np.subtract.outer(np.arange(m), np.arange(m))) <= (m if band is None else band)
    q = np.full(m, 1 / n)
    objective = LogSum(orbits.others * near / n, q, orbits.sizes / n, 1 / tau, target, unique_minimiser=True)
    return objective, orbits


def rows_of(orbits, columns, *, unit, seed=1):
    rows = np.random.default_rng(seed).standard_normal((orbits.n_orbits, columns))
    rows[orbits.sizes == 1, -1] = 0
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows


def tangent_step(points, rows, seed=2):
    step = np.random.default_rng(seed).standard_normal(rows.shape)
    step[points.orbits.sizes == 1, -1] = 0
    return points.tangent(rows, step)


def test_cosines_are_those_of_the_points_that_rows_stand_for():
    objective, orbits = problem([2, 1, 3])
    rows = rows_of(orbits, 3, unit=False)
    points = []
    for (n, row), axes in zip(zip([2, 1, 3], rows, strict=True), ([0, 1], [], [2, 3, 4]), strict=True):
        corners = np.zeros((n, 5))  # of a regular simplex in axes of its own, at distance 1 from its centre
        if n > 1:
            corners[:, axes] = (np.eye(n) - 1 / n) / np.sqrt(1 - 1 / n)
        points += [np.concatenate([row[:-1], row[-1] * corner]) for corner in corners]
    points = np.array(points)
    distances = ((points[:, None] - points[None]) ** 2).sum(-1)
    found = orbits.lift(Points(objective, orbits, unit=False).cosines(rows))
    np.testing.assert_allclose(found, 1 - distances / 2, atol=1e-12)


@pytest.mark.parametrize("unit", [True, False])
def test_unit_rows_have_the_same_cosines_either_way(unit):
    objective, orbits = problem(SIZES)
    rows = rows_of(orbits, 4, unit=True)
    free, fixed = (Points(objective, orbits, unit=each).cosines(rows) for each in (False, True))
    np.testing.assert_allclose(free, fixed, atol=1e-14)


@pytest.mark.parametrize("unit", [True, False])
def test_gradient_and_hessian_by_differences(unit):
    objective, orbits = problem(SIZES)
    points = Points(objective, orbits, unit)
    rows = rows_of(orbits, 4, unit=unit)
    place, step = Place.at(points, rows), tangent_step(points, rows)

    def value(t):
        return Place.at(points, points.normalise(rows + t * step)).value

    slope = (value(1e-5) - value(-1e-5)) / 2e-5
    bend = (value(1e-4) - 2 * value(0) + value(-1e-4)) / 1e-8
    assert np.sum(place.gradient * step) == pytest.approx(slope, rel=1e-7)
    model = Quadratic(place, np.float64)
    assert model.force * np.sum(step * model.hessian(step)) == pytest.approx(bend, rel=1e-5)


@pytest.mark.parametrize("unit", [True, False])
def test_single_precision_only_rounds(unit):
    objective, orbits = problem(SIZES)
    points = Points(objective, orbits, unit)
    rows = rows_of(orbits, 4, unit=unit)
    place, step = Place.at(points, rows), tangent_step(points, rows)
    double, single = (Quadratic(place, kind).hessian(step.astype(kind)) for kind in (np.float64, np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=1e-5 * np.abs(double).max())


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize(("sizes", "columns"), [(SIZES, 4), ([1] * 14, 14), ([1, 2] * 8, 16)])
def test_blocks_are_the_inverse_of_their_definition(sizes, columns, unit):
    """Few dimensions, and many with few neighbours: two ways to the same inverse."""
    objective, orbits = problem(sizes, band=2)
    points = Points(objective, orbits, unit)
    rows = rows_of(orbits, columns, unit=unit)
    place = Place.at(points, rows)
    curvature = objective.curvature(points.cosines(rows))
    blocks = RowBlocks(place, curvature, np.float64)
    assert (blocks.inverse is None) == (columns > 4)
    vector = np.random.default_rng(3).standard_normal(rows.shape)
    solved = blocks.solve(vector)
    stiffness = curvature.own + curvature.own.T
    for g in range(len(sizes)):
        block = np.diag(1 / blocks.scale[g] ** 2)
        for h in range(len(sizes)):
            away = np.append(rows[h, :-1], 0) - rows[g]
            if h == g:  # C_gg = 1 - n / (n - 1) w^2, once
                n = sizes[g]
                away = np.zeros(columns)
                away[-1] = np.sqrt(1 / 2) * 2 * n / max(n - 1, 1) * rows[g, -1]
            block += stiffness[g, h] * np.outer(away, away)
        np.testing.assert_allclose(block @ solved[g], vector[g], atol=1e-9)


def test_steps_fall_as_predicted_near_the_optimum():
    objective, orbits = problem(SIZES)
    points = Points(objective, orbits)
    place = Place.at(points, rows_of(orbits, 5, unit=True))
    ratios = []
    for _ in range(30):
        if place.residual < 1e-9:
            break
        steps = Quadratic(place, np.float64).steps(0.3)
        trials = [Place.at(points, points.normalise(place.point + step.rows)) for step in steps]
        best = int(np.argmin([trial.value for trial in trials]))
        ratios.append((place.value - trials[best].value) / steps[best].predicted)
        place = trials[best]
    assert place.residual < 1e-9
    assert ratios[-3] == pytest.approx(1, abs=0.2)  # the last ones are rounding
    assert place.value == pytest.approx(objective.value(solve_manifold(objective, orbits).cosines), abs=1e-12)


def test_steps_come_from_long_to_short_within_the_region():
    objective, orbits = problem(SIZES)
    place = Place.at(Points(objective, orbits), rows_of(orbits, 5, unit=True))
    steps = Quadratic(place, np.float64).steps(1e-3)
    assert [step.length for step in steps] == pytest.approx([1e-3, 1e-3 / 4, 1e-3 / 16, 1e-3 / 64])
    assert all(long.predicted > short.predicted > 0 for long, short in itertools.pairwise(steps))


@pytest.mark.slow
def test_large_problems_agree_with_themselves_in_full():
    """Dropped dimensions, single precision and a goal change the answer by no more than the gap."""
    y = np.linspace(0, 20, LARGE + 20)
    log_weights = -((y[:, None] - y) ** 2) / 2
    target = np.exp(log_weights)
    target /= target.sum(axis=1, keepdims=True)
    n = y.size
    orbits, q = Orbits.trivial(np.full(n, 1 / n)), np.full(n, 1 / n)
    objective = LogSum(orbits.others / n, q, q, 10.0, orbits.others * target, unique_minimiser=True)
    start = np.exp(0.1 * log_weights)
    quick = objective.value(solve_manifold(objective, orbits, start=start, goal=1e-7).cosines)
    whole = objective.value(solve_manifold(objective, orbits, start=start).cosines)
    assert 0 <= quick - whole + 1e-13 <= 1e-7 * abs(whole)
