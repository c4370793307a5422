"""Latent recovery: the diversity condition, published ring case, closed forms, two optima, the command."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geomsolve import Diversity, InputError, Orbits, certify, solve
from geomsolve.analyses.diversity import conditional, squeezed, weighted_infonce
from geomsolve.reading.generators import generate

RINGS = {"latents": "rings:7x10", "temperature": 0.3}


def plain_loss(z, embedding, mass, kappa, temperature, allowed, *, corrected=False):
    """The asymptotic loss by its definition, in loops."""
    total = 0.0
    for i, weight in enumerate(mass):
        chance = [mass[j] * exp(kappa * z[i] @ z[j]) if allowed[i][j] else 0.0 for j in range(len(mass))]
        s = [embedding[i] @ embedding[j] / temperature for j in range(len(mass))]
        compared = [j for j in range(len(mass)) if allowed[i][j] or not corrected]
        total -= weight * sum(c * t for c, t in zip(chance, s, strict=True)) / sum(chance)
        total += weight * log(sum(mass[j] * exp(s[j]) for j in compared))
    return total


def test_rings_are_as_described():
    z = generate("rings:7x10", 0)
    assert z.shape == (70, 3)
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), 1)
    np.testing.assert_allclose(np.unique(z[:, 0].round(12)), [-0.9, -0.6, -0.3, 0, 0.3, 0.6, 0.9], atol=1e-12)
    first = z[:10, 1:] / sqrt(1 - 0.81)
    np.testing.assert_allclose(np.diff(np.unwrap(np.arctan2(first[:, 1], first[:, 0]))), 2 * np.pi / 10)


def test_sphere_is_seeded_and_of_length_one():
    a, b = (Diversity(latents="sphere:9:4", seed=seed).points for seed in (1, 2))
    np.testing.assert_allclose(np.linalg.norm(a, axis=1), 1)
    assert np.array_equal(a, Diversity(latents="sphere:9:4", seed=1).points)
    assert np.abs(a - b).max() > 0.1


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), corrected=st.booleans(), kappa=st.floats(0, 6), t=st.floats(0.1, 3))
def test_the_objective_is_the_loss_by_its_definition(seed, corrected, kappa, t):
    rng = np.random.default_rng(seed)
    z, x = (generate("sphere:6:3", int(s)) for s in rng.integers(0, 2**31, size=2))
    mass = rng.dirichlet(np.ones(6))
    allowed = (rng.random((6, 6)) < 0.5) | np.eye(6, dtype=bool)
    target = conditional(z, mass, kappa, allowed)
    compared = allowed if corrected else np.ones_like(allowed)
    value = weighted_infonce(mass, target, compared, t).value(x @ x.T)
    assert value == pytest.approx(plain_loss(z, x, mass, kappa, t, allowed, corrected=corrected), abs=1e-11)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 9), d=st.integers(2, 4), t=st.floats(0.1, 4))
def test_full_support_and_matching_temperature_make_the_identity_optimal(seed, n, d, t):
    """kappa tau = 1: the identity attains the entropic floor, with a certificate of its own, for any masses."""
    masses = np.random.default_rng(seed).uniform(0.1, 1, size=n).tolist()
    report = solve(Diversity(latents=f"sphere:{n}:{d}", seed=seed, masses=masses, temperature=t, kappa=1 / t))
    assert report.holds
    assert report.recovered
    assert report.unique is True
    assert report.identity["excess"] == 0
    assert report.optimum.gap <= 1e-10
    assert report.identity["value"] == pytest.approx(report.floor, abs=1e-9)
    assert report.optimum.procrustes_error < 1e-6


def test_ring_case_with_all_positives():
    report = solve(Diversity(**RINGS))
    assert (report.verdict, report.uncovered_mass, report.components) == ("holds", 0, (70,))
    assert report.optimum.rank == 3
    assert all(row["value"] >= report.optimum.value - 1e-12 for row in report.witness)
    assert report.exit_code == 0


@pytest.mark.slow
def test_ring_case_with_a_shared_height():
    """The published numbers: identity -1.35535, witness 0.9 -1.38462, optimum at most -2.095."""
    report = solve(Diversity(**RINGS, shared_coordinates=1))
    witness = {row["lambda"]: row["value"] for row in report.witness}
    assert report.identity["value"] == pytest.approx(-1.35535, abs=5e-6)
    assert witness[0.9] == pytest.approx(-1.38462, abs=5e-6)
    assert witness[1.0] == pytest.approx(report.identity["value"], abs=1e-12)
    assert report.optimum.value <= -2.095
    assert report.optimum.certified
    assert report.optimum.lower_bound >= report.floor
    assert report.identity["excess"] == pytest.approx(-1.35535 - report.optimum.value, abs=1e-5)
    assert report.verdict == "violated"
    assert report.uncovered_mass == pytest.approx(6 / 7)
    assert report.components == (10,) * 7
    assert not report.recovered
    assert report.optimum.procrustes_error > 0.5


@pytest.mark.slow
def test_the_optimum_of_the_ring_case_has_the_loss_that_is_claimed():
    problem = Diversity(**RINGS, shared_coordinates=1)
    report = solve(problem)
    values, turns = np.linalg.eigh(report.optimum.gram)
    embedding = turns * np.sqrt(np.maximum(values, 0))
    np.testing.assert_allclose(np.linalg.norm(embedding, axis=1), 1, atol=1e-9)
    heights = problem.points[:, 0]
    allowed = np.abs(heights[:, None] - heights) < 1e-6
    value = plain_loss(problem.points, embedding, [1 / 70] * 70, 1 / 0.3, 0.3, allowed)
    assert value == pytest.approx(report.optimum.value, abs=1e-7)


def test_corrected_loss_makes_the_latents_optimal_but_not_alone():
    problem = Diversity(**RINGS, shared_coordinates=1, corrected=True)
    report = solve(problem)
    other = report.other_optimum
    assert report.recovered
    assert report.unique is False
    assert report.identity["value"] == pytest.approx(report.floor, abs=1e-9)
    assert other.certified
    assert other.value == pytest.approx(report.optimum.value, abs=1e-9)
    assert other.procrustes_error > 0.5
    # both are embeddings on the sphere, and the definition gives both the same loss
    heights = problem.points[:, 0]
    allowed = np.abs(heights[:, None] - heights) < 1e-6
    for gram in (report.optimum.gram, other.gram):
        values, turns = np.linalg.eigh(gram)
        embedding = turns * np.sqrt(np.maximum(values, 0))
        np.testing.assert_allclose(np.sum(embedding**2, axis=1), 1, atol=1e-9)
        value = plain_loss(problem.points, embedding, [1 / 70] * 70, 1 / 0.3, 0.3, allowed, corrected=True)
        assert value == pytest.approx(report.floor, abs=1e-7)


def test_a_connected_positive_graph_does_not_make_the_corrected_optimum_unique():
    path = [[i, i + 1] for i in range(7)]
    report = solve(Diversity(latents="sphere:8:3", temperature=0.4, edges=path, corrected=True))
    assert report.components == (8,)
    assert report.recovered
    assert report.unique is False
    assert report.other_optimum.value == pytest.approx(report.floor, abs=1e-7)
    assert report.other_optimum.procrustes_error > 0.1


def test_more_temperature_than_positives_ask_for_shrinks_the_latents_to_a_smaller_sphere():
    """kappa tau < 1: G = kappa tau Z Z' + 1 - kappa tau attains the floor (derived for this project)."""
    report = solve(Diversity(latents="sphere:7:3", temperature=0.5, kappa=1.2))
    z = generate("sphere:7:3", 0)
    assert report.holds
    assert not report.recovered
    assert report.optimum.value == pytest.approx(report.floor, abs=1e-9)
    np.testing.assert_allclose(report.optimum.gram, 0.6 * z @ z.T + 0.4, atol=1e-5)
    assert report.optimum.rank == 4


