"""SupCon on random batches of one view a sample, where an anchor whose class came only once has no positive.

    F = sum_a p_a E[ log Y_a; some c_j = a ],   Y_a = sum_{j < B} e^{t_{a c_j}},   c_j ~ p:

an anchor without a positive contributes 0.  With phi as in ``expectation.py`` and q = p_a e^{-s} / phi(s) the part of
phi that is the anchor's own class, E[e^{-sY}; some c_j = a] = phi^k (1 - (1 - q)^k), k = B - 1, which takes the place
of phi^k.  Y >= 1 wherever there is a positive, so no temperature is too low.

F is convex: it is a sum over the compositions of a batch that have a positive, each log(n + sum_c n_c e^{t_ac}) with
n >= 1.  It is strictly convex from B = 3 on, where every other class may come beside a positive.

Symbols: B ``batch``, k ``negatives``.
"""

from __future__ import annotations

from math import expm1, log1p

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.expectation import Anchor, LogExpectation


class OneView(LogExpectation):
    """Random batches of one view each, where an anchor may lack a positive; see the module."""

    def __init__(self, orbits: Orbits, batch: int, temperature: float) -> None:
        p = orbits.proportions
        super().__init__(
            orbits.others * p,
            p,
            orbits.sizes * p,
            base=0.0,
            factor=1.0,
            negatives=batch - 1,
            scale=1 / temperature,
            unique_minimiser=batch > 2,
        )

    def _log_least(self, g: int, log_x: FloatArray, chance: FloatArray, own: float) -> float:
        return 0.0

    def _power(self, k: int, at: Anchor) -> FloatArray:
        if k == 0:
            return np.zeros_like(at.s)
        with np.errstate(divide="ignore"):
            without = k * np.log1p(-np.minimum(at.own * np.exp(-at.log_phi), 1.0))
        power: FloatArray = -np.expm1(without) * super()._power(k, at)
        return power

    def _counted(self, g: int) -> float:
        """How likely an anchor in orbit g has a positive."""
        return -expm1(self.negatives * log1p(-float(self.own[g])))

    def _counts(self, own_drawn: int) -> bool:
        return own_drawn > 0
