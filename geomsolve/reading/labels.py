"""Labels of samples: points in a space of labels, or classes.

    20,25,30            scalars                         0,0;1,0;0,1         vectors, rows by ;
    @ages.csv:age       a column (several: lat,lon)     @y.npy              an array of one or two dimensions
    @y.txt              one label a line                -                   standard input
    line:9, circle:8, sphere:40:3, classes:5,3,2, ...   a built-in set (``generators.py``)
    multilabel:a|b,b    tree:@file    ordered:a<b:b,a   labels with a structure (``structures.py``)

*Classes* are told apart by what is written: labels stay texts unless all are whole numbers in the one spelling that
each has (``01`` and ``1`` are two classes), and whole numbers of any size keep apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.reading.arrays import array, columns
from geomsolve.reading.csv import Csv
from geomsolve.reading.files import content, locate
from geomsolve.reading.generators import generate, is_generated
from geomsolve.reading.lists import read_numbers
from geomsolve.reading.numbers import LARGEST, NoNumberError, is_number, is_whole
from geomsolve.reading.source import Column, Source, refuse_many
from geomsolve.reading.structures import in_python, is_structured, read_structured
from geomsolve.reading.table import Table, look, read_rows, too_large

LABEL_NAMES = ("label", "labels", "class", "classes", "target", "targets")
"""Names of columns that hold classes, whoever wrote them."""

UNNAMED = ("", "unnamed: 0", "__index_level_0__")
"""Names that pandas gives to an index without a name."""


def read_labels(value: Any, base: Path | None = None, seed: int = 0) -> Table:
    """Labels (n,) or (n, d) from a string as in the module, from a sequence of numbers or of rows, or from an array."""
    if isinstance(value, Table):
        return value
    if isinstance(value, str) and is_structured(value):
        return _finite(read_structured(value, base))
    value = value if isinstance(value, str) or columns(value) else array(value)
    if (structured := in_python(value)) is not None:
        return _finite(structured)
    if isinstance(value, str) and is_generated(value):
        return _finite(Table(generate(value, seed), (), value))
    if isinstance(value, str) and ";" not in value and not value.startswith("@") and value.strip() != "-":
        try:
            return _finite(Table(np.array(read_numbers(value, base), dtype=np.float64), (), value))
        except NoNumberError as error:
            if any(map(is_number, value.split(","))):  # a slip among numbers
                raise
            raise InputError(f"{error.message}; names, one a sample, are written multilabel:{value:.40}") from None
    if not isinstance(value, (str, list, tuple)) and not hasattr(value, "tolist") and not columns(value):
        raise InputError(f"wanted labels: a list of numbers, or of equally long rows, got {value!r:.60}")
    table = read_rows(value, base, what="label")
    if isinstance(value, str) and ";" not in value and not table.names and len(table.points) == 1:
        table = Table(table.values.ravel(), (), table.place)  # a list in one line
    return _finite(table)


def _finite(table: Table) -> Table:
    labels = table.points
    if labels.size == 0:
        raise InputError("there are no labels")
    bad = np.flatnonzero(~np.isfinite(labels).all(axis=1))
    if bad.size:
        shown = ", ".join(f"{x:g}" for x in labels[bad[0]])
        raise InputError(f"label {bad[0] + 1} is {shown}; labels must be finite numbers")
    off = too_large(labels)
    if off is not None:
        raise InputError(
            f"label {off[0] + 1} holds {labels[off]:g}; at most {LARGEST:g} is computed with, so take another unit"
        )
    if labels.shape[0] < 2:
        raise InputError("one label has no geometry; give at least two")
    return table


@dataclass(frozen=True, eq=False)
class Classes:
    """The class of each row, as a position ``codes`` (n,) in the ``names`` of the classes, which are sorted.

    ``path`` and ``column`` are where they stood, ``place`` what the user wrote; labels that were given as such stood in
    no file, and their ``place`` says how many there are.
    """

    codes: NDArray[np.int64]
    names: tuple[str, ...]
    place: str
    path: Path | None = None
    column: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Classes) or (self.place, self.names) != (other.place, other.names):
            return False
        return bool(np.array_equal(self.codes, other.codes))

    def __hash__(self) -> int:
        return hash((self.place, self.names, self.codes.tobytes()))

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows of each class (K,)."""
        return np.bincount(self.codes, minlength=len(self.names)).astype(np.int64)


def read_classes(text: str, base: Path | None = None) -> Classes:
    """The classes in a file (npy, npz, csv, tsv, parquet, pt, or text with one a line), or in its column."""
    path, key = locate(text, base)
    source = look(path)
    column = ""
    if source is None:
        if key:
            raise InputError(f"{path.name} has no columns to name; leave out {key!r}")
        raw: Any = _without_heading([line.strip() for line in content(path).splitlines() if line.strip()])
    else:
        position = _position(source, key)
        column, raw = source.columns[position].name, source.values(position)
        if isinstance(source, Csv) and not source.heading:
            raw = _without_heading(raw)
    if isinstance(raw, np.ndarray) and raw.ndim == 2 and 1 in raw.shape:
        raw = raw.ravel()
    if not isinstance(raw, np.ndarray):
        refuse_many(path, len(raw))
    if (isinstance(raw, np.ndarray) and raw.ndim != 1) or len(raw) == 0:
        found = f"holds an array of shape {raw.shape}" if isinstance(raw, np.ndarray) else "holds no labels"
        raise InputError(f"{str(path)!r} {found}; wanted one label a row")
    codes, names = tell_apart(raw, str(path))
    return Classes(codes, names, text, path, column)


