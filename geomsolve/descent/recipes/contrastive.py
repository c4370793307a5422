"""Training with the contrastive loss: each anchor with a random positive and a random negative."""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent.experiments import Experiment
from geomsolve.descent.pairs import Pairs
from geomsolve.descent.population import Population
from geomsolve.losses.contrastive import Contrastive


def experiment(loss: Contrastive, population: Population) -> Experiment:
    """See the module."""

    def contrastive(positive: Tensor, negative: Tensor, other: Tensor) -> Tensor:
        return torch.relu(loss.pos_margin - positive) + torch.where(other, torch.relu(negative - loss.neg_margin), 0.0)

    return Pairs(population, loss.sampling, contrastive)
