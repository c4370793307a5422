"""Samples of classes, each with the chance of being drawn, and the draws that make up a batch.

Every class has several samples of equal weight, p_a / n_a each, so that class a is drawn with probability exactly
p_a however few samples there are.  Samples are kept sorted by class, so that a class is an interval of indices and
of cumulative weight; a draw is one uniform number looked up in it.

Symbols: p_a ``proportions``, n_a ``sizes``, q_i ``weights``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor


def apportion(proportions: ArrayLike, samples: int) -> list[int]:
    """About ``samples`` samples shared out by ``proportions`` (K,), at least two a class."""
    return [max(2, round(float(p) * samples)) for p in np.asarray(proportions, dtype=np.float64)]


@dataclass(frozen=True, eq=False)
class Population:
    """``proportions`` (K,) and ``sizes`` (K,), the samples of each class, as tensors on one device.

    ``stands_for``: how many samples of a larger set each one stands for.  An anchor meets itself among its negatives
    that much less often, since the others that it stands for are not at cosine 1.
    """

    proportions: Tensor
    sizes: Tensor
    stands_for: float = 1.0

    @classmethod
    def of(
        cls,
        proportions: ArrayLike,
        sizes: ArrayLike,
        device: torch.device | str = "cpu",
        *,
        stands_for: float = 1.0,
    ) -> Population:
        p = torch.tensor(np.asarray(proportions, dtype=np.float64), device=device)
        return cls(p, torch.tensor(np.asarray(sizes, dtype=np.int64), device=device), stands_for)

    def __len__(self) -> int:
        return int(self.labels.numel())

    @property
    def device(self) -> torch.device:
        return self.proportions.device

    @cached_property
    def labels(self) -> Tensor:
        """(N,) class of each sample, ascending."""
        return torch.repeat_interleave(torch.arange(self.sizes.numel(), device=self.device), self.sizes)

    @cached_property
    def weights(self) -> Tensor:
        """(N,) chance of each sample, sum 1."""
        return (self.proportions / self.sizes)[self.labels]

    @cached_property
    def first(self) -> Tensor:
        """(K,) index of the first sample of each class."""
        return torch.cumsum(self.sizes, 0) - self.sizes

    @cached_property
    def _edges(self) -> Tensor:
        """(K + 1,) cumulative proportions: class a is the interval from edge a to edge a + 1.

        Summed on the CPU: on a GPU the order of summation, and with it the last digit, is not always the same.
        """
        return torch.cat([torch.zeros(1, dtype=torch.float64), torch.cumsum(self.proportions.cpu(), 0)]).to(self.device)

    def uniform(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64, device=self.device)

    def _at(self, position: Tensor) -> Tensor:
        """The samples at cumulative weight ``position``, in [0, 1)."""
        label = (torch.searchsorted(self._edges, position, right=True) - 1).clamp(0, self.sizes.numel() - 1)
        within = (position - self._edges[label]) / self.proportions[label]
        size = self.sizes[label]
        return self.first[label] + torch.minimum((within.clamp(min=0) * size).long(), size - 1)

    def draw(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """Independent samples of any class."""
        return self._at(self.uniform(shape, generator) * self._edges[-1])

    def draw_negatives(self, anchors: Tensor, k: int, sampling: str, generator: torch.Generator) -> Tensor:
        """(A, k) independent samples for each of ``anchors`` (A,): any ('iid'), or of other classes ('supervised')."""
        if sampling == "iid":
            drawn = self.draw((anchors.numel(), k), generator)
            if self.stands_for == 1:
                return drawn
            move = (drawn == anchors[:, None]) & (self.uniform(tuple(drawn.shape), generator) * self.stands_for > 1)
            return torch.where(move, self.draw_positives(anchors, generator)[:, None], drawn)
        label = self.labels[anchors][:, None]
        own = self.proportions[label]
        position = self.uniform((anchors.numel(), k), generator) * (self._edges[-1] - own)
        return self._at(position + torch.where(position >= self._edges[label], own, 0.0))

    def draw_others(self, anchors: Tensor, k: int, generator: torch.Generator) -> Tensor:
        """(A, k) other samples for each of ``anchors`` (A,), all alike likely and none twice (Floyd's algorithm)."""
        left = len(self) - 1
        drawn = torch.empty((anchors.numel(), k), dtype=torch.int64, device=self.device)
        for i, last in enumerate(range(left - k, left)):
            tried = (self.uniform((anchors.numel(),), generator) * (last + 1)).long().clamp(max=last)
            twice = (drawn[:, :i] == tried[:, None]).any(1)
            drawn[:, i] = torch.where(twice, last, tried)
        return drawn + (drawn >= anchors[:, None])

    def draw_positives(self, anchors: Tensor, generator: torch.Generator) -> Tensor:
        """(A,) another sample of each anchor's class, all alike likely; the anchor itself where it is the only one."""
        label = self.labels[anchors]
        size = self.sizes[label]
        ahead = (self.uniform((anchors.numel(),), generator) * (size - 1)).long() + 1
        return self.first[label] + (anchors - self.first[label] + ahead) % size

    def positives(self, rows: Tensor) -> Tensor:
        """(R, N) for anchors ``rows``: equal weights, sum 1, on the other samples of its class (itself if alone)."""
        same = self.labels[rows][:, None] == self.labels
        itself = rows[:, None] == torch.arange(len(self), device=self.device)
        others = (self.sizes[self.labels[rows]] - 1)[:, None]
        return torch.where(others > 0, (same & ~itself).double() / others.clamp(min=1), itself.double())

    def log_negatives(self, rows: Tensor, sampling: str) -> Tensor:
        """(R, N) for anchors ``rows``: log of the chance that a negative is each of the samples."""
        chance = self.weights.log().expand(rows.numel(), -1)
        if sampling == "iid":
            if self.stands_for == 1:
                return chance
            own = self.weights[rows][:, None]
            left = own * (1 - 1 / self.stands_for)
            less = torch.where(rows[:, None] == torch.arange(len(self), device=self.device), left, 0.0)
            return (chance.exp() - less + left * self.positives(rows)).log()
        label = self.labels[rows][:, None]
        return torch.where(label == self.labels, -torch.inf, chance - torch.log1p(-self.proportions[label]))
