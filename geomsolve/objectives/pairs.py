"""Losses that are sums over pairs: triplet, sigmoid, spectral.

    F(C) = sum_{a != b} p_a r(b|a) psi(G_ab)   =   sum_gh pair_mass_gh psi(C_gh)

    triplet    psi(x) = max(x - 1 + margin, 0)          (anchor, positive at cosine 1, negative at x)
    sigmoid    psi(x) = log(1 + e^{x/tau - bias})       (the negative half of the pairwise sigmoid loss)
    spectral   F = sum_ab p_a p_b G_ab^2                (constants dropped; minimised by G = I)

with r(b|a) = p_b / (1 - p_a) (supervised: the negative is from another class) or p_b (iid: it may be from the
anchor's class, where it is no negative and costs nothing).

Symbols: p_a r(b|a) summed over an orbit pair ``pair_mass``.
"""

from __future__ import annotations

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import ConeForm, Curvature, LogTerms, Minorant, Objective, RowCurvature
from geomsolve.objectives.sampling import negative_distribution

LEAST_SHARE = 1e-2
"""Slopes of a smoothed hinge are held away from 0 and 1 by this much: at either end it would be straight."""


def pair_mass(orbits: Orbits, sampling: str) -> FloatArray:
    """(m, m): sum of p_a r(b|a) over ordered pairs of different classes a in orbit g, b in orbit h."""
    chance, _ = negative_distribution(orbits, sampling)
    return (orbits.sizes * orbits.proportions)[:, None] * chance


def entrywise(own: FloatArray) -> Curvature:
    """The curvature of a sum over pairs, ``own`` (m, m): no normalisers."""
    return RowCurvature(own, np.zeros((0, *own.shape)))


def part_of(steepest: FloatArray, slope: FloatArray) -> FloatArray:
    """Which part of the steepest slope of each hinge a ``slope`` is, within [0, 1]; 0 where there is none."""
    return np.clip(np.divide(slope, steepest, out=np.zeros_like(slope), where=steepest > 0), 0.0, 1.0)


class Hinge(Objective):
    """F = sum_gh pair_mass_gh max(C_gh - knee, 0): convex, with a kink at the knee unless no cosine lies below it."""

    def __init__(self, mass: FloatArray, knee: float) -> None:
        self.mass, self.knee = mass, knee
        self.smooth = knee <= -1

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        excess = cosines - self.knee
        return float(np.sum(self.mass * np.maximum(excess, 0))), np.where(excess >= 0, self.mass, 0.0)

    def curvature(self, cosines: FloatArray) -> Curvature:
        return np.zeros_like  # and not entrywise: the gradient of a linear function cannot be inverted

    def minorant(self, cosines: FloatArray, slopes: FloatArray | None = None) -> Minorant:
        """max(x, 0) >= theta x for every theta in [0, 1]: the slopes are a solver's, forced into that interval."""
        if slopes is None:
            return super().minorant(cosines)
        slope = np.clip(slopes, 0.0, self.mass)
        return Minorant(float(np.sum(slope * (cosines - self.knee))), slope)

    def shares(self, cosines: FloatArray, slope: FloatArray) -> FloatArray:
        return part_of(self.mass, slope)

    def smoothed(self, width: float, slopes: FloatArray | None = None) -> Objective | None:
        if self.smooth:
            return None
        half = np.full_like(self.mass, 0.5)
        share = half if slopes is None else np.divide(slopes, self.mass, out=half, where=self.mass > 0)
        return SmoothHinge(self.mass, self.knee, width, np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))

    def cone_form(self) -> ConeForm:
        return ConeForm(hinge=self.mass, knee=self.knee)


class SmoothHinge(Objective):
    """F = sum_gh pair_mass_gh width log(1 - theta_gh + theta_gh e^{(C_gh - knee) / width}), 0 < theta < 1.

    The hinge is the largest of t x over t in [0, 1], x = C - knee; this is the largest of t x - width KL(t || theta),
    attained at the slope t = theta e^{x/width} / (1 - theta + theta e^{x/width}).  Where t = theta the two agree in
    slope: the shares theta are the multipliers of an entropic proximal point method (Kort & Bertsekas 1972).
    """

    unique_minimiser = True

    def __init__(self, mass: FloatArray, knee: float, width: float, share: FloatArray) -> None:
        self.mass, self.knee, self.width = mass, knee, width
        self.log_odds, self.log_rest = np.log(share) - np.log1p(-share), np.log1p(-share)

    def _logit(self, cosines: FloatArray) -> FloatArray:
        logit: FloatArray = (cosines - self.knee) / self.width + self.log_odds
        return logit

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        logit = self._logit(cosines)
        value = self.width * float(np.sum(self.mass * (np.logaddexp(0.0, logit) + self.log_rest)))
        return value, self.mass * np.exp(-np.logaddexp(0.0, -logit))

    def curvature(self, cosines: FloatArray) -> Curvature:
        share = np.exp(-np.logaddexp(0.0, -self._logit(cosines)))
        return entrywise(self.mass * share * (1 - share) / self.width)


class SoftPlus(Objective):
    """F = sum_gh pair_mass_gh log(1 + e^{scale C_gh - bias})."""

    unique_minimiser = True

    def __init__(self, mass: FloatArray, scale: float, bias: float) -> None:
        self.mass, self.scale, self.bias = mass, scale, bias

    def _logit(self, cosines: FloatArray) -> FloatArray:
        logit: FloatArray = self.scale * cosines - self.bias
        return logit

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        softplus = np.logaddexp(0.0, self._logit(cosines))
        return float(np.sum(self.mass * softplus)), self.scale * self.mass * self._sigmoid(cosines)

    def _sigmoid(self, cosines: FloatArray) -> FloatArray:
        return np.exp(-np.logaddexp(0.0, -self._logit(cosines)))

    def curvature(self, cosines: FloatArray) -> Curvature:
        sigmoid = self._sigmoid(cosines)
        factor = self.scale**2 * self.mass * sigmoid * (1 - sigmoid)
        return entrywise(factor)

    def cone_form(self) -> ConeForm:
        g, h = np.nonzero(self.mass)
        n = g.size
        shift = np.full(n, self.scale - self.bias)
        logs = LogTerms(self.mass[g, h], np.zeros(n), np.arange(n), g, h, shift, self.scale)
        return ConeForm(logs=logs)


class Squares(Objective):
    """F = constant + sum_gh pair_mass_gh C_gh^2."""

    unique_minimiser = True

    def __init__(self, mass: FloatArray, constant: float) -> None:
        self.mass, self.constant = mass, constant
        self.attraction = 2 * mass

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        return self.constant + float(np.sum(self.mass * cosines**2)), 2 * self.mass * cosines

    def curvature(self, cosines: FloatArray) -> Curvature:
        return entrywise(2 * self.mass)

    def cone_form(self) -> ConeForm:
        return ConeForm(constant=self.constant, square=self.mass)
