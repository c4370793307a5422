"""Soft SupCon as a weighting: 1 within a class and epsilon > 0 across classes.

    wanted cosine across classes  1 + tau log(epsilon),  attained iff  epsilon >= exp(-K / ((K - 1) tau))

At equality it is the regular simplex.  Below it no embedding attains the target, and the best one is *not* regular
when classes differ in size.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import ClassVar

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.registry import parameter
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.parameters import EPSILON


@register
@dataclass(frozen=True)
class SoftSupConWeights(Weighting):
    """Soft SupCon; see the module."""

    name: ClassVar[str] = "soft-supcon"
    title: ClassVar[str] = "Soft SupCon"
    summary: ClassVar[str] = "1 for equal labels, epsilon otherwise"
    condition: ClassVar[str] = (
        "Soft SupCon asks for the cosine 1 + temperature * log(epsilon) between any two classes, whatever their sizes. "
        "K unit vectors can have that mutual cosine exactly when it is at least -1 / (K - 1), that is when epsilon is "
        "at least exp(-K / ((K - 1) temperature)); at equality they form a regular simplex. A smaller epsilon is out "
        "of reach, and then the best geometry is regular only if the classes are equally large: imbalance bends it, "
        "as it does for SupCon."
    )
    source: ClassVar[str] = "SupCon with dense weights, read as a distance geometry problem"

    epsilon: float = parameter(EPSILON, 0.1)

    def log_weights(self, labels: FloatArray, temperature: float, similarity: str) -> FloatArray:
        return np.where(np.eye(labels.shape[0]) > 0, 0.0, log(self.epsilon))

    def rescaled(self, ratio: float) -> dict[str, float]:
        return {"epsilon": exp(ratio * log(self.epsilon))}


def threshold(n_classes: int, temperature: float) -> float:
    """The smallest epsilon that K = ``n_classes`` >= 2 classes attain: exp(-K / ((K - 1) tau))."""
    return exp(-n_classes / ((n_classes - 1) * temperature))
