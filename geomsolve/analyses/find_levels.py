"""Which setting makes a loss value total collapse, what untrained embeddings give, or the optimum?

A level is a function of one setting, all others as given.  Where the loss says that it rises, falls or is convex along
that setting (``Loss.course``), each of its monotone pieces holds one place of the value at most, and there is none
where the ends of the piece say so.  Else the range is scanned, and what was not found may still be there.

    whole numbers    those whose level is the value within the digits typed; the nearest two where there are none
    others           where the level is the value, by a bracketed root; and how far the digits typed let it move

The base temperature divides every level, so it is found at once: tau level / value.

A value that is no level in the user's scale may be one with another base temperature, or without: the usual ones are
tried, and told.  For a loss with a bias that with the smallest optimum is found, too.

Symbols: x ``x``, as the user states it; u ``u``, along which a level is convex: 1/x for a temperature.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.scales import LONELY, Setting, reach
from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.levels import Course
from geomsolve.proof.collapse import TEMPERATURES
from geomsolve.proof.crossings import changes
from geomsolve.proof.places import SHARP, Place, least_at, places, whole_places
from geomsolve.questions.levels import Levels
from geomsolve.report import Report, Table, understood

LEVELS = ("collapse", "random_start", "optimum")

MOST = 2**30
"""Samples and negatives up to which is looked."""

FARTHEST = 1e6
"""Size of a bias up to which is looked."""

SCAN = 41
"""Places of a range that is scanned."""

COARSE = 0.005
"""Digits typed blur a value by this part of it at most: 7 is not 6.6.  By no less than ``SHARP``."""

USUAL = (None, 0.07, 0.1, 0.05, 0.2, 0.5, 1.0)
"""Base temperatures that are tried where a value is no level in the user's scale."""

CHANCE = 0.2
"""How likely a whole number may be to match by chance that is told for another base temperature."""


@dataclass(frozen=True)
class FoundLevelsReport(Report):
    """Settings at which ``loss_value`` is a level.

    ``matches``: ``level`` (collapse, random_start, optimum), ``over``, ``value``; from ``low`` to ``high`` the level is
    the loss value within its digits; ``any``: it is so whatever the setting; ``certified``: the level is proven there.
    ``misses``: the levels without a match between ``low`` and ``high``, which have values from ``least`` to ``most``
    there; ``certain``: there is none, else none was found; ``nearest`` whole numbers, with their levels.
    ``best``: the ``value`` of a bias with the smallest ``optimum``.  ``other_scale``: levels that the value is with
    another ``base_temperature``, or with none (null).  ``current``: the setting as given.
    ``n_classes`` is None where every sample is its own class.
    ``assumption`` completes 'if ...': what the optimum takes for granted; ``only_for`` completes 'proven for ...': the
    embeddings that all this is about, None where all; JSON has either as ``assumption``.
    """

    command: ClassVar[str] = "levels"
    apart: ClassVar[tuple[str, ...]] = ("spelled", "only_for")

    over: str
    spelled: str
    n_classes: int | None
    loss_value: float | None
    current: float | None
    matches: list[dict[str, Any]]
    misses: list[dict[str, Any]]
    best: dict[str, Any] | None
    other_scale: list[dict[str, Any]]
    assumption: str | None
    only_for: str | None
    seconds: float

    @property
    def certified(self) -> bool:
        return all(match["certified"] for match in self.matches) and (self.best is None or self.best["certified"])

    @property
    def table(self) -> Table:
        return Table.of_rows(self.matches)

    @property
    def headline(self) -> str:
        found = [f"{m['level'].replace('_', ' ')} at {m['over']} {m['value']:.6g}" for m in self.matches]
        return ", ".join(found) or "no level"

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        held = {"assumption": self.assumption or self.only_for}
        return {**super().to_dict(**detail), "certified": self.certified, **held}


