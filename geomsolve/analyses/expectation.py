"""Is the answer what the problem file expects?  Works on the JSON object of any report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from geomsolve.errors import InputError, nearest
from geomsolve.gram.structure import KINDS
from geomsolve.questions.base import Problem
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.expect import Expectation, Near
from geomsolve.questions.sweep import Sweep

WHERE: dict[str, tuple[tuple[str, ...], ...]] = {
    "structure": (("structure", "kind"), ("structure",), ("summary",)),
    "verdict": (("verdict",),),
    "groups": (("structure", "groups"), ("merging",), ("collapsed",)),
    "value": (("value",), ("optimum", "value"), ("optimum",), ("limit",)),
    "min_cosine": (("structure", "min_cosine"),),
    "max_cosine": (("structure", "max_cosine"), ("max_cosine",)),
    "threshold": (("threshold",), ("nearest_threshold",)),
    "collapse": (("collapse",),),
    "position": (("position",),),
}
"""Where the reports of the various kinds hold what is expected: the first path that there is."""

TRAINED = ("agrees", "contradiction", "not there yet", "elsewhere", "moved")
VERDICTS = {
    "realizable": ("realizable", "degenerate", "inconsistent"),
    "diversity": ("holds", "violated"),
    "compare": ("matches", "another geometry", "still converging"),
    "check": TRAINED,
    "check_weighting": TRAINED,
}
"""What the analyses of the kinds that give a verdict may find."""


def refuse_unknown(problem: Problem) -> None:
    """Raise :class:`InputError` for an expected name that no answer to ``problem`` can hold."""
    expected = problem.expect
    if expected is None:
        return
    if expected.structure is not None:
        named = [expected.structure]
        if isinstance(problem, Sweep):  # general at 4, regular simplex at 1 of 5 points
            named = re.findall(r"(?:^|, )(.*?) at \d+", expected.structure) or named
        _refuse(named, KINDS, "structure")
    kind = getattr(problem, "kind", "")
    if expected.verdict is not None and kind in VERDICTS:
        _refuse([expected.verdict], VERDICTS[kind], "verdict")
    if expected.groups and isinstance(problem, ClassProblem):
        _refuse((name for group in expected.groups for name in group), problem.class_names, "groups", "class")


def _refuse(names: Iterable[str], known: tuple[str, ...], key: str, what: str = "") -> None:
    for name in names:
        if name not in known:
            raise InputError(f"unknown {what or key} {name!r}; {nearest(name, known)}", field=f"expect.{key}")


def misses(expected: Expectation, answer: dict[str, Any]) -> list[str]:
    """One sentence for each expectation that ``answer``, a report's JSON object, does not meet."""
    found = []
    for key in sorted(expected.model_fields_set - {"tolerance"}):
        held, actual = look(answer, WHERE[key])
        wanted = getattr(expected, key)
        if not held:
            found.append(f"expected {key} {_said(wanted)}, but {answer['command']} reports none")
        elif key == "groups":
            if _as_sets(wanted) != _as_sets(actual):
                found.append(f"expected groups {_said(wanted)}, got {_said(actual)}")
        elif isinstance(wanted, Near) and isinstance(_number(actual), float):
            tolerance = expected.tolerance if wanted.tolerance is None else wanted.tolerance
            distance = abs(_number(actual) - wanted.value)
            if not distance <= tolerance:
                found.append(
                    f"expected {key} {wanted.value:.9g} within {tolerance:g}, got {_number(actual):.9g}, "
                    f"{distance:.2g} away"
                )
        elif _number(actual) != wanted:
            found.append(f"expected {key} {_said(wanted)}, got {_said(_number(actual))}")
    return found


def look(answer: Any, paths: tuple[tuple[str, ...], ...]) -> tuple[bool, Any]:
    """Whether one of ``paths`` exists in ``answer``, and what is there: the first that does."""
    for path in paths:
        here = answer
        for part in path:
            if not isinstance(here, dict) or part not in here:
                break
            here = here[part]
        else:
            return True, here
    return False, None


def _number(actual: Any) -> Any:
    """A number as float; a threshold is an object that holds one; anything else as it is."""
    if isinstance(actual, dict) and "value" in actual:
        actual = actual["value"]
    return float(actual) if isinstance(actual, int) and not isinstance(actual, bool) else actual


def _as_sets(groups: Any) -> set[frozenset[str]]:
    return {frozenset(group) for group in groups or ()}


def _said(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, Near):
        return f"{value.value:.9g}"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_said(part) for part in value) + "]"
    return f"{value:.9g}" if isinstance(value, float) else str(value)
