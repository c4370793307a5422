"""The command that answers the problem of a row again.

By flags, where these mean the same problem: the words are read back as the command reads them, and the problem they
make is compared with that of the row.  Else the problem itself, as one document, is what ``geomsolve solve`` reads.
Files that the problem names are named from the current folder.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from geomsolve.analyses.named import any_loss_of
from geomsolve.batch import gallery
from geomsolve.cli import inside
from geomsolve.errors import InputError
from geomsolve.questions.base import Problem
from geomsolve.questions.check import Composed
from geomsolve.questions.kinds import kind_of
from geomsolve.questions.spelled import ABOUT, spell, written

Row = dict[str, Any]

LONGEST = 2000
"""Characters beyond which the file that holds the problem is named instead."""


def command_of(row: Row) -> str:
    """A command line for bash that answers the problem of a row again."""
    problem = {key: value for key, value in row["problem"].items() if key not in ABOUT and value is not None}
    problem = _from_here(problem, gallery.path_of(str(row["file"])).parent)
    wanted = _meaning(problem)
    words = by_flags(row, problem, wanted)
    if words is not None:
        line = shlex.join(words)
    elif wanted is not None:
        line = f"echo {shlex.quote(json.dumps(problem))} | geomsolve solve -"
    else:
        line = ""
    return line if 0 < len(line) <= LONGEST else shlex.join(["geomsolve", "batch", str(row["file"])])


def by_flags(row: Row, problem: dict[str, Any], wanted: dict[str, Any] | None) -> list[str] | None:
    """The words of the row's own command, or None where they would mean another problem than ``wanted``."""
    command = inside.command_of(row["command"])
    taken = command.get_params(inside.context_of(command))
    flags = {flag for parameter in taken for flag in parameter.opts if isinstance(parameter, click.Option)}
    arguments = {parameter.name for parameter in taken if isinstance(parameter, click.Argument)}
    fields = Problem.model_fields
    asked = {key: value for key, value in problem.items() if key not in fields or value != fields[key].default}
    if isinstance(asked.get("over"), dict):
        asked["over"] = {name: asked["over"][name] for name in row.get("axes", asked["over"])}
    words = ["geomsolve", str(row["command"])]
    read: dict[str, Any] = {"kind": problem["kind"]}
    for each in spell(asked):
        if each.key in arguments:
            words += map(str, each.value) if isinstance(each.value, (list, tuple)) else [str(each.value)]
            read[each.key] = each.value
        elif each.flag in flags:
            words += each.words
            (read.setdefault(each.key, {}) if each.part else read)[each.part or each.key] = each.read
    return words if wanted is not None and _same(_meaning(read), wanted) else None


def _meaning(problem: dict[str, Any]) -> dict[str, Any] | None:
    """The problem as it is understood, defaults filled in; None where it is not."""
    try:
        made = kind_of(problem)(**problem)
        plain = made.model_dump(exclude=ABOUT)
        asked = made.question if isinstance(made, Composed) else made
        loss = any_loss_of(asked)
        if loss is not None:
            plain["loss"] = {**loss.written, "name": asked.loss.name}  # type: ignore[attr-defined]  # one that has it
    except InputError:
        return None
    return plain


def _same(one: Any, other: Any) -> bool:
    """Whether two meanings are equal; a list may stand as the text that means it."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other) or (isinstance(one, str) and isinstance(other, tuple) and one == written(other))


def _from_here(value: Any, folder: Path) -> Any:
    """``value`` with the files in it, which are named from ``folder``, named from the current one."""
    if isinstance(value, dict):
        return {key: _from_here(inner, folder) for key, inner in value.items()}
    if not isinstance(value, str) or folder == Path():
        return value
    mark = "@" if value.startswith("@") else ""
    name, colon, column = value.removeprefix("@").partition(":")
    there = folder / name
    return f"{mark}{there}{colon}{column}" if name and there.is_file() else value
