"""ArcFace: its margin is on the angle, so that what is best is searched for; a convex loss below bounds it."""

from __future__ import annotations

from math import cos, exp, log1p

import numpy as np
import pytest
from scipy.optimize import check_grad

from geomsolve import CompareCrossmodal, Crossmodal, solve
from geomsolve.objectives.cross import Joint
from geomsolve.pair_losses import make_pair_loss


def unit(n, d, seed):
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def published(cosines, weights, temperature, margin):
    """The cross-entropy of each feature's class, cos(arccos c + m) in place of its own cosine, as in the paper."""
    total = 0.0
    for i, j in np.ndindex(*cosines.shape):
        angle = np.arccos(cosines[i, j])
        own = np.cos(angle + margin) if angle <= np.pi - margin else cosines[i, j] - margin * np.sin(margin)
        logits = cosines[i].copy()
        logits[j] = own
        logits /= temperature
        total -= weights[i, j] * (logits[j] - np.logaddexp.reduce(logits))
    return total


@pytest.mark.parametrize("shape", [(4, 4), (3, 5)])
def test_the_loss_is_the_published_one_and_the_bound_is_below(shape):
    weights = np.random.default_rng(3).uniform(0.1, 1, shape)
    joint = Joint.of(weights, merge=False)
    loss = make_pair_loss("arcface", {"temperature": 0.3, "margin": 0.4})
    for seed in range(5):
        cosines = unit(shape[0], 3, seed) @ unit(shape[1], 3, seed + 50).T
        cross = joint.paired.reduce_cross(cosines)
        value = loss.objective(joint).value(cross)
        assert value == pytest.approx(published(cosines, weights / weights.sum(), 0.3, 0.4), abs=1e-12)
        assert loss.below(joint).value(cross) <= value
    smooth, bend = loss.smoothed(joint, 0.1), loss.smoothed(joint, 0.1).curvature(cross)
    size = cross.shape
    assert check_grad(
        lambda c: smooth.value(c.reshape(size)), lambda c: smooth.gradient(c.reshape(size)).ravel(), cross.ravel()
    ) == pytest.approx(0, abs=1e-6)
    step = 1e-5 * np.random.default_rng(0).standard_normal(size) * (joint.paired.counts > 0)
    moved = smooth.gradient(cross + step) - smooth.gradient(cross - step)
    assert bend(step) * 2 == pytest.approx(moved, abs=1e-8)


@pytest.mark.parametrize(("k", "temperature", "margin"), [(2, 0.5, 0.5), (6, 0.3, 0.5), (40, 0.1, 0.2)])
def test_equal_classes_are_a_regular_simplex(run, k, temperature, margin):
    """Both sides at its corners: there the bound c cos m meets the loss, so that this is proven."""
    done = run("crossmodal", "--counts", f"{k}*1", "--loss", "arcface", "-t", temperature, "--margin", margin, "--json")
    value = log1p((k - 1) * exp((-1 / (k - 1) - cos(margin)) / temperature))
    assert (done.code, done.json["certified"], done.json["tied"]) == (0, True, True)
    assert done.json["structure"]["kind"] == "regular simplex"
    assert done.json["value"] == pytest.approx(value, abs=1e-12)


def test_without_a_margin_it_is_normface(run):
    """The number is that of the plain loss, which is proven on its own."""
    done = run("crossmodal", "--props", ".7,.2,.1", "--loss", "arcface", "-t", 0.5, "--margin", 0, "--json")
    assert done.json["value"] == pytest.approx(0.08343503941, abs=1e-10)


def test_what_is_only_found_is_said_to_be(run):
    flags = ("--props", ".7,.2,.1", "--loss", "arcface", "-t", 0.5)
    done = run("crossmodal", *flags, "--json")
    found = done.json
    assert (done.code, found["certified"], found["convex"], found["unique"]) == (1, False, False, None)
    assert found["lower_bound"] < found["value"]
    assert (found["attainable"], found["modality_gap"]["low"], found["tied"]) == (None, None, None)
    said = " ".join(run("crossmodal", *flags).stdout.split())
    assert said.startswith("Best found, not proven: arcface puts a feature 0.0° from its own classifier")
    assert "NOT PROVEN to be the best" in said
    assert "Proven:" not in said
    swept = run("sweep", *flags[:4], "--over", "margin=.2,.5", "--json")
    assert (swept.code, [row["certified"] for row in swept.json["rows"]]) == (1, [False, False])
    small = run("crossmodal", *flags, "--dim", 1, "--json")
    assert (small.code, small.json["certified"]) == (1, False)
    for command, words in (
        (("threshold", *flags[:4], "--over", "temperature"), "arcface is not convex, so that no change of state"),
        (("check", *flags), "arcface is not convex: its answer is itself the best that descent finds"),
    ):
        ended = run(*command)
        assert (ended.code, ended.stdout) == (2, "")
        assert words in " ".join(ended.stderr.split())


def test_embeddings_are_compared_with_the_best_found():
    rows, labels = unit(12, 4, 0), ["a"] * 7 + ["b"] * 3 + ["c"] * 2
    loss = {"name": "arcface", "temperature": 0.5}
    report = solve(CompareCrossmodal(rows, texts=unit(3, 4, 1), labels=labels, loss=loss))
    assert (report.certified, report.exit_code) == (False, 1)
    assert "what is called wanted is the best that was found" in " ".join(report.summary().split())


@pytest.mark.slow
def test_descent_in_torch_finds_nothing_better():
    """From random points, by the published formula; nothing is below the bound, or below what was found."""
    torch = pytest.importorskip("torch")
    report = solve(Crossmodal([0.7, 0.2, 0.1], loss={"name": "arcface", "temperature": 0.5, "margin": 0.3}))
    share, labels = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64), torch.arange(3)
    best = np.inf
    for seed in range(2):
        z = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()
        solver = torch.optim.Adam([z], lr=0.03)
        for _ in range(400):
            solver.zero_grad()
            rows = torch.nn.functional.normalize(z, dim=1)
            cosines = rows[:3] @ rows[3:].T
            own = torch.cos(torch.arccos(cosines.diag().clamp(-1 + 1e-9, 1 - 1e-9)) + 0.3)
            logits = torch.where(torch.eye(3, dtype=torch.bool), own[:, None], cosines) / 0.5
            loss = (share * torch.nn.functional.cross_entropy(logits, labels, reduction="none")).sum()
            loss.backward()
            solver.step()
            best = min(best, float(loss.detach()))
    assert report.lower_bound < report.value <= best + 1e-9
    assert best == pytest.approx(report.value, abs=5e-3)
