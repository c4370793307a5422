"""Matrices: tables of numbers that are finite, or square with unknown entries.

0.4,0.1;0.1,0.4    rows split at semicolons        @file.npy, @file.csv, @file    a file, as ``table.py`` reads it
1,.6,;.6,1,;,,1    blank, nan or null where unknown (partial matrices only, which also come with names, condensed, or as
                   pairs; see ``square.py``)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.reading.csv import Csv
from geomsolve.reading.files import locate
from geomsolve.reading.numbers import LARGEST
from geomsolve.reading.square import condensed, listed, named_cells
from geomsolve.reading.table import Table, look, read_rows, too_large


def read_matrix(value: Any, base: Path | None = None) -> Table:
    """A finite matrix with at least one entry, from text, rows or an array; files are relative to ``base``."""
    table = read_rows(value, base)
    if table.values.ndim == 1 and table.place:  # a file of one column
        table = Table(table.points, table.names, table.place)
    if table.values.ndim != 2 or table.values.size == 0:
        raise InputError("wanted a matrix of numbers: rows of equal length")
    if not np.all(np.isfinite(table.values)):
        row, column = np.argwhere(~np.isfinite(table.values))[0] + 1
        where = f" of {table.place}" if table.place.startswith("@") else ""
        raise InputError(f"the entry in row {row}, column {column}{where} is not finite")
    return _in_range(table)


def read_partial(value: Any, base: Path | None = None) -> Table:
    """A square matrix (n, n), nan where an entry is blank, ``nan`` or null, with the names of its samples if any.

    Also its n (n - 1)/2 numbers above the diagonal, and a list of pairs ``i,j,s``.
    """
    if isinstance(value, Table):
        return value
    if isinstance(value, str) and value.startswith("@"):
        path, key = locate(value[1:], base)
        source = None if key else look(path)
        named = named_cells(source) if isinstance(source, Csv) else None
        if named is not None:
            return _square(*named, value)
    table = read_rows(value, base, blank=True)
    matrix = table.points if table.place else table.values
    if 1 in (*matrix.shape, matrix.ndim) and (found := condensed(matrix.ravel())) is not None:
        return _square(found, (), table.place)
    if (pairs := listed(matrix)) is not None:
        return _square(*pairs, table.place)
    return _square(matrix, table.names, table.place)


def _square(matrix: NDArray[Any], names: tuple[str, ...], place: str) -> Table:
    """The table of a matrix, if it is square."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        shape = " x ".join(map(str, matrix.shape))
        raise InputError(
            f"the matrix must be square, one row and one column a sample, but it is {shape}; n (n - 1)/2 numbers, "
            "those above the diagonal, and rows i,j,s for pairs are read too"
        )
    own = () if names == tuple(map(str, range(matrix.shape[0]))) else names  # rows that are only numbered
    return _in_range(Table(matrix, own, place))


def _in_range(table: Table) -> Table:
    """The table, if its numbers can be computed with."""
    off = too_large(table.values)
    if off is not None:
        raise InputError(
            f"the entry in row {off[0] + 1}, column {off[1] + 1} is {table.values[off]:g}; at most {LARGEST:g} is "
            "computed with"
        )
    return table
