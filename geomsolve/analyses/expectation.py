"""Is the answer what the problem file expects?  A report says itself what may be asked of it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import Any

from geomsolve.errors import InputError, nearest
from geomsolve.gram.structure import KINDS
from geomsolve.questions.base import Problem
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.expect import Expectation, Near
from geomsolve.questions.sweep import Sweep
from geomsolve.questions.sweep_crossmodal import SweepCrossmodal
from geomsolve.report import Report


def reports_of(kind: str) -> list[type[Report]]:
    """The reports that the analysis of a kind says it returns."""
    module = vars(importlib.import_module(f"geomsolve.analyses.{kind}"))
    return [module[name] for name in module[kind].__annotations__["return"].split(" | ")]


def verdicts_of(kind: str) -> tuple[str, ...]:
    """Every verdict that they may give."""
    return tuple(verdict for report in reports_of(kind) for verdict in report.verdicts)


def structures_of(kind: str) -> tuple[str, ...]:
    """Every structure that they may name: those of classes, where they have no others."""
    return tuple(name for report in reports_of(kind) for name in report.structures) or KINDS


def refuse_unknown(problem: Problem) -> None:
    """Raise :class:`InputError` for an expected name that no answer to ``problem`` can hold."""
    expected = problem.expect
    if expected is None:
        return
    kind: str = problem.kind  # type: ignore[attr-defined]  # every problem that can be made has one
    if expected.structure is not None:
        named = [expected.structure]
        if isinstance(problem, (Sweep, SweepCrossmodal)):  # general at 4, regular simplex at 1 of 5 points
            named = re.findall(r"(?:^|, )(.*?) at \d+", expected.structure) or named
        _refuse(named, structures_of(kind), "structure")
    if expected.verdict is not None and (known := verdicts_of(kind)):
        _refuse([expected.verdict], known, "verdict")
    if expected.groups and isinstance(problem, ClassProblem):
        _refuse((name for group in expected.groups for name in group), problem.class_names, "groups", "class")


def _refuse(names: Iterable[str], known: tuple[str, ...], key: str, what: str = "") -> None:
    for name in names:
        if name not in known:
            raise InputError(f"unknown {what or key} {name!r}; {nearest(name, known)}", field=f"expect.{key}")


def misses(expected: Expectation, asked: dict[str, Any], command: str) -> list[str]:
    """One sentence for each expectation that an answer of ``command`` does not meet; ``asked`` as in its report."""
    found = []
    for key in sorted(expected.model_fields_set - {"tolerance"}):
        actual = asked.get(key)
        wanted = getattr(expected, key)
        if key not in asked:
            found.append(f"expected {key} {_said(wanted)}, but {command} reports none")
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


def _number(actual: Any) -> Any:
    """A number as float; anything else as it is."""
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
