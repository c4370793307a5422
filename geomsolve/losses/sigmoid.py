"""Pairwise sigmoid, its negative half: psi(x) = log(1 + e^{x/tau - bias}); see ``objectives/pairs.py``.

The bias is subtracted; the published code adds its own, so that its -10 is 10 here.  Under the name of the published
loss, siglip, it is added.

Levels, s(x) = log(1 + e^x), of a batch of B pairs in two views, with k = B - 1 negatives from the other view, of
which a part q is of another class:

    total collapse   s(bias - 1/tau) + q k s(1/tau - bias)
    random start     E s(bias - c/tau) + q k E s(c/tau - bias)
    optimum          s(bias - a/tau) + q k s(c/tau - bias), two towers (``objectives/two_towers.py``)

for equally frequent classes; for others the two views are assumed to coincide, which is no theorem here, and what is
certain is only that no cosine is above 1 or below -1.

Symbols: tau ``temperature``, q ``negative_share``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Alias, Loss, register
from geomsolve.losses.parameters import BIAS, SAMPLING, TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.levels import Course, Optimum, Scale, Training
from geomsolve.objectives.pairs import SoftPlus, pair_mass
from geomsolve.objectives.random_start import random_mean
from geomsolve.objectives.sampling import negative_share
from geomsolve.objectives.two_towers import SigmoidPairs
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class Sigmoid(Loss):
    """Pairwise sigmoid; see the module."""

    name: ClassVar[str] = "sigmoid"
    summary: ClassVar[str] = "pairwise logistic loss of SigLIP; its usual start (-10 there) is --bias 10 -t 0.1"
    source: ClassVar[str] = "Zhai et al. 2023 (SigLIP), the negative pairs"
    also: ClassVar[tuple[str, ...]] = ("pairwise-sigmoid", "sigmoid-contrastive")
    in_contrast: ClassVar[bool] = True
    spelled: ClassVar[dict[str, str]] = {"bias": "subtracted bias"}

    temperature: float = parameter(TEMPERATURE, 0.1)
    bias: float = parameter(BIAS, 0.0)
    sampling: str = parameter(SAMPLING, "supervised")

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"temperature": self.temperature, "bias": self.subtracted, "sampling": self.sampling}

    @property
    def subtracted(self) -> float:
        """What is taken off the logit."""
        return self.bias

    @property
    def reads_whole_set(self) -> bool:
        return False

    def objective(self, orbits: Orbits) -> Objective:
        return SoftPlus(pair_mass(orbits, self.sampling), 1 / self.temperature, self.subtracted)

    def assumption(self, orbits: Orbits) -> str:
        return "one encoder, which embeds both halves of a pair; two encoders, as in SigLIP, may go lower"

    def course(self, over: str, level: str) -> Course:
        """Every negative costs something.  The logits are linear in bias and 1/tau, so that for fixed embeddings the
        loss is convex in each.  With c / tau for variables it is convex in them and the bias together, and there are
        more of them the smaller tau is, so that the optimum is convex in the bias and rises with tau."""
        if over == "batch" or (over == "temperature" and level == "optimum"):
            return "rising"
        return "convex" if over in ("bias", "temperature") else ""

    def levels(self, training: Training) -> Scale:
        orbits, batch, scale = training.orbits, training.size, 1 / self.temperature
        bias = self.subtracted
        if training.views > 2:
            raise InputError("sigmoid compares two views of a sample; take 2", field="views")
        share = 1.0 if training.instances else negative_share(orbits, self.sampling)
        negative = (batch - 1) * share
        positive = float(np.logaddexp(0, bias - scale))

        def random(dim: int) -> float:
            near = random_mean(lambda c: np.logaddexp(0, bias - scale * c), dim, scale)
            return near + negative * random_mean(lambda c: np.logaddexp(0, scale * c - bias), dim, scale)

        if orbits.n_orbits == 1:
            best = Optimum(SigmoidPairs(orbits.n_classes, scale, bias, negative), orbits)
        else:
            best = Optimum(
                self.objective(orbits),
                orbits,
                times=batch - 1,
                plus=positive,
                assumption="the two views of a sample coincide",
                bound=positive + negative * float(np.logaddexp(0, -scale - bias)),
            )
        return Scale(
            positive + negative * float(np.logaddexp(0, scale - bias)),
            random,
            balanced=best if training.instances else None,
            batches=None if training.instances else best,
            anchors=batch,
            embeddings=2 * batch,
        )

    def notes(self) -> tuple[str, ...]:
        if self.bias > -1:
            return ()
        return (
            f"the bias is subtracted, so with {self.bias:g} every negative pair at a right angle costs "
            f"{float(np.logaddexp(0, -self.bias)):.3g} nats; the published code of SigLIP adds its bias: "
            f"its {self.bias:g} is --bias {-self.bias:g} here",
        )


@dataclass(frozen=True)
class Siglip(Sigmoid):
    """The same as the published code has it: the bias is added."""

    spelled: ClassVar[dict[str, str]] = {"bias": "added bias"}

    @property
    def subtracted(self) -> float:
        return -self.bias

    def notes(self) -> tuple[str, ...]:
        if self.bias < 1:
            return ()
        return (
            f"the bias is added, as in the published code, which starts at -10; with {self.bias:g} every negative pair "
            f"at a right angle costs {float(np.logaddexp(0, self.bias)):.3g} nats",
        )


Sigmoid.aliases = (
    Alias(
        "siglip",
        "sigmoid over the images and texts of a batch; its bias is added and starts at -10",
        views=1,
        also=("siglip2", "sigmoid-language-image"),
        loss=Siglip,
    ),
)
