"""What stands in a file, looked at but not read yet: a :class:`Source` has :class:`Column` s.

A column of a table and an array of an archive are the same thing here: named values, one or several a row.  Every
format has a Source of its own, which reads rows in chunks as often as it is asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError

FloatArray = NDArray[np.float64]

CHUNK = 2**22
"""Numbers that are read at once."""


MOST_VALUES = 2**25
"""Numbers that are read as a whole, such as the labels of samples; only embeddings, read in chunks, may be more."""


def refuse_many(path: Path, values: int) -> None:
    """InputError for more values than are read as a whole, before any is."""
    if values > MOST_VALUES:
        raise InputError(f"{str(path)!r} holds {values:,} values; at most {MOST_VALUES:,} are read as a whole")


UNREAD = "x"
"""The kind of a column that cannot be read; its ``dtype`` says what it is."""


@dataclass(frozen=True)
class Column:
    """Values under a name.

    ``kind`` is numpy's letter for their type ('f' floating point, 'i' and 'u' whole, 'b', 'U' text), or 't' for cells
    of a text file, which are numbers or not; ``dtype`` says it in words.  ``shape`` is that of one row: () for one
    value, (d,) for d, None where the file only tells when it is read.
    """

    name: str
    kind: str
    shape: tuple[int, ...] | None = ()
    dtype: str = "text"

    @property
    def many(self) -> bool:
        """Whether a row holds several values."""
        return self.shape != ()


@dataclass(frozen=True)
class Source:
    """The columns of a file and how many rows it has, None where only reading tells.

    ``beside``: the columns stand side by side in rows, as in a table; else they are arrays of their own.
    ``word`` is what a message calls a column.
    """

    beside: ClassVar[bool] = False
    word: ClassVar[str] = "array"

    path: Path
    columns: tuple[Column, ...]
    count: int | None

    def blocks(self, chosen: Sequence[int], *, blank: bool = False) -> Iterator[NDArray[Any]]:
        """Numbers of the ``chosen`` columns side by side, in chunks (rows, d), from the first row on.

        With ``blank`` an empty cell is nan.
        """
        raise NotImplementedError

    def values(self, position: int) -> Sequence[Any] | NDArray[Any]:
        """All values of one column, as they are; an empty one is an error that says where."""
        raise NotImplementedError

    @property
    def header(self) -> str:
        """What there is to name, for a message."""
        return f"it has {self.known}"

    def rows_of(self, position: int) -> int | None:
        """How many rows a column has, where the file says so."""
        return self.count

    def whole(self, chosen: Sequence[int]) -> None:
        """InputError where the ``chosen`` columns are too large to be read as a whole; texts count by eight letters."""
        for i in chosen:
            column, rows = self.columns[i], self.rows_of(i)
            if rows is not None:
                letters = re.fullmatch(r"[<>|=]?[US]([0-9]+)", column.dtype)
                refuse_many(
                    self.path, rows * math.prod(column.shape or ()) * (1 + int(letters[1]) // 8 if letters else 1)
                )

    def size(self, width: int) -> int:
        """Rows of a chunk with so many numbers a row."""
        return max(1, CHUNK // max(1, width))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def known(self) -> str:
        """The names of the columns, for a message."""
        return ", ".join(name or "(no name)" for name in self.names) or "none"

    def example(self, position: int) -> str:
        """How a user names one column of this file."""
        return f"{self.path.name}:{self.columns[position].name}"

    def unchanged(self, now: Source) -> None:
        """Complain if the file, looked at again as ``now``, is no longer what it was."""
        if (now.columns, now.count) != (self.columns, self.count):
            raise InputError(f"{str(self.path)!r} changed since it was looked at first; ask again")

    def pick(self, key: str) -> list[int]:
        """The columns that ``key`` names: one by its whole name, or several split at commas."""
        names = self.names
        if names == ("",) and not self.beside:
            raise InputError(f"{self.path.name} holds one {self.word} without a name; leave out {key!r}")
        wanted = [key] if key in names else [part.strip() for part in key.split(",")]
        for name in wanted:
            times = names.count(name)
            if times == 0:
                raise InputError(f"{str(self.path)!r} has no {self.word} {name!r}; {self.header}")
            if times > 1:
                raise InputError(f"{str(self.path)!r} has {times} {self.word}s called {name!r}; give each its own name")
        return [names.index(name) for name in wanted]

    def only(self, candidates: Sequence[int] | None = None, sign: str = "", likely: Sequence[str] = ()) -> int:
        """The one column that there is, or that ``candidates`` leave; else an error that lists them.

        ``sign`` is what a user writes before the name of a file; one of the ``likely`` names is the example.
        """
        left = range(len(self.columns)) if candidates is None else candidates
        if len(left) == 1:
            return left[0]
        if not left:
            raise InputError(f"{str(self.path)!r} holds no {self.word} that fits; it has {self.known}")
        example = next((i for i in left if self.names[i].lower() in likely), left[0])
        several = "several" if self.beside else f"{len(left)}"
        raise InputError(
            f"{str(self.path)!r} has {several} {self.word}s: name one, as in {sign}{self.example(example)}; "
            f"it has {self.known}"
        )
