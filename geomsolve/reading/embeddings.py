"""Embeddings in a file of any size: which of its columns are the coordinates, and their rows in chunks.

    file.npy            one array, one row a sample        file.csv, .tsv, .parquet    columns of a table
    file.npz[:name]     an array of an archive             file.csv:a,b                the columns a and b
    file.pt[:name]      a tensor                           file.parquet:emb            a list column

Of a table, what is no coordinate is left out and said: the column of the labels, an index as pandas writes it, a
column called id or label, texts.  Where several arrays or list columns could be meant, the complaint lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.reading.arrays import array, columns
from geomsolve.reading.csv import Csv
from geomsolve.reading.files import locate
from geomsolve.reading.labels import LABEL_NAMES, Classes, is_unnamed
from geomsolve.reading.npy import sliced
from geomsolve.reading.source import CHUNK, UNREAD, Column, Source
from geomsolve.reading.table import FORMATS, look

INDEX_NAMES = ("index", "id", "idx")
"""Names of columns that number the rows."""


@dataclass(frozen=True)
class Embeddings:
    """A file, looked at but not read: ``chosen`` columns of ``source``, and those ``left_out``, each with the reason.

    ``place`` is what the user wrote; ``own_columns`` are the names that an array in memory came with.
    """

    place: str
    source: Source
    chosen: tuple[int, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    own_columns: tuple[str, ...] = ()

    @property
    def count(self) -> int | None:
        """Rows, where the file says so before it is read."""
        return self.source.rows_of(self.chosen[0])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the chosen columns, where they have any."""
        names = self.own_columns or [self.source.columns[i].name for i in self.chosen]
        return tuple(names) if any(names) else ()

    def chunks(self) -> Iterator[NDArray[Any]]:
        """Rows (n, d) of floating-point numbers, in chunks, from the first on."""
        return self.source.blocks(self.chosen)


@dataclass(frozen=True, eq=False)
class Held(Source):
    """An array in memory, as a file with one array."""

    held: NDArray[Any]

    def blocks(self, chosen: Sequence[int], *, blank: bool = False) -> Iterator[NDArray[Any]]:
        return sliced(self.held, self.size(self.held.shape[1]))


def embeddings_of(value: Any) -> Embeddings:
    """Embeddings that are given as such: an array of any library, or rows, one row a sample."""
    rows = array(value)
    try:
        rows = np.asarray(rows)
    except ValueError:  # of rows that are not equally long
        rows = np.zeros(0)
    if rows.ndim != 2 or 0 in rows.shape or rows.dtype.kind not in "fiu":
        found = f"{rows.dtype} of shape {rows.shape}" if rows.size else f"{value!r:.60}"
        raise InputError(f"wanted numbers in two dimensions, one row a sample, or the name of a file; got {found}")
    if rows.dtype.kind != "f":
        rows = rows.astype(np.float64)
    place = f"array of {rows.shape[0]:,} x {rows.shape[1]:,}"
    names = columns(value)
    source = Held(Path(place), (Column("", rows.dtype.kind, rows.shape[1:], str(rows.dtype)),), rows.shape[0], rows)
    return Embeddings(place, source, (0,), own_columns=names)


def several_embeddings(value: Any, base: Path | None = None, labels: Classes | None = None) -> tuple[Embeddings, ...]:
    """Embeddings of one or of several files or arrays, as they are written in a question."""
    if names_file(value) or isinstance(value, Embeddings) or not _several(value):
        value = [value]
    if not value:
        raise ValueError("wanted the name of a file with embeddings, or several")
    return tuple(
        each
        if isinstance(each, Embeddings)
        else (open_embeddings(str(each), base, labels) if names_file(each) else embeddings_of(each))
        for each in value
    )


def names_file(value: Any) -> bool:
    """Whether it names a file."""
    return isinstance(value, str) or hasattr(value, "__fspath__")


def _several(value: Any) -> bool:
    """Whether it is a list of embeddings, each a file or an array, rather than the rows of one."""
    if not isinstance(value, (list, tuple)):
        return False
    return all(names_file(each) or isinstance(each, Embeddings) or getattr(each, "ndim", 0) == 2 for each in value)


