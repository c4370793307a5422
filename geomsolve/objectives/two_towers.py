"""Losses of n pairs whose two halves need not coincide: F as a function of two cosines.

The halves of pair i are unit vectors x_i and y_i (image and text, query and key, two views), C_ij = <x_i, y_j>, and F
sees nothing but C.  A convex F that treats all pairs alike is least where all C_ii = a and all C_ij = c for i != j:
averaging over the permutations of the pairs keeps C feasible and does not raise F.  Per anchor, with negatives of
weight w in all,

    sigmoid        F = log(1 + e^{bias - a/tau}) + w log(1 + e^{c/tau - bias})
    infonce, dcl   F = log(a0 + w e^{(c - a)/tau}),   a0 = 1, 0

The certificate is ``proof/two_towers.py``.  That x_i = y_i at the optimum is a result here, never an assumption.

Symbols: n ``n_pairs``, a ``on``, c ``off``, 1/tau ``scale``, w ``weight``, a0 ``base``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import exp, inf, log

import numpy as np


@dataclass(frozen=True)
class TwoTowers(ABC):
    """A convex F of ``n_pairs`` >= 2 pairs that are all alike."""

    n_pairs: int

    @abstractmethod
    def evaluate(self, on: float, off: float) -> tuple[float, float, float]:
        """F in nats and its derivatives by a and by c."""


@dataclass(frozen=True)
class SigmoidPairs(TwoTowers):
    """The pairwise sigmoid, ``bias`` subtracted; see the module."""

    scale: float
    bias: float
    weight: float

    def evaluate(self, on: float, off: float) -> tuple[float, float, float]:
        near, far = self.bias - self.scale * on, self.scale * off - self.bias
        cost, charge = float(np.logaddexp(0, near)), float(np.logaddexp(0, far))
        down, up = exp(near - cost), exp(far - charge)  # the logistic function
        return cost + self.weight * charge, -self.scale * down, self.scale * self.weight * up


@dataclass(frozen=True)
class ContrastPairs(TwoTowers):
    """InfoNCE and its decoupled form; see the module."""

    scale: float
    base: float
    weight: float

    def evaluate(self, on: float, off: float) -> tuple[float, float, float]:
        far = self.scale * (off - on) + log(self.weight)
        value = float(np.logaddexp(log(self.base) if self.base > 0 else -inf, far))
        slope = self.scale * exp(far - value)
        return value, -slope, slope
