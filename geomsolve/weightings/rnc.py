"""Rank-N-Contrast: labels order the pairs of an anchor, and every pair is to beat those that are farther.

    F = mean over pairs (i, j) of  - s_ij + log sum over k at least as far from i as j: e^{s_ik}

No weighting of pairs once and for all, but a loss of cosines all the same, with its own objective
(``objectives/ranked.py``).  A pair with farther ones would have to beat them by an infinite margin, so that the floor,
where each pair shares its sum with its ties only, is an infimum: degenerate, unless all labels are equally far.

Distances of labels are the sums of the differences of their coordinates, as in the published code; self pairs never
enter.  Symbols: s ``cosines`` over tau, the distances ``farness``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.objectives.ranked import Ranked
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.target import Target, Verdict

MOST_RANKED = 200
"""Distinct labels up to which the loss is worked out: its rows grow with their third power."""

TIE = 1e-9
"""Label distances that differ by no more, relative to the largest, are ties: what rounding makes of equal ones."""


@register
@dataclass(frozen=True)
class RankNContrast(Weighting):
    """Rank-N-Contrast on cosines; see the module."""

    name: ClassVar[str] = "rnc"
    title: ClassVar[str] = "Rank-N-Contrast"
    summary: ClassVar[str] = "a loss on the order of label distances: each pair beats those that are farther"
    condition: ClassVar[str] = (
        "Rank-N-Contrast asks every pair to be more alike than all pairs of the same sample with farther labels, by "
        "as much as there is room: no finite embedding attains its floor (degenerate) unless all labels are equally "
        "far apart. The best geometry is that of a convex program. Of three equidistant scalars the neighbours stand "
        "at the cosine 1/4 and the ends at -7/8, whatever the temperature."
    )
    source: ClassVar[str] = "Zha et al. 2023, Rank-N-Contrast; on cosines, with a certified optimum, here"
    also: ClassVar[tuple[str, ...]] = ("rank-n-contrast", "ranknc")
    degenerate: ClassVar[str] = "every pair should beat those with farther labels by an infinite margin"
    trained: ClassVar[bool] = False

    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        return np.zeros((labels.shape[0], labels.shape[0]))

    def bind(self, points: FloatArray | None, *, latents: Latents, temperature: float, **conventions: Any) -> Target:
        if not latents.unit:
            raise InputError("Rank-N-Contrast is solved on cosines; leave --similarity out", field="similarity")
        if conventions.get("normalise", "rows") != "rows":
            raise InputError("Rank-N-Contrast has no weights that could be normalised by columns", field="normalise")
        given = {**conventions, "include": False}
        plain = super().bind(points, latents=latents, temperature=temperature, **given)
        assert plain.labels is not None
        if plain.orbits.n_orbits > MOST_RANKED:
            raise InputError(
                f"Rank-N-Contrast is worked out for at most {MOST_RANKED} distinct labels, and these are "
                f"{plain.orbits.n_orbits:,}; round them with --bin, or draw some with --sample",
                field="labels",
            )
        return RankTarget(**vars(plain), farness=far(plain.labels))


def far(labels: FloatArray) -> FloatArray:
    """Distances (m, m) between labels (m, d), those that differ by rounding only made equal."""
    apart: FloatArray = np.abs(labels[:, None] - labels).sum(axis=2)
    values, place = np.unique(apart, return_inverse=True)
    first = np.concatenate([[True], np.diff(values) > TIE * max(float(values[-1]), 1e-300)])
    return np.asarray(values[first][np.cumsum(first) - 1][place.ravel()].reshape(apart.shape), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class RankTarget(Target):
    """What Rank-N-Contrast asks of samples; ``farness`` (m, m) between their labels."""

    farness: FloatArray

    @property
    def unattained(self) -> str:
        return (
            "every pair is to beat those with farther labels by as much as there is room, up to an infinite margin; no "
            "finite embedding does"
        )

    def objective(self) -> Objective:
        return Ranked(self.orbits.others, self.orbits.sizes.astype(float), self.farness, self.temperature)

    @property
    def zero_weights(self) -> bool:
        """Whether some sample has partners at different distances."""
        pairs = self.orbits.others > 0
        low = np.where(pairs, self.farness, np.inf).min(axis=1)
        high = np.where(pairs, self.farness, -np.inf).max(axis=1)
        return bool(np.any(low < high))

    @property
    def floor(self) -> float:
        """Every pair shares its sum with its ties alone: the mean of the logarithm of how many these are."""
        pairs, sizes = self.orbits.others, self.orbits.sizes
        n, total = self.orbits.n_classes, 0.0
        for g in range(pairs.shape[0]):
            ties = (self.farness[g][:, None] == self.farness[g]) @ pairs[g]
            entering = pairs[g] > 0
            total += sizes[g] * float(pairs[g][entering] @ np.log(ties[entering]))
        return total / (n * (n - 1))

    def residual(self, cosines: FloatArray) -> tuple[float | None, float]:
        return None, max(0.0, self.objective().value(cosines) - self.floor)

    def wanted(self, verdict: Verdict) -> FloatArray:
        """No cosine is wanted, only an order of them, unless the target is attained."""
        return super().wanted(verdict) if verdict.wanted is not None else np.full(self.farness.shape, np.nan)

    def start(self) -> FloatArray:
        """Near labels near each other."""
        scale = max(float(self.farness.max()), 1e-300)
        return self.latents.feasible(self.orbits, self.latents.start(4 * self.farness / scale))

    def finer(self, orbits: Orbits) -> Target:
        parent = self.orbits.index[np.unique(orbits.index, return_index=True)[1]]
        plain = {key: value for key, value in vars(super().finer(orbits)).items() if key != "farness"}
        return RankTarget(**plain, farness=self.farness[np.ix_(parent, parent)])
