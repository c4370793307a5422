"""Supervised contrastive loss (SupCon), after within-class collapse.

    population    F = sum_a p_a log sum_b p_b e^{t_ab}                                   (batch size -> infinity)
    random batch  F = sum_a p_a E log( V - 1 + V sum_{j=1..B-1} e^{t_{a c_j}} ),  c_j ~ p    (B samples, V views)
    full batch    F = sum_a (n_a / N) log( n_a - 1 + sum_{b != a} n_b e^{t_ab} )         (one batch, self excluded)

In the full batch an anchor whose class has one sample has no positive; it adds nothing to the loss (the usual
implementations skip it), though it still is a negative of the others.  Source: Khosla et al. 2020, loss L_out.

Levels, N = V B embeddings in a batch: total collapse log(N - 1), random start E log sum_{N-1} e^{c/tau}; balanced
batches, m = N / K of a class, have the optimum log((m - 1) + (N - m) e^{-K / ((K-1) tau)}).  With one view an anchor
whose class came only once has no positive and contributes 0 (``objectives/one_view.py``).  Both views stand in every
denominator, so by Jensen's inequality nothing is lost where the views of a sample coincide.

Symbols: p_a ``proportions``, n_a ``counts``, tau ``temperature``, B ``batch``, V ``views``, N ``n_embeddings``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Alias, Loss, register
from geomsolve.losses.parameters import BATCH, FULL_BATCH, TEMPERATURE, VIEWS
from geomsolve.objectives.base import Objective
from geomsolve.objectives.expectation import LogExpectation
from geomsolve.objectives.levels import Optimum, Scale, Training, no_positive_probability
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.one_view import OneView
from geomsolve.objectives.random_start import random_log_sum
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class SupCon(Loss):
    """SupCon, in one of its three forms; see the module."""

    name: ClassVar[str] = "supcon"
    summary: ClassVar[str] = "supervised contrastive loss: population limit, random batches or one full batch"
    source: ClassVar[str] = "Khosla et al. 2020, L_out"
    aliases: ClassVar[tuple[Alias, ...]] = (
        Alias("simclr", "supcon in which every sample is its own class"),
        Alias("nt-xent", "supcon in which every sample is its own class: the loss of simclr"),
    )
    needs_classes: ClassVar[bool] = True

    temperature: float = parameter(TEMPERATURE, 0.1)
    batch: int | None = parameter(BATCH, None)
    views: int | None = parameter(VIEWS, None)
    full_batch: bool = parameter(FULL_BATCH, False)

    def __post_init__(self) -> None:
        if self.full_batch and self.batch is not None:
            raise InputError("a full batch holds the whole set; leave out the batch size", field="loss.batch")
        if self.views is not None and self.batch is None:
            raise InputError("views matter only within a batch; give the batch size too", field="loss.views")
        if self.batch is not None and self.views is None:
            object.__setattr__(self, "views", 2)

    def objective(self, orbits: Orbits) -> Objective:
        p, n = orbits.proportions, orbits.sizes
        scale = 1 / self.temperature
        if self.full_batch:
            if orbits.counts is None:
                raise InputError("a full batch needs class counts, not proportions", field="loss.full_batch")
            counts = orbits.counts
            if counts.max() < 2:
                raise InputError(
                    "every class has one sample, so no anchor has a positive and the loss is 0 everywhere; "
                    "give a class two samples or leave the full batch out",
                    field="loss.full_batch",
                )
            total = float(np.sum(n * counts))
            mass = np.where(counts > 1, n * counts / total, 0.0)
            # two classes of one sample each are nobody's anchor, so their cosine does not enter
            strict = int(np.sum(n * (counts == 1))) < 2
            return LogSum(orbits.others * counts, counts - 1, mass, scale, unique_minimiser=strict)
        if self.batch is None:
            return LogSum(orbits.others * p, p, n * p, scale, unique_minimiser=True)
        assert self.views is not None
        return LogExpectation(
            orbits.others * p,
            p,
            n * p,
            base=self.views - 1,
            factor=self.views,
            negatives=self.batch - 1,
            scale=scale,
            unique_minimiser=True,
        )

    def levels(self, training: Training) -> Scale:
        if self.full_batch:
            raise InputError("levels are of a batch; leave this out and give --batch", field="loss.full_batch")
        orbits, batch, views = training.orbits, training.size, training.views
        n_embeddings = batch * views
        lonely, balanced, batches = 0.0, None, None
        if training.balanced:
            per_class = training.per_class * views
            if per_class <= 1:
                raise InputError("with one view and one sample a class no anchor has a positive", field="views")
            counted = replace(orbits, counts=np.full(orbits.n_orbits, per_class))
            balanced = Optimum(self.replace(batch=None, views=None, full_batch=True).objective(counted), counted)
        if not training.instances:
            lonely = no_positive_probability(orbits, batch, views)
            drawn = self.replace(batch=batch, views=views) if views > 1 else None
            objective = drawn.objective(orbits) if drawn else OneView(orbits, batch, self.temperature)
            batches = Optimum(objective, orbits)
        heard = 1.0 if balanced else 1 - lonely  # anchors without a positive contribute 0, whatever the embeddings
        return Scale(
            heard * log(n_embeddings - 1),
            lambda dim: heard * random_log_sum([(1.0, n_embeddings - 1)], self.temperature, dim),
            balanced,
            batches,
            anchors=n_embeddings,
            embeddings=n_embeddings,
            no_positive=lonely,
        )
