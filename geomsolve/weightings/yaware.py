"""y-Aware: weights by a kernel on the distance of labels, for latents on a sphere.

    w_ij = k(|y_i - y_j| / sigma);  Gaussian kernel: wanted cosine 1 - tau |y_i - y_j|^2 / (2 sigma^2)

Attained iff the labels lie on a sphere of radius R <= sigma / sqrt(tau): then on the unit sphere
|z_i - z_j| = sqrt(tau) |y_i - y_j| / sigma.  Three or more scalars never do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray
from geomsolve.registry import parameter
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.kernels import KERNELS, distances, sharpened
from geomsolve.weightings.parameters import KERNEL, SIGMA

FARTHEST = 1e100
"""Distance of labels, in units of sigma, whose square is still far from overflowing."""


@register
@dataclass(frozen=True)
class YAware(Weighting):
    """y-Aware; see the module."""

    name: ClassVar[str] = "yaware"
    title: ClassVar[str] = "y-Aware"
    summary: ClassVar[str] = "kernel on the distance of continuous labels, latents on a sphere"
    condition: ClassVar[str] = (
        "y-Aware with a Gaussian kernel asks for cosines 1 - temperature * distance^2 / (2 sigma^2). Some embedding "
        "attains them exactly when the labels lie on a sphere (a circle, for two-dimensional labels) of radius at most "
        "sigma / sqrt(temperature). Three or more different scalar labels never do; two do when they differ by at most "
        "2 sigma / sqrt(temperature). Other kernels have no such rule and are decided case by case, by eigenvalues."
    )
    source: ClassVar[str] = "Dufumier et al. 2021, y-Aware InfoNCE"

    sigma: float = parameter(SIGMA, 1.0)
    kernel: str = parameter(KERNEL, "gaussian")

    def log_weights(self, labels: FloatArray, temperature: float, similarity: str) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            apart = distances(labels) / self.sigma
        if not apart.max(initial=0.0) < FARTHEST:
            raise InputError(f"labels lie up to {apart.max():.3g} sigma apart; give a larger sigma", field="sigma")
        return KERNELS[self.kernel].log(apart)

    def rescaled(self, ratio: float) -> dict[str, float]:
        return sharpened(KERNELS[self.kernel].power, self.sigma, ratio)
