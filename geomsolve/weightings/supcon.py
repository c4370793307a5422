"""SupCon as a weighting: 1 for two samples of the same class, 0 across classes.

The weight 0 asks for a similarity of minus infinity, which no finite embedding has: the entropic floor is only an
infimum.  On the sphere the classes collapse to points, whose geometry is that of the SupCon loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.weightings.base import Weighting, register


@register
@dataclass(frozen=True)
class SupConWeights(Weighting):
    """SupCon; see the module."""

    name: ClassVar[str] = "supcon"
    title: ClassVar[str] = "SupCon"
    summary: ClassVar[str] = "1 for equal labels, 0 otherwise"
    condition: ClassVar[str] = (
        "SupCon gives pairs from different classes the weight 0, which asks for a similarity of minus infinity: no "
        "finite embedding attains it (degenerate). On the sphere the best embedding puts each class at one point; with "
        "equally large classes these form a regular simplex, otherwise the imbalance bends it."
    )
    source: ClassVar[str] = "Khosla et al. 2020"

    def log_weights(self, labels: FloatArray, temperature: float, similarity: str) -> FloatArray:
        return np.where(np.eye(labels.shape[0]) > 0, 0.0, -np.inf)
