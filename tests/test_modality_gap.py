"""The modality gap over all optima and under force: published numbers, closed forms, and nothing ever below a bound."""

from __future__ import annotations

import itertools
from math import exp, log, sqrt

import numpy as np
import pytest

from geomsolve import Crossmodal, solve
from geomsolve.analyses.attainable import attainable
from geomsolve.analyses.modality_gap import modality_gap, sides_of
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.paired import PairedGram
from geomsolve.objectives.cross import Joint
from geomsolve.pair_losses import make_pair_loss
from geomsolve.proof.modality_gap import excess, forced, missing, optimal_range, prices, tilted
from geomsolve.proof.paired_uniqueness import is_only_optimum
from geomsolve.report import Proof
from geomsolve.solvers.leaning import solve_leaning
from geomsolve.solvers.two_sides import solve_two_sides

UNKNOWN = Proof(0.0, 0.0, 0.0, certified=True)
JOINT = np.array([[0.3, 0.02, 0.02, 0.06], [0.01, 0.2, 0.02, 0.07], [0.02, 0.03, 0.18, 0.07]])


def set_up(loss, joint):
    """The problem, an optimum of it, and how to solve it tilted."""
    objective = loss.objective(joint)
    sides, optimum = sides_of(joint, objective), solve_two_sides(objective, joint).gram
    return sides, optimum, lambda tilt, near: solve_leaning(sides, tilt, near)


def clip(temperature):
    return make_pair_loss("clip", {"temperature": temperature})


@pytest.mark.parametrize(
    ("gap", "value"), [(0.2, -0.71977351301), (0.5, -0.71318847089), (1.0, -0.67498791763), (2.0, 0.0)]
)
def test_published_prices_of_clean_pairs(gap, value):
    sides, optimum, solve = set_up(clip(0.5), Joint.classes(Orbits.of((0.7, 0.2, 0.1))))
    found, _ = forced(sides, solve, optimum, gap)
    assert sides.objective.value(optimum.cross) + found.price == pytest.approx(value, abs=1e-9)
    assert 0 <= found.price - found.at_least <= 1e-11


@pytest.mark.parametrize(("k", "temperature", "gap"), [(4, 0.2, 0.5), (100, 0.1, 1.2), (4, 0.1, 0.5)])
def test_balanced_clean_pairs_in_closed_form(k, temperature, gap):
    """A gap shrinks what tells a pair from others to K/(K-1) (1 - g^2/4)."""

    def loss(g):
        return log((1 + (k - 1) * exp(-k / (k - 1) * (1 - g * g / 4) / temperature)) / k)

    sides, optimum, solve = set_up(clip(temperature), Joint.classes(Orbits.equal(k)))
    found, _ = forced(sides, solve, optimum, gap)
    assert found.price == pytest.approx(loss(gap) - loss(0), abs=1e-10, rel=1e-3)
    assert found.at_least <= loss(gap) - loss(0) + 1e-14


@pytest.mark.slow
def test_prices_below_rounding_of_the_loss():
    """log((1 + 3 e^{-d/t})/4) at d = 4/3 (1 - g^2/4) less that at g = 0, to the last digits of so small a number."""
    sides, optimum, solve = set_up(clip(0.04), Joint.classes(Orbits.equal(4)))
    found, _ = forced(sides, solve, optimum, 0.5)
    exact = np.log1p(3 * exp(-4 / 3 * (1 - 0.25 / 4) / 0.04)) - np.log1p(3 * exp(-4 / 3 / 0.04))
    assert exact < 1e-13
    assert found.at_least <= exact * (1 + 1e-9)
    assert found.price == pytest.approx(exact, rel=2e-4)


def test_the_range_where_the_optimum_is_the_only_one():
    sides, optimum, solve = set_up(clip(1.0), Joint.of(JOINT))
    found = optimal_range(sides, solve, optimum)
    assert found.exact
    assert found.low <= 0.115956946 + 1e-9
    assert found.high >= 0.115956946 - 1e-9
    assert found.high - found.low <= 1e-6


@pytest.mark.slow
def test_tilting_and_the_programs_at_the_floor_agree():
    """Two routes to the same range: 2 sqrt(1 - tau / tau*)."""
    loss, joint = clip(0.2), Joint.classes(Orbits.equal(4), 0.1)
    sides, optimum, solve = set_up(loss, joint)
    widest = 2 * sqrt(1 - 0.2 / (4 / 3 / log(37)))
    by_tilting = optimal_range(sides, solve, optimum)
    assert by_tilting.high == pytest.approx(widest, abs=1e-6)
    attained = attainable(loss, joint, sides.objective.value(optimum.cross))
    found = modality_gap(loss, joint, sides.objective, optimum, attained, UNKNOWN, gap=1.5)
    assert found.exact
    assert (found.low, found.high) == (0, pytest.approx(widest, abs=1e-8))
    assert widest == pytest.approx(1.354049206, abs=1e-9)
    assert found.price > 0
    assert found.curve[-1] == (2.0, pytest.approx(-sides.objective.value(optimum.cross), abs=1e-12))


