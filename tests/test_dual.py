"""The dual solver: Newton's method on the optimality conditions, and where it must give way."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

from geomsolve.errors import SolverError
from geomsolve.gram.orbits import Blocks, Orbits
from geomsolve.losses import make_loss
from geomsolve.objectives.base import RowCurvature
from geomsolve.objectives.tilted import Tilted
from geomsolve.proof.certificate import COLLAPSE_ROUNDING, certify, collapse_blocks, collapse_is_optimal
from geomsolve.proof.ranges import pair_weights
from geomsolve.solvers import newton
from geomsolve.solvers.choose import solve_objective
from geomsolve.solvers.conic import solve_conic
from geomsolve.solvers.dual import solve_dual, start
from geomsolve.solvers.gmres import gmres
from geomsolve.solvers.manifold import solve_manifold
from geomsolve.solvers.newton import Newton

SMOOTH = [
    ("supcon", {"temperature": 0.3}),
    ("supcon", {"temperature": 0.3, "batch": 9}),
    ("supcon", {"temperature": 0.5, "full_batch": True}),
    ("soft-supcon", {"temperature": 0.5, "epsilon": 0.02}),
    ("infonce", {"temperature": 0.5}),
    ("infonce", {"temperature": 0.4, "form": "mean", "sampling": "supervised"}),
    ("infonce", {"temperature": 0.4, "negatives": 1}),
    ("infonce", {"temperature": 0.4, "negatives": 200, "form": "mean"}),
    ("dcl", {"temperature": 0.4, "negatives": 3, "sampling": "supervised"}),
    ("dcl", {"temperature": 0.5, "sampling": "supervised"}),
    ("align-uniform", {}),
    ("sigmoid", {"temperature": 0.2, "bias": 2.0}),
    ("spectral", {}),
    ("weince", {"temperature": 0.5, "delta": 0.1}),
]
CLASSES = Orbits.of(np.array([40, 20, 20, 10, 5, 5]) / 100, [40, 20, 20, 10, 5, 5])


@pytest.mark.parametrize("tilt", [0.05, 0.5])
def test_a_force_more_pushes_an_optimum_of_full_rank_to_one_of_lower_rank(tilt):
    """At the interior optimum cos = 1 + tau log epsilon no force is left; the conic program is the other route."""
    orbits = Orbits.of(np.array([0.4, 0.3, 0.2, 0.1]))
    loss = make_loss("soft-supcon", {"temperature": 0.1, "epsilon": 0.1})
    inside = np.full((4, 4), 1 + 0.1 * log(0.1))
    np.fill_diagonal(inside, 1.0)
    tilted = Tilted(loss.objective(orbits), tilt * pair_weights(orbits, 2, 3))
    found = solve_dual(tilted, orbits, inside)
    assert found is not None
    assert certify(tilted, orbits, found.cosines).gap < 1e-12
    conic = solve_conic(tilted, orbits, tolerance=1e-10)
    assert found.cosines == pytest.approx(conic.cosines, abs=1e-7)


def objective(name, parameters, orbits=CLASSES):
    return make_loss(name, parameters).objective(orbits)


@pytest.mark.parametrize(("name", "parameters"), SMOOTH)
def test_solves_every_smooth_loss_to_rounding(name, parameters):
    f = objective(name, parameters)
    found = solve_dual(f, CLASSES)
    proof = certify(f, CLASSES, found.cosines)
    assert proof.gap <= 1e-13
    assert CLASSES.gram_blocks(found.cosines).min_eigenvalue() >= -1e-12


@pytest.mark.parametrize(("name", "parameters"), SMOOTH)
def test_agrees_with_the_manifold_solver(name, parameters):
    f = objective(name, parameters)
    ours, theirs = solve_dual(f, CLASSES).cosines, solve_manifold(f, CLASSES).cosines
    free = CLASSES.pairs > 0
    np.testing.assert_allclose(ours[free], theirs[free], atol=2e-5)


@pytest.mark.parametrize(("name", "parameters"), SMOOTH)
def test_a_newton_step_undoes_the_residual_to_first_order(name, parameters):
    """d/dt of (mismatch, imbalance) along the step is minus them: the linear system is the derivative."""
    rng = np.random.default_rng(3)
    f = objective(name, parameters)
    state = start(f, CLASSES)
    roots = np.exp(rng.normal(size=(CLASSES.n_orbits, 1)) / 10) * np.sqrt(np.abs(f.gradient(state.cosines)).max())
    shift = rng.normal(size=state.cosines.shape) / 50
    state = replace(state, cosines=state.cosines + shift + shift.T, roots=roots)
    curvature = f.curvature(state.cosines)
    assert isinstance(curvature, RowCurvature)
    own = curvature.own.copy()
    step = Newton(state, curvature).step()
    np.testing.assert_array_equal(curvature.own, own)  # what a step is given stays as it is
    h = 1e-6
    ahead, back = state.moved(h, step), state.moved(-h, step)
    np.testing.assert_allclose(
        (ahead.mismatch - back.mismatch) / (2 * h), -state.mismatch, atol=2e-6 * np.abs(state.mismatch).max()
    )
    scale = np.abs(state.imbalance).max()
    np.testing.assert_allclose((ahead.imbalance - back.imbalance) / (2 * h), -state.imbalance, atol=2e-6 * scale)


@pytest.mark.parametrize(("name", "parameters"), SMOOTH)
@pytest.mark.parametrize("columns", [1, 2])
def test_the_newton_system_without_its_matrix(monkeypatch, name, parameters, columns):
    rng = np.random.default_rng(4)
    f = objective(name, parameters)
    state = start(f, CLASSES)
    state = replace(state, roots=rng.uniform(0.5, 1, (CLASSES.n_orbits, columns)) * np.abs(state.forces).max())
    monkeypatch.setattr(newton, "BLOCK", 8)
    system = Newton(state, f.curvature(state.cosines))
    matrix, scale = system.matrix()
    apply, scaled = system.operator()
    x = rng.standard_normal(system.n_unknowns)
    np.testing.assert_allclose(apply(x) / scaled, matrix @ x / scale, rtol=1e-10, atol=1e-12 * np.abs(x / scale).max())


@pytest.mark.parametrize("single", [10**9, 0])
def test_gmres_and_single_precision_change_nothing(monkeypatch, single):
    for name, parameters in SMOOTH:
        f = objective(name, parameters)
        expected = solve_dual(f, CLASSES).cosines
        with monkeypatch.context() as patch:
            patch.setattr(newton, "DIRECT", 0)
            patch.setattr(newton, "SINGLE", single)
            patch.setattr(newton, "FACTORED", 0)
            patch.setattr(newton, "BLOCK", 8)  # and more than one block of rows
            found = solve_dual(f, CLASSES).cosines
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 1e-9), (np.float32, 1e-3)])
def test_gmres_solves_or_says_that_it_did_not(dtype, digits, rng):
    near = np.eye(200) + rng.standard_normal((200, 200)) / 60
    far = rng.standard_normal((200, 200))
    right = rng.standard_normal(200)
    found, converged = gmres(near.astype(dtype).__matmul__, right.astype(dtype), 1e-10)
    assert converged
    np.testing.assert_allclose(found, np.linalg.solve(near, right), atol=digits)
    found, converged = gmres(far.astype(dtype).__matmul__, right.astype(dtype), 1e-10)
    assert not converged
    assert np.linalg.norm(right - far @ found) < np.linalg.norm(right)
    assert not gmres(far.__matmul__, np.zeros(200), 1e-10)[0].any()


def test_where_every_force_vanishes_the_cosines_follow():
    """soft-supcon above its threshold: cosine 1 + tau log(epsilon) between all classes, S = 0."""
    f = objective("soft-supcon", {"temperature": 0.1, "epsilon": 0.2})
    found = solve_dual(f, CLASSES)
    free = CLASSES.pairs > 0
    np.testing.assert_allclose(found.cosines[free], 1 + 0.1 * log(0.2), atol=1e-12)
    assert "every force vanishes" in found.note


def test_balanced_classes_form_the_simplex():
    orbits = Orbits.of(np.full(7, 1 / 7))
    found = solve_dual(objective("supcon", {"temperature": 0.1}, orbits), orbits)
    np.testing.assert_allclose(found.cosines, -1 / 6, atol=1e-15)
    assert found.iterations == 0


@pytest.mark.slow
def test_a_thousand_long_tailed_classes():
    counts = np.array([round(5 + 1275 * (i / 999) ** 6) for i in range(1000)])
    orbits = Orbits.of(counts / counts.sum())
    for temperature in (0.07, 1.0):
        answer = solve_objective(objective("supcon", {"temperature": temperature}, orbits), orbits)
        assert answer.solution.name == "dual"
        assert answer.certificate.gap <= 1e-12


@pytest.mark.parametrize(("props", "held"), [([0.98, 0.01, 0.005, 0.005], True), ([0.6, 0.399, 0.0009, 0.0001], False)])
def test_ranks_below_nearly_full(props, held):
    """Partial collapse: an orbit at one point, or two proportions at one point."""
    orbits = Orbits.of(props)
    f = objective("supcon", {"temperature": 1.0}, orbits)
    found = solve_dual(f, orbits)
    assert certify(f, orbits, found.cosines).gap <= 1e-13
    assert (found.cosines[-1, -1] >= 1 - 1e-9) == held or orbits.sizes[-1] == 1
    assert orbits.rank(found.cosines, 1e-6) < orbits.n_classes - 1


def test_gives_way_where_the_optimum_has_low_rank():
    """Labels on a line: the kernel's target is no Gram matrix, and the optimum has far from full rank."""
    f, orbits = soft_targets(np.linspace(20, 80, 20), 5.0, 0.1)
    assert solve_dual(f, orbits) is None
    answer = solve_objective(f, orbits)
    assert answer.solution.name == "manifold"
    assert answer.certificate.certified
    with pytest.raises(SolverError, match="nearly full rank"):
        solve_objective(f, orbits, solver="dual")


