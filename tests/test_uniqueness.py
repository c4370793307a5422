"""Whether the optimum is the only one, and the proofs behind the losses that claim it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import LOSSES, define, label, random_gram

from geomsolve import Imbalance, Orbits, make_loss, solve
from geomsolve.proof.uniqueness import optimum_is_unique
from geomsolve.solvers.choose import solve_objective

KINKED = {"triplet", "contrastive"}
"""Losses that are least wherever nothing costs anything."""


@pytest.mark.parametrize(
    ("name", "parameters"),
    [case for case in LOSSES if case[0] not in KINKED],
    ids=[label(case) for case in LOSSES if case[0] not in KINKED],
)
@pytest.mark.slow
def test_smooth_losses_have_one_optimum(name, parameters):
    counts = [6, 3, 3, 2]
    report = solve(Imbalance(counts=counts, loss={"name": name, **parameters}))
    assert report.unique is True


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("supcon", {"temperature": 0.5}),
        ("supcon", {"temperature": 0.5, "batch": 3}),
        ("supcon", {"temperature": 0.5, "full_batch": True}),
        ("infonce", {"temperature": 0.5}),
        ("infonce", {"temperature": 0.5, "negatives": 1, "sampling": "supervised"}),
        ("infonce", {"temperature": 0.5, "form": "mean", "sampling": "supervised"}),
        ("dcl", {"temperature": 0.5}),
        ("sigmoid", {"temperature": 0.5}),
        ("spectral", {}),
        ("align-uniform", {}),
        ("soft-supcon", {"temperature": 0.5}),
    ],
    ids=str,
)
def test_claimed_strict_convexity_holds(name, parameters, rng):
    """The Hessian on the K(K-1)/2 cosines of all classes is positive definite at random points."""
    counts = np.array([5, 4, 3, 2])
    objective = make_loss(name, parameters).objective(Orbits.trivial(counts / counts.sum(), counts))
    assert objective.unique_minimiser
    for _ in range(5):
        assert np.linalg.eigvalsh(hessian(objective, random_gram(rng, 4)))[0] > 1e-6


def hessian(objective, gram) -> np.ndarray:
    """Second derivative by the cosines of pairs a < b, orthonormal in the trace inner product."""
    k = len(gram)
    pairs = [(a, b) for a in range(k) for b in range(a)]
    curvature = objective.curvature(gram)
    columns = []
    for a, b in pairs:
        unit = np.zeros((k, k))
        unit[a, b] = unit[b, a] = 1 / np.sqrt(2)
        change = curvature(unit)
        columns.append([(change[c, d] + change[d, c]) / np.sqrt(2) for c, d in pairs])
    return np.array(columns)


@pytest.mark.parametrize("negatives", ["inf", 2, 5])
@pytest.mark.parametrize("n_classes", [3, 4, 6])
def test_decoupled_without_own_class_is_straight_along_one_direction_only_and_rises_there(n_classes, negatives, rng):
    """Why `dcl`, supervised, k >= 2, has one optimum although it is not strictly convex.

    Row a, E log sum_j e^{t_ac_j}, is straight exactly along changes that are equal for all b != a; symmetry makes
    these equal for all pairs.  Along it F changes at the rate 1/tau, so no two minimisers differ by it.
    """
    tau = 0.5
    p = rng.dirichlet(np.full(n_classes, 5.0))
    loss = make_loss("dcl", {"sampling": "supervised", "temperature": tau, "negatives": negatives})
    objective = loss.objective(Orbits.trivial(p))
    assert objective.unique_minimiser
    for _ in range(3):
        gram = random_gram(rng, n_classes)
        values, vectors = np.linalg.eigh(hessian(objective, gram))
        assert values[0] == pytest.approx(0.0, abs=1e-12)
        assert values[1] > 1e-4 * values[-1]
        np.testing.assert_allclose(np.abs(vectors[:, 0]), 1 / np.sqrt(len(values)), atol=1e-6)
        rise = np.sum(objective.gradient(gram) * (1 - np.eye(n_classes)))
        assert rise == pytest.approx(1 / tau)


def test_decoupled_with_one_negative_is_linear_and_not_unique():
    report = solve(Imbalance(props=[0.3, 0.3, 0.2, 0.2], loss={"name": "dcl", "negatives": 1}))
    assert report.certified
    assert report.unique is False
    # F = (|sum_a p_a x_a|^2 - 1) / tau: any arrangement whose weighted mean is 0 is as good
    assert report.value == pytest.approx(-1 / 0.1)


def test_decoupled_with_one_negative_is_unique_where_the_weighted_mean_leaves_no_choice():
    """Three classes with sum p_a x_a = 0 form a triangle of sides p_a, which is rigid."""
    report = solve(Imbalance(props=[0.4, 0.35, 0.25], loss={"name": "dcl", "negatives": 1}))
    assert report.unique is True
    cosine = (0.25**2 - 0.4**2 - 0.35**2) / (2 * 0.4 * 0.35)
    assert report.gram[0, 1] == pytest.approx(cosine, abs=1e-6)


@pytest.mark.parametrize(("counts", "margin"), [([7, 2, 1], 1.0), ([5, 5, 5], 1.2), ([4, 3, 2, 1], 1.0)])
def test_triplet_with_slack_is_not_unique(counts, margin):
    """Every arrangement with all cosines below 1 - margin costs nothing."""
    report = solve(Imbalance(counts=counts, loss={"name": "triplet", "margin": margin}))
    assert report.value == pytest.approx(0.0, abs=1e-9)
    assert report.unique is False


@pytest.mark.parametrize(("n_classes", "unique"), [(3, True), (4, False)])
def test_triplet_beyond_its_reach_wants_a_vanishing_mean(n_classes, unique):
    """No arrangement reaches cosine -0.95 everywhere, so the loss is linear there and only sum_a x_a = 0 matters:
    three unit vectors have one way to do that, four have many."""
    report = solve(Imbalance(props=[1 / n_classes] * n_classes, loss={"name": "triplet", "margin": 1.95}))
    assert report.structure.kind == "regular simplex"
    assert report.value == pytest.approx(0.95 - 1 / (n_classes - 1), abs=1e-8)
    assert report.unique is unique


def test_a_second_optimum_that_is_claimed_exists():
    """Where 'not unique' is said, two arrangements of equal value can be written down."""
    p = np.array([0.3, 0.3, 0.2, 0.2])
    definition = define("dcl", {"negatives": 1, "temperature": 1.0}, p)
    square = np.array([[1, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 1, -1], [0, 0, -1, 1]], dtype=float)
    line = np.outer([1, -1, 1, -1], [1, -1, 1, -1]).astype(float)
    assert definition.value(square) == pytest.approx(definition.value(line))
    assert definition.value(square) == pytest.approx(-1.0)


def test_too_many_classes_are_left_undetermined():
    p = np.full(40, 1 / 40)
    loss, orbits = make_loss("dcl", {"negatives": 1}), Orbits.of(p)
    objective = loss.objective(orbits)
    assert (
        optimum_is_unique(objective, orbits, np.array([[-1 / 39]]), single=lambda: loss.objective(orbits.single()))
        is None
    )


def test_two_singletons_in_a_full_batch():
    """Their cosine does not enter the loss, so strict convexity cannot be claimed; collapse still leaves no choice."""
    loss = make_loss("supcon", {"full_batch": True, "temperature": 1.0})
    orbits = Orbits.of(np.array([5, 1, 1]) / 7, [5, 1, 1])
    assert not loss.objective(orbits).unique_minimiser
    report = solve(Imbalance(counts=[5, 1, 1], loss={"name": "supcon", "full_batch": True, "temperature": 1.0}))
    assert report.unique is True
    np.testing.assert_allclose(report.gram, np.outer([1, -1, -1], [1, -1, -1]), atol=1e-6)


def test_what_is_optimal_within_a_gap_only_is_not_called_the_only_optimum():
    """The forces of S are known to the root of the gap: what is below that may be 0, and other optima with it."""
    loss, orbits = make_loss("triplet", {"margin": 1.6}), Orbits.trivial(np.array([6, 3, 3, 2]) / 14)
    objective = loss.objective(orbits)
    best = solve_objective(objective, orbits).solution

    def unique(gap):
        return optimum_is_unique(objective, orbits, best.cosines, best.slopes, single=lambda: objective, gap=gap)

    assert unique(0.0) is True
    assert unique(1e-3) is None
