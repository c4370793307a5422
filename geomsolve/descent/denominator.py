"""Losses of all positives at once, the denominator averaged over all samples.

    Denominator    mean over positives j of log( a0 e^{l_ij} + sum_c R_ic e^{l_ic} ) - l_ij
    Weighted       the same with a0 = 0, where every sample is a positive of every other, by a weight of their classes

with logits l of the cosines.  Symbols: a0 ``own``, R_ic ``chance`` (its logarithm), l ``logits``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from geomsolve.descent.experiments import AllSamples
from geomsolve.descent.population import Population


class Denominator(AllSamples):
    """mean over positives j of log( a0 e^{l_ij} + sum_c R_ic e^{l_ic} ) - l_ij, with logits l of the cosines."""

    def __init__(
        self,
        population: Population,
        logit: Callable[[Tensor], Tensor],
        *,
        own: float = 0.0,
        sampling: str = "iid",
        hardness: float = 0.0,
    ) -> None:
        super().__init__(population)
        self.logit, self.own, self.sampling, self.hardness = logit, own, sampling, hardness

    def positives(self, rows: Tensor) -> Tensor:
        """(R, N) weight of each sample as a positive of anchors ``rows``, sum 1."""
        return self.population.positives(rows)

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        return self.positives(rows), self.population.log_negatives(rows, self.sampling)

    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        positives, chance = frame
        logits = self.logit(cosines)
        crowd = torch.logsumexp(logits + chance + self.hardness * cosines, 1, keepdim=True)
        if self.hardness:
            crowd = crowd - torch.logsumexp(chance + self.hardness * cosines, 1, keepdim=True)
        denominator = torch.logaddexp(logits, crowd) if self.own else crowd
        return (positives * (denominator - logits)).sum(1)


class Rebalanced(Denominator):
    """SupCon, InfoNCE or DCL on all samples where classes count differently.

    ``anchors`` (K,) have sum 1, and ``denominators`` (K,) are what each class counts among what an anchor is compared
    with, in ``sampling`` supervised of those of the other classes; ``margins`` (K, K) are added to the cosines there.
    """

    def __init__(
        self,
        population: Population,
        temperature: float,
        anchors: ArrayLike,
        denominators: ArrayLike,
        margins: ArrayLike | None = None,
        *,
        own: float = 0.0,
        sampling: str = "iid",
    ) -> None:
        super().__init__(population, lambda cosines: cosines / temperature, own=own, sampling=sampling)
        sizes, labels = population.sizes, population.labels
        mass, compared = (torch.as_tensor(part, device=population.device) for part in (anchors, denominators))
        self.mass, self.log_compared = (mass / sizes)[labels], (compared / sizes)[labels].log()
        if sampling == "supervised":
            self.left = torch.log1p(-compared)
        moved = None if margins is None else np.asarray(margins, dtype=np.float64) / temperature
        self.moved = None if moved is None else torch.as_tensor(moved, device=population.device)

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        labels = self.population.labels
        chance = self.log_compared.expand(rows.numel(), -1)
        if self.moved is not None:
            chance = chance + self.moved[labels[rows]][:, labels]
        if self.sampling == "supervised":
            label = labels[rows][:, None]
            chance = torch.where(label == labels, -torch.inf, chance - self.left[label])
        return self.positives(rows), chance

    def total(self, losses: Tensor) -> Tensor:
        return self.mass @ losses


class Weighted(Denominator):
    """Weighted InfoNCE: every sample is a positive of every other, by a weight that their classes have.

    ``log_weights`` (K, K) between classes, -inf for weight 0.  ``itself``: whether a sample is a positive of, and
    compared with, itself.  ``columns``: w_ij is divided by the sum over i, not over j.
    ``spherical``: features are unit vectors; else they are anywhere in space, and s = -|z_i - z_j|^2 / (2 tau).
    """

    def __init__(
        self,
        population: Population,
        temperature: float,
        log_weights: Tensor,
        *,
        itself: bool = True,
        columns: bool = False,
        spherical: bool = True,
    ) -> None:
        super().__init__(population, lambda alike: alike / temperature)
        self.itself, self.columns, self.spherical = itself, columns, spherical
        self.log_weights = log_weights

    def compared(self, some: Tensor, z: Tensor) -> Tensor:
        if self.spherical:
            return some @ z.T
        return -(some[:, None] - z).square().sum(2) / 2

    def _weights(self, rows: Tensor) -> Tensor:
        """(R, N) log of w_ij q_j."""
        labels, weights = self.population.labels, self.population.weights
        logs = self.log_weights[labels[rows]][:, labels] + weights.log()
        return logs if self.itself else logs.masked_fill(self._own(rows), -torch.inf)

    def _own(self, rows: Tensor) -> Tensor:
        return rows[:, None] == torch.arange(self.rows, device=rows.device)

    @cached_property
    def _sums(self) -> Tensor:
        """(N,) log of each sample's sum of weights."""
        return torch.cat([torch.logsumexp(self._weights(rows), 1) for rows in self.blocks()])

    def positives(self, rows: Tensor) -> Tensor:
        return torch.nan_to_num(
            (self._weights(rows) - (self._sums if self.columns else self._sums[rows][:, None])).exp()
        )

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        chance = self.population.log_negatives(rows, "iid")
        if not self.itself:
            chance = chance.masked_fill(self._own(rows), -torch.inf)
            chance = chance - torch.log1p(-self.population.weights[rows])[:, None]
        return self.positives(rows), chance
