"""Batches of one view, where an anchor may lack a positive, in every command that takes a loss."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import define, random_gram

from geomsolve import Imbalance, Orbits, make_loss, solve
from geomsolve.objectives.one_view import OneView

FLAGS = ("--counts", "100,16,8", "-t", 1, "--batch", 12, "--views", 1)


def test_imbalance_of_one_view(run):
    """Counts 100, 16, 8, temperature 1, batch 12: the two rare classes have cosine .569."""
    answer = run("imbalance", *FLAGS, "--json").json
    assert answer["gram"][1][2] == pytest.approx(0.569, abs=5e-4)
    assert answer["certified"]
    assert answer["unique"] is True
    assert answer["gap"] < 1e-9
    assert answer["problem"]["loss"]["views"] == 1


@pytest.mark.slow
def test_all_solvers_and_the_full_size_program_agree():
    parameters = {"temperature": 1.0, "batch": 5, "views": 1}
    props = [0.7, 0.2, 0.1]
    value, gram = define("supcon", parameters, props).solve()
    for solver in ("conic", "dual", "manifold"):
        report = solve(Imbalance(props=props, loss={"name": "supcon", **parameters}, solver=solver))
        assert report.value == pytest.approx(value, abs=1e-6)
        np.testing.assert_allclose(report.gram, gram, atol=2e-3)


def test_convex_along_segments(rng):
    orbits = Orbits.of([0.6, 0.3, 0.1])
    for batch in (3, 12):
        objective = OneView(orbits, batch, 0.2)
        for _ in range(10):
            a, b = random_gram(rng, 3), random_gram(rng, 3)
            middle = objective.value((a + b) / 2)
            assert middle < (objective.value(a) + objective.value(b)) / 2


def test_no_temperature_is_too_low():
    """With a positive Y is at least 1, so nothing underflows; far classes leave the own one: E log of its number."""
    report = solve(Imbalance(props=[0.5, 0.5], loss={"name": "supcon", "temperature": 1e-4, "batch": 4, "views": 1}))
    # own draws out of 3, half each: P(2) = 3/8, P(3) = 1/8
    assert report.value == pytest.approx(3 / 8 * np.log(2) + 1 / 8 * np.log(3), rel=1e-12)


def test_threshold_of_one_view_is_where_enumerated_batches_stop_to_favour_collapse(run):
    """At collapse with merged rare classes F has the slopes of the enumeration; S changes sign at the threshold."""
    at = run("threshold", *FLAGS, "--over", "temperature", "--json").json["threshold"]["value"]
    p = np.array([100, 16, 8]) / 124

    def opening(temperature: float) -> float:
        """Second-order change of the enumerated F when the rare classes open by a small angle, in the best way."""
        definition = define("supcon", {"temperature": temperature, "batch": 12, "views": 1}, p)

        def value(x: float, y: float) -> float:
            points = np.array([[1.0, 0], [-np.cos(x), np.sin(x)], [-np.cos(y), np.sin(y)]])
            return definition.value(points @ points.T)

        h = 1e-3
        xx = (value(h, 0) - 2 * value(0, 0) + value(-h, 0)) / h**2
        yy = (value(0, h) - 2 * value(0, 0) + value(0, -h)) / h**2
        xy = (value(h, h) - value(h, -h) - value(-h, h) + value(-h, -h)) / (4 * h**2)
        return float(np.linalg.eigvalsh([[xx, xy], [xy, yy]])[0])

    assert opening(0.995 * at) < 0 < opening(1.005 * at)


def test_other_commands_of_one_view(run):
    batch = run("threshold", *FLAGS[:4], "--batch", 12, "--views", 1, "--over", "batch", "--json")
    assert batch.code == 0
    assert batch.json["searched"]["low"] == 3  # below, an anchor with a positive has no negative
    sweep = run("sweep", *FLAGS, "--over", "temperature=1,2", "--json")
    assert sweep.code == 0
    refused = run("imbalance", "--counts", "100,16,8", "--batch", 2, "--views", 1)
    assert refused.code == 2
    assert "--batch" in refused.stderr


def test_unique_from_three_samples_on():
    make = make_loss("supcon", {"temperature": 1.0, "batch": 3, "views": 1}).objective
    assert make(Orbits.of([0.5, 0.3, 0.2])).unique_minimiser


@pytest.mark.slow
def test_descent_and_embeddings_of_one_view(run, tmp_path):
    """The check trains on the usual batch loss of one view; compare evaluates it on embeddings."""
    pytest.importorskip("torch")
    flags = ("--counts", "20,8,4", "-t", 1, "--batch", 8, "--views", 1)
    for more in ((), ("--replacement", "no")):
        answer = run("check", *flags, *more, "--steps", 300, "--json").json
        assert answer["verdict"] in ("agrees", "not there yet")
        assert abs(answer["descent"]["value"] - answer["prediction"]["value"]) < 0.02
        assert answer["descent"]["samples"] == 32 if more else answer["descent"]["samples"] > 4
    predicted = solve(Imbalance(counts=[20, 8, 4], loss={"name": "supcon", "temperature": 1, "batch": 8, "views": 1}))
    values, vectors = np.linalg.eigh(predicted.gram)
    points = vectors * np.sqrt(np.maximum(values, 0))
    labels = np.repeat([0, 1, 2], (20, 8, 4))
    np.save(tmp_path / "z.npy", points[labels])
    np.save(tmp_path / "y.npy", labels)
    files = (tmp_path / "z.npy", "--labels", tmp_path / "y.npy")
    for more in ((), ("--replacement", "no")):
        compared = run("compare", *files, "-t", 1, "--batch", 8, "--views", 1, *more, "--json").json
        found = compared["value_measured"]
        if not more:
            assert found == pytest.approx(predicted.value, abs=4 * compared["value_standard_error"] + 1e-9)
        assert compared["verdict"] == "matches"
        assert found == pytest.approx(compared["value_predicted"], abs=4 * compared["value_standard_error"] + 1e-3)
