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

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.losses.base import Loss, Objective, register
from geomsolve.losses.expectation import LogExpectation
from geomsolve.losses.hardness import HardNegatives
from geomsolve.losses.logsum import LogSum
from geomsolve.losses.parameters import FORM, HARDNESS, NEGATIVES, SAMPLING, TEMPERATURE, parameter


def negative_distribution(orbits: Orbits, sampling: str) -> tuple[FloatArray, FloatArray]:
    """``chance`` (m, m) that a negative of orbit g is another class, of orbit h; ``own`` (m,) that it is its own."""
    p = orbits.proportions
    if sampling == "iid":
        return orbits.others * p, p
    return orbits.others * p / (1 - p)[:, None], np.zeros_like(p)


@dataclass(frozen=True)
class _Negatives(Loss):
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
class InfoNCE(_Negatives):
    """InfoNCE; see the module."""

    name: ClassVar[str] = "infonce"
    summary: ClassVar[str] = "one positive against k negatives"
    source: ClassVar[str] = "van den Oord et al. 2018"

    form: str = parameter(FORM, "sum")

    def objective(self, orbits: Orbits) -> Objective:
        return self._objective(orbits, 1.0, self.form == "mean")


@register
@dataclass(frozen=True)
class DCL(_Negatives):
    """Decoupled InfoNCE; see the module."""

    name: ClassVar[str] = "dcl"
    summary: ClassVar[str] = "decoupled InfoNCE: the positive does not stand in the denominator"
    source: ClassVar[str] = "Yeh et al. 2022"

    def objective(self, orbits: Orbits) -> Objective:
        return self._objective(orbits, 0.0, False)
