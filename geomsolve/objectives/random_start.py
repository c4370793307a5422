"""What a loss is worth for embeddings that are independent uniform unit vectors in d dimensions.

The cosines of one such vector with others are independent, with density proportional to (1 - c^2)^((d - 3) / 2),
that is, c = cos(theta) with theta of density proportional to sin(theta)^(d - 2) on [0, pi].  Expectations are
Gauss-Legendre sums over panels in theta, as far from pi/2 as the density is above 4e-18; logarithms of sums go
through Frullani's integral, as in ``objectives/expectation.py``:

    E log Y = int (e^{-s} - E e^{-sY}) ds/s,   Y = a0 + sum_i w_i sum_{j <= n_i} e^{c_ij / tau},
    E e^{-sY} = e^{-a0 s} prod_i phi(w_i s)^{n_i},       phi(s) = E exp(-s e^{c / tau}).

Symbols: a0 e^``log_offset``, d ``dim``, tau ``temperature``, theta ``angles``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, exp, inf, log, sqrt

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.objectives.expectation import STEP

NEGLIGIBLE = 1e-18
"""Tails of the Frullani integral below this are cut."""


def random_angles(dim: int, sharpness: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Nodes theta (n,) and weights (n,), sum 1, of the angle between independent uniform unit vectors, ``dim`` >= 2.

    ``sharpness`` is how steep a function of the cosine is to be integrated: 1/tau for e^{c/tau}.
    """
    reach = min(np.pi / 2, sqrt(80 / (dim - 2))) if dim > 2 else np.pi / 2
    panels = 4 + ceil(reach * sharpness / 4)
    nodes, weights = np.polynomial.legendre.leggauss(32)
    edges = np.linspace(-reach, reach, panels + 1)
    off_right = (edges[:-1, None] + (nodes + 1) * reach / panels).ravel()
    weights = np.tile(weights, panels) * np.cos(off_right) ** (dim - 2)
    return np.pi / 2 + off_right, weights / weights.sum()


def random_mean(function: Callable[[FloatArray], FloatArray], dim: int, sharpness: float) -> float:
    """E function(c) for the cosine c of two independent uniform unit vectors."""
    angles, weights = random_angles(dim, sharpness)
    return float(weights @ function(np.cos(angles)))


def random_log_sum(terms: Sequence[tuple[float, int]], temperature: float, dim: int, log_offset: float = -inf) -> float:
    """E log of the sum, over ``terms`` (weight w, count n), of w times n independent e^{c / temperature}, and of
    e^{log_offset}, which is no larger than e^{1 / temperature}."""
    angles, weights = random_angles(dim, 1 / temperature)
    log_x = (np.cos(angles) - 1) / temperature
    offset = exp(log_offset - 1 / temperature)
    mean = offset + sum(w * n for w, n in terms)
    # no larger than the largest term, which lies below this quantile with probability NEGLIGIBLE
    w, n = max(terms, key=lambda term: term[1])
    least = log(w) + float(log_x[::-1][np.searchsorted(np.cumsum(weights[::-1]), NEGLIGIBLE ** (1 / n))])
    least = max(least, log_offset - 1 / temperature)
    x = STEP * np.arange(np.floor(log(NEGLIGIBLE / (1 + mean)) / STEP), np.ceil((4 - min(0.0, least)) / STEP) + 1)
    log_power = -offset * np.exp(np.minimum(x, 300.0))
    with np.errstate(divide="ignore", under="ignore"):
        for w, n in terms:
            exponent = np.exp(np.minimum(x[:, None] + log(w) + log_x, 50.0))
            log_power += n * np.log1p(np.maximum(np.expm1(-exponent) @ weights, -1.0))
        integrand = np.exp(-np.exp(np.minimum(x, 50.0))) - np.exp(log_power)
    return 1 / temperature + STEP * float(np.sum(integrand))


def random_hinge(margin: float, dim: int) -> float:
    """E max(c - c' + margin, 0) for two independent cosines of one anchor, each with another uniform unit vector."""
    from scipy.special import beta, betainc  # here, since only this loss needs it

    def above(u: FloatArray) -> FloatArray:
        """E max(c - u, 0) for u in [-1, 1], in closed form."""
        a = (dim - 1) / 2
        tail = np.where(u > 0, 0.5 * betainc(a, 0.5, 1 - u**2), 1 - 0.5 * betainc(a, 0.5, 1 - u**2))
        first: FloatArray = (1 - u**2) ** a / (2 * a * beta(a, 0.5))
        return first - u * tail

    def inner(positive: FloatArray) -> FloatArray:
        u = positive - margin
        return np.where(u < -1, -u, above(np.clip(u, -1.0, 1.0)))

    return random_mean(inner, dim, 400.0)
