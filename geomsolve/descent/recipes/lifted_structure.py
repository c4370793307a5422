"""Training with the lifted structure loss on all samples, each counted by its share among the negatives.

An anchor's loss is its mean over its positives.  Its negatives and those of its positive are of the same classes.

Symbols: k ``negatives``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from geomsolve.descent.experiments import AllSamples
from geomsolve.descent.pairs import distance
from geomsolve.descent.population import Population
from geomsolve.losses.lifted_structure import LiftedStructure


class Lifted(AllSamples):
    """See the module."""

    def __init__(self, population: Population, loss: LiftedStructure) -> None:
        super().__init__(population)
        self.loss = loss

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        """The rows, and the logarithm of how many negatives each sample stands for."""
        labels = self.population.labels
        chance = self.population.log_negatives(rows, self.loss.sampling) + math.log(self.loss.negatives)
        return rows, torch.where(labels[rows][:, None] == labels, -torch.inf, chance)

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        rows = torch.arange(self.rows, device=z.device)
        return self.total(self.anchor_losses(self.compared(z, z), *self.frame(rows)))

    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        rows, many = frame
        apart = distance(cosines)
        crowd = torch.logsumexp(self.loss.neg_distance - apart + many, 1)
        both = torch.logaddexp(crowd[:, None], crowd)
        pairs = torch.relu(both + apart) ** 2 / 2
        return (self.population.positives(rows) * pairs).sum(1)


def experiment(loss: LiftedStructure, population: Population) -> Lifted:
    """See the module."""
    return Lifted(population, loss)
