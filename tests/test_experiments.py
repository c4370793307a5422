"""Each experiment has the population objective as its expectation, and never less than the certified bound."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from geomsolve import Imbalance, make_loss, solve  # noqa: E402
from geomsolve.descent import experiments  # noqa: E402
from geomsolve.descent.experiments import AllSamples  # noqa: E402
from geomsolve.descent.population import Population  # noqa: E402
from geomsolve.descent.recipes import experiment, missing, pml_experiment  # noqa: E402
from geomsolve.gram.orbits import Orbits  # noqa: E402
from geomsolve.losses import REGISTRY, ClassifierLoss  # noqa: E402

COUNTS = (8, 4, 3, 1)
PROPS = tuple(n / 16 for n in COUNTS)
MARGINS = ((0, 0.1, 0.2, 0.1), (0.1, 0, 0.1, 0.3), (0.2, 0.1, 0, 0), (0, -0.2, 0, 0))
CASES = [
    ("supcon", {"temperature": 0.5}),
    ("supcon", {"temperature": 0.5, "batch": 5}),
    ("supcon", {"temperature": 0.3, "batch": 3, "views": 3}),
    ("supcon", {"temperature": 0.5, "full_batch": True}),
    ("supcon", {"temperature": 0.5, "batch": 5, "views": 1}),
    ("supcon", {"temperature": 0.5, "batch": 5, "replacement": "no"}),
    ("supcon", {"temperature": 0.3, "batch": 6, "views": 1, "replacement": "no"}),
    ("supcon", {"temperature": 0.5, "batches": ((1, 2, 3), (2, 4))}),
    ("supcon", {"temperature": 0.5, "batch": 5, "sampler": 0.5, "anchor_weights": "balanced", "logit_adjust": 1.0}),
    ("supcon", {"temperature": 0.5, "batch": 5, "denominator": "balanced", "pair_margin": MARGINS}),
    ("supcon", {"temperature": 0.5, "anchor_weights": "balanced", "pair_margin": MARGINS}),
    ("nt-xent", {"temperature": 0.5, "batch": 5}),
    ("nt-xent", {"temperature": 0.4, "batch": 5, "views": 1, "sampler": 0.5}),
    ("nt-xent", {"temperature": 0.5, "batch": 6, "views": 3, "replacement": "no"}),
    ("infonce", {"temperature": 0.5}),
    ("infonce", {"temperature": 0.5, "form": "mean", "sampling": "supervised"}),
    ("infonce", {"temperature": 0.7, "negatives": 3}),
    ("infonce", {"temperature": 0.7, "negatives": 6, "form": "mean", "sampling": "supervised"}),
    ("infonce", {"temperature": 0.7, "hardness": 2.0}),
    ("infonce", {"form": "mean", "temperature": 0.5, "sampling": "supervised", "sampler": 0.5, "pair_margin": MARGINS}),
    ("dcl", {"temperature": 0.5, "sampling": "supervised"}),
    ("dcl", {"temperature": 0.5, "anchor_weights": "balanced", "denominator": "balanced"}),
    ("dcl", {"temperature": 0.5, "negatives": 4}),
    ("soft-supcon", {"temperature": 0.5, "epsilon": 0.05}),
    ("triplet", {"margin": 1.3}),
    ("triplet", {"margin": 1.3, "sampling": "iid"}),
    ("sigmoid", {"temperature": 0.4, "bias": 1.0}),
    ("sigmoid", {"temperature": 0.4, "bias": -1.0, "sampling": "iid"}),
    ("spectral", {}),
    ("pairwise", {"psi": "log1p(exp(5*(x-0.3)))"}),
    ("pairwise", {"psi": "cosh(2*x) - x/3", "sampling": "iid"}),
    ("align-uniform", {"uniform_t": 1.5}),
    ("weince", {"temperature": 0.5, "delta": 0.1}),
    ("weince", {"temperature": 0.5, "delta": 0.1, "sampling": "supervised"}),
    ("kcl", {"temperature": 0.5}),
    ("kcl", {"temperature": 0.5, "batch": 6, "positives": 1}),
    ("bcl", {"temperature": 0.5}),
    ("bcl", {"temperature": 0.5, "batch": 5}),
    ("bcl", {"temperature": 0.3, "batch": 5, "views": 1}),
    ("tsc", {"temperature": 0.5, "positives": 2, "target_weight": 3.0}),
    ("contrastive", {"pos_margin": 0.9, "neg_margin": -0.2}),
    ("contrastive-distance", {"neg_distance": 1.7, "pos_distance": 0.1}),
    ("lifted-structure", {"negatives": 3}),
    ("lifted-structure", {"negatives": 2, "sampling": "iid", "neg_distance": 0.5}),
    ("soft-margin-triplet", {"temperature": 0.5, "margin": 0.3}),
    ("multi-similarity", {"temperature": 0.5, "negatives": 3}),
    ("n-pair", {"temperature": 0.5}),
    ("n-pair", {"temperature": 0.5, "negatives": 2}),
    ("supcon-in", {"temperature": 0.5}),
]
IDS = [f"{name}-{'-'.join(map(str, parameters.values()))}" for name, parameters in CASES]


def features(seed, rows=None, dim=4):
    shape = (rows or 4, dim)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(x, dim=1)


def trial(name, parameters, sizes=None):
    full = parameters.get("full_batch") or "replacement" in parameters
    return experiment(make_loss(name, parameters), Population.of(PROPS, COUNTS if full or not sizes else sizes))


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=IDS)
def test_loss_knows_whether_it_reads_the_whole_set(name, parameters):
    assert make_loss(name, parameters).reads_whole_set == trial(name, parameters).whole


def test_weince_without_a_floor_draws_negatives():
    loss = make_loss("weince", {})
    assert not loss.reads_whole_set
    assert not experiment(loss, Population.of(PROPS, COUNTS)).whole


def value(ex, z, seed=0):
    return ex.value(z, torch.Generator().manual_seed(seed))


@pytest.fixture
def rough(monkeypatch):
    """Estimates that are quick: their standard errors say how rough they are."""
    monkeypatch.setattr(experiments, "STANDARD_ERROR", 1e-3)


def test_every_loss_has_an_experiment_and_a_case():
    of_points = {name for name, cls in REGISTRY.items() if not issubclass(cls, ClassifierLoss)}
    assert {name for name in of_points if not missing(make_loss(name, {}))} == of_points == {name for name, _ in CASES}


@pytest.mark.slow
@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize(("name", "parameters"), CASES, ids=IDS)
def test_on_collapsed_classes_the_expectation_is_the_objective(name, parameters):
    """Two independent routes to one number, at a geometry that is nobody's optimum."""
    means = features(1)
    ex = trial(name, parameters, sizes=(3, 2, 2, 2))
    found = value(ex, means[ex.row_labels])
    orbits = Orbits.trivial(PROPS, COUNTS)
    want = make_loss(name, parameters).objective(orbits).value((means @ means.T).numpy())
    if isinstance(ex, AllSamples):
        assert found.standard_error == 0
        assert found.value == pytest.approx(want, rel=1e-12)
    else:
        assert 0 <= found.standard_error < 2e-3
        assert found.value == pytest.approx(want, abs=4 * found.standard_error + 1e-12)


