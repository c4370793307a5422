"""A question as the command line that asks it, from its own fields and the declared flags of the loss's parameters."""

from __future__ import annotations

import math
import shlex
from typing import Any

from geomsolve.questions.base import LossProblem, Problem
from geomsolve.registry import LOSSES

ABOUT = ("title", "why", "expect", "base", "kind", "loss")
"""Fields that are no flags, or are written by flags of their own."""


def command_line(question: LossProblem, **kept: Any) -> str:
    """``geomsolve KIND --props ... FLAGS``, as a shell takes it; fields at their defaults are left out.

    ``kept``: values of fields that are written instead of the question's own, None to leave one out.
    """
    kind: str = question.kind  # type: ignore[attr-defined]  # every problem that can be made has one
    words = ["geomsolve", kind]
    own = [name for name in type(question).model_fields if name not in Problem.model_fields and name not in ABOUT]
    for name in (*own, "solver", "tolerance", "seed"):
        value = kept.get(name, getattr(question, name)) if name in kept else getattr(question, name)
        if value is not None and value != type(question).model_fields[name].default:
            words += [f"--{name.replace('_', '-')}", written(value)]
    if question.loss.name != type(question.loss).model_fields["name"].default:
        words += ["--loss", question.loss.name]
    return shlex.join([*words, *flags(in_force(question))])


def in_force(question: LossProblem) -> dict[str, Any]:
    """The parameters of a question's loss that differ from what they are unless given, checked."""
    declared, loss = LOSSES.parameters(), question.loss
    known = LOSSES.get(loss.name)
    usual = {} if known is None else known.defaults()
    given = {}
    for name, value in loss.parameters.items():
        checked = None if value is None else declared[name].parse(value)
        if checked != usual.get(name):
            given[name] = value if isinstance(value, str) and value[:1].isalpha() else checked  # words stay words
    return given


def flags(parameters: dict[str, Any]) -> list[str]:
    """The words of the flags that set these parameters of a loss."""
    declared, words = LOSSES.parameters(), []
    for name, value in parameters.items():
        if value is True:
            words.append(declared[name].flags[0])
        elif value is not None and value is not False:
            words += [declared[name].flags[0], written(value)]
    return words


def written(value: Any) -> str:
    """A value as a flag takes it: numbers in full, lists with commas, rows with semicolons."""
    if isinstance(value, (list, tuple)):
        rows = bool(value) and isinstance(value[0], (list, tuple))
        return (";" if rows else ",").join(written(part) for part in value)
    if isinstance(value, float):
        if math.isinf(value):
            return "inf"
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)
