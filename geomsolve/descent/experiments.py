"""Which experiment on single samples has exactly the population objective of ``losses/`` as its expectation?

Samples i are drawn with chance q_i; all classes have several, and nothing makes them coincide.  Then, by convexity and
Jensen, no features whatever have a smaller expected loss than the certified lower bound for collapsed classes.

    infonce, dcl; k negatives     each anchor: a random positive, k random negatives
    infonce, dcl; k = inf         each anchor: every positive in turn, the denominator averaged over all samples
    supcon, batch B, views V      B random samples, each with V features of its own; the usual batch loss
    supcon, full batch            all samples, one batch; the usual batch loss
    supcon, population limit      the batch loss on all samples, each weighted by its share (the anchor included)
    soft-supcon                   the same, with positives of weight 1 within the class and epsilon across
    triplet, sigmoid, spectral    each anchor: a random positive, a random negative
    align-uniform                 weight * mean |x - x+|^2 + log of the mean potential over all pairs of samples
    weince with a floor           like infonce in its mean form at k = inf, with fixed weight and shape

What the objectives leave out as constant is subtracted: sigmoid's positive half and spectral's -2 at cosine 1, and the
log k of the sum form in the limit.  For align-uniform the alignment must weigh enough for classes to collapse at all:
it does if weight > s max_a p_a / sum_a p_a^2 (derived: concavity of the logarithm bounds what spreading a class can
gain), and the experiment takes twice that; at the usual weight 1 and s = 2 classes do *not* collapse.

The experiments on all samples have no sampling error.  The others are estimated with every sample as an anchor equally
often, weighted by q_i, and independent draws, with a standard error.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus
from torch.utils.checkpoint import checkpoint

from geomsolve.descent import batch_losses, weince
from geomsolve.descent.negatives import hardened, synthesise
from geomsolve.descent.population import Population
from geomsolve.errors import InputError
from geomsolve.losses import Loss

BLOCK = 2**22
"""Entries (of a matrix of cosines, or of drawn features) that are held at once."""

STEP_DRAWS, FEWEST_ANCHORS, MOST_ANCHORS = 2**13, 32, 256
"""About how many samples a training step draws, if each anchor has draws of its own, and how many anchors it has."""

STANDARD_ERROR = 2e-4
"""A value is estimated until its standard error is this small (relative above 1), or :data:`MOST_DRAWS` are spent."""

MOST_DRAWS = 2**25
"""Most draws (of single samples) that an estimate may take."""


@dataclass(frozen=True)
class Estimate:
    """A value in nats; ``standard_error`` is 0 where nothing was sampled."""

    value: float
    standard_error: float = 0.0


def in_blocks(n: int, size: int, device: torch.device) -> list[Tensor]:
    """0, ..., n - 1 in blocks of ``size``, or one by one where that is 0."""
    return list(torch.arange(n, device=device).split(max(1, size)))  # type: ignore[no-untyped-call]


class Features:
    """Unit vectors ``z`` (R, d); ``table`` holds all their cosines where many are asked for again and again."""

    def __init__(self, z: Tensor, *, table: bool = False) -> None:
        self.z = z
        self.table = z @ z.T if table else None

    def cosines(self, anchors: Tensor, others: Tensor) -> Tensor:
        """(A, k) between ``anchors`` (A,) and ``others`` (A, k)."""
        if self.table is not None:
            return self.table[anchors[:, None], others]
        return torch.einsum("ad,akd->ak", self.z[anchors], self.z[others])


class Experiment(ABC):
    """One loss on one population.  ``whole``: every step sees all samples, so that it has no sampling error.

    ``spherical``: features are unit vectors; else they are anywhere in space.
    """

    whole: bool
    spherical: bool = True

    def __init__(self, population: Population) -> None:
        self.population = population

    @property
    def rows(self) -> int:
        """How many feature vectors there are."""
        return len(self.population)

    @property
    def row_weights(self) -> Tensor:
        """(R,) share of each feature vector, sum 1."""
        return self.population.weights

    @property
    def row_labels(self) -> Tensor:
        """(R,) class of each feature vector."""
        return self.population.labels

    @abstractmethod
    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        """The loss of one training step, for unit vectors ``z`` (R, d)."""

    @abstractmethod
    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        """The expected loss of unit vectors ``z`` (R, d)."""


class AllSamples(Experiment):
    """An experiment whose every step sees all samples: a loss for each anchor from its cosines to all others."""

    whole = True

    @abstractmethod
    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        """What the losses of anchors ``rows`` (R,) need beside their cosines: masks and weights (R, N)."""

    @abstractmethod
    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        """(R,) for anchors with ``cosines`` (R, N) to all samples and their :meth:`frame`."""

    def compared(self, some: Tensor, z: Tensor) -> Tensor:
        """(R, N): how alike ``some`` features (R, d) and all features (N, d) are: their cosines."""
        return some @ z.T

    def total(self, losses: Tensor) -> Tensor:
        """The loss from the losses of all anchors (N,): their mean, weighted by share."""
        return self.population.weights @ losses

    @cached_property
    def _whole_frame(self) -> tuple[Tensor, ...]:
        return self.frame(torch.arange(self.rows, device=self.population.device))

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        if self.rows**2 <= BLOCK:
            return self.total(self.anchor_losses(self.compared(z, z), *self._whole_frame))

        def block(z: Tensor, rows: Tensor) -> Tensor:
            return self.anchor_losses(self.compared(z[rows], z), *self.frame(rows))

        # a block's matrices are thrown away and made again on the way back: memory stays at one block
        blocks = in_blocks(self.rows, BLOCK // self.rows, z.device)
        return self.total(torch.cat([checkpoint(block, z, rows, use_reentrant=False) for rows in blocks]))

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        with torch.no_grad():
            return Estimate(float(self.step(z, generator)))


class Denominator(AllSamples):
    """mean over positives j of log( a0 e^{l_ij} + sum_c R_ic e^{l_ic} ) - l_ij, with logits l of the cosines."""

    def __init__(
        self,
        population: Population,
        logit: Callable[[Tensor], Tensor],
        *,
        own: float = 0.0,
        sampling: str = "iid",
        hardness: float = 0.0,
    ) -> None:
        super().__init__(population)
        self.logit, self.own, self.sampling, self.hardness = logit, own, sampling, hardness

    def positives(self, rows: Tensor) -> Tensor:
        """(R, N) weight of each sample as a positive of anchors ``rows``, sum 1."""
        return self.population.positives(rows)

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        return self.positives(rows), self.population.log_negatives(rows, self.sampling)

    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        positives, chance = frame
        logits = self.logit(cosines)
        crowd = torch.logsumexp(logits + chance + self.hardness * cosines, 1, keepdim=True)
        if self.hardness:
            crowd = crowd - torch.logsumexp(chance + self.hardness * cosines, 1, keepdim=True)
        denominator = torch.logaddexp(logits, crowd) if self.own else crowd
        return (positives * (denominator - logits)).sum(1)


class Weighted(Denominator):
    """Weighted InfoNCE: every sample is a positive of every other, by a weight that their classes have.

    ``log_weights`` (K, K) between classes, -inf for weight 0.  ``itself``: whether a sample is a positive of, and
    compared with, itself.  ``columns``: w_ij is divided by the sum over i, not over j.
    ``similarity`` is 'cosine', or 'euclidean' for s = -|z_i - z_j|^2 / (2 tau) and features anywhere in space.
    """

    def __init__(
        self,
        population: Population,
        temperature: float,
        log_weights: Tensor,
        *,
        itself: bool = True,
        columns: bool = False,
        similarity: str = "cosine",
    ) -> None:
        super().__init__(population, lambda alike: alike / temperature)
        self.itself, self.columns, self.spherical = itself, columns, similarity == "cosine"
        self.log_weights = log_weights

    def compared(self, some: Tensor, z: Tensor) -> Tensor:
        if self.spherical:
            return some @ z.T
        return -(some[:, None] - z).square().sum(2) / 2

    def _weights(self, rows: Tensor) -> Tensor:
        """(R, N) log of w_ij q_j."""
        labels, weights = self.population.labels, self.population.weights
        logs = self.log_weights[labels[rows]][:, labels] + weights.log()
        return logs if self.itself else logs.masked_fill(self._own(rows), -torch.inf)

    def _own(self, rows: Tensor) -> Tensor:
        return rows[:, None] == torch.arange(self.rows, device=rows.device)

    @cached_property
    def _sums(self) -> Tensor:
        """(N,) log of each sample's sum of weights."""
        blocks = in_blocks(self.rows, BLOCK // self.rows, self.population.device)
        return torch.cat([torch.logsumexp(self._weights(rows), 1) for rows in blocks])

    def positives(self, rows: Tensor) -> Tensor:
        return torch.nan_to_num(
            (self._weights(rows) - (self._sums if self.columns else self._sums[rows][:, None])).exp()
        )

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        chance = self.population.log_negatives(rows, "iid")
        if not self.itself:
            chance = chance.masked_fill(self._own(rows), -torch.inf)
            chance = chance - torch.log1p(-self.population.weights[rows])[:, None]
        return self.positives(rows), chance


class FullBatch(AllSamples):
    """SupCon on one batch that holds every sample once; an anchor that is alone in its class costs nothing."""

    def __init__(self, population: Population, temperature: float) -> None:
        super().__init__(population)
        self.temperature = temperature

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        itself = rows[:, None] == torch.arange(self.rows, device=rows.device)
        alone = self.population.sizes[self.population.labels[rows]] == 1
        return itself, self.population.positives(rows), alone

    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        itself, positives, alone = frame
        logits = cosines / self.temperature
        attraction = (positives * logits).sum(1)
        logits = logits.masked_fill(itself, -torch.inf)
        return torch.where(alone, 0.0, torch.logsumexp(logits, 1) - attraction)


class AlignUniform(AllSamples):
    """Alignment plus uniformity (Wang & Isola 2020): log sum_ij q_i q_j e^{-s |z_i - z_j|^2} is not a mean of anchors,
    so each anchor gives the log of its row and its alignment."""

    def __init__(self, population: Population, sharpness: float) -> None:
        super().__init__(population)
        p = population.proportions
        self.sharpness = sharpness
        self.weight = 2 * sharpness * float(p.max() / p.square().sum())

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        return self.population.positives(rows), self.population.log_negatives(rows, "iid")

    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        """(R, 2): the log of each anchor's row and its alignment."""
        positives, chance = frame
        square = 2 - 2 * cosines
        row = torch.logsumexp(chance - self.sharpness * square, 1)
        return torch.stack([row, (positives * square).sum(1)], 1)

    def total(self, losses: Tensor) -> Tensor:
        q = self.population.weights
        return torch.logsumexp(q.log() + losses[:, 0], 0) + self.weight * (q @ losses[:, 1])


class RandomDraws(Experiment):
    """An experiment in which every anchor has its own random draws.

    ``sample`` also gives a figure whose expectation is known exactly (:meth:`control_mean`) and with which the loss
    nearly rises and falls, such as the mean of e^{s - 1/tau} over an anchor's negatives.  The estimate regresses it out
    (a control variate).
    """

    whole = False
    draws: int
    """Samples drawn for one anchor."""

    @property
    def anchors(self) -> int:
        """Anchors of a training step."""
        return min(MOST_ANCHORS, max(FEWEST_ANCHORS, STEP_DRAWS // self.draws))

    @abstractmethod
    def sample(self, features: Features, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Losses (A,) and controls (A,) of anchors (A,), which are rows of the features, each with new draws."""

    @abstractmethod
    def control_mean(self, features: Features, rows: Tensor) -> Tensor:
        """(A,) expectation of the control for each anchor in ``rows``."""

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        anchors = self.population.draw((self.anchors,), generator)
        return self.sample(Features(z), anchors, generator)[0].mean()

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        n = self.rows
        features = Features(z, table=n * n <= 4 * BLOCK)
        width = self.draws * (1 if features.table is not None else z.shape[1])
        repeats = max(1, BLOCK // (n * width))
        sums = torch.zeros((5, n), dtype=z.dtype, device=z.device)
        count = 0
        with torch.no_grad():
            blocks = in_blocks(n, BLOCK // n, z.device)
            expected = torch.cat([self.control_mean(features, rows) for rows in blocks])
            while True:
                for rows in in_blocks(n, BLOCK // (width * repeats), z.device):
                    pair = self.sample(features, rows.repeat_interleave(repeats), generator)
                    loss, control = (part.reshape(rows.numel(), repeats) for part in pair)
                    control = control - expected[rows, None]
                    terms = (loss, control, loss * loss, loss * control, control * control)
                    sums[:, rows] += torch.stack([term.sum(1) for term in terms])
                count += repeats
                if count > 1:
                    estimate = regress(sums / count, self.row_weights, self.row_labels, count)
                    enough = estimate.standard_error <= STANDARD_ERROR * max(1.0, abs(estimate.value))
                    if enough or count * n * self.draws >= MOST_DRAWS:
                        return estimate


def regress(moments: Tensor, weights: Tensor, labels: Tensor, count: int) -> Estimate:
    """The weighted mean of the losses, their controls regressed out with one slope a class.

    ``moments`` (5, R): means of loss, control, loss^2, loss * control and control^2 over ``count`` draws a row.  One
    slope a row would fit a few draws too well, and understate the error.
    """
    loss, control, square, product, control_square = moments
    variance = (square - loss**2).clamp(min=0)
    covariance, spread = product - loss * control, (control_square - control**2).clamp(min=0)
    by_class = torch.zeros((2, int(labels.max()) + 1), dtype=loss.dtype, device=loss.device)
    by_class.index_add_(1, labels, torch.stack([covariance, spread]))
    useful = by_class[1] > 1e-24
    slope = torch.where(useful, by_class[0] / torch.where(useful, by_class[1], 1.0), 0.0)[labels]
    left = (variance - 2 * slope * covariance + slope**2 * spread).clamp(min=0) / (count - 1)
    return Estimate(float(weights @ (loss - slope * control)), math.sqrt(float(weights.square() @ left)))


def mean_crowd(features: Features, rows: Tensor, log_chance: Tensor, temperature: float) -> Tensor:
    """(A,) expectation of e^{s - 1/tau} for one negative of each anchor in ``rows``, by ``log_chance`` (A, R)."""
    cosines = features.z[rows] @ features.z.T
    return torch.logsumexp((cosines - 1) / temperature + log_chance, 1).exp()


class Contrast(RandomDraws):
    """InfoNCE and DCL with k negatives; ``own`` and ``mean`` tell them and their forms apart.

    ``synthetic`` adds SynCo's negatives, ``hardness`` reweights them, ``statistics`` lets WEINCE choose the logits.
    """

    def __init__(
        self,
        population: Population,
        temperature: float,
        negatives: int,
        *,
        own: float,
        mean: bool,
        sampling: str,
        synthetic: tuple[str, ...] = (),
        hardness: float = 0.0,
        statistics: bool = False,
    ) -> None:
        super().__init__(population)
        self.temperature, self.negatives, self.own, self.mean = temperature, negatives, own, mean
        self.sampling, self.synthetic, self.hardness, self.statistics = sampling, synthetic, hardness, statistics
        self.draws = negatives + 1

    def draw(self, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Positives (A, 1) and negatives (A, k) of ``anchors`` (A,)."""
        positive = self.population.draw_positives(anchors, generator)[:, None]
        return positive, self.population.draw_negatives(anchors, self.negatives, self.sampling, generator)

    def sample(self, features: Features, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        partner, drawn = self.draw(anchors, generator)
        positive, negative = features.cosines(anchors, partner), features.cosines(anchors, drawn)
        if self.synthetic:
            z = features.z
            made = synthesise(self.synthetic, z[anchors], z[drawn], generator)
            negative = torch.cat([negative, torch.einsum("ad,amd->am", z[anchors], made)], 1)
        if self.statistics:
            weight, shape = (part[:, None] for part in weince.statistics(negative))
            up, down = (weince.logits(c, self.temperature, weight, shape, 0.0) for c in (positive, negative))
        else:
            up, down = positive / self.temperature, negative / self.temperature
        if self.hardness:
            down = hardened(negative, down, self.hardness)
        factor = 1 / negative.shape[1] if self.mean else 1.0
        control = ((negative[:, : self.negatives] - 1) / self.temperature).exp().mean(1)
        return batch_losses.contrast(up[:, 0], down, self.own, factor), control

    def control_mean(self, features: Features, rows: Tensor) -> Tensor:
        return mean_crowd(features, rows, self.population.log_negatives(rows, self.sampling), self.temperature)


class RandomBatches(RandomDraws):
    """SupCon on random batches of ``batch`` samples with ``views`` features each; row v of sample i is i V + v.

    A training step is one such batch.  Since its samples are independent, an anchor sees its own other views and
    batch - 1 independent samples; the estimate of the value gives each anchor draws of its own.
    """

    def __init__(self, population: Population, temperature: float, batch: int, views: int) -> None:
        super().__init__(population)
        self.temperature, self.batch, self.views = temperature, batch, views
        self.draws = batch * views

    @property
    def rows(self) -> int:
        return len(self.population) * self.views

    @property
    def row_weights(self) -> Tensor:
        return self.population.weights.repeat_interleave(self.views) / self.views

    @property
    def row_labels(self) -> Tensor:
        return self.population.labels.repeat_interleave(self.views)

    def _views(self, samples: Tensor) -> Tensor:
        """All rows of ``samples`` (..., S): (..., S V)."""
        view = torch.arange(self.views, device=samples.device)
        return (samples[..., None] * self.views + view).flatten(-2)

    def draw_batch(self, generator: torch.Generator) -> Tensor:
        """(B V,) rows of one batch."""
        return self._views(self.population.draw((self.batch,), generator))

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        rows = self.draw_batch(generator)
        x = z[rows]
        return batch_losses.supcon(x @ x.T, self.row_labels[rows], self.temperature).mean()

    def sample(self, features: Features, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        sample, own = anchors // self.views, anchors % self.views
        other = (own[:, None] + torch.arange(1, self.views, device=anchors.device)) % self.views
        drawn = self._views(self.population.draw_negatives(sample, self.batch - 1, "iid", generator))
        seen = torch.cat([sample[:, None] * self.views + other, drawn], 1)
        logits = features.cosines(anchors, seen) / self.temperature
        positive = self.row_labels[seen] == self.row_labels[anchors][:, None]
        attraction = torch.where(positive, logits, 0.0).sum(1) / positive.sum(1)
        control = (logits[:, self.views - 1 :] - 1 / self.temperature).exp().mean(1)
        return torch.logsumexp(logits, 1) - attraction, control

    def control_mean(self, features: Features, rows: Tensor) -> Tensor:
        chance = self.population.log_negatives(rows // self.views, "iid") - math.log(self.views)
        return mean_crowd(features, rows, chance.repeat_interleave(self.views, 1), self.temperature)


class Pairs(RandomDraws):
    """Triplet, sigmoid and spectral: one positive, one negative.  A negative of the anchor's own class is none.

    ``loss(positive, negative, other)`` gives the losses from cosines (A,) and whether the negative is of another class.
    """

    draws = 2

    def __init__(self, population: Population, sampling: str, loss: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__(population)
        self.sampling, self.loss = sampling, loss

    def sample(self, features: Features, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        population = self.population
        positive = features.cosines(anchors, population.draw_positives(anchors, generator)[:, None])
        drawn = population.draw_negatives(anchors, 1, self.sampling, generator)
        other = population.labels[drawn[:, 0]] != population.labels[anchors]
        negative = features.cosines(anchors, drawn)[:, 0]
        return self.loss(positive[:, 0], negative, other), torch.where(other, negative, 1.0)

    def control_mean(self, features: Features, rows: Tensor) -> Tensor:
        labels = self.population.labels
        cosines = torch.where(labels[rows][:, None] == labels, 1.0, features.z[rows] @ features.z.T)
        return (cosines * self.population.log_negatives(rows, self.sampling).exp()).sum(1)


Build = Callable[[Any, Population, tuple[str, ...]], Experiment]


def _supcon(loss: Any, population: Population, synthetic: tuple[str, ...]) -> Experiment:
    if loss.full_batch:
        return FullBatch(population, loss.temperature)
    if loss.batch is not None:
        return RandomBatches(population, loss.temperature, int(loss.batch), int(loss.views))
    return Denominator(population, lambda c: c / loss.temperature)


def _contrast(own: float) -> Build:
    def build(loss: Any, population: Population, synthetic: tuple[str, ...]) -> Experiment:
        mean = getattr(loss, "form", "sum") == "mean"
        if math.isinf(loss.negatives):
            # the sum form in the limit, less log k, has lost its positive
            return Denominator(
                population,
                lambda c: c / loss.temperature,
                own=own if mean else 0.0,
                sampling=loss.sampling,
                hardness=loss.hardness or 0.0,
            )
        return Contrast(
            population,
            loss.temperature,
            int(loss.negatives),
            own=own,
            mean=mean,
            sampling=loss.sampling,
            synthetic=synthetic,
            hardness=loss.hardness or 0.0,
        )

    return build


def _soft_supcon(loss: Any, population: Population, synthetic: tuple[str, ...]) -> Experiment:
    across = torch.full((population.sizes.numel(),) * 2, math.log(loss.epsilon), dtype=torch.float64)
    return Weighted(population, loss.temperature, across.fill_diagonal_(0.0).to(population.device))


def _triplet(loss: Any, population: Population, synthetic: tuple[str, ...]) -> Experiment:
    def triplet(positive: Tensor, negative: Tensor, other: Tensor) -> Tensor:
        return torch.where(other, batch_losses.triplet(positive, negative, loss.margin), 0.0)

    return Pairs(population, loss.sampling, triplet)


def _sigmoid(loss: Any, population: Population, synthetic: tuple[str, ...]) -> Experiment:
    left_out = float(softplus(torch.tensor(loss.bias - 1 / loss.temperature, dtype=torch.float64)))

    def sigmoid(positive: Tensor, negative: Tensor, other: Tensor) -> Tensor:
        negative = torch.where(other, negative, -torch.inf)
        return batch_losses.sigmoid(positive, negative, loss.temperature, loss.bias) - left_out

    return Pairs(population, loss.sampling, sigmoid)


def _spectral(loss: Any, population: Population, synthetic: tuple[str, ...]) -> Experiment:
    return Pairs(population, "iid", lambda positive, negative, other: batch_losses.spectral(positive, negative) + 2)


def reads_batches(loss: Any) -> bool:
    """Whether ``loss`` is WEINCE without a floor: then its weight and shape are read off each batch."""
    return bool(loss.name == "weince" and loss.delta == 0 and loss.tail_weight * loss.tail_shape > 0)


def _weince(loss: Any, population: Population, synthetic: tuple[str, ...]) -> Experiment:
    if reads_batches(loss):
        return Contrast(
            population,
            loss.temperature,
            WEINCE_NEGATIVES,
            own=1.0,
            mean=True,
            sampling=loss.sampling,
            statistics=True,
        )
    return Denominator(
        population,
        lambda c: weince.logits(c, loss.temperature, loss.tail_weight, loss.tail_shape, loss.delta),
        own=1.0,
        sampling=loss.sampling,
    )


WEINCE_NEGATIVES = 256
"""Negatives of an anchor for WEINCE's batch statistics: enough for a tail of 32."""

EXPERIMENTS: dict[str, Build] = {
    "supcon": _supcon,
    "infonce": _contrast(1.0),
    "dcl": _contrast(0.0),
    "soft-supcon": _soft_supcon,
    "triplet": _triplet,
    "sigmoid": _sigmoid,
    "spectral": _spectral,
    "align-uniform": lambda loss, population, synthetic: AlignUniform(population, loss.uniform_t),
    "weince": _weince,
}
"""For each loss the experiment whose expectation is its population objective."""


def experiment(loss: Loss, population: Population, synthetic: tuple[str, ...] = ()) -> Experiment:
    """The experiment for ``loss``, with SynCo's kinds of ``synthetic`` negatives; :class:`InputError` where none is."""
    if loss.name not in EXPERIMENTS:
        raise InputError(f"there is no batch loss for {loss.name} here; known: {', '.join(sorted(EXPERIMENTS))}")
    built = EXPERIMENTS[loss.name](loss, population, synthetic)
    if synthetic and not (isinstance(built, Contrast) and built.synthetic):
        raise InputError(
            "synthetic negatives are made from an anchor's own negatives; use infonce or dcl with --negatives K",
            field="synthetic",
        )
    return built
