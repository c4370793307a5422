"""Cross-entropy with features and classifiers: published numbers, closed forms, full-size programs, descent, words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geomsolve import Imbalance, Threshold, solve
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses import make_loss
from geomsolve.objectives.cross_entropy import Cross
from geomsolve.proof.nuclear import certify_peeled
from geomsolve.solvers import nuclear
from geomsolve.solvers.nuclear import solve_peeled


def answer(counts, **loss):
    return solve(Imbalance(counts=counts, loss={"name": "cross-entropy", **loss}))


def program(counts, *, trivial=False, **parameters):
    n = np.asarray(counts, dtype=float)
    loss = make_loss("cross-entropy", parameters)
    orbits = Orbits.trivial(n / n.sum(), n) if trivial else loss.orbits(n / n.sum(), n)
    return loss.program(orbits), orbits


def value_of(z, counts, weights, prior, smoothing):
    """The loss of logits (K, K), row by row, by its definition."""
    k = len(counts)
    total = 0.0
    for a in range(k):
        scores = z[a] + np.log(prior)
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        target = np.full(k, smoothing / k)
        target[a] += 1 - smoothing
        total -= weights[a] * float(target @ np.log(chances))
    return total


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ratio", "cosine"), [(1, -1 / 9), (2, -0.06728), (5, 0.07253), (10, 0.51750), (13, 1.0)])
@pytest.mark.slow
def test_layer_peeled_minorities(run, ratio, cosine):
    counts = ",".join([str(ratio)] * 5 + ["1"] * 5)
    found = run("imbalance", "--counts", counts, "--loss", "cross-entropy", "--constraint", "budget:5,1", "--json")
    assert found.code == 0
    assert found.json["classifiers"]["gram"][8][9] == pytest.approx(cosine, abs=1e-4)
    assert np.mean(np.square(found.json["features"]["norms"])) == pytest.approx(5, rel=1e-9)
    assert np.mean(np.square(found.json["classifiers"]["norms"])) == pytest.approx(1, rel=1e-9)
    groups = found.json["structure"]["groups"]
    assert groups == ([["6", "7", "8", "9", "10"]] if ratio == 13 else [])


@pytest.mark.slow
def test_layer_peeled_minorities_merge_between_the_published_ratios(run):
    asked = ("--counts", "10,10,10,10,10,1,1,1,1,1", "--loss", "cross-entropy", "--constraint", "budget:5,1")
    found = run("threshold", *asked, "--over", "imbalance", "--json").json
    assert 12.1 < found["threshold"]["value"] < 12.3
    assert found["merging"] == [["6", "7", "8", "9", "10"]]
    assert found["collapsed_above"] is True
    assert found["collapsed"] is False
    for side, together in ((0.999, False), (1.001, True)):
        ratio = found["threshold"]["value"] * side
        p = np.array([ratio] * 5 + [1.0] * 5)
        loss = make_loss("cross-entropy", {"constraint": "budget:5,1"})
        made = loss.program(loss.orbits(p / p.sum()))
        contrast = solve_peeled(made).blocks.contrast
        assert bool(contrast[1] < 1e-9) is together


def test_seli_is_the_published_geometry_and_the_svd_of_all_labels():
    report = answer([10, 10, 1, 1], ufm="seli")
    w, h = report.classifiers.gram, report.features.gram
    assert [w[0, 1], w[0, 2], w[2, 3]] == pytest.approx([-0.45899, -0.38210, 0.07945], abs=1e-5)
    assert [h[0, 1], h[0, 2], h[2, 3]] == pytest.approx([-0.19460, -0.26602, -0.64853], abs=1e-5)
    assert report.unique is True
    assert report.certified
    counts = [7, 3, 3, 2, 1]
    labels = np.repeat(np.eye(5), counts, axis=0).T
    u, s, _ = np.linalg.svd(labels - 1 / 5, full_matrices=False)
    gram = (u * s) @ u.T
    cosines = gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
    assert answer(counts).classifiers.gram == pytest.approx(cosines, abs=1e-12)
    assert answer(counts).value == pytest.approx(s.sum() / math.sqrt(16), abs=1e-12)


RANDOM = np.random.default_rng(20)
DESIGNS = [
    (int(a), int(b), int(rare + more), int(rare))
    for a, b, rare, more in zip(*RANDOM.integers([[2], [2], [1], [1]], [[7], [8], [30], [400]], (4, 10)), strict=True)
]
"""Ten random designs: majority classes, minority classes, their samples."""


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_nuclear_thresholds_hold_on_both_sides(design):
    a, b, n_a, n_b = design
    counts, total = [n_a] * a + [n_b] * b, a * n_a + b * n_b
    found = solve(Threshold(counts=counts, over="regularisation", loss={"name": "cross-entropy"}))
    assert found.threshold["value"] == pytest.approx(math.sqrt(n_b) / total, rel=1e-12)
    assert found.total == pytest.approx(math.sqrt(n_a) / total, rel=1e-12)
    minority = [str(i + 1) for i in range(a, a + b)]
    for side, groups in ((0.999, []), (1.001, [minority])):
        report = answer(counts, regularise=side * math.sqrt(n_b) / total)
        assert report.groups() == groups
        assert report.certified
        assert bool(report.classifiers.gram[-1, -2] > 1 - 1e-12) is bool(groups)
    assert answer(counts, regularise=0.999 * math.sqrt(n_a) / total).structure.kind == "minority collapse"
    assert answer(counts, regularise=1.001 * math.sqrt(n_a) / total).structure.kind == "total collapse"


# --- closed forms -----------------------------------------------------------------------------------------------------


def test_balanced_class_weights_give_a_simplex_for_any_counts():
    """Then every class counts alike; the logits are c (I - 1/K) with (K - 1) c = K root(E_H E_W)."""
    report = answer([50, 9, 2, 1], constraint="budget:5,1", anchor_weights="balanced")
    assert report.structure.kind == report.features.structure.kind == "regular simplex"
    assert report.value == pytest.approx(math.log1p(3 * math.exp(-4 * math.sqrt(5) / 3)), abs=1e-10)
    assert report.alignment == pytest.approx(1, abs=1e-9)


def test_balanced_weight_decay_is_one_equation():
    k, n, lam = 4, 25, 1e-3
    report = answer([n] * k, regularise=lam)
    # slope of log(1 + (K-1) e^{-c}) + lam root(n) (K-1) c
    c = math.log(1 / (lam * math.sqrt(n)) - (k - 1))
    value = math.log1p((k - 1) * math.exp(-c)) + lam * math.sqrt(n) * (k - 1) * c
    assert report.value == pytest.approx(value, abs=1e-11)
    assert report.cross_entropy == pytest.approx(math.log1p((k - 1) * math.exp(-c)), abs=1e-8)


def test_smoothing_is_attained_where_the_budget_has_room():
    e, k = 0.1, 3
    target = [1 - e + e / k, e / k, e / k]
    entropy = -sum(t * math.log(t) for t in target)
    report = answer([5, 3, 1], constraint="budget:100,1", smoothing=e)
    assert report.value == pytest.approx(entropy, abs=1e-12)
    assert report.unique is False
    tight = answer([5, 3, 1], constraint="budget:1,1", smoothing=e)
    assert tight.value > entropy + 0.1
    assert tight.unique is True


def test_smoothing_and_weights_move_the_threshold_as_the_formula_says():
    counts, total = [40, 40, 4, 4], 88
    loss = {"name": "cross-entropy", "regularise": 0.01, "smoothing": 0.2, "logit_adjust": 1.0}
    found = solve(Threshold(counts=counts, over="regularisation", loss=loss))
    assert found.threshold["value"] == pytest.approx(0.8 * 2 / total, rel=1e-12)
    balanced = solve(
        Threshold(counts=counts, over="regularisation", loss={**loss, "anchor_weights": "balanced", "smoothing": 0})
    )
    # w = 1/4 for each class: the largest classes are let go first
    assert balanced.threshold["value"] == pytest.approx(0.25 / math.sqrt(40), rel=1e-12)
    assert balanced.merging[0] == ["1", "2"]


# --- independent routes -----------------------------------------------------------------------------------------------

FORMS = [
    {"constraint": "budget:5,1"},
    {"constraint": "budget:2,0.5", "logit_adjust": 1.0, "smoothing": 0.1},
    {"regularise": 0.02, "anchor_weights": "effective:0.9"},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.slow
def test_the_joint_gram_matrix_in_cvxpy_agrees(form):
    """2K x 2K, psd, without orbits: features first, classifiers after."""
    import cvxpy as cp

    counts = np.array([8.0, 8.0, 3.0, 1.0])
    k, total = 4, counts.sum()
    weights = counts / total
    if "anchor_weights" in form:
        weights = weights * (1 - 0.9) / (1 - 0.9**counts)
        weights /= weights.sum()
    prior, e = (counts / total) ** form.get("logit_adjust", 0), form.get("smoothing", 0.0)
    x = cp.Variable((2 * k, 2 * k), PSD=True)
    cost = 0
    for a in range(k):
        target = np.full(k, e / k)
        target[a] += 1 - e
        scores = x[a, k:] + np.log(prior)
        cost += weights[a] * (cp.log_sum_exp(scores) - target @ scores)
    traces = cp.diag(x)
    limits = []
    if "constraint" in form:
        h, w = map(float, form["constraint"].partition(":")[2].split(","))
        limits = [cp.sum(traces[:k]) <= k * h, cp.sum(traces[k:]) <= k * w]
    else:
        cost += form["regularise"] / 2 * (counts @ traces[:k] + cp.sum(traces[k:]))
    value = cp.Problem(cp.Minimize(cost), limits).solve(solver="CLARABEL")
    report = answer([8, 8, 3, 1], **form)
    assert report.value == pytest.approx(value, abs=1e-6)
    size = np.sqrt(np.diag(x.value))
    gram = x.value / np.outer(size, size)
    assert report.features.gram == pytest.approx(gram[:k, :k], abs=1e-3)
    assert report.classifiers.gram == pytest.approx(gram[k:, k:], abs=1e-3)
    assert report.alignments == pytest.approx(np.diag(gram[:k, k:]), abs=1e-3)
    assert report.features.norms == pytest.approx(size[:k], rel=1e-3)


@pytest.mark.parametrize("form", [*FORMS, {"ufm": "seli"}], ids=str)
def test_orbits_and_full_size_agree(form):
    counts = [6, 6, 6, 2, 2]
    small, big = program(counts, **form)[0], program(counts, trivial=True, **form)[0]
    one, two = solve_peeled(small), solve_peeled(big)
    assert one.certificate.certified
    assert two.certificate.certified
    assert one.certificate.value == pytest.approx(two.certificate.value, abs=1e-9)
    full = small.points.lift_cross(small.logits(one.blocks))
    assert big.points.lift_cross(big.logits(two.blocks)) == pytest.approx(full, abs=1e-4)


@pytest.mark.parametrize("form", FORMS[:2], ids=str)
def test_value_slope_and_curvature_are_the_definition(form, rng):
    counts = np.array([5.0, 2.0, 2.0, 2.0, 1.0, 1.0])
    made, orbits = program(counts, **form)
    prior, e = (counts / 13) ** form.get("logit_adjust", 0), form.get("smoothing", 0.0)
    logits = np.where(made.loss.counts > 0, 3 * rng.normal(size=made.loss.counts.shape), 0.0)
    full = made.points.lift_cross(logits)
    value, slope, chances = made.loss.evaluate(logits)
    assert value == pytest.approx(value_of(full, counts, counts / 13, prior, e), rel=1e-13)
    change = np.where(made.loss.counts > 0, rng.normal(size=logits.shape), 0.0)
    step = 1e-5
    up, down = (made.loss.evaluate(logits + s * step * change) for s in (1, -1))
    counted = made.points.counts * slope * change
    assert counted.sum() == pytest.approx((up[0] - down[0]) / (2 * step), rel=1e-7)
    assert made.loss.curvature(chances, change) == pytest.approx((up[1] - down[1]) / (2 * step), abs=1e-8)
    back = made.logits(made.blocks(logits))
    assert back == pytest.approx(logits, abs=1e-12)
    singular = np.linalg.svd(np.sqrt(made.scale)[orbits.index][:, None] ** 2 * full, compute_uv=False)
    assert made.blocks(logits).nuclear == pytest.approx(singular.sum(), rel=1e-12)
    assert made.blocks(logits).operator == pytest.approx(singular[0], rel=1e-12)


@pytest.mark.parametrize("form", [*FORMS, {"ufm": "seli"}], ids=str)
def test_no_certificate_claims_too_much(form, rng):
    """Bounds of points that are anything but optimal stay below the optimum."""
    made, _ = program([9, 4, 4, 1], **form)
    best = solve_peeled(made).certificate
    assert best.gap < 1e-8
    for size in (0.1, 1.0, 3.0):
        for _ in range(20):
            off = made.equal
            shaken = Cross(
                off.quotient * rng.uniform(0.5, 2) + size * rng.normal(size=off.quotient.shape),
                off.contrast * rng.uniform(0.5, 2) + size * rng.uniform(size=off.contrast.shape),
                off.times,
            )
            radius = getattr(made, "radius", math.inf)
            if "ufm" in form and (
                shaken.quotient.diagonal().min() < 0 or certify_peeled(made, shaken).value == math.inf
            ):
                continue  # margins that are not all positive
            inside = shaken.scaled(min(1.0, radius / shaken.nuclear))
            claim = certify_peeled(made, inside)
            assert claim.lower_bound <= best.value + 1e-9
            assert claim.value >= best.lower_bound - 1e-9


@pytest.mark.parametrize("form", ["regularised", "margin"])
@pytest.mark.slow
def test_descent_on_features_and_classifiers_arrives_and_never_beats_the_bound(form):
    """Free features, several a class, and classifiers, by torch: no class means, no Gram matrices."""
    torch = pytest.importorskip("torch")
    counts, dim = [6, 6, 2, 2], 5
    k, n = len(counts), sum(counts)
    labels = torch.repeat_interleave(torch.arange(k), torch.tensor(counts))
    generator = torch.Generator().manual_seed(3)
    h = torch.randn(n, dim, generator=generator, dtype=torch.float64).requires_grad_()
    w = torch.randn(k, dim, generator=generator, dtype=torch.float64).requires_grad_()
    cross_entropy = torch.nn.functional.cross_entropy
    others = ~torch.nn.functional.one_hot(labels, k).bool()
    held = torch.zeros(n, k - 1, dtype=torch.float64)
    lam = 0.02

    def margins(h, w):
        z = h @ w.T
        return (z.gather(1, labels[:, None]) - z)[others].reshape(n, k - 1)

    def cost():
        size = (h.square().sum() + w.square().sum()) / 2
        if form == "regularised":
            return cross_entropy(h @ w.T, labels) + lam * size
        short = torch.relu(held + 20 * (1 - margins(h, w)))  # augmented Lagrangian of margins of at least 1
        return size + short.square().sum() / 40

    for _ in range(30 if form == "margin" else 2):
        solver = torch.optim.LBFGS(
            [h, w],
            max_iter=150,
            history_size=30,
            line_search_fn="strong_wolfe",
            tolerance_grad=1e-12,
            tolerance_change=0,
        )

        def closure(solver=solver):
            solver.zero_grad()
            loss = cost()
            loss.backward()
            return loss.detach()

        solver.step(closure)
        if form == "margin":
            with torch.no_grad():
                held = torch.relu(held + 20 * (1 - margins(h, w)))
    report = answer(counts, **({"regularise": lam} if form == "regularised" else {}))
    with torch.no_grad():
        a, b = (x.detach() for x in (h, w))
        means = torch.stack([a[labels == c].mean(0) for c in range(k)]).numpy()
        scatter = float((a - torch.as_tensor(means)[labels]).abs().max())
        reached = float(cost().detach())
    if form == "margin":
        h, w = h.detach(), w.detach()
        reached = float((h.square().sum() + w.square().sum()) / 2 / margins(h, w).min()) / math.sqrt(n)
    assert report.lower_bound - 1e-12 <= reached <= report.value + 1e-6
    assert scatter < 1e-3

    def cosines(x):
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        return x @ x.T

    assert cosines(means) == pytest.approx(report.features.gram, abs=2e-3)
    assert cosines(b.numpy()) == pytest.approx(report.classifiers.gram, abs=2e-3)


def test_no_random_features_and_classifiers_are_better(rng):
    report = answer([7, 7, 2, 1], constraint="budget:3,1")
    p = np.array([7, 7, 2, 1]) / 17
    for _ in range(300):
        dim = int(rng.integers(1, 6))
        h, w = rng.normal(size=(4, dim)), rng.normal(size=(4, dim))
        h *= math.sqrt(12 / np.sum(h**2))
        w *= math.sqrt(4 / np.sum(w**2))
        assert value_of(h @ w.T, p, p, np.ones(4), 0.0) >= report.lower_bound


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_few_columns_and_rougher_brackets_reach_the_same_optimum(form, monkeypatch):
    """What is done for many orbits, done for few."""
    counts = [30, 12, 12, 7, 5, 3, 2, 1, 1]
    made, _ = program(counts, **form)
    whole = solve_peeled(made).certificate
    monkeypatch.setattr(nuclear, "THIN", 2)
    monkeypatch.setattr(nuclear, "LARGE", 2)
    thin = solve_peeled(made)
    assert thin.certificate.certified
    assert thin.certificate.gap < 1e-7
    assert thin.certificate.value == pytest.approx(whole.value, abs=1e-7)


@pytest.mark.slow
def test_many_distinct_sizes_have_margins_in_closed_form(run):
    """446 distinct sizes: cosines of classifiers are those of the labels' singular vectors."""
    sizes = np.unique(np.round(np.geomspace(5, 1280, 892)).astype(int))
    sizes = sizes[np.linspace(0, sizes.size - 1, 446).astype(int)]
    found = run("imbalance", "--counts", ",".join(map(str, sizes)), "--loss", "cross-entropy", "--json", "--full").json
    assert found["certified"]
    root = np.sqrt(sizes)
    vectors, values, _ = np.linalg.svd(np.diag(root) - np.outer(np.ones(446), root) / 446)
    gram = (vectors * values) @ vectors.T
    size = np.sqrt(np.diag(gram))
    assert np.array(found["classifiers"]["gram"]) == pytest.approx(gram / np.outer(size, size), abs=1e-8)
    many = ",".join(map(str, range(1, 602)))
    refused = run("imbalance", "--counts", many, "--loss", "cross-entropy", "--constraint", "budget:5,1")
    assert refused.code == 2
    assert "at most 600 are solved" in refused.stderr
    assert "--ufm seli" in refused.stderr


