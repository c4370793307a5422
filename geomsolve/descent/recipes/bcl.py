"""Training with BCL: class-averaged denominators, on random batches without prototypes or on all samples.

In the population limit a prototype is one of very many samples of its class, so that there are none here.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent import batch_losses
from geomsolve.descent.batches import RandomBatches
from geomsolve.descent.denominator import Rebalanced
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.population import Population
from geomsolve.losses.bcl import BCL


class ClassAverages(RandomBatches):
    """BCL on random batches without prototypes."""

    def batch_loss(self, cosines: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        return batch_losses.bcl(cosines, labels, self.temperature).mean()

    def crowd(self, logits: Tensor, seen: Tensor, anchors: Tensor) -> Tensor:
        labels = self.row_labels[seen]
        size = torch.zeros((labels.shape[0], self.population.sizes.numel()), dtype=logits.dtype, device=logits.device)
        size = size.scatter_add(1, labels, torch.ones_like(logits))  # how often each class is seen: never the anchor
        return torch.logsumexp(logits - size.gather(1, labels).log(), 1)


def experiment(loss: BCL, population: Population) -> Experiment:
    """See the module."""
    if loss.batch is not None and loss.views is not None:
        return ClassAverages(population, loss.temperature, int(loss.batch), int(loss.views))
    return Rebalanced(population, loss.temperature, population.proportions, torch.ones_like(population.proportions))
