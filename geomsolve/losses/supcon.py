"""Supervised contrastive loss (SupCon), after within-class collapse.

    population    F = sum_a p_a log sum_b p_b e^{t_ab}                                   (batch size -> infinity)
    random batch  F = sum_a p_a E log( V - 1 + V sum_{j=1..B-1} e^{t_{a c_j}} ),  c_j ~ p    (B samples, V views)
    full batch    F = sum_a (n_a / N) log( n_a - 1 + sum_{b != a} n_b e^{t_ab} )         (one batch, self excluded)
    rebalanced    F = sum_a w_a log sum_b v_b e^{t_ab}                                   (``objectives/rebalanced.py``)
                  in random batches of classes drawn as q every embedding of class b counts v_b / q_b in the sum
    fixed batches F = weighted mean over batches of the population limit in each      (``objectives/fixed_batches.py``)

Random batches are drawn with replacement, so that a sample may come twice; ``replacement`` no draws them from the
counts without, as data loaders do (``objectives/finite_draws.py``).  An anchor without a positive, of a class with one
sample in the full batch or that came once in a batch of one view (``objectives/one_view.py``), adds nothing to the loss
(the usual implementations skip it), though it still is a negative of the others.  Source: Khosla et al. 2020, loss
L_out.

Levels, N = V B embeddings in a batch: total collapse log(N - 1), random start E log sum_{N-1} e^{c/tau}; balanced
batches, m = N / K of a class, have the optimum log((m - 1) + (N - m) e^{-K / ((K-1) tau)}).  With one view an anchor
whose class came only once has no positive and contributes 0 (``objectives/one_view.py``).  Both views stand in every
denominator, so by Jensen's inequality nothing is lost where the views of a sample coincide.

Symbols: p_a ``proportions``, n_a ``counts``, tau ``temperature``, B ``batch``, V ``views``, N ``n_embeddings``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Alias, Loss, register, settle_batches
from geomsolve.losses.parameters import (
    ANCHOR_WEIGHTS,
    BATCH,
    BATCH_WEIGHTS,
    BATCHES,
    DENOMINATOR,
    FULL_BATCH,
    LOGIT_ADJUST,
    PAIR_MARGIN,
    REPLACEMENT,
    SAMPLER,
    TEMPERATURE,
    VIEWS,
)
from geomsolve.objectives.base import Objective
from geomsolve.objectives.drawn_batches import Batches, MeanNonzero, whole_counts
from geomsolve.objectives.expectation import LogExpectation
from geomsolve.objectives.finite_draws import FiniteDraws
from geomsolve.objectives.fixed_batches import FixedBatches, Groups, positions, strangers
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.one_view import OneView
from geomsolve.objectives.random_start import random_log_sum
from geomsolve.objectives.rebalanced import REBALANCED, Margins, PerClass, Rebalance
from geomsolve.registry import parameter

FEW_COUNTS = 30
"""Distinct counts up to which levels looks at batches without replacement unasked: it takes seconds."""

MOST_COUNTS = 200
"""Distinct counts up to which batches without replacement are solved: a gradient takes seconds beyond."""


@register
@dataclass(frozen=True)
class SupCon(Loss):
    """SupCon, in one of its three forms; see the module."""

    name: ClassVar[str] = "supcon"
    summary: ClassVar[str] = "supervised contrastive loss: population limit, random batches or one full batch"
    source: ClassVar[str] = "Khosla et al. 2020, L_out"
    also: ClassVar[tuple[str, ...]] = ("supervised-contrastive", "sup-contrast", "supcon-out")
    in_contrast: ClassVar[bool] = True
    aliases: ClassVar[tuple[Alias, ...]] = (
        Alias("simclr", "supcon in which every sample is its own class", also=("simclr-v2", "instance-discrimination")),
    )
    needs_classes: ClassVar[bool] = True

    temperature: float = parameter(TEMPERATURE, 0.1)
    batch: int | None = parameter(BATCH, None)
    views: int | None = parameter(VIEWS, None)
    full_batch: bool = parameter(FULL_BATCH, False)
    replacement: str | None = parameter(REPLACEMENT, None)
    sampler: float | None = parameter(SAMPLER, None)
    anchor_weights: PerClass | None = parameter(ANCHOR_WEIGHTS, None)
    denominator: PerClass | None = parameter(DENOMINATOR, None)
    logit_adjust: float | None = parameter(LOGIT_ADJUST, None)
    pair_margin: Margins | None = parameter(PAIR_MARGIN, None)
    batches: Groups | None = parameter(BATCHES, None)
    batch_weights: tuple[float, ...] | None = parameter(BATCH_WEIGHTS, None)

    def __post_init__(self) -> None:
        if self.full_batch and self.batch is not None:
            raise InputError("a full batch holds the whole set; leave out the batch size", field="loss.batch")
        settle_batches(self)
        if self.batch == 2 and self.views == 1:
            raise InputError(
                "with two samples of one view an anchor with a positive has no negative, so the loss is 0 everywhere; "
                "take a larger batch",
                field="loss.batch",
            )

        if self.batches is not None:
            others = [name for name in self.parameters() if name not in ("temperature", "batches", "batch_weights")]
            clash = next((name for name in others if getattr(self, name) is not False), None)
            if clash is not None:
                raise InputError("fixed batches are compared as they stand; leave this out", field=f"loss.{clash}")
        if self.batch_weights is not None and len(self.batch_weights) != len(self.batches or ()):
            given = "no fixed batches" if self.batches is None else f"{len(self.batches)} batches"
            raise InputError(
                f"{len(self.batch_weights)} numbers for {given}; give one for each of --batches",
                field="loss.batch_weights",
            )
        whole = self.full_batch or self.replacement == "no"
        for name in REBALANCED:
            if getattr(self, name) is not None and (whole or self.views == 1):
                raise InputError(
                    "this is worked out for random batches of two or more views, drawn with replacement, and for the "
                    "population limit; leave out the full batch, --replacement no or --views 1",
                    field=f"loss.{name}",
                )

    @property
    def rebalance(self) -> Rebalance:
        """Who counts how much."""
        return Rebalance(self.sampler, self.anchor_weights, self.denominator, self.logit_adjust, self.pair_margin)

    def orbits(self, proportions: ArrayLike, counts: ArrayLike | None = None) -> Orbits:
        plain = super().orbits(proportions, counts)
        told_apart = self.rebalance.columns(plain.n_classes)
        if self.batches is not None:
            told_apart = np.arange(plain.n_classes, dtype=np.float64)[:, None]
        return plain if told_apart is None else plain.refined(told_apart)

    def notes(self) -> tuple[str, ...]:
        pairs = [] if self.batches is None else strangers(self.batches)
        if not pairs:
            return ()
        more = f" and {len(pairs) - 6:,} more pairs" if len(pairs) > 6 else ""
        return (f"never in one batch, so not compared: classes {', '.join(pairs[:6])}{more}",)

    def among(self, names: Sequence[str]) -> Self:
        return self if self.batches is None else self.replace(batches=positions(self.batches, names))

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        changed = self.rebalance.in_proofs
        if self.batches is not None:
            weights = {} if self.batch_weights is None else {"batch_weights": list(map(float, self.batch_weights))}
            return {"temperature": self.temperature, "batches": list(map(list, self.batches)), **weights}
        if changed is None or (changed and self.batch is not None):
            return None
        if changed:
            return {"temperature": self.temperature, **changed}
        if self.batch is not None:
            finite = {"replacement": "no"} if self.replacement == "no" else {}
            return {"temperature": self.temperature, "batch": self.batch, "views": self.views, **finite}
        return {"temperature": self.temperature, **({"full_batch": True} if self.full_batch else {})}

    @property
    def reads_whole_set(self) -> bool:
        return self.batch is None

    @property
    def counted_off(self) -> str:
        fixed = self.full_batch or self.batch is not None or self.batches is not None
        summed = not fixed and self.denominator is None and self.logit_adjust is None
        return "embeddings in a batch" if summed else ""

    @property
    def counts_are_samples(self) -> bool:
        return self.full_batch or self.replacement == "no"

    def objective(self, orbits: Orbits) -> Objective:
        if self.batches is not None:
            return FixedBatches(orbits, self.batches, self.temperature, self.batch_weights)
        n = orbits.sizes
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
            return LogSum.of_classes(orbits, counts, counts - 1, mass, scale, unique=strict)
        q, w, v = self.rebalance.by_orbit(orbits)
        heard = int(np.sum(n * (w == 0))) < 2  # the cosine of two classes that are no anchors does not enter
        if self.batch is None and self.pair_margin is None:
            return LogSum.of_classes(orbits, v, v, n * w, scale, unique=heard)
        margins = scale * self.rebalance.margins(orbits)
        if self.batch is None:
            return LogSum(orbits.others * v * np.exp(margins), v, n * w, scale, unique_minimiser=heard)
        assert self.views is not None
        if self.replacement == "no":
            return self._without_replacement(orbits, self.batch, self.views)
        if self.views == 1:
            return OneView(orbits, self.batch, self.temperature)
        counted = v / q  # how much an embedding of each class counts
        return LogExpectation(
            orbits.others * q,
            q,
            n * w,
            base=(self.views - 1) * counted,
            factor=self.views,
            negatives=self.batch - 1,
            scale=scale,
            unique_minimiser=heard,
            log_weights=np.log(counted) + margins,
            own_weights=counted,
        )

    def objective_at(self, temperature: float, orbits: Orbits, objective: Objective) -> Objective:
        if isinstance(objective, LogSum) and self.pair_margin is None:  # the temperature is nowhere else
            return objective.at_scale(1 / temperature)
        return super().objective_at(temperature, orbits, objective)

    @property
    def scatter_is_heat(self) -> bool:
        return self.batch is None and not self.full_batch and self.pair_margin is None and self.batches is None

    def varied(self, name: str, value: float) -> Self:
        if name == "batch" and value == inf:
            return self.replace(batch=None, views=None, replacement=None)
        return super().varied(name, value)

    def range_of(self, name: str, orbits: Orbits) -> tuple[float, float]:
        if name != "batch":
            return super().range_of(name, orbits)
        if self.full_batch:
            raise InputError("the full batch has one size; leave out --full-batch to vary the batch", field="over")
        most = inf
        if self.replacement == "no" and orbits.counts is not None:
            most = float(orbits.sizes @ orbits.counts)
        return 3 if self.views == 1 else 2, most

    def _without_replacement(self, orbits: Orbits, batch: int, views: int) -> Objective:
        counts = whole_counts(orbits, batch)
        if views == 1 and counts.max() < 2:
            raise InputError(
                "every class has one sample, so in one view no anchor has a positive and the loss is 0 everywhere; "
                "give a class two samples or take two views",
                field="loss.views",
            )
        if orbits.n_orbits > MOST_COUNTS:
            raise InputError(
                f"{orbits.n_orbits:,} distinct counts are too many for batches without replacement, at most "
                f"{MOST_COUNTS} are solved; leave it out, or round the counts so that more classes share one",
                field="loss.replacement",
            )
        return FiniteDraws(orbits, batch, views, self.temperature)

    def course(self, over: str, level: str) -> Course:
        """Each of them is the logarithm of a sum: it rises with every further term, and with the temperature where all
        terms are e^{(c - 1)/tau}.  At random it is convex in 1/tau with slope 0 at 0, as cosines have mean 0."""
        if over == "temperature":
            return "falling" if level == "random_start" else "rising"
        return "rising" if over == "batch" else ""

    def levels(self, training: Training) -> Scale:
        if self.full_batch:
            raise InputError("levels are of a batch; leave this out and give --batch", field="loss.full_batch")
        if self.batches is not None:
            raise InputError("levels are of random or balanced batches; leave this out", field="loss.batches")
        if self.denominator not in (None, "plain") or self.logit_adjust is not None or self.pair_margin is not None:
            raise InputError(
                "levels are of a batch, in which what an anchor is compared with is not reweighted here; leave out the "
                "denominator, the logit adjustment and the margins",
                field="loss.denominator",
            )
        if self.sampler is not None:  # classes are drawn as if they had other shares
            q = self.rebalance.by_orbit(training.orbits)[0]
            drawn_as = replace(training, orbits=replace(training.orbits, proportions=q, counts=None))
            return self.replace(sampler=None).levels(drawn_as)
        orbits, batch, views = training.orbits, training.size, training.views
        n_embeddings = batch * views
        balanced, batches, other, few, drawn = None, None, None, None, None
        if training.balanced:
            per_class = training.per_class * views
            if per_class <= 1:
                raise InputError("with one view and one sample a class no anchor has a positive", field="views")
            counted = replace(orbits, counts=np.full(orbits.n_orbits, per_class))
            balanced = Optimum(self.replace(batch=None, views=None, full_batch=True).objective(counted), counted)
        if not training.instances:
            both = self._ways(training)
            batches, *rest = (
                Optimum(self.replace(batch=batch, views=views, replacement=way).objective(orbits), orbits)
                for way in both
            )
            other = rest[0] if rest else None
            drawn = Batches(orbits, batch, views, finite=both[0] == "no")
            if views == 1 and drawn.few:
                few = Optimum(MeanNonzero(drawn, self.temperature), orbits)
        lonely = drawn.lonely() if drawn else 0.0
        heard = 1.0 if balanced else 1 - lonely  # anchors without a positive contribute 0, whatever the embeddings
        return Scale(
            heard * log(n_embeddings - 1),
            lambda dim: heard * random_log_sum([(1.0, n_embeddings - 1)], self.temperature, dim),
            balanced,
            batches,
            anchors=n_embeddings,
            embeddings=n_embeddings,
            no_positive=lonely,
            drawn=drawn,
            other=None if balanced else other,
            few=few,
            temperature=self.temperature,
        )

    def _ways(self, training: Training) -> tuple[str, ...]:
        """'yes' and 'no', or what of it the classes allow: how random batches are drawn first, then the other way."""
        orbits, wanted = training.orbits, training.replacement
        counts = orbits.counts
        if wanted is None and self.anchor_weights is not None:
            return ("yes",)
        if wanted != "no" and (
            counts is None or training.size > orbits.sizes @ counts or orbits.n_orbits > MOST_COUNTS
        ):
            return ("yes",)
        if wanted == "no" or (wanted is None and orbits.n_orbits <= FEW_COUNTS):
            return ("no", "yes")
        return ("yes", "no") if orbits.n_orbits <= FEW_COUNTS else ("yes",)
