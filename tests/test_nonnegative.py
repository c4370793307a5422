"""Features without a negative coordinate: the frame, the relaxation with its proof, real vectors, the commands."""

from __future__ import annotations

from math import exp, log, sqrt

import cvxpy as cp
import numpy as np
import pytest
from helpers import LOSSES, label

from geomsolve import Imbalance, InputError, Orbits, make_loss, solve
from geomsolve.gram.nonnegative import frame, of_centroids
from geomsolve.objectives.base import ConeForm, Objective
from geomsolve.objectives.tilted import Tilted
from geomsolve.proof.nonnegative import certify_nonnegative, frame_is_optimal, frame_is_unique
from geomsolve.solvers.nonnegative import descend, solve_nonnegative

COUNTS = np.array([9.0, 7, 5, 4, 3, 2, 1, 1])
HORN = np.array([[1 if (a - b) % 5 in (0, 2, 3) else -1 for b in range(5)] for a in range(5)]) - np.eye(5)
"""x'Hx + |x|^2 >= 0 for x >= 0, though not for all x (A. Horn)."""


class Straight(Objective):
    """<A, C>, or with ``bend`` also bend |C|^2 / 2."""

    def __init__(self, slope, bend=0.0):
        self.slope, self.bend = slope, bend

    def evaluate(self, cosines):
        return float(np.sum(self.slope * cosines + self.bend * cosines**2 / 2)), self.slope + self.bend * cosines

    def curvature(self, cosines):
        return lambda change: self.bend * change

    def cone_form(self):
        return ConeForm(linear=self.slope, square=np.full_like(self.slope, self.bend / 2))


def nonnegative_gram(rng, n):
    rows = rng.random((n, 2 * n)) * (rng.random((n, 2 * n)) < 0.4) + 1e-3
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def mixed(rng):
    """SupCon with random attractions and repulsions by orbit, and the same class by class."""
    orbits = Orbits.of(COUNTS / COUNTS.sum(), COUNTS)
    tilt = rng.standard_normal((7, 7)) * 0.05 * (orbits.pairs > 0)
    tilt += tilt.T
    loss = make_loss("supcon", {"temperature": 0.5})
    each = np.divide(tilt, orbits.pairs, out=np.zeros_like(tilt), where=orbits.pairs > 0)
    single = orbits.single()
    whole = each[np.ix_(orbits.index, orbits.index)] * (1 - np.eye(8))
    return orbits, Tilted(loss.objective(orbits), tilt), single, Tilted(loss.objective(single), whole)


@pytest.mark.parametrize("props", [(0.7, 0.2, 0.1), (0.95, 0.025, 0.025), (0.5, 0.5), (0.4, 0.3, 0.1, 0.1, 0.06, 0.04)])
def test_supcon_wants_the_frame_for_any_proportions(props):
    for temperature in (0.05, 0.5, 5.0):
        asked = Imbalance(props=props, nonnegative=True, loss={"name": "supcon", "temperature": temperature})
        report = solve(asked)
        value = sum(p * log(p + (1 - p) * exp(-1 / temperature)) for p in props)
        assert report.structure.kind == "orthogonal frame"
        assert report.certified
        assert report.unique is True
        assert report.value == pytest.approx(value, abs=1e-14)
        assert report.gap <= 1e-14
        assert report.nonnegative["exact"]


@pytest.mark.parametrize(("name", "parameters"), LOSSES, ids=map(label, LOSSES))
def test_no_nonnegative_geometry_beats_the_answer(name, parameters, rng):
    counts = np.array([6, 3, 3, 2])
    orbits = Orbits.of(counts / counts.sum(), counts)
    objective = make_loss(name, parameters).objective(orbits)
    found = solve_nonnegative(objective, orbits)
    proof = found.answer.certificate
    assert found.exact == (objective.below is None)
    assert proof.certified or objective.below is not None
    assert found.answer.solution.cosines[orbits.pairs > 0].min() >= 0
    for _ in range(20):
        assert objective.value(orbits.reduce(nonnegative_gram(rng, 4))) >= proof.lower_bound - 1e-12


