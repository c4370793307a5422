"""One pass over embeddings, in chunks: unit rows, the sums of each class, and what is wrong with rows.

    S_a = sum of z_i / |z_i| over the samples i of class a

Numbers of single precision or less, of an ordinary size, are read as they are.  Where samples stand in the order of
their classes, a few rows at once are summed in single precision, and those sums, as everything else, in double.  The
length of a row is then right to about 1e-7 of it, and so are the sums.  Other rows take the careful way: double
precision, each row first divided by its largest number, so that no square is too large or too small.

Symbols: z ``block``, S ``sums``, a ``codes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.words import counted

if TYPE_CHECKING:
    from geomsolve.reading.embeddings import Embeddings

TOGETHER = 500
"""Rows that are read from memory once: as many as a processor keeps at hand."""

IN_SINGLE = 50
"""Rows that are summed in single precision: what rounding adds up to grows with them."""

ORDINARY = (1e-25, 1e25)
"""Squared lengths in single precision of which neither the rows nor their squares are near the ends of its range."""

Progress = Callable[[int, int], None]
"""Called with the rows read so far and how many there are."""


@dataclass(frozen=True)
class Scan:
    """What one pass over the rows gives: class ``sums`` (K, d) of unit rows, and the unit rows ``kept`` (n, d).

    ``lengths`` are the smallest and the largest of a row; ``lowest`` is the lowest coordinate of any unit row, or some
    coordinate below 0 where only its sign was asked for.
    """

    sums: FloatArray
    kept: FloatArray
    lengths: tuple[float, float]
    lowest: float


Complain = Callable[[str, str, int, int], InputError]
"""Makes an error of rows without a direction: of which file, which kind, how many, and the first of them."""


def with_labels(place: str, kind: str, count: int, first: int) -> InputError:
    """The error where rows have labels."""
    some = f"{counted(count, 'row')} {'is' if count == 1 else 'are'}"
    return InputError(
        f"{place}: {some} {kind}, first row {first} (counted from 0); such rows have no direction: remove them with "
        "their labels",
        field="embeddings",
    )


class Trouble:
    """Rows without a direction: how many of each kind, and the first."""

    def __init__(self) -> None:
        self.kinds = {"not finite": [0, 0], "zero": [0, 0]}

    def note(self, kind: str, wrong: NDArray[np.bool_], before: int) -> None:
        """Count the rows that are ``wrong``, of a block with so many rows ``before`` it."""
        if wrong.any():
            if not self.kinds[kind][0]:
                self.kinds[kind][1] = before + int(np.argmax(wrong))
            self.kinds[kind][0] += int(wrong.sum())

    def refuse(self, place: str, complain: Complain) -> None:
        """Raise the error where there were any."""
        for kind, (count, first) in self.kinds.items():
            if count:
                raise complain(place, kind, count, first)


class Sums:
    """The pass while it goes on."""

    def __init__(self, n_classes: int, width: int, keep: IntArray, *, signs: bool) -> None:
        self.sums = np.zeros((n_classes, width))
        self.kept = np.zeros((keep.size, width))
        self.keep = keep
        self.signs = signs
        self.low, self.high, self.lowest = np.inf, 0.0, np.inf
        self.trouble = Trouble()

    def add(self, block: NDArray[Any], codes: IntArray, done: int) -> None:
        """The next rows (b, d), of classes ``codes`` (b,), with ``done`` rows before them."""
        here = slice(*np.searchsorted(self.keep, (done, done + len(block))))
        chosen = self.keep[here] - done
        if block.dtype.kind == "f" and block.dtype.itemsize <= 4:
            single = block.astype(np.float32, copy=False)
            squares = np.einsum("ij,ij->i", single, single)
            if ORDINARY[0] < squares.min() and squares.max() < ORDINARY[1]:  # neither, for what is not a number
                lengths = np.sqrt(squares.astype(np.float64))
                self._add(single, 1 / lengths, lengths, codes)
                self.kept[here] = _carefully(single[chosen])[0]
                return
        unit, lengths, largest = _carefully(block)
        self.trouble.note("not finite", ~np.isfinite(largest), done)
        self.trouble.note("zero", largest == 0, done)
        if np.all(np.isfinite(largest) & (largest > 0)):
            self._add(unit, np.ones(len(unit)), lengths, codes)
            self.kept[here] = unit[chosen]

    def _add(self, rows: NDArray[Any], scale: FloatArray, lengths: FloatArray, codes: IntArray) -> None:
        """Rows that ``scale`` (b,) brings to unit length."""
        present, which = np.unique(codes, return_inverse=True)
        if present.size <= 2:
            weights = np.zeros((present.size, codes.size), rows.dtype)
            weights[which, np.arange(codes.size)] = scale
            for first in range(0, codes.size, IN_SINGLE):
                here = slice(first, first + IN_SINGLE)
                self.sums[present] += weights[:, here] @ rows[here]
        else:
            from scipy.sparse import csr_array

            shape = (present.size, codes.size)
            self.sums[present] += csr_array((scale, (which, np.arange(codes.size))), shape) @ rows.astype(np.float64)
        self.low, self.high = min(self.low, float(lengths.min())), max(self.high, float(lengths.max()))
        if self.signs or self.lowest >= 0:
            self.lowest = min(self.lowest, float((rows.min(axis=1) * scale).min()))


def _carefully(block: NDArray[Any]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Unit rows in double precision, their lengths, and the largest number of each; nan for rows without direction."""
    with np.errstate(over="ignore"):  # of wider numbers, which are then not finite
        unit = block.astype(np.float64)
    largest = np.abs(unit).max(axis=1, initial=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # of rows without a direction
        unit /= largest[:, None]
        lengths = np.linalg.norm(unit, axis=1)
        unit /= lengths[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        return unit, lengths * largest, largest


def chunks(file: Embeddings, field: str) -> Iterator[NDArray[Any]]:
    """Rows of the embeddings; complaints about them name their ``field``."""
    try:
        yield from file.chunks()
    except InputError as error:
        raise InputError(error.message, field=field) from None


def length(file: Embeddings, field: str) -> int:
    """Rows of a file, which is read if it does not say."""
    return sum(len(chunk) for chunk in chunks(file, field)) if file.count is None else file.count


def scanned(
    file: Embeddings,
    codes: IntArray,
    n_classes: int,
    keep: IntArray,
    progress: Progress,
    *,
    complain: Complain = with_labels,
    field: str = "embeddings",
    signs: bool = False,
) -> tuple[Scan | None, int]:
    """One pass over the embeddings, of classes ``codes`` (n,); the unit rows at the positions ``keep`` are kept.

    With ``signs`` the lowest coordinate is looked for.  The scan is None if there are not as many rows as labels;
    beside it the number of rows, no more than one chunk too many.  Raises what ``complain`` makes of rows without a
    direction, and :class:`InputError` of ``field`` for a file that cannot be read.
    """
    n, done = codes.size, 0
    sums: Sums | None = None
    for chunk in chunks(file, field):
        sums = sums or Sums(n_classes, chunk.shape[1], keep, signs=signs)
        if done + len(chunk) > n:
            return None, done + len(chunk)
        for first in range(0, len(chunk), TOGETHER):
            block = chunk[first : first + TOGETHER]
            sums.add(block, codes[done : done + len(block)], done)
            done += len(block)
        progress(done, n)
    if done != n or sums is None:
        return None, done
    sums.trouble.refuse(file.place, complain)
    return Scan(sums.sums, sums.kept, (sums.low, sums.high), sums.lowest), done
