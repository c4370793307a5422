"""What every report is: an answer with its proof, which says itself how it is called and what may be expected of it.

    Report          a question as understood, a headline, what ``expect`` may ask, an exit code
    ProvenReport    the same with one :class:`Proof` and one :class:`Effort`, from which the exit code follows

The JSON object holds the proof and the effort, and beside them the flat keys of each command.  In Python a report is
printed, shown by a notebook, drawn and turned into a table, too; its words are those of the command line.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, Self

import numpy as np

from geomsolve._version import __version__
from geomsolve.errors import InputError
from geomsolve.proof.certificate import Certificate
from geomsolve.questions.base import Problem
from geomsolve.solvers.base import Answer

SCHEMA = "geomsolve/1"

WORDS = "geomsolve.cli.spoken"
"""The module with the words for reports.  It lies above this one, which therefore knows no more of it than its name."""


def versions() -> dict[str, str]:
    """Versions of geomsolve, Python and the libraries whose numbers enter an answer."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    """Read once: a library's version is a line of a file of its own."""
    found = {"geomsolve": __version__, "python": platform.python_version()}
    for package in ("numpy", "scipy", "cvxpy", "clarabel", "scs"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def head(command: str | None) -> dict[str, Any]:
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
class Proof:
    """How sure an answer is.  ``value`` was found, nothing goes below ``lower_bound``, ``gap`` lies between (nats).

    ``certified``: the gap is within the tolerance asked for.  ``unique``: whether the optimum is the only one; None
    where that was not determined, as for an answer that is not certified.
    """

    value: float
    lower_bound: float
    gap: float
    certified: bool
    unique: bool | None = None

    @property
    def figures(self) -> dict[str, Any]:
        """Value, lower bound and gap in nats, and whether they are certified."""
        return {"value": self.value, "lower_bound": self.lower_bound, "gap": self.gap, "certified": self.certified}

    @classmethod
    def of(cls, certificate: Certificate, unique: bool | None = None) -> Proof:
        """The proof that a certificate gives."""
        c = certificate
        return cls(c.value, c.lower_bound, c.gap, c.certified, unique if c.certified else None)


@dataclass(frozen=True)
class Effort:
    """What it took: ``solver``, the ``reason`` it was chosen or what it says, ``iterations`` and ``seconds``."""

    solver: str
    reason: str
    iterations: int
    seconds: float

    @classmethod
    def of(cls, answer: Answer) -> Effort:
        """What an answer took."""
        return cls(answer.solution.name, answer.reason, answer.solution.iterations, answer.seconds)


@dataclass(frozen=True)
class Table:
    """``columns`` of equal length by name, and the ``index``, the names of the rows, where they have any."""

    columns: dict[str, list[Any]]
    index: list[str] | None = None

    @classmethod
    def of_rows(cls, rows: Iterable[Any], index: Sequence[str] | None = None) -> Table:
        """From mappings or data classes, one a row; what stands within a mapping is a column ``outer.inner``."""
        flat = [dict(_flat(jsonable(row))) for row in rows]
        names = dict.fromkeys(name for row in flat for name in row)
        return cls({name: [row.get(name) for row in flat] for name in names}, None if index is None else list(index))

    @classmethod
    def of_matrix(cls, matrix: Any, rows: Sequence[str], columns: Sequence[str] | None = None) -> Table:
        """From a matrix with a name for each row, and for each column where these are others."""
        across = rows if columns is None else columns
        return cls({name: matrix[:, b].tolist() for b, name in enumerate(across)}, list(rows))


def _flat(row: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


@dataclass(frozen=True)
class Report:
    """The base of all reports.  ``problem`` is the question as understood, with its defaults filled in."""

    command: ClassVar[str]
    apart: ClassVar[tuple[str, ...]] = ()
    """Fields that the report's own ``to_dict`` writes, or leaves out."""
    verdicts: ClassVar[tuple[str, ...]] = ()
    """Every verdict that such a report may give, where it gives one."""
    structures: ClassVar[tuple[str, ...]] = ()
    """Every structure that such a report may name, where they are not those of classes (``gram/structure.py``)."""

    problem: dict[str, Any]

    @property
    def headline(self) -> str:
        """The answer in a few words or one number."""
        return ""

    @property
    def notices(self) -> tuple[str, ...]:
        """What was understood differently from what was written, and what the loss says of its parameters."""
        return tuple(self.__dict__.get("_notices", ()))

    def noting(self, *notices: str) -> Self:
        """The report, which from now on has these notices, unless it has some."""
        if notices and not self.notices:
            object.__setattr__(self, "_notices", notices)
        return self

    @property
    def certified(self) -> bool:
        """Whether everything that is stated as a number has its proof."""
        return True

    @property
    def exit_code(self) -> int:
        """0 when the answer is proven and nothing contradicts it, else 1."""
        return 0 if self.certified and not self.complaints else 1

    @property
    def complaints(self) -> tuple[str, ...]:
        """What the answer itself finds wrong, one sentence each."""
        return ()

    @property
    def asked(self) -> dict[str, Any]:
        """What a problem file may expect of this answer, by the key of ``expect``."""
        return {}

    @property
    def figures(self) -> dict[str, float]:
        """Further numbers worth a line on a page, by what they are called."""
        return {}

    @property
    def value(self) -> float | None:
        """The number that was asked for: the loss in nats, where there is one; None where the answer is none."""
        return None

    @property
    def gap(self) -> float | None:
        """How far the value may be from the best at most; None where the value is no optimum, or exact."""
        return None

    @property
    def table(self) -> Table:
        """What :meth:`to_frame` shows: by default one row of the numbers that may be asked for."""
        return Table.of_rows([{"answer": self.headline, **self.asked, **self.figures, "certified": self.certified}])

    def summary(self, *, width: int = 100) -> str:
        """What the command prints, as text of so many columns, its notices last."""
        said: str = importlib.import_module(WORDS).text(self, width=width)
        return "\n\n".join([said, *(f"Note: {each}" for each in self.notices)])

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        cls.__repr__ = Report.__repr__  # type: ignore[method-assign]  # before dataclass makes one of all fields

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline or self.command}>"

    def __str__(self) -> str:
        said: str = importlib.import_module(WORDS).brief(self)
        return said

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentence, the coloured grid and the proof."""
        said: str = importlib.import_module(WORDS).page(self)
        return said

    def plot(self, ax: Any = None, *, style: str = "paper", size: tuple[float, float] | None = None) -> Any:
        """The picture of the answer: a new figure of matplotlib, or drawn in the place of the axes ``ax``.

        ``style``: paper, or slide with larger letters and lines; ``size``: width and height of the figure in inches.
        Raises :class:`geomsolve.InputError` without matplotlib, or where this answer has no picture.
        """
        from geomsolve.plots import check_matplotlib, draw

        check_matplotlib()
        drawn = draw(self.to_dict(full=True), into=ax, style=style, size=size)
        if drawn is None:
            raise InputError("there is no picture of this answer")
        return drawn

    def to_frame(self) -> Any:
        """The answer as a DataFrame of pandas: cosines by class, or one row for each thing that it is about."""
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError:
            raise InputError("tables in Python need pandas: pip install pandas") from None
        return pandas.DataFrame(self.table.columns, index=self.table.index)

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        """The JSON object of ``cli --json``: schema, command, problem, versions, and the answer.

        ``detail`` are switches of the particular report, such as ``full`` for large matrices.
        """
        answer = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in self.apart}
        if self.notices:
            answer["notes"] = self.notices
        plain: dict[str, Any] = jsonable({**head(self.command), **answer})
        return plain


@dataclass(frozen=True)
class ProvenReport(Report):
    """A report with a proof; ``flat`` are the parts of proof and effort that its JSON also has at the top."""

    flat: ClassVar[tuple[str, ...]] = ("value", "lower_bound", "gap", "certified", "unique", "solver")

    proof: Proof
    effort: Effort

    @property
    def value(self) -> float:
        """The loss found, in nats."""
        return self.proof.value

    @property
    def lower_bound(self) -> float:
        """What no embedding goes below, in nats."""
        return self.proof.lower_bound

    @property
    def gap(self) -> float:
        """Value less lower bound, in nats."""
        return self.proof.gap

    @property
    def certified(self) -> bool:
        return self.proof.certified

    @property
    def unique(self) -> bool | None:
        """Whether the optimum is the only one; None where that was not determined."""
        return self.proof.unique

    @property
    def solver(self) -> dict[str, Any]:
        """The effort under the keys that JSON has: name, reason, iterations, seconds."""
        effort = dataclasses.asdict(self.effort)
        return {"name": effort.pop("solver"), **effort}

    @property
    def asked(self) -> dict[str, Any]:
        return {"value": self.value}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        """The JSON object, with the ``flat`` keys beside ``proof`` and ``effort``."""
        return {**super().to_dict(**detail), **jsonable({key: getattr(self, key) for key in self.flat})}


def understood(problem: Problem, **resolved: Any) -> dict[str, Any]:
    """The problem as a plain dictionary, with ``resolved`` entries in place of what was written."""
    stated = problem.model_dump(mode="python", exclude_none=True)
    return {**stated, **resolved}
