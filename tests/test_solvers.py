"""Three independent routes to one answer, reference values, and the ends of the range of inputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import LOSSES, define, label
from kkt import complementarity, dual_infeasibility, primal_infeasibility, stationarity

from geomsolve import Imbalance, InputError, Orbits, SolverError, certify, make_loss, solve
from geomsolve.solvers.choose import refuse_oversize, solve_objective
from geomsolve.solvers.conic import solve_conic
from geomsolve.solvers.manifold import solve_manifold

REFERENCE = json.loads((Path(__file__).parent / "data" / "reference.json").read_text())["cases"]
SMOOTH = [case for case in LOSSES if case[0] != "triplet"]


def setup(name, parameters, counts):
    counts = np.asarray(counts)
    orbits = Orbits.of(counts / counts.sum(), counts)
    return make_loss(name, parameters).objective(orbits), orbits


def test_reference_covers_what_it_should():
    assert len(REFERENCE) == 16
    assert all(case["gap"] < 1e-8 for case in REFERENCE)


def case_id(case) -> str:
    return (
        f"{label((case['loss']['name'], {k: v for k, v in case['loss'].items() if k != 'name'}))}-{len(case['gram'])}"
    )


@pytest.mark.parametrize("solver", ["auto", "conic", "manifold"])
@pytest.mark.parametrize("case", REFERENCE, ids=case_id)
def test_reference_values(case, solver):
    given = {key: case[key] for key in ("props", "counts") if key in case}
    few_draws = case["loss"].get("negatives", 1) <= 16
    if solver == "conic" and not few_draws:
        with pytest.raises(SolverError, match="no cone form"):
            solve(Imbalance(loss=case["loss"], solver=solver, **given))
        return
    report = solve(Imbalance(loss=case["loss"], solver=solver, **given))
    assert report.certified
    assert report.value == pytest.approx(case["value"], abs=1e-6)
    assert report.lower_bound <= case["value"] + case["gap"] + 1e-12
    # either route leaves entries uncertain by about the square root of its gap, over the curvature
    assert np.abs(report.gram - np.array(case["gram"])).max() < 3e-3


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(7, 2, 1), (6, 3, 3, 2), (5, 5, 1)], ids=str)
@pytest.mark.parametrize(("name", "parameters"), LOSSES, ids=map(label, LOSSES))
def test_conic_manifold_and_full_size_program_agree(name, parameters, counts):
    value, gram = define(name, parameters, np.array(counts) / sum(counts), counts).solve()
    objective, orbits = setup(name, parameters, counts)
    solutions = [solve_conic(objective, orbits, tolerance=1e-8)]
    if objective.smooth:
        solutions.append(solve_manifold(objective, orbits))
    for solution in solutions:
        proof = certify(objective, orbits, solution.cosines, slopes=solution.slopes)
        assert proof.gap < 1e-6
        assert proof.value == pytest.approx(value, abs=1e-7)
        assert proof.lower_bound <= value + 1e-8
        if objective.unique_minimiser:
            np.testing.assert_allclose(orbits.lift(solution.cosines), gram, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_routes_agree_on_random_proportions(seed):
    rng = np.random.default_rng(seed)
    name, parameters = SMOOTH[int(rng.integers(len(SMOOTH)))]
    counts = rng.integers(1, 30, size=int(rng.integers(3, 6)))
    value, _ = define(name, parameters, counts / counts.sum(), counts).solve()
    objective, orbits = setup(name, parameters, counts)
    for solution in (solve_conic(objective, orbits, tolerance=1e-8), solve_manifold(objective, orbits)):
        assert objective.value(solution.cosines) == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize(("name", "parameters"), SMOOTH, ids=map(label, SMOOTH))
def test_optimality_conditions_on_all_classes(name, parameters):
    """Each condition of Karush, Kuhn and Tucker by itself, on the K x K matrix of the lifted answer."""
    counts = [6, 3, 3, 2]
    objective, orbits = setup(name, parameters, counts)
    answer = solve_objective(objective, orbits)
    definition = define(name, parameters, np.array(counts) / sum(counts), counts)
    gram = orbits.lift(answer.solution.cosines)
    assert primal_infeasibility(gram) < 1e-12
    assert dual_infeasibility(definition, gram) < 1e-7
    assert complementarity(definition, gram) < 1e-9
    assert stationarity(definition, gram) < 1e-6


def test_the_conditions_see_a_point_that_is_not_optimal():
    counts = [6, 3, 3, 2]
    definition = define("supcon", {"temperature": 0.5}, np.array(counts) / sum(counts), counts)
    simplex = np.full((4, 4), -1 / 3)
    np.fill_diagonal(simplex, 1.0)
    assert dual_infeasibility(definition, simplex) > 1e-3
    assert stationarity(definition, simplex) > 1e-3
    assert primal_infeasibility(simplex - 0.1) > 0.05


@pytest.mark.parametrize("temperature", [0.01, 0.02, 0.1, 1.0, 10.0])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("supcon", {}),
        ("supcon", {"batch": 64}),
        ("infonce", {"negatives": 255}),
        ("infonce", {"form": "mean"}),
        ("dcl", {}),
        ("dcl", {"negatives": 16, "sampling": "supervised"}),
        ("sigmoid", {}),
        ("soft-supcon", {}),
    ],
    ids=str,
)
def test_extreme_temperature_and_imbalance_are_certified_without_overflow(name, parameters, temperature):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        report = solve(
            Imbalance(counts=[1_000_000, 1000, 30, 1], loss={"name": name, "temperature": temperature, **parameters})
        )
    assert report.certified
    assert np.all(np.isfinite(report.orbit_cosines))


@pytest.mark.parametrize("temperature", [0.02, 0.03, 0.05, 0.1])
def test_at_low_temperature_every_solver_finds_the_same_geometry(temperature):
    """F is flat to e^{-3/(2 tau)} there: a tiny gap alone leaves the angles open."""
    problem = {"props": [0.7, 0.2, 0.1], "loss": {"name": "supcon", "temperature": temperature}}
    conic, manifold = (solve(Imbalance(**problem, solver=solver)) for solver in ("conic", "manifold"))
    np.testing.assert_allclose(conic.gram, manifold.gram, atol=1e-6)
    assert conic.structure.kind == manifold.structure.kind
    assert conic.rank == manifold.rank == 2


@pytest.mark.parametrize("loss", [{"name": "triplet"}, {"name": "spectral"}, {"name": "align-uniform"}], ids=str)
def test_extreme_imbalance_without_temperature(loss):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert solve(Imbalance(counts=[1_000_000, 1], loss=loss)).certified
        assert solve(Imbalance(counts=[1_000_000, 500, 1, 1], loss=loss)).certified


@pytest.mark.parametrize("solver", ["conic", "manifold"])
def test_full_batch_of_extreme_counts(solver):
    report = solve(
        Imbalance(
            counts=[1_000_000, 10, 1], solver=solver, loss={"name": "supcon", "full_batch": True, "temperature": 0.5}
        )
    )
    assert report.certified


def test_a_thousand_classes_in_three_groups_are_three_orbits():
    """The answer is that of the three orbits, whatever the order of the classes; it costs what m = 3 costs."""
    rng = np.random.default_rng(5)
    counts = np.repeat([100, 10, 1], [100, 300, 600])
    rng.shuffle(counts)
    report = solve(Imbalance(counts=counts, loss={"name": "supcon", "temperature": 0.2}))
    assert report.orbits.sizes.tolist() == [100, 300, 600]
    assert report.orbit_cosines.shape == (3, 3)
    assert report.certified
    assert np.linalg.eigvalsh(report.gram)[0] > -1e-10
    p = counts / counts.sum()
    assert report.value == pytest.approx(p @ np.log(np.exp((report.gram - 1) / 0.2) @ p), rel=1e-12)


def test_groups_of_classes_cost_what_one_class_each_costs_and_agree_with_the_full_problem():
    counts = np.repeat([9, 4, 1], [2, 3, 4])
    loss = make_loss("supcon", {"temperature": 0.5})
    answers = []
    for orbits in (Orbits.of(counts / counts.sum()), Orbits.trivial(counts / counts.sum())):
        solution = solve_manifold(loss.objective(orbits), orbits)
        answers.append(orbits.lift(solution.cosines))
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-6)


# --- which solver, and why -------------------------------------------------------------------------------------------


def test_auto_takes_the_dual_route_for_optima_of_nearly_full_rank():
    report = solve(Imbalance(props=[0.7, 0.2, 0.1]))
    assert report.solver["name"] == "dual"
    assert "nearly all directions are used" in report.solver["reason"]


def test_auto_needs_no_conic_solver_for_smooth_losses(monkeypatch):
    monkeypatch.setattr("geomsolve.solvers.conic.ATTEMPTS", ())
    report = solve(Imbalance(props=[0.7, 0.2, 0.1]))
    assert report.certified
    with pytest.raises(SolverError, match="neither Clarabel nor SCS"):
        solve(Imbalance(props=[0.7, 0.2, 0.1], solver="conic"))


def test_auto_takes_the_conic_route_for_losses_with_kinks():
    report = solve(Imbalance(props=[0.7, 0.2, 0.1], loss={"name": "triplet", "margin": 1.9}))
    assert report.solver["name"] == "conic"
    assert "kinks" in report.solver["reason"]
    assert "CLARABEL" in report.solver["reason"]


def test_a_panic_inside_a_solver_is_survived(monkeypatch):
    import cvxpy as cp

    class Panic(BaseException):
        """Compiled solvers raise panics that do not derive from Exception."""

    original = cp.Problem.solve
    seen = []

    def solve_or_panic(self, *args, **settings):
        seen.append(settings["solver"])
        if settings["solver"] == "CLARABEL":
            raise Panic
        return original(self, *args, **settings)

    monkeypatch.setattr(cp.Problem, "solve", solve_or_panic)
    objective, orbits = setup("supcon", {"temperature": 0.5}, [7, 2, 1])
    solution = solve_conic(objective, orbits, tolerance=1e-6)
    assert seen == ["CLARABEL", "CLARABEL", "SCS"]
    assert "SCS" in solution.note
    assert certify(objective, orbits, solution.cosines).certified


def test_an_interrupt_is_not_swallowed(monkeypatch):
    import cvxpy as cp

    def interrupted(self, *args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(cp.Problem, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve_conic(*setup("supcon", {}, [7, 2, 1]), tolerance=1e-6)


def test_manifold_refuses_a_loss_with_kinks():
    with pytest.raises(InputError, match="without kinks"):
        solve(Imbalance(props=[0.7, 0.2, 0.1], loss="triplet", solver="manifold"))


def test_an_unknown_solver_is_named():
    with pytest.raises(InputError, match="did you mean 'conic'"):
        solve(Imbalance(props=[0.7, 0.2, 0.1], solver="conical"))


def test_absurd_sizes_are_refused_with_the_memory_they_need():
    with pytest.raises(InputError, match=r"1,000,000 distinct proportions would need about 67,055 GiB"):
        refuse_oversize(1_000_000, field="props")
    refuse_oversize(5000, field="props")


def test_the_manifold_leaves_a_saddle():
    """All classes at one point is a critical point of every loss; the escape finds the way down."""
    objective, orbits = setup("supcon", {"temperature": 0.5}, [7, 2, 1])
    solution = solve_manifold(objective, orbits, start=np.ones((3, 3)))
    assert certify(objective, orbits, solution.cosines).certified


@pytest.mark.parametrize(
    ("solver", "temperature", "resolved"), [("conic", 0.003, False), ("dual", 0.003, True), ("conic", 0.1, True)]
)
def test_a_forced_solver_says_when_the_loss_is_proven_but_not_the_angles(solver, temperature, resolved):
    report = solve(
        Imbalance(props=[0.6, 0.3, 0.08, 0.02], loss={"name": "supcon", "temperature": temperature}, solver=solver)
    )
    assert report.certified
    assert ("the angles are not" in report.solver["reason"]) == (not resolved)


SOLVING = """
import os, sys, threading
from geomsolve.gram.orbits import Orbits
from geomsolve.losses import make_loss
from geomsolve.solvers.conic import solve_conic

