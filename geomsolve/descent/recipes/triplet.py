"""Training with the triplet hinge: each anchor with a random positive and a random negative."""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent import batch_losses
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.pairs import Pairs
from geomsolve.descent.population import Population
from geomsolve.losses.triplet import Triplet


def experiment(loss: Triplet, population: Population) -> Experiment:
    """See the module."""

    def triplet(positive: Tensor, negative: Tensor, other: Tensor) -> Tensor:
        return torch.where(other, batch_losses.triplet(positive, negative, loss.margin), 0.0)

    return Pairs(population, loss.sampling, triplet)
