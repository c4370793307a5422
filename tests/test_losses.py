"""The losses: their values against the definitions, their derivatives against differences, and published numbers."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from helpers import LOSSES, define, label, random_gram

from geomsolve import InputError, Orbits, make_loss
from geomsolve.losses import REGISTRY
from geomsolve.losses.align_uniform import AlignUniform
from geomsolve.objectives.expectation import LogExpectation
from geomsolve.objectives.sampling import negative_distribution

COUNTS = np.array([6, 3, 3, 2])
"""Four classes, two of them alike."""

every_loss = pytest.mark.parametrize(("name", "parameters"), LOSSES, ids=map(label, LOSSES))


def orbits_of_counts(counts=COUNTS, *, trivial: bool = False) -> Orbits:
    counts = np.asarray(counts)
    return (Orbits.trivial if trivial else Orbits.of)(counts / counts.sum(), counts)


def objective_of(name, parameters, counts=COUNTS, *, trivial=False):
    return make_loss(name, parameters).objective(orbits_of_counts(counts, trivial=trivial))


STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
"""Central difference of order 8."""


def derivative(function, step=0.02):
    """d/dx function at 0."""
    return sum(c * (function(j * step) - function(-j * step)) for j, c in STENCIL.items()) / step


def test_every_registered_loss_is_tested():
    # no sums of logarithms of sums of cosines, a potential of the user's, distances, or two points a class: with
    # definitions and tests of their own
    elsewhere = {"weince", "tsc", "pairwise", "cross-entropy", "contrastive-distance", "lifted-structure"}
    assert {name for name, _ in LOSSES} | elsewhere == set(REGISTRY)


@every_loss
def test_value_is_the_definition(name, parameters, rng):
    """Orbit form and trivial form against plain loops over all classes."""
    orbits, definition = orbits_of_counts(), define(name, parameters, COUNTS / COUNTS.sum(), COUNTS)
    for _ in range(5):
        gram = random_gram(rng, 4)
        trivial = objective_of(name, parameters, trivial=True)
        assert trivial.value(gram) == pytest.approx(definition.value(gram), rel=1e-12, abs=1e-13)
        cosines = orbits.reduce(gram)
        reduced = objective_of(name, parameters)
        assert reduced.value(cosines) == pytest.approx(definition.value(orbits.lift(cosines)), rel=1e-12, abs=1e-13)


@every_loss
def test_gradient_is_the_derivative_of_the_value(name, parameters, rng):
    objective, orbits = objective_of(name, parameters), orbits_of_counts()
    cosines = 0.6 * orbits.reduce(random_gram(rng, 4)) + 0.05
    value, gradient = objective.evaluate(cosines)
    assert value == objective.value(cosines)
    np.testing.assert_array_equal(gradient, objective.gradient(cosines))
    for g, h in itertools.product(range(3), repeat=2):
        unit = np.zeros((3, 3))
        unit[g, h] = 1.0
        step = 1e-3 if name in ("triplet", "contrastive") else 0.02  # the hinge is straight, but only up to its kink
        slope = derivative(lambda x, unit=unit: objective.value(cosines + x * unit), step)
        assert gradient[g, h] == pytest.approx(slope, abs=1e-10)


@every_loss
def test_curvature_is_the_derivative_of_the_gradient(name, parameters, rng):
    objective, orbits = objective_of(name, parameters), orbits_of_counts()
    cosines = 0.6 * orbits.reduce(random_gram(rng, 4)) + 0.05
    curvature = objective.curvature(cosines)
    step = 1e-3 if name in ("triplet", "contrastive") else 0.02
    for _ in range(3):
        change = rng.normal(size=(3, 3))
        change /= np.linalg.norm(change)
        bend = derivative(lambda x, change=change: objective.gradient(cosines + x * change), step)
        np.testing.assert_allclose(curvature(change), bend, atol=1e-9)


@every_loss
def test_cone_form_has_the_value_of_the_loss(name, parameters, rng):
    objective, orbits = objective_of(name, parameters), orbits_of_counts()
    form = objective.cone_form()
    assert form is not None
    for _ in range(5):
        cosines = orbits.reduce(random_gram(rng, 4))
        assert form.value(cosines) == pytest.approx(objective.value(cosines), rel=1e-12, abs=1e-13)


def test_no_cone_form_where_enumeration_is_long():
    assert objective_of("infonce", {"negatives": 200}).cone_form() is None


@every_loss
def test_convex_along_segments(name, parameters, rng):
    objective, orbits = objective_of(name, parameters), orbits_of_counts()
    for _ in range(20):
        one, other = (orbits.reduce(random_gram(rng, 4, dim)) for dim in (2, 3))
        middle = objective.value((one + other) / 2)
        assert middle <= (objective.value(one) + objective.value(other)) / 2 + 1e-13


@every_loss
def test_never_costs_less_when_all_cosines_rise_together(name, parameters):
    """Holds for every loss except the two that have a cosine of their own, which is where they turn."""
    objective = objective_of(name, parameters)
    wanted = {"spectral": 0.0, "soft-supcon": 1 + 0.5 * math.log(parameters.get("epsilon", 1.0))}.get(name, -1.0)
    grid = np.linspace(-1, 1, 41)
    values = np.array([objective.value(np.full((3, 3), c)) for c in grid])
    rising = grid[:-1] >= wanted
    assert np.all(np.diff(values)[rising] >= -1e-15)
    assert np.all(np.diff(values)[grid[1:] <= wanted] < 0)


# --- random negatives ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("negatives", [1, 2, 5, 9])
@pytest.mark.parametrize("form", ["sum", "mean"])
@pytest.mark.parametrize("sampling", ["iid", "supervised"])
def test_integral_is_the_enumeration(negatives, form, sampling, rng):
    parameters = {"negatives": negatives, "form": form, "sampling": sampling, "temperature": 0.2}
    gram, p = random_gram(rng, 4), COUNTS / COUNTS.sum()
    objective = make_loss("infonce", parameters).objective(Orbits.trivial(p))
    assert objective.value(gram) == pytest.approx(define("infonce", parameters, p).value(gram), rel=1e-12)
    del parameters["form"]
    objective = make_loss("dcl", parameters).objective(Orbits.trivial(p))
    assert objective.value(gram) == pytest.approx(define("dcl", parameters, p).value(gram), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("batch", "views"), [(2, 2), (3, 2), (6, 2), (4, 5)])
def test_supcon_in_batches_is_the_enumeration(batch, views, rng):
    parameters = {"batch": batch, "views": views, "temperature": 0.2}
    gram, p = random_gram(rng, 4), COUNTS / COUNTS.sum()
    objective = make_loss("supcon", parameters).objective(Orbits.trivial(p))
    assert objective.value(gram) == pytest.approx(define("supcon", parameters, p).value(gram), rel=1e-12)


def test_views_default_to_two():
    assert make_loss("supcon", {"batch": 8}).parameters()["views"] == 2


def test_chances_of_supervised_negatives_are_exact_beside_almost_one():
    """1 - p has eight digits where p is 1 - 2e-8; the sum of the other shares has all."""
    small = np.array([3e-8, 7e-11, 2e-13])
    p = np.array([1 - small.sum(), *small])
    for order in (np.arange(4), np.array([2, 0, 3, 1])):
        orbits = Orbits.of(p[order])
        chance, own = negative_distribution(orbits, "supervised")
        largest = int(np.argmax(orbits.proportions))
        expected = np.array(sorted(small, reverse=True)) / small.sum()
        np.testing.assert_allclose(np.sort(np.delete(chance[largest], largest))[::-1], expected, rtol=1e-14)
        np.testing.assert_allclose(chance.sum(axis=1) + own, 1, rtol=1e-14)


def test_one_supervised_negative_is_a_sum_over_pairs(rng):
    gram, p, tau = random_gram(rng, 4), COUNTS / COUNTS.sum(), 0.3
    objective = make_loss("infonce", {"negatives": 1, "sampling": "supervised", "temperature": tau}).objective(
        Orbits.trivial(p)
    )
    pairs = sum(
        p[a] * p[b] / (1 - p[a]) * math.log1p(math.exp((gram[a, b] - 1) / tau))
        for a, b in itertools.permutations(range(4), 2)
    )
    assert objective.value(gram) == pytest.approx(pairs, rel=1e-13)


def test_one_decoupled_negative_is_linear(rng):
    gram, p, tau = random_gram(rng, 4), COUNTS / COUNTS.sum(), 0.3
    objective = make_loss("dcl", {"negatives": 1, "temperature": tau}).objective(Orbits.trivial(p))
    assert objective.value(gram) == pytest.approx(p @ (gram - 1) @ p / tau, rel=1e-12)


@pytest.mark.parametrize("sampling", ["iid", "supervised"])
def test_many_negatives_tend_to_the_limit(sampling, rng):
    """The error is O(1/k): a hundred times the negatives, a hundredth of it."""
    gram, p = random_gram(rng, 4), COUNTS / COUNTS.sum()
    common = {"sampling": sampling, "temperature": 0.5}
    for name, extra, shift in (
        ("infonce", {"form": "sum"}, True),
        ("infonce", {"form": "mean"}, False),
        ("dcl", {}, True),
    ):
        limit = make_loss(name, {**common, **extra}).objective(Orbits.trivial(p)).value(gram)
        errors = []
        for k in (1e4, 1e6):
            finite = make_loss(name, {**common, **extra, "negatives": k}).objective(Orbits.trivial(p)).value(gram)
            errors.append(abs(finite - (math.log(k) if shift else 0.0) - limit))
        assert errors[0] < 2e-3
        assert errors[1] == pytest.approx(errors[0] / 100, rel=0.02)


@pytest.mark.parametrize("tau", [0.01, 0.05, 1.0, 100.0])
@pytest.mark.parametrize("negatives", [1, 7, 1000, 10**6])
@pytest.mark.parametrize("base", [0.0, 1.0])
def test_quadrature_with_two_outcomes_is_the_binomial_sum(tau, negatives, base):
    """One class beside one's own: the number of hits is binomial, so the expectation is a sum over 0..k."""
    from scipy.stats import binom

    q, cosine = 0.3, -0.7
    x = math.exp((cosine - 1) / tau)
    hits = np.arange(negatives + 1)
    y = base + hits * x + (negatives - hits)
    exact = float(binom.pmf(hits, negatives, q) @ np.log(y))
    objective = LogExpectation(
        np.array([[0.0, q], [0.0, 0.0]]),
        np.array([1 - q, 0.0]),
        np.array([1.0, 0.0]),
        base=base,
        factor=1.0,
        negatives=negatives,
        scale=1 / tau,
        unique_minimiser=False,
    )
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value = objective.value(np.array([[1.0, cosine], [cosine, 1.0]]))
    assert value == pytest.approx(exact, rel=3e-11, abs=3e-13)


