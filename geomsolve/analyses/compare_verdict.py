"""Is an encoder where its loss wants it?  Judged by how far the loss lets its cosines go.

    matches            every cosine is as predicted, within ``within`` and two standard errors of class means of few
                       samples, of which no more than ``within`` is granted; or the loss is at an optimum that many
                       geometries attain
    dimension          the optimum needs more dimensions than the encoder has, and what is off is what they cost: every
                       cosine, or the loss at the class means, is that of the best found in so many dimensions; for
                       many classes, the rms difference is the bound of ``gram/measure.py`` within ``within``
    loose              the loss is at the optimum, and the cosines that differ most are inside the ranges proven for a
                       loss that far above it (``proof/ranges.py``): the loss does not fix these angles
    another geometry   the measured cosines have a name of their own, and the prediction has not
    not there yet      none of these

Without a value of the loss on the data only cosines are judged, and nothing is *loose*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.analyses.imbalance import ImbalanceReport
from geomsolve.analyses.ranges import Bind, PairRange, range_around
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, classify
from geomsolve.gram.types import FloatArray

VERDICTS = ("matches", "loose", "not there yet", "another geometry", "dimension")

AT_OPTIMUM = 1e-3
"""Excess of the loss, relative above 1, that counts as the optimum; two standard errors on top."""

HANDFUL = ((12, 4), (100, 1))
"""Distinct proportions, and for up to so many of them the kinds of pairs whose ranges are asked for."""

FINEST = 1e-9
"""Least slack, in nats, that ranges are asked for: a value is not known better."""

UNNAMED = ("general", "symmetric by proportion", "equiangular", "dimension-limited")
"""Kinds of geometries that are no geometry of their own."""


@dataclass(frozen=True)
class Verdict:
    """``name`` as in the module.

    ``slack``: the excess for which the ranges of ``pairs`` are, None where none was asked for.  ``allowed``: the
    difference of a cosine that is within what was allowed, by ``within`` and the noise, or by the ranges.
    ``least_rms``: what no embedding in the encoder's dimension goes below; 0 where the optimum fits.
    """

    name: str
    allowed: float
    slack: float | None = None
    pairs: tuple[PairRange, ...] = ()
    least_rms: float = 0.0


@dataclass(frozen=True)
class Case:
    """What is judged.

    ``free``: the optimum; ``limited``: the best found in the encoder's dimension, None where the optimum fits, was met,
    or where there are too many classes to search.  ``gram`` (K, K) was measured, with ``standard`` errors (K, K) and
    the name ``structure``.  ``angles``: the loss at ``gram`` alone, without scatter, or None.  ``value`` of the loss on
    the data, or None, with its ``standard_error``.
    """

    free: ImbalanceReport
    limited: ImbalanceReport | None
    gram: FloatArray
    standard: FloatArray
    structure: Structure
    angles: float | None
    value: float | None
    standard_error: float
    within: float

    @property
    def room(self) -> FloatArray:
        """(K, K): differences that count as a match."""
        return self.within + self.noise

    @property
    def noise(self) -> FloatArray:
        """(K, K): two standard errors, or ``within`` where that is less."""
        granted: FloatArray = np.minimum(2 * self.standard, self.within)
        return granted

    def met(self, prediction: ImbalanceReport) -> bool:
        """Whether every cosine is as predicted."""
        return bool(np.all(np.abs(self.gram - prediction.gram) <= self.room))

    def at_optimum(self, prediction: ImbalanceReport) -> bool:
        """Whether the loss on the data is known, and is that of the prediction."""
        return self._near(self.value, prediction, 2 * self.standard_error)

    def angles_at_optimum(self, prediction: ImbalanceReport) -> bool:
        """Whether the loss at the class means alone is known, and is that of the prediction."""
        return self._near(self.angles, prediction, 0.0)

    @staticmethod
    def _near(value: float | None, prediction: ImbalanceReport, error: float) -> bool:
        room = AT_OPTIMUM * max(1.0, abs(prediction.value)) + error
        return value is not None and value - prediction.value <= room


def judge(case: Case, bind: Bind, least_rms: float, rms: float) -> Verdict:
    """The verdict, as in the module.

    ``bind``: the loss on orbits.  ``least_rms``: what the encoder's dimension costs at least, 0 where the optimum fits;
    ``rms``: the difference from the optimum in any dimension.
    """
    free, limited = case.free, case.limited
    shown = free if limited is None else limited
    worst = np.unravel_index(int(np.argmax(np.abs(case.gram - shown.gram))), case.gram.shape)
    allowed = float(case.room[worst])
    if case.met(free):
        return Verdict("matches", allowed)
    if limited is not None and (case.met(limited) or case.angles_at_optimum(limited)):
        return Verdict("dimension", allowed, least_rms=least_rms)
    if limited is None and least_rms > 0 and rms <= least_rms + case.within:
        return Verdict("dimension", allowed, least_rms=least_rms)
    if free.unique is False and case.value is not None:
        return Verdict("matches" if case.at_optimum(free) else "not there yet", allowed)
    if case.at_optimum(free) and free.convex and case.value is not None:
        slack = max(FINEST, case.value - free.value + 2 * case.standard_error)
        pairs, inside, reach = near_enough(case, bind, slack)
        allowed = max(allowed, reach)
        name = "loose" if inside else unlike(case, shown)
        return Verdict(name, allowed, slack, pairs, least_rms)
    return Verdict(unlike(case, shown), allowed, least_rms=least_rms)


def unlike(case: Case, prediction: ImbalanceReport) -> str:
    """'another geometry' if what was measured has a name that the prediction has not, else 'not there yet'."""
    alike = classify(prediction.orbits, prediction.orbit_cosines, 0.0, tolerance=case.within).kind
    return "not there yet" if case.structure.kind in (*UNNAMED, alike) else "another geometry"


def near_enough(case: Case, bind: Bind, slack: float) -> tuple[tuple[PairRange, ...], bool, float]:
    """The ranges of the pairs that differ most, whether the measured cosines are inside, and how far they reach.

    Pairs of the same two orbits have one range.  With many distinct proportions a range takes long and none is asked
    for: cosines whose own loss is within the slack are inside every range, and so allowed.
    """
    free = case.free
    many = next((number for most, number in HANDFUL if free.orbits.n_orbits <= most), 0)
    if not many and case.angles is not None:
        inside = case.angles - free.value <= slack
        return (), inside, float(np.abs(case.gram - free.gram).max()) if inside else 0.0
    found, inside, reach = [], True, 0.0
    for a, b in worst_pairs(case, max(1, many)):
        range_ = range_around(bind, free.orbits, free.orbit_cosines, slack, (a, b))
        cosine = float(free.orbit_cosines[free.orbits.index[a], free.orbits.index[b]])
        pair = PairRange((free.names[a], free.names[b]), cosine, range_)
        found.append(pair)
        alike = pairs_like(free.orbits, a, b)
        measured, noise = case.gram[alike], case.noise[alike]
        low, high = pair.range.low - noise, pair.range.high + noise
        inside = inside and bool(np.all((measured >= low) & (measured <= high)))
        ends = max(pair.range.high - pair.cosine, pair.cosine - pair.range.low)
        reach = max(reach, float(ends + noise.max()))
    return tuple(found), inside, reach


def worst_pairs(case: Case, most: int) -> list[tuple[int, int]]:
    """At most so many pairs whose cosines differ by more than is allowed, the worst first, one for any two orbits."""
    index = case.free.orbits.index
    first, second = np.triu_indices(index.size, 1)
    difference = np.abs(case.gram - case.free.gram)
    over = (difference > case.room)[first, second]
    first, second = first[over], second[over]
    chosen: dict[tuple[int, int], tuple[int, int]] = {}
    for place in np.argsort(-difference[first, second], kind="stable"):
        a, b = int(first[place]), int(second[place])
        g, h = sorted((int(index[a]), int(index[b])))
        chosen.setdefault((g, h), (a, b))
        if len(chosen) == most:
            break
    return list(chosen.values())


def pairs_like(orbits: Orbits, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of all pairs of different classes from the orbits of classes ``a`` and ``b``."""
    one, other = (np.flatnonzero(orbits.index == orbits.index[c]) for c in (a, b))
    first, second = (each.ravel() for each in np.meshgrid(one, other, indexing="ij"))
    apart = first != second
    return first[apart], second[apart]
