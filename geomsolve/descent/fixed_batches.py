"""SupCon on batches that always hold the same classes: in each, all its samples, weighted by share.

The loss of sample i of class a is the mean over the batches, as often as they come, of its loss among the samples of
those that hold its class

    log sum_k (q_k / p_a) e^{s_ik} - mean of s_ij over the other samples j of its class,

the anchor included in the sum, and weighs 1 / P_B there, P_B the share of the batch's classes in all.

Symbols: q_k ``weights``, p_a ``proportions``.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from geomsolve.descent.experiments import AllSamples
from geomsolve.descent.population import Population


class FixedBatches(AllSamples):
    """See the module.  ``batches``: positions of classes, from 0, and how often each comes, None: all alike."""

    def __init__(
        self,
        population: Population,
        temperature: float,
        batches: list[list[int]],
        weights: Sequence[float] | None = None,
    ) -> None:
        super().__init__(population)
        self.temperature = temperature
        member = torch.zeros((len(batches), population.proportions.numel()), dtype=torch.bool, device=population.device)
        for row, batch in zip(member, batches, strict=True):
            row[batch] = True
        self.member = member
        often = torch.ones(len(batches)) if weights is None else torch.tensor(weights)
        self.chances = (often / often.sum()).to(population.proportions)

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        return rows, self.population.positives(rows)

    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        rows, positives = frame
        population, logits = self.population, cosines / self.temperature
        label, p = population.labels[rows], population.proportions
        attraction = (positives * logits).sum(1)
        total = torch.zeros_like(attraction)
        for member, chance in zip(self.member, self.chances, strict=True):
            log_weight = torch.where(member[population.labels], population.weights.log(), -torch.inf)
            crowd = torch.logsumexp(logits + log_weight, 1) - p[label].log()
            total = total + chance * torch.where(member[label], crowd - attraction, 0.0) / p[member].sum()
        return total
