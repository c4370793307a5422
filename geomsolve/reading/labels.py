"""Sets of labels as users write them: one row a sample.

    20,25,30            scalars                         0,0;1,0;0,1         vectors, rows by ;
    @ages.csv:age       a column (several: lat,lon)     @y.npy              an array of one or two dimensions
    @y.txt              one label a line                -                   standard input
    line:9              0, 1, ..., 8                    line:9:0.5          the same, half as far apart
    circle:8            evenly on the unit circle       circle:8:2.5        radius 2.5
    sphere:40:3         random points on the unit sphere of 3 dimensions (seeded)
    grid:3x3            points with whole coordinates   simplex:4           corners of a regular simplex, radius 1
    classes:5,3,2       class sizes: one-hot vectors, repeated

Everything that goes wrong is a ValueError whose message says what, the value and where it stands.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geomsolve.errors import nearest
from geomsolve.reading.lists import read_numbers
from geomsolve.words import counted

if TYPE_CHECKING:
    from geomsolve.gram.types import FloatArray

MOST_POINTS = 1_000_000
"""Labels that a generator may make."""


@dataclass(frozen=True)
class Generator:
    """A built-in label set: ``make`` turns the parts between colons (and a seed) into an array (n, d)."""

    name: str
    example: str
    summary: str
    make: Callable[[Sequence[str], int], FloatArray]


def _whole(text: str, what: str, least: int = 1) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= MOST_POINTS:
        raise ValueError(f"{what} must be a whole number from {least} to {MOST_POINTS:,}, got {text!r}")
    return value


def _positive(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{what} must be a number above 0, got {text!r}")
    return value


def _line(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    count = _whole(parts[0], "the number of labels", 2)
    step = _positive(parts[1], "the spacing") if len(parts) > 1 else 1.0
    return step * np.arange(count, dtype=np.float64)[:, None]


def _circle(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    count = _whole(parts[0], "the number of labels", 2)
    radius = _positive(parts[1], "the radius") if len(parts) > 1 else 1.0
    angle = 2 * np.pi * np.arange(count) / count
    return np.asarray(radius * np.column_stack([np.cos(angle), np.sin(angle)]), dtype=np.float64)


def _sphere(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    count = _whole(parts[0], "the number of labels", 2)
    dim = _whole(parts[1], "the dimension", 2) if len(parts) > 1 else 3
    if count * dim > 10 * MOST_POINTS:
        raise ValueError(f"{count:,} points in {dim:,} dimensions are too many")
    points = np.random.default_rng(seed).standard_normal((count, dim))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), dtype=np.float64)


def _grid(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    sides = [_whole(side, "a side of the grid") for side in parts[0].lower().split("x")]
    if not 2 <= math.prod(sides) <= MOST_POINTS:
        raise ValueError(f"a grid holds from 2 to {MOST_POINTS:,} labels, {parts[0]!r} has {math.prod(sides):,}")
    axes = np.meshgrid(*(np.arange(side, dtype=np.float64) for side in sides), indexing="ij")
    return np.column_stack([axis.ravel() for axis in axes])


def _simplex(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    count = _whole(parts[0], "the number of labels", 2)
    if count > 5000:
        raise ValueError(f"a simplex has at most 5,000 corners here, got {count:,}")
    return np.asarray(np.sqrt(count / (count - 1)) * (np.eye(count) - 1 / count), dtype=np.float64)


def _classes(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    sizes = [_whole(size, "a class size") for size in parts[0].replace(" ", "").split(",")]
    if not (2 <= sum(sizes) <= MOST_POINTS and sum(sizes) * len(sizes) <= 100 * MOST_POINTS):
        raise ValueError(f"classes need from 2 to {MOST_POINTS:,} samples in all, got {sum(sizes):,}")
    return np.repeat(np.eye(len(sizes)), sizes, axis=0)


GENERATORS = {
    g.name: g
    for g in (
        Generator("line", "line:9", "0, 1, ..., 8; line:9:0.5 spaces them by 0.5", _line),
        Generator("circle", "circle:8", "evenly on a circle of radius 1; circle:8:2.5 has radius 2.5", _circle),
        Generator("sphere", "sphere:40:3", "40 random points on the unit sphere of 3 dimensions (--seed)", _sphere),
        Generator("grid", "grid:3x3", "points with whole coordinates; any number of sides", _grid),
        Generator("simplex", "simplex:4", "the corners of a regular simplex of radius 1", _simplex),
        Generator("classes", "classes:5,3,2", "class sizes: as many equal one-hot labels", _classes),
    )
}
"""Built-in label sets by name; ``geomsolve list labels``."""


def read_labels(value: Any, base: Path | None = None, seed: int = 0) -> FloatArray:
    """Labels (n, d) from a string as in the module, from a sequence of numbers or of rows, or from an array."""
    if isinstance(value, str):
        name, colon, rest = value.partition(":")
        if colon and name in GENERATORS:
            return _finite(_generate(GENERATORS[name], rest, seed))
        if colon and name.isidentifier():
            raise ValueError(f"there is no label set {name!r}; {nearest(name, GENERATORS)}")
        return _finite(_read(value, base))
    return _finite(_array(value))


def read_matrix(value: Any, base: Path | None = None) -> FloatArray:
    """A square matrix (n, n), nan where an entry is blank, ``nan`` or null; text with rows by ``;``, a file or rows."""
    import numpy as np

    if isinstance(value, str):
        if value.startswith("@") and value.endswith(".npy"):
            matrix = _npy(_existing(value[1:], base))
        elif value.startswith("@"):
            path = _existing(value[1:], base)
            matrix = _rows(_file_rows(path), lambda row: f" in line {row} of {str(path)!r}", blank=True)
        else:
            rows = [(number, row.split(",")) for number, row in enumerate(value.split(";"), 1)]
            matrix = _rows(rows, lambda row: f" in row {row}", blank=True)
    else:
        try:
            matrix = np.array([[math.nan if x is None else float(x) for x in row] for row in value], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("wanted a matrix: rows of numbers, all equally long, null where unknown") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = " x ".join(map(str, matrix.shape))
        raise ValueError(f"the matrix must be square, one row and one column a sample, but it is {shape}")
    return matrix


def _generate(generator: Generator, rest: str, seed: int) -> FloatArray:
    parts = rest.split(":")
    if not all(parts) or len(parts) > (2 if generator.name in ("line", "circle", "sphere") else 1):
        raise ValueError(f"'{generator.name}:{rest}' is not understood; write it like {generator.example}")
    return generator.make(parts, seed)


def _read(text: str, base: Path | None) -> FloatArray:
    import numpy as np

    if text.startswith("@") and text.endswith(".npy"):
        return _npy(_existing(text[1:], base))
    if text.startswith("@"):
        name, colon, columns = text[1:].rpartition(":")
        if colon and name.endswith((".csv", ".tsv")) and "," in columns:
            read = [read_numbers(f"@{name}:{column.strip()}", base) for column in columns.split(",")]
            return np.array(read, dtype=np.float64).T
        path = _existing(text[1:], base) if not colon or not name.endswith((".csv", ".tsv")) else None
        rows = _file_rows(path) if path is not None else []
        if rows and len(rows[0][1]) > 1 and _is_number(rows[0][1][0]):
            return _rows(rows, lambda row: f" in line {row} of {str(path)!r}")
    elif ";" in text:
        rows = [(number, row.split(",")) for number, row in enumerate(text.strip().strip(";").split(";"), 1)]
        return _rows(rows, lambda row: f" in label {row}")
    return np.array(read_numbers(text, base), dtype=np.float64)[:, None]


def _existing(name: str, base: Path | None) -> Path:
    path = (base or Path()) / name
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}")
    return path


def _file_rows(path: Path) -> list[tuple[int, list[str]]]:
    """The lines of a text file that hold something, each with its number, split at commas, tabs or spaces."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is not a text file") from None
    rows = []
    for number, line in enumerate(lines, 1):
        content = line.split("#")[0]
        if content.strip():
            delimiter = next((d for d in (",", "\t") if d in content), None)
            cells = next(csv.reader([content], delimiter=delimiter)) if delimiter else content.split()
            rows.append((number, cells))
    return rows


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(rows: list[tuple[int, list[str]]], place: Callable[[int], str], *, blank: bool = False) -> FloatArray:
    """Rows of numbers as an array (n, d); with ``blank`` an empty cell is nan."""
    import numpy as np

    table = []
    for number, cells in rows:
        row = []
        for cell in cells:
            text = cell.strip()
            if not text and blank:
                row.append(math.nan)
                continue
            try:
                row += read_numbers(text)
            except ValueError as error:
                raise ValueError(f"{error}{place(number)}") from None
            if not text:
                raise ValueError(f"an entry is empty{place(number)}")
        table.append(row)
        if len(row) != len(table[0]):
            first = counted(len(table[0]), "entry", "entries")
            raise ValueError(f"all rows must have {first} like the first, but {len(row)}{place(number)}")
    return np.array(table, dtype=np.float64)


