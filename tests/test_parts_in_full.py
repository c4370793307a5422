"""Parts of the proofs by orbits, held against the same written out for all points one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from geomsolve.analyses.classifiers import program_of
from geomsolve.errors import InputError
from geomsolve.gram.codes import PROVEN
from geomsolve.gram.nonnegative import raised
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.packing import at_least, at_most
from geomsolve.gram.paired import Paired, PairedBlocks
from geomsolve.losses import make_loss
from geomsolve.objectives.base import RowCurvature
from geomsolve.objectives.cross import Joint
from geomsolve.objectives.distances import DistanceHinge, SmoothDistanceHinge
from geomsolve.objectives.drawn_batches import Batches
from geomsolve.objectives.fixed_batches import positions
from geomsolve.objectives.pairs import part_of
from geomsolve.objectives.random_start import random_angles
from geomsolve.pair_losses import make_pair_loss
from geomsolve.proof.attainable import upper_bound
from geomsolve.proof.certificate import collapse_blocks
from geomsolve.proof.nuclear import at_one_point
from geomsolve.proof.paired import dual_gram, tied_excess
from geomsolve.solvers.nuclear import solve_peeled

ORBITS = Orbits(np.array([1, 2, 3]), np.array([0.6, 0.1, 0.2 / 3]), np.array([0, 1, 1, 2, 2, 2]))


def test_the_dual_matrix_of_collapse_is_lifted_along_its_null_vector():
    """S + s v v', v the signs over root(K): v has the eigenvalue s, which is the sum of all entries of S by blocks."""
    objective = make_loss("supcon", {"temperature": 1.0}).objective(ORBITS)
    blocks, size = collapse_blocks(objective, ORBITS)
    signs = np.array([1.0, -1, -1])
    v = np.sqrt(ORBITS.sizes) * signs / np.sqrt(6)
    np.testing.assert_allclose(blocks.quotient, blocks.quotient.T, atol=1e-12)
    np.testing.assert_allclose(blocks.quotient @ v, size * v, atol=1e-12)


@pytest.mark.parametrize(("majority", "merges"), [(13, True), (10, False)])
def test_classes_are_at_one_point_or_they_are_not(majority, merges):
    """Published: with a budget of 5 and 1, five classes of 1 merge beside five of 13 and not beside five of 10."""
    loss = make_loss("cross-entropy", {"constraint": "budget:5,1"})
    counts = [majority] * 5 + [1] * 5
    orbits = loss.orbits([n / sum(counts) for n in counts], counts)
    program = program_of(loss, orbits, field="counts")
    answer = solve_peeled(program, tolerance=1e-9)
    merged, apart = at_one_point(program, answer.blocks, answer.certificate.gap)
    small = [g for g, _, _ in zip(*program.points.several, strict=True)].index(int(np.argmin(orbits.proportions)))
    assert bool(merged[small]) == merges
    assert bool(apart[small]) != merges


def test_of_a_suggestion_only_the_blocks_of_the_sides_are_used():
    paired = Paired.of(ORBITS)
    wanted = paired.reduce_cross(np.eye(6) * 0.3)
    rng = np.random.default_rng(0)
    plain = PairedBlocks(np.eye(6), np.tile(np.eye(2), (2, 1, 1)))
    found = upper_bound(paired, wanted, 0.1, plain)
    quotient, contrast = plain.quotient.copy(), plain.contrast.copy()
    quotient[:3, 3:] = rng.standard_normal((3, 3))
    quotient[3:, :3] = rng.standard_normal((3, 3))
    contrast[:, 0, 1], contrast[:, 1, 0] = rng.standard_normal((2, contrast.shape[0]))
    other = replace(plain, quotient=quotient, contrast=contrast)
    assert upper_bound(paired, wanted, 0.1, other) == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_curvature_of_smoothed_hinges_on_distances_is_that_of_their_slope(share):
    mass = np.array([[0.0, 0.4], [0.3, 0.0]])
    objective = SmoothDistanceHinge(mass, 1.2, 0.3, np.full((2, 2), share))
    cosines, step = np.array([[1.0, 0.2], [0.1, 1.0]]), np.array([[0.0, 1.0], [-2.0, 0.0]])
    eps = 1e-6
    ahead, back = (objective.gradient(cosines + sign * eps * step) for sign in (1, -1))
    np.testing.assert_allclose(objective.curvature(cosines)(step), (ahead - back) / (2 * eps), rtol=1e-6, atol=1e-9)


