"""Where does a state change along a path?  A scan, then bisection between neighbours that differ.

The state is any value that can be compared: collapsed or not, or which classes coincide.  A state that appears and
vanishes again between two neighbouring points of the scan is not seen.

Where the state is the sign of a number that changes smoothly, the root of that number is a good guess of the place.  It
is only a guess: what is reported lies between two states that differ, whatever the number says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import exp, inf, isfinite, log, sqrt
from typing import Generic, TypeVar

State = TypeVar("State")

RTOL = 1e-10
"""Relative accuracy of a located change."""

MOST_GUESSES = 30
"""Most steps towards the root of a margin."""


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
    margin: Callable[[float], float] | None = None,
) -> list[Change[State]]:
    """All changes of ``state`` along the ascending positive numbers ``scan``, in order.

    Each is located to ``rtol``, or, with ``whole``, to the first whole number of the new state (inf may end a scan
    of whole numbers; a change between the last finite one and inf is reported as inf).  ``between(x, width, before,
    after)`` may find the state at x, inside an interval of the given ratio, faster from the states at its ends.
    ``margin(x)`` may be a number whose sign the state is, which is asked where to look first.
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

    def locate(a: float, b: float, before: State, after: State) -> None:
        """``narrow`` from the root of the margin, if that is of use."""
        guess = None if margin is None or before == after else root(margin, a, b, rtol)
        places = [] if guess is None else [x for x in (guess * (1 - rtol / 3), guess * (1 + rtol / 3)) if a < x < b]
        ends, known = [a, *places, b], [before, *(state(x) for x in places), after]
        for i in range(len(ends) - 1):
            narrow(ends[i], ends[i + 1], known[i], known[i + 1])

    states = [state(x) for x in scan]
    for i in range(len(scan) - 1):
        locate(scan[i], scan[i + 1], states[i], states[i + 1])
    return found


def nearest(
    state: Callable[[float], State],
    scan: Sequence[float],
    place: float,
    *,
    margin: Callable[[float], float] | None = None,
) -> Change[State] | None:
    """That of all :func:`changes` which is nearest to ``place`` by ratio; looks no farther than it has to."""

    def distance(x: float) -> float:
        return abs(log(x / place))

    once = cache(state)
    gaps = [(0.0 if a <= place <= b else min(distance(a), distance(b)), a, b) for a, b in pairwise(scan)]
    best: Change[State] | None = None
    for away, a, b in sorted(gaps):
        if best is not None and away >= distance(best.at):
            break
        for found in changes(once, (a, b), margin=margin):
            best = min((found, best or found), key=lambda change: distance(change.at))
    return best


def root(f: Callable[[float], float], a: float, b: float, rtol: float) -> float | None:
    """A root of ``f`` between positive a and b to about ``rtol``, by false position in the logarithm.

    The weight of an end that stays is lessened (Anderson and Bjoerck 1973).  None where signs do not differ.
    """
    old, new = log(a), log(b)
    f_old, f_new = f(a), f(b)
    if not (isfinite(f_old) and isfinite(f_new) and f_old * f_new < 0):
        return None
    for _ in range(MOST_GUESSES):
        x = new - f_new * (new - old) / (f_new - f_old)
        here = f(exp(x))
        if here == 0 or abs(x - new) <= rtol / 10 or not isfinite(here):
            return exp(x)
        if here * f_new < 0:
            old, f_old = new, f_new
        else:
            f_old *= 1 - here / f_new if here / f_new < 1 else 0.5
        new, f_new = x, here
    return exp(new)
