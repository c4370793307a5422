"""Training with TSC on all samples: SupCon, and a pull of every sample to the target of its class.

The targets are a regular simplex that stays where it is, so that features need a dimension less than there are classes.
Where features come from elsewhere, only they know where their targets were: a value is that of the targets turned so
that it is lowest.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent.denominator import Denominator
from geomsolve.descent.experiments import Estimate, Experiment
from geomsolve.descent.population import Population
from geomsolve.errors import InputError
from geomsolve.losses.tsc import TSC


def regular_simplex(classes: int, dim: int, device: torch.device) -> Tensor:
    """(K, d): unit vectors with all cosines -1/(K - 1); :class:`InputError` unless d >= K - 1."""
    if dim < classes - 1:
        raise InputError(
            f"{classes} targets on a regular simplex need {classes - 1} dimensions, here are {dim}", field="dim"
        )
    centred = torch.eye(classes, dtype=torch.float64, device=device) - 1 / classes
    corners = centred @ torch.linalg.eigh(centred).eigenvectors[:, 1:]
    return torch.nn.functional.pad(torch.nn.functional.normalize(corners, dim=1), (0, dim - classes + 1))


class Targeted(Denominator):
    """TSC on all samples, ``positives`` k and a ``target_weight``."""

    def __init__(self, population: Population, temperature: float, positives: int, target_weight: float) -> None:
        super().__init__(population, lambda cosines: cosines / temperature)
        self.temperature, self.k, self.target_weight = temperature, positives, target_weight

    def compared(self, some: Tensor, z: Tensor) -> Tensor:
        """(R, N + K): cosines to all samples and to the targets."""
        targets = regular_simplex(self.population.sizes.numel(), z.shape[1], z.device)
        return some @ torch.cat([z, targets]).T

    def value(self, z: Tensor, generator: torch.Generator) -> Estimate:
        targets = regular_simplex(self.population.sizes.numel(), z.shape[1], z.device)
        left, _, right = torch.linalg.svd((z * self.population.weights[:, None]).T @ targets[self.population.labels])
        return super().value(z @ left @ right, generator)  # turning the features instead of the targets

    def frame(self, rows: Tensor) -> tuple[Tensor, ...]:
        return *super().frame(rows), self.population.labels[rows][:, None]

    def anchor_losses(self, cosines: Tensor, *frame: Tensor) -> Tensor:
        positives, chance, label = frame
        logits = cosines / self.temperature
        samples, targets = logits[:, : self.rows], logits[:, self.rows :].gather(1, label)
        crowd = torch.logsumexp(samples + chance, 1, keepdim=True)
        near = (self.k + 1) * (positives * (crowd - samples)).sum(1)
        return (near + self.target_weight * (crowd - targets)[:, 0]) / (self.k + 2)


def experiment(loss: TSC, population: Population) -> Experiment:
    """See the module."""
    return Targeted(population, loss.temperature, int(loss.positives), loss.target_weight)
