"""The proof: a lower bound that holds for every embedding, whatever the solver did."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import LOSSES, define, label, random_gram
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from geomsolve import InputError, Orbits, certify, make_loss
from geomsolve.objectives.pairs import Hinge
from geomsolve.proof.certificate import dual_blocks, unbalanced

every_loss = pytest.mark.parametrize(("name", "parameters"), LOSSES, ids=map(label, LOSSES))
COUNTS = np.array([6, 3, 3, 2])


def problem(name, parameters, counts):
    counts = np.asarray(counts)
    orbits = Orbits.of(counts / counts.sum(), counts)
    return make_loss(name, parameters).objective(orbits), orbits


def full_matrix_certificate(name, parameters, counts, gram):
    """The definition of the certificate on the K x K matrix, with the gradient by differences of the definition."""
    counts, k = np.asarray(counts), len(counts)
    definition = define(name, parameters, counts / counts.sum(), counts)
    slope = np.zeros((k, k))
    step = 1e-2
    for a in range(k):
        for b in range(k):
            if a != b:
                unit = np.zeros((k, k))
                unit[a, b] = step
                slope[a, b] = sum(
                    c * (definition.value(gram + j * unit) - definition.value(gram - j * unit))
                    for j, c in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
                )
    off_diagonal = (slope + slope.T) / 2 / step
    dual = off_diagonal - np.diag(np.diag(off_diagonal @ gram))
    value = definition.value(gram)
    lowest = np.linalg.eigvalsh(dual)[0]
    return value, lowest, value - k * max(0.0, -lowest)


@every_loss
def test_certificate_is_the_formula_on_the_full_matrix(name, parameters, rng):
    objective, orbits = problem(name, parameters, COUNTS)
    for _ in range(4):
        cosines = orbits.reduce(random_gram(rng, 4))
        found = certify(objective, orbits, cosines)
        if not objective.smooth and np.abs(cosines - objective.knee).min() < 0.05:
            continue  # the difference quotient would straddle the kink
        value, lowest, bound = full_matrix_certificate(name, parameters, COUNTS, orbits.lift(cosines))
        assert found.value == pytest.approx(value, rel=1e-12, abs=1e-13)
        assert found.min_eigenvalue == pytest.approx(lowest, abs=1e-9)
        assert found.lower_bound == pytest.approx(bound, abs=1e-8)
        assert found.gap == pytest.approx(found.value - found.lower_bound, abs=1e-15)


@settings(max_examples=150)
@given(
    st.sampled_from(LOSSES),
    st.lists(st.integers(1, 20), min_size=2, max_size=5).filter(lambda c: max(c) > 1),
    st.integers(0, 2**32 - 1),
)
@pytest.mark.slow
def test_no_embedding_is_below_the_lower_bound(case, counts, seed):
    """The bound from any feasible point holds for any other, on all K classes."""
    name, parameters = case
    assume(sum(counts) >= parameters.get("batch", 0) or parameters.get("replacement") != "no")  # else none can be drawn
    rng = np.random.default_rng(seed)
    objective, orbits = problem(name, parameters, counts)
    k = len(counts)
    slopes = rng.normal(size=(orbits.n_orbits, orbits.n_orbits))
    proof = certify(objective, orbits, orbits.reduce(random_gram(rng, k, int(rng.integers(1, k + 1)))), slopes=slopes)
    counts = np.asarray(counts)
    everything = make_loss(name, parameters).objective(Orbits.trivial(counts / counts.sum(), counts))
    for dim in (1, 2, k):
        assert everything.value(random_gram(rng, k, dim)) >= proof.lower_bound - 1e-12


WANT_SIMPLEX = [case for case in LOSSES if case[0] != "spectral" and case[1].get("epsilon") != 0.2]
"""All but those that want the orthogonal frame, and soft-supcon where it attains its floor: see the next tests."""


@pytest.mark.parametrize("n_classes", [2, 3, 7, 50])
@pytest.mark.parametrize(("name", "parameters"), WANT_SIMPLEX, ids=map(label, WANT_SIMPLEX))
def test_regular_simplex_is_proven_for_balanced_classes(name, parameters, n_classes):
    if name == "nt-xent" and parameters.get("replacement") == "no" and n_classes == 50:
        with pytest.raises(InputError, match="enumerated"):
            problem(name, parameters, [5] * n_classes)
        return
    objective, orbits = problem(name, parameters, [5] * n_classes)
    proof = certify(objective, orbits, np.array([[-1 / (n_classes - 1)]]))
    assert proof.gap == pytest.approx(0.0, abs=1e-13)
    assert proof.certified


@pytest.mark.parametrize("counts", [[5, 5, 5], [9, 3, 1], [4, 4, 2, 1]])
def test_orthogonal_frame_is_proven_for_the_spectral_loss(counts):
    objective, orbits = problem("spectral", {}, counts)
    proof = certify(objective, orbits, orbits.reduce(np.eye(len(counts))))
    assert proof.gap == 0.0
    assert proof.value == pytest.approx(sum((c / sum(counts)) ** 2 for c in counts))


def test_soft_supcon_at_its_floor_is_proven_whatever_the_proportions():
    objective, orbits = problem("soft-supcon", {"temperature": 0.5, "epsilon": 0.2}, [14, 4, 2])
    cosines = np.full((3, 3), 1 + 0.5 * np.log(0.2))
    np.fill_diagonal(cosines, 1.0)
    assert certify(objective, orbits, cosines).gap < 1e-14


@pytest.mark.parametrize("counts", [[38, 1, 1], [97, 1, 1, 1], [94, 3, 2, 1]])
def test_collapse_is_proven_for_a_large_majority(counts):
    objective, orbits = problem("supcon", {"temperature": 1.0}, counts)
    sign = np.where(np.arange(orbits.n_orbits) == 0, 1.0, -1.0)
    assert certify(objective, orbits, np.outer(sign, sign)).gap < 1e-14


def test_a_wrong_answer_is_not_certified():
    objective, orbits = problem("supcon", {"temperature": 0.5}, [7, 2, 1])
    simplex = np.full((3, 3), -0.5)
    np.fill_diagonal(simplex, 1.0)
    proof = certify(objective, orbits, simplex)
    assert not proof.certified
    assert proof.gap > 1e-2
    assert not certify(objective, orbits, np.ones((3, 3))).certified


def test_the_tolerance_is_relative_and_only_decides_the_word():
    objective, orbits = problem("supcon", {"temperature": 0.5}, [7, 2, 1])
    simplex = np.full((3, 3), -0.5)
    np.fill_diagonal(simplex, 1.0)
    strict, lax = (certify(objective, orbits, simplex, tolerance=t) for t in (1e-6, 0.9))
    assert strict.gap == lax.gap
    assert lax.certified
    assert not strict.certified


def test_dual_matrix_annihilates_the_diagonal_of_its_product_with_the_gram(rng):
    """mu is chosen so that <S, G> = 0, class by class."""
    objective, orbits = problem("supcon", {"temperature": 0.5}, [6, 3, 3, 2])
    cosines = orbits.reduce(random_gram(rng, 4))
    blocks = dual_blocks(orbits, cosines, objective.gradient(cosines))
    gram = orbits.gram_blocks(cosines)
    many = orbits.sizes > 1
    seen = (orbits.sizes - 1)[many]
    inner = np.sum(blocks.quotient * gram.quotient) + np.sum(seen * blocks.contrast[many] * gram.contrast[many])
    assert inner == pytest.approx(0.0, abs=1e-13)


@given(st.integers(0, 2**32 - 1), st.floats(-1, 1), st.floats(-3, 3))
def test_hinge_minorant_is_never_above_the_loss(seed, knee, size):
    rng = np.random.default_rng(seed)
    mass = rng.uniform(0, 1, (3, 3))
    hinge = Hinge(mass, knee)
    at = rng.uniform(-1, 1, (3, 3))
    for slopes in (None, size * rng.normal(size=(3, 3))):
        minorant = hinge.minorant(at, slopes)
        for _ in range(10):
            x = rng.uniform(-1, 1, (3, 3))
            assert minorant.value + np.sum(minorant.slope * (x - at)) <= hinge.value(x) + 1e-13


def test_for_a_hinge_a_suggested_slope_may_beat_the_tangent_and_is_never_trusted():
    """Above its knee a hinge has slope 1, but only slope 0 gives the true bound 0; a slope beyond 1 is cut."""
    mass = np.array([[0.0, 0.5], [0.5, 0.0]])
    hinge, orbits = Hinge(mass, -0.5), Orbits.of([0.6, 0.4])
    above = np.array([[1.0, -0.4], [-0.4, 1.0]])
    steep = certify(hinge, orbits, above)
    flat = certify(hinge, orbits, above, slopes=np.zeros((2, 2)))
    absurd = certify(hinge, orbits, above, slopes=np.full((2, 2), 1e9))
    assert steep.lower_bound == pytest.approx(-0.5)
    assert flat.lower_bound == 0.0
    assert absurd.lower_bound == steep.lower_bound


def test_forces_cancel_at_the_simplex_of_balanced_classes_and_nowhere_else():
    objective, orbits = problem("supcon", {"temperature": 0.5}, [4, 4, 4, 4])
    single = orbits.single()
    whole = make_loss("supcon", {"temperature": 0.5}).objective(single)
    assert unbalanced(objective, orbits, orbits.regular_simplex()) < 1e-15
    assert unbalanced(whole, single, single.regular_simplex()) < 1e-15
    assert unbalanced(whole, single, random_gram(np.random.default_rng(0), 4)) > 0.05


def test_forces_are_relative_to_those_that_cancel():
    """At t = 0.01 forces are of size e^-130: an answer 10 degrees off has a gap of 1e-50 but is far from balance."""
    objective, orbits = problem("supcon", {"temperature": 0.01}, [6, 3, 1])
    off = np.eye(3) + (np.cos(np.radians(110)) * (1 - np.eye(3)))
    assert certify(objective, orbits, off).gap < 1e-30
    assert unbalanced(objective, orbits, off) > 0.1


def test_forces_left_are_those_on_the_centres_of_orbits_however_near_the_origin_these_are():
    """Against vectors: S from the gradient by class, forces on the centre of each orbit, relative to what cancels."""
    from geomsolve.proof.certificate import unbalanced

    orbits = Orbits.of(np.array([4, 4, 4, 3]) / 15)
    objective = make_loss("sigmoid", {"temperature": 0.5, "bias": 0.0}).objective(orbits)
    cosines = np.array([[-0.49, 0.02], [0.02, 1.0]])
    gram = orbits.lift(cosines)
    slope = make_loss("sigmoid", {"temperature": 0.5, "bias": 0.0}).objective(orbits.single()).gradient(gram)
    dual = slope + slope.T
    np.fill_diagonal(dual, 0.0)
    dual -= np.diag(np.sum(dual * gram, axis=1))
    middle = np.zeros((4, 2))
    middle[:3, 0], middle[3, 1] = 3**-0.5, 1.0
    small = middle.T @ dual @ middle
    centres = middle.T @ gram @ middle
    lengths = np.sqrt(np.diag(centres))
    assert lengths[0] < 0.2
    wanted = np.max(np.abs(small @ centres) / np.outer(np.abs(small) @ lengths, lengths))
    assert unbalanced(objective, orbits, cosines) == pytest.approx(wanted, rel=1e-9)
