"""Training with alignment plus uniformity: w mean |x - x+|^2 + log of the mean potential over all pairs of samples.

The alignment must weigh enough for classes to collapse at all: it does if w > s max_a p_a / sum_a p_a^2 (derived:
concavity of the logarithm bounds what spreading a class can gain), and the experiment takes twice that; at the usual
weight 1 and s = 2 classes do *not* collapse.

Symbols: w ``weight``, s ``sharpness``, p_a ``proportions``, q_i ``weights``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent.experiments import AllSamples, Experiment
from geomsolve.descent.population import Population
from geomsolve.losses.align_uniform import AlignUniform


class AlignmentAndUniformity(AllSamples):
    """Alignment plus uniformity (Wang & Isola 2020): log sum_ij q_i q_j e^{-s |z_i - z_j|^2} is not a mean of anchors,
    so each anchor gives the log of its row and its alignment."""

    def __init__(self, population: Population, sharpness: float) -> None:
        super().__init__(population)
        p = population.proportions
        self.sharpness = sharpness
        self.weight = 2 * sharpness * float(p.max() / p.square().sum())

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        return self.population.positives(rows), self.population.log_negatives(rows, "iid")

    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        """(R, 2): the log of each anchor's row and its alignment."""
        positives, chance = frame
        square = 2 - 2 * cosines
        row = torch.logsumexp(chance - self.sharpness * square, 1)
        return torch.stack([row, (positives * square).sum(1)], 1)

    def total(self, losses: Tensor) -> Tensor:
        q = self.population.weights
        return torch.logsumexp(q.log() + losses[:, 0], 0) + self.weight * (q @ losses[:, 1])


def experiment(loss: AlignUniform, population: Population) -> Experiment:
    """See the module."""
    return AlignmentAndUniformity(population, loss.uniform_t)
