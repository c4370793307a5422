"""Files by the names that users write: ``path``, ``path:part`` or ``path:part,part``, relative to a base folder."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from geomsolve.errors import InputError


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
            return folder / name, key
        name, colon, _ = name.rpartition(":")
        key = text[len(name) + 1 :] if colon else ""
    path = str(folder / text) if text else ""
    raise InputError(f"there is no file {path!r}")


def existing(name: str, base: Path | None = None) -> Path:
    """The file called ``name``."""
    path = (base or Path()) / name
    if not is_file(path):
        raise InputError(f"there is no file {str(path)!r}")
    return path


def picture_files(path: Path) -> list[Path]:
    """The png files in a folder, by name; none in what is no folder."""
    try:
        return sorted(path.glob("*.png")) if path.is_dir() else []
    except (OSError, ValueError):
        return []


def content(path: Path) -> str:
    """The text of a file: UTF-8, with or without its mark."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not a text file") from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from None


def standard_input(base: Path | None) -> str:
    """What stands on standard input, which a problem file (with a ``base``) cannot name."""
    if base is not None:
        raise InputError("only the command line reads standard input; name a file, as in '@file'")
    return sys.stdin.read()


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
