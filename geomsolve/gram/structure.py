"""What the answer is called: the most specific name that holds, with the figures that show it.

Class means are opposite, orthogonal, and so on only up to the accuracy of the answer: a gap of
F - F* <= gap leaves entries of the Gram matrix uncertain by about sqrt(gap), so names are decided with

    tol = max(1e-6, 10 sqrt(gap)).

Whether classes coincide is no question of distance where a proof tells (``proof/collapse.py``): it hands in the groups.
The tolerance forms them only where the cosines were measured, or no dual matrix decides.

Symbols: K ``n_classes``, C ``cosines`` (orbit form), tol ``tolerance``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import acos, degrees, sqrt
from typing import Any, Literal, get_args

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.types import FloatArray

Kind = Literal[
    "antipodal",
    "regular simplex",
    "total collapse",
    "orthogonal frame",
    "equiangular",
    "minority collapse",
    "symmetric by proportion",
    "general",
    "orthoplex",
    "dimension-limited",
    "degenerate",
    "undetermined",
]
"""Names of geometries.  Orthoplex (cosines 0 or -1) and dimension-limited are for limited dimension only; degenerate
means that every geometry is optimal, undetermined that the loss hardly depends on it, so that no proof of the loss says
anything about the geometry found.  Minority collapse means that some classes coincide, whatever share they have."""

KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True)
class Structure:
    """A named geometry and its evidence.

    ``groups`` lists the classes (their positions) that coincide, one tuple a point that holds two or more.  Angles are
    in degrees.  ``simplex_distance`` is the largest |cosine - (-1/(K-1))|.
    """

    kind: Kind
    groups: tuple[tuple[int, ...], ...]
    min_cosine: float
    max_cosine: float
    min_angle_deg: float
    max_angle_deg: float
    simplex_distance: float
    tolerance: float

    def named(self, names: Sequence[str]) -> str:
        """The kind, and which classes share a point, in a few words."""
        groups = names_of(self.groups, names)
        if self.kind != "minority collapse" or not groups:
            return self.kind
        return f"{self.kind}: {'; '.join(' = '.join(group) for group in groups)}"

    def facts(self, names: Sequence[str]) -> dict[str, Any]:
        """Kind, groups by name and extreme cosines: what a problem file may expect of a geometry.

        Of one that is undetermined no more than that: its cosines are not proven.
        """
        if self.kind == "undetermined":
            return {"structure": self.kind}
        return {
            "structure": self.kind,
            "groups": names_of(self.groups, names),
            "min_cosine": self.min_cosine,
            "max_cosine": self.max_cosine,
        }

    @property
    def angles(self) -> dict[str, float]:
        """The extreme angles by what they are called; none where they are undetermined."""
        if self.kind == "undetermined":
            return {}
        return {"smallest angle, degrees": self.min_angle_deg, "largest angle, degrees": self.max_angle_deg}


def structure_tolerance(gap: float) -> float:
    """tol = max(1e-6, 10 sqrt(gap)): how exactly cosines are known when the loss is known within ``gap``."""
    return max(1e-6, 10 * sqrt(gap))


def angle_degrees(cosine: float) -> float:
    """Angle in degrees of a cosine, which rounding may have put just outside [-1, 1]."""
    return degrees(acos(min(1.0, max(-1.0, cosine))))


def coinciding(orbits: Orbits, cosines: FloatArray, tolerance: float) -> tuple[tuple[int, ...], ...]:
    """Groups of two or more classes whose mutual cosines are 1 within ``tolerance``, as positions of classes."""
    same = cosines >= 1 - tolerance
    splits = (orbits.sizes > 1) & ~np.diag(same)
    groups = []
    alone = (orbits.sizes == 1) & (np.sum(same, axis=1) - np.diag(same) == 0)
    left = np.flatnonzero(~splits & ~alone).tolist()
    while left:
        head = left[0]
        together = [g for g in left if g == head or same[head, g]]
        left = [g for g in left if g not in together]
        members = np.flatnonzero(np.isin(orbits.index, together))
        if members.size > 1:
            groups.append(tuple(int(a) for a in members))
    return tuple(sorted(groups))


def classify(
    orbits: Orbits,
    cosines: FloatArray,
    gap: float,
    *,
    limited: bool = False,
    tolerance: float | None = None,
    groups: tuple[tuple[int, ...], ...] | None = None,
) -> Structure:
    """Name the geometry of feasible orbit cosines (m, m) whose loss is within ``gap`` of the optimum.

    ``limited``: the best found in fewer dimensions than the optimum needs.  ``tolerance`` replaces the one that follows
    from the gap: for cosines that were measured, not solved for.  ``groups``: the classes proven to coincide, as
    positions; None where the tolerance decides.
    """
    tol = structure_tolerance(gap) if tolerance is None else tolerance
    n_classes = orbits.n_classes
    entries = cosines[orbits.pairs > 0]
    low, high = float(entries.min()), float(entries.max())
    simplex = simplex_cosine(n_classes)
    proven = groups is not None
    groups = coinciding(orbits, cosines, tol) if groups is None else groups
    at_one_point = bool(groups) and len(groups[0]) == n_classes

    def farthest(cosine: float) -> float:
        return max(abs(low - cosine), abs(high - cosine))

    named: dict[Kind, float] = {
        "antipodal" if n_classes == 2 else "regular simplex": simplex,
        "total collapse": 1.0,
        "orthogonal frame": 0.0,
    }
    if proven and not at_one_point:
        del named["total collapse"]
    nearest = min(named, key=lambda kind: farthest(named[kind]))  # with K > 1 / tol two of them may be near enough
    kind: Kind
    if farthest(named[nearest]) <= tol:
        kind = nearest
    elif high - low <= 2 * tol:
        kind = "equiangular"
    elif limited and bool(np.all((np.abs(entries) <= tol) | (entries <= -1 + tol))):
        kind = "orthoplex"
    elif groups:
        kind = "minority collapse"
    elif limited:
        kind = "dimension-limited"
    else:
        kind = "symmetric by proportion" if orbits.n_orbits < n_classes else "general"
    angles = angle_degrees(high), angle_degrees(low)
    return Structure(kind, groups, low, high, *angles, farthest(simplex), tol)


def names_of(groups: Sequence[Sequence[int]], names: Sequence[str]) -> list[list[str]]:
    """Groups of class positions as groups of class names."""
    return [[names[a] for a in group] for group in groups]
