"""Lists as users write them.

    0.7,0.2,0.1      commas or spaces              1/3,1/3,1/3     fractions
    90*0.01,0.1      repeats                       @file           one value a line; several are read too
    @file.csv:col    a column by its header        @file.npy       an array of one dimension (npz, parquet, pt too)
    -                standard input

Everything that goes wrong is an :class:`InputError` whose message says what, the value and where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from geomsolve.errors import InputError
from geomsolve.reading.files import content, locate, standard_input
from geomsolve.reading.numbers import expand

TABLES = (".csv", ".tsv")
ARRAYS = (".npy", ".npz", ".pt", ".pth", ".parquet")
"""Suffixes of files that are no plain text."""


def read_numbers(text: str, base: Path | None = None) -> list[float]:
    """Finite-looking numbers from a list; nan and inf are read as such, for the caller to judge.

    Files are looked up relative to ``base`` (default: the working directory).
    """
    if text.startswith("@"):
        path, _ = locate(text[1:], base)
        if path.suffix.lower() in ARRAYS:
            return _array(text[1:], path, base)
    numbers: list[float] = []
    for token, place in _tokens(text, base, _words_of_line):
        numbers += expand(token, place, len(numbers))
    return numbers


def read_names(text: str, base: Path | None = None) -> list[str]:
    """Names from a list: split at commas only, so that a name may hold spaces; files hold one a line."""
    if text == "-" or text.startswith("@"):
        return [name for name, _ in _tokens(text, base, _whole_line)]
    return [name.strip() for name in text.split(",")]


def read_groups(text: str, base: Path | None = None) -> list[list[str]]:
    """Groups of names, split at semicolons; files hold one a line."""
    lines = [text]
    if text == "-" or text.startswith("@"):
        lines = [line.split("#")[0] for line, _ in _tokens(text, base, _whole_line)]
    groups = [group.strip() for line in lines for group in line.split(";")]
    return [[name.strip() for name in group.split(",") if name.strip()] for group in groups if group]


def words(text: str) -> list[str]:
    """What commas or spaces split."""
    return [word for word in re.split(r"[,\s]+", text) if word]


def _words_of_line(line: str) -> list[str]:
    """Words before a comment."""
    return words(line.split("#")[0])


def _whole_line(line: str) -> list[str]:
    return [line.strip()] if line.strip() else []


def _tokens(text: str, base: Path | None, parts: Callable[[str], list[str]]) -> Iterator[tuple[str, str]]:
    """The ``parts`` of every line, each with ' in line N of file' where it came from one."""
    if text == "-":
        return _split(standard_input(base), parts, "standard input")
    if not text.startswith("@"):
        return ((token, "") for token in words(text))
    path, key = locate(text[1:], base)
    if path.suffix.lower() in TABLES:
        from geomsolve.reading.csv import Csv  # here, so that reading a plain list does not wait for numpy

        table = Csv.look(path)
        positions = table.pick(key) if key else [table.only(sign="@")] if table.heading else []
        if len(positions) > 1:
            raise InputError(f"a list is one column, but {key!r} names {len(positions)}")
        if key or (table.heading and (len(table.columns) > 1 or parts is _words_of_line)):
            return table.cells(positions[0])
    elif key:
        raise InputError(f"{path.name} is a plain list; leave out {key!r}")
    return _split(content(path), parts, repr(str(path)))


def _split(text: str, parts: Callable[[str], list[str]], source: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        for part in parts(line):
            yield part, f" in line {number} of {source}"


def _array(name: str, path: Path, base: Path | None) -> list[float]:
    from geomsolve.reading.table import read

    try:
        table = read(name, base)
        if table.values.ndim != 1:
            raise InputError(f"it holds {table.values.dtype} of shape {table.values.shape}")
    except InputError as error:
        raise InputError(f"{str(path)!r} is no one-dimensional array of numbers: {error.message}") from None
    return [float(x) for x in table.values]