def test_quadrature_reproduces_a_known_expectation():
    """Equal negatives are no expectation at all: log(1 + k e^t), at any temperature."""
    for tau, k in itertools.product((0.01, 0.1, 1.0, 100.0), (1, 50, 10**6)):
        cosine = -0.5
        objective = make_loss("infonce", {"temperature": tau, "negatives": k, "sampling": "supervised"}).objective(
            Orbits.of([1 / 3] * 3)
        )
        value = objective.value(np.array([[cosine]]))
        assert value == pytest.approx(math.log1p(k * math.exp((cosine - 1) / tau)), rel=1e-11, abs=1e-15)


# --- what batches really cost ----------------------------------------------------------------------------------------


def batch_loss(embeddings: np.ndarray, labels: np.ndarray, tau: float) -> tuple[float, int]:
    """Khosla et al. 2020, L_out, by loops: the sum over anchors that have a positive, and how many do."""
    total, anchors = 0.0, 0
    n = len(labels)
    for i in range(n):
        positives = [j for j in range(n) if j != i and labels[j] == labels[i]]
        if not positives:
            continue
        anchors += 1
        normaliser = math.log(sum(math.exp(embeddings[i] @ embeddings[j] / tau) for j in range(n) if j != i))
        total += sum(normaliser - embeddings[i] @ embeddings[j] / tau for j in positives) / len(positives)
    return total, anchors


