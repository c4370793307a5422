"""Tables in text: .csv and .tsv, with or without a line of column names.

The first line names the columns unless it is numbers and blanks; so does 0, 1, 2, ... above numbers with a fraction,
or after a blank, as pandas writes it.  Cells may be quoted and then hold commas and line ends.  Columns are split at
commas or tabs by the file's suffix, and at the other sign (or at semicolons) where the first line holds only that.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import ClassVar, TextIO

import numpy as np

from geomsolve.errors import InputError
from geomsolve.reading.numbers import LARGEST_EXACT, exact, is_number, is_whole
from geomsolve.reading.source import MOST_VALUES, Column, FloatArray, Source, refuse_many
from geomsolve.words import counted

NAN = float("nan")

MOST_LETTERS = 2**25
"""Characters of a line."""

SAMPLE = 50
"""Rows that are looked at to tell columns of texts, of whole numbers and of others apart."""


@dataclass(frozen=True)
class Csv(Source):
    """``heading``: whether a line of names stands above the values.

    The ``kind`` of a column is 'U' where all its cells are no numbers, as far as looked at, 'i' where all are whole.
    """

    beside: ClassVar[bool] = True
    word: ClassVar[str] = "column"

    heading: bool
    delimiter: str

    @classmethod
    def look(cls, path: Path) -> Csv:
        """The columns of the table at ``path``."""
        delimiter = _delimiter(path)
        rows = itertools.islice(_rows(path, delimiter), SAMPLE + 1)
        top = [[cell.strip() for cell in row] for _, row in rows]
        if not top:
            raise InputError(f"{str(path)!r} is empty (its header is an empty file)")
        head, below = top[0], top[1:]
        heading = _is_heading(head, below)
        names = head if heading else [""] * len(head)
        if heading:  # numpy marks a heading as a comment
            names = [names[0].removeprefix("#").strip(), *names[1:]]
        values = below if heading else top
        kinds = [_kind([row[i] for row in values if i < len(row) and row[i]]) for i in range(len(head))]
        columns = tuple(Column(name, kind) for name, kind in zip(names, kinds, strict=True))
        return cls(path, columns, None, heading, delimiter)

    @property
    def header(self) -> str:
        return f"its header is {', '.join(self.names)}" if self.heading else "it has no line of names"

    def rows(self, *, blank: bool = False) -> Iterator[tuple[str, list[str]]]:
        """Every row of values with its place, as long as the first; rows without any only with ``blank``."""
        rows = _rows(self.path, self.delimiter)
        width = len(self.columns)
        if self.heading and [cell.strip() for cell in next(rows, (0, []))[1]][1:] != list(self.names[1:]):
            raise InputError(f"{str(self.path)!r} changed since it was looked at first; ask again")
        where = repr(str(self.path))
        for line, row in rows:
            place = f"line {line} of {where}"
            if len(row) != width or not all(row):  # rare: what spreadsheets write beside and below a table
                row = [cell.strip() for cell in row]
                if not (blank or any(row)):
                    continue
                while len(row) > width and not row[-1]:
                    row.pop()
                if len(row) != width:
                    raise InputError(f"{place} has {counted(len(row), 'column')} instead of {width}")
            yield place, row

    def cells(self, position: int) -> Iterator[tuple[str, str]]:
        """The cells of a column, each with ' in line N of file'."""
        for place, row in self.rows():
            cell = row[position].strip()
            if not cell:
                raise self._nothing(place, position)
            yield cell, f" in {place}"

    def blocks(self, chosen: Sequence[int], *, blank: bool = False) -> Iterator[FloatArray]:
        rows = self.rows(blank=blank)
        size = self.size(len(chosen))
        while block := [self._numbers(place, row, chosen, blank) for place, row in itertools.islice(rows, size)]:
            yield np.array(block, dtype=np.float64)

    def _numbers(self, place: str, row: list[str], chosen: Sequence[int], blank: bool) -> list[float]:
        cells = [row[i] for i in chosen]
        if "_" not in "".join(cells):
            try:
                found = [float(cell) for cell in cells]
                if not any(LARGEST_EXACT <= abs(x) < inf for x in found):
                    return found
            except ValueError:
                pass  # a fraction, a blank, or a mistake
        read = []
        for i, cell in zip(chosen, map(str.strip, cells), strict=True):
            if not (cell or blank):
                raise self._nothing(place, i)
            read.append(exact(cell, f" in {place}") if cell else NAN)
        return read

    def values(self, position: int) -> list[str]:
        found = [cell for cell, _ in itertools.islice(self.cells(position), MOST_VALUES + 1)]
        refuse_many(self.path, len(found))
        return found

    def _nothing(self, place: str, i: int) -> InputError:
        return InputError(f"{place} has nothing in column {self.columns[i].name or str(i + 1)!r}")


def _is_heading(head: list[str], below: list[list[str]]) -> bool:
    """Whether the first line names the columns of the next ones."""
    written = [cell for cell in head if cell]
    if not all(map(is_number, written)):
        return True
    if written != [str(i) for i in range(len(written))]:
        return False
    if not head[0]:  # an index without a name, then columns by number
        return len(written) == len(head) - 1 and bool(below)
    return len(written) > 2 and len(written) == len(head) and not all(is_whole(c) for row in below for c in row)


def _kind(cells: list[str]) -> str:
    """'U' for texts, 'i' for whole numbers, else 'f'."""
    if cells and not any(map(is_number, cells)):
        return "U"
    return "i" if cells and all(map(is_whole, cells)) else "f"


def _delimiter(path: Path) -> str:
    """What splits the first line that holds something."""
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with path.open(encoding="utf-8-sig") as file:
            line = next((line for line in _lines(file, path) if line.strip()), "")
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not a text file") from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from None
    return next((sign for sign in (usual, ",", "\t", ";") if sign in line), usual)


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    """The lines of a file, none of which is without end."""
    while line := file.readline(MOST_LETTERS + 1):
        if len(line) > MOST_LETTERS:
            raise InputError(f"{str(path)!r} has a line of more than {MOST_LETTERS:,} characters; it is no table")
        yield line


def _rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are no empty line, each with the number of the line it ends in."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(_lines(file, path), delimiter=delimiter)
            for row in reader:
                if len(row) > 1 or any(map(str.strip, row)):
                    yield reader.line_num, row
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not a text file") from None
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} of {str(path)!r} is no row of a table: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from None
