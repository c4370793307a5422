"""``imbalance --dim``: the best found in fewer dimensions, and where the limit does not bind."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

from geomsolve import Orbits, make_loss
from geomsolve.analyses.imbalance import imbalance
from geomsolve.cli.main import cli
from geomsolve.errors import InputError
from geomsolve.questions.imbalance import Imbalance
from geomsolve.reading.datasets import dataset
from geomsolve.solvers.first_order import Search
from geomsolve.solvers.manifold import descend, solve_limited
from geomsolve.solvers.points import Place, Points


def ask(props, dim, **loss):
    return imbalance(Imbalance(props=props, dim=dim, loss={"name": "supcon", "temperature": 0.5, **loss}))


def test_a_limit_that_does_not_bind_changes_nothing():
    free, limited = ask([0.4, 0.3, 0.2, 0.1], None), ask([0.4, 0.3, 0.2, 0.1], 3)
    np.testing.assert_array_equal(free.orbit_cosines, limited.orbit_cosines)
    assert free.dimension_limited is None
    assert limited.dimension_limited is False
    assert limited.exit_code == 0
    assert (
        ask([0.95, 0.025, 0.025], 1, temperature=5.0).dimension_limited is False
    )  # collapsed: one dimension is enough


def test_four_balanced_classes_in_the_plane_form_a_square():
    report = ask([0.25] * 4, 2)
    assert report.structure.kind == "orthoplex"
    assert report.dimension_limited is True
    assert report.exit_code == 1
    # a square: each class has two neighbours at cosine 0 and one opposite at -1
    square = np.log((1 + 2 * np.exp(-2.0) + np.exp(-4.0)) / 4)
    assert report.value == pytest.approx(square, abs=1e-12)
    assert report.rank == 2


def test_three_balanced_classes_on_a_line():
    """Two of the three must coincide: value 2/3 log((2 + x)/3) + 1/3 log((1 + 2 x)/3), x = e^{-2/t}."""
    report = ask([1 / 3] * 3, 1)
    x = np.exp(-4.0)
    assert report.value == pytest.approx(2 / 3 * np.log((2 + x) / 3) + 1 / 3 * np.log((1 + 2 * x) / 3), abs=1e-12)
    assert report.structure.kind == "minority collapse"


@pytest.mark.slow
def test_more_dimensions_are_never_worse_and_the_bound_stays_below():
    props = [0.3, 0.2, 0.15, 0.15, 0.1, 0.1]
    reports = [ask(props, dim) for dim in (1, 2, 3, 4, 5)]
    values = [r.value for r in reports]
    assert all(b <= a + 1e-12 for a, b in pairwise(values))
    for report in reports:
        assert report.lower_bound <= report.value + 1e-12
        assert np.linalg.eigvalsh(report.gram)[0] >= -1e-12
        assert np.sum(np.linalg.eigvalsh(report.gram) > 1e-9) <= report.problem["dim"]
    assert reports[-1].dimension_limited is False


def test_a_stationary_point_in_the_plane():
    """Independent of the solver: no rotation of any one class in the plane lowers the loss."""
    report = ask([0.35, 0.25, 0.2, 0.12, 0.08], 2)
    values, vectors = np.linalg.eigh(report.gram)
    points = vectors[:, -2:] * np.sqrt(values[-2:])
    p = report.orbits.proportions[report.orbits.index]

    def loss(angles):
        x = np.column_stack([np.cos(angles), np.sin(angles)])
        return float(p @ np.log(np.exp((x @ x.T - 1) / 0.5) @ p))

    angles = np.arctan2(points[:, 1], points[:, 0])
    assert loss(angles) == pytest.approx(report.value, abs=1e-9)
    for a in range(5):
        for turn in (-0.01, 0.01):
            moved = angles.copy()
            moved[a] += turn
            assert loss(moved) >= report.value


def test_seeded():
    a, b = ask([0.2] * 5, 2), ask([0.2] * 5, 2)
    np.testing.assert_array_equal(a.orbit_cosines, b.orbit_cosines)


def test_losses_with_kinks_and_lines_of_many_are_refused():
    with pytest.raises(InputError, match="without kinks"):
        imbalance(Imbalance(props=[0.5, 0.3, 0.2], dim=1, loss="triplet"))
    with pytest.raises(InputError, match="two points"):
        ask([1 / 20] * 20, 1)


def test_command():
    done = CliRunner().invoke(cli, ["imbalance", "--props", "4*0.25", "--dim", "2"], standalone_mode=False)
    assert done.return_value == 1
    assert done.output.startswith("In 2 dimensions (best found): supcon wants an orthoplex")
    assert "Best found, not proven" in done.output
    done = CliRunner().invoke(cli, ["imbalance", "--props", "4*0.25", "--dim", "2", "--json"], standalone_mode=False)
    answer = json.loads(done.output)
    assert answer["dimension_limited"] is True
    assert answer["certified"] is False
    assert answer["unique"] is None
    done = CliRunner().invoke(cli, ["imbalance", "--props", "4*0.25", "--json"], standalone_mode=False)
    assert "dimension_limited" not in json.loads(done.output)


@pytest.mark.parametrize(
    ("name", "classes", "total", "largest", "smallest"),
    # published figures: Liu et al. 2019 (ImageNet-LT, Places-LT), iNaturalist 2018 competition
    [
        ("imagenet-lt-shaped", 1000, 115846, 1280, 5),
        ("places-lt-shaped", 365, 62500, 4980, 5),
        ("inaturalist2018-shaped", 8142, 437513, 1000, 2),
    ],
)
def test_shaped_data_sets_have_the_published_figures(name, classes, total, largest, smallest):
    counts = dataset(name).counts
    assert (len(counts), sum(counts), max(counts), min(counts)) == (classes, total, largest, smallest)
    assert list(counts) == sorted(counts, reverse=True)
    assert "not its list" in dataset(name).source


def many_classes(n: int):
    """Points and objective of supcon for ``n`` classes, each an orbit of its own."""
    orbits = Orbits.of(np.geomspace(1, 0.01, n) / np.geomspace(1, 0.01, n).sum()).single()
    objective = make_loss("supcon", {"temperature": 0.5}).objective(orbits)
    return Points(objective, orbits), objective, orbits


def test_the_gradient_of_a_first_order_search_is_that_of_its_loss():
    points, _, _ = many_classes(7)
    state, free = Search(points, None), np.random.default_rng(0).standard_normal((7, 3))
    value, gradient = state.loss(free.ravel(), free.shape)
    assert state.loss(2 * free.ravel(), free.shape)[0] == pytest.approx(value, abs=1e-13)  # lengths do not matter
    for i, move in enumerate(1e-6 * np.eye(free.size)):
        ahead, behind = (state.loss(free.ravel() + sign * move, free.shape)[0] for sign in (1, -1))
        assert gradient[i] == pytest.approx((ahead - behind) / 2e-6, abs=1e-8)


@pytest.mark.slow
def test_first_order_steps_end_where_newton_steps_find_nothing_lower(monkeypatch):
    monkeypatch.setattr("geomsolve.solvers.manifold.MANY", 12)
    points, objective, orbits = many_classes(12)
    found, rows = solve_limited(objective, orbits, orbits.regular_simplex(), 4, 0)
    place = Place.at(points, np.column_stack([rows, np.zeros(12)]))
    assert place.value == pytest.approx(objective.value(found.cosines), abs=1e-13)
    assert place.value - descend(place, 1000)[0].value <= 1e-9


def test_who_watches_a_long_search_may_end_it_and_keeps_the_best():
    points, objective, orbits = many_classes(200)
    seen: list[float] = []

    def watch(count: int, lowest: float) -> None:
        seen.append(lowest)
        if count == 30:
            raise KeyboardInterrupt

    start = orbits.regular_simplex()
    found, rows = solve_limited(objective, orbits, start, 8, 0, watch=watch)
    assert len(seen) == 30
    assert objective.value(found.cosines) == pytest.approx(min(seen), abs=1e-12)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-12)
    assert "stopped early" in found.note

    def unwatched(free, shape):
        raise KeyboardInterrupt

    state = Search(points, None)
    state.loss = unwatched
    with pytest.raises(KeyboardInterrupt):
        state.follow(rows, 10)
