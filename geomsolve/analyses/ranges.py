"""Which pairs of classes to ask about, and how far each may be from its optimal cosine: see ``proof/ranges.py``.

All pairs of distinct proportions are asked about while these are few.  Beyond, the pairs that the loss holds most and
least firmly, judged by its curvature at the optimum, and those that the user names.  The named ones, that of the
smallest angle, and the least and the most firmly held come first in any case, and the others only until
:data:`MOST_WORK` is done: far from the optimum, at a slack that says little, a range may take thousands of Newton
steps.

Symbols: eps ``slack``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.proof.collapse import has_majority
from geomsolve.proof.nonnegative import frame_range
from geomsolve.proof.ranges import Range, mean_weights, pair_range, range_of
from geomsolve.solvers.choose import minimise

SETTLED = 0.1
"""Width of a range up to which a cosine is settled for all that training sees."""

ALL_ORBITS = 12
"""Distinct proportions up to which every pair is asked about."""

FEW = 3
"""Pairs at either end of firmness that are asked about beyond."""

MOST_WORK = 2000
"""Steps of the manifold solver after which only pairs are asked about that come first; see the module."""

TIED = 1e-6
"""Cosines this close are the same angle."""

Bind = Callable[[Orbits], Objective]
"""The objective for given orbits of the same classes."""

Around = Callable[[Bind, Orbits, FloatArray, float, tuple[int, int]], Range]
"""The range of one cosine: :func:`range_around`, or :func:`range_above_frame`."""


@dataclass(frozen=True)
class PairRange:
    """Two ``classes`` by name, their optimal ``cosine``, and how far it may go."""

    classes: tuple[str, str]
    cosine: float
    range: Range

    @property
    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        r = self.range
        return {"classes": list(self.classes), "low": r.low, "high": r.high, "certified": r.certified}


@dataclass(frozen=True)
class Ranges:
    """What losses at most ``slack`` nats above the optimum allow.

    ``pairs`` by class; ``complete`` if no pair of distinct proportions was left out; ``minority_mean`` of the mean
    cosine among all classes but the largest, None where there is no such mean.  ``nearest`` is the pair with the
    smallest angle, None where several have it.  ``noun``: what has the names, classes or labels.
    """

    slack: float
    pairs: tuple[PairRange, ...]
    complete: bool
    minority_mean: Range | None
    nearest: PairRange | None = None
    noun: str = "classes"

    @property
    def widest(self) -> PairRange:
        """The pair that the loss says least about, among those asked about."""
        return max(self.pairs, key=lambda pair: pair.range.width)

    @property
    def narrowest(self) -> PairRange:
        """The pair that the loss says most about, among those asked about."""
        return min(self.pairs, key=lambda pair: pair.range.width)

    @property
    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        mean = self.minority_mean
        return {
            "slack": self.slack,
            "pairs": [pair.plain for pair in self.pairs],
            "complete": self.complete,
            "minority_mean": None if mean is None else {"low": mean.low, "high": mean.high},
        }


def ranges(
    bind: Bind,
    orbits: Orbits,
    cosines: FloatArray,
    names: Sequence[str],
    slack: float,
    wanted: Sequence[tuple[int, int]],
    *,
    samples: bool = False,
    frame: bool = False,
) -> Ranges:
    """Ranges around the optimum ``cosines`` (m, m); ``wanted`` pairs of class positions besides those chosen here.

    ``frame``: of non-negative features, whose optimum is the orthogonal frame; no mean is then asked about.
    ``samples``: what is arranged are samples of distinct labels, not classes.  Pairs of equal labels then are left out,
    and no label is a majority.  Raises :class:`InputError` for a loss that is not convex or does not depend on the
    geometry.
    """
    objective = bind(orbits)
    refuse_ranges(objective)
    places = asked_about(objective, orbits, cosines)
    if samples:
        places = [(a, b) for a, b in places if orbits.index[a] != orbits.index[b]]
    closest = smallest_angle(orbits, cosines, samples=samples)
    places += [pair for pair in dict.fromkeys([*wanted, *closest]) if pair not in places]
    telling = [pair for pair in telling_pairs(objective, orbits, cosines) if pair in places]
    first = [*wanted, *closest, *telling[:1], *telling[-1:]]
    ordered = list(dict.fromkeys([*first, *telling, *places]))
    work, found = 0, {}

    def tell(steps: int) -> None:
        nonlocal work
        work += steps

    around = range_above_frame if frame else partial(range_around, tell=tell)
    for a, b in ordered:
        if work > MOST_WORK and (a, b) not in first:
            break
        cosine = float(cosines[orbits.index[a], orbits.index[b]])
        found[a, b] = PairRange((names[a], names[b]), cosine, around(bind, orbits, cosines, slack, (a, b)))
    complete = all_asked(orbits) and len(found) == len(places)
    found = {pair: found[pair] for pair in places if pair in found}
    mean = None
    if has_majority(orbits) and not samples and not frame:
        chosen = (np.arange(orbits.n_orbits) > 0).astype(np.float64)
        minorities = [(a, b) for a, b in found if orbits.index[a] > 0 and orbits.index[b] > 0]
        if orbits.n_classes == 3:  # the mean is of one pair
            mean = found[minorities[0]].range
        else:
            mean = range_of(objective, orbits, mean_weights(orbits, chosen), cosines, slack, minimise)
    nearest = found[closest[0]] if closest else None
    noun = "labels" if samples else "classes"
    return Ranges(slack, tuple(found.values()), complete, mean, nearest, noun)


def range_around(
    bind: Bind,
    orbits: Orbits,
    cosines: FloatArray,
    slack: float,
    pair: tuple[int, int],
    tell: Callable[[int], None] = lambda steps: None,
) -> Range:
    """The range of the cosine of two classes, by position, around the optimum ``cosines`` (m, m); ``tell`` is told the
    steps of the manifold solver."""
    apart = orbits.apart(pair)
    told = partial(minimise, tell=tell)
    return pair_range(bind(apart), apart, *pair, orbits.expand(cosines, apart), slack, told)


def range_above_frame(bind: Bind, orbits: Orbits, cosines: FloatArray, slack: float, pair: tuple[int, int]) -> Range:
    """The same for non-negative features, whose optimum ``cosines`` is the orthogonal frame."""
    apart = orbits.apart(pair)
    return frame_range(bind(apart), apart, *pair, slack)


def widest_range(
    bind: Bind, orbits: Orbits, cosines: FloatArray, slack: float, around: Around = range_around
) -> tuple[tuple[int, int], Range]:
    """The pair that the loss says least about, by position, and its range; see :func:`asked_about`."""
    pairs = asked_about(bind(orbits), orbits, cosines)
    found = {pair: around(bind, orbits, cosines, slack, pair) for pair in pairs}
    widest = max(pairs, key=lambda pair: found[pair].width)
    return widest, found[widest]


def asked_about(objective: Objective, orbits: Orbits, cosines: FloatArray) -> list[tuple[int, int]]:
    """Every pair of distinct proportions where these are few, else the most telling ones."""
    return every_pair(orbits) if all_asked(orbits) else telling_pairs(objective, orbits, cosines)


def all_asked(orbits: Orbits) -> bool:
    """Whether every pair of distinct proportions is asked about."""
    return orbits.n_orbits <= ALL_ORBITS


def smallest_angle(orbits: Orbits, cosines: FloatArray, *, samples: bool = False) -> list[tuple[int, int]]:
    """The pair of classes with the smallest angle, by position, in a list; empty where several have it.

    ``samples``: as for :func:`ranges`.
    """
    shown = np.where(np.triu(orbits.pairs, 1 if samples else 0) > 0, cosines, -np.inf)
    g, h = divmod(int(np.argmax(shown)), orbits.n_orbits)
    alone = orbits.pairs[g, h] == (2 if g == h else 1)
    return [orbits.pair(g, h)] if alone and np.sum(shown > shown[g, h] - TIED) == 1 else []


def refuse_ranges(objective: Objective) -> None:
    """Raise :class:`InputError` for an objective whose near-optimal geometries are not bounded by tilting."""
    if objective.below is not None:
        raise InputError("this loss is not convex, so no range around its optimum can be proven", field="slack")
    if objective.degenerate:
        raise InputError(f"every geometry is optimal here: {objective.degenerate}", field="slack")


def every_pair(orbits: Orbits) -> list[tuple[int, int]]:
    """One pair of classes for every pair of orbits, and for every orbit of two or more classes."""
    return [orbits.pair(int(g), int(h)) for g, h in np.argwhere(np.triu(orbits.pairs > 0))]


def telling_pairs(objective: Objective, orbits: Orbits, cosines: FloatArray) -> list[tuple[int, int]]:
    """Pairs that the loss holds most and least firmly."""
    pairs = by_firmness(objective, orbits, cosines)
    return [*pairs[:FEW], *pairs[max(FEW, len(pairs) - FEW) :]]


def by_firmness(objective: Objective, orbits: Orbits, cosines: FloatArray) -> list[tuple[int, int]]:
    """One pair of classes for every pair of orbits, the one that the loss holds least firmly first.

    How firmly says its curvature at the optimum along the cosine of a single pair.
    """
    own = getattr(objective.curvature(cosines), "own", None)
    strength = np.abs(objective.gradient(cosines)) if own is None else own
    g, h = np.nonzero(np.triu(orbits.pairs > 0))
    order = np.argsort(((strength + strength.T) / 2 / np.maximum(orbits.pairs, 1))[g, h], kind="stable")
    return [orbits.pair(int(g[i]), int(h[i])) for i in order]
