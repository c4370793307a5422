"""Training with NT-Xent on labelled batches: B random samples, each with V features of its own, and all their pairs.

The loss of a batch is a mean over its own pairs, so that it cannot be estimated anchor by anchor: its expectation is
taken over whole batches.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from geomsolve.descent.batches import StepLoss
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.pair_batches import PairBatches
from geomsolve.descent.population import Population
from geomsolve.errors import InputError
from geomsolve.losses.nt_xent import NTXent
from geomsolve.objectives.rebalanced import Rebalance


def experiment(loss: NTXent, population: Population, step_loss: StepLoss | None = None) -> Experiment:
    """See the module; with steps by another implementation, ``step_loss``."""
    if loss.batch is None or loss.views is None:
        raise InputError("it compares within a batch; give its size, --batch B", field="loss.batch")
    drawn = Rebalance(loss.sampler).drawn(population.proportions.cpu().numpy())
    sampled = replace(population, proportions=torch.as_tensor(drawn, device=population.device))
    finite = loss.replacement == "no"
    return PairBatches(sampled, loss.temperature, loss.batch, loss.views, finite=finite, step_loss=step_loss)


def pml(loss: NTXent, population: Population) -> Experiment | None:
    """The same with steps by the library's NTXentLoss, which forms the pairs from labels."""
    from pytorch_metric_learning.losses import NTXentLoss

    step_loss: StepLoss = NTXentLoss(temperature=loss.temperature)
    return experiment(loss, population, step_loss)
