"""Batches without replacement: enumerated and drawn batches, the full batch, large sets, and what a user is told."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import define, random_gram

from geomsolve import Imbalance, InputError, Orbits, make_loss, solve
from geomsolve.objectives.finite_draws import FiniteDraws
from geomsolve.objectives.logsum import LogSum


def orbits_of(*counts: int, trivial: bool = False) -> Orbits:
    p = np.array(counts) / sum(counts)
    return (Orbits.trivial if trivial else Orbits.of)(p, counts)


@pytest.mark.parametrize(
    ("counts", "batch", "views", "temperature"),
    [
        ((5, 3, 2), 4, 2, 0.5),
        ((5, 3, 2), 4, 1, 0.1),
        ((5, 3, 2), 10, 1, 0.3),
        ((4, 4, 1, 1, 1), 6, 1, 0.2),
        ((30, 4, 2), 9, 3, 1.0),
        ((7, 5, 1), 13, 30, 0.05),
        ((2, 1), 3, 1, 0.01),
    ],
)
def test_value_is_the_enumeration(counts, batch, views, temperature, rng):
    orbits = orbits_of(*counts)
    parameters = {"temperature": temperature, "batch": batch, "views": views, "replacement": "no"}
    definition = define("supcon", parameters, orbits.proportions[orbits.index], counts)
    objective = make_loss("supcon", parameters).objective(orbits)
    cosines = orbits.reduce(random_gram(rng, len(counts)))
    assert objective.value(cosines) == pytest.approx(definition.value(orbits.lift(cosines)), rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("views", [1, 2])
def test_gradient_where_another_class_coincides_with_the_anchor(views):
    """The other class then has the anchor's own X, but is no positive of it: by differences of the enumeration."""
    counts, parameters = (6, 3, 2), {"temperature": 1.5, "batch": 5, "views": views, "replacement": "no"}
    definition = define("supcon", parameters, np.array(counts) / 11, counts)
    objective = make_loss("supcon", parameters).objective(orbits_of(*counts))
    collapsed = np.outer([1.0, -1, -1], [1.0, -1, -1])
    gradient, curvature = objective.gradient(collapsed), objective.curvature(collapsed)
    for g, h in ((0, 1), (1, 0), (1, 2), (2, 1), (2, 0)):
        step = np.zeros((3, 3))
        step[g, h] = 1e-4
        slope = (definition.value(collapsed + step) - definition.value(collapsed - step)) / 2e-4
        assert gradient[g, h] == pytest.approx(slope, rel=1e-7)
        bend = (objective.gradient(collapsed + step) - objective.gradient(collapsed - step)) / 2e-4
        np.testing.assert_allclose(curvature(step) / 1e-4, bend, atol=1e-8)


@pytest.mark.parametrize("views", [1, 2, 4])
def test_a_batch_of_all_samples_is_the_full_batch(views, rng):
    """B = N: every anchor sees V n_a - 1 embeddings of its class and V n_b of every other."""
    counts = np.array([40, 12, 12, 3])
    orbits = orbits_of(*counts)
    n = orbits.counts
    mass = orbits.sizes * n / counts.sum()
    wanted = LogSum(views * orbits.others * n, views * n - 1, mass, 1 / 0.2, unique_minimiser=True)
    cosines = orbits.reduce(random_gram(rng, 4))
    value, gradient = FiniteDraws(orbits, int(counts.sum()), views, 0.2).evaluate(cosines)
    assert value == pytest.approx(wanted.value(cosines), rel=1e-13)
    np.testing.assert_allclose(gradient, wanted.gradient(cosines), rtol=1e-9, atol=1e-15)
    if views == 1:
        whole = make_loss("supcon", {"temperature": 0.2, "full_batch": True}).objective(orbits)
        assert value == pytest.approx(whole.value(cosines), rel=1e-13)


def batch_loss(labels: np.ndarray, gram: np.ndarray, views: int, temperature: float) -> float:
    """The mean over all anchors of one batch, by its composition."""
    n = np.bincount(labels, minlength=len(gram))
    own = np.maximum(views * n - 1.0, 0.0)
    others = views * (np.exp((gram - 1) / temperature) * (1 - np.eye(len(gram)))) @ n
    rows = np.log(np.maximum(own + others, 1.0)) * (own > 0)
    return float(n @ rows / n.sum())


