"""Soft SupCon: weighted InfoNCE on classes, weight 1 within a class and epsilon across.

    F = sum_a p_a [ - sum_b P_ab t_ab + log sum_b p_b e^{t_ab} ],
    P_ab = w_ab p_b / sum_c w_ac p_c,     w_aa = 1, w_ab = epsilon.

F is at least the entropic floor - sum_a p_a KL(P_a || p), with equality iff all classes have mutual cosine
1 + tau log(epsilon); below epsilon = exp(-K / ((K - 1) tau)) no embedding has that, and imbalance shows.

Symbols: P ``target``, tau ``temperature``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import EPSILON, TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.logsum import LogSum
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class SoftSupCon(Loss):
    """Soft SupCon; see the module."""

    name: ClassVar[str] = "soft-supcon"
    summary: ClassVar[str] = "SupCon with a small weight epsilon on pairs from different classes"
    source: ClassVar[str] = "weighted InfoNCE as a distance geometry problem"
    also: ClassVar[tuple[str, ...]] = ("soft-supervised-contrastive",)
    in_contrast: ClassVar[bool] = True

    temperature: float = parameter(TEMPERATURE, 0.1)
    epsilon: float = parameter(EPSILON, 0.1)

    @property
    def counted_off(self) -> str:
        return "embeddings in a batch"

    @property
    def scatter_is_heat(self) -> bool:
        return True

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"temperature": self.temperature, "epsilon": self.epsilon}

    def objective(self, orbits: Orbits) -> Objective:
        p = orbits.proportions
        across = self.epsilon * orbits.others * p
        target = across / (p + self.epsilon * (1 - p))[:, None]
        mass = orbits.sizes * p
        return LogSum(orbits.others * p, p, mass, 1 / self.temperature, target, unique_minimiser=True)