@pytest.mark.slow
@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize(("name", "parameters"), [case for case in CASES if "hardness" not in case[1]])
def test_no_features_go_below_the_certified_bound(name, parameters):
    """Scattered classes too: near the optimum, where it would show, and anywhere."""
    report = solve(Imbalance(counts=COUNTS, loss={"name": name, **parameters}))
    assert report.certified
    w, v = np.linalg.eigh(report.gram)
    best = torch.from_numpy(v * np.sqrt(np.maximum(w, 0)))
    ex = trial(name, parameters)
    for seed, scatter in enumerate((0.0, 0.02, 0.2, 1.0)):
        noise = features(seed, rows=ex.rows)
        z = torch.nn.functional.normalize((1 - scatter) * best[ex.row_labels] + scatter * noise, dim=1)
        found = value(ex, z)
        assert found.value + 4 * found.standard_error >= report.lower_bound - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameters"), CASES[:16])
def test_steps_average_to_the_value(name, parameters):
    ex = trial(name, parameters, sizes=(3, 2, 2, 2))
    z = features(3, rows=ex.rows)
    generator = torch.Generator().manual_seed(5)
    steps = torch.stack([ex.step(z, generator) for _ in range(1 if ex.whole else 600)])
    found = value(ex, z)
    error = 0 if ex.whole else float(steps.std()) / math.sqrt(len(steps))
    assert float(steps.mean()) == pytest.approx(found.value, abs=4 * math.hypot(error, found.standard_error) + 1e-12)


