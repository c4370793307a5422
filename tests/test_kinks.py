"""Losses with kinks: the path of smooth ones, against the conic solver, closed forms and the definition."""

from __future__ import annotations

import numpy as np
import pytest

from geomsolve import Orbits, make_loss
from geomsolve.objectives.pairs import Hinge, pair_mass
from geomsolve.objectives.tilted import Tilted
from geomsolve.proof.certificate import certify
from geomsolve.solvers.choose import solve_objective
from geomsolve.solvers.smoothing import solve_smoothed


def many(n: int) -> Orbits:
    """``n`` distinct class sizes from 5 to 1280, as in long-tailed data sets."""
    sizes = np.unique(np.round(np.geomspace(5, 1280, 2 * n)).astype(int))
    counts = sizes[np.linspace(0, sizes.size - 1, n).astype(int)]
    return Orbits.of(counts / counts.sum())


def test_smoothed_hinge_touches_the_hinge_in_slope_and_tends_to_it(rng):
    mass = np.array([[0.3, 0.2], [0.2, 0.3]])
    hinge, cosines = Hinge(mass, -0.4), np.array([[0.1, -0.4], [-0.4, -0.7]])
    for width in (0.1, 1e-3, 1e-5):
        assert hinge.smoothed(width).value(cosines) == pytest.approx(hinge.value(cosines), abs=2 * width)
    slopes = mass * np.array([[0.9, 0.25], [0.25, 0.1]])
    smooth = hinge.smoothed(0.05, slopes)
    at_knee = np.full((2, 2), -0.4)
    np.testing.assert_allclose(smooth.gradient(at_knee), slopes, rtol=1e-12)
    assert smooth.value(at_knee) == pytest.approx(0.0, abs=1e-15)
    change = rng.normal(size=(2, 2))
    step = 1e-6
    bend = (smooth.gradient(cosines + step * change) - smooth.gradient(cosines - step * change)) / (2 * step)
    np.testing.assert_allclose(smooth.curvature(cosines)(change), bend, rtol=1e-6, atol=1e-9)
    assert smooth.value(cosines) <= hinge.value(cosines)  # t x - w KL is at most t x
    assert Hinge(mass, -1.0).smoothed(0.1) is None


@pytest.mark.parametrize(("margin", "sampling"), [(1.4, "supervised"), (1.2, "iid"), (1.8, "iid")])
def test_the_path_agrees_with_the_conic_solver(margin, sampling):
    orbits = many(12)
    hinge = make_loss("triplet", {"margin": margin, "sampling": sampling}).objective(orbits)
    conic = solve_objective(hinge, orbits, solver="conic")
    found = solve_smoothed(hinge, orbits, tolerance=1e-6)
    proof = certify(hinge, orbits, found.cosines, slopes=found.slopes)
    assert proof.certified
    assert proof.lower_bound <= conic.certificate.value + 1e-12
    assert conic.certificate.lower_bound <= proof.value + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("margin", "sampling"), [(1.1, "supervised"), (1.8, "iid")])
def test_446_distinct_sizes_are_certified(margin, sampling):
    """The bound is checked from its slopes, eigenvalues of the full matrix and nothing else."""
    orbits = many(446)
    assert orbits.n_orbits == 446
    hinge = make_loss("triplet", {"margin": margin, "sampling": sampling}).objective(orbits)
    answer = solve_objective(hinge, orbits)
    assert answer.certificate.certified
    assert answer.certificate.gap <= 1e-6
    assert answer.solution.name == "smoothing"
    mass, gram, slope = pair_mass(orbits, sampling), answer.solution.cosines, answer.solution.slopes
    assert np.all((slope >= 0) & (slope <= mass))
    force = (slope + slope.T) / 2
    np.fill_diagonal(force, 0.0)
    dual = force - np.diag((force * gram).sum(1))
    value = float(np.sum((mass * np.maximum(gram - 1 + margin, 0))[~np.eye(446, dtype=bool)]))
    assert value == pytest.approx(answer.certificate.value, abs=1e-12)
    touched = float(np.sum(slope * (gram - 1 + margin)))
    assert value - touched + 446 * max(0.0, -np.linalg.eigvalsh(dual)[0]) < 3e-6
    assert np.linalg.eigvalsh(gram)[0] > -1e-12


def test_a_tilted_hinge_has_a_smooth_form_too(rng):
    orbits = many(6)
    hinge = make_loss("triplet", {"margin": 1.5}).objective(orbits)
    tilted = Tilted(hinge, 0.01 * rng.normal(size=(6, 6)))
    found = solve_smoothed(tilted, orbits, tolerance=1e-6)
    proof = certify(tilted, orbits, found.cosines, slopes=found.slopes)
    assert proof.certified
    conic = solve_objective(tilted, orbits, solver="conic").certificate
    assert proof.value == pytest.approx(conic.value, abs=3e-6)


def test_balanced_classes_keep_their_closed_form():
    """K = 4, margin 1.5: cosines -1/3 are all above the knee -1/2, where the loss is linear: 1/6."""
    orbits = Orbits.trivial(np.full(4, 0.25))
    found = solve_smoothed(make_loss("triplet", {"margin": 1.5}).objective(orbits), orbits, tolerance=1e-6)
    objective = make_loss("triplet", {"margin": 1.5}).objective(orbits)
    assert objective.value(found.cosines) == pytest.approx(-1 / 3 + 0.5, abs=1e-6)


@pytest.mark.slow
def test_many_sizes_on_the_command_line(run):
    sizes = ",".join(str(n) for n in np.unique(np.round(np.geomspace(20, 900, 70)).astype(int)))
    answer = run("imbalance", "--props", sizes, "--loss", "triplet", "--margin", "1.9", "--json")
    assert answer.code == 0
    assert answer.json["certified"] is True
    assert answer.json["solver"]["name"] == "smoothing"
