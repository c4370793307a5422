"""Paths to checked problems: files, folders, globs, names of the gallery, and '-' for standard input."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from geomsolve.analyses import validate
from geomsolve.batch import gallery
from geomsolve.errors import InputError
from geomsolve.files import was_read
from geomsolve.questions.documents import Complaint, Entry, read_entries
from geomsolve.reading.yaml import MOST_BYTES, Place

SUFFIXES = (".yaml", ".yml")
"""Files of a folder that are problem files; one that is named itself may have any suffix."""


def problem_files(paths: Iterable[str]) -> list[str]:
    """Every problem file that ``paths`` mean, once, folders and globs in order of name; '-' stays as it is.

    Raises :class:`InputError` for a path that means none: a mistyped name should not look like success.
    """
    found: dict[str, str] = {}
    for path in paths:
        files = ["-"] if path == "-" else _files(path)
        for file in files:
            found.setdefault("-" if file == "-" else str(gallery.path_of(file).resolve()), file)
    return list(found.values())


def _files(path: str) -> list[str]:
    if path.startswith(gallery.PREFIX):
        return gallery.named(path)
    if Path(path).is_dir():
        inside = [
            str(file)
            for file in sorted(Path(path).rglob("*"))
            if file.suffix in SUFFIXES
            and file.is_file()
            and not any(part.startswith(".") for part in file.relative_to(path).parts)
        ]
        if not inside:
            raise InputError(f"the folder {path!r} holds no problem file ({' or '.join(SUFFIXES)})")
        return inside
    if Path(path).exists():
        return [path]
    if glob.has_magic(path):
        matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (Path.glob takes no absolute pattern)
        if matches:
            return [file for match in matches for file in _files(match)]
        raise InputError(f"no file matches {path!r}")
    raise InputError(f"there is no file or folder {path!r}{_in_gallery(path)}")


def _in_gallery(path: str) -> str:
    """A hint where a path is that of the gallery in a checkout, or a name of the gallery without its prefix."""
    name = path.removeprefix("./").removeprefix("problems").removesuffix(gallery.ENDING).strip("/")
    known = any(not name or f"{each}/".startswith(f"{name}/") for each in gallery.names())
    return f"; the gallery has {gallery.PREFIX}{name}" if known else ""


def gather(paths: Iterable[str]) -> list[Entry]:
    """All problems of ``paths``, with complaints for what is wrong with them."""
    return [_checked(entry) for file in problem_files(paths) for entry in _read(file)]


def _read(file: str) -> list[Entry]:
    shown = os.fsencode(file).decode("utf-8", "backslashreplace")  # a name may be no text
    try:
        if file == "-":
            if sys.stdin is None:
                raise InputError("standard input is closed")
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with was_read(gallery.path_of(file)).open("rb") as opened:
                data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        complaint = Complaint(shown, Place(), "", f"cannot read this file: {error.strerror}")
        return [Entry(shown, "", "", complaints=(complaint,))]
    return read_entries(data, shown, Path() if file == "-" else gallery.path_of(file).parent)


def _checked(entry: Entry) -> Entry:
    """``entry``, with what the losses and solvers find wrong with it."""
    problem = entry.problem
    if problem is None:
        return entry
    try:
        validate(problem)
    except InputError as error:
        return entry.flawed(error)
    return entry
