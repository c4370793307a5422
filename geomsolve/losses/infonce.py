"""InfoNCE and its decoupled form (DCL), with k random negatives or in the limit of many.

    F = sum_a p_a E log( a0 + b sum_{j=1..k} e^{t_{a c_j}} )
    infonce, sum    a0 = 1, b = 1;      k = inf, less log k:  log E e^t
    infonce, mean   a0 = 1, b = 1/k;    k = inf:              log(1 + E e^t)
    dcl             a0 = 0, b = 1;      k = inf, less log k:  log E e^t

Negatives c_j are drawn iid from p (own class included, t = 0) or, supervised, from p_c / (1 - p_a), c != a.
Hard negatives (``hardness``) are in ``objectives/hardness.py``.

Rebalanced (``objectives/rebalanced.py``), in the limit of many negatives, anchors count w_a and negatives v_c in place
of p, iid or among the other classes; margins are added to the cosines of negatives.

Levels: without ``negatives`` a batch of B samples in V views supplies k = V (B - 1), drawn V of a class at once.

                     total collapse      random start (c, c_j: cosines of random unit vectors)
    infonce, sum     log(1 + k)          E log( e^{c/tau} + sum_{j=1..k} e^{c_j/tau} )
    infonce, mean    log 2               E log( e^{c/tau} + (1/k) sum_{j=1..k} e^{c_j/tau} )
    dcl              log k               E log sum_{j=1..k} e^{c_j/tau}

k = inf has log k subtracted.  Where every sample is its own class, each of n samples has k others as negatives, and

    F = log( a0 + b k e^{(c - a)/tau} ),

a the cosine of positives, c that of negatives, is least at the regular simplex of n points, c = -1/(n - 1), whether
negatives come from both views or from the other one (``objectives/two_towers.py``).  It rises with n; given k alone,
the optimum is that of n = k + 1, which no number of samples goes below.  One view is pairs of two halves, B of each:
with unequal classes these need not coincide at the optimum, as anchors are of one half only; certain then is only that
no cosine is above 1 or below -1.

Sources: van den Oord et al. 2018; Yeh et al. 2022 (decoupled).

Symbols: k ``negatives``, a0 ``base``, b ``factor``, r(c|a) ``chance`` and ``own``, B ``batch``, V ``views``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import ONE_ENCODER, Alias, Loss, register
from geomsolve.losses.parameters import (
    ANCHOR_WEIGHTS,
    DENOMINATOR,
    FORM,
    HARDNESS,
    LOGIT_ADJUST,
    NEGATIVES,
    PAIR_MARGIN,
    SAMPLER,
    SAMPLING,
    TEMPERATURE,
)
from geomsolve.objectives.base import Objective
from geomsolve.objectives.expectation import LogExpectation
from geomsolve.objectives.hardness import HardNegatives
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.random_start import random_log_sum, random_mean
from geomsolve.objectives.rebalanced import REBALANCED, Margins, PerClass, Rebalance
from geomsolve.objectives.sampling import negative_distribution
from geomsolve.objectives.two_towers import ContrastPairs
from geomsolve.registry import parameter


@dataclass(frozen=True)
class Negatives(Loss):
    """What InfoNCE and DCL share; ``own`` is a0, 1 where the positive stands in the denominator and 0 where not."""

    own: ClassVar[float]
    tends_to_cross_entropy: ClassVar[bool] = True

    temperature: float = parameter(TEMPERATURE, 0.1)
    negatives: float = parameter(NEGATIVES, inf)
    sampling: str = parameter(SAMPLING, "iid")
    hardness: float | None = parameter(HARDNESS, None)
    sampler: float | None = parameter(SAMPLER, None)
    anchor_weights: PerClass | None = parameter(ANCHOR_WEIGHTS, None)
    denominator: PerClass | None = parameter(DENOMINATOR, None)
    logit_adjust: float | None = parameter(LOGIT_ADJUST, None)
    pair_margin: Margins | None = parameter(PAIR_MARGIN, None)

    def __post_init__(self) -> None:
        for name in REBALANCED:
            if getattr(self, name) is not None and (self.negatives != inf or self.hardness is not None):
                raise InputError(
                    "classes are rebalanced in the limit of many negatives, none of them hardened; leave out the "
                    "negatives and the hardness, or take --loss supcon, which is rebalanced in batches too",
                    field=f"loss.{name}",
                )

    @property
    def changes(self) -> Rebalance:
        """Who counts how much."""
        return Rebalance(self.sampler, self.anchor_weights, self.denominator, self.logit_adjust, self.pair_margin)

    @property
    def changed(self) -> bool:
        """Whether anything is rebalanced."""
        return self.changes != Rebalance()

    @property
    def balances_as_supcon(self) -> bool:
        """Whether F is that of SupCon in the population limit, whatever is rebalanced."""
        return self.negatives == inf and self.hardness is None and self.sampling == "iid"

    @property
    def rebalance(self) -> Rebalance | None:
        return self.changes if self.balances_as_supcon else None

    def orbits(self, proportions: ArrayLike, counts: ArrayLike | None = None) -> Orbits:
        plain = super().orbits(proportions, counts)
        told_apart = self.changes.columns(plain.n_classes)
        return plain if told_apart is None else plain.refined(told_apart)

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        changed = self.changes.in_proofs
        if changed is None or self.hardness is not None:
            return None
        drawn = {} if self.negatives == inf else {"negatives": int(self.negatives)}
        return {"temperature": self.temperature, "sampling": self.sampling, **drawn, **changed}

    def plain(self) -> tuple[Loss, str | None]:
        if self.hardness is None:
            return self, None
        return self.replace(hardness=None), f"negatives of hardness {self.hardness:g}"

    @property
    def reads_whole_set(self) -> bool:
        return self.negatives == inf

    def assumption(self, orbits: Orbits) -> str:
        return ONE_ENCODER if orbits.n_orbits > 1 else ""

    @property
    def counted_off(self) -> str:
        weighted = self.denominator is not None or self.logit_adjust is not None
        return "negatives" if self.negatives == inf and not weighted else ""

    def _objective(self, orbits: Orbits, base: float, mean: bool) -> Objective:
        scale = 1 / self.temperature
        if self.changed:
            _, anchors, compared = self.changes.by_orbit(orbits)
            chance, own = negative_distribution(replace(orbits, proportions=compared), self.sampling)
            chance = chance * np.exp(scale * self.changes.margins(orbits))
            heard = int(np.sum(orbits.sizes * (anchors == 0))) < 2  # the cosine of two that are no anchors is free
            offset = own + (base if mean else 0.0)
            return LogSum(chance, offset, orbits.sizes * anchors, scale, unique_minimiser=heard)
        chance, own = negative_distribution(orbits, self.sampling)
        mass = orbits.sizes * orbits.proportions
        if self.hardness is not None:
            if mean or self.negatives != inf:
                raise InputError(
                    "hard negatives are solved in the sum form with many negatives (--negatives inf, the default); "
                    "geomsolve check trains with any number of them",
                    field="loss.hardness",
                )
            return HardNegatives(orbits, chance, own, self.temperature, self.hardness)
        if self.negatives == inf:
            offset = own + (base if mean else 0.0)
            # Without an offset F is not strictly convex: it is straight, but rising, along 11' - I (all cosines up
            # together), and straight along nothing else.  Two minimisers would differ along a flat direction.
            return LogSum(chance, offset, mass, scale, unique_minimiser=True)
        k = int(self.negatives)
        return LogExpectation(
            chance,
            own,
            mass,
            base=base,
            factor=1 / k if mean else 1.0,
            negatives=k,
            scale=scale,
            unique_minimiser=base > 0 or k > 1,
        )

    def against(self, negatives: float, orbits: Orbits, *, decoupled: bool) -> Objective:
        """The sum form with so many ``negatives``, the positive in the denominator or, ``decoupled``, not."""
        return self.replace(negatives=negatives)._objective(orbits, 0.0 if decoupled else 1.0, False)

    def points(self, batch: int | None) -> int:
        """An anchor and its negatives, which are different samples, at least."""
        return super().points(batch) if self.negatives == inf else max(int(self.negatives) + 1, batch or 0)

    def course(self, over: str, level: str) -> Course:
        """Each of them is the logarithm of a sum: it rises with every further term, and with the temperature where all
        terms are e^{(c - 1)/tau}.  At random it is convex in 1/tau with slope 0 at 0, as cosines have mean 0.

        The mean of k terms is that of all means of k - 1 of them, and the logarithm is concave, so that it rises, too.
        Pairs at a regular simplex move together as they become more.
        """
        if over == "temperature":
            return "falling" if level == "random_start" else "rising"
        return "rising" if over in ("batch", "negatives") else ""

    def _levels(self, training: Training, base: float, mean: bool) -> Scale:
        if self.hardness is not None:
            raise InputError("levels of hard negatives are not known; leave this out", field="loss.hardness")
        if self.changed:
            raise InputError(
                f"levels of a rebalanced {self.name} are not known; leave out the sampler, the weights, the "
                "denominator, the logit adjustment and the margins",
                field="loss.name",
            )
        orbits, batch, views = training.orbits, training.batch, training.views
        embeddings = None if batch is None else batch * max(views, 2)
        if self.negatives == inf and batch is None:
            return Scale(
                log(base + 1) if mean else 0.0,
                lambda dim: self._random_limit(base if mean else 0.0, dim),
                None,
                Optimum(self._objective(orbits, base, mean), orbits, only_for=self.assumption(orbits)),
                anchors=None,
                embeddings=None,
            )
        drawn = batch is not None and self.negatives == inf
        k = views * (training.size - 1) if drawn else int(self.negatives)
        weight = 1 / k if mean else 1.0
        scale = 1 / self.temperature
        balanced = batches = many = None
        if training.instances:
            pairs = ContrastPairs(orbits.n_classes, scale, base, k * weight)
            balanced = Optimum(pairs, orbits)
            if not drawn and (batch is None or batch < k + 1):
                many = pairs.evaluate(1.0, 0.0)[0]
        else:
            chance, own = negative_distribution(orbits, self.sampling)
            expected = LogExpectation(
                chance,
                own,
                orbits.sizes * orbits.proportions,
                base=base,
                factor=views * weight if drawn else weight,
                negatives=training.size - 1 if drawn else k,
                scale=scale,
                unique_minimiser=False,
            )
            batches = Optimum(expected, orbits, only_for="" if drawn else self.assumption(orbits))
            if drawn and views == 1 and orbits.n_orbits > 1:
                least = float(np.logaddexp(log(base) if base else -inf, log(k * weight) - 2 * scale))
                batches = Optimum(expected, orbits, assumption="the two halves of a pair coincide", bound=least)
        terms = [(weight, k)] + ([(1.0, 1)] if base else [])
        return Scale(
            log(base + k * weight),
            lambda dim: random_log_sum(terms, self.temperature, dim),
            balanced,
            batches,
            anchors=None if batch is None else batch * views,
            embeddings=embeddings,
            many=many,
        )

    def _random_limit(self, offset: float, dim: int) -> float:
        """E log(offset e^{c/tau} + E e^{c'/tau}): the positive's own e^{c/tau} has the logarithm c/tau, of mean 0."""
        scale = 1 / self.temperature
        log_mean = log(random_mean(lambda c: np.exp(scale * (c - 1)), dim, scale)) + scale
        if not offset:
            return log_mean
        return random_mean(lambda c: np.logaddexp(scale * c, log_mean), dim, scale)


@register
@dataclass(frozen=True)
class InfoNCE(Negatives):
    """InfoNCE; see the module."""

    name: ClassVar[str] = "infonce"
    summary: ClassVar[str] = "one positive against k negatives"
    source: ClassVar[str] = "van den Oord et al. 2018"
    also: ClassVar[tuple[str, ...]] = ("cpc", "nce")
    own: ClassVar[float] = 1.0
    aliases: ClassVar[tuple[Alias, ...]] = (
        Alias(
            "clip",
            "in-batch infonce of pairs: the negatives are the other pairs' second halves",
            views=1,
            also=("open-clip",),
        ),
        Alias(
            "mnrl",
            "multiple negatives ranking loss: in-batch infonce of pairs, as clip",
            views=1,
            also=(
                "multiple-negatives-ranking",
                "multiple-negatives-symmetric-ranking",
                "cached-multiple-negatives-ranking",
                "in-batch-negatives",
            ),
        ),
        Alias(
            "moco",
            "infonce against a queue of samples, as many as --queue says",
            also=("moco-v1", "moco-v2", "momentum-contrast"),
        ),
    )

    form: str = parameter(FORM, "sum")

    @property
    def balances_as_supcon(self) -> bool:
        return self.form == "sum" and super().balances_as_supcon

    @property
    def counted_off(self) -> str:
        return "" if self.form == "mean" else super().counted_off

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        known = super().in_proofs
        return None if known is None else {**known, "form": self.form}

    def objective(self, orbits: Orbits) -> Objective:
        return self._objective(orbits, self.own, self.form == "mean")

    def levels(self, training: Training) -> Scale:
        return self._levels(training, self.own, self.form == "mean")