def test_the_bound_holds_whatever_the_multipliers(rng):
    orbits, objective, _, _ = mixed(rng)
    others = [orbits.reduce(nonnegative_gram(rng, 8)) for _ in range(30)]
    lowest = min(map(objective.value, others))
    for cosines in others[:5]:
        for size in (0.0, 0.01, 1.0):
            multipliers = size * rng.standard_normal((7, 7))
            proof = certify_nonnegative(objective, orbits, cosines, multipliers)
            assert proof.lower_bound <= lowest
            assert proof.gap == pytest.approx(proof.value - proof.lower_bound)


@pytest.mark.slow
def test_orbits_and_the_program_as_it_stands_agree():
    orbits, objective, single, whole = mixed(np.random.default_rng(2))
    found, full = solve_nonnegative(objective, orbits), solve_nonnegative(whole, single)
    gram = cp.Variable((8, 8), PSD=True)
    p = single.proportions
    cost = sum(p[a] * cp.log_sum_exp(2 * (gram[a] - 1) + np.log(p)) for a in range(8))
    cost += cp.sum(cp.multiply(whole.tilt, gram))
    written = cp.Problem(cp.Minimize(cost), [cp.diag(gram) == 1, gram >= 0]).solve(solver="CLARABEL")
    proof = found.answer.certificate
    assert found.exact
    assert proof.certified
    assert proof.lower_bound <= written + 1e-8
    assert proof.value == pytest.approx(written, abs=1e-7)
    assert full.answer.certificate.value == pytest.approx(proof.value, abs=1e-7)
    free = descend(objective, orbits, frame(orbits), None, 3, 1e-6)  # on its own, from the frame
    assert proof.lower_bound <= objective.value(free.cosines) <= proof.lower_bound + 1e-6


@pytest.mark.slow
def test_a_relaxation_that_no_vectors_attain_is_called_one():
    orbits = Orbits.trivial(np.full(5, 0.2))
    found = solve_nonnegative(Straight(HORN), orbits)
    proof = found.answer.certificate
    assert found.how == "relaxation"
    assert not found.exact
    assert not proof.certified
    assert proof.lower_bound == pytest.approx(-5 * (sqrt(5) - 1), abs=1e-6)  # the pentagon: cosine 1/(2 cos 36°)
    assert proof.value == pytest.approx(-5, abs=1e-6)  # the Horn matrix is copositive


def test_centroids_without_a_negative_coordinate_are_enough(rng):
    """The lemma for orbits: vectors for all classes exist as soon as centroids do, of lengths that allow them."""
    orbits = Orbits.of(np.array([3, 3, 3, 2, 2]) / 13)
    cosines = of_centroids(orbits, rng.random((2, 3)) ** 4)
    wanted = orbits.lift(cosines)
    single = orbits.single()
    away = Straight(-wanted, 1.0)
    found = descend(away, single, wanted, None, 0, 1e-6)
    np.testing.assert_allclose(single.lift(found.cosines), wanted, atol=2e-4)


def test_uniqueness_of_the_frame():
    orbits = Orbits.of([0.5, 0.3, 0.2])
    strict, slack = (make_loss("triplet", {"margin": m}).objective(orbits) for m in (1.2, 0.5))
    assert frame_is_optimal(strict, orbits)
    assert frame_is_unique(strict, orbits) is True
    assert frame_is_optimal(slack, orbits)
    assert frame_is_unique(slack, orbits) is False
    attracting = make_loss("soft-supcon", {"temperature": 0.5, "epsilon": 0.2}).objective(orbits)
    assert not frame_is_optimal(attracting, orbits)


def test_equal_angles_below_ninety_degrees_are_exact():
    """Soft-SupCon: cosine 1 + tau log epsilon, of non-negative vectors as it is not negative."""
    for props in ((0.5, 0.3, 0.2), (0.3, 0.25, 0.2, 0.12, 0.08, 0.05)):
        loss = {"name": "soft-supcon", "temperature": 0.5, "epsilon": 0.2}
        report = solve(Imbalance(props=props, nonnegative=True, loss=loss))
        assert report.structure.kind == "equiangular"
        assert report.structure.max_cosine == pytest.approx(1 + 0.5 * log(0.2), abs=1e-6)
        assert report.nonnegative["how"] == ("few" if len(props) < 5 else "factorised")
        assert report.certified
        assert report.unique is True


