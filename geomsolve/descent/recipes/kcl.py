"""Training with KCL: on random batches each anchor has its own other views and k samples of its class as positives,
drawn anew in every step.

In the population limit the expectation over the draw is taken exactly: the positives enter the loss linearly, so it is
the mean over all of them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent import batch_losses
from geomsolve.descent.batches import RandomBatches
from geomsolve.descent.denominator import Denominator
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.population import Population
from geomsolve.losses.kcl import KCL


class KPositives(RandomBatches):
    """KCL on random batches; ``positives`` k."""

    positives: int

    def chosen(self, positive: Tensor, generator: torch.Generator) -> Tensor:
        own = torch.zeros_like(positive)
        own[:, : self.views - 1] = True
        return own | self._some(positive & ~own, generator)

    def _some(self, positive: Tensor, generator: torch.Generator) -> Tensor:
        """At most k of the ``positive`` (A, S) of each anchor, all alike likely."""
        lots = self.population.uniform(tuple(positive.shape), generator).masked_fill(~positive, 2.0)
        least = lots.topk(min(self.positives, lots.shape[1]), dim=1, largest=False)
        return torch.zeros_like(positive).scatter(1, least.indices, True) & positive

    def batch_loss(self, cosines: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        positive = batch_losses.positives(labels)
        sample = torch.arange(labels.numel(), device=labels.device) // self.views
        own = positive & (sample[:, None] == sample)
        chosen = own | self._some(positive & ~own, generator)
        return batch_losses.kcl(cosines, chosen, self.temperature).mean()


def experiment(loss: KCL, population: Population) -> Experiment:
    """See the module."""
    if loss.batch is None or loss.views is None:
        return Denominator(population, lambda cosines: cosines / loss.temperature)
    finite = loss.replacement == "no"
    built = KPositives(population, loss.temperature, int(loss.batch), int(loss.views), finite=finite)
    built.positives = int(loss.positives)
    return built