def test_very_large_budgets_keep_their_digits():
    """F ~ e^-60, far below rounding of 1: the angles still tend to the simplex, since budgets are per class."""
    report = answer([20, 5, 5, 1], constraint="budget:60,60")
    assert report.value < 1e-30
    assert report.gap < 1e-8 * report.value
    assert report.classifiers.structure.simplex_distance < 0.05


@pytest.mark.parametrize("counts", [[7, 2, 1], [5, 5, 5], [7, 1, 1, 1], [4, 4, 1, 1]], ids=str)
def test_very_small_budgets_are_linear(counts):
    """F = log K - r |D|, D = diag(p) (1/K - I) the slope at no logits: a small budget goes where D is largest."""
    k, p = len(counts), np.array(counts) / sum(counts)
    slope = p[:, None] * (1 / k - np.eye(k))
    report = answer(counts, constraint="budget:1e-6,1e-6")
    assert report.certified
    assert report.value == pytest.approx(math.log(k) - k * 1e-6 * np.linalg.norm(slope, 2), abs=1e-10)


# --- levels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", ["5,1", "0.2,0.1"], ids=["shares fit", "shares do not fit"])
def test_levels_of_a_budget(run, budget):
    """Collapse: the best answer that is the same for all, by another solver; random start: drawn."""
    from scipy.optimize import minimize

    counts = np.array([100, 100, 10, 10, 1])
    p, k = counts / counts.sum(), 5
    lengths = list(map(float, budget.split(",")))
    asked = ("--counts", "100,100,10,10,1", "--loss", "cross-entropy", "--constraint", f"budget:{budget}")
    found = run("levels", *asked, "--smoothing", "0.1", "--loss-value", "0.9", "--dim", "6", "--json")
    assert found.code == 0
    target = 0.9 * p + 0.1 / k
    size = math.sqrt(k * lengths[0] * lengths[1])

    def constant(z):
        z = z / max(1.0, np.linalg.norm(z) / size)
        return math.log(np.exp(z).sum()) - target @ z

    starts = [np.zeros(k), np.log(target) - np.log(target).mean()]
    best = min(minimize(constant, z, method="Nelder-Mead", options={"fatol": 1e-13, "xatol": 1e-9}).fun for z in starts)
    assert found.json["collapse"] == pytest.approx(best, abs=1e-8)
    if budget == "5,1":
        assert found.json["collapse"] == pytest.approx(-target @ np.log(target), rel=1e-12)
    rng = np.random.default_rng(0)
    c = rng.normal(size=(k, 200_000, 6))
    z = math.sqrt(lengths[0] * lengths[1]) * (c / np.linalg.norm(c, axis=2, keepdims=True))[:, :, 0]
    cost = np.log(np.exp(z).sum(0))
    assert found.json["random_start"] == pytest.approx(cost.mean(), abs=5 * cost.std() / 200_000**0.5)
    optimum = answer(counts.tolist(), constraint=f"budget:{budget}", smoothing=0.1)
    assert found.json["optimum"] == pytest.approx(optimum.value, abs=1e-12)
    assert found.json["certified"]
    shown = " ".join(run("levels", *asked, "--loss-value", "0.001").stdout.split())
    assert "no embedding of this budget can reach" in shown
    assert "Longer features and classifiers may go lower." in shown


