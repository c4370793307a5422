"""Training of two sides: one free unit vector for every image and every text, with nothing tied.

``joint`` (n_x, n_y) are the chances of pairs.  The vectors are those of the first side first, of the second after.

    TwoSides          a loss of all cosines at once: of a whole set, or the limit of large batches
    BatchesOfPairs    batches of B pairs, drawn at random.  A batch is told by how often each pair is in it, so that its
                      loss costs no more than all cosines, however large it is

The loss of a batch depends much on who is in it, so the estimate of its expectation regresses out what has a known one:
of the T = e^{(C - 1)/tau} and the cosines C of a batch the means over its pairs and, of T, over all images with the
texts of others, and how often each point is in it.

Symbols: B ``batch``, pi ``joint``.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from geomsolve.descent import experiments
from geomsolve.descent.experiments import BLOCK, STEP_DRAWS, Estimate, Experiment
from geomsolve.descent.pair_batches import CONTROLS, regressed
from geomsolve.descent.population import Population

MOST_BATCHES = 256
"""Batches of a training step."""

ENOUGH = 20
"""Batches for each number that is regressed out, at least."""


class TwoSides(Experiment):
    """A ``loss`` of all cosines (n_x, n_y) between two sides."""

    whole = True

    def __init__(self, joint: Tensor, loss: Callable[[Tensor], Tensor]) -> None:
        shares = torch.cat([joint.sum(1), joint.sum(0)]) / 2
        super().__init__(Population.of(shares.cpu().numpy(), [1] * sum(joint.shape), joint.device))
        self.joint, self.loss = joint, loss

    def cosines(self, z: Tensor) -> Tensor:
        """(n_x, n_y) between the sides."""
        n_first = self.joint.shape[0]
        return z[:n_first] @ z[n_first:].T

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        return self.loss(self.cosines(z))

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        with torch.no_grad():
            return Estimate(float(self.step(z, generator)))


class BatchesOfPairs(TwoSides):
    """The mean ``loss`` of batches of ``batch`` pairs: of cosines (n_x, n_y) and of how often each pair is in each of
    the batches (M, n_x, n_y), for each of them (M,)."""

    whole = False

    def __init__(self, joint: Tensor, loss: Callable[[Tensor, Tensor], Tensor], batch: int, temperature: float) -> None:
        super().__init__(joint, lambda cosines: cosines)
        self.of_batches, self.batch, self.temperature = loss, batch, temperature

    @property
    def at_once(self) -> int:
        """Batches of a training step."""
        return max(1, min(MOST_BATCHES, STEP_DRAWS // self.batch))

    def numbers(self, dim: int) -> int:
        return max(super().numbers(dim), self.at_once * max(self.batch, self.joint.numel()))

    def draw(self, batches: int, generator: torch.Generator) -> Tensor:
        """(M, n_x, n_y): how often each pair is in each of so many batches."""
        drawn = torch.multinomial(self.joint.ravel(), batches * self.batch, replacement=True, generator=generator)
        counts = self.joint.new_zeros((batches, self.joint.numel()))
        counts.scatter_add_(1, drawn.reshape(batches, self.batch), counts.new_ones(batches, self.batch))
        return counts.reshape(batches, *self.joint.shape)

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        return self.of_batches(self.cosines(z), self.draw(self.at_once, generator)).mean()

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        size = max(1, BLOCK // max(self.batch, self.joint.numel()))
        with torch.no_grad():
            cosines = self.cosines(z)
            sums, count = torch.zeros((), dtype=z.dtype, device=z.device), 0
            while True:
                counts = self.draw(size, generator)
                loss = self.of_batches(cosines, counts)[:, None]
                row = torch.cat([torch.ones_like(loss), self.controls(cosines, counts), loss], dim=1)
                sums, count = sums + row.T @ row, count + size
                if count >= ENOUGH * row.shape[1]:
                    estimate = regressed(sums / count, count)
                    enough = estimate.standard_error <= experiments.STANDARD_ERROR * max(1.0, abs(estimate.value))
                    if enough or count * self.batch >= experiments.MOST_DRAWS:
                        return estimate

    def controls(self, cosines: Tensor, counts: Tensor) -> Tensor:
        """(M, q): numbers of each batch of expectation 0, as in the module."""
        b, pi = self.batch, self.joint
        terms = ((cosines - 1) / self.temperature).exp()
        images, texts = counts.sum(2), counts.sum(1)
        own = [((counts * of).sum((1, 2)) / b - (pi * of).sum())[:, None] for of in (cosines, terms)]
        pairs = torch.einsum("mi,ij,mj->m", images, terms, texts) - (counts * terms).sum((1, 2))
        others = pairs / (b * (b - 1)) - pi.sum(1) @ terms @ pi.sum(0)
        shares = [(images / b - pi.sum(1))[:, :CONTROLS], (texts / b - pi.sum(0))[:, :CONTROLS]]
        return torch.cat([*own, others[:, None], *shares], dim=1)
