"""An objective restricted to geometries in which given groups of classes share a point."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import Curvature, Objective

Merger = tuple[tuple[int, ...], ...]
"""Groups of orbits, each at one point; an orbit of several classes may be a group of its own.  () is no merger."""


class Merged(Objective):
    """An objective restricted to a merger: a function of the cosines between its points.

    ``orbits`` are those of the smaller problem; ``place`` (m,) is where each orbit of the larger one goes.
    """

    def __init__(self, objective: Objective, orbits: Orbits, merger: Merger) -> None:
        self.whole = objective
        self.unique_minimiser = objective.unique_minimiser
        apart = [(g,) for g in range(orbits.n_orbits) if all(g not in group for group in merger)]
        groups = sorted([*merger, *apart])
        self.place: IntArray = np.empty(orbits.n_orbits, dtype=np.int64)
        for i, group in enumerate(groups):
            self.place[list(group)] = i
        points = [group in merger for group in groups]
        sizes = np.array([1 if one else orbits.sizes[g[0]] for g, one in zip(groups, points, strict=True)])
        masses = orbits.sizes * orbits.proportions
        shares = np.array([masses[list(group)].sum() for group in groups]) / sizes
        self.orbits = Orbits(sizes, shares, np.repeat(np.arange(len(groups)), sizes))

    @cached_property
    def _counted(self) -> FloatArray:
        """1 for pairs that exist in the smaller problem, 0 for the pair of a single point with itself."""
        return (self.orbits.pairs > 0).astype(np.float64)

    def expand(self, cosines: FloatArray) -> FloatArray:
        """Cosines of the larger problem (m, m) from those between points."""
        return cosines[np.ix_(self.place, self.place)]

    def _gather(self, slope: FloatArray) -> FloatArray:
        member = np.eye(self.orbits.n_orbits)[self.place]
        gathered: FloatArray = self._counted * (member.T @ slope @ member)
        return gathered

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, slope = self.whole.evaluate(self.expand(cosines))
        return value, self._gather(slope)

    def curvature(self, cosines: FloatArray) -> Curvature:
        whole = self.whole.curvature(self.expand(cosines))
        return lambda change: self._gather(whole(self.expand(self._counted * change)))