# --- the command as a user runs it ------------------------------------------------------------------------------------

ASKED = ("--counts", "100,100,10,10", "--loss", "cross-entropy")


def test_collapse_in_words_and_in_json(run, tmp_path):
    shown = run("imbalance", *ASKED, "--regularise", "0.02")
    text = " ".join(shown.stdout.split())
    assert shown.code == 0
    assert "Minority collapse: cross-entropy puts the classifiers of classes 3 and 4 at one point" in text
    assert "Proven: loss value 1.07012671 nats" in text
    assert "the nearest threshold is 0.014374 (yours is 0.02)" in text
    found = run("imbalance", *ASKED, "--regularise", "0.02", "--json").json
    assert {"value", "lower_bound", "gap", "certified", "proof", "effort", "alignment", "structure"} <= found.keys()
    assert np.array(found["features"]["gram"]).shape == (4, 4)
    assert len(found["classifiers"]["norms"]) == 4
    assert found["structure"]["kind"] == "minority collapse"
    assert found["problem"]["loss"] == {"name": "cross-entropy", "regularise": 0.02}
    gone = run("imbalance", *ASKED, "--regularise", "1", "--json").json
    assert gone["structure"]["kind"] == "total collapse"
    assert gone["features"]["gram"][0] == [None] * 4
    assert gone["alignment"] is None
    assert "Total collapse: with this much weight decay" in run("imbalance", *ASKED, "--regularise", "1").stdout


