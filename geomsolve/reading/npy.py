"""One array as numpy saves it: .npy, straight from disk.  Nothing is ever unpickled."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.reading.files import unreadable
from geomsolve.reading.source import Column, Source


def load(path: Path, **how: Any) -> Any:
    """What numpy saved in a .npy or .npz file; by itself numpy takes any other file for pickled data."""
    suffix = path.suffix.lower()
    start = b"PK" if suffix == ".npz" else np.lib.format.MAGIC_PREFIX
    try:
        with path.open("rb") as file:
            if file.read(len(start)) != start:
                raise unreadable(path, f"it is no {suffix or '.npy'} file")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a header that is broken, which the error says too
            return np.load(path, allow_pickle=False, **how)
    except InputError:
        raise
    except Exception as error:  # numpy's own, and those of zipfile and tokenize for a broken header
        raise unreadable(path, error) from None


def column_of(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Column:
    """An array as a column; one without an axis has the impossible row shape (-1,)."""
    return Column(name, dtype.kind, shape[1:] if shape else (-1,), str(dtype))


def sliced(array: Any, size: int) -> Iterator[NDArray[Any]]:
    """Rows of an array, ``size`` at once."""
    return (np.asarray(array[i : i + size]) for i in range(0, array.shape[0], size))


def side_by_side(parts: Sequence[Iterator[NDArray[Any]]]) -> Iterator[NDArray[Any]]:
    """Chunks of several arrays with equally many rows, next to each other."""
    for chunks in zip(*parts, strict=True):
        wide = [chunk.reshape(len(chunk), -1) for chunk in chunks]
        yield wide[0] if len(wide) == 1 else np.hstack(wide)


@dataclass(frozen=True)
class Npy(Source):
    """A file with one array, which has no name."""

    @classmethod
    def look(cls, path: Path) -> Npy:
        """The array at ``path``."""
        array = load(path, mmap_mode="r")
        return cls(path, (column_of("", array.shape, array.dtype),), array.shape[0] if array.ndim else None)

    def array(self) -> NDArray[Any]:
        """The array, on disk."""
        found: NDArray[Any] = load(self.path, mmap_mode="r")
        self.unchanged(Npy(self.path, (column_of("", found.shape, found.dtype),), len(found) if found.ndim else None))
        return found

    def blocks(self, chosen: Sequence[int], *, blank: bool = False) -> Iterator[NDArray[Any]]:
        array = self.array()
        return side_by_side([sliced(array, self.size(array.size // max(1, len(array))))])

    def values(self, position: int) -> NDArray[Any]:
        self.whole([position])
        return np.asarray(self.array())
