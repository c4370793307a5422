"""Training with the soft-margin triplet: each anchor with a random positive and a random negative."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from geomsolve.descent.experiments import Experiment
from geomsolve.descent.pairs import Pairs
from geomsolve.descent.population import Population
from geomsolve.losses.soft_margin_triplet import SoftTriplet


def experiment(loss: SoftTriplet, population: Population) -> Experiment:
    """See the module."""
    margin = loss.margin or 0.0

    def soft(positive: Tensor, negative: Tensor, other: Tensor) -> Tensor:
        return torch.where(other, softplus((negative - positive + margin) / loss.temperature), 0.0)

    return Pairs(population, loss.sampling, soft)
