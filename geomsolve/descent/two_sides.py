"""Training of two sides: one free unit vector for every image and every text, with nothing tied.

``joint`` (n_x, n_y) are the chances of pairs.  The vectors are those of the first side first, of the second after.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from geomsolve.descent.experiments import Estimate, Experiment
from geomsolve.descent.population import Population


class TwoSides(Experiment):
    """A ``loss`` of all cosines (n_x, n_y) between two sides."""

    whole = True

    def __init__(self, joint: Tensor, loss: Callable[[Tensor], Tensor]) -> None:
        shares = torch.cat([joint.sum(1), joint.sum(0)]) / 2
        super().__init__(Population.of(shares.cpu().numpy(), [1] * sum(joint.shape), joint.device))
        self.n_first, self.loss = joint.shape[0], loss

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        return self.loss(z[: self.n_first] @ z[self.n_first :].T)

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        with torch.no_grad():
            return Estimate(float(self.step(z, generator)))
