"""Published losses by name: BCL, KCL, TSC, and PaCo, which is refused with its reason.

Each against its definition on single samples or compositions, closed forms, and programs written a second time.
"""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from helpers import random_gram

from geomsolve import Imbalance, InputError, Levels, Orbits, Threshold, solve
from geomsolve.losses import make_loss

PROPS = (0.7, 0.2, 0.1)
PAIRS = ([0, 0, 1], [1, 2, 2])


def answer(name, props=PROPS, temperature=0.5, **how):
    return solve(Imbalance(props=props, loss={"name": name, "temperature": temperature, **how}))


# --- bcl -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("complement", [None, "yes", "no"])
def test_bcl_is_class_averaging_which_does_not_make_a_simplex(complement):
    how = {} if complement is None else {"complement": complement}
    report = answer("bcl", **how)
    assert report.certified
    assert report.gram[PAIRS] == pytest.approx([-0.6483852, -0.6110178, -0.2064929], abs=1e-6)
    assert report.value == pytest.approx(-1.0107646070 + math.log(3), abs=1e-9)
    assert answer("bcl", temperature=4, **how).gram[PAIRS] == pytest.approx([-0.9914, -0.9895, 0.9621], abs=1e-4)


def test_bcl_of_equal_classes_is_a_simplex():
    report = answer("bcl", props=(0.25,) * 4)
    assert report.structure.kind == "regular simplex"
    assert report.value == pytest.approx(math.log(1 + 3 * math.exp(-4 / 3 / 0.5)), abs=1e-12)


@pytest.mark.slow
def test_bcl_in_batches_counts_every_class_once(rng):
    """Drawn batches of the definition: each anchor against the classes that happen to be there."""
    p, gram, tau, batch = np.array([0.5, 0.2, 0.2, 0.1]), random_gram(rng, 4), 0.5, 6
    orbits = Orbits.of(p)
    gram = orbits.lift(orbits.reduce(gram))
    x = np.exp((gram - 1) / tau)
    numbers = rng.multinomial(batch, p, size=100_000)
    cost = np.log(1 + (numbers > 0) @ (x - np.eye(4)))
    for views, counted in ((2, numbers), (1, numbers * (numbers > 1))):
        drawn = (counted * cost).sum(axis=1) / batch
        loss = make_loss("bcl", {"temperature": tau, "batch": batch, "views": views})
        for kept, cosines in ((orbits, orbits.reduce(gram)), (Orbits.trivial(p), gram)):
            found = loss.objective(kept).value(cosines)
            assert abs(found - drawn.mean()) < 4 * drawn.std() / drawn.size**0.5


def test_bcl_in_large_batches_is_the_limit():
    """A class of a tenth is missing from 400 samples once in 10^18 times."""
    assert answer("bcl", batch=400).value == pytest.approx(answer("bcl").value, abs=1e-12)
    assert answer("bcl", batch=6).value < answer("bcl").value - 0.03


@pytest.mark.slow
def test_bcl_levels_of_balanced_batches(run):
    flags = ("levels", "--loss", "bcl", "--classes", 4, "--batch", 16, "-t", 0.5, "--json")
    found = run(*flags).json
    assert found["collapse"] == pytest.approx(math.log(4), rel=1e-12)
    assert found["optimum"] == pytest.approx(math.log(1 + 3 * math.exp(-4 / 3 / 0.5)), abs=1e-9)
    torch = pytest.importorskip("torch")
    from geomsolve.descent import batch_losses

    labels, generator = torch.arange(32) // 8, torch.Generator().manual_seed(0)
    dim, losses = 128, []
    for _ in range(100):
        z = torch.nn.functional.normalize(torch.randn((32, dim), generator=generator, dtype=torch.float64), dim=1)
        losses.append(float(batch_losses.bcl(z @ z.T, labels, 0.5).mean()))
    report = solve(Levels(loss={"name": "bcl", "temperature": 0.5}, classes=4, batch=16, dim=dim))
    assert report.random_start == pytest.approx(np.mean(losses), abs=4 * np.std(losses) / 10)


def test_the_batch_loss_of_bcl_is_its_definition(rng):
    torch = pytest.importorskip("torch")
    from geomsolve.descent import batch_losses

    labels = np.array([0, 0, 0, 0, 1, 1, 2, 2, 3])
    z = rng.normal(size=(9, 4))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    s = z @ z.T / 0.5
    wanted = np.zeros(9)
    for i in range(8):  # the last has no positive
        own = [j for j in range(9) if labels[j] == labels[i] and j != i]
        crowd = 0.0
        for c in range(4):
            members = [j for j in range(9) if labels[j] == c and j != i]
            crowd += np.mean([math.exp(s[i, j]) for j in members])
        wanted[i] = math.log(crowd) - np.mean([s[i, j] for j in own])
    found = batch_losses.bcl(torch.from_numpy(z @ z.T), torch.from_numpy(labels), 0.5)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


