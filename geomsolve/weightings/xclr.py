"""X-CLR: weights by the similarity of label vectors (descriptions, attributes), softened by a temperature of their own.

    w_ij = exp(S_ij / tau_s),  S_ij the cosine of the label vectors;  wanted  G = (tau / tau_s) S + 1 - tau / tau_s

Attained iff that is psd; always when tau <= tau_s, as a mixture of S and the matrix of ones; tau = tau_s: G = S.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray
from geomsolve.registry import parameter
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.parameters import TARGET_TEMPERATURE


@register
@dataclass(frozen=True)
class XCLR(Weighting):
    """X-CLR; see the module.  ``target_temperature`` None stands for the temperature of the latents."""

    name: ClassVar[str] = "xclr"
    title: ClassVar[str] = "X-CLR"
    summary: ClassVar[str] = "softmax of the cosines between label vectors, at a temperature of its own"
    condition: ClassVar[str] = (
        "X-CLR asks for cosines r S + 1 - r, where S holds the cosines between label vectors and r = temperature / "
        "target temperature. Some embedding attains them exactly when that matrix has no negative eigenvalue: always "
        "for a target temperature of at least the temperature, and at equality the labels' own directions do it."
    )
    source: ClassVar[str] = "Sobal et al. 2024, X-CLR"
    also: ClassVar[tuple[str, ...]] = ("x-sample", "x-sample-contrastive")

    target_temperature: float | None = parameter(TARGET_TEMPERATURE, None)

    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        if labels.shape[1] == 1:
            raise InputError(
                "xclr compares labels by their angle, and scalars have none (only +1 and -1); give vectors, "
                "or bend scalars onto a circle with --arc",
                field="labels",
            )
        lengths = np.linalg.norm(labels, axis=1)
        if not lengths.all():
            raise InputError("xclr compares labels by their angle, and one label is the zero vector", field="labels")
        unit = labels / lengths[:, None]
        cosines = np.clip(unit @ unit.T, -1.0, 1.0)
        np.fill_diagonal(cosines, 1.0)
        return np.asarray((cosines - 1) / (self.target_temperature or temperature), dtype=np.float64)

    def rescaled(self, ratio: float) -> dict[str, float]:
        return {} if self.target_temperature is None else {"target_temperature": self.target_temperature / ratio}

    def in_force(self, temperature: float) -> dict[str, Any]:
        return {"target_temperature": self.target_temperature or temperature}
