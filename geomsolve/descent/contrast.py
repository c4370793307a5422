"""One positive against k negatives of its own for every anchor, or against all samples in the limit of many.

    k negatives    log( a0 e^{s+} + b sum_j e^{s_j} ) - s+       InfoNCE: a0 = 1; DCL: a0 = 0; b = 1, or 1/k (mean form)
    k = inf        every positive in turn, the denominator averaged over all samples (``denominator.py``); the sum form,
                   less log k, has lost its positive

Symbols: k ``negatives``, a0 ``own``, b ``factor``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from geomsolve.descent import batch_losses
from geomsolve.descent.denominator import Denominator, Rebalanced
from geomsolve.descent.experiments import Experiment, Features, RandomDraws, mean_crowd
from geomsolve.descent.negatives import hardened, synthesise
from geomsolve.descent.population import Population
from geomsolve.losses.infonce import Negatives

Logits = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Logits of positives (A, 1) and negatives (A, k) from their cosines."""


class Contrast(RandomDraws):
    """InfoNCE and DCL with k negatives; ``own`` and ``mean`` tell them and their forms apart.

    ``synthetic`` adds SynCo's negatives, ``hardness`` reweights them.  ``logits`` of an anchor's positive (A, 1) and
    negatives (A, k), from their cosines, are these divided by the temperature unless it says otherwise.
    """

    def __init__(
        self,
        population: Population,
        temperature: float,
        negatives: int,
        *,
        own: float,
        mean: bool,
        sampling: str,
        synthetic: tuple[str, ...] = (),
        hardness: float = 0.0,
        logits: Logits | None = None,
    ) -> None:
        super().__init__(population)
        self.temperature, self.negatives, self.own, self.mean = temperature, negatives, own, mean
        self.sampling, self.synthetic, self.hardness = sampling, synthetic, hardness
        self.logits = logits or (lambda positive, negative: (positive / temperature, negative / temperature))
        self.draws = negatives + 1

    def draw(self, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Positives (A, 1) and negatives (A, k) of ``anchors`` (A,)."""
        positive = self.population.draw_positives(anchors, generator)[:, None]
        return positive, self.population.draw_negatives(anchors, self.negatives, self.sampling, generator)

    def sample(self, features: Features, anchors: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        partner, drawn = self.draw(anchors, generator)
        positive, negative = features.cosines(anchors, partner), features.cosines(anchors, drawn)
        if self.synthetic:
            z = features.z
            made = synthesise(self.synthetic, z[anchors], z[drawn], generator)
            negative = torch.cat([negative, torch.einsum("ad,amd->am", z[anchors], made)], 1)
        up, down = self.logits(positive, negative)
        if self.hardness:
            down = hardened(negative, down, self.hardness)
        factor = 1 / negative.shape[1] if self.mean else 1.0
        control = ((negative[:, : self.negatives] - 1) / self.temperature).exp().mean(1)
        return batch_losses.contrast(up[:, 0], down, self.own, factor), control

    def control_mean(self, features: Features, rows: Tensor) -> Tensor:
        return mean_crowd(features, rows, self.population.log_negatives(rows, self.sampling), self.temperature)


def against_negatives(
    loss: Negatives, population: Population, *, mean: bool = False, synthetic: tuple[str, ...] = ()
) -> Experiment:
    """The experiment for InfoNCE or DCL, in its sum or mean form.

    ``synthetic`` negatives are made from an anchor's own ones, so they need a number of these.
    """
    if loss.changed:
        p = population.proportions.cpu().numpy()
        changes = loss.changes
        return Rebalanced(
            population,
            loss.temperature,
            changes.anchors(p, population.sizes.cpu().numpy()),
            changes.denominators(p),
            changes.pair_margin,
            own=loss.own if mean else 0.0,
            sampling=loss.sampling,
        )
    if math.isinf(loss.negatives):
        return Denominator(
            population,
            lambda c: c / loss.temperature,
            own=loss.own if mean else 0.0,
            sampling=loss.sampling,
            hardness=loss.hardness or 0.0,
        )
    return Contrast(
        population,
        loss.temperature,
        int(loss.negatives),
        own=loss.own,
        mean=mean,
        sampling=loss.sampling,
        synthetic=synthetic,
        hardness=loss.hardness or 0.0,
    )
