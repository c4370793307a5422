"""WEINCE and hard negatives as objectives: derivatives, limits, bounds, and what imbalance says of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from geomsolve import Imbalance, InputError, certify, make_loss, solve
from geomsolve.cli.main import cli
from geomsolve.gram.orbits import Orbits

PROPS = [0.5, 0.2, 0.2, 0.1]
LOSSES = {
    "weince": {"delta": 0.05, "temperature": 0.5, "tail_weight": 0.4, "tail_shape": 1.5},
    "weince supervised": {"delta": 0.3, "temperature": 0.2, "sampling": "supervised"},
    "infonce": {"hardness": 2.0, "temperature": 0.5},
    "dcl": {"hardness": 0.5, "temperature": 1.0, "sampling": "supervised"},
}


def objective(key, orbits=None):
    orbits = orbits or Orbits.trivial(PROPS)
    return make_loss(key.split()[0], LOSSES[key]).objective(orbits), orbits


def random_gram(rng, n=4):
    points = rng.standard_normal((n, n))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points @ points.T


@pytest.mark.parametrize("key", LOSSES)
def test_gradient_and_curvature_are_derivatives(key):
    f, orbits = objective(key)
    rng = np.random.default_rng(1)
    cosines = random_gram(rng)
    change = rng.standard_normal((4, 4)) * orbits.others
    h = 1e-5
    slope = (f.value(cosines + h * change) - f.value(cosines - h * change)) / (2 * h)
    assert np.sum(f.gradient(cosines) * change) == pytest.approx(slope, rel=1e-7)
    bend = (f.gradient(cosines + h * change) - f.gradient(cosines - h * change)) / (2 * h)
    np.testing.assert_allclose(f.curvature(cosines)(change) * orbits.others, bend * orbits.others, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("key", LOSSES)
def test_orbit_form_is_the_full_form(key):
    full, _ = objective(key)
    short, orbits = objective(key, Orbits.of(PROPS))
    rng = np.random.default_rng(2)
    cosines = orbits.reduce(random_gram(rng))
    assert short.value(cosines) == pytest.approx(full.value(orbits.lift(cosines)), rel=1e-12)


def test_weince_by_its_definition():
    """mean over anchors of log(1 + sum_c p_c e^{l(G) - l(1)}), written out."""
    f, _ = objective("weince")
    gram = random_gram(np.random.default_rng(3))

    def logit(c):
        return 0.6 * c / 0.5 - 0.4 * 1.5 * np.log(1 - c + 0.05)

    want = sum(
        p * np.log(1 + sum(q * np.exp(logit(gram[a, c]) - logit(1.0)) for c, q in enumerate(PROPS)))
        for a, p in enumerate(PROPS)
    )
    assert f.value(gram) == pytest.approx(want, rel=1e-12)


def test_weince_without_a_tail_is_infonce():
    gram = random_gram(np.random.default_rng(4))
    orbits = Orbits.trivial(PROPS)
    plain = make_loss("infonce", {"form": "mean", "temperature": 0.3}).objective(orbits)
    for delta in (0.0, 0.1):
        same = make_loss("weince", {"tail_weight": 0.0, "temperature": 0.3, "delta": delta}).objective(orbits)
        assert same.value(gram) == pytest.approx(plain.value(gram), rel=1e-12)


@pytest.mark.parametrize("key", ["weince", "weince supervised"])
def test_weince_with_a_floor_is_convex(key):
    f, _ = objective(key)
    rng = np.random.default_rng(5)
    for _ in range(50):
        one, other = random_gram(rng), random_gram(rng)
        assert f.value((one + other) / 2) <= (f.value(one) + f.value(other)) / 2 + 1e-12


@pytest.mark.parametrize("delta", [0.01, 0.1, 1.0])
def test_weince_with_a_floor_is_certified(delta):
    report = solve(Imbalance(props=PROPS, loss={"name": "weince", "delta": delta, "temperature": 0.5}))
    assert report.certified
    assert report.unique is True
    f = make_loss("weince", {"delta": delta, "temperature": 0.5}).objective(Orbits.trivial(PROPS))
    rng = np.random.default_rng(6)
    assert all(f.value(random_gram(rng)) >= report.lower_bound for _ in range(100))


@pytest.mark.parametrize("sampling", ["iid", "supervised"])
def test_weince_without_a_floor_is_degenerate(sampling):
    loss = {"name": "weince", "sampling": sampling}
    report = solve(Imbalance(props=PROPS, loss=loss))
    assert report.structure.kind == "degenerate"
    assert report.unique is False
    assert report.exit_code == 0
    assert "infinite" in report.solver["reason"]
    own = np.array(PROPS) if sampling == "iid" else np.zeros(4)
    assert report.value == pytest.approx(np.array(PROPS) @ np.log1p(own), rel=1e-12)
    # the infimum is approached at any arrangement of distinct points as the floor goes
    gram = random_gram(np.random.default_rng(7))
    values = [
        make_loss("weince", {"delta": d, "sampling": sampling, "tail_shape": 4.0}).objective(Orbits.trivial(PROPS))
        for d in (1e-3, 1e-6, 1e-12)
    ]
    excess = [f.value(gram) - report.value for f in values]
    assert excess[0] > excess[1] > excess[2] >= -1e-15
    assert excess[2] < 1e-9


@pytest.mark.parametrize("key", ["infonce", "dcl"])
def test_hard_negatives_never_cost_less_than_plain_ones(key):
    hard, orbits = objective(key)
    plain = make_loss(key, {**LOSSES[key], "hardness": 1e-12}).objective(orbits)
    convex = make_loss(key, {k: v for k, v in LOSSES[key].items() if k != "hardness"}).objective(orbits)
    rng = np.random.default_rng(8)
    for _ in range(50):
        gram = random_gram(rng)
        assert hard.value(gram) >= convex.value(gram)
        assert plain.value(gram) == pytest.approx(convex.value(gram), abs=1e-9)
        assert hard.below.value(gram) == pytest.approx(convex.value(gram), rel=1e-12)


def test_hard_negatives_by_their_definition():
    """log of the mean of e^t under the density proportional to r e^{beta G}, written out."""
    gram = random_gram(np.random.default_rng(9))
    p = np.array(PROPS)
    density = p * np.exp(2.0 * gram)
    density /= density.sum(1, keepdims=True)
    want = p @ np.log((density * np.exp((gram - 1) / 0.5)).sum(1))
    assert objective("infonce")[0].value(gram) == pytest.approx(want, rel=1e-12)


def test_hard_negatives_are_answered_but_not_certified():
    loss = {"sampling": "supervised", "temperature": 0.5}
    report = solve(Imbalance(props=PROPS, loss={"name": "infonce", **loss, "hardness": 2}))
    assert not report.certified
    assert report.exit_code == 1
    assert not report.convex
    assert report.unique is None
    assert report.lower_bound < report.value
    plain = solve(Imbalance(props=PROPS, loss={"name": "infonce", **loss}))
    assert report.lower_bound == pytest.approx(plain.lower_bound, abs=1e-9)
    f = make_loss("infonce", {**loss, "hardness": 2.0}).objective(Orbits.trivial(PROPS))
    rng = np.random.default_rng(10)
    assert all(f.value(random_gram(rng)) > report.value for _ in range(200))
    assert report.value == pytest.approx(f.value(report.gram), rel=1e-12)


@pytest.mark.slow
def test_certificate_of_hard_negatives_never_claims_too_much():
    """At any point: below the best value that the local searches find."""
    hard, orbits = objective("infonce")
    best = solve(Imbalance(props=PROPS, loss={"name": "infonce", **LOSSES["infonce"]})).value
    rng = np.random.default_rng(11)
    for _ in range(50):
        proof = certify(hard, orbits, random_gram(rng))
        assert proof.lower_bound <= best
        assert not proof.certified


def test_hard_negatives_of_a_number_are_refused():
    with pytest.raises(InputError, match="many negatives"):
        solve(Imbalance(props=PROPS, loss={"name": "infonce", "hardness": 1, "negatives": 4}))
    with pytest.raises(InputError, match="not convex"):
        solve(Imbalance(props=PROPS, solver="conic", loss={"name": "infonce", "hardness": 1}))


@pytest.mark.slow
def test_command_says_degenerate_and_not_certified():
    run = CliRunner().invoke(cli, ["imbalance", "--props", "0.7,0.2,0.1", "--loss", "weince"], standalone_mode=False)
    assert run.return_value == 0
    assert "Degenerate" in run.output
    assert "--delta" in run.output
    arguments = ["imbalance", "--props", "0.7,0.2,0.1", "--loss", "infonce", "--hardness", "1", "-t", "1"]
    run = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert run.return_value == 1
    assert "Not certified" in run.output
    run = CliRunner().invoke(cli, [*arguments, "--json"], standalone_mode=False)
    answer = json.loads(run.output)
    assert answer["certified"] is False
    assert answer["lower_bound"] < answer["value"]


def test_no_threshold_is_claimed_for_what_no_certificate_decides():
    from geomsolve import Threshold

    classes = {"props": (0.9, 0.05, 0.05), "over": "temperature"}
    with pytest.raises(InputError, match="not convex"):
        solve(Threshold(**classes, loss={"name": "infonce", "hardness": 2.0, "temperature": 1.0}))
    report = solve(Threshold(**classes, loss={"name": "weince"}))
    assert report.threshold is None
    assert "infinite" in report.reason


@pytest.mark.slow
def test_sweep_over_a_loss_that_is_not_convex_certifies_nothing():
    from geomsolve import Sweep

    loss = {"name": "infonce", "hardness": 2.0, "sampling": "supervised"}
    report = solve(Sweep(props=(0.6, 0.3, 0.1), over={"temperature": (0.5, 1.0)}, loss=loss))
    assert not report.certified
    assert report.exit_code == 1
    assert not report.collapse
    for entry in report.rows:
        one = solve(Imbalance(props=(0.6, 0.3, 0.1), loss={**loss, "temperature": entry["temperature"]}))
        assert entry["value"] == pytest.approx(one.value, abs=1e-9)