@dataclass
class Path:
    """The levels along ``over``, a key of :meth:`Setting.at`, from ``low`` to ``high``; ``whole`` numbers or any."""

    setting: Setting
    over: str
    low: float
    high: float
    whole: bool
    known: dict[tuple[str, float], tuple[float, bool]] = field(default_factory=dict)
    start: FloatArray | None = None

    def x(self, u: float) -> float:
        """The setting, as the user states it."""
        return 1 / u if self.over == "temperature" else u

    def factor(self, x: float) -> float:
        """What levels are multiplied by at a setting."""
        return self.setting.at(self.over, x).factor

    def level(self, name: str, x: float) -> tuple[float, bool]:
        """A level in nats an anchor, and whether it is proven."""
        if (name, x) not in self.known:
            self.known[name, x] = self._level(name, self.setting.at(self.over, x))
        return self.known[name, x]

    def _level(self, name: str, here: Setting) -> tuple[float, bool]:
        problem, scale = here.problem, here.scale
        heard = 1.0
        lonely = scale.drawn is not None and not scale.balanced and scale.no_positive > LONELY
        if problem.reduction == "mean-nonzero" and lonely and scale.drawn is not None:
            heard = scale.drawn.any_positive() / (1 - scale.no_positive)
        if name == "collapse":
            return heard * scale.collapse, True
        if name == "random_start":
            return heard * scale.random(problem.dim), True
        exact = scale.few if heard != 1.0 else None
        optimum = exact or scale.first
        start = self.start if self.start is not None and len(self.start) == optimum.orbits.n_orbits else None
        proof, _, cosines = reach(optimum, problem.solver, problem.tolerance, start)
        self.start = cosines if proof.certified else None
        proof = proof.scaled(optimum.times, optimum.plus, unit=1.0)
        times = 1.0 if exact else heard
        return times * proof.value, proof.certified and not optimum.assumption and times == 1.0

    def course(self, name: str) -> Course:
        """How a level goes along the path, in the user's scale."""
        problem, course = self.setting.problem, self.setting.loss.course(self.over, name)
        if problem.reduction == "mean-nonzero" and self.setting.training.views == 1:
            return ""
        moving = self.setting.base_temperature is not None and self.over == "temperature"
        if not moving and not (self.over == "batch" and problem.reduction == "sum"):
            return course
        return "rising" if course == "rising" and self.level(name, self.low)[0] >= 0 else ""


def path_through(problem: Levels) -> Path:
    """The range of settings to look through; InputError where the question makes no sense."""
    setting, over = Setting.of(problem), (problem.find or "").replace("-", "_")
    if problem.loss_value is None and over != "bias":
        raise InputError("give the value that is to be a level", field="loss_value")
    if over == "base_temperature":
        setting = replace(setting, base_temperature=1.0)
        _ = setting.factor  # it may complain
        return Path(setting, over, 0.0, inf, False)
    if over != "batch" and over not in setting.loss.takes():
        takes = ", ".join(setting.loss.takes()) or "none"
        raise InputError(f"the loss {setting.loss.name} has no {over}; it takes {takes}", field="find")
    whole = over in ("batch", "negatives")
    if over == "batch" and setting.replacement is None and problem.class_counts is not None:
        # drawn as levels draws the smallest batch: all batches alike, and none larger than the whole set
        first = _range(setting, over, whole)[0]
        drawn = setting.at(over, first).scale.drawn
        setting = replace(setting, replacement=None if drawn is None else "no" if drawn.finite else "yes")
    low, high = _range(setting, over, whole)
    return Path(setting, over, low, high, whole)


def _range(setting: Setting, over: str, whole: bool) -> tuple[float, float]:
    """The least and the most of a setting at which the loss has levels; its own complaint where there is none."""
    if over == "bias":
        _ = setting.factor
        return -FARTHEST, FARTHEST
    complaints: list[InputError] = []

    def possible(x: float) -> bool:
        try:
            here = setting.at(over, x)
            return bool(here.scale and here.factor)
        except InputError as error:
            complaints.append(error)
            return False

    least, most = (2.0 if over == "batch" else 1.0, MOST) if whole else TEMPERATURES
    scan = [*(least * 2.0**i for i in range(31) if least * 2.0**i < most), float(most)]
    found = changes(possible, scan, whole=whole, rtol=1e-3)
    if not found and complaints:
        raise complaints[0]
    low = next((change.at for change in found if change.after), scan[0]) if found and not found[0].before else scan[0]
    high = found[-1].at - whole if found and found[-1].before else scan[-1]
    margin = 1.0 if whole else 1 + 1e-3
    return low if low == scan[0] else low * margin, high if high == scan[-1] else high / margin


