"""Several labels a sample, compared by the part of them that is shared: w_ij = |i and j| / |i or j| (Jaccard)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.several import logarithm, shared_labels


@register
@dataclass(frozen=True)
class Jaccard(Weighting):
    """Jaccard's index of the label sets; see the module."""

    name: ClassVar[str] = "jaccard"
    title: ClassVar[str] = "the Jaccard weighting"
    summary: ClassVar[str] = "several labels a sample: labels in common over labels of either"
    condition: ClassVar[str] = (
        "The Jaccard weighting asks for cosines 1 + temperature * log(labels in common / labels of either). Where two "
        "samples share no label that is minus infinity (degenerate); otherwise the matrix of these cosines decides, "
        "by its smallest eigenvalue."
    )
    source: ClassVar[str] = "Jaccard 1901, as a weight of positive pairs in multi-label contrastive losses"
    also: ClassVar[tuple[str, ...]] = ("iou", "intersection-over-union", "tanimoto")

    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        shared = shared_labels(labels, self.name)
        own = np.diag(shared)
        return logarithm(shared / (own[:, None] + own - shared))