@pytest.mark.parametrize("views", [1, 2])
def test_value_is_the_mean_of_drawn_batches(views):
    counts = np.array([110, 7, 7])
    gram = random_gram(np.random.default_rng(5), 3)
    orbits = orbits_of(*counts, trivial=True)
    rng = np.random.default_rng(6)
    samples = np.repeat(np.arange(3), counts)
    drawn = [batch_loss(rng.choice(samples, 64, replace=False), gram, views, 0.5) for _ in range(4000)]
    error = np.std(drawn) / len(drawn) ** 0.5
    assert FiniteDraws(orbits, 64, views, 0.5).value(gram) == pytest.approx(np.mean(drawn), abs=4 * error)


def test_the_loader_goes_below_the_bound_with_replacement():
    """Counts 110, 7, 7, batch 64, two views, temperature .5: 4.470 without, 4.477 with."""
    loss = {"name": "supcon", "temperature": 0.5, "batch": 64}
    without = solve(Imbalance(counts=[110, 7, 7], loss={**loss, "replacement": "no"}))
    assert without.value == pytest.approx(4.470, abs=1e-3)
    assert without.certified
    assert without.unique is True
    within = solve(Imbalance(counts=[110, 7, 7], loss={**loss, "replacement": "yes"}))
    assert within.value == pytest.approx(4.477, abs=1e-3)
    assert within.value == solve(Imbalance(counts=[110, 7, 7], loss=loss)).value
    assert without.value < within.lower_bound


def test_large_sets_neither_overflow_nor_lose_digits():
    """A million samples: the difference from draws with replacement is of the order of 1 / N, and is not noise."""
    counts = np.array([500_000, 300_000, 200_000])
    gram = random_gram(np.random.default_rng(7), 3)
    within = make_loss("supcon", {"temperature": 0.1, "batch": 4096}).objective(orbits_of(*counts)).value(gram)
    differences = [FiniteDraws(orbits_of(*(counts // part)), 4096, 2, 0.1).value(gram) - within for part in (1, 2, 4)]
    assert abs(differences[0]) < 1e-5
    assert differences[1] / differences[0] == pytest.approx(2, rel=1e-2)
    assert differences[2] / differences[0] == pytest.approx(4, rel=3e-2)


@pytest.mark.slow
@pytest.mark.parametrize("views", [1, 2])
def test_solvers_agree(views):
    parameters = {"temperature": 0.7, "batch": 5, "views": views, "replacement": "no"}
    values = {}
    for solver in ("conic", "manifold"):
        report = solve(Imbalance(counts=[6, 3, 2], loss={"name": "supcon", **parameters}, solver=solver))
        values[solver] = report.value
        assert report.certified
    assert values["conic"] == pytest.approx(values["manifold"], abs=1e-9)
    full = define("supcon", parameters, np.array([6, 3, 2]) / 11, [6, 3, 2]).solve()[0]
    assert values["manifold"] == pytest.approx(full, abs=1e-6)


@pytest.mark.slow
def test_two_single_samples_may_be_anywhere_in_one_view():
    """Two classes of one sample have no positive ever, and their cosine does not enter."""
    loss = {"name": "supcon", "temperature": 0.5, "batch": 5, "views": 1, "replacement": "no"}
    assert (
        not make_loss("supcon", {k: x for k, x in loss.items() if k != "name"})
        .objective(orbits_of(6, 3, 1, 1))
        .unique_minimiser
    )
    assert solve(Imbalance(counts=[6, 3, 1], loss=loss)).unique is True


@pytest.mark.parametrize(
    ("classes", "loss", "field", "message"),
    [
        ({"props": [0.5, 0.5]}, {"batch": 8}, "loss.replacement", "whole counts"),
        ({"counts": [5, 2]}, {"batch": 8}, "loss.batch", "from 7 samples"),
        ({"counts": [1, 1, 1]}, {"batch": 3, "views": 1}, "loss.views", "no anchor has a positive"),
        ({"counts": list(range(1, 300))}, {"batch": 8}, "loss.replacement", "at most 200"),
    ],
)
def test_what_cannot_be_drawn_is_refused(classes, loss, field, message):
    with pytest.raises(InputError, match=message) as caught:
        solve(Imbalance(**classes, loss={"name": "supcon", "replacement": "no", **loss}))
    assert caught.value.field == field


@pytest.mark.slow
def test_commands_take_it(run):
    flags = ("--counts", "20,4,3", "-t", 1.5, "--batch", 6, "--replacement", "no")
    answer = run("imbalance", *flags, "--json").json
    assert answer["problem"]["loss"]["replacement"] == "no"
    assert answer["certified"]
    assert "replacement no" in run("imbalance", *flags).stdout
    path = run("threshold", *flags, "--over", "batch", "--json").json
    assert path["searched"] == {"low": 2, "high": 27}  # no batch holds more than all samples
    refused = run("threshold", *flags, "--over", "majority")
    assert refused.code == 2
    assert "whole counts" in refused.stderr
