"""Euclidean weighting: the Gaussian kernel of y-Aware, but latents compared by distance, without unit length.

    w_ij = k(|y_i - y_j| / sigma),  s_ij = -|z_i - z_j|^2 / (2 tau)
    Gaussian kernel: wanted |z_i - z_j|^2 = tau |y_i - y_j|^2 / sigma^2

Always attained with the Gaussian kernel: z = sqrt(tau) y / sigma, unique up to a rigid motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from geomsolve.weightings.base import register
from geomsolve.weightings.yaware import YAware


@register
@dataclass(frozen=True)
class Euclidean(YAware):
    """The same weights for Euclidean latents; see the module."""

    name: ClassVar[str] = "euclidean"
    title: ClassVar[str] = "the Euclidean weighting"
    summary: ClassVar[str] = "kernel on the distance of labels, latents compared by Euclidean distance"
    condition: ClassVar[str] = (
        "With latents compared by squared distance a Gaussian kernel asks for latent distances of "
        "sqrt(temperature) / sigma times the label distances. The labels themselves, scaled, attain that: always "
        "possible, in as many dimensions as the labels span, and unique up to a rigid motion. Other kernels are "
        "decided case by case, by eigenvalues."
    )
    source: ClassVar[str] = "weighted InfoNCE with the similarity -|z - z'|^2 / (2 temperature)"
    similarity: ClassVar[str] = "euclidean"