def test_ranges_above_the_frame(run):
    """The largest cosine of a pair within the slack, by the program written down."""
    p, slack = np.array([0.7, 0.2, 0.1]), 1e-3
    asked = ("--props", "0.7,0.2,0.1", "--nonnegative", "-t", "0.5", "--slack", slack, "--json")
    ranges = run("imbalance", *asked).json["ranges"]
    best = sum(q * log(q + (1 - q) * exp(-2)) for q in p)
    for pair in ranges["pairs"]:
        a, b = (int(name) - 1 for name in pair["classes"])
        gram = cp.Variable((3, 3), PSD=True)
        cost = sum(p[c] * cp.log_sum_exp(2 * (gram[c] - 1) + np.log(p)) for c in range(3))
        held = [cp.diag(gram) == 1, gram >= 0, cost <= best + slack]
        assert pair["low"] == 0
        assert pair["certified"]
        highest = cp.Problem(cp.Maximize(gram[a, b]), held).solve(solver="CLARABEL")
        assert pair["high"] == pytest.approx(highest, abs=1e-6)
    assert ranges["minority_mean"] is None


def test_solvers_that_know_no_such_constraint_are_refused():
    with pytest.raises(InputError, match="any sign"):
        solve(Imbalance(props=(0.7, 0.3), nonnegative=True, solver="dual"))
    asked = Imbalance(props=(0.7, 0.2, 0.1), nonnegative=True, solver="conic", loss={"temperature": 0.5})
    assert solve(asked).structure.kind == "orthogonal frame"


def test_commands(run, tmp_path):
    asked = ("--props", "0.7,0.2,0.1", "--nonnegative")
    answer = run("imbalance", *asked, "--json")
    assert answer.code == 0
    assert answer.json["structure"]["kind"] == "orthogonal frame"
    assert answer.json["nonnegative"]["exact"] is True
    assert answer.json["problem"]["nonnegative"] is True
    said = " ".join(run("imbalance", *asked).stdout.split())
    assert "orthogonal frame: all 3 classes at 90°" in said
    assert "Proven for non-negative features" in said
    swept = run("sweep", *asked, "--over", "temperature=0.1,1", "--json").json
    assert [row["structure"] for row in swept["rows"]] == ["orthogonal frame"] * 2
    assert swept["collapse"] is None
    for command in ("threshold", "advise"):
        refused = run(command, *asked)
        assert refused.code == 2
        assert "never opposite" in refused.stderr
    soft = ("--loss", "soft-supcon", "--epsilon", "0.2", "-t", "0.5")
    refused = run("imbalance", *asked, *soft, "--slack", "1e-3")
    assert refused.code == 2
    assert "around the orthogonal frame" in refused.stderr
    swept = run("sweep", *asked, "--over", "temperature=0.5,1", "--slack", "1e-4", "--json").json
    assert all(0 < row["widest"] < 0.01 for row in swept["rows"])


def test_limited_dimension(run):
    point = run("imbalance", "--props", "0.7,0.2,0.1", "--nonnegative", "--dim", "1", "--json")
    assert point.code == 1
    assert point.json["dimension_limited"] is True
    assert point.json["value"] == pytest.approx(0, abs=1e-12)  # one axis holds one direction: log 1
    assert run("imbalance", "--props", "0.7,0.2,0.1", "--nonnegative", "--dim", "3", "--json").json["certified"]


