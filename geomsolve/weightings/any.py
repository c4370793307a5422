"""Several labels a sample, alike if one is shared: w_ij = 1 if some label is that of both, else 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from geomsolve.gram.types import FloatArray
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.several import logarithm, shared_labels


@register
@dataclass(frozen=True)
class AnyShared(Weighting):
    """1 if a label is shared; see the module."""

    name: ClassVar[str] = "any"
    title: ClassVar[str] = "the weighting by any label in common"
    summary: ClassVar[str] = "several labels a sample: 1 if one is shared, 0 otherwise"
    condition: ClassVar[str] = (
        "Samples that share any label count fully as a pair, which asks for the cosine 1; the others have weight 0, "
        "which asks for minus infinity. So it is attained exactly when every two samples share a label, by one point; "
        "otherwise it is degenerate, and chains of samples that share labels bend the best geometry."
    )
    source: ClassVar[str] = "multi-label contrastive losses with binary positives"
    also: ClassVar[tuple[str, ...]] = ("any-shared", "any-label")

    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        return logarithm((shared_labels(labels, self.name) > 0).astype(float))
