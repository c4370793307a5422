"""Losses of one positive and one negative for every anchor."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from geomsolve.descent.experiments import Features, RandomDraws
from geomsolve.descent.population import Population

NEAREST = 1e-12
"""Least 1 - cosine of which a distance has a slope."""


def distance(cosines: Tensor) -> Tensor:
    """Euclidean distances of unit vectors; of those that coincide it has no slope."""
    apart = 2 - 2 * cosines
    return torch.where(apart > 2 * NEAREST, apart.clamp(min=2 * NEAREST).sqrt(), 0.0)


class Pairs(RandomDraws):
    """Triplet, sigmoid and spectral: one positive, one negative.  A negative of the anchor's own class is none.

    ``loss(positive, negative, other)`` gives the losses from cosines (A,) and whether the negative is of another class.
    """

    draws = 2

    def __init__(self, population: Population, sampling: str, loss: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__(population)
        self.sampling, self.loss = sampling, loss

    def sample(self, features: Features, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        population = self.population
        positive = features.cosines(anchors, population.draw_positives(anchors, generator)[:, None])
        drawn = population.draw_negatives(anchors, 1, self.sampling, generator)
        other = population.labels[drawn[:, 0]] != population.labels[anchors]
        negative = features.cosines(anchors, drawn)[:, 0]
        return self.loss(positive[:, 0], negative, other), torch.where(other, negative, 1.0)

    def control_mean(self, features: Features, rows: Tensor) -> Tensor:
        labels = self.population.labels
        cosines = torch.where(labels[rows][:, None] == labels, 1.0, features.z[rows] @ features.z.T)
        return (cosines * self.population.log_negatives(rows, self.sampling).exp()).sum(1)
