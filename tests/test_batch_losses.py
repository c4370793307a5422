"""The batch losses of the descent check: published numbers, the library they can be replaced by, and definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from geomsolve.descent import batch_losses  # noqa: E402
from geomsolve.descent.negatives import KINDS, hardened, make, read_kinds, synthesise  # noqa: E402
from geomsolve.descent.population import Population, apportion  # noqa: E402
from geomsolve.descent.recipes import weince  # noqa: E402


def unit(*shape, seed=0):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(x, dim=-1)


def angles(*degrees):
    turns = torch.deg2rad(torch.tensor(degrees, dtype=torch.float64))
    return torch.stack([turns.cos(), turns.sin()], 1)


def pml_supcon(z, labels, temperature):
    from pytorch_metric_learning.losses import SupConLoss

    return SupConLoss(temperature=temperature)(z, labels)


def test_supcon_of_pytorch_metric_learnings_test_angles():
    z, labels = angles(0, 10, 20, 50, 60, 80), torch.tensor([0, 0, 0, 1, 1, 2])
    losses = batch_losses.supcon(z @ z.T, labels, 0.1)
    assert losses[5] == 0  # alone in its class
    assert losses[:5].mean().item() == pytest.approx(0.72006044, abs=1e-7)
    assert pml_supcon(z, labels, 0.1).item() == pytest.approx(0.72006044, abs=1e-7)


@pytest.mark.slow
def test_supcon_batch_bound_of_graf_et_al():
    """Dissecting Supervised Contrastive Learning, companion notebook: 2,002 multiset batches of 9 out of 6 samples."""
    simplex = angles(0, 120, 240)
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    own, library = 0.0, 0.0
    batches = list(itertools.combinations_with_replacement(range(6), 9))
    assert len(batches) == 2002
    for batch in batches:
        y = labels[list(batch)]
        z = simplex[y]
        own += batch_losses.supcon(z @ z.T, y, 1.0).sum().item()
        positives = sum((y == a).sum().item() for a in range(3) if (y == a).sum() > 1)
        library += pml_supcon(z, y, 1.0).item() * positives  # its mean leaves anchors without positives out
    # and a batch of a single class costs nothing there, though each of its anchors costs log 8
    library += 30 * 9 * math.log(8)
    assert own == pytest.approx(25205.688636803963, rel=1e-12)
    assert library == pytest.approx(25205.688636803963, rel=1e-9)


@pytest.mark.slow
def test_contrast_is_cross_entropy_on_the_positive():
    positive, negatives = torch.randn(5, dtype=torch.float64), torch.randn(5, 7, dtype=torch.float64)
    logits = torch.cat([positive[:, None], negatives], 1)
    want = torch.nn.functional.cross_entropy(logits, torch.zeros(5, dtype=torch.long), reduction="none")
    torch.testing.assert_close(batch_losses.contrast(positive, negatives, 1.0, 1.0), want)
    decoupled = torch.logsumexp(negatives, 1) - positive
    torch.testing.assert_close(batch_losses.contrast(positive, negatives, 0.0, 1.0), decoupled)
    mean = torch.log(positive.exp() + negatives.exp().mean(1)) - positive
    torch.testing.assert_close(batch_losses.contrast(positive, negatives, 1.0, 1 / 7), mean)


def test_triplet_is_torchs_hinge_on_halved_squared_distances():
    a, p, n = unit(6, 4, seed=1), unit(6, 4, seed=2), unit(6, 4, seed=3)
    half = torch.nn.functional.triplet_margin_with_distance_loss(
        a, p, n, distance_function=lambda x, y: (x - y).square().sum(1) / 2, margin=0.7, reduction="none"
    )
    torch.testing.assert_close(batch_losses.triplet((a * p).sum(1), (a * n).sum(1), 0.7), half)


def test_sigmoid_is_binary_cross_entropy_on_both_pairs():
    positive, negative = torch.tensor([0.9, 0.1]).double(), torch.tensor([-0.3, 0.8]).double()
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    want = [
        bce((torch.stack([p, n]) / 0.5 - 1.5), torch.tensor([1.0, 0.0]).double(), reduction="sum")
        for p, n in zip(positive, negative, strict=True)
    ]
    torch.testing.assert_close(batch_losses.sigmoid(positive, negative, 0.5, 1.5), torch.stack(want))
    alone = batch_losses.sigmoid(positive, torch.full((2,), -torch.inf).double(), 0.5, 1.5)
    torch.testing.assert_close(alone, torch.nn.functional.softplus(1.5 - positive / 0.5))


# ---- draws


def test_apportion_gives_every_class_two():
    assert apportion([0.97, 0.02, 0.01], 64) == [62, 2, 2]


def test_draws_have_the_chances_they_should():
    population = Population.of([0.6, 0.3, 0.1], [5, 2, 4])
    generator = torch.Generator().manual_seed(0)
    n = 200_000
    counts = torch.bincount(population.draw((n,), generator), minlength=11).numpy() / n
    want = np.array([0.12] * 5 + [0.15] * 2 + [0.025] * 4)
    assert np.abs(counts - want).max() < 5 * math.sqrt(0.25 / n)

    anchors = torch.full((n,), 5)  # of class 1
    negatives = population.draw_negatives(anchors, 1, "supervised", generator)[:, 0]
    counts = torch.bincount(negatives, minlength=11).numpy() / n
    want[5:7] = 0
    assert counts[5] == counts[6] == 0
    assert np.abs(counts - want / want.sum()).max() < 5 * math.sqrt(0.25 / n)

    positives = torch.bincount(population.draw_positives(torch.zeros(n).long(), generator), minlength=11).numpy() / n
    assert positives[0] == 0
    assert np.abs(positives[1:5] - 0.25).max() < 5 * math.sqrt(0.25 / n)


def test_only_sample_of_its_class_is_its_own_positive():
    population = Population.of([0.5, 0.5], [1, 3])
    generator = torch.Generator().manual_seed(0)
    assert population.draw_positives(torch.tensor([0]), generator).item() == 0
    assert population.positives(torch.tensor([0]))[0].tolist() == [1, 0, 0, 0]


def test_sample_that_stands_for_ten_meets_itself_a_tenth_as_often():
    population = Population.of([0.5, 0.5], [2, 2], stands_for=10)
    generator = torch.Generator().manual_seed(0)
    n = 100_000
    drawn = population.draw_negatives(torch.zeros(n).long(), 1, "iid", generator)[:, 0]
    counts = torch.bincount(drawn, minlength=4).numpy() / n
    chance = population.log_negatives(torch.tensor([0]), "iid").exp().numpy()[0]
    np.testing.assert_allclose(chance, [0.025, 0.475, 0.25, 0.25])
    assert np.abs(counts - chance).max() < 5 * math.sqrt(0.25 / n)


# ---- synthetic negatives


def test_kinds_by_number_and_name():
    assert read_kinds("synco") == tuple(KINDS)
    assert read_kinds("synco:3,1") == ("interpolated", "mixed")
    assert read_kinds("synco:noisy") == ("noisy",)
    for text, part in (("other", "unknown synthetic"), ("synco:7", "'7'"), ("synco:nosy", "'noisy'")):
        with pytest.raises(ValueError, match=part):
            read_kinds(text)


def test_counts_scale_with_the_hard_negatives():
    for negatives, counts in ((5000, [256, 256, 256, 64, 64, 64]), (16, [4, 4, 4, 1, 1, 1])):
        made = [
            synthesise((kind,), unit(2, 3), unit(2, negatives, 3), torch.Generator().manual_seed(0)).shape
            for kind in KINDS
        ]
        assert made == [(2, count, 3) for count in counts]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_made_by_its_formula(kind):
    q, n, other = unit(50, 1, 6, seed=1), unit(50, 8, 6, seed=2), unit(50, 8, 6, seed=3)
    made = make(kind, q, n, other, torch.Generator().manual_seed(0))
    q = q.expand_as(n)
    if kind == "interpolated":  # a q + (1 - a) n
        share = ((made - n) * (q - n)).sum(2) / (q - n).square().sum(2)
        torch.testing.assert_close(made, n + share[..., None] * (q - n))
        assert 0 <= share.min() < 0.02
        assert 0.48 < share.max() <= 0.5
    elif kind == "extrapolated":  # n + b (n - q)
        share = ((made - n) * (n - q)).sum(2) / (n - q).square().sum(2)
        torch.testing.assert_close(made, n + share[..., None] * (n - q))
        assert 1 <= share.min() < 1.02
        assert 1.48 < share.max() <= 1.5
    elif kind == "mixed":
        share = ((made - other) * (n - other)).sum(2) / (n - other).square().sum(2)
        torch.testing.assert_close(made, other + share[..., None] * (n - other))
        assert 0 <= share.min() < 0.02
        assert 0.98 < share.max() <= 1
    elif kind == "noisy":
        assert (made - n).std().item() == pytest.approx(0.01, rel=0.05)
    else:  # a step of 0.01 along the gradient of q.n, or its sign
        point = n.clone().requires_grad_()
        (gradient,) = torch.autograd.grad((q * point).sum(), point)
        torch.testing.assert_close(made - n, 0.01 * (gradient if kind == "perturbed" else gradient.sign()))


def test_synthetic_negatives_are_unit_detached_and_from_the_hardest():
    q = unit(3, 5, seed=1).requires_grad_()
    easy = -q.detach()[:, None].expand(-1, 2000, -1) + 0.1 * unit(3, 2000, 5, seed=2)
    hard = q.detach()[:, None].expand(-1, 1024, -1) + 0.1 * unit(3, 1024, 5, seed=3)
    n = torch.nn.functional.normalize(torch.cat([easy, hard], 1), dim=2)
    made = synthesise(("noisy", "mixed"), q, n, torch.Generator().manual_seed(0))
    assert made.shape == (3, 320, 5)
    assert not made.requires_grad
    torch.testing.assert_close(made.norm(dim=2), torch.ones(3, 320, dtype=torch.float64))
    assert torch.einsum("ad,amd->am", q, made).min() > 0.9


def test_hardness_weights_average_one():
    cosines, logits = torch.rand(4, 9).double(), torch.zeros(4, 9).double()
    torch.testing.assert_close(hardened(cosines, logits, 3.0).exp().mean(1), torch.ones(4).double())
    weights = hardened(cosines, logits, 3.0).exp()
    torch.testing.assert_close((weights[:, 1] / weights[:, 0]).log(), 3 * (cosines[:, 1] - cosines[:, 0]))


# ---- WEINCE


@pytest.mark.parametrize("beta", [0.7, 1.0, 2.5])
def test_exact_weibull_tail_gives_its_shape(beta):
    k = 200
    rank = torch.arange(1, k + 1, dtype=torch.float64)
    delta = 0.5 * (rank / 33) ** (1 / beta)  # F = rank / (32 + 1) is proportional to delta^beta
    cosines = (1 - delta / delta.max() * 1.5).expand(3, -1)
    weight, shape = weince.statistics(cosines)
    torch.testing.assert_close(shape, torch.full((3,), beta).double())
    assert ((weight > 0) & (weight < 1)).all()
    # rho is the same for all anchors, so the first sigmoid is 1/2, and an exact fit makes the second 1
    torch.testing.assert_close(weight, torch.full((3,), 0.5).double())


def test_gumbel_tail_gets_no_weight():
    k = 200
    rank = torch.arange(1, k + 1, dtype=torch.float64)
    delta = (-(torch.minimum(rank, torch.tensor(32.5)) / 33).log()) ** -0.5  # log(-log F) is straight in log delta
    delta = delta + torch.where(rank > 32, rank, 0.0)
    weight, shape = weince.statistics(1 - delta.expand(2, -1) / delta.max())
    assert weight.max() < 1e-3
    assert (shape >= 0).all()


def test_statistics_carry_no_gradient_and_survive_coinciding_negatives():
    cosines = torch.ones(4, 64, dtype=torch.float64, requires_grad=True)
    weight, shape = weince.statistics(cosines)
    assert not weight.requires_grad
    assert torch.isfinite(weight).all()
    assert torch.isfinite(shape).all()
    assert (shape >= 0).all()
