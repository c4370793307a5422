"""Two sides: the symmetry of paired points, the objectives, the certificate and the solvers."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from scipy.optimize import minimize

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.paired import Paired, PairedGram, alike
from geomsolve.objectives.cross import Joint
from geomsolve.pair_losses import make_pair_loss
from geomsolve.proof.paired import certify_cross, dual_gram, multipliers
from geomsolve.solvers.choose import solve_objective
from geomsolve.solvers.two_sides import gram_of, solve_two_sides

MATRIX = np.array([[0.3, 0.02, 0.02, 0.06], [0.01, 0.2, 0.02, 0.07], [0.02, 0.03, 0.18, 0.07]])


def bind(name, joint, **parameters):
    return make_pair_loss(name, parameters).objective(joint)


def balanced(k, noise=0.0):
    return Joint.classes(Orbits.equal(k), noise)


def proportions(*p, noise=0.0):
    return Joint.classes(Orbits.of(p), noise)


def wavy():
    """Five pairs in two orbits, texts out of order."""
    return Joint.of((np.full((5, 5), 0.1) + np.diag([1, 1, 1, 0.5, 0.5]))[:, [3, 0, 4, 1, 2]])


JOINTS = {
    "rectangular": Joint.of(MATRIX),
    "duplicates": Joint.of(np.repeat(MATRIX, 2, axis=1)),
    "wavy": wavy(),
    "classes": proportions(0.4, 0.2, 0.2, 0.1, 0.1, noise=0.2),
}


def by_hand(name, pi, cosines, scale, given=(None, None), **more):
    """Each loss from its definition, over all points."""
    p, q = pi.sum(axis=1), pi.sum(axis=0)
    z = scale * cosines
    if name == "clip":
        rows, columns = np.log(np.exp(z) @ q), np.log(p @ np.exp(z))
        return float(-np.sum(pi * z) + (p @ rows + q @ columns) / 2)
    if name == "siglip":
        z = z + more["bias"]
        near, far = np.logaddexp(0, -z), np.logaddexp(0, z)
        if more.get("sampling") == "iid":
            nu = (more["batch"] - 1) * np.outer(p, q)
        else:
            one_way = p[:, None] * (q - pi) / (1 - p)[:, None]
            other_way = q * (p[:, None] - pi) / (1 - q)
            nu = (more["batch"] - 1) * (one_way + other_way) / 2
        return float(np.sum(pi * near) + np.sum(nu * far))
    total, m = 0.0, more.get("margin", 0.0)
    r = q * q.size if more.get("prior") == "props" else np.ones_like(q)
    for i, j in np.argwhere(pi > 0):
        own = z[i, j] - scale * m
        rest = sum(r[c] * exp(z[i, c]) for c in range(q.size) if c != j)
        total += pi[i, j] * (log(r[j] * exp(own) + rest) - own)
    return total


LOSSES = [
    ("clip", {}),
    ("siglip", {"bias": -0.4, "batch": 6}),
    ("siglip", {"bias": 0.3, "batch": 9, "sampling": "iid"}),
    ("cosine-softmax", {}),
    ("cosine-softmax", {"prior": "props"}),
    ("cosine-softmax", {"margin": 0.3}),
]


@pytest.mark.parametrize("key", JOINTS)
@pytest.mark.parametrize(("name", "more"), LOSSES)
def test_losses_are_what_their_definitions_say(key, name, more):
    """Value by hand at the points as given, gradient and curvature by differences, the cone form by its data."""
    joint, t = JOINTS[key], 0.6
    if key == "duplicates" and more.get("margin"):
        joint = Joint.of(np.repeat(MATRIX, 2, axis=1), merge=False)
    paired = joint.paired
    objective = bind(name, joint, temperature=t, **more)
    rng = np.random.default_rng(3)
    cross = rng.uniform(-0.6, 0.6, paired.counts.shape) * (paired.counts > 0)
    given = np.ix_(joint.first_point, joint.second_point)
    many = np.outer(np.bincount(joint.first_point), np.bincount(joint.second_point))
    pi = (paired.lift_cross(joint.weights) / many)[given]
    assert pi.sum() == pytest.approx(1, abs=1e-14)
    cosines = paired.lift_cross(cross)[given]
    value, slope = objective.evaluate(cross)
    assert value == pytest.approx(by_hand(name, pi, cosines, 1 / t, **more), abs=1e-12)
    turn, h = rng.standard_normal(cross.shape), 1e-5
    ahead, back = objective.evaluate(cross + h * turn), objective.evaluate(cross - h * turn)
    assert np.sum(slope * turn) == pytest.approx((ahead[0] - back[0]) / (2 * h), abs=1e-8)
    assert objective.curvature(cross)(turn) == pytest.approx((ahead[1] - back[1]) / (2 * h), abs=1e-7)
    assert objective.cone_form().value(cross) == pytest.approx(value, abs=1e-12)
    assert np.all(objective.forces(cross) >= np.abs(slope) - 1e-14)
    assert np.all(slope + objective.attraction >= -1e-14)


@pytest.mark.parametrize(
    ("name", "more"), [("clip", {}), ("cosine-softmax", {"prior": "props"}), ("cosine-softmax", {"margin": 0.4})]
)
def test_pairs_that_are_never_random_have_rows_of_their_own(name, more):
    """Of any cosines the value by the definition, and derivatives against differences; by orbits and point by point."""
    p, t, m = np.array([0.4, 0.2, 0.2, 0.1, 0.1]), 0.3, more.get("margin", 0.0)
    joint, rng = Joint.classes(Orbits.of(tuple(p))), np.random.default_rng(0)
    objective = make_pair_loss(name, {"temperature": t, **more}).objective(joint)
    some = joint.paired.counts > 0
    cross, step = (rng.uniform(-1, 1, some.shape) * some for _ in range(2))
    full = joint.paired.lift_cross(cross) / t
    own = np.diag(full) - m / t
    prior = np.ones(5) if name != "clip" and "prior" not in more else p * (1 if name == "clip" else 5)
    terms = full + np.log(prior)
    terms[np.diag_indices(5)] -= m / t
    value = p @ (np.logaddexp.reduce(terms, axis=1) - own)
    if name == "clip":
        value = (value + p @ (np.logaddexp.reduce(terms.T + np.log(p) - np.log(p)[:, None], axis=1) - own)) / 2
    assert objective.value(cross) == pytest.approx(value, abs=1e-12)
    rise = objective.value(cross + 1e-5 * step) - objective.value(cross - 1e-5 * step)
    assert 2e-5 * np.sum(objective.gradient(cross) * step) == pytest.approx(rise, abs=1e-13)
    turn = objective.gradient(cross + 1e-5 * step) - objective.gradient(cross - 1e-5 * step)
    assert 2e-5 * objective.curvature(cross)(step) == pytest.approx(turn, abs=1e-12)
    apart = joint.apart()
    single = make_pair_loss(name, {"temperature": t, **more}).objective(apart)
    assert single.value(apart.paired.reduce_cross(full * t)) == pytest.approx(value, abs=1e-12)


def test_batches_are_enumerated():
    """Batches of three pairs, all 9^3 combinations of texts."""
    joint, t, batch = Joint.of(MATRIX), 0.5, 3
    rng = np.random.default_rng(1)
    cross = rng.uniform(-1, 1, joint.paired.counts.shape)
    cosines = joint.paired.lift_cross(cross)
    pi = joint.paired.lift_cross(joint.weights)
    total = 0.0
    for pi_, z in ((pi, cosines / t), (pi.T, cosines.T / t)):
        q = pi_.sum(axis=0)
        for i, j in np.ndindex(*pi_.shape):
            for a in range(q.size):
                for b in range(q.size):
                    chance = pi_[i, j] * q[a] * q[b]
                    total += chance / 2 * (log(exp(z[i, j]) + exp(z[i, a]) + exp(z[i, b])) - z[i, j])
    objective = bind("clip", joint, temperature=t, batch=batch)
    assert objective.value(cross) == pytest.approx(total, abs=1e-12)
    turn, h = rng.standard_normal(cross.shape), 1e-5
    ahead, back = objective.gradient(cross + h * turn), objective.gradient(cross - h * turn)
    assert objective.curvature(cross)(turn) == pytest.approx((ahead - back) / (2 * h), abs=1e-7)


def test_blocks_have_the_eigenvalues_of_the_whole_matrix():
    weights = np.full((7, 7), 0.1) + np.diag([1, 1, 1, 0.5, 0.5, 0.3, 0.3])
    weights[5] = [0.2, 0.2, 0.2, 0.2, 0.2, 0.7, 0.2]
    paired = alike(weights)
    assert sorted(paired.first) == [1, 1, 2, 3]
    rng = np.random.default_rng(0)

    def symmetric(m):
        a = rng.standard_normal((m, m))
        return a + a.T

    m = paired.n_first
    gram = PairedGram(
        rng.standard_normal(m), symmetric(m), rng.standard_normal(m), symmetric(m), rng.standard_normal((m, m + 1))
    )
    first, cross, second = paired.lift(gram)
    whole = np.block([[first, cross], [cross.T, second]])
    blocks = paired.blocks(gram)
    values = [np.linalg.eigvalsh(blocks.quotient)]
    values += [
        np.repeat(np.linalg.eigvalsh(t), int(n) - 1) for t, n in zip(blocks.contrast, paired.several[2], strict=True)
    ]
    assert np.sort(np.concatenate(values)) == pytest.approx(np.linalg.eigvalsh(whole), abs=1e-12)
    again = paired.blocks(paired.entries(blocks))
    assert again.quotient == pytest.approx(blocks.quotient, abs=1e-13)
    assert again.contrast == pytest.approx(blocks.contrast, abs=1e-13)
    kept = paired.counts > 0
    assert paired.reduce_cross(cross)[kept] == pytest.approx(gram.cross[kept], abs=1e-14)


CASES = [
    ("siglip", balanced(8), {"temperature": 0.1}, 0.13035816004),
    ("siglip", balanced(8), {"temperature": 0.2, "bias": -2}, 0.42262813442),
    ("siglip", balanced(4), {"temperature": 0.2}, 0.31555893717),
    ("siglip", balanced(32768), {"temperature": 0.1, "bias": -10}, 2.13049495901),
    ("siglip", balanced(256), {"temperature": 0.1}, 2.283403852),
    ("clip", Joint.of(MATRIX), {"temperature": 1}, -0.402379750939),
    ("clip", proportions(0.7, 0.2, 0.1), {"temperature": 0.5}, -0.7208670871),
    ("cosine-softmax", proportions(0.7, 0.2, 0.1), {"temperature": 0.5}, 0.08343503941),
]


@pytest.mark.parametrize(("name", "joint", "parameters", "value"), CASES)
def test_values_found_independently(name, joint, parameters, value):
    answer = solve_two_sides(bind(name, joint, **parameters), joint)
    assert answer.certificate.value == pytest.approx(value, abs=1e-9)
    assert answer.certificate.gap < 1e-11
    assert joint.paired.blocks(answer.gram).min_eigenvalue() > -1e-15 * sum(joint.paired.points)
    assert gram_of(joint.paired, answer.rows).cross == pytest.approx(answer.gram.cross, abs=1e-12)


def test_geometry_of_cosine_softmax():
    joint = proportions(0.7, 0.2, 0.1)
    gram = solve_two_sides(bind("cosine-softmax", joint, temperature=0.5), joint).gram
    assert gram.second[[0, 0, 1], [1, 2, 2]] == pytest.approx([-0.76840629, -0.63498621, -0.00645852], abs=1e-7)
    assert gram.first[[0, 0, 1], [1, 2, 2]] == pytest.approx([-0.50157506, -0.49430005, -0.50410766], abs=1e-7)


@pytest.mark.parametrize(("prior", "edge"), [("uniform", 1.24099413), ("props", 0.874098027)])
def test_where_classifiers_collapse(prior, edge):
    joint = proportions(0.95, 0.025, 0.025)
    for t, merged in ((edge * (1 - 1e-3), False), (edge * (1 + 1e-3), True)):
        answer = solve_two_sides(bind("cosine-softmax", joint, temperature=t, prior=prior), joint)
        assert bool(answer.gram.second[1, 1] > 1 - 1e-6) is merged
        assert answer.certificate.certified


@pytest.mark.parametrize("key", JOINTS)
def test_the_certificate_is_that_of_all_points(key):
    joint = JOINTS[key]
    paired = joint.paired
    objective = bind("clip", joint, temperature=0.4)
    apart = joint.apart()
    whole = bind("clip", apart, temperature=0.4)
    rng = np.random.default_rng(8)
    answer = solve_two_sides(objective, joint)
    points = [*paired.points]
    for cross in (answer.gram.cross, 0.2 * answer.gram.cross):
        slope = objective.gradient(cross)
        force, alpha, beta = multipliers(paired, cross, slope)
        d = paired.lift_cross(force)
        s = np.block([[np.diag(alpha[paired.first_index]), d], [d.T, np.diag(beta[paired.second_index])]])
        blocks = paired.blocks(dual_gram(paired, cross, slope))
        assert blocks.min_eigenvalue() == pytest.approx(np.linalg.eigvalsh(s)[0], abs=1e-12)
        proof = certify_cross(objective, paired, cross)
        for _ in range(50):
            z = rng.standard_normal((sum(points), 3))
            z /= np.linalg.norm(z, axis=1, keepdims=True)
            c = z[: points[0]] @ z[points[0] :].T
            assert whole.value(apart.paired.reduce_cross(c)) >= proof.lower_bound


def test_orbits_and_merged_points_change_nothing():
    for matrix in (
        np.full((5, 5), 0.1) + np.diag([1, 1, 1, 0.5, 0.5]),
        np.repeat(MATRIX, 3, axis=1),
        np.repeat(np.repeat(np.eye(3) + 0.1, 2, axis=0), 2, axis=1),
    ):
        joint = Joint.of(matrix)
        plain = Joint.of(matrix, merge=False).apart()
        assert joint.paired.counts.size < plain.paired.counts.size
        for name in ("clip", "siglip", "cosine-softmax"):
            reduced, full = (solve_two_sides(bind(name, j, temperature=0.3), j).certificate for j in (joint, plain))
            assert reduced.certified
            assert full.certified
            assert reduced.value == pytest.approx(full.value, abs=1e-9)


def test_whether_the_sides_coincide():
    """Clean pairs and balanced noise: they do; SigLIP beyond the simplex, and classifiers of rare classes, do not."""
    for joint in (proportions(0.7, 0.2, 0.1), balanced(4, 0.1), balanced(5, 0.3)):
        for t in (0.2, 0.5):
            answer = solve_two_sides(bind("clip", joint, temperature=t), joint)
            assert answer.tied is True
            assert answer.gram.cross[:, -1] == pytest.approx(1, abs=1e-12)
    for name, joint, parameters in (
        ("siglip", balanced(8), {"temperature": 0.1}),
        ("cosine-softmax", proportions(0.7, 0.2, 0.1), {"temperature": 0.5}),
    ):
        answer = solve_two_sides(bind(name, joint, **parameters), joint)
        assert answer.tied is False
        assert answer.gram.cross[:, -1].min() < 1 - 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_clean_pairs_are_a_supervised_contrast(seed):
    from geomsolve.losses import make_loss

    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(6))
    joint, orbits = proportions(*p), Orbits.of(p)
    supcon = make_loss("supcon", {"temperature": 0.3}).objective(orbits)
    two = solve_two_sides(bind("clip", joint, temperature=0.3), joint)
    one = solve_objective(supcon, orbits)
    assert two.tied is True
    assert two.certificate.value == pytest.approx(one.certificate.value, abs=1e-10)


@pytest.mark.slow
def test_points_cones_and_descent_agree():
    """Random joints of random shapes: two solvers to 1e-8; descent from random points never below the bound."""
    rng = np.random.default_rng(16)
    for trial in range(6):
        n, m = rng.integers(2, 6, 2)
        joint = Joint.of(rng.dirichlet(np.full(n * m, rng.choice([0.3, 1.0, 5.0]))).reshape(n, m))
        name = ("clip", "siglip", "cosine-softmax")[trial % 3]
        t = float(rng.choice([0.1, 0.3, 1.0]))
        objective = bind(name, joint, temperature=t, **({"bias": -1 / t} if name == "siglip" else {}))
        points, cones = (solve_two_sides(objective, joint, solver=s) for s in ("manifold", "conic"))
        scale = max(1.0, abs(points.certificate.value))
        assert abs(points.certificate.value - cones.certificate.value) <= 1e-8 * scale
        assert max(points.certificate.gap, cones.certificate.gap) <= 1e-8 * scale
        one, two = joint.paired.points

        def value(z, objective=objective, paired=joint.paired, one=one, two=two):
            x = z.reshape(one + two, -1)
            x = x / np.linalg.norm(x, axis=1, keepdims=True)
            return objective.value(paired.reduce_cross(x[:one] @ x[one:].T))

        start = rng.standard_normal((one + two) * 3)
        found = minimize(value, start, method="L-BFGS-B", options={"maxiter": 25})
        assert found.fun >= points.certificate.lower_bound - 1e-12


@pytest.mark.slow
def test_long_valleys_at_low_temperature_are_left_to_cones():
    joint = Joint.of(np.array([[5, 1, 0.2, 0.1], [0.1, 3, 1, 0.4], [0.3, 0.2, 2, 1.5], [1, 0.1, 0.1, 2]]))
    for name, t in (("clip", 0.005), ("cosine-softmax", 0.02), ("siglip", 0.008)):
        answer = solve_two_sides(bind(name, joint, temperature=t), joint)
        assert answer.certificate.gap < 1e-8


def test_joints_that_make_no_sense():
    for bad in (np.zeros((2, 2)), [[1, -1], [0, 1]], [[1, 0], [0, 0]], [[0, 1], [0, 1]], [[np.nan, 1], [1, 1]], [1, 2]):
        with pytest.raises(InputError):
            Joint.of(np.array(bad))
    with pytest.raises(InputError, match="several classifiers a class"):
        make_pair_loss("sub-center-arcface", {})
    assert Paired.single(2, 3).counts.tolist() == [[1, 1, 1, 0], [1, 1, 1, 0]]