@pytest.mark.slow
def test_training_reaches_the_frame_and_no_lower(run):
    pytest.importorskip("torch", reason="training is an extra")
    asked = ("check", "--props", "0.6,0.3,0.1", "--nonnegative", "-t", "0.5", "--samples", "12", "--json")
    answer = run(*asked)
    assert answer.code == 0
    assert answer.json["agrees"] is True
    assert answer.json["max_gram_error"] < 1e-6
    assert answer.json["descent"]["value"] >= answer.json["prediction"]["lower_bound"] - 1e-9
    refused = run(*asked, "--optimizer", "lbfgs")
    assert refused.code == 2
    assert "knows no bounds" in refused.stderr


@pytest.mark.slow
def test_encoders_are_compared_with_what_such_features_can_do(run, tmp_path):
    labels = np.repeat([0, 1, 2], [70, 20, 10])
    rows = np.eye(4)[labels] + 0.01
    np.save(tmp_path / "y.npy", labels)
    np.save(tmp_path / "z.npy", rows)
    np.save(tmp_path / "signed.npy", rows - 0.02)
    asked = ("--labels", tmp_path / "y.npy", "-t", "0.5")
    free = run("compare", tmp_path / "z.npy", *asked)
    assert "--nonnegative compares with the best that such features can do" in " ".join(free.stdout.split())
    held = run("compare", tmp_path / "z.npy", *asked, "--nonnegative")
    assert held.code == 0
    assert held.stdout.startswith("Your encoder matches")
    assert "proven for non-negative features" in " ".join(held.stdout.split())
    assert "--nonnegative compares" not in held.stdout
    signed = run("compare", tmp_path / "signed.npy", *asked, "--nonnegative")
    assert signed.code == 2
    assert "signed.npy: a coordinate is negative" in signed.stderr
    soft = run("compare", tmp_path / "z.npy", *asked, "--nonnegative", "--loss", "soft-supcon", "--epsilon", "0.3")
    assert soft.code == 2
    assert "where the orthogonal frame is the optimum" in soft.stderr


@pytest.mark.slow
def test_encoders_are_held_to_what_the_loss_tells_apart(run, tmp_path):
    pytest.importorskip("torch", reason="evaluating the loss is an extra")
    labels = np.repeat([0, 1, 2], [70, 20, 10])
    np.save(tmp_path / "y.npy", labels)
    np.save(tmp_path / "loose.npy", np.eye(4)[labels] + 0.11)  # no match, at a temperature that hardly minds
    asked = ("--labels", tmp_path / "y.npy", "-t", "0.1", "--nonnegative", "--json")
    answer = run("compare", tmp_path / "loose.npy", *asked).json
    assert answer["verdict"] == "loose"
    assert answer["ranges"]["pairs"]
    assert all(pair["low"] == 0 and pair["certified"] for pair in answer["ranges"]["pairs"])


@pytest.mark.slow
def test_without_a_cone_form_vectors_are_found_and_bounded():
    _, _, single, whole = mixed(np.random.default_rng(2))

    class Formless(Tilted):
        def cone_form(self):
            return None

    found = solve_nonnegative(Formless(whole.base, whole.tilt), single)
    best = solve_nonnegative(whole, single).answer.certificate
    proof = found.answer.certificate
    assert proof.value == pytest.approx(best.value, abs=1e-6)
    assert proof.lower_bound <= best.value
    assert found.exact == proof.certified


@pytest.mark.slow
def test_losses_that_are_not_convex_are_searched_and_not_certified(run):
    asked = ("--props", "0.5,0.3,0.2", "--loss", "infonce", "--hardness", "1", "-t", "0.5", "--nonnegative")
    answer = run("imbalance", *asked, "--json")
    assert answer.code == 1
    assert answer.json["nonnegative"] == {**answer.json["nonnegative"], "exact": False, "how": "local"}
    assert answer.json["lower_bound"] <= answer.json["value"]
    assert answer.json["structure"]["min_cosine"] >= 0
    orbits = Orbits.trivial([0.5, 0.3, 0.2])
    objective = make_loss("infonce", {"hardness": 1.0, "temperature": 0.5}).objective(orbits)
    rng = np.random.default_rng(0)
    tried = [objective.value(nonnegative_gram(rng, 3)) for _ in range(200)]
    assert answer.json["value"] <= min([*tried, objective.value(np.eye(3))]) + 1e-9
