"""y-Aware: weights by a kernel on the distance of labels, for latents on a sphere.

    w_ij = k(|y_i - y_j| / sigma);  Gaussian kernel: wanted cosine 1 - tau |y_i - y_j|^2 / (2 sigma^2)

Attained iff the labels lie on a sphere of radius R <= sigma / sqrt(tau): then on the unit sphere
|z_i - z_j| = sqrt(tau) |y_i - y_j| / sigma.  Three or more scalars never do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray
from geomsolve.registry import parameter
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.kernels import KERNELS, distances, sharpened
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.limits import INSIDE, MOST_SEARCHED, Fix, Works, boundary
from geomsolve.weightings.parameters import KERNEL, SIGMA
from geomsolve.weightings.target import Target, Verdict

WIDEST = 10
"""Widths of a kernel that are tried, in diameters of the labels: beyond, every label looks alike."""

CLEAR = 1.1
"""Width of a vanishing kernel, in distances of the farthest labels, that is proposed where any above 1 will do."""

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
    also: ClassVar[tuple[str, ...]] = ("yaware-infonce", "yaware-contrastive", "gaussian-kernel", "gaussian", "rbf")

    sigma: float = parameter(SIGMA, 1.0)
    kernel: str = parameter(KERNEL, "gaussian")

    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            apart = distances(labels) / self.sigma
        if not apart.max(initial=0.0) < FARTHEST:
            raise InputError(f"labels lie up to {apart.max():.3g} sigma apart; give a larger sigma", field="sigma")
        return KERNELS[self.kernel].log(apart)

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"sigma": self.sigma} if self.kernel == "gaussian" else None

    @property
    def width(self) -> float:
        return self.sigma

    def rescaled(self, ratio: float) -> dict[str, float]:
        return sharpened(KERNELS[self.kernel].power, self.sigma, ratio)

    def about(self, target: Target, verdict: Verdict) -> str:
        """Of the Gaussian kernel: on which sphere the labels lie, and how large it may be."""
        if self.kernel != "gaussian" or target.labels is None:
            return super().about(target, verdict)
        largest = self.sigma / np.sqrt(target.temperature)
        fits = f"sigma/sqrt(temperature) = {largest:.6g}"
        if verdict.radius is None:
            scalar = "three or more different scalars never do" if target.labels.shape[1] == 1 else "these do not"
            return f"the labels would have to lie on a sphere of radius at most {fits}, and {scalar}"
        word = "within" if verdict.kind == "realizable" else "above"
        return f"the labels lie on a sphere of radius {verdict.radius * largest:.6g}, {word} {fits}"

    def fixes(self, target: Target, verdict: Verdict, works: Works) -> Iterator[Fix]:
        """A wider kernel, for those that vanish beyond sigma and have no closed form; the kernel that never does."""
        if KERNELS[self.kernel].power is None and target.labels is not None:
            yield from self._wider(target.labels, works)
        if self.kernel != "gaussian":
            why = "the Gaussian kernel never vanishes and asks for squared distances"
            yield Fix("kernel", "gaussian", why, {"kernel": "gaussian"})

    def _wider(self, labels: FloatArray, works: Works) -> Iterator[Fix]:
        if labels.shape[0] > MOST_SEARCHED:
            return
        far = float(distances(labels).max())
        if far >= self.sigma and works({"sigma": far * (1 + 1e-9)}) and works({"sigma": CLEAR * far}):
            why = f"from a sigma above {far:.6g} on, the largest distance between labels, no weight is 0"
            yield Fix("sigma", CLEAR * far, why, {"sigma": CLEAR * far})
            return
        low, diameter = self.sigma, float(np.linalg.norm(np.ptp(labels, axis=0)))
        while low < WIDEST * diameter:
            high = 2 * low
            if works({"sigma": high}):
                found = boundary(lambda s: works({"sigma": s}), high, low)
                if found is not None:
                    value = found * (1 + INSIDE)
                    yield Fix("sigma", value, f"the smallest sigma that works is {value:.6g}", {"sigma": value})
                break
            low = high

    def substitutes(self, target: Target) -> Iterator[Fix]:
        """On a sphere: scalars bent onto a circle, vectors compared by their angle."""
        if target.labels is None or not target.latents.unit:
            return
        if target.labels.shape[1] == 1:
            yield from self._arc(target.labels[:, 0], target.temperature)
        else:
            why = "X-CLR at a target temperature equal to the temperature is attained by the labels' own directions"
            unset = dict.fromkeys(self.takes())
            settings = {**unset, "weighting": "xclr", "target_temperature": target.temperature}
            yield Fix("weighting", "xclr", why, settings)

    def _arc(self, scalars: FloatArray, temperature: float) -> Iterator[Fix]:
        """Scalar labels bent onto the largest circle that works; the price is a shrinking of large differences."""
        spread = float(np.ptp(scalars))
        if self.kernel != "gaussian" or spread == 0:
            return
        radius = float(self.sigma / np.sqrt(temperature) * (1 - INSIDE))
        near = min(1.0, np.pi * radius / spread)
        chord = 2 * radius * np.sin(near * spread / (2 * radius))
        why = (
            f"labels bent onto a circle of radius {radius:.6g} lie on a sphere that fits; the largest difference, "
            f"{spread:g}, then counts as {chord:.4g}, small ones keep {100 * near:.3g} % of theirs"
        )
        yield Fix("arc", radius, why, {"arc": radius})
