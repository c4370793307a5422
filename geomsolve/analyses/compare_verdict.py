"""Is an encoder where its loss wants it?  Judged by how far the loss lets its cosines go.

    matches            every cosine is as predicted, within ``within`` and two standard errors of class means of few
                       samples, of which no more than ``within`` is granted; or the loss is at an optimum that many
                       geometries attain
    dimension          the optimum needs more dimensions than the encoder has, and what is off is what they cost: every
                       cosine, or the loss at the class means, is that of the best found in so many dimensions; for
                       many classes, the rms difference is at most 1 + ``within`` times the bound of ``gram/measure.py``
    loose              the loss is at the optimum, and the cosines that differ most are inside the ranges proven for a
                       loss that far above it (``proof/ranges.py``): the loss does not fix these angles
    another geometry   the measured cosines have a name of their own, and the prediction has not
    not there yet      none of these

Without a value of the loss on the data only cosines are judged, and nothing is *loose*.

Where the loss hardly depends on the angles, so that its proof leaves them open (``Prediction.resolved``), no cosine is
predicted, and the loss alone is judged: at the optimum the encoder is *loose*, else *not there yet*.  Of two classes
that coincide it is proven to be *another geometry* if a range around the optimum ends before.  Without a value of the
loss on the data the loss at the class means is judged, which scatter only raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from geomsolve.analyses.prediction import Prediction
from geomsolve.analyses.ranges import Bind, PairRange, range_above_frame, range_around
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, classify
from geomsolve.gram.types import FloatArray

VERDICTS = ("matches", "loose", "not there yet", "another geometry", "dimension")

AT_OPTIMUM = 1e-3
"""Excess of the loss, relative above 1, that counts as the optimum; two standard errors on top."""

HANDFUL = ((12, 4), (100, 1))
"""Distinct proportions, and for up to so many of them the kinds of pairs whose ranges are asked for."""

MOST_COINCIDING = 4
"""Pairs that coincide, one for any two distinct proportions, whose ranges are asked for where no angle is predicted."""

FINEST = 1e-9
"""Least slack, in nats, that ranges are asked for: a value is not known better."""

UNNAMED = ("general", "symmetric by proportion", "equiangular", "dimension-limited")
"""Kinds of geometries that are no geometry of their own."""


@dataclass(frozen=True)
class Verdict:
    """``name`` as in the module.

    ``slack``: the excess for which the ranges of ``pairs`` are, None where none was asked for.  ``allowed``: the
    difference of a cosine that is within what was allowed, by ``within`` and the noise, or by the ranges.
    ``least_rms``: what no embedding in the encoder's dimension goes below; 0 where the optimum fits, or is open.
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

    free: Prediction
    limited: Prediction | None
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

    def too_few(self, dim: int) -> bool:
        """Whether so many dimensions do not hold the optimum: the only one, as far as that is known, and not met."""
        free = self.free
        if not free.resolved or free.unique is False or free.rank is None:
            return False
        return free.rank > dim and not self.met(free)

    def met(self, prediction: Prediction) -> bool:
        """Whether every cosine is as predicted."""
        return bool(np.all(np.abs(self.gram - prediction.gram) <= self.room))

    def at_optimum(self, prediction: Prediction) -> bool:
        """Whether the loss on the data is known, and is that of the prediction."""
        return self._near(self.value, prediction, 2 * self.standard_error)

    def angles_at_optimum(self, prediction: Prediction) -> bool:
        """Whether the loss at the class means alone is known, and is that of the prediction."""
        return self._near(self.angles, prediction, 0.0)

    @staticmethod
    def _near(value: float | None, prediction: Prediction, error: float) -> bool:
        room = AT_OPTIMUM * max(1.0, abs(prediction.value)) + error
        return value is not None and value - prediction.value <= room


def judge(case: Case, bind: Bind, least_rms: float, rms: float) -> Verdict:
    """The verdict, as in the module.

    ``bind``: the loss on orbits.  ``least_rms``: what the encoder's dimension costs at least, 0 where the optimum fits;
    ``rms``: the difference from the optimum in any dimension.
    """
    if not case.free.resolved:
        return judge_loss(case, bind)
    free, limited = case.free, case.limited
    shown = free if limited is None else limited
    worst = np.unravel_index(int(np.argmax(np.abs(case.gram - shown.gram))), case.gram.shape)
    allowed = float(case.room[worst])
    if case.met(free):
        return Verdict("matches", allowed)
    if limited is not None and (case.met(limited) or case.angles_at_optimum(limited)):
        return Verdict("dimension", allowed, least_rms=least_rms)
    if limited is None and least_rms > 0 and rms <= least_rms * (1 + case.within):
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


def judge_loss(case: Case, bind: Bind) -> Verdict:
    """The verdict where no angles are predicted, as in the module."""
    free = case.free
    value, error = (case.angles, 0.0) if case.value is None else (case.value, 2 * case.standard_error)
    if value is None:
        return Verdict("not there yet", case.within)
    room = AT_OPTIMUM * max(1.0, abs(free.value)) + error
    if value - free.value > room:
        found = too_near(case, bind, room)
        return Verdict("another geometry", case.within, room, found) if found else Verdict("not there yet", case.within)
    if not free.convex:
        return Verdict("loose", case.within)
    slack = max(FINEST, value - free.value + error)
    pairs, _, reach = near_enough(case, bind, slack)
    return Verdict("loose", max(case.within, reach), slack, pairs)


def too_near(case: Case, bind: Bind, slack: float) -> tuple[PairRange, ...]:
    """The first pair of classes that coincide though nothing within ``slack`` has them so near, with its range."""
    orbits = case.free.orbits
    if not case.free.convex or orbits.n_orbits > HANDFUL[-1][0]:
        return ()
    kinds: dict[tuple[int, ...], tuple[int, int]] = {}
    for a, b in (pair for group in case.structure.groups for pair in combinations(group, 2)):
        kinds.setdefault(tuple(sorted((int(orbits.index[a]), int(orbits.index[b])))), (a, b))
    for a, b in list(kinds.values())[:MOST_COINCIDING]:
        found = pair_around(case, bind, slack, a, b)
        if case.gram[a, b] - case.noise[a, b] > found.range.high:
            return (found,)
    return ()


def unlike(case: Case, prediction: Prediction) -> str:
    """'another geometry' if what was measured has a name that the prediction has not, else 'not there yet'."""
    alike = classify(prediction.orbits, prediction.cosines, 0.0, tolerance=case.within).kind
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
        pair = pair_around(case, bind, slack, a, b)
        found.append(pair)
        alike = pairs_like(free.orbits, a, b)
        measured, noise = case.gram[alike], case.noise[alike]
        low, high = pair.range.low - noise, pair.range.high + noise
        inside = inside and bool(np.all((measured >= low) & (measured <= high)))
        ends = max(pair.range.high - pair.cosine, pair.cosine - pair.range.low)
        reach = max(reach, float(ends + noise.max()))
    return tuple(found), inside, reach


def pair_around(case: Case, bind: Bind, slack: float, a: int, b: int) -> PairRange:
    """The range of the cosine of two classes, by position."""
    free = case.free
    cosine = float(free.cosines[free.orbits.index[a], free.orbits.index[b]])
    around = range_above_frame if free.nonnegative else range_around
    range_ = around(bind, free.orbits, free.cosines, slack, (a, b))
    return PairRange((free.names[a], free.names[b]), cosine, range_)


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
