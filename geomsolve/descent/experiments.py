"""What an experiment on single samples is: a loss on one population, to train with and to take the expectation of.

Samples i are drawn with chance q_i; all classes have several, and nothing makes them coincide.  The recipe of a loss
(``recipes/``) picks the experiment whose expectation is exactly the population objective of ``losses/``.  Then, by
convexity and Jensen, no features whatever have a smaller expected loss than the certified lower bound for collapsed
classes.

    AllSamples     every step sees all samples; no sampling error
    RandomDraws    every anchor has draws of its own.  Estimated with every sample as an anchor equally often, weighted
                   by q_i, and independent draws, with a standard error.

What is built on them: ``denominator.py``, ``contrast.py``, ``batches.py``, ``pairs.py``.

Symbols: q_i ``weights``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from geomsolve.descent.population import Population

BLOCK = 2**22
"""Entries (of a matrix of cosines, or of drawn features) that are held at once."""

STEP_DRAWS, FEWEST_ANCHORS, MOST_ANCHORS = 2**13, 32, 256
"""About how many samples a training step draws, if each anchor has draws of its own, and how many anchors it has."""

STANDARD_ERROR = 2e-4
"""A value is estimated until its standard error is this small (relative above 1), or :data:`MOST_DRAWS` are spent."""

MOST_DRAWS = 2**25
"""Most draws (of single samples) that an estimate may take."""


@dataclass(frozen=True)
class Estimate:
    """A value in nats; ``standard_error`` is 0 where nothing was sampled."""

    value: float
    standard_error: float = 0.0


def in_blocks(n: int, size: int, device: torch.device) -> list[Tensor]:
    """0, ..., n - 1 in blocks of ``size``, or one by one where that is 0."""
    return list(torch.arange(n, device=device).split(max(1, size)))  # type: ignore[no-untyped-call]


class Features:
    """Unit vectors ``z`` (R, d); ``table`` holds all their cosines where many are asked for again and again."""

    def __init__(self, z: Tensor, *, table: bool = False) -> None:
        self.z = z
        self.table = z @ z.T if table else None

    def cosines(self, anchors: Tensor, others: Tensor) -> Tensor:
        """(A, k) between ``anchors`` (A,) and ``others`` (A, k)."""
        if self.table is not None:
            return self.table[anchors[:, None], others]
        return torch.einsum("ad,akd->ak", self.z[anchors], self.z[others])


class Experiment(ABC):
    """One loss on one population.  ``whole``: every step sees all samples, so that it has no sampling error.

    ``spherical``: features are unit vectors; else they are anywhere in space.  ``nonnegative``: no coordinate is
    negative, as after a ReLU.
    """

    whole: bool
    spherical: bool = True
    nonnegative: bool = False

    def __init__(self, population: Population) -> None:
        self.population = population

    @property
    def rows(self) -> int:
        """How many feature vectors there are."""
        return len(self.population)

    def numbers(self, dim: int) -> int:
        """How many numbers the largest array of a step holds, in ``dim`` dimensions."""
        return self.rows * dim

    @property
    def row_weights(self) -> Tensor:
        """(R,) share of each feature vector, sum 1."""
        return self.population.weights

    @property
    def row_labels(self) -> Tensor:
        """(R,) class of each feature vector."""
        return self.population.labels

    @abstractmethod
    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        """The loss of one training step, for unit vectors ``z`` (R, d)."""

    @abstractmethod
    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        """The expected loss of unit vectors ``z`` (R, d)."""


class AllSamples(Experiment):
    """An experiment whose every step sees all samples: a loss for each anchor from its cosines to all others."""

    whole = True

    @abstractmethod
    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        """What the losses of anchors ``rows`` (R,) need beside their cosines: masks and weights (R, N)."""

    @abstractmethod
    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        """(R,) for anchors with ``cosines`` (R, N) to all samples and their :meth:`frame`."""

    def compared(self, some: Tensor, z: Tensor) -> Tensor:
        """(R, N): how alike ``some`` features (R, d) and all features (N, d) are: their cosines."""
        return some @ z.T

    def total(self, losses: Tensor) -> Tensor:
        """The loss from the losses of all anchors (N,): their mean, weighted by share."""
        return self.population.weights @ losses

    def blocks(self) -> list[Tensor]:
        """All rows, in blocks so small that their cosines to all samples are held at once."""
        return in_blocks(self.rows, BLOCK // self.rows, self.population.device)

    @cached_property
    def _whole_frame(self) -> tuple[Tensor, ...]:
        return self.frame(torch.arange(self.rows, device=self.population.device))

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        if self.rows**2 <= BLOCK:
            return self.total(self.anchor_losses(self.compared(z, z), *self._whole_frame))

        def block(z: Tensor, rows: Tensor) -> Tensor:
            return self.anchor_losses(self.compared(z[rows], z), *self.frame(rows))

        # a block's matrices are thrown away and made again on the way back: memory stays at one block
        return self.total(torch.cat([checkpoint(block, z, rows, use_reentrant=False) for rows in self.blocks()]))

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        with torch.no_grad():
            return Estimate(float(self.step(z, generator)))


class RandomDraws(Experiment):
    """An experiment in which every anchor has its own random draws.

    ``sample`` also gives a figure whose expectation is known exactly (:meth:`control_mean`) and with which the loss
    nearly rises and falls, such as the mean of e^{s - 1/tau} over an anchor's negatives.  The estimate regresses it out
    (a control variate).
    """

    whole = False
    draws: int
    """Samples drawn for one anchor."""

    def numbers(self, dim: int) -> int:
        return max(super().numbers(dim), self.anchors * self.draws)

    @property
    def anchors(self) -> int:
        """Anchors of a training step."""
        return min(MOST_ANCHORS, max(FEWEST_ANCHORS, STEP_DRAWS // self.draws))

    @abstractmethod
    def sample(self, features: Features, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Losses (A,) and controls (A,) of anchors (A,), which are rows of the features, each with new draws."""

    @abstractmethod
    def control_mean(self, features: Features, rows: Tensor) -> Tensor:
        """(A,) expectation of the control for each anchor in ``rows``."""

    def step(self, z: Tensor, generator: torch.Generator) -> Tensor:
        anchors = self.population.draw((self.anchors,), generator)
        return self.sample(Features(z), anchors, generator)[0].mean()

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        n = self.rows
        features = Features(z, table=n * n <= 4 * BLOCK)
        width = self.draws * (1 if features.table is not None else z.shape[1])
        repeats = max(1, BLOCK // (n * width))
        sums = torch.zeros((5, n), dtype=z.dtype, device=z.device)
        count = 0
        with torch.no_grad():
            blocks = in_blocks(n, BLOCK // n, z.device)
            expected = torch.cat([self.control_mean(features, rows) for rows in blocks])
            while True:
                for rows in in_blocks(n, BLOCK // (width * repeats), z.device):
                    pair = self.sample(features, rows.repeat_interleave(repeats), generator)
                    loss, control = (part.reshape(rows.numel(), repeats) for part in pair)
                    control = control - expected[rows, None]
                    terms = (loss, control, loss * loss, loss * control, control * control)
                    sums[:, rows] += torch.stack([term.sum(1) for term in terms])
                count += repeats
                if count > 1:
                    estimate = regress(sums / count, self.row_weights, self.row_labels, count)
                    enough = estimate.standard_error <= STANDARD_ERROR * max(1.0, abs(estimate.value))
                    if enough or count * n * self.draws >= MOST_DRAWS:
                        return estimate


def regress(moments: Tensor, weights: Tensor, labels: Tensor, count: int) -> Estimate:
    """The weighted mean of the losses, their controls regressed out with one slope a class.

    ``moments`` (5, R): means of loss, control, loss^2, loss * control and control^2 over ``count`` draws a row.  One
    slope a row would fit a few draws too well, and understate the error.
    """
    loss, control, square, product, control_square = moments
    variance = (square - loss**2).clamp(min=0)
    covariance, spread = product - loss * control, (control_square - control**2).clamp(min=0)
    by_class = torch.zeros((2, int(labels.max()) + 1), dtype=loss.dtype, device=loss.device)
    by_class.index_add_(1, labels, torch.stack([covariance, spread]))
    useful = by_class[1] > 1e-24
    slope = torch.where(useful, by_class[0] / torch.where(useful, by_class[1], 1.0), 0.0)[labels]
    left = (variance - 2 * slope * covariance + slope**2 * spread).clamp(min=0) / (count - 1)
    return Estimate(float(weights @ (loss - slope * control)), math.sqrt(float(weights.square() @ left)))


def mean_crowd(features: Features, rows: Tensor, log_chance: Tensor, temperature: float) -> Tensor:
    """(A,) expectation of e^{s - 1/tau} for one negative of each anchor in ``rows``, by ``log_chance`` (A, R)."""
    cosines = features.z[rows] @ features.z.T
    return torch.logsumexp((cosines - 1) / temperature + log_chance, 1).exp()
