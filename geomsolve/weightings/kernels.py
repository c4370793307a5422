"""Kernels on label distances, w = k(u) with u = distance / sigma, as logarithms.

The names and shapes are those of kernel density estimation; constants in front do not matter here.

    gaussian      exp(-u^2 / 2)          epanechnikov   1 - u^2        for u < 1, else 0
    exponential   exp(-u)                linear         1 - u          for u < 1, else 0
                                         cosine         cos(pi u / 2)  for u < 1, else 0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geomsolve.gram.types import FloatArray


@dataclass(frozen=True)
class Kernel:
    """``log`` k(u); ``power`` p where log k is proportional to u^p, else None: those vanish from u = 1 on."""

    log: Callable[[FloatArray], FloatArray]
    power: int | None


def _inside(log: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
    def values_of(u: FloatArray) -> FloatArray:
        values: FloatArray = np.full(u.shape, -np.inf)
        within = u < 1
        values[within] = log(u[within])
        return values

    return values_of


KERNELS = {
    "gaussian": Kernel(lambda u: -u * u / 2, 2),
    "exponential": Kernel(lambda u: -u, 1),
    "epanechnikov": Kernel(_inside(lambda u: np.log1p(-u * u)), None),
    "linear": Kernel(_inside(lambda u: np.log1p(-u)), None),
    "cosine": Kernel(_inside(lambda u: np.log(np.cos(np.pi * u / 2))), None),
}


def distances(labels: FloatArray) -> FloatArray:
    """Euclidean distances (m, m) between labels (m, d)."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(labels, labels), dtype=np.float64)


def sharpened(power: int | None, sigma: float, ratio: float) -> dict[str, float]:
    """The sigma that multiplies log k(distance / sigma) by ``ratio``, where there is one."""
    return {} if power is None else {"sigma": sigma * ratio ** (-1 / power)}
