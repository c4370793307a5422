"""InfoNCE and its decoupled form (DCL), with k random negatives or in the limit of many.

    F = sum_a p_a E log( a0 + b sum_{j=1..k} e^{t_{a c_j}} )
    infonce, sum    a0 = 1, b = 1;      k = inf, less log k:  log E e^t
    infonce, mean   a0 = 1, b = 1/k;    k = inf:              log(1 + E e^t)
    dcl             a0 = 0, b = 1;      k = inf, less log k:  log E e^t

Negatives c_j are drawn iid from p (own class included, t = 0) or, supervised, from p_c / (1 - p_a), c != a.
Hard negatives (``hardness``) are in ``losses/hardness.py``.
Sources: van den Oord et al. 2018; Yeh et al. 2022 (decoupled).

Symbols: k ``negatives``, a0 ``base``, b ``factor``, r(c|a) ``chance`` and ``own``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import FORM, HARDNESS, NEGATIVES, SAMPLING, TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.expectation import LogExpectation
from geomsolve.objectives.hardness import HardNegatives
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.sampling import negative_distribution
from geomsolve.registry import parameter


@dataclass(frozen=True)
class Negatives(Loss):
    """What InfoNCE and DCL share."""

    temperature: float = parameter(TEMPERATURE, 0.1)
    negatives: float = parameter(NEGATIVES, inf)
    sampling: str = parameter(SAMPLING, "iid")
    hardness: float | None = parameter(HARDNESS, None)

    def _objective(self, orbits: Orbits, base: float, mean: bool) -> Objective:
        chance, own = negative_distribution(orbits, self.sampling)
        mass = orbits.sizes * orbits.proportions
        scale = 1 / self.temperature
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


@register
@dataclass(frozen=True)
class InfoNCE(Negatives):
    """InfoNCE; see the module."""

    name: ClassVar[str] = "infonce"
    summary: ClassVar[str] = "one positive against k negatives"
    source: ClassVar[str] = "van den Oord et al. 2018"

    form: str = parameter(FORM, "sum")

    def objective(self, orbits: Orbits) -> Objective:
        return self._objective(orbits, 1.0, self.form == "mean")