def soft_targets(labels, sigma, temperature):
    """Weighted InfoNCE with a Gaussian kernel on scalar labels, every label a class of its own."""
    from geomsolve.objectives.logsum import LogSum

    n = labels.size
    weights = np.exp(-((labels[:, None] - labels) ** 2) / (2 * sigma**2))
    target = weights / weights.sum(axis=1, keepdims=True)
    np.fill_diagonal(target, 0.0)
    q = np.full(n, 1 / n)
    orbits = Orbits.trivial(q)
    return LogSum(orbits.others * q, q, q, 1 / temperature, target, unique_minimiser=True), orbits


ADVERSARIAL = [
    [0.5, 0.5],
    [0.9, 0.1],
    [1 - 1e-8, 1e-8],
    [0.25] * 4,
    [1 - 3e-8, 2e-8, 1e-8],
    [0.5, 0.5 - 2e-8, 1e-8, 1e-8],
    [0.3, 0.3 + 1e-15, 0.2, 0.2 - 1e-15],
    [0.999, *[0.001 / 50] * 50],
    [0.6, 0.399, 0.0009, 0.0001],
]


@pytest.mark.parametrize("props", ADVERSARIAL, ids=lambda p: f"{len(p)} from {max(p):.3g} to {min(p):.3g}")
@pytest.mark.parametrize("temperature", [0.01, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.slow
def test_adversarial_proportions_are_certified(props, temperature):
    orbits = Orbits.of(np.array(props) / sum(props))
    for name, more in (
        ("supcon", {}),
        ("infonce", {"negatives": 3}),
        ("soft-supcon", {"epsilon": 1e-3}),
        ("sigmoid", {}),
    ):
        answer = solve_objective(objective(name, {"temperature": temperature, **more}, orbits), orbits)
        assert answer.certificate.gap <= 1e-9 * max(1.0, abs(answer.certificate.value))


def test_just_off_the_collapse_threshold():
    """supcon, t = 1: the closed-form threshold share of a majority over two equal minorities, and 0.1 % beside it."""
    x = np.exp(-2.0)

    def margin(q):
        P = 1 - q
        return (P * x / 2) * ((P * x + q) / (P + q * x) + 1) - q

    low, high = 1e-3, 0.5
    while high - low > 1e-15:
        middle = (low + high) / 2
        low, high = (middle, high) if margin(middle) > 0 else (low, middle)
    share = 1 - low
    for factor, collapsed in ((0.999, False), (1 - 1e-9, False), (1 + 1e-9, True), (1.001, True)):
        P = share * factor
        orbits = Orbits.of([P, *[(1 - P) / 2] * 2])
        f = objective("supcon", {"temperature": 1.0}, orbits)
        assert collapse_is_optimal(f, orbits) == collapsed
        assert solve_objective(f, orbits).certificate.gap <= 1e-10


def random_problem(rng):
    k = int(rng.integers(2, 8))
    p = rng.dirichlet(np.full(k, rng.choice([0.5, 1.0, 5.0]))) + 1e-4
    counts = np.maximum(1, np.round(100 * p / p.sum()))
    name, parameters = SMOOTH[rng.integers(len(SMOOTH))]
    parameters = dict(parameters)
    if "temperature" in parameters:
        parameters["temperature"] = float(10 ** rng.uniform(-1, 1))
    orbits = Orbits.of(counts / counts.sum(), counts)
    return f"{name} {parameters} {counts}", objective(name, parameters, orbits), orbits


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.slow
def test_auto_is_never_worse_than_conic(seed):
    rng = np.random.default_rng(100 + seed)
    for _ in range(4):
        agree(*random_problem(rng))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_auto_is_never_worse_than_conic_on_many(seed):
    rng = np.random.default_rng(seed)
    for _ in range(12):
        agree(*random_problem(rng))


def agree(label, f, orbits):
    """Dual or manifold against conic: bounds and values interlock, and auto's gap is at most conic's."""
    ours = solve_objective(f, orbits).certificate
    manifold = solve_objective(f, orbits, solver="manifold").certificate
    try:
        conic = solve_objective(f, orbits, solver="conic").certificate
    except SolverError:
        assert f.cone_form() is None, label
        conic = manifold
    for one in (ours, manifold, conic):
        for other in (ours, manifold, conic):
            assert one.lower_bound <= other.value + 1e-12 * max(1.0, abs(other.value)), label
    assert ours.gap <= conic.gap + 1e-12 * max(1.0, abs(conic.value)), label


def test_bound_and_count_of_large_matrices_against_their_eigenvalues(monkeypatch):
    monkeypatch.setattr("geomsolve.gram.orbits.AFFORDABLE", 0)
    rng = np.random.default_rng(0)
    m = 320
    turn = np.linalg.qr(rng.normal(size=(m, m)))[0]
    for lowest in (-0.3, -1e-9, 0.0, 0.2):
        spectrum = np.concatenate([[lowest], rng.uniform(0.5, 2, m // 2), np.full(m - m // 2 - 1, 0.4)])
        matrix = (turn * spectrum) @ turn.T
        blocks = Blocks((matrix + matrix.T) / 2, np.full(m, np.inf))
        exact = np.linalg.eigvalsh(blocks.quotient)[0]
        assert 4.1 * min(exact, 0.0) - 1e-10 <= blocks.min_eigenvalue() <= max(exact, 0.0) + 1e-15
        assert blocks.quotient_rank(0.45) == m // 2
    broken = np.eye(m)
    broken[0, 1] = broken[1, 0] = np.nan
    assert not Blocks(broken, np.full(m, np.inf)).is_psd(1.0)
    assert Blocks(broken, np.full(m, np.inf)).min_eigenvalue() == -np.inf
    u = rng.uniform(size=m)
    assert -1e-12 <= Blocks(np.outer(u, u), np.full(m, np.inf)).min_eigenvalue() <= 0


@pytest.mark.parametrize("name", ["supcon", "infonce", "dcl", "soft-supcon", "sigmoid"])
def test_what_row_sums_say_of_a_collapse_the_whole_dual_matrix_says(name, rng):
    verdicts = set()
    for temperature in np.geomspace(0.1, 5, 12):
        counts = np.concatenate([[rng.integers(8, 90)], np.repeat(rng.integers(1, 6, 3), rng.integers(1, 4, 3))])
        orbits = Orbits.of(counts / counts.sum(), counts)
        f = make_loss(name, {"temperature": float(temperature)}).objective(orbits)
        blocks, size = collapse_blocks(f, orbits)
        lowest = min(np.linalg.eigvalsh(blocks.quotient)[0], blocks.contrast.min())
        if abs(lowest) > 10 * COLLAPSE_ROUNDING * size:
            assert collapse_is_optimal(f, orbits) == (lowest > 0)
            verdicts.add(bool(lowest > 0))
    assert False in verdicts


@pytest.mark.parametrize("parameters", [{}, {"full_batch": True}, {"batch": 8}, {"denominator": "balanced"}])
def test_an_objective_at_another_temperature_is_that_of_the_loss_there(parameters, rng):
    orbits = Orbits.of(np.array([9, 4, 4, 2]) / 19, [9, 4, 4, 2])
    loss = make_loss("supcon", {"temperature": 0.3, **parameters})
    found = loss.objective_at(0.7, orbits, loss.objective(orbits))
    expected = make_loss("supcon", {"temperature": 0.7, **parameters}).objective(orbits)
    cosines = rng.uniform(-1, 1, (orbits.n_orbits, orbits.n_orbits))
    assert found.value(cosines) == pytest.approx(expected.value(cosines), rel=1e-14)
    np.testing.assert_allclose(found.gradient(cosines), expected.gradient(cosines), rtol=1e-13)