def test_balanced_classes_and_the_limit_in_words(run):
    shown = run("imbalance", "--counts", "5,5,5", "--loss", "cross-entropy", "--quiet").stdout
    assert "cross-entropy wants a regular simplex, all 3 classes at 120.0°" in " ".join(shown.split())
    shown = run("threshold", "--counts", "9,9,1,1", "--loss", "cross-entropy", "--over", "imbalance")
    assert shown.code == 0
    assert "No merger can occur: without weight decay every class keeps the same margin" in shown.stdout
    shown = run("threshold", "--counts", "9,9,1,1", "--loss", "cross-entropy", "--over", "regularisation").stdout
    assert "From weight decay of 0.05 on, cross-entropy puts the features and classifiers of classes 3 and 4" in shown
    assert "0.15   1, 2, 3 and 4 (all features are 0)" in shown


@pytest.mark.slow
def test_pictures(run, tmp_path):
    pytest.importorskip("matplotlib")
    for command, more in (("imbalance", ("--regularise", "0.02")), ("threshold", ("--over", "regularisation"))):
        file = tmp_path / f"{command}.svg"
        assert run(command, *ASKED, *more, "--plot", file, "--quiet").code == 0
        assert file.stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("imbalance", "--constraint", "5,1"), "--constraint: wanted budget:E_H,E_W"),
        (("imbalance", "--constraint", "budget:5,nan"), "--constraint: wanted budget:E_H,E_W"),
        (("imbalance", "--constraint", "budget:5,1", "--ufm", "seli"), "--ufm: this is another form"),
        (("imbalance", "--smoothing", "0.1"), "--smoothing: margins in the limit"),
        (("imbalance", "--constraint", "budget:1e6,1e6"), "--constraint: budgets this large"),
        (("imbalance", "--slack", "1e-4"), "--slack: "),
        (("imbalance", "--dim", "2"), "--dim: the features span 3 dimensions"),
        (("imbalance", "--nonnegative"), "--nonnegative: "),
        (("imbalance", "--solver", "conic"), "--solver: "),
        (("imbalance", "-t", "0.5"), "--temperature: the loss cross-entropy does not use this"),
        (("threshold",), "--over: the loss cross-entropy has no temperature"),
        (
            ("threshold", "--over", "regularisation", "--constraint", "budget:5,1"),
            "--constraint: this form has no weight",
        ),
        (("levels", "--batch", "64"), "--ufm: levels are of the loss alone"),
        (("advise",), "--loss: cross-entropy has features and classifiers"),
        (("check", "--regularise", "1", "--synthetic", "synco"), "--synthetic: cross-entropy has no negatives"),
        (("design",), "--loss: "),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, tuple) else "",
)
def test_refused_in_one_message(run, arguments, words):
    shown = run(arguments[0], *ASKED, *arguments[1:])
    assert shown.code == 2
    assert shown.stdout == ""
    assert words in shown.stderr
    assert shown.stderr.count("\n") == 1


