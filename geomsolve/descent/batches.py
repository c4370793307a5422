"""SupCon on whole batches: one that holds every sample, or random ones.

A step is the usual batch loss.  It can be another implementation of it, ``step_loss(z, labels)``, such as a library's;
values are always those of the project's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from geomsolve.descent import batch_losses
from geomsolve.descent.experiments import AllSamples, Estimate, Features, RandomDraws, mean_crowd
from geomsolve.descent.population import Population

StepLoss = Callable[[Tensor, Tensor], Tensor]
"""The loss of one batch from features (n, d) and labels (n,)."""


class FullBatch(AllSamples):
    """SupCon on one batch that holds every sample once; an anchor that is alone in its class costs nothing."""

    def __init__(self, population: Population, temperature: float, *, step_loss: StepLoss | None = None) -> None:
        super().__init__(population)
        self.temperature, self.step_loss = temperature, step_loss

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        return super().step(z, generator) if self.step_loss is None else self.step_loss(z, self.row_labels)

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        with torch.no_grad():
            return Estimate(float(super().step(z, generator)))

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


class RandomBatches(RandomDraws):
    """SupCon on random batches of ``batch`` samples with ``views`` features each; row v of sample i is i V + v.

    A training step is one such batch.  Since its samples are independent, an anchor sees its own other views and
    batch - 1 independent samples; the estimate of the value gives each anchor draws of its own.  ``finite``: the
    samples of a batch differ, as in a batch of a data loader, and all samples of the population are alike likely.
    An anchor without a positive, which there may be in one view, costs nothing.

    ``anchors`` (K,): class weights, of mean 1 over samples.  ``compared`` (K, K): what is added to the logits of an
    anchor of one class against embeddings of another (its own), in the sum, and not where these are its positives.
    """

    def __init__(
        self,
        population: Population,
        temperature: float,
        batch: int,
        views: int,
        *,
        finite: bool = False,
        step_loss: StepLoss | None = None,
        anchors: ArrayLike | None = None,
        compared: ArrayLike | None = None,
    ) -> None:
        super().__init__(population)
        self.temperature, self.batch, self.views, self.step_loss = temperature, batch, views, step_loss
        self.finite = finite
        self.anchor_weights, self.compared = (
            None if given is None else torch.as_tensor(given, device=population.device) for given in (anchors, compared)
        )
        self.draws = batch * views

    def numbers(self, dim: int) -> int:
        return max(super().numbers(dim), self.draws**2)

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

    def draw_samples(self, batches: int, generator: torch.Generator) -> Tensor:
        """(n, B) samples of n batches."""
        if self.finite:
            first = self.population.draw((batches,), generator)
            return torch.cat([first[:, None], self.population.draw_others(first, self.batch - 1, generator)], 1)
        return self.population.draw((batches, self.batch), generator)

    def draw_batch(self, generator: torch.Generator) -> Tensor:
        """(B V,) rows of one batch."""
        return self._views(self.draw_samples(1, generator)[0])

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        rows = self.draw_batch(generator)
        x = z[rows]
        if self.step_loss is not None:
            return self.step_loss(x, self.row_labels[rows])
        return self.batch_loss(x @ x.T, self.row_labels[rows], generator)

    def batch_loss(self, cosines: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The loss of one batch, from ``cosines`` (n, n) of its embeddings, those of a sample in a row."""
        compared = None if self.compared is None else self.compared[labels][:, labels]
        losses = batch_losses.supcon(cosines, labels, self.temperature, compared)
        return (losses if self.anchor_weights is None else losses * self.anchor_weights[labels]).mean()

    def chosen(self, positive: Tensor, generator: torch.Generator) -> Tensor:
        """Which of the ``positive`` (A, S) are an anchor's positives: all; its own other views come first."""
        return positive

    def crowd(self, logits: Tensor, seen: Tensor, anchors: Tensor) -> Tensor:
        """(A,) logarithm of the sum over rows ``seen`` (A, S) for ``anchors`` (A,), from their ``logits`` (A, S)."""
        if self.compared is None:
            return torch.logsumexp(logits, 1)
        return torch.logsumexp(logits + self.compared[self.row_labels[anchors][:, None], self.row_labels[seen]], 1)

    def sample(self, features: Features, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        sample, own = anchors // self.views, anchors % self.views
        other = (own[:, None] + torch.arange(1, self.views, device=anchors.device)) % self.views
        if self.finite:
            others = self.population.draw_others(sample, self.batch - 1, generator)
        else:
            others = self.population.draw_negatives(sample, self.batch - 1, "iid", generator)
        drawn = self._views(others)
        seen = torch.cat([sample[:, None] * self.views + other, drawn], 1)
        logits = features.cosines(anchors, seen) / self.temperature
        positive = self.chosen(self.row_labels[seen] == self.row_labels[anchors][:, None], generator)
        count = positive.sum(1)
        attraction = torch.where(positive, logits, 0.0).sum(1) / count.clamp(min=1)
        control = (logits[:, self.views - 1 :] - 1 / self.temperature).exp().mean(1)
        losses = torch.where(count > 0, self.crowd(logits, seen, anchors) - attraction, 0.0)
        if self.anchor_weights is not None:
            weight = self.anchor_weights[self.row_labels[anchors]]
            losses, control = losses * weight, control * weight
        return losses, control

    def control_mean(self, features: Features, rows: Tensor) -> Tensor:
        weight = 1.0 if self.anchor_weights is None else self.anchor_weights[self.row_labels[rows]]
        return weight * self._mean_control(features, rows)

    def _mean_control(self, features: Features, rows: Tensor) -> Tensor:
        sample = rows // self.views
        if self.finite:
            n = len(self.population)
            itself = sample[:, None] == torch.arange(n, device=rows.device)
            even = torch.full((1, n), -math.log(n - 1), dtype=torch.float64, device=rows.device)
            chance = even.masked_fill(itself, -torch.inf) - math.log(self.views)
        else:
            chance = self.population.log_negatives(sample, "iid") - math.log(self.views)
        return mean_crowd(features, rows, chance.repeat_interleave(self.views, 1), self.temperature)