@pytest.mark.parametrize("counts", [[4, 3, 2], [4, 2, 1], [3, 1, 1]])
def test_supcon_full_batch_is_the_batch_loss_of_collapsed_embeddings(counts, rng):
    x = rng.normal(size=(3, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    labels = np.repeat(np.arange(3), counts)
    total, _ = batch_loss(x[labels], labels, 0.5)
    objective = objective_of("supcon", {"temperature": 0.5, "full_batch": True}, counts, trivial=True)
    assert objective.value(x @ x.T) == pytest.approx(total / sum(counts), rel=1e-12)


def test_a_full_batch_without_any_positive_is_refused():
    with pytest.raises(InputError, match="no anchor has a positive") as caught:
        objective_of("supcon", {"full_batch": True}, [1, 1, 1])
    assert caught.value.field == "loss.full_batch"


@pytest.mark.parametrize(("batch", "views"), [(2, 2), (3, 2), (2, 3)])
def test_supcon_in_random_batches_is_the_mean_batch_loss(batch, views, rng):
    """All ways to draw B samples, each seen V times; the average over anchors."""
    p = np.array([0.5, 0.3, 0.2])
    x = rng.normal(size=(3, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    expected = 0.0
    for drawn in itertools.product(range(3), repeat=batch):
        labels = np.repeat(drawn, views)
        total, anchors = batch_loss(x[labels], labels, 0.5)
        assert anchors == batch * views
        expected += math.prod(p[c] for c in drawn) * total / anchors
    objective = make_loss("supcon", {"temperature": 0.5, "batch": batch, "views": views}).objective(Orbits.trivial(p))
    assert objective.value(x @ x.T) == pytest.approx(expected, rel=1e-12)


def test_published_bound_of_all_batches():
    """'Dissecting supervised contrastive learning', companion notebook: 25205.688636803963.

    The sum over all 2002 batches of 9 out of 6 samples (two a class), of the loss of the regular simplex, K = 3, tau 1.
    """
    gram = np.full((3, 3), -0.5)
    np.fill_diagonal(gram, 1.0)
    batches = Counter(
        tuple(np.bincount([sample // 2 for sample in drawn], minlength=3))
        for drawn in itertools.combinations_with_replacement(range(6), 9)
    )
    total = 0.0
    for counts, times in batches.items():
        there = np.flatnonzero(counts)
        if there.size == 1:
            total += times * 9 * math.log(8)  # a batch of one class has no geometry
            continue
        drawn = np.array(counts)[there]
        objective = objective_of("supcon", {"temperature": 1, "full_batch": True}, drawn, trivial=True)
        total += times * 9 * objective.value(gram[np.ix_(there, there)])
    assert sum(batches.values()) == 2002
    assert total == pytest.approx(25205.688636803963, rel=1e-12)


def test_full_batch_needs_counts():
    with pytest.raises(InputError, match="needs class counts"):
        make_loss("supcon", {"full_batch": True}).objective(Orbits.of([0.5, 0.5]))


# --- closed forms ----------------------------------------------------------------------------------------------------


def test_soft_supcon_attains_the_entropic_floor_at_its_cosine():
    p, tau, epsilon = np.array([0.5, 0.3, 0.2]), 0.5, 0.2
    weight = np.where(np.eye(3, dtype=bool), 1.0, epsilon)
    target = weight * p / (weight @ p)[:, None]
    floor = -float(np.sum(p[:, None] * target * np.log(target / p)))
    gram = np.full((3, 3), 1 + tau * math.log(epsilon))
    np.fill_diagonal(gram, 1.0)
    objective = make_loss("soft-supcon", {"temperature": tau, "epsilon": epsilon}).objective(Orbits.trivial(p))
    value, gradient = objective.evaluate(gram)
    assert value == pytest.approx(floor, rel=1e-13)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-14)


def test_soft_supcon_is_never_below_the_entropic_floor(rng):
    p, tau, epsilon = np.array([0.5, 0.3, 0.2]), 0.5, 0.05
    weight = np.where(np.eye(3, dtype=bool), 1.0, epsilon)
    target = weight * p / (weight @ p)[:, None]
    floor = -float(np.sum(p[:, None] * target * np.log(target / p)))
    objective = make_loss("soft-supcon", {"temperature": tau, "epsilon": epsilon}).objective(Orbits.trivial(p))
    assert min(objective.value(random_gram(rng, 3)) for _ in range(200)) > floor


def test_uniformity_of_total_collapse_is_zero():
    value = AlignUniform().objective(Orbits.of([0.5, 0.3, 0.2])).value(np.ones((3, 3)))
    assert value == pytest.approx(0.0, abs=1e-15)


def test_spectral_of_orthogonal_classes_is_the_collision_probability():
    objective = make_loss("spectral", {}).objective(Orbits.trivial([0.5, 0.3, 0.2]))
    assert objective.value(np.eye(3)) == pytest.approx(0.25 + 0.09 + 0.04)


def test_supcon_at_collapse_is_zero_and_log_n_minus_one_in_the_full_batch():
    assert objective_of("supcon", {}).value(np.ones((3, 3))) == pytest.approx(0.0, abs=1e-15)
    collapsed = objective_of("supcon", {"full_batch": True}).value(np.ones((3, 3)))
    assert collapsed == pytest.approx(math.log(COUNTS.sum() - 1))


# --- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters", "field", "message"),
    [
        ("supcon", {"temperature": 0}, "loss.temperature", "above 0, from 0.0001 to 1e6, got 0"),
        ("supcon", {"temperature": True}, "loss.temperature", "above 0, from 0.0001 to 1e6, got True"),
        ("supcon", {"temperature": math.inf}, "loss.temperature", "above 0"),
        ("supcon", {"temperature": "warm"}, "loss.temperature", "'warm'"),
        ("supcon", {"batch": 1}, "loss.batch", "at least 2"),
        ("supcon", {"batch": 4, "views": 0}, "loss.views", "at least 1"),
        ("supcon", {"batch": 2, "views": 1}, "loss.batch", "the loss is 0 everywhere"),
        ("supcon", {"batch": 4, "replacement": "maybe"}, "loss.replacement", "yes, no"),
        ("supcon", {"replacement": "no"}, "loss.replacement", "batch size too"),
        ("supcon", {"batch": 2.5}, "loss.batch", "whole number"),
        ("supcon", {"views": 2}, "loss.views", "batch size too"),
        ("supcon", {"batch": 4, "full_batch": True}, "loss.batch", "leave out the batch size"),
        ("supcon", {"full_batch": "yes"}, "loss.full_batch", "true or false"),
        ("infonce", {"negatives": 0}, "loss.negatives", "at least 1, or inf"),
        ("infonce", {"negatives": math.nan}, "loss.negatives", "at least 1, or inf"),
        ("infonce", {"form": "product"}, "loss.form", "sum, mean"),
        ("dcl", {"form": "sum"}, "loss.form", "does not use this"),
        ("dcl", {"sampling": "some"}, "loss.sampling", "iid, supervised"),
        ("supcon", {"temprature": 1}, "loss.temprature", "did you mean 'temperature'"),
        ("triplet", {"margin": 2.5}, "loss.margin", "to 2, got"),
        ("soft-supcon", {"epsilon": 0}, "loss.epsilon", "above 0, from 1e-100 to 1, got 0"),
        ("align-uniform", {"uniform_t": -1}, "loss.uniform_t", "above 0"),
        ("supkon", {}, "loss.name", "did you mean 'supcon'"),
    ],
)
def test_bad_parameters_are_named(name, parameters, field, message):
    with pytest.raises(InputError, match=message) as caught:
        make_loss(name, parameters)
    assert caught.value.field == field


def test_parameters_that_are_in_force_are_listed():
    assert make_loss("supcon", {}).parameters() == {"temperature": 0.1, "full_batch": False}
    assert make_loss("infonce", {"negatives": "16"}).parameters()["negatives"] == 16


@pytest.mark.parametrize("negatives", [1, 2, 3, 8])
@pytest.mark.parametrize("temperature", [0.003, 0.005, 0.02])
def test_low_temperatures_are_finite(negatives, temperature):
    """Without a positive in the denominator Y is e^{-2/t} at least, and s up to 42 over that; nothing may overflow,
    not even at iterates that are no Gram matrix."""
    orbits = orbits_of_counts((96, 26, 3))
    objective = make_loss("dcl", {"temperature": temperature, "negatives": negatives}).objective(orbits)
    for gram in (random_gram(np.random.default_rng(1), 3), 4 - 3 * np.eye(3), 2 * np.eye(3) - 1):
        value, gradient = objective.evaluate(gram)
        bent = objective.curvature(gram)(1 - np.eye(3))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert np.isfinite(bent).all()
    if negatives == 1:  # then E log Y is linear
        weights = orbits.proportions * (1 - np.eye(3)) * orbits.proportions[:, None]
        assert value == pytest.approx(float(np.sum(weights * (gram - 1))) / temperature, rel=1e-12)
        np.testing.assert_allclose(gradient, weights / temperature, rtol=1e-11)


def test_low_temperatures_are_answered(run):
    """One negative: F is linear, and the largest class stands against the others: -2/t sum of p_1 (p_2 + p_3) twice."""
    flags = ("imbalance", "--loss", "dcl", "-t", ".005", "--counts", "96,26,3", "--json")
    answer = run(*flags, "--negatives", 1)
    assert (answer.code, answer.stderr) == (0, "")
    assert answer.json["value"] == pytest.approx(-2 * 96 * 29 / 125**2 * 2 / 0.005, rel=1e-10)
    assert answer.json["structure"]["kind"] == "minority collapse"
    coldest = run(*flags[:4], ".003", *flags[5:], "--negatives", 3)
    assert (coldest.code, coldest.stderr) == (0, "")
    colder = run(*flags[:4], ".002", *flags[5:], "--negatives", 3)
    assert colder.code == 2
    assert "take 0.003 or more" in colder.stderr
    many = run(*flags, "--negatives", 3)
    assert (many.code, many.stderr) == (0, "")
    assert many.json["certified"]


def test_curvature_of_many_orbits_is_good_enough_for_steps():
    """Every other node of the integral, and no more error than that of the trapezoid rule, e^(-pi^2 / step)."""
    counts = np.arange(1, 71) + 5
    orbits = Orbits.of(counts / counts.sum())
    objective = make_loss("infonce", {"temperature": 0.5, "negatives": 20}).objective(orbits)
    cosines = orbits.regular_simplex()
    change = np.random.default_rng(0).standard_normal(cosines.shape)
    change += change.T
    np.fill_diagonal(change, 0.0)
    ahead, behind = (objective.gradient(cosines + sign * 1e-5 * change) for sign in (1, -1))
    slope = (ahead - behind) / 2e-5
    np.testing.assert_allclose(objective.curvature(cosines)(change), slope, atol=1e-6 * np.abs(slope).max())


def test_the_last_place_is_kept_and_no_other():
    orbits = Orbits.of([0.5, 0.3, 0.2])
    objective = make_loss("infonce", {"negatives": 4}).objective(orbits)
    cosines = orbits.regular_simplex()
    value, slope = objective.evaluate(cosines)
    slope[:] = np.nan  # what is handed out is the caller's own
    cosines[0, 1] = cosines[1, 0] = -0.1
    moved = objective.evaluate(cosines)
    fresh = make_loss("infonce", {"negatives": 4}).objective(orbits)
    np.testing.assert_array_equal(moved[1], fresh.gradient(cosines))
    assert moved[0] == fresh.value(cosines) != value
    assert np.isfinite(objective.gradient(orbits.regular_simplex())).all()


@pytest.mark.parametrize("temperature", [0.02, 0.5, 20.0])
def test_series_at_faint_nodes_are_the_exponentials(temperature, rng):
    """Sums over nodes of x e^{-x}, x (1 - x) e^{-x}, and of the products of the former, with and without series."""
    counts = np.array([50, 20, 20, 7, 5, 1])
    orbits = Orbits.of(counts / counts.sum(), counts)
    objective = make_loss("infonce", {"temperature": temperature, "negatives": 30}).objective(orbits)
    cosines = orbits.reduce(random_gram(rng, 6))
    for g in range(orbits.n_orbits):
        short, whole = objective._anchor(g, cosines), objective._anchor(g, cosines, series=False)
        assert short.faint.shape[0] > 50
        assert whole.faint.shape[0] == 0
        drawn = short.chance > 0
        weights = rng.uniform(0.5, 1, short.s.size)
        np.testing.assert_allclose(short.log_phi, whole.log_phi, rtol=1e-12, atol=0)
        np.testing.assert_allclose(short.first(weights)[drawn], whole.first(weights)[drawn], rtol=1e-12)
        np.testing.assert_allclose(short.second(weights)[drawn], whole.second(weights)[drawn], rtol=1e-11)
        grams = [terms.T @ terms for terms in (short.terms(weights)[:, drawn], whole.terms(weights)[:, drawn])]
        np.testing.assert_allclose(*grams, rtol=1e-10)


@pytest.mark.parametrize("beta", [0.5, 3.0])
def test_hard_negatives_by_their_definition(beta):
    """Each negative weighted by e^{beta c} against the mean of these; its curvature by differences of the slope."""
    from geomsolve.objectives.hardness import HardNegatives

    p, t = np.array([0.5, 0.3, 0.2]), 0.7
    orbits = Orbits.trivial(p)
    chance, own = orbits.others * p, p
    found = HardNegatives(orbits, chance, own, t, beta)
    rng = np.random.default_rng(0)
    cosines = np.eye(3) + (1 - np.eye(3)) * rng.uniform(-0.9, 0.9, (3, 3))
    value = 0.0
    for a in range(3):
        draw = [cosines[a, b] if b != a else 1.0 for b in range(3)]
        weight = np.exp(beta * (np.array(draw) - 1))
        value += p[a] * np.log((p * weight * np.exp((np.array(draw) - 1) / t)).sum() / (p * weight).sum())
    assert found.value(cosines) == pytest.approx(value, abs=1e-12)
    change, step = (1 - np.eye(3)) * rng.standard_normal((3, 3)), 1e-5
    ahead, behind = (found.gradient(cosines + sign * step * change) for sign in (1, -1))
    assert found.curvature(cosines)(change) == pytest.approx((ahead - behind) / (2 * step), abs=1e-8)


def test_quotients_of_intervals_hold_every_quotient():
    from geomsolve.objectives.enclosures import Enclosure

    rng = np.random.default_rng(1)
    for _ in range(200):
        (a, b), (c, d) = np.sort(rng.uniform(-2, 2, 2)), np.sort(rng.uniform(0.1, 3, 2) * rng.choice([-1, 1]))
        found = Enclosure.of(np.float64(a), np.float64(b)) / Enclosure.of(np.float64(c), np.float64(d))
        ends = [x / y for x in (a, b) for y in (c, d)]
        assert min(ends) - 1e-12 < found.low <= min(ends)
        assert max(ends) <= found.high < max(ends) + 1e-12
