"""Named arrays as numpy saves them together: .npz, streamed out of the archive."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.reading.files import unreadable
from geomsolve.reading.npy import column_of, load, side_by_side, sliced
from geomsolve.reading.source import Source


@dataclass(frozen=True)
class Npz(Source):
    """``rows``: of each array; ``fortran``: whether it is stored column by column, and so read as a whole."""

    rows: tuple[int, ...]
    fortran: tuple[bool, ...]

    @classmethod
    def look(cls, path: Path) -> Npz:
        """The arrays in the archive at ``path``."""
        columns, rows, fortran = [], [], []
        try:
            with zipfile.ZipFile(path) as archive:
                for member in archive.namelist():
                    if member.endswith(".npy"):
                        with archive.open(member) as stream:
                            shape, by_column, dtype = _header(stream)
                            held = archive.getinfo(member).file_size - stream.tell()
                        if min(shape, default=0) < 0 or (
                            not dtype.hasobject and held != math.prod(shape) * dtype.itemsize
                        ):
                            raise ValueError(f"its array {member.removesuffix('.npy')!r} is not of the size it says")
                        columns.append(column_of(member.removesuffix(".npy"), shape, dtype))
                        rows.append(shape[0] if shape else 0)
                        fortran.append(by_column and len(shape) > 1)
        except Exception as error:
            raise unreadable(path, error) from None
        if not columns:
            raise InputError(f"{str(path)!r} holds no array")
        return cls(path, tuple(columns), rows[0] if len(set(rows)) == 1 else None, tuple(rows), tuple(fortran))

    def rows_of(self, position: int) -> int:
        return self.rows[position]

    def blocks(self, chosen: Sequence[int], *, blank: bool = False) -> Iterator[NDArray[Any]]:
        self.unchanged(Npz.look(self.path))
        if len({self.rows[i] for i in chosen}) > 1:
            raise InputError(f"the chosen arrays of {str(self.path)!r} differ in their number of rows")
        width = sum(math.prod(self.columns[i].shape or ()) for i in chosen)
        return side_by_side([self._chunks(i, self.size(width)) for i in chosen])

    def _chunks(self, i: int, size: int) -> Iterator[NDArray[Any]]:
        name = self.columns[i].name
        if self.fortran[i] or self.columns[i].kind not in "fiub":
            yield from sliced(self.values(i), size)
            return
        with zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as stream:
            shape, _, dtype = _header(stream)
            for start in range(0, shape[0], size):
                rows = min(size, shape[0] - start)
                try:
                    data = stream.read(rows * math.prod(shape[1:]) * dtype.itemsize)
                except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
                    raise unreadable(self.path, error) from None
                yield np.frombuffer(data, dtype).reshape(rows, *shape[1:])

    def values(self, position: int) -> NDArray[Any]:
        self.whole([position])
        with load(self.path) as archive:
            try:
                return np.asarray(archive[self.columns[position].name])
            except Exception as error:  # objects, or a broken archive
                raise unreadable(self.path, error) from None


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and type of the .npy data that ``stream`` starts with."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(stream)
