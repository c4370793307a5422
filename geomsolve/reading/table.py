"""Numbers in rows, from a file or as a user writes them: the one :class:`Table` that questions hold.

    0,0;1,0;0,1      rows split at semicolons      @file.npy, .npz:name, .pt:name   an array of one or two dimensions
    @file.csv:a,b    columns by name               @file.parquet:a                  columns, or a list column
    @file.csv        all columns, if unnamed       @file                            text, one row a line; # a comment
    -                standard input: rows as lines, or split at semicolons in one line

A table of names alone is not guessed at: where several columns could be meant, the complaint lists them.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.reading.arrays import array, columns
from geomsolve.reading.csv import Csv
from geomsolve.reading.files import content, locate, standard_input
from geomsolve.reading.npy import Npy
from geomsolve.reading.npz import Npz
from geomsolve.reading.numbers import INEXACT, LARGEST, LARGEST_EXACT, expand
from geomsolve.reading.parquet import Parquet
from geomsolve.reading.source import FloatArray, Source, refuse_many
from geomsolve.reading.torch import Tensors
from geomsolve.words import counted

FORMATS: dict[str, type[Any]] = {
    ".npy": Npy,
    ".npz": Npz,
    ".csv": Csv,
    ".tsv": Csv,
    ".parquet": Parquet,
    ".pt": Tensors,
    ".pth": Tensors,
}
"""How each format is read, by suffix; every other file is plain text."""


@dataclass(frozen=True, eq=False)
class Table:
    """``values`` (n,) or (n, d), the ``names`` of the columns where they have any, and the ``place`` they came from.

    ``place`` is what the user wrote ('@ages.csv:age', 'line:9'), or '' for values that were given as such.  Two tables
    are equal if all three are; the values are not to be changed.  ``spelled`` (n,) is how each row was written, where
    that says more than its numbers.
    """

    values: NDArray[Any]
    names: tuple[str, ...] = ()
    place: str = ""
    spelled: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.values.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table) or (self.place, self.names) != (other.place, other.names):
            return False
        return self.values.shape == other.values.shape and self.values.tobytes() == other.values.tobytes()

    def __hash__(self) -> int:
        return hash((self.place, self.names, self.values.tobytes()))

    @property
    def points(self) -> NDArray[Any]:
        """The values as rows (n, d)."""
        return self.values[:, None] if self.values.ndim == 1 else self.values

    def plain(self) -> Any:
        """What stands for the table in a report: its place, or else its values as tuples."""
        if self.place:
            return self.place
        rows = self.values.tolist()
        return tuple(rows) if self.values.ndim == 1 else tuple(map(tuple, rows))


def too_large(values: NDArray[Any]) -> tuple[int, ...] | None:
    """Where the first number stands that is too large to be computed with, counted from 0; nan and inf are for others
    to judge."""
    found = np.argwhere(np.isfinite(values) & (np.abs(values) > LARGEST))
    return tuple(found[0].tolist()) if found.size else None


def look(path: Path) -> Source | None:
    """What stands in a file, None for plain text."""
    found = FORMATS.get(path.suffix.lower())
    return None if found is None else found.look(path)


def read(name: str, base: Path | None = None, *, blank: bool = False) -> Table:
    """The numbers in the file (and of the columns) that ``name`` says; with ``blank`` an empty cell is nan."""
    path, key = locate(name, base)
    source = look(path)
    if source is None:
        if key:
            raise InputError(f"{path.name} has no columns to name; leave out {key!r}")
        return _of_lines(content(path).splitlines(), f" of {str(path)!r}", blank=blank, place=f"@{name}")
    chosen = source.pick(key) if key else _all(source)
    columns = [source.columns[i] for i in chosen]
    wrong = next((c for c in columns if c.kind not in "fiub" and not isinstance(source, Csv)), None)
    if wrong is not None or any(c.shape is not None and (len(c.shape) > 1 or -1 in c.shape) for c in columns):
        bad = wrong or columns[0]
        shape = "" if bad.shape is None or isinstance(source, Parquet) else f" of shape {('n', *bad.shape)}"
        raise InputError(f"{str(path)!r} holds {bad.dtype}{shape}; wanted numbers in rows".replace("'n'", "n"))
    source.whole(chosen)
    blocks, count = [], 0
    for block in source.blocks(chosen, blank=blank):
        count += block.size
        refuse_many(path, count)  # a table of text tells its rows only while it is read
        off = _inexact(block)
        if off is not None:
            raise InputError(f"{str(path)!r} holds {off}, {INEXACT}")
        blocks.append(block)
    values = np.concatenate(blocks).astype(np.float64) if blocks else np.zeros((0, len(chosen)))
    if len(columns) == 1 and not columns[0].many:
        values = values[:, 0]
    return Table(values, tuple(c.name for c in columns if c.name), f"@{name}")


def _inexact(block: NDArray[Any]) -> int | None:
    """The first whole number that floating-point numbers cannot tell from its neighbours."""
    if block.dtype.kind not in "iu" or not block.size:
        return None
    off = (block > LARGEST_EXACT) | (block < -LARGEST_EXACT) if block.dtype.itemsize == 8 else np.zeros(1, bool)
    return int(block[off][0]) if off.any() else None


def _all(source: Source) -> list[int]:
    """Every column that is meant where none is named."""
    if isinstance(source, Csv) and not all(map(_counts, source.names)):
        named = [i for i, name in enumerate(source.names) if name or i]
        return [source.only(named, "@")]
    if isinstance(source, Csv):
        return [i for i, name in enumerate(source.names) if name or i or not source.heading]
    return [source.only(sign="@")]


def _counts(name: str) -> bool:
    """Whether a column's name is none, or only its number."""
    return not name or name.isdecimal()