def _npy(path: Path) -> FloatArray:
    import numpy as np

    try:
        array = np.load(path, allow_pickle=False)
        if array.ndim not in (1, 2) or array.dtype.kind not in "iuf":
            raise ValueError(f"it holds {array.dtype} of shape {array.shape}")
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{str(path)!r} is no array of numbers of one or two dimensions: {error}") from None
    array = np.asarray(array, dtype=np.float64)
    return array[:, None] if array.ndim == 1 else array


def _array(value: Any) -> FloatArray:
    import numpy as np

    if not isinstance(value, (list, tuple)) and not hasattr(value, "tolist"):
        raise ValueError(f"wanted labels: a list of numbers, or of equally long rows, got {value!r}")
    rows = [list(row) if hasattr(row, "__len__") and not isinstance(row, str) else [row] for row in value]
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"label {number} has {counted(len(row), 'number')}, the first has {len(rows[0])}; make them equal"
            )
        if any(isinstance(x, (bool, str)) or x is None for x in row):
            raise ValueError(f"label {number} is {value[number - 1]!r}, not a number")
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("wanted labels: a list of numbers, or of equally long rows of numbers") from None


def _finite(labels: FloatArray) -> FloatArray:
    import numpy as np

    if labels.size == 0:
        raise ValueError("there are no labels")
    bad = np.flatnonzero(~np.isfinite(labels).all(axis=1))
    if bad.size:
        shown = ", ".join(f"{x:g}" for x in labels[bad[0]])
        raise ValueError(f"label {bad[0] + 1} is {shown}; labels must be finite numbers")
    if labels.shape[0] < 2:
        raise ValueError("one label has no geometry; give at least two")
    return labels