def classes_of(value: Any) -> Classes:
    """The classes of labels that are given as such: an array of any library or a list, one a row, or one-hot rows."""
    raw = array(value)
    if isinstance(raw, (list, tuple)):
        raw = np.array(raw) if raw and not any(isinstance(x, str) for x in raw) else list(raw)
    if isinstance(raw, np.ndarray) and raw.ndim == 2:
        if raw.shape[1] == 1:
            raw = raw[:, 0]
        elif raw.dtype.kind in "iufb" and np.all((raw == 0) | (raw == 1)) and np.all(raw.sum(axis=1) == 1):
            raw = np.array(columns(value) or [str(i) for i in range(raw.shape[1])])[raw.argmax(axis=1)]
    if isinstance(raw, np.ndarray) and raw.dtype.kind == "O":
        raw = raw.tolist() if raw.ndim == 1 else raw
    one_a_row = isinstance(raw, list) or (isinstance(raw, np.ndarray) and raw.ndim == 1)
    if not one_a_row or len(raw) == 0:
        raise InputError(f"wanted one label a row, got {_shaped(value)}")
    codes, names = tell_apart(raw, "the labels")
    return Classes(codes, names, f"{len(raw):,} labels")


def _shaped(value: Any) -> str:
    """What was given, in a few words."""
    shape = getattr(value, "shape", None)
    return f"an array of shape {tuple(shape)}" if shape is not None else f"{value!r:.60}"


def _position(source: Source, key: str) -> int:
    """The column that ``key`` names; without it the only one that can hold a label a row."""
    if key:
        positions = source.pick(key)
        if len(positions) > 1:
            raise InputError(f"one column holds the classes, but {key!r} names {len(positions)}")
        return positions[0]
    if source.beside:
        named = [i for i, column in enumerate(source.columns) if not is_unnamed(column, i, source)]
        return source.only(named, likely=LABEL_NAMES)
    flat = [i for i, column in enumerate(source.columns) if column.shape in ((), (1,))]
    return source.only(flat or range(len(source.columns)))


def is_unnamed(column: Column, position: int, source: Source) -> bool:
    """Whether it is an index that pandas wrote without a name: the first column, or marked as one."""
    name = column.name.lower()
    return any(source.names) and name in UNNAMED and (position == 0 or name != "")


def _without_heading(lines: list[str]) -> list[str]:
    """Lines without a first one that is a heading: the only text above numbers, or a usual name above texts."""
    if len(lines) > 1 and not is_number(lines[0]):
        usual = lines[0].lower() in LABEL_NAMES and lines[0] not in lines[1:]
        if usual or all(map(is_number, lines[1:])):
            return lines[1:]
    return lines


def tell_apart(raw: Sequence[Any] | NDArray[Any], where: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Classes (n,) as positions in their sorted names, from texts, whole numbers or truth values."""
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "iufb":
        if raw.dtype.kind == "f":
            whole = np.isfinite(raw) & (raw == np.floor(raw))
            if not whole.all():
                first = int(np.argmin(whole))
                raise InputError(f"label {first} is {raw[first]}; classes are whole numbers or names")
        values, codes = np.unique(raw, return_inverse=True)
        names = [str(int(x) if isinstance(x, float) else x) for x in values.tolist()]
        return codes.astype(np.int64), tuple(names)
    if isinstance(raw, np.ndarray) and raw.dtype.kind not in "US":
        raise InputError(f"{where!r} holds {raw.dtype}; classes are whole numbers or names")
    labels = [_spelled(x, i) for i, x in enumerate(raw.tolist() if isinstance(raw, np.ndarray) else raw)]
    distinct = set(labels)
    numeric = {x for x in distinct if is_number(x)}
    missing = [x for x in distinct if x.lower() == "nan"]
    if missing and len(distinct) > 1 and numeric == distinct:
        raise InputError(f"label {labels.index(missing[0])} is {missing[0]}; classes are whole numbers or names")
    names = sorted(distinct, key=int) if all(map(is_whole, distinct)) else sorted(distinct)
    place = {name: code for code, name in enumerate(names)}
    return np.fromiter((place[x] for x in labels), np.int64, len(labels)), tuple(names)


def _spelled(label: Any, row: int) -> str:
    """A label as the text that tells it apart."""
    if isinstance(label, bytes):
        return label.decode("utf-8", "backslashreplace")
    if isinstance(label, (float, Decimal)) and math.isfinite(label) and label == int(label):
        return str(int(label))
    if isinstance(label, (str, int)):
        return str(label)
    raise InputError(f"label {row} is {label!r:.60}; classes are whole numbers or names")