def test_files_are_checked_before_anything_is_solved(run, tmp_path):
    """Each document is wrong in its own way, and is told so with its place."""
    file = tmp_path / "a.yaml"
    loss = 'loss: {name: cross-entropy, constraint: "budget:5,1"}'
    head = "counts: [6, 6, 2, 2]"
    file.write_text(
        f"kind: threshold\n{head}\nover: regularisation\n{loss}\n---\n"
        f"kind: threshold\n{head}\n{loss}\n---\n"
        "kind: levels\nclasses: 4\nbatch: 8\nloss: cross-entropy\n---\n"
        "kind: check\ncounts: [6, 2]\nloss: cross-entropy\nsynthetic: synco\n---\n"
        "kind: imbalance\nprops: [0.5, 0.5]\nloss: {name: cross-entropy, regularise: 1}\n"
    )
    shown = run("validate", file)
    assert shown.code == 2
    text = shown.stdout + shown.stderr
    for words in (
        "no weight of a regulariser",
        "no temperature",
        "levels are of the loss alone",
        "has no negatives",
        "by counts",
    ):
        assert text.count(words) == 1, words


def test_weight_decay_needs_counts():
    with pytest.raises(InputError, match="give the classes by counts"):
        solve(Imbalance(props=[0.4, 0.4, 0.2], loss={"name": "cross-entropy", "regularise": 0.1}))