# --- kcl -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"batch": 8}, {"batch": 8, "views": 1}])
def test_kcl_is_supcon_whatever_the_number_of_positives(how):
    plain = answer("supcon", **how)
    for k in (1, 6):
        report = answer("kcl", positives=k, **how)
        assert report.value == pytest.approx(plain.value, abs=1e-12)
        np.testing.assert_allclose(report.gram, plain.gram, atol=1e-9)


def test_kcl_thresholds_and_levels_are_those_of_supcon(run):
    flags = ("--props", "0.9,0.06,0.04", "--json")
    one, other = (run("threshold", *flags, "--loss", name).json["threshold"]["value"] for name in ("kcl", "supcon"))
    assert one == pytest.approx(other, rel=1e-9)
    flags = ("--classes", 3, "--batch", 12, "--json")
    one, other = (run("levels", *flags, "--loss", name).json for name in ("kcl", "supcon"))
    assert [one[key] for key in ("collapse", "random_start", "optimum")] == [
        other[key] for key in ("collapse", "random_start", "optimum")
    ]
    shown = run("imbalance", "--props", "0.7,0.3", "--loss", "kcl")
    assert "their number changes nothing" in " ".join(shown.stderr.split())


def test_a_kcl_step_takes_the_own_view_and_k_more(rng):
    torch = pytest.importorskip("torch")
    from geomsolve.descent.population import Population
    from geomsolve.descent.recipes import experiment

    ex = experiment(
        make_loss("kcl", {"batch": 12, "positives": 2, "temperature": 0.5}), Population.of((0.6, 0.4), (5, 5))
    )
    generator = torch.Generator().manual_seed(1)
    positive = torch.from_numpy(rng.random((40, 23)) < 0.4)
    positive[:, 0] = True  # the other view comes first
    chosen = ex.chosen(positive, generator)
    assert bool((chosen <= positive).all())
    assert bool(chosen[:, 0].all())
    assert bool((chosen.sum(1) == positive.sum(1).clamp(max=3)).all())
    again = ex.chosen(positive, generator)
    assert bool((chosen != again).any())


# --- tsc -------------------------------------------------------------------------------------------------------------


def fidelity(gram, p):
    """tr (T^1/2 P G P T^1/2)^1/2 on all classes."""
    k = len(p)
    half = math.sqrt(k / (k - 1)) * (np.eye(k) - 1 / k)
    inner = half @ np.diag(p) @ gram @ np.diag(p) @ half
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(inner), 0)).sum())


def tsc(gram, p, tau, k, w):
    crowd = np.log(np.exp((gram - 1) / tau) @ p)
    return (k + 1 + w) / (k + 2) * p @ crowd + w / (k + 2) * (1 - fidelity(gram, p)) / tau


HARD = {"positives": 3, "target_weight": 2.0}


def test_tsc_is_its_definition_with_the_targets_turned_in_the_best_way(rng):
    """The best orthogonal map of the targets is that of Procrustes; no other is better."""
    p, tau = np.array([0.4, 0.2, 0.2, 0.1, 0.1]), 0.5
    orbits = Orbits.of(p)
    loss = make_loss("tsc", {"temperature": tau, **HARD})
    for dim in (2, 4, 5):
        gram = random_gram(rng, 5, dim)
        assert loss.objective(Orbits.trivial(p)).value(gram) == pytest.approx(tsc(gram, p, tau, 3, 2.0), rel=1e-7)
        even = orbits.reduce(gram)
        found = loss.objective(orbits).value(even)
        assert found == pytest.approx(tsc(orbits.lift(even), p, tau, 3, 2.0), rel=1e-7)
    values, vectors = np.linalg.eigh(gram)
    z = vectors * np.sqrt(np.maximum(values, 0))
    corners = np.linalg.eigh(np.eye(5) - 1 / 5)[1][:, 1:]
    targets = np.pad(corners / np.linalg.norm(corners, axis=1, keepdims=True), ((0, 0), (0, 1)))
    left, stretch, right = np.linalg.svd((p[:, None] * z).T @ targets)
    assert stretch.sum() == pytest.approx(fidelity(gram, p), rel=1e-9)
    assert p @ np.sum(z @ left @ right * targets, axis=1) == pytest.approx(stretch.sum(), rel=1e-12)


