"""What an answer is called."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import random_gram

from geomsolve import Imbalance, Orbits, solve
from geomsolve.gram.structure import classify, coinciding, names_of, structure_tolerance


def classified(gram, props=None, gap=0.0):
    """The name of a full Gram matrix, by orbits of ``props`` (default: all classes different)."""
    gram = np.asarray(gram, dtype=float)
    k = len(gram)
    props = np.arange(k, 0, -1) / (k * (k + 1) / 2) if props is None else np.asarray(props)
    orbits = Orbits.of(props)
    return classify(orbits, orbits.reduce(gram), gap)


def equiangular(k: int, cosine: float) -> np.ndarray:
    gram = np.full((k, k), cosine)
    np.fill_diagonal(gram, 1.0)
    return gram


@pytest.mark.parametrize(
    ("kind", "gram"),
    [
        ("antipodal", equiangular(2, -1.0)),
        ("regular simplex", equiangular(3, -0.5)),
        ("regular simplex", equiangular(5, -0.25)),
        ("total collapse", equiangular(2, 1.0)),
        ("total collapse", equiangular(4, 1.0)),
        ("orthogonal frame", np.eye(2)),
        ("orthogonal frame", np.eye(4)),
        ("equiangular", equiangular(2, -0.5)),
        ("equiangular", equiangular(4, 0.3)),
        ("minority collapse", np.outer([1, -1, -1], [1, -1, -1])),
        ("minority collapse", np.outer([1, 1, -1, -1], [1, 1, -1, -1])),
        ("general", random_gram(np.random.default_rng(0), 4)),
    ],
)
@pytest.mark.parametrize("alike", [False, True])
def test_each_kind(kind, gram, alike):
    k = len(gram)
    symmetric = kind not in ("general", "minority collapse")
    assert classified(gram, [1 / k] * k if alike and symmetric else None).kind == kind


@pytest.mark.parametrize("n_classes", [10, 10**6 + 2])
def test_many_orthogonal_classes_are_no_simplex(n_classes):
    orbits = Orbits.of(np.full(n_classes, 1 / n_classes))
    for cosine, kind in ((-1 / (n_classes - 1), "regular simplex"), (0.0, "orthogonal frame")):
        assert classify(orbits, np.array([[cosine]]), 0.0).kind == kind


def test_symmetric_by_proportion_needs_an_orbit_of_several_classes():
    gram = equiangular(3, -0.3)
    gram[1, 2] = gram[2, 1] = -0.1
    assert classified(gram, [0.5, 0.25, 0.25]).kind == "symmetric by proportion"
    assert classified(gram).kind == "general"


def test_groups_hold_the_classes_that_coincide():
    sign = np.array([1, -1, 1, -1, -1])
    structure = classified(np.outer(sign, sign))
    assert structure.groups == ((0, 2), (1, 3, 4))
    assert names_of(structure.groups, "abcde") == [["a", "c"], ["b", "d", "e"]]


def test_an_orbit_collapses_as_a_whole_or_not_at_all():
    orbits = Orbits.of([0.4, 0.2, 0.2, 0.1, 0.1])
    cosines = np.array([[1.0, -1.0, -0.2], [-1.0, 1.0, 0.2], [-0.2, 0.2, -0.1]])
    assert coinciding(orbits, cosines, 1e-6) == ((1, 2),)


def test_an_orbit_joins_another_only_if_it_is_itself_a_point():
    orbits = Orbits.of([0.3, 0.3, 0.4])
    assert coinciding(orbits, np.array([[1.0, 0.9], [0.9, 0.5]]), 1e-6) == ()
    assert coinciding(orbits, np.array([[1.0, 1.0], [1.0, 1.0]]), 1e-6) == ((0, 1, 2),)


def test_evidence_is_what_it_says():
    gram = np.array([[1.0, -0.6, -0.5], [-0.6, 1.0, 0.2], [-0.5, 0.2, 1.0]])
    structure = classified(gram)
    assert (structure.min_cosine, structure.max_cosine) == (-0.6, 0.2)
    assert structure.min_angle_deg == pytest.approx(math.degrees(math.acos(0.2)))
    assert structure.max_angle_deg == pytest.approx(math.degrees(math.acos(-0.6)))
    assert structure.simplex_distance == pytest.approx(0.7)


def test_published_angles_of_the_simplex():
    """180, 120 and 109.47 degrees for 2, 3, 4 points."""
    for k, angle in ((2, 180.0), (3, 120.0), (4, 109.4712)):
        assert classified(equiangular(k, -1 / (k - 1))).min_angle_deg == pytest.approx(angle, abs=1e-4)


@pytest.mark.parametrize(("gap", "tolerance"), [(0.0, 1e-6), (1e-14, 1e-6), (1e-12, 1e-5), (1e-8, 1e-3)])
def test_tolerance_scales_with_the_root_of_the_gap(gap, tolerance):
    assert structure_tolerance(gap) == pytest.approx(tolerance)
    for off, kind in ((0.5 * tolerance, "regular simplex"), (3 * tolerance, "general")):
        gram = equiangular(4, -1 / 3)
        gram[0, 1] = gram[1, 0] = -1 / 3 + off
        assert classified(gram, gap=gap).kind == kind


@pytest.mark.parametrize("gap", [0.0, 1e-10])
def test_nearly_coinciding_classes_are_one_point_only_within_the_tolerance(gap):
    tolerance = structure_tolerance(gap)
    for off, groups in ((0.5 * tolerance, ((1, 2),)), (2 * tolerance, ())):
        gram = np.array([[1.0, -0.9, -0.9], [-0.9, 1.0, 1 - off], [-0.9, 1 - off, 1.0]])
        assert classified(gram, gap=gap).groups == groups


@pytest.mark.parametrize(
    ("problem", "kind", "rank"),
    [
        ({"props": [0.25] * 4}, "regular simplex", 3),
        ({"props": [0.9, 0.1]}, "antipodal", 1),
        ({"props": [0.95, 0.025, 0.025], "loss": {"name": "supcon", "temperature": 1}}, "minority collapse", 1),
        ({"props": [0.7, 0.2, 0.1], "loss": "spectral"}, "orthogonal frame", 3),
        (
            {"props": [0.7, 0.2, 0.1], "loss": {"name": "soft-supcon", "epsilon": 0.2, "temperature": 0.5}},
            "equiangular",
            3,
        ),
        ({"props": [0.7, 0.2, 0.1], "loss": {"name": "supcon", "temperature": 0.1}}, "general", 2),
        ({"props": [0.5, 0.25, 0.25], "loss": {"name": "supcon", "temperature": 1}}, "symmetric by proportion", 2),
    ],
    ids=str,
)
@pytest.mark.parametrize("solver", ["auto", "conic", "manifold"])
def test_every_solver_s_answer_gets_the_right_name(problem, kind, rank, solver):
    report = solve(Imbalance(**problem, solver=solver))
    assert report.structure.kind == kind
    assert report.rank == rank
