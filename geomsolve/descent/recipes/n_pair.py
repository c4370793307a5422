"""Training with the N-pair loss: one anchor and one positive of every class, or of N of them, all drawn at random.

Every class is an anchor once, whatever its proportion, so that samples of each class share the same weight.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from geomsolve.descent import batch_losses
from geomsolve.descent.experiments import Experiment, Features, RandomDraws
from geomsolve.descent.population import Population
from geomsolve.losses.n_pair import NPair


class OneOfEach(RandomDraws):
    """Every anchor against one random sample of every other class, or of as many ``others`` as are drawn."""

    def __init__(self, population: Population, temperature: float, others: int | None = None) -> None:
        even = torch.full_like(population.proportions, 1 / population.sizes.numel())
        super().__init__(replace(population, proportions=even))
        self.temperature, self.draws = temperature, population.sizes.numel()
        self.others = self.draws - 1 if others is None else others

    def sample(self, features: Features, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        population = self.population
        shape = (anchors.numel(), self.draws)
        sizes = population.sizes
        within = torch.minimum((population.uniform(shape, generator) * sizes).long(), sizes - 1)
        out = population.labels[anchors][:, None] == torch.arange(self.draws, device=anchors.device)
        if self.others < self.draws - 1:
            lot = population.uniform(shape, generator).masked_fill(out, torch.inf)
            out = lot > lot.kthvalue(self.others, 1, keepdim=True).values
        partner = population.draw_positives(anchors, generator)[:, None]
        positive = features.cosines(anchors, partner)[:, 0] / self.temperature
        cosines = features.cosines(anchors, population.first + within)
        negative = (cosines / self.temperature).masked_fill(out, -torch.inf)
        control = torch.where(out, 0.0, ((cosines - 1) / self.temperature).exp()).sum(1)
        return batch_losses.contrast(positive, negative, 1.0, 1.0), control

    def control_mean(self, features: Features, rows: Tensor) -> Tensor:
        labels, sizes = self.population.labels, self.population.sizes
        crowd = ((features.z[rows] @ features.z.T - 1) / self.temperature).exp() / sizes[labels]
        part = self.others / (self.draws - 1)
        return part * torch.where(labels[rows][:, None] == labels, 0.0, crowd).sum(1)


def experiment(loss: NPair, population: Population) -> Experiment:
    """See the module."""
    return OneOfEach(population, loss.temperature, None if loss.negatives is None else int(loss.negatives))