def find_levels(problem: Levels) -> FoundLevelsReport:
    """Answer the question of :class:`Levels` that has ``find``."""
    began = time.perf_counter()
    path = path_through(problem)
    matches: list[dict[str, Any]] = []
    misses: list[dict[str, Any]] = []
    best, other_scale = None, []
    if path.over == "base_temperature":
        matches, misses = _divisors(path, problem)
    elif problem.loss_value is not None:
        matches, misses = search(path, problem)
    if path.over == "bias":
        u = _lowest(path, "optimum")
        value, certified = path.level("optimum", u)
        best = {"over": "bias", "value": u, "optimum": path.factor(u) * value, "certified": certified}
    if problem.loss_value is not None:
        other_scale = _other_scales(path, problem, matches)
    own = Setting.of(problem)
    somewhere = path.setting if path.over == "base_temperature" else path.setting.at(path.over, path.high)
    return FoundLevelsReport(
        problem=understood(problem, loss=own.written, views=somewhere.training.views),
        over=problem.find or "",
        spelled=own.loss.spelled.get(path.over, path.over.replace("_", " ")),
        n_classes=None if problem.instances else somewhere.training.orbits.n_classes,
        loss_value=problem.loss_value,
        current=current(own, path.over),
        matches=matches,
        misses=misses,
        best=best,
        other_scale=other_scale,
        assumption=somewhere.scale.first.assumption or None,
        only_for=somewhere.scale.first.only_for or None,
        seconds=time.perf_counter() - began,
    )


def _blur(problem: Levels) -> float:
    """How far a level may be from the value and still be it, by the digits typed."""
    size = abs(problem.loss_value or 0.0)
    return max(min(problem.rounding, COARSE * size), SHARP * max(1.0, size))


def _divisors(path: Path, problem: Levels) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The base temperatures: every level is inversely proportional to it."""
    value, blur = problem.loss_value or 0.0, _blur(problem)
    matches: list[dict[str, Any]] = []
    misses: list[dict[str, Any]] = []
    for name in LEVELS:
        raw, certified = path.level(name, 1.0)
        ends = [path.factor(1.0) * raw / x if x else inf for x in (value, value + blur, value - blur)]
        found = {"level": name, "over": "base-temperature"}
        if 0 < ends[0] < inf:
            low, high = ends[1], ends[2] if ends[2] > 0 else inf
            matches.append({**found, "value": ends[0], "low": low, "high": high, "any": False, "certified": certified})
        else:
            sign = {"low": 0.0, "high": inf, "least": raw and min(raw * inf, 0.0), "most": raw and max(raw * inf, 0.0)}
            misses.append({**found, **sign, "certain": True, "nearest": []})
    return matches, misses


def search(path: Path, problem: Levels) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Matches and misses of every level along a path."""
    matches: list[dict[str, Any]] = []
    misses: list[dict[str, Any]] = []
    value, blur = problem.loss_value or 0.0, _blur(problem)
    for name in LEVELS:

        def g(u: float, name: str = name) -> float:
            x = path.x(u)
            return path.factor(x) * path.level(name, x)[0]

        course = path.course(name)
        ends = _pieces(path, course, g, value)
        found: list[Place] = []
        near: list[tuple[float, float]] = []
        for a, b in pairwise(ends):
            here, beside = (whole_places if path.whole else places)(g, a, b, value, blur)
            near = beside if len(beside) == 2 else near  # one alone is an end of the piece
            found += [place for place in here if all(place.at != other.at for other in found)]
        head = {"level": name, "over": problem.find}
        for match in found:
            x, (low, high) = path.x(match.at), sorted(map(path.x, match.span))
            anywhere = match.flat and len(ends) == 2
            whole = int if path.whole else float
            proven = path.level(name, x)[1]
            matches.append(
                {**head, "value": whole(x), "low": whole(low), "high": whole(high), "any": anywhere,
                 "certified": proven}
            )  # fmt: skip
        if not found:
            values = [g(u) for u in ends]
            proven = name != "optimum" or all(path.level(name, path.x(u))[1] for u in ends)
            low, high = (path.low, path.high) if course else sorted((path.x(ends[0]), path.x(ends[-1])))
            nearest = [{"value": int(x), "level": y} for x, y in near]
            misses.append(
                {**head, "low": low, "high": high, "least": min(values), "most": max(values),
                 "certain": course != "" and proven, "nearest": nearest}
            )  # fmt: skip
    return matches, misses