def test_identity_is_not_optimal_where_kappa_tau_is_above_one():
    report = solve(Diversity(latents="sphere:7:3", temperature=0.5, kappa=4))
    assert not report.recovered
    assert report.identity["excess"] > 1e-3
    assert report.optimum.lower_bound > report.floor + 1e-3  # no embedding predicts these positives


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_lower_bound_holds_for_random_embeddings(seed):
    problem = Diversity(latents="sphere:6:3", seed=seed, temperature=0.5, edges=[[0, 1], [1, 2], [3, 4]])
    report = solve(problem)
    for other in range(10):
        x = generate("sphere:6:5", other)
        value = plain_loss(problem.points, x, [1 / 6] * 6, 2, 0.5, problem.positives)
        assert value >= report.optimum.lower_bound - 1e-12


def test_support_edges_and_shared_coordinates_are_the_same_restriction():
    z = [[1, 0, 0], [0.6, 0.8, 0], [0.6, -0.8, 0], [0.6, 0, 0.8]]
    same = np.array([[1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]])
    ways = ({"shared_coordinates": 1}, {"support": same.tolist()}, {"edges": [[1, 2], [2, 3], [3, 1]]})
    reports = [solve(Diversity(latents=z, temperature=0.5, **way)) for way in ways]
    for report in reports:
        assert report.optimum.value == pytest.approx(reports[0].optimum.value, abs=1e-9)
        assert report.uncovered_mass == pytest.approx(6 / 16)
        assert report.components == (3, 1)


