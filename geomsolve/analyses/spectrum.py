"""Which frequencies of stationary images does contrastive learning keep, and with how much power?

Linear features of stationary images are sinusoids.  With feature power P_f on frequency f, augmentations that change
a feature by the part lambda_f of its power, and a Gaussian kernel of variance eps between features, alignment costs
t lambda_f P_f, and uniformity E log E e^{-(z - z')^2 / (2 eps)} of a Gaussian feature z is, but for a constant,
-log(P_f + eps)/2 - P_f/(2 (P_f + eps)).  So, one frequency at a time,

    minimise  F(P) = sum_f h_f(P_f),   h_f = t lambda_f P - log(P + eps)/2 - P/(2 (P + eps)),   P >= 0, sum_f P_f <= 1.

InfoNCE with similarity -|z - z'|^2/(2 eps) has t = 1/eps, the default.  h_f is convex: h' = t lambda_f - g(P), with
g(P) = 1/(2 (P + eps)) + eps/(2 (P + eps)^2) falling from 1/eps to 0.  Where g(P_f) = t lambda_f + nu =: c,

    P_f = (1 + sqrt(1 + 8 eps c)) / (4 c) - eps  if c < 1/eps, else 0,

and one multiplier nu >= 0 makes the sum 1 (or nu = 0).  So a frequency survives iff lambda_f < (1/eps - nu)/t, the
water level.  Certificate, from the derivative alone: F >= F(P) - sum_f h'_f P_f + min(0, min_f h'_f) on the simplex.

Augmentations multiply frequency f by independent random gains and add noise; lambda_f is the variance of the outcome,
relative to the power S_f of the image:

    lambda_f = (1 + j^2) (1 + b^2)/2 - ((1 + b)/2)^2 sinc(f c)^2 + v / S_f
    b = e^{-f^2/(2 B^2)}   blur of cut-off B, in one view of two;      sinc(x) = sin(pi x)/(pi x)
    c  crop: shifts along the wave, evenly within c widths;  j  contrast jitter, standard deviation;  v  white noise

Bands of n_f frequencies of equal power enter F, the sum and the bound n_f times.

Symbols: P ``allocation``, lambda ``variance``, t ``weight``, nu ``multiplier``, n_f ``many``, S ``power``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.proof.certificate import Certificate
from geomsolve.questions.spectrum import Spectrum
from geomsolve.report import Effort, Proof, ProvenReport, Table, understood
from geomsolve.words import counted

FREE = 1e-100
"""Costs below this are no different: such a frequency takes the whole budget, whatever it is."""


@dataclass(frozen=True)
class SpectrumReport(ProvenReport):
    """All arrays (n,) by band, at ``frequencies`` in cycles across the image.

    ``power`` of the image and ``allocation`` of the feature at each of the ``many`` frequencies of a band; ``gain``
    the weight of the feature, sqrt(allocation / power); ``variance`` what augmentations change, as a part of the
    power.  ``surviving`` frequencies have variance below ``water_level``.  Losses in nats.
    """

    command: ClassVar[str] = "spectrum"
    flat: ClassVar[tuple[str, ...]] = ("value", "lower_bound", "gap", "certified")

    frequencies: FloatArray
    power: FloatArray
    many: FloatArray
    variance: FloatArray
    allocation: FloatArray
    gain: FloatArray
    surviving: FloatArray
    water_level: float
    multiplier: float

    @property
    def table(self) -> Table:
        columns = ("frequencies", "power", "many", "variance", "allocation", "gain", "surviving")
        return Table({name: getattr(self, name).tolist() for name in columns})

    @property
    def headline(self) -> str:
        return f"{self.surviving.size:,} of {counted(self.power.size, 'frequency', 'frequencies')} survive"


def augmentation_variance(problem: Spectrum, frequencies: FloatArray, power: FloatArray) -> FloatArray:
    """lambda (n,); inf where there is no power to begin with."""
    kept = np.ones_like(power) if problem.blur is None else np.exp(-(frequencies**2) / (2 * problem.blur**2))
    square = (1 + problem.jitter**2) * (1 + kept**2) / 2
    mean = (1 + kept) / 2 * np.sinc(frequencies * problem.crop)
    noise = np.divide(problem.noise, power, out=np.full_like(power, inf), where=power > 0)
    variance: FloatArray = np.maximum(square - mean**2, 0.0) + noise
    return variance


def allocate(variance: FloatArray, many: FloatArray, weight: float, eps: float) -> tuple[FloatArray, float]:
    """Optimal P (n,) and the multiplier nu of sum_f many_f P_f <= 1; see the module."""
    from scipy.optimize import brentq

    cost = np.where(np.isfinite(variance), weight * np.where(np.isfinite(variance), variance, 0.0), inf)

    def at(multiplier: float) -> FloatArray:
        c = np.maximum(cost + multiplier, FREE)
        with np.errstate(invalid="ignore"):  # no power at infinite cost
            power = (1 + np.sqrt(1 + 8 * eps * c)) / (4 * c) - eps
        return np.where(c * eps < 1, np.maximum(power, 0.0), 0.0)

    def excess(multiplier: float) -> float:
        return min(float(many @ at(multiplier)), 2.0) - 1

    most = 1 / eps - float(cost.min())
    multiplier = 0.0
    if most > 0 and excess(0.0) > 0:
        multiplier = float(brentq(excess, 0.0, most, xtol=1e-300, rtol=8.9e-16, maxiter=1000))
    allocation = at(multiplier)
    return allocation / max(1.0, float(many @ allocation)), multiplier


def evaluate(
    allocation: FloatArray, variance: FloatArray, many: FloatArray, weight: float, eps: float
) -> tuple[float, FloatArray]:
    """F in nats and h' (n,), inf where the variance is."""
    seen = np.isfinite(variance)
    aligned = np.where(seen, weight * np.where(seen, variance, 0.0), inf)
    total = allocation + eps
    cost = np.where(allocation > 0, np.where(seen, aligned, 0.0) * allocation, 0.0)
    value = float(many @ (cost - np.log(total) / 2 - allocation / (2 * total)))
    return value, aligned - 1 / (2 * total) - eps / (2 * total**2)


def spectrum(problem: Spectrum) -> SpectrumReport:
    """Answer the question of :class:`Spectrum`, with a proof."""
    began = time.perf_counter()
    power, many = problem.bands
    frequencies = np.arange(1.0, power.size + 1)
    variance = augmentation_variance(problem, frequencies, power)
    allocation, multiplier = allocate(variance, many, problem.weight, problem.eps)
    value, slope = evaluate(allocation, variance, many, problem.weight, problem.eps)
    used = allocation > 0
    gap = max(0.0, float((many * allocation)[used] @ slope[used]) - min(0.0, float(slope.min())))
    level = (1 / problem.eps - multiplier) / problem.weight if problem.weight > 0 else inf
    return SpectrumReport(
        problem=understood(problem, alignment=problem.weight),
        frequencies=frequencies,
        power=power,
        many=many,
        variance=variance,
        allocation=allocation,
        gain=np.sqrt(np.divide(allocation, power, out=np.zeros_like(power), where=power > 0)),
        surviving=frequencies[used],
        water_level=level,
        multiplier=multiplier,
        proof=Proof.of(Certificate.of(value, gap, -gap, problem.tolerance)),
        effort=Effort("closed form", "one multiplier, found by root finding", 1, time.perf_counter() - began),
    )
