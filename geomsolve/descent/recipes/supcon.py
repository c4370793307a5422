"""Training with SupCon.

batch B, views V      B random samples, each with V features of its own; the usual batch loss.  Without replacement
                      they are B different ones, and the samples are those that the counts say
full batch            all samples, one batch; the usual batch loss
population limit      the batch loss on all samples, each weighted by its share (the anchor included)
fixed batches         all samples of its classes in each, weighted by share
rebalanced            the same with weights of classes as anchors, and among what an anchor is compared with
"""

from __future__ import annotations

from dataclasses import replace

import torch

from geomsolve.descent.batches import FullBatch, RandomBatches, StepLoss
from geomsolve.descent.denominator import Rebalanced
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.fixed_batches import FixedBatches
from geomsolve.descent.population import Population
from geomsolve.errors import InputError
from geomsolve.losses.supcon import SupCon


def experiment(loss: SupCon, population: Population) -> Experiment:
    """See the module."""
    rebalance, p = loss.rebalance, population.proportions.cpu().numpy()
    drawn = replace(population, proportions=torch.as_tensor(rebalance.drawn(p), device=population.device))
    if loss.batches is not None:
        return FixedBatches(population, loss.temperature, [[int(a) - 1 for a in batch] for batch in loss.batches])
    if loss.batch is not None and loss.anchor_weights is not None:
        raise InputError(
            "class weights are trained in the population limit; leave out the batch", field="loss.anchor_weights"
        )
    on_batches = _on_batches(loss, drawn)
    if on_batches is not None:
        return on_batches
    counts = population.sizes.cpu().numpy()
    return Rebalanced(drawn, loss.temperature, rebalance.anchors(p, counts), rebalance.denominators(p))


def pml(loss: SupCon, population: Population) -> Experiment | None:
    """The same on batches, with steps by the library's SupConLoss."""
    from geomsolve.descent.pml import supcon_loss

    return _on_batches(loss, population, supcon_loss(loss.temperature))


def _on_batches(loss: SupCon, population: Population, step_loss: StepLoss | None = None) -> Experiment | None:
    if loss.full_batch:
        return FullBatch(population, loss.temperature, step_loss=step_loss)
    if loss.batch is None or loss.views is None:
        return None
    finite = loss.replacement == "no"
    return RandomBatches(
        population, loss.temperature, int(loss.batch), int(loss.views), finite=finite, step_loss=step_loss
    )
