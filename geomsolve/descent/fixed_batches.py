"""SupCon on batches that always hold the same classes: in each, all its samples, weighted by share.

The loss of sample i of class a is the mean, over the batches of its class, of its loss among the samples of the batch

    log sum_k (q_k / p_a) e^{s_ik} - mean of s_ij over the other samples j of its class,

the anchor included in the sum, and weighs 1 / P_B there, P_B the share of the batch's classes in all.

Symbols: q_k ``weights``, p_a ``proportions``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent.experiments import AllSamples
from geomsolve.descent.population import Population


class FixedBatches(AllSamples):
    """See the module.  ``batches``: positions of classes, from 0."""

    def __init__(self, population: Population, temperature: float, batches: list[list[int]]) -> None:
        super().__init__(population)
        self.temperature = temperature
        member = torch.zeros((len(batches), population.proportions.numel()), dtype=torch.bool, device=population.device)
        for row, batch in zip(member, batches, strict=True):
            row[batch] = True
        self.member = member

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        return rows, self.population.positives(rows)

    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        rows, positives = frame
        population, logits = self.population, cosines / self.temperature
        label, p = population.labels[rows], population.proportions
        attraction = (positives * logits).sum(1)
        total = torch.zeros_like(attraction)
        for member in self.member:
            log_weight = torch.where(member[population.labels], population.weights.log(), -torch.inf)
            crowd = torch.logsumexp(logits + log_weight, 1) - p[label].log()
            total = total + torch.where(member[label], crowd - attraction, 0.0) / p[member].sum()
        return total / len(self.member)
