"""Lists as users write them.

    0.7,0.2,0.1      commas or spaces              1/3,1/3,1/3     fractions
    90*0.01,0.1      repeats                       @file           one value a line; several are read too
    @file.csv:col    a column by its header        @file.npy       a numpy array of one dimension
    -                standard input

Everything that goes wrong is a ValueError whose message says what, the value and where it stands.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

MOST_ITEMS = 20_000_000
"""Items that a repeat like ``5*0.2`` may expand to."""


def read_numbers(text: str, base: Path | None = None) -> list[float]:
    """Finite-looking numbers from a list; nan and inf are read as such, for the caller to judge.

    Files are looked up relative to ``base`` (default: the working directory).
    """
    if text.startswith("@") and text[1:].endswith(".npy"):
        return _read_npy(_existing(text[1:], base))
    numbers: list[float] = []
    for token, place in _tokens(text, base):
        count, star, rest = token.partition("*")
        repeat = 1
        if star:
            if not re.fullmatch(r"[0-9]+", count):
                raise ValueError(f"{token!r}{place} is no repeat; write a count, a star and a number, as in 4*0.25")
            repeat = int(count)
            if len(numbers) + repeat > MOST_ITEMS:
                raise ValueError(f"{token!r}{place} repeats too often; at most {MOST_ITEMS:,} numbers are read")
        numbers += [_number(rest if star else token, place)] * repeat
    return numbers


def read_names(text: str, base: Path | None = None) -> list[str]:
    """Names from a list: split at commas only, so that a name may hold spaces; files hold one a line."""
    if text == "-" or text.startswith("@"):
        return [name for name, _ in _tokens(text, base, _whole_line)]
    return [name.strip() for name in text.split(",")]


def _number(token: str, place: str) -> float:
    try:
        if "/" in token:
            return float(Fraction(token.replace(" ", "")))
        if "_" in token:
            raise ValueError
        return float(token)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ValueError(f"{token!r}{place} is not a number") from None


def _existing(name: str, base: Path | None) -> Path:
    path = (base or Path()) / name
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}")
    return path


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is not a text file") from None
    except OSError as error:
        raise ValueError(f"cannot read {str(path)!r}: {error.strerror}") from None


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", text) if word]


def _words_of_line(line: str) -> list[str]:
    """Words before a comment."""
    return _words(line.split("#")[0])


def _whole_line(line: str) -> list[str]:
    return [line.strip()] if line.strip() else []


def _tokens(text: str, base: Path | None, parts: Callable[[str], list[str]] = _words_of_line) -> list[tuple[str, str]]:
    """The ``parts`` of every line, each with ' in line N of file' where it came from one."""
    if text == "-":
        if base is not None:
            raise ValueError("only the command line reads lists from standard input; name a file, as in '@file'")
        return _split(sys.stdin.read(), parts, "standard input")
    if not text.startswith("@"):
        return [(token, "") for token in _words(text)]
    name, colon, column = text[1:].rpartition(":")
    if colon and column and name.endswith((".csv", ".tsv")):
        return _column(_existing(name, base), column)
    path = _existing(text[1:], base)
    if path.suffix == ".csv":
        header = _rows(path)[:1]
        known = f"; it has {', '.join(header[0])}" if header else ""
        if header and len(header[0]) > 1 and not _is_number(header[0][0]):
            raise ValueError(f"{str(path)!r} has several columns: name one, as in @{path.name}:{header[0][0]}{known}")
    return _split(_text(path), parts, repr(str(path)))


def _split(content: str, parts: Callable[[str], list[str]], source: str) -> list[tuple[str, str]]:
    return [
        (part, f" in line {number} of {source}")
        for number, line in enumerate(content.splitlines(), 1)
        for part in parts(line)
    ]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _rows(path: Path) -> list[list[str]]:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    return [[cell.strip() for cell in row] for row in csv.reader(_text(path).splitlines(), delimiter=delimiter)]


def _column(path: Path, column: str) -> list[tuple[str, str]]:
    rows = _rows(path)
    if not rows or column not in rows[0]:
        header = ", ".join(rows[0]) if rows else "an empty file"
        raise ValueError(f"{str(path)!r} has no column {column!r}; its header is {header}")
    place = rows[0].index(column)
    cells = []
    for number, row in enumerate(rows[1:], 2):
        if not any(row):
            continue
        if len(row) <= place or not row[place]:
            raise ValueError(f"line {number} of {str(path)!r} has nothing in column {column!r}")
        cells.append((row[place], f" in line {number} of {str(path)!r}"))
    return cells


def _read_npy(path: Path) -> list[float]:
    import numpy as np  # here, so that reading a plain list does not wait for numpy

    try:
        array = np.load(path, allow_pickle=False)
        if array.ndim != 1 or array.dtype.kind not in "iuf":
            raise ValueError(f"it holds {array.dtype} of shape {array.shape}")
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{str(path)!r} is no one-dimensional array of numbers: {error}") from None
    return [float(x) for x in array]
