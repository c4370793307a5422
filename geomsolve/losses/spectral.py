"""Spectral contrastive loss: F = sum_ab p_a p_b G_ab^2 (constants dropped).

It is minimised by G = I; see ``objectives/pairs.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.objectives.base import Objective
from geomsolve.objectives.pairs import Squares, pair_mass


@register
@dataclass(frozen=True)
class Spectral(Loss):
    """Spectral contrastive loss; see the module."""

    name: ClassVar[str] = "spectral"
    summary: ClassVar[str] = "squared cosines of random pairs; wants orthogonal classes"
    source: ClassVar[str] = "HaoChen et al. 2021, after within-class collapse"
    also: ClassVar[tuple[str, ...]] = ("spectral-contrastive",)
    in_contrast: ClassVar[bool] = True

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {}

    @property
    def reads_whole_set(self) -> bool:
        return False

    def objective(self, orbits: Orbits) -> Objective:
        return Squares(pair_mass(orbits, "iid"), float(np.sum(orbits.sizes * orbits.proportions**2)))
