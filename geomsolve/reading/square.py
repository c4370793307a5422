"""Square matrices of pairs in the forms in which programs write them, each as rows (n, n) with names of the samples.

    ,a,b,c         names above, and in the first column or not; or in the first column alone
    a,0,3,4
    3,4,5          condensed: the n (n - 1)/2 entries above the diagonal, row by row
    i,j,s          a list of pairs, with or without such a heading; what is not listed is unknown
    a,b,3

Symbols: n samples, k numbers of a condensed matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from geomsolve.errors import InputError
from geomsolve.reading.csv import Csv
from geomsolve.reading.numbers import exact, is_number
from geomsolve.reading.source import FloatArray, refuse_many

MOST_NAMED = 10_000
"""Samples that a list of pairs may name: the matrix has their square of entries."""

Named = tuple[FloatArray, tuple[str, ...]]
"""A matrix (n, n), nan where unknown, and the names of its samples, () where they have none."""


def named_cells(source: Csv) -> Named | None:
    """The matrix in a table that holds names of samples; None where it holds none."""
    grid = [list(source.names)] if source.heading else []
    places = [f"line 1 of {str(source.path)!r}"] * len(grid)
    count = 0
    for place, row in source.rows(blank=True):
        count += len(row)
        refuse_many(source.path, count)
        grid.append([cell.strip() for cell in row])
        places.append(place)
    if len(grid) < 2:
        return None
    above, beside = grid[0], [row[0] for row in grid]
    if len(above) == len(grid) and set(above[1:]) == set(beside[1:]) and not is_number(above[0]):
        whole = all(row[i] for i, row in enumerate(grid[1:], 1))  # a blank diagonal leaves a corner blank, too
        if _words(above[1:]) or (whole and above[1:] == beside[1:]):
            names, across = _distinct(beside[1:], "row"), _distinct(above[1:], "column")
            matrix = _numbers([row[1:] for row in grid[1:]], places[1:])
            return matrix[:, [across.index(name) for name in names]], names
    if len(above) == 3 and all(_words([row[1]]) for row in grid[1:]):
        return _pairs(grid, places)
    if len(grid) == len(above) + 1 and _words(above):
        matrix = _numbers(grid[1:], places[1:])
        return listed(matrix) or (matrix, _distinct(above, "column"))
    if len(above) == len(grid) + 1 and _words(beside):
        return _numbers([row[1:] for row in grid], places), _distinct(beside, "row")
    return _pairs(grid, places) if len(above) == 3 and source.heading and _words(above[2:]) else None


def _pairs(grid: Sequence[Sequence[str]], places: Sequence[str]) -> Named:
    """The matrix of a list of pairs in cells, whose first row may be a heading."""
    start = 1 if _words(grid[0][2:]) else 0
    values = _numbers([row[2:] for row in grid[start:]], places[start:])[:, 0]
    return of_pairs([(row[0], row[1]) for row in grid[start:]], values)


def of_pairs(pairs: Sequence[tuple[str, str]], values: FloatArray) -> Named:
    """The matrix of a list of pairs by name, with their ``values`` (k,); numbers as names are put in order."""
    seen = dict.fromkeys(name for pair in pairs for name in pair)
    if "" in seen:
        raise InputError("a pair in the list has no name; give both of every pair")
    names = list(seen)
    if all(map(is_number, names)):
        names.sort(key=float)
    if len(names) > MOST_NAMED:
        raise InputError(f"the list of pairs names {len(names):,} samples; at most {MOST_NAMED:,} are read")
    at = {name: i for i, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), math.nan)
    for (one, other), value in zip(pairs, values.tolist(), strict=True):
        i, j = at[one], at[other]
        known = matrix[i, j]
        if not math.isnan(known) and known != value:
            raise InputError(f"the pair {one}, {other} is listed twice, as {known:g} and as {value:g}")
        matrix[i, j] = matrix[j, i] = value
    return matrix, tuple(names)


def listed(matrix: FloatArray) -> Named | None:
    """The matrix of a list of pairs (k, 3) by number, with the numbers as names; None where it cannot be one."""
    if matrix.ndim != 2 or matrix.shape[1] != 3 or not matrix.size:
        return None
    ends = matrix[:, :2]
    whole = np.all(np.isfinite(ends)) and np.all(ends == np.round(ends)) and np.all(ends >= 0)
    if not whole or np.all(ends[:, 0] == ends[:, 1]):
        return None
    if matrix.shape[0] == 3 and np.array_equal(matrix, matrix.T, equal_nan=True):
        return None  # a square matrix as it stands
    if len({tuple(sorted(pair)) for pair in ends.tolist()}) < matrix.shape[0]:
        return None
    return of_pairs([(f"{i:.0f}", f"{j:.0f}") for i, j in ends.tolist()], matrix[:, 2])


def condensed(values: FloatArray) -> FloatArray | None:
    """The matrix (n, n) of k = n (n - 1)/2 numbers, its diagonal unknown; None where k is no such number above 1."""
    n = (1 + math.isqrt(1 + 8 * values.size)) // 2
    if values.size < 3 or n * (n - 1) // 2 != values.size:
        return None
    matrix = np.full((n, n), math.nan)
    matrix[np.triu_indices(n, 1)] = values
    matrix.T[np.triu_indices(n, 1)] = values
    return matrix


def _words(cells: Sequence[str]) -> bool:
    """Whether some cell holds text that is no number."""
    return any(cell and not is_number(cell) and cell.lower() not in ("nan", "null") for cell in cells)


def _distinct(names: Sequence[str], what: str) -> tuple[str, ...]:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two {what}s are called {twice!r}; give each sample its own name")
    return tuple(names)


def _numbers(rows: Sequence[Sequence[str]], places: Sequence[str]) -> FloatArray:
    """The cells as numbers, nan where blank, nan or null."""
    return np.array(
        [
            [exact(cell, f" in {place}") if cell and cell.lower() not in ("nan", "null") else math.nan for cell in row]
            for row, place in zip(rows, places, strict=True)
        ],
        dtype=np.float64,
    )
