"""Matrices: tables of numbers that are finite, or square with unknown entries.

0.4,0.1;0.1,0.4    rows split at semicolons        @file.npy, @file.csv, @file    a file, as ``table.py`` reads it
1,.6,;.6,1,;,,1    blank, nan or null where unknown (partial matrices only)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from geomsolve.errors import InputError
from geomsolve.reading.numbers import LARGEST
from geomsolve.reading.table import Table, read_rows, too_large


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
    """A square matrix (n, n), nan where an entry is blank, ``nan`` or null."""
    if isinstance(value, Table):
        return value
    table = read_rows(value, base, blank=True)
    matrix = table.points if table.place else table.values
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        shape = " x ".join(map(str, matrix.shape))
        raise InputError(f"the matrix must be square, one row and one column a sample, but it is {shape}")
    return _in_range(Table(matrix, table.names, table.place))


def _in_range(table: Table) -> Table:
    """The table, if its numbers can be computed with."""
    off = too_large(table.values)
    if off is not None:
        raise InputError(
            f"the entry in row {off[0] + 1}, column {off[1] + 1} is {table.values[off]:g}; at most {LARGEST:g} is "
            "computed with"
        )
    return table