def test_clean_pairs_coincide():
    for temperature in (0.5, 0.1):
        sides, optimum, solve = set_up(clip(temperature), Joint.classes(Orbits.of((0.7, 0.2, 0.1))))
        found = optimal_range(sides, solve, optimum)
        assert found.low == 0
        assert found.high <= 1e-5


@pytest.mark.parametrize(
    ("joint", "temperature", "only"),
    [
        (Joint.of(JOINT), 0.53, False),
        (Joint.of(JOINT), 0.55, True),
        (Joint.classes(Orbits.equal(4), 0.1), 0.36, False),
        (Joint.classes(Orbits.equal(4), 0.1), 0.38, True),
        (Joint.classes(Orbits.of((0.7, 0.2, 0.1))), 0.1, True),
        (Joint.classes(Orbits.of((0.7, 0.2, 0.1))), 2.0, True),
        (Joint.of(np.outer([0.5, 0.3, 0.2], [0.6, 0.4]), merge=False), 1.0, False),
    ],
)
def test_below_the_largest_temperature_there_are_many_optima_and_above_it_one(joint, temperature, only):
    sides, optimum, _ = set_up(clip(temperature), joint)
    assert is_only_optimum(sides.objective, joint.paired, optimum) is only


def test_sigmoid_pairs_have_their_gap_at_every_optimum():
    loss = make_pair_loss("siglip", {"temperature": 0.2, "bias": 0.0})
    sides, optimum, solve = set_up(loss, Joint.classes(Orbits.equal(4)))
    found = optimal_range(sides, solve, optimum)
    assert found.low <= 1 <= found.high
    assert found.high - found.low <= 2e-6
    assert forced(sides, solve, optimum, 0.82)[0].price == 0


def random_gram(paired, rng):
    """Unit vectors at random, or near one another, of every side."""
    x = rng.standard_normal((paired.points[0], 4)) + 3 * rng.random() * rng.standard_normal(4)
    y = rng.standard_normal((paired.points[1], 4)) + 3 * rng.random() * rng.standard_normal(4)
    x, y = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    one, two = np.ones(x.shape[0]), np.ones(y.shape[0])
    return PairedGram(one, x @ x.T, two, y @ y.T, paired.reduce_cross(x @ y.T))


@pytest.mark.slow
def test_no_vectors_are_below_what_is_proven(rng):
    """Of every tilt, and so of every price and range; also where a bound is taken far from the tilted optimum."""
    joint = Joint.of(JOINT)
    sides, optimum, solve = set_up(clip(0.7), joint)
    others = [random_gram(joint.paired, rng) for _ in range(200)]
    for tilt in (-0.3, 0.0, 0.02, 0.5):
        for base in (tilted(sides, solve, optimum, tilt, optimum).gram, others[0]):
            value = sides.objective.value(base.cross) - tilt * sides.square(base) - missing(sides, tilt, base)
            for other in others:
                assert sides.objective.value(other.cross) - tilt * sides.square(other) >= value - 1e-12
    price, _ = forced(sides, solve, optimum, 0.8)
    for other in others:
        if sides.square(other) >= 0.64:
            assert excess(sides.objective, optimum.cross, other.cross) >= price.at_least


@pytest.mark.slow
def test_the_curve_is_convex_in_the_square_and_ends_at_opposite_points():
    sides, optimum, solve = set_up(clip(0.5), Joint.classes(Orbits.of((0.7, 0.2, 0.1))))
    curve = prices(sides, solve, optimum, forced(sides, solve, optimum, 0.5)[1])
    assert curve[-1] == (2.0, pytest.approx(-sides.objective.value(optimum.cross), abs=1e-12))
    slopes = [(d - b) / (c * c - a * a) for (a, b), (c, d) in itertools.pairwise(curve)]
    assert all(late >= early - 1e-9 for early, late in itertools.pairwise(slopes))
    assert len(curve) >= 12


