"""SupCon as a weighting: 1 for two samples of the same class, 0 across classes.

The weight 0 asks for a similarity of minus infinity, which no finite embedding has: the entropic floor is only an
infimum.  On the sphere the classes collapse to points, whose geometry is that of the SupCon loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.limits import INSIDE, Fix, Works
from geomsolve.weightings.soft_supcon import SoftSupConWeights, threshold
from geomsolve.weightings.target import Target, Verdict


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
    also: ClassVar[tuple[str, ...]] = ("supervised-contrastive",)

    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        return np.where(np.eye(labels.shape[0]) > 0, 0.0, -np.inf)

    def fixes(self, target: Target, verdict: Verdict, works: Works) -> Iterator[Fix]:
        """A small weight instead of 0: any, or on a sphere the least that is attained (see ``soft_supcon.py``)."""
        n_classes, sizes = target.orbits.n_orbits, target.orbits.sizes
        if verdict.kind != "degenerate" or n_classes < 2:
            return
        if target.normalise != "rows" and np.ptp(sizes) > 0:
            return  # the effective weights differ by class, and no rule is known
        if target.latents.unit:
            epsilon = min(1.0, threshold(n_classes, target.temperature) * (1 + INSIDE))
            why = f"a weight of at least {epsilon:.6g} across classes is attained exactly; at that value by a "
            why += "regular simplex"
        else:
            epsilon = SoftSupConWeights().epsilon
            why = "any positive weight across classes is attained exactly: distances have no upper limit"
        yield Fix("weighting", "soft-supcon", why, {"weighting": "soft-supcon", "epsilon": epsilon})
