"""How many classes fit in so many dimensions, or how many dimensions so many need, no two closer than a cosine?

    classes   proven bounds and known arrangements of ``gram/packing.py``
    dim       the least d with at_least(d) >= K is enough; every d with at_most(d) < K is not

A bound for one d holds for all below it, so that bisection proves both ends whatever the bounds do between.

Symbols: K ``classes``, d ``dim``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from geomsolve.gram.packing import SLACK, at_least, at_most
from geomsolve.questions.capacity import Capacity
from geomsolve.report import Report, understood


@dataclass(frozen=True)
class PackingReport(Report):
    """``asked_for`` is 'classes' or 'dim'; ``low`` and ``high`` are proven, None where nothing is known (or no number
    of dimensions is enough); ``arrangement`` and ``bound`` say by what."""

    command: ClassVar[str] = "capacity"
    apart: ClassVar[tuple[str, ...]] = ("asked_for", "low", "high")

    asked_for: str
    low: int | None
    high: int | None
    arrangement: str
    bound: str

    @property
    def headline(self) -> str:
        noun = "classes" if self.asked_for == "classes" else "dimensions"
        if self.low == self.high:
            return f"{self.low} {noun}"
        return f"{'?' if self.low is None else self.low} to {'?' if self.high is None else self.high} {noun}"

    @property
    def asked(self) -> dict[str, Any]:
        return {"at_least": self.low, "at_most": self.high}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        plain = super().to_dict(**detail)
        plain[self.asked_for] = {"at_least": self.low, "at_most": self.high}
        return plain


def packing(problem: Capacity) -> PackingReport:
    """Answer the question of :class:`Capacity` with a ``max_cosine``."""
    assert problem.max_cosine is not None
    cosine, lines = problem.max_cosine, problem.lines
    known = understood(problem)
    if problem.dim is not None:
        low, arrangement = at_least(problem.dim, cosine, lines=lines)
        high, bound = at_most(problem.dim, cosine, lines=lines)
        return PackingReport(known, "classes", low, high, arrangement, bound)
    assert problem.classes is not None
    n = problem.classes
    if cosine < 0 and n > 1 - 1 / cosine + SLACK:
        return PackingReport(known, "dim", None, None, "", "simplex")

    def fits(dim: int) -> bool:
        return at_least(dim, cosine, lines=lines)[0] >= n

    def allowed(dim: int) -> bool:
        most = at_most(dim, cosine, lines=lines)[0]
        return most is None or most >= n

    enough, least = first(fits, n), first(allowed, n)
    arrangement = at_least(enough, cosine, lines=lines)[1]
    bound = at_most(max(1, least - 1), cosine, lines=lines)[1]
    return PackingReport(known, "dim", least, enough, arrangement, bound)


def first(holds: Callable[[int], bool], most: int) -> int:
    """A d from 1 to ``most``, where it ``holds``, such that it does not at d - 1, by bisection."""
    below, above = 0, most
    while above - below > 1:
        middle = (below + above) // 2
        if holds(middle):
            above = middle
        else:
            below = middle
    return above
