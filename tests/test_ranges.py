"""Ranges of cosines over near-optimal geometries: published numbers, closed form, and nothing ever outside."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from geomsolve import Imbalance, solve
from geomsolve.gram.orbits import Orbits
from geomsolve.losses import make_loss
from geomsolve.proof.ranges import Range, mean_weights, pair_range, range_of
from geomsolve.solvers.choose import minimise, solve_objective


def range_for(loss, orbits, a, b, slack) -> Range:
    optimum = solve_objective(loss.objective(orbits), orbits).solution.cosines
    apart = orbits.apart((a, b))
    return pair_range(loss.objective(apart), apart, a, b, orbits.expand(optimum, apart), slack, minimise)


@pytest.mark.parametrize("orbits_of", [Orbits.of, Orbits.trivial], ids=["orbits", "full"])
@pytest.mark.parametrize(
    ("temperature", "slack", "pair", "low", "high"),
    [
        (0.5, 1e-4, (1, 2), -0.2334630729, -0.1571239416),
        (0.5, 1e-4, (0, 1), -0.7154857586, -0.6583379914),
        (0.1, 1e-6, (1, 2), -0.6939644737, -0.2274628575),
        (0.1, 1e-4, (1, 2), -1.0, 0.1999083449),
    ],
)
def test_published_ranges_of_three_classes(orbits_of, temperature, slack, pair, low, high):
    found = range_for(make_loss("supcon", {"temperature": temperature}), orbits_of((0.7, 0.2, 0.1)), *pair, slack)
    assert found.certified
    assert found.low == pytest.approx(low, abs=1e-8)
    assert found.high == pytest.approx(high, abs=1e-8)


@pytest.mark.parametrize(("temperature", "slack"), [(0.1, 1e-4), (0.5, 1e-3), (1.0, 1e-6)])
def test_two_classes_in_closed_form(temperature, slack):
    """F(c) = log(1/2 + e^{(c - 1)/t}/2) is monotone: the upper end is where it has risen by the slack."""
    found = range_for(make_loss("supcon", {"temperature": temperature}), Orbits.of((0.5, 0.5)), 0, 1, slack)
    optimum = log((1 + exp(-2 / temperature)) / 2)
    assert found.high == pytest.approx(1 + temperature * log(2 * exp(optimum + slack) - 1), abs=1e-8)
    assert found.low == -1.0


def test_one_pair_of_equal_classes_ranges_further_than_their_mean():
    """A single cosine breaks the symmetry; the mean over all pairs does not."""
    loss, orbits = make_loss("supcon", {"temperature": 0.5}), Orbits.of((0.25,) * 4)
    one = range_for(loss, orbits, 0, 1, 1e-4)
    objective = loss.objective(orbits)
    optimum = solve_objective(objective, orbits).solution.cosines
    mean = range_of(objective, orbits, mean_weights(orbits, np.ones(1)), optimum, 1e-4, minimise)
    assert one.low < mean.low <= -1 / 3 <= mean.high < one.high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("margin", "low", "high"),
    [
        # .5, .2, .2, .1 supervised: pair 2-3 has the mass .2 (.2/.8) 2 = .1, pair 3-4 .2 (.1/.8) + .1 (.2/.9) = .17/3.6
        (1.0, -1.0, (1e-2, 1e-3 * 3.6 / 0.17)),
        (0.5, -1.0, (0.51, 0.5 + 1e-3 * 3.6 / 0.17)),
    ],
)
def test_hinges_jump_from_slack_unspent_to_overspent_and_yet_their_ranges_are_tight(margin, low, high):
    """Where no cosine need cost anything, all of the slack goes to one pair: the knee plus slack / mass."""
    loss, orbits = make_loss("triplet", {"margin": margin}), Orbits.of((0.5, 0.2, 0.2, 0.1))
    for places, end in zip(((1, 2), (2, 3)), high, strict=True):
        found = range_for(loss, orbits, *places, 1e-3)
        assert found.certified
        assert (found.low, found.high) == pytest.approx((low, end), abs=1e-6)


def test_a_jump_is_found_where_two_geometries_tie():
    """One tilt within, one beyond, and a few to their tie; not forty halves."""
    loss, orbits = make_loss("triplet", {"margin": 0.5}), Orbits.of((0.5, 0.3, 0.2))
    optimum = solve_objective(loss.objective(orbits), orbits).solution.cosines
    tilts = []

    def counted(objective, *rest):
        tilts.append(objective)
        return minimise(objective, *rest)

    assert pair_range(loss.objective(orbits), orbits, 1, 2, optimum, 1e-3, counted).certified
    assert len(tilts) <= 12


@pytest.mark.slow
def test_a_hinge_that_must_be_paid_agrees_with_the_full_size_program():
    """Straight in cvxpy: margin 1.5, four classes, some of which must be nearer than the knee, -1/2."""
    cp = pytest.importorskip("cvxpy")
    p, slack = np.array([0.5, 0.2, 0.2, 0.1]), 1e-3
    mass = np.outer(p / (1 - p), p) * (1 - np.eye(4))
    gram = cp.Variable((4, 4), PSD=True)
    loss, unit = cp.sum(cp.multiply(mass, cp.pos(gram + 0.5))), cp.diag(gram) == 1
    best = cp.Problem(cp.Minimize(loss), [unit]).solve(solver="CLARABEL")
    triplet = make_loss("triplet", {"margin": 1.5})
    for a, b in ((0, 1), (1, 2), (2, 3)):
        ends = [
            sign * cp.Problem(cp.Maximize(sign * gram[a, b]), [unit, loss <= best + slack]).solve(solver="CLARABEL")
            for sign in (-1, 1)
        ]
        found = range_for(triplet, Orbits.of(p), a, b, slack)
        assert found.certified
        assert (found.low, found.high) == pytest.approx(ends, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters", "proportions"),
    [
        ("supcon", {"temperature": 0.5}, (0.6, 0.2, 0.2)),
        ("supcon", {"temperature": 0.2}, (0.4, 0.3, 0.2, 0.1)),
        ("infonce", {"temperature": 0.5, "negatives": 4}, (0.5, 0.3, 0.1, 0.1)),
        ("soft-supcon", {"temperature": 0.5, "epsilon": 0.01}, (0.5, 0.3, 0.2)),
        ("spectral", {}, (0.5, 0.3, 0.2)),
    ],
)
def test_no_geometry_within_the_slack_is_outside(name, parameters, proportions, rng):
    """A thousand random Gram matrices, each pulled towards the optimum until its loss is within the slack."""
    slack = 1e-3
    loss, orbits = make_loss(name, parameters), Orbits.of(proportions)
    single = Orbits.trivial(proportions)
    objective = loss.objective(single)
    optimum = solve_objective(objective, single).solution.cosines
    value = objective.value(optimum)
    k = len(proportions)
    found = {(a, b): range_for(loss, orbits, a, b, slack) for a in range(k) for b in range(a)}
    assert all(r.certified for r in found.values())
    for _ in range(1000):
        points = rng.standard_normal((k, k))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        gram = points @ points.T
        near, far = 0.0, 1.0  # the loss is convex along the segment
        for _ in range(16):
            middle = (near + far) / 2
            inside = objective.value((1 - middle) * optimum + middle * gram) <= value + slack
            near, far = (middle, far) if inside else (near, middle)
        gram = (1 - near) * optimum + near * gram
        for (a, b), r in found.items():
            assert r.low - 1e-9 <= gram[a, b] <= r.high + 1e-9


@pytest.mark.slow
def test_only_pairs_that_come_first_are_asked_about_once_the_work_is_done(monkeypatch):
    """Far from the optimum a range takes thousands of steps; those that are given are the same as ever."""
    from geomsolve.analyses import ranges as asking

    asked = Imbalance(props=[0.36, 0.27, 0.2, 0.12, 0.05], slack=0.01, pairs="3:4", names=list("12345"))
    whole = solve(asked).ranges
    assert whole.complete
    assert len(whole.pairs) == 10
    monkeypatch.setattr(asking, "MOST_WORK", -1)
    some = solve(asked).ranges
    assert not some.complete
    assert ("3", "4") in [pair.classes for pair in some.pairs]
    assert 2 <= len(some.pairs) <= 4  # the least and the most firmly held, one named, one of the smallest angle
    ends = {pair.classes: pair.range for pair in whole.pairs}
    assert all(pair.range == ends[pair.classes] for pair in some.pairs)


def test_tilts_are_found_on_the_way_without_digits_that_only_the_last_needs():
    """Of the minima that tell the next tilt few digits are asked; the range is the same as with all of them."""
    orbits = Orbits.trivial(np.array([0.5, 0.3, 0.2]))
    objective = make_loss("supcon", {"temperature": 0.5}).objective(orbits)
    optimum = minimise(objective, orbits, orbits.regular_simplex())[0]
    asked = []

    def told(tilted, orbits, near, enough):
        asked.append(enough)
        return minimise(tilted, orbits, near, enough)

    found = pair_range(objective, orbits, 1, 2, optimum, 1e-4, told)
    exact = pair_range(objective, orbits, 1, 2, optimum, 1e-4, lambda *given: minimise(*given[:3]))
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert found.certified
    assert asked[0] == pytest.approx(1e-6)
    assert min(asked) < 1e-8 < max(asked[1:])


def test_a_minimum_that_may_be_looser_is_still_proven():
    """The bound lies below the true optimum of three equal classes, the simplex, and no further than was allowed."""
    orbits = Orbits.trivial(np.full(3, 1 / 3))
    objective = make_loss("supcon", {"temperature": 0.5}).objective(orbits)
    best = objective.value(np.where(np.eye(3) > 0, 1.0, -0.5))
    cosines, lower = minimise(objective, orbits, np.eye(3), 1e-6)
    assert lower <= best + 1e-14
    assert objective.value(cosines) - lower <= 1e-6


def test_a_loss_that_is_nearly_linear_in_the_cosine_has_a_tight_range(run):
    """Two samples that want 2/3 and 1/3: beyond ten temperatures the slope hardly changes, so that a tilt which is a
    millionth off leads from one end of the range to the other."""
    from scipy.optimize import brentq

    def loss(c):  # of a row with its own sample in the sum
        return (1 - c) / 0.3 + np.log1p(np.exp((c - 1) / 0.1))

    least = -2 / 3 * np.log(2 / 3) - 1 / 3 * np.log(1 / 3)
    low = brentq(lambda c: loss(c) - least - 3, -1, 0)
    found = run("realizable", "--weighting", "custom", "--weights", "1,.5;.5,1", "--slack", 3, "--json").json["ranges"]
    assert found["pairs"][0]["certified"] is True
    assert found["pairs"][0]["low"] == pytest.approx(low, abs=1e-6)
    assert found["pairs"][0]["high"] == 1