def test_hinges_on_distances_are_smooth_where_squared_or_out_of_reach():
    mass = np.ones((2, 2))
    smooth = {(margin, power): DistanceHinge(mass, margin, power).smooth for margin in (1.0, 2.0) for power in (1, 2)}
    assert smooth == {(1.0, 1): False, (1.0, 2): True, (2.0, 1): True, (2.0, 2): True}


def test_a_share_of_a_hinge_is_never_above_1():
    steepest = np.array([1.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(part_of(steepest, np.array([2.0, 0.5, -1.0, 1.0])), [1.0, 0.5, 0.0, 0.0])


def test_curvatures_by_rows_add_up():
    rng = np.random.default_rng(0)
    parts = [RowCurvature(rng.random((3, 3)), rng.standard_normal((3, 3, 3))) for _ in range(2)]
    change = rng.standard_normal((3, 3))
    np.testing.assert_allclose(RowCurvature.together(parts)(change), parts[0](change) + parts[1](change), rtol=1e-12)


def test_the_loss_of_a_drawn_batch_is_that_of_its_samples():
    """SupCon of a batch: the mean over its samples, in views, of log(sum over all others of e^t), if any is alike."""
    t, views = 0.7, 2
    corner = np.array([[1.0, 0.1, -0.3], [0.1, -0.2, 0.4], [-0.3, 0.4, 0.3]])
    gram = ORBITS.lift(corner)
    np.fill_diagonal(gram, 1.0)
    numbers = np.array([[1, 2, 0, 0, 3, 1], [4, 0, 0, 1, 0, 2]])
    means = []
    for row in numbers:
        label = np.repeat(np.arange(6), views * row)
        x = np.exp((gram[np.ix_(label, label)] - 1) / t)
        means.append(np.mean(np.log(x.sum(axis=1) - 1)))
    found, heard = Batches(ORBITS, 7, views, finite=False).values(numbers, corner, t)
    np.testing.assert_allclose(found, means, rtol=1e-12)
    np.testing.assert_allclose(heard, means, rtol=1e-12)  # in two views every sample has a positive


def test_in_one_view_only_anchors_with_a_positive_are_heard():
    corner = np.array([[1.0, 0.1, -0.3], [0.1, -0.2, 0.4], [-0.3, 0.4, 0.3]])
    numbers = np.array([[2, 1, 0, 0, 0, 0]])
    x = math.exp((0.1 - 1) / 0.5)
    found, heard = Batches(ORBITS, 3, 1, finite=False).values(numbers, corner, 0.5)
    assert heard[0] == pytest.approx(math.log(1 + x), rel=1e-12)
    assert found[0] == pytest.approx(2 / 3 * math.log(1 + x), rel=1e-12)


def test_cosines_are_raised_just_until_none_is_negative():
    orbits = Orbits.trivial(np.full(3, 1 / 3))
    cosines = np.array([[1.0, -0.2, 0.4], [-0.2, 1.0, 0.0], [0.4, 0.0, 1.0]])
    np.testing.assert_allclose(raised(orbits, cosines), (cosines + 0.2) / 1.2, atol=1e-15)


def test_points_with_negative_cosines_are_as_few_as_a_simplex_allows():
    """N points at cosines of at most s < 0 have N + N (N - 1) s >= 0; and never more than d + 1 are below 0."""
    assert at_most(3, -0.5)[0] == 3
    assert at_most(3, -0.9)[0] == 2
    assert at_most(3, -0.1)[0] == 4


def test_proven_codes_have_their_published_angles():
    """Degrees of Schuette & van der Waerden 1951 and Danzer 1963; Petersen's code of ten points in four dimensions."""
    angles = {(3, 7): 77.869542, (3, 8): 74.858492, (3, 9): 70.528779, (3, 11): 63.434949, (4, 10): 80.405932}
    assert {key: math.degrees(math.acos(cosine)) for key, (cosine, _) in PROVEN.items()} == pytest.approx(
        angles, abs=1e-6
    )


def test_equiangular_lines_are_as_many_as_is_published():
    """Lemmens & Seidel 1973; Greaves et al. 2016: the most lines at one angle, of cosine 1/3 or 1/5."""
    published = {(5, 3): 10, (6, 3): 16, (7, 3): 28, (15, 5): 36, (21, 5): 126, (22, 5): 176, (23, 5): 276}
    assert {key: at_least(key[0], 1 / key[1], lines=True)[0] for key in published} == published


def test_known_codes_of_few_points():
    assert at_least(3, -0.5) == (3, "regular simplex")
    assert [at_least(2, math.cos(2 * math.pi / n))[0] for n in (5, 6, 7)] == [5, 6, 7]
    assert at_least(2, math.cos(2 * math.pi / 5.6))[0] == 5
    assert at_least(16, 0.25)[0] == 288
    assert at_least(16, 0.25, lines=True)[0] == 144


def test_the_nearest_psd_matrix_by_blocks():
    rng = np.random.default_rng(0)
    full = rng.standard_normal((2, 2))
    blocks = PairedBlocks(np.diag([3.0, -2.0]), np.stack([full @ full.T, -np.eye(2)]))
    found = blocks.psd_part()
    np.testing.assert_allclose(found.quotient, np.diag([3.0, 0.0]), atol=1e-14)
    np.testing.assert_allclose(found.contrast, np.stack([full @ full.T, np.zeros((2, 2))]), atol=1e-12)


def test_tied_points_are_no_better_than_the_eigenvalues_of_all_classes_say():
    """The bound by orbits, and by the matrix of all classes: K, or the sum of weights, times its least eigenvalue."""
    joint, loss = Joint.classes(ORBITS, 0.1), make_pair_loss("clip", {"temperature": 0.5})
    objective = loss.objective(joint)
    paired = joint.paired
    rng = np.random.default_rng(0)
    for _ in range(5):
        corner = rng.uniform(-0.5, 0.5, (3, 3))
        cross = np.column_stack([corner, rng.uniform(0.6, 1.0, 3)])
        dual = dual_gram(paired, cross, objective.gradient(cross))
        index = ORBITS.index
        matrix = (dual.cross[:, :-1] + dual.cross[:, :-1].T)[np.ix_(index, index)]
        own = (dual.first_own + dual.second_own + 2 * dual.cross[:, -1])[index]
        np.fill_diagonal(matrix, own)
        best = 6 * np.linalg.eigvalsh(matrix)[0]
        if own.min() > 0:
            best = max(best, own.sum() * np.linalg.eigvalsh(matrix / np.sqrt(np.outer(own, own)))[0])
        assert tied_excess(objective, ORBITS, cross, 0.125) == pytest.approx(best / 2 - 0.125, rel=1e-9)


def test_the_multipliers_of_least_margins_are_as_large_as_they_may_be():
    """U V' of the logits I - 1 1'/K is I - 1 1'/K, whose norm is 1."""
    loss = make_loss("cross-entropy", {})
    program = loss.program(loss.orbits((0.2,) * 5, (3,) * 5))
    assert solve_peeled(program, tolerance=1e-9).certificate.min_eigenvalue == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 0.05, 1e-4])
