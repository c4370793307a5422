"""What every report shares: JSON that any reader accepts, and the versions that made it."""

from __future__ import annotations

import dataclasses
import json
import math
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import numpy as np

from geomsolve._version import __version__
from geomsolve.questions.base import Problem

SCHEMA = "geomsolve/1"


def versions() -> dict[str, str]:
    """Versions of geomsolve, Python and the libraries whose numbers enter an answer."""
    found = {"geomsolve": __version__, "python": platform.python_version()}
    for package in ("numpy", "scipy", "cvxpy", "clarabel", "scs"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def head(command: str) -> dict[str, Any]:
    """What every JSON object starts with."""
    return {"schema": SCHEMA, "command": command, "versions": versions()}


def jsonable(value: Any) -> Any:
    """Plain JSON values: arrays as lists, numpy scalars as numbers, infinities as 'inf', nan as null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        plain = value.dtype.kind in "iub" or (value.dtype.kind == "f" and bool(np.all(np.isfinite(value))))
        return value.tolist() if plain else jsonable(value.tolist())
    if isinstance(value, (list, tuple)):
        return [jsonable(entry) for entry in value]
    if isinstance(value, np.generic):
        return jsonable(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def to_json(answer: dict[str, Any]) -> str:
    """One JSON object on one line, keys sorted, without NaN or Infinity.

    Characters that some readers take for the end of a line are escaped, so that JSONL stays one object a line.
    """
    text = json.dumps(answer, sort_keys=True, allow_nan=False, ensure_ascii=False)
    return text.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@dataclass(frozen=True)
class Report:
    """The base of all reports.  ``problem`` is the question as understood, with its defaults filled in."""

    command: ClassVar[str]
    apart: ClassVar[tuple[str, ...]] = ()
    """Fields that the report's own ``to_dict`` writes, or leaves out."""

    problem: dict[str, Any]

    @property
    def exit_code(self) -> int:
        """0 when the answer is proven, 1 when it is not."""
        return 0

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        """The JSON object of ``cli --json``: schema, command, problem, versions, and the answer.

        ``detail`` are switches of the particular report, such as ``full`` for large matrices.
        """
        answer = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in self.apart}
        plain: dict[str, Any] = jsonable({**head(self.command), **answer})
        return plain


def understood(problem: Problem, **resolved: Any) -> dict[str, Any]:
    """The problem as a plain dictionary, with ``resolved`` entries in place of what was written."""
    stated = problem.model_dump(mode="python", exclude_none=True)
    return {**stated, **resolved}
