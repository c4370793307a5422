"""Training with the multi-similarity loss: each anchor with one random positive and k random negatives.

What the objective leaves out as constant is subtracted: the positive part at cosine 1.

Symbols: k ``negatives``, alpha ``ATTRACTION``.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from geomsolve.descent.experiments import Experiment, Features, RandomDraws, mean_crowd
from geomsolve.descent.population import Population
from geomsolve.losses.multi_similarity import MultiSimilarity

ATTRACTION = 2.0
"""alpha of the loss, which its optimum does not depend on."""


class SoftMaxima(RandomDraws):
    """See the module."""

    def __init__(self, population: Population, loss: MultiSimilarity) -> None:
        super().__init__(population)
        self.loss, self.negatives = loss, int(loss.negatives)
        self.draws = self.negatives + 1

    def sample(self, features: Features, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        population, loss = self.population, self.loss
        partner = population.draw_positives(anchors, generator)[:, None]
        drawn = population.draw_negatives(anchors, self.negatives, loss.sampling, generator)
        positive, negative = features.cosines(anchors, partner)[:, 0], features.cosines(anchors, drawn)
        other = population.labels[drawn] != population.labels[anchors][:, None]
        logits = ((negative - loss.base) / loss.temperature).masked_fill(~other, -torch.inf)
        apart = loss.temperature * torch.logaddexp(torch.logsumexp(logits, 1), torch.zeros_like(positive))
        at_best = softplus(torch.tensor(-ATTRACTION * (1 - loss.base), dtype=positive.dtype))
        together = (softplus(-ATTRACTION * (positive - loss.base)) - at_best) / ATTRACTION
        control = ((negative - 1) / loss.temperature).exp().mean(1)
        return together + apart, control

    def control_mean(self, features: Features, rows: Tensor) -> Tensor:
        chance = self.population.log_negatives(rows, self.loss.sampling)
        return mean_crowd(features, rows, chance, self.loss.temperature)


def experiment(loss: MultiSimilarity, population: Population) -> Experiment:
    """See the module."""
    return SoftMaxima(population, loss)