def test_imbalance_is_a_path_of_other_losses_too(run):
    """Of two sizes, one large class: the ratio at which supcon collapses is that of its critical majority share."""
    share = run("threshold", "--props", "0.8,0.1,0.1", "--over", "majority", "-t", "1", "--json").json
    ratio = run("threshold", "--props", "0.8,0.1,0.1", "--over", "imbalance", "-t", "1", "--json").json
    p = share["threshold"]["value"]
    assert ratio["threshold"]["value"] == pytest.approx(2 * p / (1 - p), rel=1e-8)
    assert ratio["current"] == pytest.approx(8)
    shown = run("threshold", "--props", "0.8,0.1,0.1", "--over", "imbalance", "-t", "1", "--quiet").stdout
    assert f"Above imbalance ratio {2 * p / (1 - p):.4f}"[:26] in shown


def test_classes_of_different_sizes_point_the_same_way_before_they_vanish(run):
    """One dimension is left; the lengths still differ, so that the classes share no point."""
    asked = (
        "imbalance",
        "--counts",
        "5,4,3,2,1",
        "--loss",
        "cross-entropy",
        "--regularise",
        "0.1",
        "--smoothing",
        "0.3",
    )
    found = run(*asked, "--json").json
    assert found["rank"] == 1
    assert found["structure"]["groups"] == []
    assert len({round(x, 6) for x in found["classifiers"]["norms"]}) == 5
    shown = " ".join(run(*asked).stdout.split())
    assert "points the classifiers of classes 2, 3, 4 and 5 the same way, at different lengths" in shown


