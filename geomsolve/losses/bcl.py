"""Balanced contrastive learning (BCL): denominators in which every class counts once, by the average of its samples.

    l_i = - 1/|P_i| sum_{p in P_i} log( e^{s_ip} / sum_{classes c} mean_{j of c} e^{s_ij} )

over the classes c that are there, the anchor left out of its own class's mean.  With the class complement a learned
prototype of every class is a sample of each batch, though no anchor, so that every class always is there.

    population limit        F = sum_a p_a log sum_b e^{t_ab}
    batches, no complement  F = sum_a p_a E log( 1 + sum over classes b != a that are there of e^{t_ab} )

(``objectives/present_classes.py``); in one view an anchor whose class came only once has no positive and adds nothing.
In the population limit a prototype is one of very many samples of its class, so that the complement changes nothing.
In a batch it does, and a prototype need not stand at the mean of its class: only anchors push it away, so that the
optimum is one of means and prototypes together, which is not solved here.

Anchors still come as often as their class, so classes of different sizes do not form a regular simplex: that also takes
a balanced sampler or balanced class weights (derived for this project; compare supcon with --denominator balanced,
which is this less log K).

Levels, balanced batches of m embeddings a class, no complement: total collapse log K, optimum
log(1 + (K - 1) e^{-K/((K-1) tau)}), random start E log of the means of m - 1 own and m other e^{c/tau}.

Source: Zhu et al. 2022.  Symbols: K ``n_classes``, B ``batch``, V ``views``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log
from typing import Any, ClassVar, Self

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register, settle_batches
from geomsolve.losses.parameters import BATCH, COMPLEMENT, TEMPERATURE, VIEWS
from geomsolve.objectives.base import Objective
from geomsolve.objectives.levels import Optimum, Scale, Training
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.present_classes import LARGEST_BATCH, PresentClasses
from geomsolve.objectives.random_start import random_log_sum
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class BCL(Loss):
    """Balanced contrastive loss; see the module.  Batches are drawn with replacement."""

    name: ClassVar[str] = "bcl"
    summary: ClassVar[str] = "SupCon with class-averaged denominators: population limit, or batches without complement"
    source: ClassVar[str] = "Zhu et al. 2022 (balanced contrastive learning)"
    also: ClassVar[tuple[str, ...]] = ("balanced-contrastive", "balanced-contrastive-learning")
    needs_classes: ClassVar[bool] = True

    temperature: float = parameter(TEMPERATURE, 0.1)
    complement: str | None = parameter(COMPLEMENT, None)
    batch: int | None = parameter(BATCH, None)
    views: int | None = parameter(VIEWS, None)

    def __post_init__(self) -> None:
        settle_batches(self)
        if self.batch == 2 and self.views == 1:
            raise InputError(
                "with two samples of one view an anchor with a positive has no negative, so the loss is 0 everywhere; "
                "take a larger batch",
                field="loss.batch",
            )
        if self.batch is not None and self.complement == "yes":
            raise InputError(
                "in a batch the prototypes of the class complement move by themselves, so that the optimum is no "
                "question of the classes alone; leave out the batch (then they do not matter), or take no",
                field="loss.complement",
            )

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        batches = {} if self.batch is None else {"batch": self.batch, "views": self.views}
        return {"temperature": self.temperature, **batches}

    def objective(self, orbits: Orbits) -> Objective:
        if self.batch is not None:
            return PresentClasses(orbits, int(self.batch), self.temperature, lonely=self.views == 1)
        mass = orbits.sizes * orbits.proportions
        ones = np.ones(orbits.n_orbits)
        return LogSum(orbits.others, ones, mass, 1 / self.temperature, unique_minimiser=True)

    @property
    def reads_whole_set(self) -> bool:
        return self.batch is None

    @property
    def scatter_is_heat(self) -> bool:
        return self.batch is None

    def varied(self, name: str, value: float) -> Self:
        if name == "batch" and value == inf:
            return self.replace(batch=None, views=None)
        return super().varied(name, value)

    def range_of(self, name: str, orbits: Orbits) -> tuple[float, float]:
        if name != "batch":
            return super().range_of(name, orbits)
        return 3 if self.views == 1 else 2, LARGEST_BATCH

    def levels(self, training: Training) -> Scale:
        if not training.balanced or training.instances:
            raise InputError(
                "levels of bcl are known for batches that hold every class equally often; give --classes",
                field="loss.name",
            )
        if self.complement == "yes":
            raise InputError("levels are of batches without prototypes; give --complement no", field="loss.complement")
        orbits, m, k = training.orbits, round(training.per_class * training.views), training.orbits.n_classes
        if m < 2:
            raise InputError("with one view and one sample a class no anchor has a positive", field="views")
        return Scale(
            log(k),
            lambda dim: random_log_sum([(1 / (m - 1), m - 1), (1 / m, m * (k - 1))], self.temperature, dim),
            Optimum(self.replace(batch=None, views=None).objective(orbits), orbits),
            None,
            anchors=training.size * training.views,
            embeddings=training.size * training.views,
            temperature=self.temperature,
        )