@pytest.mark.parametrize("dim", [5, 3])
def test_derivatives_of_tsc(dim, rng):
    """In three dimensions W is singular: there the square root goes on straight, and F stays convex."""
    orbits = Orbits.of([0.4, 0.2, 0.2, 0.1, 0.1])
    objective = make_loss("tsc", {"temperature": 0.5, **HARD}).objective(orbits)
    cosines = orbits.reduce(random_gram(rng, 5))
    if dim == 5:
        change, step = rng.normal(size=(3, 3)), 1e-5
        ahead, behind = cosines + step * change, cosines - step * change
        slope = (objective.value(ahead) - objective.value(behind)) / (2 * step)
        assert float(np.sum(objective.gradient(cosines) * change)) == pytest.approx(slope, rel=1e-7)
        bend = (objective.gradient(ahead) - objective.gradient(behind)) / (2 * step)
        np.testing.assert_allclose(objective.curvature(cosines)(change), bend, rtol=1e-5, atol=1e-7)
    flat = orbits.reduce(np.outer([1, -1, -1, -1, -1], [1, -1, -1, -1, -1]))
    value, slope = objective.evaluate(flat)
    for _ in range(20):
        other = orbits.reduce(random_gram(rng, 5, dim))
        assert objective.value(other) >= value + float(np.sum(slope * (other - flat))) - 1e-6
        assert objective.value((other + flat) / 2) <= (objective.value(other) + value) / 2 + 1e-12


@pytest.mark.parametrize("how", [{}, HARD])
def test_tsc_is_the_joint_program_whose_targets_are_fixed(how):
    """Class means and targets in one Gram matrix, straight in cvxpy."""
    import cvxpy as cp

    tau, (k, w), p = 0.5, (how.get("positives", 6), how.get("target_weight", 0.2)), np.array(PROPS)
    joint = cp.Variable((6, 6), PSD=True)
    simplex = 1.5 * np.eye(3) - 0.5
    cost = 0
    for a in range(3):
        crowd = cp.log_sum_exp((joint[a, :3] - 1) / tau + np.log(p))
        cost += p[a] / (k + 2) * ((k + 1 + w) * crowd + w * (1 - joint[a, 3 + a]) / tau)
    problem = cp.Problem(cp.Minimize(cost), [cp.diag(joint) == 1, joint[3:, 3:] == simplex])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        problem.solve(solver="CLARABEL")
    report = answer("tsc", **how)
    assert report.certified
    assert report.unique
    assert report.value == pytest.approx(problem.value, abs=1e-7)
    np.testing.assert_allclose(report.gram, joint.value[:3, :3], atol=2e-3)


def test_tsc_of_equal_classes_reaches_every_target():
    report = answer("tsc", props=(0.25,) * 4)
    assert report.structure.kind == "regular simplex"
    wanted = 7.2 / 8 * math.log((1 + 3 * math.exp(-4 / 3 / 0.5)) / 4)
    assert report.value == pytest.approx(wanted, abs=1e-10)
    assert answer("tsc", props=(0.6, 0.4)).structure.kind == "antipodal"


def test_targets_keep_classes_apart_that_supcon_merges(run):
    """The more they weigh the more, but as the target of an anchor stands against its classes, too, to no simplex."""
    props = (0.95, 0.03, 0.02)
    assert answer("supcon", props, 1).structure.kind == "minority collapse"
    angles = [answer("tsc", props, 1, target_weight=w).structure.min_angle_deg for w in (0.2, 2, 20, 2000)]
    assert all(one < other for one, other in zip([0.1, *angles], angles, strict=False))
    assert angles[-1] < answer("tsc", props, 1, target_weight=1e6).structure.min_angle_deg < 1.01 * angles[-1] < 120
    flags = ("--props", "0.95,0.03,0.02", "--loss", "tsc")
    found = run("threshold", *flags)
    assert "No full collapse can occur: targets of their own pull every two classes apart" in " ".join(
        found.stdout.split()
    )
    refused = run("imbalance", *flags, "--dim", 1)
    assert refused.code == 2
    assert "targets that need 2 dimensions" in refused.stderr
    refused = run("imbalance", *flags, "--nonnegative")
    assert refused.code == 2
    assert "coordinates of both signs" in refused.stderr


@pytest.mark.slow
def test_tsc_of_many_classes_is_certified():
    report = solve(Imbalance(dataset="cifar100-lt:100", loss={"name": "tsc", "temperature": 0.5}))
    assert report.certified


# --- paco ------------------------------------------------------------------------------------------------------------


def test_paco_is_refused_with_its_reason(run, tmp_path):
    shown = run("imbalance", "--props", "0.7,0.3", "--loss", "paco")
    assert (shown.code, shown.stdout) == (2, "")
    assert "--loss: paco is not solved: its class centres are a linear classifier" in shown.stderr
    listed = run("list", "losses", "--json").json
    reasons = {row["name"]: row["reason"] for row in listed["unsolved"]}
    assert "no function of the cosines" in reasons["paco"]
    assert "PaCo is not solved" in run("imbalance", "--props", "0.7,0.3", "--loss", "PaCo").stderr
    assert "is not solved" in run("levels", "--classes", 3, "--batch", 8, "--loss", "ParametricContrastive").stderr
    assert "Not solved: paco" in run("list", "losses").stdout
    file = tmp_path / "a.yaml"
    file.write_text("kind: imbalance\nprops: [0.7, 0.3]\nloss: paco\n")
    shown = run("validate", file)
    assert shown.code == 2
    assert "paco is not solved" in " ".join((shown.stdout + shown.stderr).split())


