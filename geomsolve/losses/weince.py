"""WEINCE: InfoNCE with an extreme-value correction of the logit, in its mean form with many negatives.

    l(c) = (1 - lambda) c / tau - lambda beta log(1 - c + delta)
    F    = sum_a p_a log( 1 + sum_c r(c|a) e^{l(G_ac) - l(1)} )

delta > 0: l(1) is a constant and l is convex and rising, so F is convex in the cosines and the program applies.
delta = 0, lambda beta > 0: the logit of a positive pair at cosine 1 is +infinity, so every collapsed geometry whose
classes are distinct points attains the infimum sum_a p_a log(1 + r(a|a)).  The loss is *degenerate*: it says nothing
about where the classes go.

In training, lambda and beta are read off each batch (``descent/recipes/weince.py``); here they are given.

Symbols: lambda ``tail_weight``, beta ``tail_shape``, delta ``delta``, l ``logit``, r ``chance`` and ``own``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import ONE_ENCODER, Loss, register
from geomsolve.losses.infonce import InfoNCE
from geomsolve.losses.parameters import DELTA, SAMPLING, TAIL_SHAPE, TAIL_WEIGHT, TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.logit import ConvexLogit, Indifferent
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.sampling import negative_distribution
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class WEINCE(Loss):
    """WEINCE; see the module."""

    name: ClassVar[str] = "weince"
    summary: ClassVar[str] = "InfoNCE with an extreme-value correction; degenerate unless --delta is above 0"
    source: ClassVar[str] = "When Softmax Fails at the Top: Extreme Value Corrections for InfoNCE"

    temperature: float = parameter(TEMPERATURE, 0.1)
    delta: float = parameter(DELTA, 0.0)
    tail_weight: float = parameter(TAIL_WEIGHT, 0.5)
    tail_shape: float = parameter(TAIL_SHAPE, 1.0)
    sampling: str = parameter(SAMPLING, "iid")

    @property
    def unbounded(self) -> bool:
        """Whether the logit of a positive pair at cosine 1 is infinite; then weight and shape are read off batches."""
        return self.delta == 0 and self.tail_weight * self.tail_shape > 0

    def plain(self) -> tuple[Loss, str | None]:
        if not self.unbounded:
            return self, None
        base = InfoNCE(temperature=self.temperature, sampling=self.sampling, form="mean")
        return base, "weince, its weight and shape read off each batch"

    @property
    def reads_whole_set(self) -> bool:
        return not self.unbounded

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return None if self.unbounded or self.delta <= 0 else self.parameters()

    def objective(self, orbits: Orbits) -> Objective:
        chance, own = negative_distribution(orbits, self.sampling)
        mass = orbits.sizes * orbits.proportions
        if self.unbounded:
            return Indifferent(
                float(mass @ np.log1p(own)),
                "the logit of a positive pair is infinite once its class is a point, so every arrangement of the "
                "classes at distinct points attains the infimum; give a floor by --delta",
            )
        outer = LogSum(chance, own + 1.0, mass, 1.0, unique_minimiser=True)
        return ConvexLogit(outer, self.temperature, self.tail_weight, self.tail_shape, self.delta or 1.0)

    def assumption(self, orbits: Orbits) -> str:
        return ONE_ENCODER if orbits.n_orbits > 1 else ""