def open_embeddings(text: str, base: Path | None = None, labels: Classes | None = None) -> Embeddings:
    """The embeddings in a file, whose ``labels`` may stand in the same one."""
    path, key = locate(text, base)
    source = look(path)
    if source is None:
        raise InputError(f"{str(path)!r} is of no kind that is read here; known: {', '.join(FORMATS)}")
    own = (
        labels is not None
        and labels.path is not None
        and bool(labels.column)
        and labels.path.resolve() == path.resolve()
    )
    left_out: tuple[tuple[str, str], ...] = ()
    if key:
        chosen = source.pick(key)
        wrong = [source.columns[i].name for i in chosen if labels and own and source.columns[i].name == labels.column]
        if wrong:
            raise InputError(f"{wrong[0]!r} is the column of the labels; it is no coordinate")
    elif source.beside:
        chosen, left_out = _of_table(source, labels, own=own)
    else:
        wide = [i for i, c in enumerate(source.columns) if c.kind == "f" and c.shape is not None and len(c.shape) == 1]
        flat = [i for i in wide if source.columns[i].shape != (-1,)]
        chosen = [source.only(flat or range(len(source.columns)))]
    for i in chosen:
        _check(source, i, named=bool(key))
    return Embeddings(text, source, tuple(chosen), left_out)


def _of_table(source: Source, labels: Classes | None, *, own: bool) -> tuple[list[int], tuple[tuple[str, str], ...]]:
    """The coordinates among the columns of a table, and the others with the reason."""
    reasons = {i: _reason(source, i, labels, own=own) for i in range(len(source.columns))}
    lists = [i for i, why in reasons.items() if not why and source.columns[i].many]
    if len(lists) > 1:
        source.only(lists)
    chosen = lists or [i for i, why in reasons.items() if not why]
    if not chosen:
        raise InputError(
            f"{str(source.path)!r} has no column of coordinates; it has {source.known}: name them, as in "
            f"{source.path.name}:a,b"
        )
    left_out = [(source.columns[i].name or "(no name)", reasons[i] or "no list") for i in reasons if i not in chosen]
    return chosen, tuple(left_out)


def _reason(source: Source, position: int, labels: Classes | None, *, own: bool) -> str:
    """Why a column of a table is no coordinate; '' if it is one."""
    column = source.columns[position]
    name = column.name.lower()
    if labels is not None and own and column.name == labels.column:
        return "labels"
    if column.many:
        return ""
    if is_unnamed(column, position, source):
        if column.kind == "f":
            raise InputError(
                f"the first column of {str(source.path)!r} has no name and holds no whole numbers: an index or a "
                f"coordinate? Give it a name, or name the coordinates; it has {source.known}"
            )
        return "index"
    if column.kind in "iuUb":
        if name in INDEX_NAMES:
            return "index"
        if name in LABEL_NAMES or (labels is not None and labels.column and column.name == labels.column):
            return "called like labels"
    if column.kind == "U":
        return "texts"
    if column.kind != "f" and not isinstance(source, Csv):
        return {"i": "whole numbers", "u": "whole numbers", "b": "true or false"}.get(column.kind, column.dtype)
    return ""


def _check(source: Source, position: int, *, named: bool) -> None:
    """Refuse what holds no rows of numbers."""
    path, column = str(source.path), source.columns[position]
    if source.beside:
        if source.count == 0:
            raise InputError(f"{path!r} is empty: it has {source.known}, but no rows")
        wanted = "f" if column.many or not named else "fiub"
        if column.kind not in wanted and not (isinstance(source, Csv) and column.kind == "i"):
            raise InputError(f"column {column.name!r} of {path!r} holds {column.dtype}; wanted floating-point numbers")
        return
    if column.kind == UNREAD:
        raise InputError(f"{path!r} holds {column.dtype}")
    shape = column.shape or ()
    if len(shape) == 1 and shape[0] > CHUNK:
        raise InputError(f"{path!r} has {shape[0]:,} numbers a row; at most {CHUNK:,} are read")
    rows = () if shape == (-1,) else (source.rows_of(position), *shape)
    if len(rows) == 2 and 0 in rows:
        raise InputError(f"{path!r} is empty: an array of {rows[0]} rows and {rows[1]} columns")
    if column.kind != "f" or len(rows) != 2:
        shown = f"({', '.join(map(str, rows))}{',' if len(rows) == 1 else ''})"
        raise InputError(
            f"{path!r} holds {column.dtype} of shape {shown}; wanted floating-point numbers in two dimensions, one "
            "row a sample"
        )
