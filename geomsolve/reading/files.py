"""Files by the names that users write: ``path``, ``path:part`` or ``path:part,part``, relative to a base folder."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from geomsolve.errors import InputError
from geomsolve.files import was_read


def is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def locate(text: str, base: Path | None = None) -> tuple[Path, str]:
    """The file that ``text`` names and what stands after its colon, '' where nothing does."""
    folder = base or Path()
    name, key = text, ""
    while name:
        if is_file(folder / name):
            return was_read(folder / name), key
        name, colon, _ = name.rpartition(":")
        key = text[len(name) + 1 :] if colon else ""
    path = str(folder / text) if text else ""
    raise InputError(f"there is no file {path!r}")


def existing(name: str, base: Path | None = None) -> Path:
    """The file called ``name``."""
    path = (base or Path()) / name
    if not is_file(path):
        raise InputError(f"there is no file {str(path)!r}")
    return was_read(path)


def picture_files(path: Path) -> list[Path]:
    """The png files in a folder, by name; none in what is no folder."""
    try:
        return [was_read(file) for file in sorted(path.glob("*.png"))] if path.is_dir() else []
    except (OSError, ValueError):
        return []


MOST_TEXT = 2**28
"""Bytes of a text that is read as a whole."""


def content(path: Path) -> str:
    """The text of a file: UTF-8, with or without its mark."""
    try:
        size = path.stat().st_size
        if size > MOST_TEXT:
            raise InputError(f"{str(path)!r} has {size:,} bytes; at most {MOST_TEXT:,} of text are read")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not a text file") from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from None


def standard_input(base: Path | None) -> str:
    """What stands on standard input, which a problem file (with a ``base``) cannot name."""
    if base is not None:
        raise InputError("only the command line reads standard input; name a file, as in '@file'")
    if sys.stdin is None:
        raise InputError("standard input is closed")
    try:
        text = sys.stdin.read(MOST_TEXT + 1)
    except UnicodeDecodeError:
        raise InputError("standard input is no text in the encoding of this terminal") from None
    if len(text) > MOST_TEXT:
        raise InputError(f"standard input has more than {MOST_TEXT:,} characters")
    return text


def unreadable(path: Path, why: object) -> InputError:
    """The complaint that a file is not what its name says."""
    return InputError(f"{str(path)!r} cannot be read: {' '.join(str(why).split())}")


def optional(module: str, suffix: str, install: str) -> Any:
    """The optional library ``module`` that reads files called ``*suffix``."""
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        raise InputError(
            f"reading {suffix} files needs {module.partition('.')[0]}; install it with: pip install {install}"
        )
    return importlib.import_module(module)
