"""How many samples each class has, from the label of each sample.

    cat,cat,dog        a list of labels, texts or numbers        @y.txt, y.txt      one label a line
    @train.csv:label   a column of a table                       @y.npy             an array (npz, parquet, pt too)
    @onehot.npy        one row a sample, one column a class, a single 1 in each
    -                  standard input

Classes are told apart and sorted as ``labels.py`` says.  A label that may mean that there is none, such as n/a, is
counted like any other, and said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geomsolve.errors import InputError
from geomsolve.reading.files import content, is_file, locate, standard_input
from geomsolve.words import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from geomsolve.reading.labels import Classes

MISSING = ("", "?", "-", "n/a", "na", "nan", "none", "null", "unknown", "<na>")
"""Labels that may mean that there is none, in small letters."""

NONE = "there are no labels; give one a sample, or a file with them"


@dataclass(frozen=True)
class Samples:
    """The ``counts`` of the classes by ``names``, and the ``place`` where the labels stood, '' for labels as such."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    place: str = ""

    @property
    def doubtful(self) -> tuple[tuple[str, int], ...]:
        """Classes whose name may mean that a sample has no label, with their counts."""
        pairs = zip(self.names, self.counts, strict=True)
        return tuple((name, count) for name, count in pairs if name.strip().lower() in MISSING)

    def __str__(self) -> str:
        return self.place


def read_samples(value: Any, base: Path | None = None) -> Samples:
    """The classes of samples from text as in the module, or from a sequence or an array of labels.

    Raises :class:`InputError` for what is no label, and for labels that are all the same.
    """
    if isinstance(value, Samples):
        return value
    found = classes_in(value, base) if isinstance(value, str) or hasattr(value, "__fspath__") else _of_sequence(value)
    if not found.names:
        raise InputError(NONE)
    if len(found.names) < 2:
        raise InputError(f"all labels are {found.names[0]!r}; one class has no geometry")
    return Samples(found.names, tuple(found.counts.tolist()), found.place)


def classes_in(value: Any, base: Path | None = None) -> Classes:
    """The class of each sample from text as in the module, or from the file that is named."""
    text = str(value).strip()
    if text == "-":
        lines = [line.strip() for line in standard_input(base).splitlines() if line.strip()]
        return _counted(_split(lines[0]) if len(lines) == 1 else lines, "standard input", "")
    if text.startswith("@"):
        return _of_file(text[1:], base, text)
    labels = _split(text)
    if not any(labels):
        raise InputError(NONE)
    if len(labels) < 2 or is_file((base or Path()) / text):
        return _of_file(text, base, text)
    if all(re.fullmatch(r".*\S\s*[:=]\s*[0-9._]+%?", label) for label in labels):
        raise InputError(
            f"{text!r:.60} are classes with numbers; give them as counts or props, and labels one a sample"
        )
    return _counted(labels, "the list of labels", text)


def _split(text: str) -> list[str]:
    """Labels between commas or, where there are none, blanks; in brackets or quotes too."""
    if text[:1] == "[" and text[-1:] == "]":
        text = text[1:-1]
    return [part.strip("\"' ") for part in (text.split(",") if "," in text else text.split())]


def _of_file(name: str, base: Path | None, place: str) -> Classes:
    from geomsolve.reading.labels import read_classes

    path, key = locate(name, base)
    if path.suffix.lower() == ".json":
        try:
            return _of_sequence(json.loads(content(path)), place)
        except ValueError as error:
            raise InputError(f"{str(path)!r} is no list of labels: {error}") from None
    one_hot = _one_hot(name, base, path, key)
    if one_hot is not None:
        return _of_one_hot(*one_hot, place)
    return replace(read_classes(name, base), place=place)


def _one_hot(name: str, base: Path | None, path: Path, key: str) -> tuple[NDArray[np.float64], tuple[str, ...]] | None:
    """The numbers of a file with several columns, and their names, where they may be a one-hot matrix."""
    from geomsolve.reading.table import look, read

    source = look(path)
    if source is None:
        return None
    chosen = source.pick(key) if key else list(range(len(source.columns)))
    columns = [source.columns[i] for i in chosen]
    if source.beside and not key:
        if len(columns) < 2 or any(column.kind == "U" for column in columns):
            return None
        name = f"{name}:{','.join(source.names)}" if all(source.names) else name
    elif (len(columns) > 1 and not key) or (len(columns) == 1 and columns[0].shape in ((), (1,), None)):
        return None
    table = read(name, base)
    if table.values.ndim != 2 or table.values.shape[1] < 2:
        return None
    if source.beside and not key and not _is_one_hot(table.values):
        return None  # a table, of which a column is to be named
    return table.values, table.names if len(table.names) == table.values.shape[1] else ()


def _is_one_hot(values: NDArray[np.float64]) -> bool:
    import numpy as np

    return bool(np.all((values == 0) | (values == 1)) and np.all(values.sum(axis=1) == 1))


def _of_one_hot(values: NDArray[np.float64], names: Sequence[str], place: str) -> Classes:
    """Classes by their columns: by name, or by number from 0."""
    import numpy as np

    from geomsolve.reading.labels import Classes

    if not _is_one_hot(values):
        row = int(np.argmin(((values == 0) | (values == 1)).all(axis=1) & (values.sum(axis=1) == 1)))
        raise InputError(
            f"wanted one label a sample, or a one-hot matrix with a single 1 in each row; row {row + 1} of "
            f"{values.shape[0]:,} has {counted(values.shape[1], 'number')} with the sum {values[row].sum():g}"
        )
    seen, codes = np.unique(values.argmax(axis=1), return_inverse=True)
    return Classes(codes.astype(np.int64), tuple(names[i] if names else str(i) for i in seen.tolist()), place)


def _of_sequence(value: Any, place: str = "") -> Classes:
    """Labels as such: a list, an array, a tensor or a series."""
    import numpy as np

    from geomsolve.reading.arrays import array, columns

    plain = array(value)
    plain = plain.tolist() if hasattr(plain, "tolist") else plain
    if not isinstance(plain, (list, tuple)) or not plain:
        raise InputError(f"wanted labels, one a sample, or a file with them, got {value!r:.60}")
    if all(isinstance(row, (list, tuple)) and len(row) == 1 for row in plain):
        plain = [row[0] for row in plain]
    if all(isinstance(row, (list, tuple)) for row in plain):
        try:
            rows = np.array(plain, dtype=np.float64)
        except (TypeError, ValueError):
            rows = np.zeros(0)
        if rows.ndim == 2 and rows.shape[1] > 1:
            return _of_one_hot(rows, columns(value), place)
    return _counted(list(plain), "the list of labels", place)


def _counted(labels: list[Any], where: str, place: str) -> Classes:
    from geomsolve.reading.labels import Classes, tell_apart

    return Classes(*tell_apart(labels, where), place)
