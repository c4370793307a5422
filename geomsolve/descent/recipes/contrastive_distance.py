"""Training with the contrastive loss on distances: each anchor with a random positive and a random negative."""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent.experiments import Experiment
from geomsolve.descent.pairs import Pairs, distance
from geomsolve.descent.population import Population
from geomsolve.losses.contrastive_distance import ContrastiveDistance


def experiment(loss: ContrastiveDistance, population: Population) -> Experiment:
    """See the module."""

    def contrastive(positive: Tensor, negative: Tensor, other: Tensor) -> Tensor:
        near = torch.relu(distance(positive) - loss.pos_distance) ** loss.power
        far = torch.relu(loss.neg_distance - distance(negative)) ** loss.power
        return near + torch.where(other, far, 0.0)

    return Pairs(population, loss.sampling, contrastive)