def test_squeezing_keeps_shared_coordinates_in_proportion():
    z = generate("sphere:5:3", 3)
    h = squeezed(z, 1, 0.5)
    np.testing.assert_allclose(np.linalg.norm(h, axis=1), 1)
    np.testing.assert_allclose(h[:, 1:] / h[:, :1], 0.5 * z[:, 1:] / z[:, :1])


def test_identity_certificate_is_that_of_the_general_program():
    problem = Diversity(latents="sphere:10:3", temperature=0.7)
    objective = weighted_infonce(
        problem.mass,
        conditional(problem.points, problem.mass, 1 / 0.7, problem.positives),
        problem.positives,
        0.7,
    )
    proof = certify(objective, Orbits.trivial(problem.mass), problem.points @ problem.points.T)
    assert proof.gap < 1e-12


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({}, "latents"),
        ({"latents": "rings:7"}, "rings:HEIGHTSxLONGITUDES"),
        ({"latents": "rings:1x9"}, "at least 2"),
        ({"latents": "sphere:9:1"}, "sphere:POINTS:DIMENSION"),
        ({"latents": "sphere:9000:3"}, "9,000 points are too many"),
        ({"latents": "ring:7x10"}, "did you mean 'rings'"),
        ({"latents": [[1, 0], [0, 2]]}, "row 2 has length 2"),
        ({"latents": [[1, 0]]}, "at least two"),
        ({"latents": "@no-such-file.npy"}, "no file"),
        ({"latents": [[1, 0], [0, 1]], "masses": [1]}, "1 mass for 2"),
        ({"latents": [[1, 0], [0, 1]], "masses": [1, 0]}, "number 2"),
        ({"latents": [[1, 0], [0, 1]], "masses": 1}, "list of numbers"),
        ({"latents": 5}, "matrix of numbers"),
        ({"latents": [["a", "b"], [1]]}, "matrix of numbers"),
        ({"latents": "-", "base": "."}, "standard input"),
        ({"latents": [[1, 0], [0, 1]], "kappa": -1}, "kappa"),
        ({"latents": [[1, 0], [0, 1]], "kappa": float("inf")}, "kappa"),
        ({"latents": [[1, 0], [0, 1]], "temperature": 0}, "temperature"),
        ({"latents": [[1, 0], [0, 1]], "shared_coordinates": 3}, "have 2"),
        ({"latents": [[1, 0], [0, 1]], "support": [[1, 1]]}, "1 x 2"),
        ({"latents": [[1, 0], [0, 1]], "support": [[0, 1], [0, 0]]}, "row 2"),
        ({"latents": [[1, 0], [0, 1]], "edges": [[0, 2]]}, "point 2"),
        ({"latents": [[1, 0], [0, 1]], "edges": [[0, 0.5]]}, "point 0.5"),
        ({"latents": [[1, 0], [0, 1]], "edges": [[0, 1, 1]]}, "3 numbers"),
        ({"latents": [[1, 0], [0, 1]], "edges": [[0, 1]], "shared_coordinates": 1}, "at most one"),
    ],
)
def test_bad_problems_say_what_is_wrong(bad, message):
    with pytest.raises(InputError, match=message):
        Diversity(**bad)


