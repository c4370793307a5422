"""Several labels a sample, alike by the number of those shared.

    w_ij = number of labels of both              per label: w_ij = sum over labels of both 1 / n_l

n_l is the number of samples that have label l: then every label is a supervised contrastive loss of its own, averaged
over its samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.registry import Parameter, parameter, switch
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.several import logarithm, shared_labels

PER_LABEL = Parameter(
    "per_label", ("--per-label",), switch, "", "Each label in common counts 1 over the samples that have it."
)


@register
@dataclass(frozen=True)
class Shared(Weighting):
    """The number of labels in common, plain or per label; see the module."""

    name: ClassVar[str] = "shared"
    title: ClassVar[str] = "the weighting by labels in common"
    summary: ClassVar[str] = "several labels a sample: the number of those shared, or each over its samples"
    condition: ClassVar[str] = (
        "Pairs count by the number of labels that they share. A sample then counts with itself by the number of its "
        "own, so that samples with different numbers of labels ask for different similarities with themselves: no "
        "embedding has that (inconsistent, self pairs included). Without self pairs, and where every two samples share "
        "a label, the matrix of wanted cosines decides; samples without a label in common make it degenerate."
    )
    source: ClassVar[str] = "multi-label contrastive losses weighted by the overlap of labels"
    also: ClassVar[tuple[str, ...]] = ("overlap", "common-labels")

    per_label: bool | None = parameter(PER_LABEL, None)

    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        return logarithm(shared_labels(labels, self.name))

    def weigh(
        self, labels: FloatArray, sizes: IntArray, *, include: bool, temperature: float, latents: Latents
    ) -> FloatArray:
        plain = self.log_weights(labels, temperature, latents)
        if not self.per_label:
            return plain
        samples = sizes @ labels  # of each label
        used = samples > 0
        rows = labels[:, used]
        return logarithm((rows / samples[used]) @ rows.T)