def solve(name, settings, tolerance):
    orbits = Orbits.of([0.7, 0.2, 0.1])
    return solve_conic(make_loss(name, settings).objective(orbits), orbits, tolerance=tolerance)
"""


def program(body: str) -> subprocess.CompletedProcess:
    """A process of its own: compiled solvers would write past Python's streams."""
    return subprocess.run([sys.executable, "-c", SOLVING + body], capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_compiled_solvers_print_nothing():
    """A tolerance of 0 tries them all; at temperature 0.003 they have a hard time."""
    body = """
for temperature in (0.5, 0.02, 0.003):
    solve("supcon", {"temperature": temperature}, 0.0)
solve("triplet", {"margin": 1.5}, 0.0)
"""
    assert program(body).stdout == ""


@pytest.mark.slow
def test_threads_that_solve_lose_no_line_of_standard_output():
    body = """
threads = [threading.Thread(target=solve, args=("supcon", {"temperature": 0.5}, 1e-9)) for _ in range(4)]
for thread in threads:
    thread.start()
written = 0
while any(thread.is_alive() for thread in threads):
    written += os.write(1, b"1")
    threads[0].join(0.002)
sys.stderr.write(str(written))
"""
    done = program(body)
    assert len(done.stdout) == int(done.stderr) > 0


@pytest.mark.slow
def test_a_closed_standard_output_is_no_reason_to_fail():
    body = """
os.close(1)
sys.stderr.write(solve("supcon", {"temperature": 0.5}, 1e-6).note)
os._exit(0)
"""
    assert program(body).stderr == "cvxpy with CLARABEL"