def test_thousands_of_classes_of_few_sizes(run):
    found = run(
        "imbalance", "--counts", "1000*5,2000*1", "--loss", "cross-entropy", "--constraint", "budget:5,1", "--json"
    )
    assert found.json["certified"]
    assert "gram" not in found.json["classifiers"]
    assert set(found.json["classifiers"]["norms"][1000:]) == {0.0}  # the budget is too small to tell the rare apart


@pytest.mark.parametrize(
    "flags",
    [
        ("--constraint", "budget:5,1", "--optimizer", "lbfgs"),
        ("--constraint", "budget:1,1", "--smoothing", ".1", "--logit-adjust", "1", "--anchor-weights", "1,2,3,4"),
        ("--regularise", "0.149", "--optimizer", "lbfgs"),
    ],
    ids=" ".join,
)
@pytest.mark.slow
def test_check_trains_features_and_classifiers(run, flags):
    """Of the last, two classes vanish: nothing is asked of their angles."""
    pytest.importorskip("torch")
    asked = ("check", "--counts", "9,9,1,1", "--loss", "cross-entropy", "--device", "cpu", *flags)
    found = run(*asked, "--json")
    assert found.code == 0
    assert found.json["verdict"] == "agrees"
    assert found.json["max_gram_error"] < 1e-4
    assert np.array(found.json["prediction"]["gram"]).shape == (8, 8)
    assert found.json["descent"]["value"] >= found.json["prediction"]["lower_bound"] - 1e-12
    assert found.json["descent"]["value"] == pytest.approx(found.json["prediction"]["value"], abs=1e-7)


