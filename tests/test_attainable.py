"""Up to which temperature unit vectors express pairs exactly: closed forms, the two bounds, and the solver's word."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from geomsolve.analyses.attainable import attainable, ideal_cosines
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.paired import Paired, PairedBlocks
from geomsolve.objectives.cross import Joint
from geomsolve.pair_losses import make_pair_loss
from geomsolve.proof.attainable import lower_bound, sizes, upper_bound
from geomsolve.solvers.attainable import gap_range, largest_temperature
from geomsolve.solvers.two_sides import solve_two_sides

JOINT = [[0.3, 0.02, 0.02, 0.06], [0.01, 0.2, 0.02, 0.07], [0.02, 0.03, 0.18, 0.07]]


def uniform_noise(k, eta):
    """tau* of k balanced classes of which a part eta of the pairs is drawn at random."""
    return k / ((k - 1) * log(1 + k * (1 - eta) / eta))


@pytest.mark.parametrize(("k", "eta"), [(4, 0.1), (2, 0.5), (1000, 0.3), (3, 0.999)])
def test_uniform_noise_in_closed_form(k, eta):
    joint = Joint.classes(Orbits.equal(k), eta)
    found = largest_temperature(joint.paired, make_pair_loss("clip", {}).ideal(joint).logits)
    assert found.certified
    assert found.temperature <= uniform_noise(k, eta) * (1 + 1e-14)
    assert found.temperature == pytest.approx(uniform_noise(k, eta), rel=1e-9)
    assert found.at_most == pytest.approx(uniform_noise(k, eta), rel=1e-9)


def test_the_published_numbers():
    assert uniform_noise(4, 0.1) == pytest.approx(0.36925052454, abs=1e-11)
    joint, loss = Joint.of(np.array(JOINT)), make_pair_loss("clip", {"temperature": 1.0})
    found = attainable(loss, joint, -0.402379750939)
    assert found.temperature == pytest.approx(0.53990849, abs=1e-8)
    assert found.floor == pytest.approx(-0.45927344715, abs=1e-11)
    assert found.excess == pytest.approx(0.45927344715 - 0.402379750939, abs=1e-10)
    assert found.certified
    assert not found.reached


def test_orbits_and_single_points_agree():
    p = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1])
    joint, loss = Joint.classes(Orbits.of(p), 0.2), make_pair_loss("clip", {})
    together = largest_temperature(joint.paired, loss.ideal(joint).logits)
    apart = largest_temperature(joint.apart().paired, loss.ideal(joint.apart()).logits)
    assert together.temperature == pytest.approx(apart.temperature, rel=1e-8)


def test_whatever_is_suggested_the_bounds_hold(rng):
    """Cosines of unit vectors have gamma_2 <= 1; the identity has exactly 1, found by the trivial A and B."""
    x, y = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    cosines = (x / np.linalg.norm(x, axis=1, keepdims=True)) @ (y / np.linalg.norm(y, axis=1, keepdims=True)).T
    paired = Paired.single(5, 4)
    for _ in range(20):
        suggested = rng.random(9), rng.standard_normal((5, 4))
        assert lower_bound(paired, paired.reduce_cross(cosines), *suggested, shift=0.0) <= 1 + 1e-12
        assert lower_bound(paired, paired.reduce_cross(cosines), *suggested) <= 1 + 1e-12
    square = Paired.single(4, 4)
    unit = PairedBlocks(np.eye(8), np.zeros((0, 2, 2)))
    assert upper_bound(square, square.reduce_cross(np.eye(4)), 0.0, unit) == pytest.approx(1, abs=1e-14)
    assert lower_bound(square, square.reduce_cross(np.eye(4)), np.ones(8), np.eye(4), shift=0.0) == pytest.approx(1)
    skew = PairedBlocks(np.diag(rng.random(8)), np.zeros((0, 2, 2)))
    assert upper_bound(square, square.reduce_cross(np.eye(4)), 0.0, skew) >= 1


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("clip", {}),
        ("clip", {"batch": 5}),
        ("siglip", {"batch": 16, "sampling": "iid"}),
        ("siglip", {"batch": 16, "sampling": "supervised"}),
    ],
)
def test_the_floor_is_reached_up_to_there_and_not_beyond(name, parameters):
    """The ideal logits have no slope and the loss of the floor; the solver gets there below tau*, and not above."""
    joint = Joint.of(np.array(JOINT))
    loss = make_pair_loss(name, {**parameters, "temperature": 1.0})
    ideal, objective = loss.ideal(joint), loss.objective(joint)
    value, slope = objective.evaluate(ideal_cosines(loss, ideal))
    assert value == pytest.approx(ideal.floor, abs=1e-13)
    assert slope == pytest.approx(np.zeros_like(slope), abs=1e-13)
    found = attainable(loss, joint, value)
    assert found.certified
    bias = {} if found.bias is None else {"bias": found.bias}
    for factor in (0.97, 1.03):
        other = loss.replace(temperature=factor * found.temperature, **bias)
        value = solve_two_sides(other.objective(joint), joint).certificate.value
        excess = value - other.ideal(joint).floor
        if factor < 1:
            assert excess == pytest.approx(0, abs=1e-12)
        else:
            assert excess > 1e-6
        assert attainable(other, joint, value).reached is (factor < 1)


def test_a_bias_that_is_not_the_best_takes_a_lower_temperature():
    joint = Joint.of(np.array(JOINT))
    loss = make_pair_loss("siglip", {"batch": 16, "sampling": "iid", "bias": -1.0})
    found = attainable(loss, joint, 10.0)
    assert found.at_bias < found.temperature
    assert attainable(loss.replace(bias=found.bias), joint, 10.0).at_bias == pytest.approx(found.temperature, rel=1e-7)


def test_pairs_without_weight_are_only_approached():
    joint = Joint.classes(Orbits.of((0.7, 0.2, 0.1)))
    found = attainable(make_pair_loss("clip", {"temperature": 0.5}), joint, -0.7208670871)
    assert found.temperature is None
    assert found.floor == pytest.approx(0.7 * log(0.7) + 0.2 * log(0.2) + 0.1 * log(0.1), abs=1e-14)
    assert "no weight" in found.reason
    paired_off = attainable(make_pair_loss("siglip", {}), Joint.classes(Orbits.equal(4)), 0.3)
    assert paired_off.temperature is None
    assert paired_off.floor == 0
    assert attainable(make_pair_loss("cosine-softmax", {}), joint, 0.1).floor is None


def test_independent_pairs_can_be_expressed_at_every_temperature():
    joint = Joint.of(np.outer([0.5, 0.3, 0.2], [0.6, 0.4]), merge=False)
    found = attainable(make_pair_loss("clip", {"temperature": 7.0}), joint, 0.0)
    assert found.temperature == np.inf
    assert found.certified
    assert found.reached


@pytest.mark.parametrize("apart", [False, True], ids=["orbits", "single points"])
@pytest.mark.parametrize("temperature", [0.2, 0.36])
def test_widest_gap_below_the_largest_temperature_in_closed_form(temperature, apart):
    """With C = tau (L + c), c as low as vectors allow, g^2 = 4 (1 - tau / tau*); with c higher, g = 0."""
    joint, loss = Joint.classes(Orbits.equal(4), 0.1), make_pair_loss("clip", {"temperature": temperature})
    joint = joint.apart() if apart else joint
    centre = np.concatenate([joint.first, -joint.second])
    cosines = ideal_cosines(loss, loss.ideal(joint))
    low, high, exact = gap_range(joint.paired, cosines, centre, short=0 * sizes(joint.paired), loose=True)
    assert exact
    assert low == pytest.approx(0, abs=1e-8)
    assert sqrt(high) == pytest.approx(2 * sqrt(1 - temperature / uniform_noise(4, 0.1)), abs=1e-8)
    if temperature == 0.2:
        assert sqrt(high) == pytest.approx(1.354049206, abs=1e-8)
