"""Cross-entropy of a linear classifier on unconstrained features, with class weights, logit adjustment and smoothing.

    --constraint budget:E_H,E_W    mean squared lengths of features and classifiers are limited (layer-peeled model)
    --regularise LAM               + (lam_W |W|^2 + lam_H sum of |h|^2 over all N samples) / 2,  LAM^2 = lam_W lam_H
    --ufm seli                     the limit of LAM -> 0: the least norm with margins of at least 1 (the default)

With free features and no bias within-class collapse is a theorem, and the loss one of K feature means and K classifiers
(``objectives/cross_entropy.py``).  In the regularised form the features of all N samples are charged, so that it needs
counts: alike classes of n samples each share a point iff root(n)/N (1 - smoothing) <= LAM.

Levels of the form with a budget: total collapse, all features at one point, is the best constant answer,
``constant`` of the objective, whose logits have |z|^2 <= K E_H E_W; random start, features and classifiers of those
lengths in random directions.

Symbols: E_H, E_W ``constraint``, LAM ``regularise``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.paired import Paired
from geomsolve.losses.base import ClassifierLoss, register
from geomsolve.losses.parameters import ANCHOR_WEIGHTS, CONSTRAINT, LOGIT_ADJUST, REGULARISE, SMOOTHING, UFM
from geomsolve.objectives.cross_entropy import Budget, Margin, Peeled, Regularised
from geomsolve.objectives.cross_entropy import CrossEntropy as Logits
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.random_start import random_log_sum
from geomsolve.objectives.rebalanced import PerClass, Rebalance
from geomsolve.registry import parameter

MOST_AHEAD = 600.0
"""How far logits may be ahead of the others; e to minus it is a number."""

WITHIN = "this budget, a mean over the classes; longer features and classifiers may go lower"

FORMS = ("constraint", "regularise", "ufm")


@register
@dataclass(frozen=True)
class CrossEntropy(ClassifierLoss):
    """Cross-entropy, in one of its three forms; see the module."""

    name: ClassVar[str] = "cross-entropy"
    summary: ClassVar[str] = "softmax classifier on free features, with a budget, weight decay or its limit"
    source: ClassVar[str] = "Fang et al. 2021 (layer-peeled model); Thrampoulidis et al. 2022 (SELI)"
    also: ClassVar[tuple[str, ...]] = (
        "ce",
        "xent",
        "softmax",
        "softmax-cross-entropy",
        "label-smoothing-cross-entropy",
    )
    in_contrast: ClassVar[bool] = True
    spelled: ClassVar[dict[str, str]] = {"regularise": "weight decay", "ufm": "margins as in", "constraint": "with"}

    constraint: str | None = parameter(CONSTRAINT, None)
    regularise: float | None = parameter(REGULARISE, None)
    ufm: str | None = parameter(UFM, None)
    smoothing: float | None = parameter(SMOOTHING, None)
    anchor_weights: PerClass | None = parameter(ANCHOR_WEIGHTS, None)
    logit_adjust: float | None = parameter(LOGIT_ADJUST, None)

    def __post_init__(self) -> None:
        given = [name for name in FORMS if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError(f"this is another form of the loss than {given[0]}; give one", field=f"loss.{given[1]}")
        if not given:
            object.__setattr__(self, "ufm", "seli")
        for name in ("smoothing", "anchor_weights", "logit_adjust") if self.ufm else ():
            if getattr(self, name):
                raise InputError(
                    "margins in the limit of no weight decay do not depend on this; leave it out, or give --constraint "
                    "budget:E_H,E_W or --regularise LAM",
                    field=f"loss.{name}",
                )

    def replace(self, **changes: Any) -> Self:
        """The same loss with some parameters changed; another form takes the place of the one in force."""
        if any(changes.get(name) is not None for name in FORMS):
            changes = {**dict.fromkeys(FORMS), **changes}
        return super().replace(**changes)

    @property
    def _weights(self) -> Rebalance:
        return Rebalance(anchor_weights=self.anchor_weights)

    def orbits(self, proportions: ArrayLike, counts: ArrayLike | None = None) -> Orbits:
        plain = super().orbits(proportions, counts)
        told_apart = self._weights.columns(plain.n_classes)
        return plain if told_apart is None else plain.refined(told_apart)

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        changed = replace(self._weights, logit_adjust=self.logit_adjust).in_proofs
        if changed is None or str(changed.get("anchors", "balanced")) != "balanced":
            return None
        smooth = {} if self.smoothing is None else {"smoothing": self.smoothing}
        if self.constraint is not None:
            features, classifiers = map(float, self.constraint.partition(":")[2].split(","))
            return {"charge": "budget", "features": features, "classifiers": classifiers, **smooth, **changed}
        if self.regularise is not None:
            return {"charge": "decay", "weight": self.regularise, **smooth, **changed}
        return {"charge": "margin"}

    def program(self, orbits: Orbits) -> Peeled:
        p = orbits.proportions
        mass = self._weights.by_orbit(orbits)[1]
        logits = Logits(Paired.of(orbits), mass, (self.logit_adjust or 0.0) * np.log(p), self.smoothing or 0.0)
        if self.constraint is not None:
            features, classifiers = map(float, self.constraint.partition(":")[2].split(","))
            radius = orbits.n_classes * (features * classifiers) ** 0.5
            if not self.smoothing and radius / max(orbits.n_classes - 1, 1) > MOST_AHEAD:
                raise InputError(
                    "budgets this large let every logit be ahead by so much that the loss is below what floating-point "
                    "numbers tell; give smaller ones, or --ufm seli for a limit",
                    field="loss.constraint",
                )
            return Budget(logits, np.ones_like(p), features / classifiers, radius)
        if self.regularise is None:
            return Margin(logits, np.sqrt(p))
        if orbits.counts is None:
            raise InputError(
                "weight decay is on the features of all samples, so their number matters; give the classes by counts",
                field="loss.regularise",
            )
        return Regularised(logits, np.sqrt(orbits.counts), weight=self.regularise)

    def course(self, over: str, level: str) -> Course:
        """A batch changes nothing."""
        return "rising" if over == "batch" else ""

    def levels(self, training: Training) -> Scale:
        orbits = training.orbits
        program = self.program(orbits)
        if not isinstance(program, Budget):
            form = "loss.regularise" if self.regularise is not None else "loss.ufm"
            raise InputError(
                "levels are of the loss alone, and with weight decay, or in the limit of none, its best value says "
                "nothing without the lengths that it allows; give these, --constraint budget:E_H,E_W",
                field=form,
            )
        loss, k = program.loss, orbits.n_classes
        target = loss.sure * loss.mass + loss.uniform
        aside = float(orbits.sizes @ (target * loss.log_prior))
        terms = [(float(np.exp(v)), int(n)) for v, n in zip(loss.log_prior, orbits.sizes, strict=True)]
        best = Optimum(program, orbits, only_for=WITHIN)
        embeddings = None if training.batch is None else training.batch * training.views
        return Scale(
            loss.constant(program.radius / k**0.5),
            lambda dim: random_log_sum(terms, k / program.radius, dim) - aside,
            balanced=best,
            batches=None,
            anchors=embeddings,
            embeddings=embeddings,
            untrained="features and classifiers at random",
        )