def test_softmax_over_classifiers_is_that_of_its_definition_at_any_temperature(temperature):
    """sum_i p_i [log sum_l e^{(C_il - C_ii)/t}], every feature with the prototype of its class."""
    joint = Joint.classes(ORBITS, 0.0)
    objective = make_pair_loss("cosine-softmax", {"temperature": temperature}).objective(joint)
    corner = np.array([[0.1, 0.2, -0.3], [0.3, -0.2, 0.4], [-0.3, 0.5, 0.3]])
    cross = np.column_stack([corner, [0.9, 0.3, 0.8]])
    index = ORBITS.index
    full = corner[np.ix_(index, index)]
    np.fill_diagonal(full, cross[index, -1])
    p = ORBITS.proportions[index]
    ahead = (full - np.diag(full)[:, None]) / temperature
    expected = float(p @ np.logaddexp.reduce(ahead, axis=1))
    assert objective.value(cross) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dim", [2, 3, 100, 10**6])
def test_the_cosine_of_random_directions_has_the_square_of_its_dimension(dim):
    """E cos^2 = 1/d, and E e^{s cos} is between 1 and e^{s^2 / (2 d)} (sub-Gaussian), at d = 2 the Bessel function."""
    angles, weights = random_angles(dim, sharpness=10.0)
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert weights @ np.cos(angles) ** 2 == pytest.approx(1 / dim, rel=1e-9)
    mean = float(weights @ np.exp(10 * np.cos(angles)))
    assert 1 < mean < math.exp(50 / dim) or dim == 2
    if dim == 2:
        assert mean == pytest.approx(float(special.i0(10.0)), rel=1e-12)


@pytest.mark.parametrize("number", [0, 4, -1])
def test_batches_name_classes_from_1_to_their_number(number):
    assert positions([[1, 2], [2, 3]], ("a", "b", "c")) == ((1, 2), (2, 3))
    with pytest.raises(InputError, match="numbers from 1 to 3"):
        positions([[1, number]], ("a", "b", "c"))
