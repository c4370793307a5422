"""Pairwise sigmoid, its negative half: psi(x) = log(1 + e^{x/tau - bias}); see ``objectives/pairs.py``.

Symbols: tau ``temperature``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import BIAS, SAMPLING, TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.pairs import SoftPlus, pair_mass
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