def read_rows(value: Any, base: Path | None = None, *, blank: bool = False, what: str = "row") -> Table:
    """A table from text as in the module, from a sequence of numbers or rows, or from an array of any library.

    With ``blank`` an empty entry, or None, is nan.  ``what`` is the word for a row in a message.
    """
    if isinstance(value, Table):
        return value
    if not isinstance(value, str):
        table = _of_sequence(array(value), blank=blank, what=what)
        return Table(table.values, columns(value), "") if columns(value) else table
    if value.startswith("@"):
        return read(value[1:], base, blank=blank)
    place = value
    if value.strip() == "-":
        lines, place = standard_input(base).splitlines(), ""
        written = [line.split("#")[0].strip() for line in lines]
        alone = [line for line in written if line]
        if len(alone) != 1:  # several lines are rows, with or without the semicolon that ends one
            return _of_lines([line.removesuffix(";") for line in written], " of standard input", blank=blank, place="")
        value = alone[0]
    lines = value.strip().strip(";").split(";")
    rows = [(f" in {what} {number}", line) for number, line in enumerate(lines, 1)]
    return _of_rows(rows, blank=blank, place=place)


def _of_lines(lines: Iterable[str], where: str, *, blank: bool, place: str) -> Table:
    rows = [(f" in line {number}{where}", line.split("#")[0]) for number, line in enumerate(lines, 1)]
    return _of_rows([(at, line) for at, line in rows if line.strip()], blank=blank, place=place)


def _of_rows(rows: Sequence[tuple[str, str]], *, blank: bool, place: str) -> Table:
    """Lines of numbers, each with ' in line N'."""
    table: list[list[float]] = []
    for at, line in rows:
        table.append(_entries(line, at, blank=blank))
        if len(table[-1]) != len(table[0]):
            found, first = (counted(len(row), "entry", "entries") for row in (table[-1], table[0]))
            raise InputError(f"all rows must have {first} like the first; found {found}{at}")
    values = np.array(table, dtype=np.float64) if table else np.zeros((0, 0))
    return Table(values, (), place)


def _entries(line: str, at: str, *, blank: bool) -> list[float]:
    split = next((sign for sign in (",", "\t") if sign in line), None)
    cells = [cell.strip() for cell in line.split(split)] or [""]
    if not (blank or cells[-1]):
        cells.pop()  # a comma at the end of a line
    found: list[float] = []
    for cell in cells:
        if not cell and not blank:
            raise InputError(f"an entry is empty{at}")
        try:
            found += [number for token in cell.split() for number in expand(token)] if cell else [math.nan]
        except InputError as error:
            raise InputError(f"{error.message}{at}") from None
    return found


def _of_sequence(value: Any, *, blank: bool, what: str) -> Table:
    wanted = f"wanted a matrix of numbers: rows of equal length, got {value!r:.60}"
    if isinstance(value, (bytes, dict, set)) or not (hasattr(value, "tolist") or isinstance(value, Sequence)):
        raise InputError(wanted)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.ndim in (1, 2):
        return Table(value.astype(np.float64))
    plain = value.tolist() if hasattr(value, "tolist") else list(value)
    if not isinstance(plain, list):
        raise InputError(wanted)
    plain = [row.tolist() if hasattr(row, "tolist") else row for row in plain]  # of a number of numpy that is a number
    rows = [list(row) if isinstance(row, (list, tuple)) else row for row in plain]
    flat = not any(isinstance(row, list) for row in rows)
    table = [row if isinstance(row, list) else [row] for row in rows]
    truths = all(isinstance(entry, bool) for row in table for entry in row)
    for number, row in enumerate(table, 1):
        if len(row) != len(table[0]):
            raise InputError(
                f"wanted a matrix of numbers: rows of equal length, but {what} {number} has "
                f"{counted(len(row), 'number')}, the first has {len(table[0])}"
            )
        for entry in row:
            number_like = isinstance(entry, numbers.Real) and (truths or not isinstance(entry, bool))
            if not (number_like or (blank and entry is None)):
                shown = f"{what} {number} is {plain[number - 1]!r:.60}"
                raise InputError(f"wanted a matrix of numbers, but {shown}, not a number")
    try:
        found: FloatArray = np.array(
            [[math.nan if x is None else float(x) for x in row] for row in table], dtype=np.float64
        )
    except (TypeError, ValueError, OverflowError):
        raise InputError(wanted) from None
    return Table(found[:, 0] if flat and found.size else found.reshape(len(table), -1))
