"""Training steps by pytorch-metric-learning instead of the project's own batch losses, from the same draws.

    SupConLoss     supcon with a batch size or a full batch
    NTXentLoss     infonce, sum form, with k negatives: the pairs of anchors, positives and negatives are given to it

The mean over all anchors (MeanReducer) replaces the library's default, which leaves out anchors of loss 0.  Anchors
count alike in it, so the population limits, which weigh them, have no counterpart there.  A batch of a single class
costs nothing in the library; by definition it costs a constant, so that descent is the same and the value is not:
values are always taken from the project's own losses.
"""

from __future__ import annotations

from typing import Any

import torch
from pytorch_metric_learning.losses import NTXentLoss, SupConLoss
from pytorch_metric_learning.reducers import MeanReducer
from torch import Tensor

from geomsolve.descent.batches import StepLoss
from geomsolve.descent.contrast import Contrast
from geomsolve.descent.population import Population

MOST_ROWS = 512
"""About how many features one call of NTXentLoss is given."""


def supcon_loss(temperature: float) -> StepLoss:
    """The library's SupConLoss on a batch."""
    loss: StepLoss = SupConLoss(temperature=temperature, reducer=MeanReducer())
    return loss


class PmlContrast(Contrast):
    """:class:`Contrast` in the sum form of InfoNCE, with NTXentLoss."""

    def __init__(self, population: Population, temperature: float, negatives: int, sampling: str) -> None:
        super().__init__(population, temperature, negatives, own=1.0, mean=False, sampling=sampling)
        self.loss: Any = NTXentLoss(temperature=temperature, reducer=MeanReducer())

    @property
    def anchors(self) -> int:
        """Fewer than usual: the library compares everything that it is given with everything."""
        return max(4, MOST_ROWS // (self.draws + 1))

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        n = self.anchors
        anchors = self.population.draw((n,), generator)
        partner, drawn = self.draw(anchors, generator)
        rows = torch.cat([anchors, partner[:, 0], drawn.flatten()])
        place = torch.arange(n, device=z.device)
        behind = 2 * n + torch.arange(drawn.numel(), device=z.device)
        pairs = (place, n + place, place.repeat_interleave(self.negatives), behind)
        result: Tensor = self.loss(z[rows], indices_tuple=pairs)
        return result
