"""Tables of .parquet files: columns of numbers, of texts, or of lists of numbers (needs pyarrow)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.reading.files import optional, unreadable
from geomsolve.reading.source import Column, Source
from geomsolve.words import counted

LIST_WIDTH = 512
"""Numbers that a list is taken for, when chunks are measured out before any list has been seen."""


@dataclass(frozen=True)
class Parquet(Source):
    """A list column has ``shape`` None unless its type fixes the length."""

    beside: ClassVar[bool] = True
    word: ClassVar[str] = "column"

    @classmethod
    def look(cls, path: Path) -> Parquet:
        """The columns of the table at ``path``."""
        file = _open(path)
        columns = tuple(map(_column, file.schema_arrow))
        twice = sorted({c.name for c in columns if [d.name for d in columns].count(c.name) > 1})
        if twice:
            raise InputError(f"{str(path)!r} has several columns called {twice[0]!r}; give each its own name")
        return cls(path, columns, int(file.metadata.num_rows))

    def blocks(self, chosen: Sequence[int], *, blank: bool = False) -> Iterator[NDArray[Any]]:
        self.unchanged(Parquet.look(self.path))
        widths = [
            (column.shape or (LIST_WIDTH,))[0] if column.many else 1 for column in map(self.columns.__getitem__, chosen)
        ]
        names = [self.columns[i].name for i in chosen]
        lengths: dict[str, int] = {}
        done = 0
        for batch in self._batches(names, self.size(sum(widths))):
            parts = []
            for i, name in zip(chosen, names, strict=True):
                array = batch.column(batch.schema.get_field_index(name))
                if self.columns[i].many:
                    parts.append(self._lists(array, name, lengths, done))
                else:
                    if array.null_count and not blank:
                        raise self._null(name, done + _first_null(array))
                    parts.append(_numpy(array)[:, None])
            done += batch.num_rows
            yield parts[0] if len(parts) == 1 else np.hstack(parts)

    def _batches(self, names: list[str], size: int) -> Iterator[Any]:
        """Rows of some columns, ``size`` at once."""
        batches = _open(self.path).iter_batches(batch_size=size, columns=names)
        while True:
            try:
                batch = next(batches, None)
            except (OSError, ValueError) as error:  # what pyarrow raises for a broken page
                raise unreadable(self.path, error) from None
            if batch is None:
                return
            yield batch

    def _lists(self, array: Any, name: str, lengths: dict[str, int], done: int) -> NDArray[Any]:
        """Lists as rows (n, d), d that of the first."""
        if array.null_count:
            raise self._null(name, done + _first_null(array))
        compute = importlib.import_module("pyarrow.compute")
        found = _numpy(compute.list_value_length(array))
        wanted = lengths.setdefault(name, int(found[0]) if found.size else 0)
        if np.any(found != wanted):
            wrong = int(np.argmax(found != wanted))
            has = f"{counted(int(found[wrong]), 'number')} in column {name!r}, the first row has {wanted}"
            raise InputError(f"row {done + wrong + 1} of {str(self.path)!r} has {has}")
        inner = array.flatten()
        if inner.null_count:
            place = done + _first_null(inner) // max(1, wanted) + 1
            raise InputError(f"row {place} of {str(self.path)!r} has an empty number in column {name!r}")
        return _numpy(inner).reshape(len(array), wanted)

    def values(self, position: int) -> list[Any]:
        self.whole([position])
        name = self.columns[position].name
        try:
            column = _open(self.path).read(columns=[name]).column(0)
        except (OSError, ValueError) as error:  # what pyarrow raises for a broken page
            raise unreadable(self.path, error) from None
        if column.null_count:
            raise self._null(name, _first_null(column))
        return list(column.to_pylist())

    def _null(self, name: str, row: int) -> InputError:
        return InputError(f"row {row + 1} of {str(self.path)!r} has nothing in column {name!r}")


def _open(path: Path) -> Any:
    parquet = optional("pyarrow.parquet", ".parquet", "'geomsolve[parquet]'")
    try:
        return parquet.ParquetFile(path)
    except Exception as error:
        raise unreadable(path, error) from None


def _column(field: Any) -> Column:
    types = importlib.import_module("pyarrow.types")
    kind = field.type
    shape: tuple[int, ...] | None = ()
    fixed = types.is_fixed_size_list(kind)
    many = fixed or types.is_list(kind) or types.is_large_list(kind)
    if many:
        shape = (kind.list_size,) if fixed else None
        kind = kind.value_type
    if types.is_dictionary(kind):
        kind = kind.value_type
    letter = "O"
    for test, found in (("floating", "f"), ("signed_integer", "i"), ("unsigned_integer", "u"), ("boolean", "b")):
        if getattr(types, f"is_{test}")(kind):
            letter = found
    if any(getattr(types, f"is_{test}")(kind) for test in ("string", "large_string", "binary", "large_binary")):
        letter = "U"
    return Column(field.name, letter, shape, str(kind))


def _first_null(array: Any) -> int:
    return int(array.is_null().to_pylist().index(True))


def _numpy(array: Any) -> NDArray[Any]:
    return np.asarray(array.to_numpy(zero_copy_only=False))