def test_the_command_answers_in_words(run):
    done = run("diversity", "--latents", "rings:7x10", "--kappa", "3.3333333333", "-t", 0.3)
    assert done.code == 0
    assert done.stdout.splitlines()[0] == "Diversity holds: the best embedding is the latents, up to a rotation."
    done = run("diversity", "--latents", "rings:7x10", "-t", 0.3, "--shared-coordinates", 1, "--corrected")
    words = " ".join(done.stdout.split())
    assert "Diversity is violated (85.7% of random pairs are never positives)" in words
    assert "but not the only one" in words
    assert "another optimum" in words


def test_the_command_gives_json(run, tmp_path):
    np.save(tmp_path / "z.npy", generate("sphere:5:3", 0))
    np.save(tmp_path / "edges.npy", np.array([[0, 1], [1, 2]]))
    flags = ("--latents", f"@{tmp_path}/z.npy", "--edges", f"@{tmp_path}/edges.npy", "-t", 0.5)
    answer = run("diversity", *flags, "--json").json
    assert answer["command"] == "diversity"
    assert answer["problem"]["kappa"] == 2
    assert answer["holds"] is False
    assert answer["identity"]["value"] - answer["identity"]["excess"] == pytest.approx(answer["optimum"]["value"])
    assert {"value", "lower_bound", "gap"} <= set(answer["optimum"])
    assert answer["procrustes_error"] > 0
    assert [row["lambda"] for row in answer["witness"]][:2] == [1.0, 0.9]
    assert "gram" not in answer["optimum"]
    assert len(run("diversity", *flags, "--json", "--full").json["optimum"]["gram"]) == 5


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--latents", "@/no/such.npy"),
        ("--latents", "1,0;0,2"),
        ("--latents", "rings:7x10", "--kappa", "nan"),
        ("--latents", "rings:7x10", "--shared-coordinates", "0"),
        ("--latents", "rings:7x10", "--support", "1,0;0,1"),
        ("--latents", "rings:7x10", "--solver", "magic"),
    ],
)
def test_the_command_refuses_bad_flags(run, flags):
    done = run("diversity", *flags)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")


@pytest.mark.slow
def test_the_picture_shows_the_witnesses_above_the_optimum(run, tmp_path):
    pytest.importorskip("matplotlib")
    from geomsolve.plots import draw

    flags = ("--latents", "sphere:5:3", "--shared-coordinates", 1, "--json", "--plot", tmp_path / "d.png")
    answer = run("diversity", *flags).json
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")
    optimum, floor, curve, latents = draw(answer).axes[0].lines
    assert set(optimum.get_ydata()) == {answer["optimum"]["value"]}
    assert set(floor.get_ydata()) == {answer["floor"]}
    assert list(curve.get_ydata()) == [row["value"] for row in answer["witness"]]
    assert list(latents.get_ydata()) == [answer["identity"]["value"]]
    run("diversity", "--latents", "1,0;0,1", "--shared-coordinates", 2, "--plot", tmp_path / "e.pdf")  # no witness
    assert (tmp_path / "e.pdf").read_bytes().startswith(b"%PDF")
