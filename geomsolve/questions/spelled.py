"""A question as the flags that ask it: the one place where a value is written as the command line takes it.

``spell`` goes from the keys of a problem to flags with their values, whether the problem is a validated question
(``command_line``) or an object read from a file of answers (``cli/again.py``, which also reads the words back).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from geomsolve.questions.base import LossProblem, Problem
from geomsolve.registry import LOSSES
from geomsolve.words import flag_of

ABOUT = {"title", "why", "expect", "proof", "base"}
"""Keys that say something about a problem without changing its answer."""

OFTEN = 10
"""Entries alike in a row from which they are written once, with their number."""


@dataclass(frozen=True)
class Spelled:
    """The ``flag`` that sets ``key`` of a problem, or ``part`` of what stands there, to ``value``."""

    key: str
    part: str
    flag: str
    value: Any

    @property
    def words(self) -> list[str]:
        """The flag and its value, as a shell hands them over; a flag for each entry of a mapping."""
        if self.value is True:
            return [self.flag]
        if isinstance(self.value, dict):
            said = [f"{name}={written(values)}" for name, values in self.value.items()]
            return [word for each in said for word in (self.flag, each)]
        return [self.flag, written(self.value)]

    @property
    def read(self) -> Any:
        """The value as the command has it from those words: text, but for switches and mappings."""
        return self.value if self.value is True or isinstance(self.value, dict) else written(self.value)


def spell(problem: dict[str, Any]) -> Iterator[Spelled]:
    """Every key of a problem that a flag may set, and every parameter of its loss; nothing for None and False."""
    declared = LOSSES.parameters()
    for key, value in problem.items():
        for part, inner in value.items() if key == "loss" else [("", value)]:
            if inner is not None and inner is not False:
                own = declared[part].flags[0] if part in declared else flag_of(f"{key}.{part}" if part else key)
                yield Spelled(key, part, own, inner)


def command_line(question: LossProblem) -> str:
    """``geomsolve KIND --props ... FLAGS``, as a shell takes it; fields at their defaults are left out."""
    fields = type(question).model_fields
    own = [name for name in fields if name not in Problem.model_fields and name not in ("kind", "loss")]
    given = {name: getattr(question, name) for name in (*own, "solver", "tolerance", "seed")}
    asked: dict[str, Any] = {name: value for name, value in given.items() if value != fields[name].default}
    asked["loss"] = in_force(question)
    kind: str = question.kind  # type: ignore[attr-defined]  # every problem that can be made has one
    return shlex.join(["geomsolve", kind, *(word for each in spell(asked) for word in each.words)])


def in_force(question: LossProblem) -> dict[str, Any]:
    """The name and the parameters of a question's loss that differ from what they are unless given, checked."""
    declared, loss = LOSSES.parameters(), question.loss
    known = LOSSES.get(loss.name)
    usual = {} if known is None else known.defaults()
    given: dict[str, Any] = loss.model_dump(include={"name"}, exclude_defaults=True)
    order = list(declared if known is None else known.takes())
    for name, value in sorted(loss.parameters.items(), key=lambda each: order.index(each[0])):
        checked = None if value is None else declared[name].parse(value)
        if checked != usual.get(name):
            given[name] = value if isinstance(value, str) and value[:1].isalpha() else checked  # words stay words
    return given


def flags(parameters: dict[str, Any]) -> list[str]:
    """The words of the flags that set these parameters of a loss."""
    return [word for each in spell({"loss": parameters}) for word in each.words]


def written(value: Any) -> str:
    """A value as a flag takes it: numbers in full, lists with commas, rows with semicolons."""
    if isinstance(value, (list, tuple)):
        rows = bool(value) and isinstance(value[0], (list, tuple))
        if rows or not all(isinstance(part, (int, float)) for part in value):
            return (";" if rows else ",").join(written(part) for part in value)
        alike = [(part, len(list(run))) for part, run in groupby(value)]
        return ",".join(f"{n}*{written(x)}" if n >= OFTEN else ",".join([written(x)] * n) for x, n in alike)
    if isinstance(value, float):
        if math.isinf(value):
            return "inf"
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)