def test_paco_over_its_classifier_is_supcon_that_weighs_each_anchor(rng):
    """Minimised over the logits of the classifier, those of wrong classes at -30, for a random anchor."""
    from scipy.optimize import minimize_scalar

    s, n, alpha, beta = rng.normal(size=9), 4, 0.3, 1.0  # the first n are positives
    crowd = math.log(np.exp(s).sum())

    def loss(own, others=-30.0):
        total = math.log(math.exp(own) + 2 * math.exp(others) + math.exp(crowd))
        return (beta * (total - own) + alpha * (total - s[:n]).sum()) / (beta + alpha * n)

    best = minimize_scalar(loss, bracket=(-5, 5), tol=1e-12)
    weight = alpha * n / (beta + alpha * n)
    entropy = -weight * math.log(weight) - (1 - weight) * math.log(1 - weight)
    assert best.fun == pytest.approx(weight * (crowd - s[:n].mean()) + entropy, abs=1e-9)
    assert loss(best.x, -40.0) < loss(best.x, -20.0)  # nothing is attained


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bcl", "kcl", "tsc"])
def test_descent_on_single_samples_agrees(name):
    pytest.importorskip("torch")
    from geomsolve import Check

    report = solve(Check(counts=(28, 8, 4), loss={"name": name, "temperature": 0.5}, device="cpu"))
    assert report.verdict == "agrees"
    assert report.max_gram_error < 1e-6


@pytest.mark.slow
def test_embeddings_are_compared_wherever_their_targets_were(run, tmp_path, rng):
    pytest.importorskip("torch")
    report = answer("tsc")
    values, vectors = np.linalg.eigh(report.gram)
    labels = np.repeat([0, 1, 2], (70, 20, 10))
    turned = (vectors * np.sqrt(np.maximum(values, 0))) @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    np.save(tmp_path / "z.npy", turned[labels])
    np.save(tmp_path / "y.npy", labels)
    files = (tmp_path / "z.npy", "--labels", tmp_path / "y.npy")
    found = run("compare", *files, "--loss", "tsc", "-t", 0.5, "--json").json
    assert found["verdict"] == "matches"
    assert found["value_measured"] == pytest.approx(report.value, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "how", "words"),
    [
        ("bcl", {"batch": 8, "complement": "yes"}, "move by themselves"),
        ("bcl", {"batch": 2, "views": 1}, "0 everywhere"),
        ("bcl", {"views": 2}, "give the batch size"),
        ("bcl", {"batch": 5000}, "at most 4,096"),
        ("kcl", {"positives": 0}, "at least 1"),
        ("kcl", {"batch": 2, "views": 1}, "0 everywhere"),
        ("tsc", {"target_weight": 0}, "a weight above 0"),
        ("tsc", {"batch": 8}, "does not use this"),
    ],
)
def test_what_makes_no_sense_is_refused(name, how, words):
    with pytest.raises(InputError, match=words):
        answer(name, **how)


def test_too_many_kinds_of_batches_are_refused():
    with pytest.raises(InputError, match=r"at most 20,000 ways"):
        solve(Imbalance(dataset="cifar100-lt:100", loss={"name": "bcl", "batch": 64}))


def test_levels_need_classes(run):
    for name in ("kcl", "tsc"):
        shown = run("levels", "--loss", name, "--batch", 8)
        assert shown.code == 2
        assert f"{name} needs classes: give --classes or --props\n" in shown.stderr


@pytest.mark.slow
def test_a_threshold_over_batches_of_bcl():
    """More classes are there in larger batches, so that rare ones merge in small ones only."""
    report = solve(Threshold(props=PROPS, over="batch", loss={"name": "bcl", "temperature": 3.0, "batch": 8}))
    at = report.threshold["value"]
    assert not report.collapsed_above
    kinds = [answer("bcl", temperature=3, batch=b).structure.kind == "minority collapse" for b in (at - 1, at)]
    assert kinds == [True, False]


def test_json_of_a_preset_can_be_asked_again(run):
    first = run("imbalance", "--props", "0.7,0.2,0.1", "--loss", "tsc", "-t", 0.5, "--json").json
    assert first["problem"]["loss"] == {"name": "tsc", "positives": 6, "target_weight": 0.2, "temperature": 0.5}
    again = solve(Imbalance(props=PROPS, loss=json.loads(json.dumps(first["problem"]["loss"]))))
    assert again.value == pytest.approx(first["value"], abs=1e-12)
