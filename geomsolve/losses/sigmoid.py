"""Pairwise sigmoid, its negative half: psi(x) = log(1 + e^{x/tau - bias}); see ``objectives/pairs.py``.

Levels, s(x) = log(1 + e^x), with k = B - 1 negatives, of which a part q is of another class:

    total collapse   s(bias - 1/tau) + q k s(1/tau - bias)
    random start     E s(bias - c/tau) + q k E s(c/tau - bias)

Symbols: tau ``temperature``, q ``negative_share``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import BIAS, SAMPLING, TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.levels import Optimum, Scale, Training
from geomsolve.objectives.pairs import SoftPlus, pair_mass
from geomsolve.objectives.random_start import random_mean
from geomsolve.objectives.sampling import negative_share
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class Sigmoid(Loss):
    """Pairwise sigmoid; see the module."""

    name: ClassVar[str] = "sigmoid"
    summary: ClassVar[str] = "pairwise logistic loss of SigLIP; --bias 10 -t 0.1 is its usual start"
    source: ClassVar[str] = "Zhai et al. 2023 (SigLIP), the negative pairs"

    temperature: float = parameter(TEMPERATURE, 0.1)
    bias: float = parameter(BIAS, 0.0)
    sampling: str = parameter(SAMPLING, "supervised")

    def objective(self, orbits: Orbits) -> Objective:
        return SoftPlus(pair_mass(orbits, self.sampling), 1 / self.temperature, self.bias)

    def levels(self, training: Training) -> Scale:
        orbits, scale, k = training.orbits, 1 / self.temperature, training.size - 1
        negative = k * negative_share(orbits, self.sampling)
        positive = float(np.logaddexp(0, self.bias - scale))

        def random(dim: int) -> float:
            near = random_mean(lambda c: np.logaddexp(0, self.bias - scale * c), dim, scale)
            return near + negative * random_mean(lambda c: np.logaddexp(0, scale * c - self.bias), dim, scale)

        return Scale(
            positive + negative * float(np.logaddexp(0, scale - self.bias)),
            random,
            None,
            Optimum(self.objective(orbits), orbits, times=k, plus=positive),
            anchors=training.size,
            embeddings=training.size * training.views,
        )
