"""Training with SupCon's L_in on all samples: the mean over positives inside the logarithm."""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent.denominator import Denominator
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.population import Population
from geomsolve.losses.supcon_in import SupConIn


class InsideLogarithm(Denominator):
    """log of the mean of all samples' e^s less log of that of the positives'."""

    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        positives, chance = frame
        logits = self.logit(cosines)
        crowd = torch.logsumexp(logits + chance, 1)
        return crowd - torch.logsumexp(torch.where(positives > 0, logits + positives.log(), -torch.inf), 1)


def experiment(loss: SupConIn, population: Population) -> Experiment:
    """See the module."""
    return InsideLogarithm(population, lambda cosines: cosines / loss.temperature)
