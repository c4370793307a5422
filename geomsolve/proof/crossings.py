"""Where does a state change along a path?  A scan, then bisection between neighbours that differ.

The state is any value that can be compared: collapsed or not, or which classes coincide.  A state that appears and
vanishes again between two neighbouring points of the scan is not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Generic, TypeVar

State = TypeVar("State")

RTOL = 1e-10
"""Relative accuracy of a located change."""


@dataclass(frozen=True)
class Change(Generic[State]):
    """From ``at`` on (for whole numbers, at it too) the state is ``after``; just below it is ``before``."""

    at: float
    before: State
    after: State


def changes(
    state: Callable[[float], State],
    scan: Sequence[float],
    *,
    whole: bool = False,
    rtol: float = RTOL,
    between: Callable[[float, float, State, State], State] | None = None,
) -> list[Change[State]]:
    """All changes of ``state`` along the ascending positive numbers ``scan``, in order.

    Each is located to ``rtol``, or, with ``whole``, to the first whole number of the new state (inf may end a scan
    of whole numbers; a change between the last finite one and inf is reported as inf).  ``between(x, width, before,
    after)`` may find the state at x, inside an interval of the given ratio, faster from the states at its ends.
    """
    found: list[Change[State]] = []

    def narrow(a: float, b: float, before: State, after: State) -> None:
        if before == after:
            return
        if b == inf or (b - a <= 1 if whole else b / a - 1 <= rtol):
            found.append(Change(b if whole else sqrt(a * b), before, after))
            return
        middle = float(min(max(round(sqrt(a * b)), a + 1), b - 1)) if whole else sqrt(a * b)
        inside = state(middle) if between is None else between(middle, b / a, before, after)
        narrow(a, middle, before, inside)
        narrow(middle, b, inside, after)

    states = [state(x) for x in scan]
    for i in range(len(scan) - 1):
        narrow(scan[i], scan[i + 1], states[i], states[i + 1])
    return found
