"""Losses of metric learning: soft-margin triplet, contrastive with margins, multi-similarity, N-pair, SupCon's L_in."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import random_gram

from geomsolve import InputError, Orbits, make_loss
from geomsolve.objectives.levels import Training
from geomsolve.solvers.choose import solve_objective

CASES = (
    ("soft-margin-triplet", {"temperature": 0.5, "margin": 0.3}),
    ("contrastive", {"neg_margin": -0.45}),
    ("multi-similarity", {"temperature": 0.2, "negatives": 3}),
    ("supcon-in", {"temperature": 0.5}),
    ("n-pair", {"temperature": 0.5}),
)
every_case = pytest.mark.parametrize(("name", "parameters"), CASES, ids=[name for name, _ in CASES])


def at_simplex(name: str, parameters: dict, k: int) -> float:
    """The loss of k equally frequent classes at the regular simplex, by hand."""
    c, tau = -1 / (k - 1), parameters.get("temperature", 1.0)
    if name == "soft-margin-triplet":
        return math.log1p(math.exp((c - 1 + parameters["margin"]) / tau))
    if name == "contrastive":
        return max(c - parameters["neg_margin"], 0)
    if name == "multi-similarity":
        return tau * math.log1p(parameters["negatives"] * math.exp((c - 0.5) / tau))
    if name == "supcon-in":
        return math.log((1 + (k - 1) * math.exp((c - 1) / tau)) / k)
    return math.log1p((k - 1) * math.exp((c - 1) / tau))


@every_case
def test_balanced_classes_form_a_regular_simplex(name, parameters):
    orbits = Orbits.of([0.25] * 4)
    answer = solve_objective(make_loss(name, parameters).objective(orbits), orbits)
    assert answer.certificate.certified
    assert answer.certificate.value == pytest.approx(at_simplex(name, parameters, 4), rel=1e-9, abs=1e-9)
    if name != "contrastive":  # whose optimum is not the only one
        assert answer.solution.cosines[0, 0] == pytest.approx(-1 / 3, abs=1e-6)


@every_case
def test_orbits_and_full_size_agree(name, parameters):
    p = np.array([0.4, 0.2, 0.2, 0.1, 0.1])
    small, full = Orbits.of(p), Orbits.trivial(p)
    one, other = (solve_objective(make_loss(name, parameters).objective(o), o) for o in (small, full))
    assert one.certificate.certified
    assert other.certificate.certified
    assert one.certificate.value == pytest.approx(other.certificate.value, abs=2e-7)
    if name != "contrastive":
        np.testing.assert_allclose(small.lift(one.solution.cosines), other.solution.cosines, atol=1e-4)


def test_n_pair_is_a_simplex_whatever_the_proportions():
    orbits = Orbits.of([0.9, 0.05, 0.03, 0.02])
    answer = solve_objective(make_loss("n-pair", {"temperature": 0.5}).objective(orbits), orbits)
    np.testing.assert_allclose(answer.solution.cosines[~np.eye(4, dtype=bool)], -1 / 3, atol=1e-7)


def test_soft_margin_without_a_margin_is_one_negative():
    orbits = Orbits.of([0.6, 0.3, 0.1])
    gram = random_gram(np.random.default_rng(0), 3)
    one = make_loss("infonce", {"temperature": 0.7, "negatives": 1, "sampling": "supervised"}).objective(orbits)
    soft = make_loss("soft-margin-triplet", {"temperature": 0.7}).objective(orbits)
    assert soft.value(gram) == pytest.approx(one.value(gram), rel=1e-12)


def test_a_cold_soft_margin_tends_to_the_hinge():
    orbits, gram = Orbits.of([0.6, 0.3, 0.1]), random_gram(np.random.default_rng(1), 3)
    hinge = make_loss("triplet", {"margin": 1.3}).objective(orbits).value(gram)
    for tau in (1e-2, 1e-3):
        soft = make_loss("soft-margin-triplet", {"temperature": tau, "margin": 1.3}).objective(orbits)
        assert 0 <= tau * soft.value(gram) - hinge <= tau * math.log(2)


@pytest.mark.slow
@every_case
def test_samples_never_go_below_the_bound_and_collapse_attains_it(name, parameters):
    """The recipes, which know nothing of objectives: their value at the optimum, and at features all around it."""
    torch = pytest.importorskip("torch")
    from geomsolve.descent.population import Population
    from geomsolve.descent.recipes import experiment
    from geomsolve.gram.embedding import embed

    p = np.array([0.5, 0.3, 0.2])
    orbits = Orbits.trivial(p)
    answer = solve_objective(make_loss(name, parameters).objective(orbits), orbits)
    population = Population.of(p, [4, 4, 4])
    trained = experiment(make_loss(name, parameters), population)
    rows = np.pad(embed(answer.solution.cosines), ((0, 0), (0, 3)))[np.repeat(np.arange(3), 4)]
    at_best = trained.value(torch.tensor(rows), torch.Generator().manual_seed(0))
    slack = 5 * at_best.standard_error + 1e-6
    assert abs(at_best.value - answer.certificate.value) <= slack
    generator = np.random.default_rng(2)
    for size in (0.1, 0.5, 3.0):
        z = rows + size * generator.normal(size=rows.shape)
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        found = trained.value(torch.tensor(z), torch.Generator().manual_seed(1))
        assert found.value >= answer.certificate.lower_bound - 5 * found.standard_error


def test_single_samples_are_those_of_the_library():
    """One batch of collapsed classes, all pairs: pytorch-metric-learning against the definitions in cosines."""
    torch = pytest.importorskip("torch")
    losses = pytest.importorskip("pytorch_metric_learning.losses")
    from pytorch_metric_learning.distances import CosineSimilarity
    from pytorch_metric_learning.reducers import MeanReducer

    x = np.random.default_rng(3).normal(size=(3, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gram, labels = x @ x.T, np.repeat(np.arange(3), 2)
    z, y = torch.tensor(x[labels]), torch.tensor(labels)
    same = {"distance": CosineSimilarity(), "reducer": MeanReducer()}
    orbits = Orbits.trivial([1 / 3] * 3)

    def ours(name, parameters):
        return make_loss(name, parameters).objective(orbits).value(gram)

    soft = float(losses.TripletMarginLoss(margin=0.3, smooth_loss=True, **same)(z, y))
    assert soft == pytest.approx(ours("soft-margin-triplet", {"temperature": 1, "margin": 0.3}), rel=1e-12)
    hinge = float(losses.ContrastiveLoss(pos_margin=1, neg_margin=-0.2, **same)(z, y))
    assert hinge == pytest.approx(ours("contrastive", {"neg_margin": -0.2}), rel=1e-12)
    n_pair = float(losses.NPairsLoss(distance=CosineSimilarity())(z, y))
    assert n_pair == pytest.approx(ours("n-pair", {"temperature": 1}), rel=1e-12)
    soft_maxima = float(losses.MultiSimilarityLoss(alpha=2, beta=5, base=0.5, reducer=MeanReducer())(z, y))
    by_hand = np.mean(
        [0.2 * math.log1p(sum(2 * math.exp(5 * (g - 0.5)) for g in np.delete(gram[a], a))) for a in range(3)]
    )
    assert soft_maxima == pytest.approx(by_hand + 0.5 * math.log1p(math.exp(-2 * 0.5)), rel=1e-12)


@pytest.mark.parametrize("name", ["soft-margin-triplet", "contrastive"])
def test_levels(run, name):
    """Random positives cost more than collapsed ones, so that a random start may lie above collapse."""
    answer = run("levels", "--batch", "32", "--props", "0.5,0.3,0.2", "--loss", name, "--json")
    assert answer.code == 0
    assert answer.json["optimum"] <= min(answer.json["random_start"], answer.json["collapse"])
    collapse = {"soft-margin-triplet": math.log(2), "contrastive": 1.0}[name]
    assert answer.json["collapse"] == pytest.approx(collapse, rel=1e-12)
    orbits, dim, draws = Orbits.of([0.5, 0.3, 0.2]), 6, 400_000
    scale = make_loss(name, {}).levels(Training(name, orbits, 32, 2, instances=False, balanced=False))
    z = np.random.default_rng(5).normal(size=(2, draws, dim))
    near, far = (z / np.linalg.norm(z, axis=2, keepdims=True))[:, :, 0]
    cost = (
        np.log1p(np.exp((far - near) / 0.1))
        if name.startswith("soft")
        else np.maximum(1 - near, 0) + np.maximum(far, 0)
    )
    assert scale.random(dim) == pytest.approx(cost.mean(), abs=5 * cost.std() / draws**0.5)


def test_a_margin_out_of_reach_is_said(run):
    shown = run("imbalance", "--props", "0.4,0.3,0.2,0.1", "--loss", "contrastive", "--neg-margin", "-0.5")
    assert shown.code == 0
    assert "out of reach: 4 classes cannot all be at cosines of -0.5 or less, at best all at -0.3333" in " ".join(
        shown.stderr.split()
    )
    within = run("imbalance", "--props", "0.4,0.3,0.2,0.1", "--loss", "contrastive", "--neg-margin", "-1/3")
    assert "out of reach" not in within.stderr
    spread = run("imbalance", "--props", "0.5,0.5", "--loss", "contrastive", "--pos-margin", "0.8")
    assert "keep a spread" in spread.stderr


def test_endless_negatives_are_refused():
    with pytest.raises(InputError, match="without end") as caught:
        make_loss("multi-similarity", {"negatives": "inf"})
    assert caught.value.field == "loss.negatives"


DISTANCES = (
    ("contrastive-distance", {"neg_distance": 1.75}),
    ("contrastive-distance", {"neg_distance": 1.9, "sampling": "iid"}),
    ("contrastive-distance", {"neg_distance": 1.6, "squared": True}),
    ("contrastive-distance", {"neg_distance": 2.5}),
    ("lifted-structure", {"negatives": 3}),
    ("lifted-structure", {"negatives": 1, "neg_distance": 1.2, "sampling": "iid"}),
)
every_distance = pytest.mark.parametrize(("name", "parameters"), DISTANCES, ids=str)


def of_distances(name, parameters, p, distance, log_sum_exp, positive):
    """The loss of distances between classes of proportions ``p``, by its definition, with the functions given."""
    k, m, total = len(p), parameters.get("neg_distance", 1.0), 0.0
    for a in range(k):
        rest = 1.0 if parameters.get("sampling") == "iid" else 1 - p[a]
        others = [b for b in range(k) if b != a]
        if name == "lifted-structure":
            logs = [m - distance(a, b) + math.log(2 * parameters["negatives"] * p[b] / rest) for b in others]
            total += p[a] * positive(log_sum_exp(logs)) ** 2 / 2
        else:
            power = 2 if parameters.get("squared") else 1
            total += sum(p[a] * p[b] / rest * positive(m - distance(a, b)) ** power for b in others)
    return total


@every_distance
def test_losses_of_distances_are_their_definition_with_its_derivatives(name, parameters, rng):
    p = np.array([0.5, 0.3, 0.2])
    objective = make_loss(name, parameters).objective(Orbits.trivial(p))
    for _ in range(5):
        gram = random_gram(rng, 3)
        by_hand = of_distances(
            name,
            parameters,
            p,
            lambda a, b: math.sqrt(2 - 2 * gram[a, b]),  # noqa: B023
            lambda logs: math.log(sum(map(math.exp, logs))),
            lambda x: max(x, 0.0),
        )
        value, slope = objective.evaluate(gram)
        assert value == pytest.approx(by_hand, rel=1e-12)
        if objective.smooth:
            change, step = np.triu(rng.normal(size=(3, 3)), 1), 1e-6
            (up, ahead), (down, behind) = (objective.evaluate(gram + s * step * change) for s in (1, -1))
            assert np.sum(slope * change) == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-9)
            bent = objective.curvature(gram)(change)
            np.testing.assert_allclose(bent, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-7)


@every_distance
def test_losses_of_distances_agree_with_cvxpy_and_orbits_with_full_size(name, parameters):
    import cvxpy as cp

    p = np.array([0.4, 0.3, 0.15, 0.15])
    gram = cp.Variable((4, 4), PSD=True)
    cost = of_distances(
        name,
        parameters,
        p,
        lambda a, b: cp.sqrt(2 - 2 * gram[a, b]),
        lambda logs: cp.log_sum_exp(cp.hstack(logs)),
        cp.pos,
    )
    program = cp.Problem(cp.Minimize(cost), [cp.diag(gram) == 1])
    value = program.solve(solver="CLARABEL")
    small, full = Orbits.of(p), Orbits.trivial(p)
    one, other = (solve_objective(make_loss(name, parameters).objective(o), o) for o in (small, full))
    assert one.certificate.certified
    assert other.certificate.certified
    assert one.certificate.value == pytest.approx(value, abs=2e-6)
    assert other.certificate.value == pytest.approx(value, abs=2e-6)
    if make_loss(name, parameters).objective(small).unique_minimiser:
        np.testing.assert_allclose(small.lift(one.solution.cosines), gram.value, atol=2e-3)


def test_distances_of_the_library(rng):
    """pytorch-metric-learning as it comes: Euclidean distances, not squared, pos_margin 0 and neg_margin 1."""
    torch = pytest.importorskip("torch")
    losses = pytest.importorskip("pytorch_metric_learning.losses")
    from pytorch_metric_learning.reducers import MeanReducer

    gram = random_gram(rng, 3)
    w, v = np.linalg.eigh(gram)
    labels = np.repeat(np.arange(3), 4)
    z, y = torch.tensor((v * np.sqrt(np.maximum(w, 0)))[labels]), torch.tensor(labels)
    orbits = Orbits.trivial([1 / 3] * 3)

    def ours(name, **parameters):
        return make_loss(name, parameters).objective(orbits).value(gram)

    hinge = float(losses.ContrastiveLoss(neg_margin=1.3, reducer=MeanReducer())(z, y))
    assert hinge == pytest.approx(ours("contrastive-distance", neg_distance=1.3), rel=1e-6)
    lifted = float(losses.LiftedStructureLoss(neg_margin=0.7, reducer=MeanReducer())(z, y))
    # the negatives of both halves: of each of two other classes 4
    assert lifted == pytest.approx(ours("lifted-structure", neg_distance=0.7, negatives=8), rel=1e-6)


def test_classes_never_meet_in_losses_of_distances(run):
    """However skewed: the slope at one point has no bound, so that no threshold exists."""
    for loss in ("lifted-structure", "contrastive-distance"):
        asked = ("--loss", loss, "--neg-distance", "3")
        found = run("imbalance", "--props", "0.98,0.01,0.01", *asked, "--json").json
        assert found["certified"]
        assert found["structure"]["max_cosine"] < 1 - 1e-7
        told = run("threshold", "--props", "0.9,0.05,0.05", *asked, "--over", "majority")
        assert told.code == 0
        assert "no two share one" in " ".join(told.stdout.split())


def test_balanced_classes_on_distances_are_a_simplex():
    """K = 4, distance root(8/3): lifted (log(2 k) + 1 - root(8/3))^2 / 2."""
    orbits, d = Orbits.of([0.25] * 4), math.sqrt(8 / 3)
    for name, parameters, value in (
        ("lifted-structure", {"negatives": 5}, (math.log(10) + 1 - d) ** 2 / 2),
        ("contrastive-distance", {"neg_distance": 1.9}, 1.9 - d),
        ("contrastive-distance", {"neg_distance": 1.9, "squared": True}, (1.9 - d) ** 2),
        ("contrastive-distance", {}, 0.0),
    ):
        answer = solve_objective(make_loss(name, parameters).objective(orbits), orbits)
        assert answer.certificate.certified
        assert answer.certificate.value == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("name", ["lifted-structure", "contrastive-distance"])
def test_levels_of_distances(run, name, rng):
    """Collapse by hand; the random start against random directions, in the limit of many negatives."""
    asked = ("levels", "--batch", "32", "--classes", "3", "--loss", name, "--neg-distance", "1.5", "--dim", "8")
    answer = run(*asked, "--json")
    assert answer.code == 0
    z = rng.normal(size=(2, 100_000, 8))
    d = np.linalg.norm(z / np.linalg.norm(z, axis=2, keepdims=True) - np.eye(8)[0], axis=2)
    if name == "lifted-structure":
        collapse = (math.log(62) + 1.5) ** 2 / 2
        cost = (math.log(62) + 1.5 + math.log(np.exp(-d[1]).mean()) + d[0]) ** 2 / 2
    else:
        collapse, cost = 1.5, d[0] + np.maximum(1.5 - d[1], 0)
    assert answer.json["collapse"] == pytest.approx(collapse, rel=1e-9)
    assert answer.json["random_start"] == pytest.approx(cost.mean(), rel=5e-3)
    assert answer.json["optimum"] < min(answer.json["random_start"], collapse)


def test_a_distance_out_of_reach_is_said(run):
    shown = run("imbalance", "--props", "0.4,0.3,0.2,0.1", "--loss", "contrastive-distance", "--neg-distance", "1.8")
    assert "4 classes cannot all be 1.8 apart, at best all 1.633" in " ".join(shown.stderr.split())
    within = run("imbalance", "--props", "0.4,0.3,0.2,0.1", "--loss", "hadsell", "--neg-distance", "1.6", "--json")
    assert within.stderr == ""
    assert within.json["value"] == 0
    assert within.json["unique"] is False


def test_circle_is_refused_with_its_reason(run):
    shown = run("imbalance", "--props", "0.7,0.2,0.1", "--loss", "circle")
    assert shown.code == 2
    assert "constants by the gradient" in shown.stderr
    assert "circle" in run("list", "losses").stdout
    # at a right angle its value turns, so that no convex program is behind it
    value = [math.log1p(math.exp(10 * max(c + 0.4, 0) * (c - 0.4))) for c in (-0.2, 0.0, 0.2)]
    assert value[1] < min(value[0], value[2])
    assert math.log1p(math.exp(10 * max(-0.6 + 0.4, 0) * -1.0)) > value[1]


@pytest.mark.parametrize("name", ["SoftMarginTriplet", "ContrastiveLoss", "MultiSimilarityLoss", "NPairsLoss"])
def test_names_of_the_library_are_understood(name):
    from geomsolve.losses import find_loss

    assert find_loss(name).name in {"soft-margin-triplet", "contrastive", "multi-similarity", "n-pair"}


# --- batches of some classes, levels ----------------------------------------------------------------------------------


def test_n_pair_batches_of_some_classes(run):
    """A regular simplex whatever the proportions, and k of K - 1 terms; more classes than there are is refused."""
    asked = ("imbalance", "--props", "0.6,0.2,0.1,0.05,0.05", "--loss", "n-pair", "-t", "0.5")
    found = run(*asked, "--negatives", "2", "--json").json
    assert found["certified"]
    assert found["structure"]["kind"] == "regular simplex"
    assert found["value"] == pytest.approx(math.log1p(2 * math.exp(-5 / 4 / 0.5)), abs=1e-9)
    refused = run(*asked, "--negatives", "5")
    assert refused.code == 2
    assert "an anchor has 4 negatives at most" in refused.stderr


def unit(rng, *shape):
    x = rng.normal(size=shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_levels_of_n_pair(rng):
    """A batch of N = 3 of 5 classes, by hand and by random directions."""
    scale = make_loss("n-pair", {"temperature": 0.5}).levels(Training("n-pair", Orbits.equal(5), 3, 2, False, False))
    assert scale.collapse == pytest.approx(math.log(3), rel=1e-12)
    at_best = Orbits.equal(5).regular_simplex()
    assert scale.first.objective.value(at_best) == pytest.approx(math.log1p(2 * math.exp(-2.5)), rel=1e-9)
    x, y = unit(rng, 200_000, 6), unit(rng, 3, 200_000, 6)
    s = np.einsum("ad,nad->na", x, y) / 0.5
    cost = np.log(np.exp(s).sum(0)) - s[0]
    assert scale.random(6) == pytest.approx(cost.mean(), abs=5 * cost.std() / 200_000**0.5)


@pytest.mark.parametrize("sampling", ["iid", "supervised"])
def test_levels_of_multi_similarity(sampling, rng):
    """One positive and four negatives an anchor: of iid ones those of its own class cost nothing."""
    parameters = {"temperature": 0.2, "negatives": 4, "base": 0.3, "sampling": sampling, "alpha": 3.0}
    p, draws = np.array([0.6, 0.3, 0.1]), 200_000
    orbits = Orbits.of(p)
    scale = make_loss("multi-similarity", parameters).levels(Training("ms", orbits, 32, 2, False, False))
    anchors = rng.choice(3, size=draws, p=p)
    other = rng.random((4, draws)) >= (p[anchors] if sampling == "iid" else 0)
    together = math.log1p(math.exp(-3 * 0.7)) / 3
    # total collapse: every cosine is 1
    costs = 0.2 * np.log1p(other.sum(0) * math.exp(0.7 / 0.2))
    assert scale.collapse == pytest.approx(together + costs.mean(), abs=5 * costs.std() / draws**0.5 + 1e-12)
    c = unit(rng, 5, draws, 6)[:, :, 0]
    far = 0.2 * np.log1p((other * np.exp((c[1:] - 0.3) / 0.2)).sum(0))
    cost = np.log1p(np.exp(-3 * (c[0] - 0.3))) / 3 + far
    assert scale.random(6) == pytest.approx(cost.mean(), abs=5 * cost.std() / draws**0.5)
    assert scale.first.plus == pytest.approx(together, rel=1e-12)


@pytest.mark.parametrize("counts", [None, np.array([9.0, 4.0, 3.0])], ids=["with", "without replacement"])
def test_levels_of_l_in(counts, rng):
    """Optimum and collapse are those of supcon; the random start by batches drawn and embedded at random."""
    p, batch, dim = np.array([9, 4, 3]) / 16, 5, 6
    orbits = Orbits.of(p, counts)
    training = Training("supcon-in", orbits, batch, 2, instances=False, balanced=False, replacement=None)
    scale, outside = (make_loss(name, {"temperature": 0.5}).levels(training) for name in ("supcon-in", "supcon"))
    assert scale.collapse == outside.collapse
    assert scale.first.objective.value(orbits.regular_simplex()) == pytest.approx(
        outside.first.objective.value(orbits.regular_simplex()), rel=1e-12
    )
    costs = []
    for _ in range(4000):
        y = (
            rng.choice(3, size=batch, p=p)
            if counts is None
            else rng.permutation(np.repeat(np.arange(3), [9, 4, 3]))[:batch]
        )
        y = np.repeat(y, 2)
        z = unit(rng, 2 * batch, dim)
        weight = np.exp(z @ z.T / 0.5)
        np.fill_diagonal(weight, 0)
        same = (y[:, None] == y) & ~np.eye(2 * batch, dtype=bool)
        costs.append(np.mean(np.log(weight.sum(1) * same.sum(1) / (weight * same).sum(1))))
    assert scale.random(dim) == pytest.approx(np.mean(costs), abs=5 * np.std(costs) / 4000**0.5)


def test_levels_of_every_loss_of_metric_learning_on_the_command_line(run):
    for name in ("n-pair", "multi-similarity", "supcon-in"):
        found = run("levels", "--batch", "64", "--classes", "4", "--loss", name, "--loss-value", "0.9", "--json")
        assert found.code == 0
        assert found.json["certified"]
        assert found.json["optimum"] < min(found.json["random_start"], found.json["collapse"])
