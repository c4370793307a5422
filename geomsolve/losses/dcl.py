"""Decoupled InfoNCE (DCL): a0 = 0, b = 1; see ``losses/infonce.py``.  Source: Yeh et al. 2022."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import register
from geomsolve.losses.infonce import Negatives
from geomsolve.objectives.base import Objective
from geomsolve.objectives.levels import Scale, Training


@register
@dataclass(frozen=True)
class DCL(Negatives):
    """Decoupled InfoNCE; see the module."""

    name: ClassVar[str] = "dcl"
    summary: ClassVar[str] = "decoupled InfoNCE: the positive does not stand in the denominator"
    source: ClassVar[str] = "Yeh et al. 2022"
    also: ClassVar[tuple[str, ...]] = ("decoupled", "decoupled-contrastive")
    own: ClassVar[float] = 0.0

    @property
    def scatter_is_heat(self) -> bool:
        return self.negatives == inf and self.hardness is None and self.pair_margin is None

    def objective(self, orbits: Orbits) -> Objective:
        return self._objective(orbits, self.own, False)

    def levels(self, training: Training) -> Scale:
        return self._levels(training, self.own, False)
