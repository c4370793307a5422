"""NT-Xent on random batches of B samples in V views: the mean over the positive pairs of a batch.

The loss of a batch depends much on its composition, so the estimate of the expectation regresses out the number W of
its pairs and the numbers n_a of its samples (of the most frequent classes), whose expectations are elementary:

    E n_a = B p_a,    E W = V (V - 1) B + V^2 B (B - 1) c

c the chance that two samples of a batch are of one class: sum_a p_a^2, or without replacement
sum_a n_a (n_a - 1) / (n (n - 1)) for n samples.

Symbols: B ``batch``, V ``views``, W ``pairs``, n_a ``numbers``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent import batch_losses, experiments
from geomsolve.descent.batches import RandomBatches
from geomsolve.descent.experiments import BLOCK, Estimate, Features

CONTROLS = 16
"""Classes whose numbers are regressed out."""


class PairBatches(RandomBatches):
    """See the module."""

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        rows = self.draw_batch(generator)
        x, labels = z[rows], self.row_labels[rows]
        return (
            batch_losses.nt_xent(x @ x.T, labels, self.temperature)
            if self.step_loss is None
            else self.step_loss(x, labels)
        )

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        population, n = self.population, self.rows
        features = Features(z, table=n * n <= 4 * BLOCK)
        p = population.proportions
        frequent = torch.argsort(p, descending=True, stable=True)[:CONTROLS]
        b, v = float(self.batch), float(self.views)
        held = population.sizes.double()
        two = p.square() if not self.finite else held * (held - 1) / (len(population) * (len(population) - 1))
        mean_pairs = v * (v - 1) * b + v**2 * b * (b - 1) * float(two.sum())
        size = max(1, BLOCK // self.draws**2)
        sums, count = torch.zeros(()), 0
        with torch.no_grad():
            while True:
                samples = self.draw_samples(size, generator)
                rows = self._views(samples)
                labels = self.row_labels[rows]
                cosines = features.table[rows[:, :, None], rows[:, None, :]] if features.table is not None else None
                if cosines is None:
                    cosines = z[rows] @ z[rows].transpose(1, 2)
                loss = batch_losses.nt_xent(cosines, labels, self.temperature)[:, None]
                of_class = population.labels[samples]
                pairs = (labels[:, :, None] == labels[:, None, :]).sum((1, 2)) - self.draws
                numbers = (of_class[:, :, None] == frequent).sum(1) - b * p[frequent]
                row = torch.cat([torch.ones_like(loss), pairs[:, None] / mean_pairs - 1, numbers / b, loss], 1)
                sums, count = sums + row.T @ row, count + size
                if count >= 20 * row.shape[1]:
                    estimate = regressed(sums / count, count)
                    enough = estimate.standard_error <= experiments.STANDARD_ERROR * max(1.0, abs(estimate.value))
                    if enough or count * self.draws >= experiments.MOST_DRAWS:
                        return estimate


def regressed(moments: Tensor, count: int) -> Estimate:
    """The mean of a loss with all controls, of expectation 0, regressed out.

    ``moments`` (q + 2, q + 2): mean products of 1, the q controls and the loss over ``count`` draws.
    """
    known, product = moments[:-1, :-1], moments[:-1, -1]
    fit = torch.linalg.pinv(known, hermitian=True) @ product
    left = float(moments[-1, -1] - fit @ product)
    return Estimate(float(fit[0]), (max(left, 0.0) / count) ** 0.5)
