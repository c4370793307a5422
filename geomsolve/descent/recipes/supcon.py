"""Training with SupCon.

batch B, views V      B random samples, each with V features of its own; the usual batch loss.  Without replacement
                      they are B different ones, and the samples are those that the counts say
full batch            all samples, one batch; the usual batch loss
population limit      the batch loss on all samples, each weighted by its share (the anchor included)
fixed batches         all samples of its classes in each, weighted by share
rebalanced            the same with weights of classes as anchors, and among what an anchor is compared with; on random
                      batches of classes as the sampler draws them, each embedding there counts v / q of its class
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from geomsolve.descent.batches import FullBatch, RandomBatches, StepLoss
from geomsolve.descent.denominator import Rebalanced
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.fixed_batches import FixedBatches
from geomsolve.descent.population import Population
from geomsolve.errors import InputError
from geomsolve.losses.supcon import SupCon
from geomsolve.objectives.rebalanced import REBALANCED


def experiment(loss: SupCon, population: Population) -> Experiment:
    """See the module."""
    rebalance, p = loss.rebalance, population.proportions.cpu().numpy()
    drawn = replace(population, proportions=torch.as_tensor(rebalance.drawn(p), device=population.device))
    if loss.batches is not None:
        batches = [[int(a) - 1 for a in batch] for batch in loss.batches]
        return FixedBatches(population, loss.temperature, batches, loss.batch_weights)
    on_batches = _on_batches(loss, population)
    if on_batches is not None:
        return on_batches
    counts = population.sizes.cpu().numpy()
    anchors, compared = rebalance.anchors(p, counts), rebalance.denominators(p)
    return Rebalanced(drawn, loss.temperature, anchors, compared, rebalance.pair_margin)


def pml(loss: SupCon, population: Population) -> Experiment | None:
    """The same on batches, with steps by the library's SupConLoss."""
    from geomsolve.descent.pml import supcon_loss

    weighted = [name for name in REBALANCED if name != "sampler" and getattr(loss, name) is not None]
    if weighted:
        raise InputError(
            "pytorch-metric-learning weighs all samples of a batch alike; use the project's own batch losses (leave "
            "the implementation out)",
            field=f"loss.{weighted[0]}",
        )
    return _on_batches(loss, population, supcon_loss(loss.temperature))


def _on_batches(loss: SupCon, population: Population, step_loss: StepLoss | None = None) -> Experiment | None:
    if loss.full_batch:
        return FullBatch(population, loss.temperature, step_loss=step_loss)
    if loss.batch is None or loss.views is None:
        return None
    rebalance, p = loss.rebalance, population.proportions.cpu().numpy()
    q, counts = rebalance.drawn(p), population.sizes.cpu().numpy()
    compared = np.log(np.tile(rebalance.denominators(p) / q, (q.size, 1)))
    if rebalance.pair_margin is not None:
        compared = compared + np.asarray(rebalance.pair_margin) / loss.temperature
    return RandomBatches(
        replace(population, proportions=torch.as_tensor(q, device=population.device)),
        loss.temperature,
        int(loss.batch),
        int(loss.views),
        finite=loss.replacement == "no",
        step_loss=step_loss,
        anchors=None if loss.anchor_weights is None else rebalance.anchors(p, counts) / q,
        compared=compared if compared.any() else None,
    )