@pytest.mark.slow
def test_supcon_batches_by_enumeration():
    """All class draws of two other samples, on scattered features: the estimate against the definition."""
    ex = trial("supcon", {"temperature": 0.5, "batch": 3, "views": 2}, sizes=(2, 2, 1, 1))
    z = features(4, rows=ex.rows)
    q, labels = ex.population.weights.tolist(), ex.population.labels.tolist()
    s = (z @ z.T / 0.5).numpy()
    total = 0.0
    for i, j, k in itertools.product(range(6), repeat=3):
        rows = [2 * i, 2 * i + 1, 2 * j, 2 * j + 1, 2 * k, 2 * k + 1]
        for a in (0, 1):
            others = [b for b in range(6) if b != a]
            terms = [s[rows[a], rows[b]] for b in others]
            positive = [t for t, b in zip(terms, others, strict=True) if labels[rows[b] // 2] == labels[i]]
            loss = math.log(sum(map(math.exp, terms))) - sum(positive) / len(positive)
            total += q[i] * q[j] * q[k] * loss / 2
    found = value(ex, z)
    assert found.value == pytest.approx(total, abs=4 * found.standard_error)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dcl", "triplet", "supcon"])
def test_standard_errors_are_honest(name, monkeypatch):
    monkeypatch.setattr(experiments, "STANDARD_ERROR", 3e-3)
    monkeypatch.setattr(experiments, "BLOCK", 2**14)
    ex = trial(
        name,
        {"dcl": {"negatives": 4}, "triplet": {"margin": 1.5}, "supcon": {"batch": 6}}[name]
        | ({} if name == "triplet" else {"temperature": 0.5}),
    )
    z = features(6, rows=ex.rows)
    found = [value(ex, z, seed) for seed in range(60)]
    spread = np.std([f.value for f in found], ddof=1)
    stated = np.mean([f.standard_error for f in found])
    assert 0.7 < spread / stated < 1.4  # five standard deviations of a spread of sixty


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameters"), [case for case in CASES if trial(*case).whole])
def test_blocks_change_nothing(name, parameters, monkeypatch):
    def step(ex):
        raw = features(7, rows=ex.rows).requires_grad_()
        loss = ex.step(torch.nn.functional.normalize(raw, dim=1), torch.Generator())
        return loss.detach(), *torch.autograd.grad(loss, raw)

    whole = step(trial(name, parameters))
    monkeypatch.setattr(experiments, "BLOCK", 50)
    torch.testing.assert_close(step(trial(name, parameters)), whole)


def test_at_the_usual_weight_of_alignment_classes_do_not_collapse():
    """Spreading a class lowers align-uniform with weight 1 and s = 2, and raises it with the weight used here."""
    ex = trial("align-uniform", {"uniform_t": 2.0}, sizes=(6, 4, 4, 4))
    simplex = torch.from_numpy(np.linalg.cholesky(np.eye(4) * 4 / 3 - 1 / 3 + 1e-12 * np.eye(4)))
    tight = torch.nn.functional.normalize(simplex, dim=1)[ex.row_labels]
    loose = torch.nn.functional.normalize(tight + 0.1 * features(8, rows=ex.rows), dim=1)
    usual = trial("align-uniform", {"uniform_t": 2.0}, sizes=(6, 4, 4, 4))
    usual.weight = 1.0
    assert value(usual, loose).value < value(usual, tight).value
    assert value(ex, loose).value > value(ex, tight).value


# ---- pytorch-metric-learning


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("supcon", {"temperature": 0.5, "batch": 12}),
        ("supcon", {"temperature": 0.3, "full_batch": True}),
        ("infonce", {"temperature": 0.5, "negatives": 5}),
        ("infonce", {"temperature": 0.5, "negatives": 5, "sampling": "supervised"}),
    ],
)
def test_the_library_gives_the_same_steps(name, parameters, monkeypatch):
    loss, population = make_loss(name, parameters), Population.of(PROPS, COUNTS)
    own, library = experiment(loss, population), pml_experiment(loss, population)
    if name == "infonce":
        monkeypatch.setattr(type(own), "anchors", property(lambda self: 64))
        monkeypatch.setattr(type(library), "anchors", property(lambda self: 64))
    z = features(9, rows=own.rows)
    for seed in range(5):
        one = own.step(z, torch.Generator().manual_seed(seed))
        other = library.step(z, torch.Generator().manual_seed(seed))
        torch.testing.assert_close(one, other)
