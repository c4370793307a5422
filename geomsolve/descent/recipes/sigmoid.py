"""Training with the pairwise sigmoid: each anchor with a random positive and a random negative.

What the objective leaves out as constant is subtracted: the positive half at cosine 1.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from geomsolve.descent import batch_losses
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.pairs import Pairs
from geomsolve.descent.population import Population
from geomsolve.losses.sigmoid import Sigmoid


def experiment(loss: Sigmoid, population: Population) -> Experiment:
    """See the module."""
    left_out = float(softplus(torch.tensor(loss.bias - 1 / loss.temperature, dtype=torch.float64)))

    def sigmoid(positive: Tensor, negative: Tensor, other: Tensor) -> Tensor:
        negative = torch.where(other, negative, -torch.inf)
        return batch_losses.sigmoid(positive, negative, loss.temperature, loss.bias) - left_out

    return Pairs(population, loss.sampling, sigmoid)
