"""Matrices as users write them.

    0.4,0.1;0.1,0.4    rows split at semicolons        @file.npy    a numpy array of two dimensions
    @file              text, one row a line, numbers split by commas or spaces; # starts a comment

Everything that goes wrong is a ValueError whose message says what, the value and where it stands.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.reading.lists import _existing, _number, _text
from geomsolve.words import counted

FloatArray = NDArray[np.float64]

Rows = str | tuple[tuple[float, ...], ...]
"""A matrix in a problem: where it stands (``@file``), or its rows."""


def as_rows(value: Any, base: Path | None = None) -> Rows:
    """What a problem keeps of a matrix: the name of a file, as written, or else its rows; read once, to check it."""
    matrix = read_matrix(value, base)
    return value if isinstance(value, str) and value.startswith("@") else tuple(map(tuple, matrix.tolist()))


def read_matrix(value: Any, base: Path | None = None) -> FloatArray:
    """A finite matrix with at least one entry, from text, rows or an array; files are relative to ``base``."""
    if not isinstance(value, str):
        matrix, where = value, ""
    elif value.startswith("@") and value.endswith(".npy"):
        path = _existing(value[1:], base)
        where = f" in {str(path)!r}"
        try:
            matrix = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            raise ValueError(f"{str(path)!r} is no numpy array of numbers") from None
    else:
        matrix, where = _parse(value, base)
    try:
        array = np.asarray(matrix)
        if array.dtype.kind not in "biuf" or array.ndim != 2 or array.size == 0:
            raise ValueError
    except ValueError:
        raise ValueError(f"wanted a matrix of numbers: rows of equal length{where}") from None
    if not np.all(np.isfinite(array)):
        row, column = np.argwhere(~np.isfinite(array))[0] + 1
        raise ValueError(f"the entry in row {row}, column {column}{where} is not finite")
    return array.astype(np.float64)


def _parse(text: str, base: Path | None) -> tuple[list[list[float]], str]:
    """Rows of numbers, and where they stand."""
    if text.startswith("@"):
        path = _existing(text[1:], base)
        lines, where = _text(path).splitlines(), f" of {str(path)!r}"
    elif text == "-":
        if base is not None:
            raise ValueError("only the command line reads standard input; name a file, as in '@file'")
        lines, where = sys.stdin.read().splitlines(), " of standard input"
    else:
        lines, where = text.split(";"), ""
    rows = []
    for number, line in enumerate(lines, 1):
        tokens = [token for token in re.split(r"[,\s]+", line.split("#")[0].strip()) if token]
        if tokens:
            rows.append([_number(token, f" in row {number}{where}") for token in tokens])
            if len(rows[-1]) != len(rows[0]):
                raise ValueError(
                    f"row {number}{where} has {counted(len(rows[-1]), 'number')}, the first row has {len(rows[0])}"
                )
    return rows, where.replace(" of ", " in ", 1)
