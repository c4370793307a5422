"""The output file: one row a line, each on the disk before the next is waited for.

A kill at any moment leaves whole lines and at most one torn one at the end.  Starting and resuming replace the file
in one step by the rows that are kept.  The file is locked while a run writes it; the lock ends with the process.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from geomsolve._version import __version__
from geomsolve.batch.proofs import kept as kept_proof
from geomsolve.batch.rows import is_row
from geomsolve.errors import InputError
from geomsolve.files import naming, replace_content, sync
from geomsolve.questions.documents import Entry
from geomsolve.reading.packed import packed
from geomsolve.report import to_json

Row = dict[str, Any]

LONGEST = 2**28
"""Bytes of a line beyond which it is no row."""


class Ledger:
    """Rows appended to ``path``, which this run alone may write; anything but a regular file is just written to."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise InputError(f"{str(self.path)!r} is a folder; name a file in it", field="out")
        if not self.path.parent.is_dir():
            raise InputError(f"there is no folder {str(self.path.parent)!r}", field="out")
        self.path = Path(os.path.realpath(path))  # a link stays a link
        self._file: IO[bytes] = self.path.open("ab")
        self._regular = self.path.is_file()
        self._held = contextlib.ExitStack()
        self._held.enter_context(self._file)
        if self._regular and not _lock(self._file):
            self.close()
            raise InputError(
                f"another run is writing {str(self.path)!r}; wait for it or name another file", field="out"
            )

    def rows(self) -> Iterator[Row]:
        """The rows of an earlier run, one after the other; a torn last line is left out."""
        if not self._regular:
            return
        with self.path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST), b""), 1):
                row = _row(line)
                if row is None and not line.endswith(b"\n") and len(line) < LONGEST:
                    return
                if row is None:
                    raise InputError(
                        f"line {number} of {str(self.path)!r} is no result of geomsolve batch; nothing was changed. "
                        "Name the output of an earlier run to resume it",
                        field="out",
                    )
                yield row

    def replace(self, rows: Iterable[Row]) -> None:
        """Make ``rows`` the whole content, in one step."""
        if not self._regular:
            return
        file = replace_content(self.path, map(_line, rows), ready=_lock)
        self._held.enter_context(file)
        self._file = file  # the old one stays open, and locked, for whoever opened it just before

    def append(self, row: Row) -> None:
        """Add a row; on return it is on the disk."""
        with naming(self.path):
            self._file.write(_line(row))
            if self._regular:
                sync(self._file)
            else:
                self._file.flush()

    def close(self) -> None:
        """Let others write the file."""
        self._held.close()


def reusable(
    rows: Iterable[Row], entries: Sequence[Entry], proofs: Sequence[Path | None] = ()
) -> tuple[dict[int, bytes], list[bytes]]:
    """Which ``rows`` answer ``entries`` (by position), and which are about files that are not asked for; all packed.

    A row answers an entry with the same content hash, under the same version of geomsolve.  Failed ones are tried
    again: they may have been short of time or memory; and so are those whose proof, for which ``proofs`` has a file, is
    not there.
    """
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for position, entry in enumerate(entries):
        if entry.valid:
            waiting[entry.sha256].append(position)
    files = {entry.file for entry in entries}
    kept: dict[int, bytes] = {}
    others: list[bytes] = []
    for row in rows:
        usable = row["status"] != "failed" and row["versions"]["geomsolve"] == __version__
        positions = waiting.get(row["sha256"]) if usable else None
        if positions and kept_proof(row, proofs[positions[0]] if proofs else None):
            position = positions.popleft()
            kept[position] = packed({**row, "file": entries[position].file})
        elif row["file"] not in files:
            others.append(packed(row))
    return dict(sorted(kept.items())), others


def _row(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if is_row(row) else None


def _line(row: Row) -> bytes:
    return to_json(row).encode() + b"\n"


def _lock(file: IO[bytes]) -> bool:
    """Take the lock of an open file, or say that another process has it."""
    try:
        import fcntl
    except ImportError:  # a system without such locks: nothing keeps two runs apart there
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
