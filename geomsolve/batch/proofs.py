"""Proofs that stand alone of the problems of a batch: where each goes, and what its row says of it.

With a folder all proofs go there, named after the files of their problems, in folders as these are; several problems of
a file are numbered.  Without one only the problems whose key ``proof`` names a file have a proof, in that file.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geomsolve.errors import InputError
from geomsolve.files import write_atomically
from geomsolve.questions.documents import Entry


def destinations(entries: Sequence[Entry], folder: str | None) -> list[Path | None]:
    """The file for the proof of each entry, no two alike; None where none is asked for.

    Raises :class:`InputError` if the ``folder`` cannot be made.
    """
    if folder is not None:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {folder!r}: {error.strerror}", field="proof") from None
        found: list[Path | None] = list(_within(Path(folder), entries))
    else:
        found = [_own(entry) for entry in entries]
    taken: set[Path] = set()
    for position, path in enumerate(found):
        number = 1
        while path is not None and path in taken:
            number += 1
            first = found[position]
            assert first is not None
            path = first.with_name(f"{first.stem}-{number}.json")
        if path is not None:
            taken.add(path)
            found[position] = path
    return found


def _within(folder: Path, entries: Sequence[Entry]) -> list[Path]:
    files = {entry.file: Path(os.path.realpath(entry.file)) for entry in entries if entry.file != "-"}
    above = Path(os.path.commonpath([path.parent for path in files.values()])) if files else Path()
    several, seen, found = Counter(entry.file for entry in entries), Counter[str](), []
    for entry in entries:
        seen[entry.file] += 1
        inside = files[entry.file].relative_to(above) if entry.file in files else Path("stdin")
        number = f"-{seen[entry.file]}" if several[entry.file] > 1 else ""
        found.append(folder / inside.with_name(f"{inside.stem}{number}.json"))
    return found


def _own(entry: Entry) -> Path | None:
    problem = entry.problem
    return None if problem is None or problem.proof is None else (problem.base or Path()) / problem.proof


def stored(path: Path, text: str) -> dict[str, Any]:
    """Write a proof; what its row says of it: the file, and the SHA-256 of its content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text, field="proof")
    return {"file": str(path), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def kept(row: dict[str, Any], path: Path | None) -> bool:
    """Whether a row of an earlier run is as good as a new one: where a proof is asked for, it was found to have none,
    or it is there as it was written."""
    if path is None:
        return True
    about = row.get("proof_file", False)
    if not isinstance(about, dict):
        return about is None
    try:
        there = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return False
    return about == {"file": str(path), "sha256": there}