def test_captions_that_are_alike_may_lie_around_their_mean():
    """Two images with the same pairs need not coincide: the range is that of all four vectors, not of three."""
    pi = np.array([[0.3, 0.02], [0.3, 0.02], [0.02, 0.34]])
    loss = clip(0.3)
    together, apart = Joint.of(pi), Joint.of(pi, merge=False)
    assert together.paired.points[0] < apart.paired.points[0]
    found = []
    for joint in (together, apart):
        sides, optimum, _ = set_up(loss, joint)
        attained = attainable(loss, joint, sides.objective.value(optimum.cross))
        assert attained.reached
        found.append(modality_gap(loss, joint, sides.objective, optimum, attained, UNKNOWN, gap=None))
    assert found[0].low == pytest.approx(found[1].low, abs=1e-6)
    assert found[0].high == pytest.approx(found[1].high, abs=1e-6)


def test_what_the_command_says(run, tmp_path):
    picture = tmp_path / "gap.svg"
    clean = run("crossmodal", "--props", "0.7,0.2,0.1", "-t", 0.5, "--gap", 0.5, "--plot", picture)
    said = " ".join(clean.stdout.split())
    assert clean.code == 0
    assert "Modality gap 0 at every optimum (proven)" in said
    assert "Forcing a modality gap of 0.5 costs 0.007679 nats (proven)." in said
    assert "At no temperature can these pairs be expressed exactly, as some points never belong together" in said
    assert "Price of a modality gap" in picture.read_text()
    noisy = run("crossmodal", "--props", "4*.25", "--noise", 0.1, "-t", 0.2, "--gap", 0.82)
    said = " ".join(noisy.stdout.split())
    assert "from 0 to 1.35405 among all optima (proven)" in said
    assert "Forcing a modality gap of 0.82 costs nothing" in said
    assert "These pairs can be expressed exactly up to temperature 0.369251 (proven); so here nothing is lost" in said


def test_what_the_json_holds(run):
    joint = ";".join(",".join(map(str, row)) for row in JOINT)
    found = run("crossmodal", "--pairs", joint, "-t", 1, "--gap", 0.5, "--json").json
    gap, attained = found["modality_gap"], found["attainable"]
    assert (gap["value"], gap["low"], gap["high"]) == (pytest.approx(0.115956946, abs=1e-8),) * 3
    assert gap["forced"] == 0.5
    assert gap["at_least"] <= gap["price"] <= gap["at_least"] + 1e-9
    assert attained["temperature"] == pytest.approx(0.53990849, abs=1e-8)
    assert attained["floor"] == pytest.approx(-0.45927344715, abs=1e-11)
    assert attained["excess"] == pytest.approx(found["value"] - attained["floor"], abs=1e-14)
    sigmoid = run("crossmodal", "--pairs", joint, "--loss", "siglip", "--bias", -10, "--json").json["attainable"]
    assert sigmoid["at_bias"] < 0.1 < sigmoid["temperature"]
    plain = run("crossmodal", "--props", "0.7,0.2,0.1", "--loss", "cosine-softmax", "--json").json
    assert plain["attainable"]["temperature"] is None
    assert plain["attainable"]["floor"] is None
    assert plain["modality_gap"]["price"] is None


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--gap", 2.1), "--gap: wanted at most 2"),
        (("--gap", -0.1), "--gap: wanted at least 0"),
        (("--gap", "nan"), "--gap: wanted a finite number"),
        (("--gap", "wide"), "--gap"),
        (("--gap", 0.5, "--dim", 2), "--gap: its price is that in any dimension"),
    ],
)
def test_gaps_that_make_no_sense(run, flags, words):
    ended = run("crossmodal", "--props", "0.7,0.2,0.1", *flags)
    assert ended.code == 2
    assert ended.stdout == ""
    assert words in " ".join(ended.stderr.split())


def test_many_kinds_of_points_have_no_price(run):
    ended = run("crossmodal", "--counts", ",".join(str(n) for n in range(1, 41)), "--gap", 0.5)
    assert ended.code == 2
    assert "at most 48 images and texts that differ; there are 80" in " ".join(ended.stderr.split())


def test_a_loss_that_is_the_same_everywhere_allows_every_gap():
    report = solve(Crossmodal(pairs=[[1, 1], [1, 1], [1, 1]], loss={"name": "cosine-softmax", "temperature": 0.3}))
    assert report.modality_gap["low"] == 0
    assert report.modality_gap["high"] == pytest.approx(2, abs=1e-8)


def test_an_optimum_that_is_not_proven_has_no_range_of_its_own():
    """Of a geometry above the optimum it is not said that no other is optimal, even where its forces say so."""
    loss, joint = clip(1.0), Joint.of(JOINT)
    sides, optimum, _ = set_up(loss, joint)
    attained = attainable(loss, joint, sides.objective.value(optimum.cross))
    near = Proof(-0.4023, -0.4024, 1e-4, certified=False)
    found = modality_gap(loss, joint, sides.objective, optimum, attained, near, gap=None)
    assert found.low < found.value < found.high
