"""Rows as a table of flat columns, for spreadsheets: ``structure.kind``, ``problem.loss.temperature``, ``gap``."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

from geomsolve.reading.packed import packed, unpacked

FIRST = ("file", "status", "error", "command", "sha256")
"""Columns that come before the others."""

LONGEST = 64
"""Items of a list that still make one cell; longer lists, and lists of lists, are left to the JSONL."""


def flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The scalars of nested dictionaries by dotted name; short lists of scalars as words."""
    cells: dict[str, Any] = {}
    for key, value in row.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            cells.update(flat(value, f"{name}."))
        elif isinstance(value, list):
            if len(value) <= LONGEST and not any(isinstance(item, (list, dict)) for item in value):
                cells[name] = " ".join(map(str, value))
        elif value is not None:
            cells[name] = value
    return cells


def cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula, with a quote before it; all else as it is."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") and not _NUMBERS.fullmatch(value):
        return f"'{value}"
    return value


_NUMBERS = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?( [-+]?[0-9.]+(e[-+]?[0-9]+)?)*")


class Sheet:
    """Rows for a table, in any order; a batch has ten thousand, so that they are kept packed."""

    def __init__(self) -> None:
        self._rows: dict[int, bytes] = {}
        self._names: set[str] = set()

    def add(self, position: int, row: dict[str, Any]) -> None:
        """Put ``row`` at ``position``."""
        cells = flat(row)
        self._names.update(cells)
        self._rows[position] = packed(cells)

    def to_csv(self) -> str:
        """CSV with a header; a row that lacks a column leaves it empty."""
        columns = [*FIRST, *sorted(self._names - {*FIRST})]
        text = io.StringIO()
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writerow({name: cell(name) for name in columns})
        for position in sorted(self._rows):
            cells = unpacked(self._rows[position])
            writer.writerow({name: cell(value) for name, value in cells.items()})
        return text.getvalue()
