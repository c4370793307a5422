"""Soft SupCon as a weighting: 1 within a class and epsilon > 0 across classes.

    wanted cosine across classes  1 + tau log(epsilon),  attained iff  epsilon >= exp(-K / ((K - 1) tau))

At equality it is the regular simplex.  Below it no embedding attains the target, and the best one is *not* regular
when classes differ in size.

Without self pairs the cosine within a class is 1 - s, s >= 0, and across classes 1 - s - L with L = -tau log epsilon.
That is a Gram matrix iff sum_g 1/(s/n_g + L) <= 1/(L - 1 + s) (or L - 1 + s <= 0); as n_g >= 1 this needs
L + s <= K/(K - 1), which s = 0 attains: the same threshold, as soon as one class has two samples.  Compared by
distance classes can be as far apart as one likes, and any epsilon is attained.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import ClassVar

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.registry import parameter
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.parameters import EPSILON
from geomsolve.weightings.target import Target, Verdict


@register
@dataclass(frozen=True)
class SoftSupConWeights(Weighting):
    """Soft SupCon; see the module."""

    name: ClassVar[str] = "soft-supcon"
    title: ClassVar[str] = "Soft SupCon"
    summary: ClassVar[str] = "1 for equal labels, epsilon otherwise"
    condition: ClassVar[str] = (
        "Soft SupCon asks for the cosine 1 + temperature * log(epsilon) between any two classes, whatever their sizes. "
        "K unit vectors can have that mutual cosine exactly when it is at least -1 / (K - 1), that is when epsilon is "
        "at least exp(-K / ((K - 1) temperature)); at equality they form a regular simplex. A smaller epsilon is out "
        "of reach, and then the best geometry is regular only if the classes are equally large: imbalance bends it, "
        "as it does for SupCon."
    )
    source: ClassVar[str] = "SupCon with dense weights, read as a distance geometry problem"
    also: ClassVar[tuple[str, ...]] = ("soft-supervised-contrastive",)
    misread: ClassVar[str] = (
        "Soft SupCon is often said to keep a regular simplex whatever the class sizes. That holds from the "
        "threshold epsilon on; below it, as here, the sizes bend the geometry, as they do for SupCon."
    )

    epsilon: float = parameter(EPSILON, 0.1)

    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        return np.where(np.eye(labels.shape[0]) > 0, 0.0, log(self.epsilon))

    def rescaled(self, ratio: float) -> dict[str, float]:
        return {"epsilon": exp(ratio * log(self.epsilon))}

    def about(self, target: Target, verdict: Verdict) -> str:
        """On which side of the threshold epsilon is."""
        if target.orbits.n_orbits < 2:
            return ""
        least = threshold(target.orbits.n_orbits, target.temperature)
        word = "at least" if verdict.kind == "realizable" else "below"
        return f"epsilon {self.epsilon:g} is {word} exp(-K/((K-1) temperature)) = {least:.6g}"


def threshold(n_classes: int, temperature: float) -> float:
    """The smallest epsilon that K = ``n_classes`` >= 2 classes attain: exp(-K / ((K - 1) tau))."""
    return exp(-n_classes / ((n_classes - 1) * temperature))