def _pieces(path: Path, course: Course, g: Callable[[float], float], value: float) -> list[float]:
    """Ascending u between which a level is monotone, as far as its course says."""
    low, high = sorted((path.x(path.low), path.x(path.high)))
    if path.over == "bias":
        low, high = _around(path, g, value)
    if course == "convex":
        lowest, edge = least_at(g, low, high), 1e-6 * (high - low)
        return [low, lowest, high] if low + edge < lowest < high - edge else [low, high]
    if course:
        return [low, high]
    if path.whole:
        return sorted({float(round(x)) for x in np.geomspace(low, high, SCAN)})
    spaced = np.linspace if path.over == "bias" else np.geomspace
    return [float(x) for x in spaced(low, high, SCAN)]


def _around(path: Path, g: Callable[[float], float], value: float) -> tuple[float, float]:
    """A range of biases around that of the loss, beyond whose ends a convex level is above the value and rises."""
    middle = float(path.setting.loss.parameters()[path.over])

    def reach_out(sign: float) -> float:
        step, before = 1.0, g(middle)
        while True:
            here = min(max(middle + sign * step, path.low), path.high)
            now = g(here)
            if (now > before and now > value) or abs(here) == FARTHEST:
                return here
            step, before = 2 * step, now

    return reach_out(-1.0), reach_out(1.0)


def _lowest(path: Path, name: str) -> float:
    """The bias at which a convex level is smallest."""

    def g(u: float) -> float:
        return path.factor(u) * path.level(name, u)[0]

    return least_at(g, *_around(path, g, -inf))


def _other_scales(path: Path, problem: Levels, matches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Levels that the value is with a usual base temperature that the user's scale lacks, or without the one it has.

    At the setting as given, where there is one and the value is no level there; else, where nothing matches, at a whole
    number that is not near another by chance.
    """
    own, blur, value = Setting.of(problem), _blur(problem), problem.loss_value or 0.0
    temperature = own.loss.parameters().get("temperature")
    if temperature is None:
        return []
    given = own.base_temperature
    others = [base for base in USUAL if base not in (given, temperature if given is None else inf)]
    at = current(own, path.over)
    x = 1.0 if path.over == "base_temperature" else at
    if x is not None and path.low <= x <= path.high:
        plain = own.factor if given is None else own.factor * given / temperature
        raw = {name: plain * path.level(name, x)[0] for name in LEVELS}
        if any(abs(level * (temperature / given if given else 1.0) - value) <= blur for level in raw.values()):
            return []
        return [
            {"level": name, "over": problem.find, "value": at, "base_temperature": base}
            for base in others
            for name, level in raw.items()
            if abs(level * (temperature / base if base else 1.0) - value) <= blur
        ]
    found: list[dict[str, Any]] = []
    for base in others[:2] if path.whole and not matches else []:
        there = replace(path, setting=replace(path.setting, base_temperature=base))
        for match in search(there, problem)[0]:
            x, name = match["value"], match["level"]
            beside = [there.factor(n) * there.level(name, n)[0] for n in (x, x + 1)]
            if match["low"] == match["high"] and 2 * blur <= CHANCE * abs(beside[1] - beside[0]):
                found.append({"level": name, "over": problem.find, "value": x, "base_temperature": base})
    return found


def current(setting: Setting, over: str) -> float | None:
    """What a setting is now; None where it is not given, or endless."""
    now = getattr(setting, over) if over in ("batch", "base_temperature") else setting.loss.parameters().get(over)
    return None if now is None or now == inf else now