@pytest.mark.slow
def test_check_trains_towards_the_limit_of_no_weight_decay(run):
    """The value that is predicted is that of the labels' singular values, and vectors scaled up to margins reach it."""
    pytest.importorskip("torch")
    asked = ("--counts", "10,10,1,1", "--loss", "cross-entropy", "--device", "cpu", "--samples", "16")
    trained = run("check", *asked, "--optimizer", "lbfgs", "--steps", "1000", "--json").json
    share = np.array([10, 10, 1, 1]) / 22
    least = np.linalg.svd(np.sqrt(share)[:, None] * (np.eye(4) - 1 / 4), compute_uv=False).sum()
    assert trained["verdict"] == "agrees"
    assert trained["max_gram_error"] < 5e-3
    assert trained["prediction"]["lower_bound"] - 1e-9 <= trained["descent"]["value"] <= least + 1e-3
    assert np.array(trained["descent"]["gram"])[4, 5] == pytest.approx(-0.45899, abs=5e-3)  # the published one


def test_what_is_least_without_weight_decay_is_said_in_words(run):
    """As the lengths that are printed add up: 0.45 of it the two large classes each, by hand."""
    asked = ("imbalance", "--counts", "9,9,1,1", "--loss", "cross-entropy")
    found, shown = run(*asked, "--json").json, " ".join(run(*asked).stdout.split())
    features, classifiers = (np.square(found[side]["norms"]) for side in ("features", "classifiers"))
    half = (np.array([0.45, 0.45, 0.05, 0.05]) @ features + classifiers.sum()) / 2
    assert half == pytest.approx(found["value"], abs=1e-12)
    assert f"add up to {half:.9g}; with every class ahead by 1 none add up to less" in shown


@pytest.mark.slow
def test_check_in_words(run):
    pytest.importorskip("torch")
    asked = ("--counts", "5,2,2", "--loss", "cross-entropy", "--constraint", "budget:5,1", "--device", "cpu")
    shown = " ".join(run("check", *asked, "--optimizer", "lbfgs").stdout.split())
    assert "Descent agrees: trained on its samples, cross-entropy reaches the predicted geometry" in shown
    assert "classes 1 (feature) and 1 (classifier)" in shown
    assert "between feature means and classifiers" in shown


@pytest.mark.parametrize("k", range(2, 41))
def test_margins_of_balanced_classes_are_certified_at_their_closed_form(k):
    """Z = I - 1 1'/K, of nuclear norm K - 1, with rho = root(1/K); its mean direction is 0 only up to rounding."""
    report = solve(Imbalance(counts=[5] * k, loss={"name": "cross-entropy"}))
    assert report.certified
    assert report.unique is True
    assert report.value == pytest.approx((k - 1) / np.sqrt(k), rel=1e-12)
