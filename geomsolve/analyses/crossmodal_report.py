"""The answer of ``geomsolve crossmodal``: cosines between and within the two sides, what they are called, the proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.paired import Paired, PairedGram
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.structure import angle_degrees, structure_tolerance
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import Joint
from geomsolve.report import ProvenReport, Table, jsonable

FULL_POINTS = 64
"""Points of a side up to which all their cosines are part of the JSON."""

KINDS = ("total collapse", "antipodal", "collapsed", "regular simplex", "tied", "apart", "general")
"""Names of arrangements: all points at one; each side at one point, opposite the other, or at another angle; both sides
the same regular simplex; both sides the same; proven not to be the same; none of these."""


@dataclass(frozen=True)
class CrossmodalReport(ProvenReport):
    """How two sides are arranged, by kind of pair (:class:`PairedGram`), with its proof.

    ``joint`` says who belongs to whom and which points are one; ``tied``: whether some optimum has both sides
    coincide, None where that was not settled.  ``nouns``: what a point of each side is.  ``names`` of the classes, or
    of the points of the first side.  ``modality_gap``: the distance between the means of the sides, with
    the keys of ``analyses/modality_gap.py``; ``attainable``, with those of ``analyses/attainable.py``, None in limited
    dimension.  ``structure``: the
    kind, extreme cosines and angles.  ``dimension_limited`` says whether a limit of the dimension binds; then every
    point is on its own, and ``lower_bound`` is that of the unlimited problem.  ``convex``: whether the loss is; what is
    shown else is the best found, and ``lower_bound`` that of a convex loss nowhere above.
    """

    command: ClassVar[str] = "crossmodal"
    apart: ClassVar[tuple[str, ...]] = ("joint", "gram", "names")
    verdicts: ClassVar[tuple[str, ...]] = ("tied", "apart", "not settled")
    structures: ClassVar[tuple[str, ...]] = KINDS

    joint: Joint
    gram: PairedGram
    nouns: tuple[str, str]
    names: tuple[str, ...]
    tied: bool | None
    dimension_limited: bool | None
    modality_gap: dict[str, Any]
    attainable: dict[str, Any] | None
    structure: dict[str, Any]
    rank: int
    convex: bool = True

    @property
    def verdict(self) -> str:
        """Whether the sides coincide at some optimum: 'tied', 'apart' or 'not settled'."""
        return {True: "tied", False: "apart", None: "not settled"}[self.tied]

    @property
    def counts(self) -> tuple[int, int]:
        """Points of each side, as given."""
        return int(self.joint.first_point.size), int(self.joint.second_point.size)

    def matrices(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The cosines within the first side, between the sides and within the second, of the points as given."""
        first, cross, second = self.joint.paired.lift(self.gram)
        x, y = self.joint.first_point, self.joint.second_point
        return first[np.ix_(x, x)], cross[np.ix_(x, y)], second[np.ix_(y, y)]

    def links(self) -> list[tuple[int, int]]:
        """Points of the first side with their partners, as positions of the points given."""
        mates = self.joint.paired.mate[self.joint.first_point]
        partners = mates[:, None] == self.joint.second_point
        return [(int(i), int(j)) for i, j in np.argwhere(partners)]

    @property
    def table(self) -> Table:
        (one, two), (x, y) = self.nouns, self.counts
        named = self.names if len(self.names) == x == y else ()
        rows, columns = (list(named) or [f"{noun} {i + 1}" for i in range(n)] for noun, n in ((one, x), (two, y)))
        return Table.of_matrix(self.matrices()[1], rows, columns)

    @property
    def headline(self) -> str:
        gap = f"modality gap {self.modality_gap['value']:.3g}"
        if self.tied and self.structure["kind"] in ("tied", "regular simplex"):
            return f"{self.structure['kind']}, {'the sides coincide' if self.unique else 'the sides may coincide'}"
        return f"{self.structure['kind']}, {gap}"

    @property
    def asked(self) -> dict[str, Any]:
        s = self.structure
        extremes = {"min_cosine": s["cross"]["min_cosine"], "max_cosine": s["cross"]["max_cosine"]}
        priced = {"price": self.modality_gap["price"]} if self.modality_gap["forced"] is not None else {}
        attained = {} if self.attainable is None else {"attainable": self.attainable["temperature"]}
        return {**super().asked, "structure": s["kind"], "verdict": self.verdict, **extremes, **priced, **attained}

    @property
    def figures(self) -> dict[str, float]:
        gap = self.modality_gap
        priced = {} if gap["forced"] is None else {f"price of a gap of {gap['forced']:g} in nats": gap["price"]}
        return {"modality gap": gap["value"], **priced}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` for all cosines of large problems."""
        x, y = self.counts
        within = max(x, y) <= FULL_POINTS or bool(detail.get("full"))
        first, cross, second = self.matrices() if within else (None, None, None)
        orbits = self.joint.paired
        grouped = {
            "first": orbit_rows(orbits.first, self.joint.first_given, self.joint.first),
            "second": orbit_rows(orbits.second, self.joint.second_given, self.joint.second),
            "partner": [None if h < 0 else int(h) for h in orbits.partner],
            "cross": self.gram.cross[:, :-1] if orbits.counts.size <= FULL_POINTS**2 else None,
            "partners": self.gram.cross[:, -1] if orbits.counts.size <= FULL_POINTS**2 else None,
        }
        links = self.links() if within else None
        own = {
            "links": links,
            "verdict": self.verdict,
            "first": first,
            "cross": cross,
            "second": second,
            "orbits": grouped,
        }
        named = {"names": list(self.names) if x <= FULL_POINTS else None, "points": {"first": x, "second": y}}
        return {**super().to_dict(**detail), **jsonable({**own, **named})}


def orbit_rows(sizes: Any, given: Any, share: Any) -> list[dict[str, Any]]:
    """One row an orbit: points in it, how many of those given each stands for, and the share of each."""
    return [{"size": n, "given": k, "proportion": p} for n, k, p in zip(sizes, given, share, strict=True)]


def describe(joint: Joint, gram: PairedGram, gap: float, tied: bool | None) -> dict[str, Any]:
    """The name of an arrangement, and the extreme cosines and angles between and within its sides."""
    paired, tol = joint.paired, structure_tolerance(gap)
    partners, others = partner_cosines(paired, gram), other_cosines(paired, gram)
    every = np.concatenate([partners, others])
    within = [inner_cosines(n, given, inner) for n, given, inner in sides(joint, gram)]
    k = paired.points[0]
    if every.min() >= 1 - tol:
        kind = "total collapse"
    elif every.max() <= -1 + tol:
        kind = "antipodal"
    elif every.max() - every.min() <= tol and all(c.size == 0 or c.min() >= 1 - tol for c in within):
        kind = "collapsed"
    elif tied and others.size and partners.size == paired.n_first and _near(others, simplex_cosine(k), tol):
        kind = "regular simplex"
    elif tied:
        kind = "tied"
    else:
        kind = "apart" if tied is False else "general"
    return {
        "kind": kind,
        "tolerance": tol,
        "cross": extremes(every),
        "partners": extremes(partners),
        "others": extremes(others),
        "first": extremes(within[0]),
        "second": extremes(within[1]),
    }


def _near(values: FloatArray, wanted: float, tolerance: float) -> bool:
    return bool(np.abs(values - wanted).max() <= tolerance)


def sides(joint: Joint, gram: PairedGram) -> list[tuple[Any, Any, FloatArray]]:
    """Sizes of orbits, points given for each, and cosines within, of each side."""
    paired = joint.paired
    return [(paired.first, joint.first_given, gram.first), (paired.second, joint.second_given, gram.second)]


def partner_cosines(paired: Paired, gram: PairedGram) -> FloatArray:
    """Cosines of points with their partners, one an orbit."""
    return np.asarray(gram.cross[paired.matched[0], -1])


def other_cosines(paired: Paired, gram: PairedGram) -> FloatArray:
    """Cosines of points of different sides that are no partners, one a kind."""
    return np.asarray(gram.cross[:, :-1][paired.counts[:, :-1] > 0])


def inner_cosines(sizes: Any, given: Any, inner: FloatArray) -> FloatArray:
    """Cosines of different points of one side, one a kind; points that are one have cosine 1."""
    pairs = Orbits(sizes, np.ones(sizes.size), np.repeat(np.arange(sizes.size), sizes)).pairs
    merged = [1.0] if np.any(given > 1) else []
    return np.concatenate([inner[pairs > 0], merged])


def extremes(values: FloatArray) -> dict[str, float] | None:
    """Smallest and largest cosine and angle, None where there are none."""
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    return {
        "min_cosine": low,
        "max_cosine": high,
        "min_angle_deg": angle_degrees(high),
        "max_angle_deg": angle_degrees(low),
    }
