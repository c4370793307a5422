"""The problem files that come with geomsolve, by name: ``problem:collapse/strong-majority``, ``problem:collapse``.

A name is the file's path in the gallery without its ending; a folder's name stands for all files in it, ``problem:``
for the whole gallery.  The gallery is part of the installed package; in a checkout it is the folder ``problems`` beside
it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from geomsolve.errors import InputError, guess
from geomsolve.reading.yaml import YamlError, decode, read_documents

PREFIX = "problem:"

ENDING = ".yaml"

_PACKAGE = Path(__file__).parent.parent


@cache
def folder() -> Path:
    """Where the gallery stands."""
    for place in (_PACKAGE / "problems", _PACKAGE.parent / "problems"):
        if place.is_dir():
            return place
    raise InputError("this copy of geomsolve came without its gallery of problems; install it anew")


@cache
def names() -> tuple[str, ...]:
    """The names of all files of the gallery, in order."""
    root = folder()
    return tuple(sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob(f"*{ENDING}")))


def named(text: str) -> list[str]:
    """The names with their prefix that ``text``, prefix and all, stands for; InputError where that is none."""
    wanted = text.removeprefix(PREFIX).removesuffix(ENDING).strip("/")
    found = [f"{PREFIX}{name}" for name in names() if not wanted or f"{name}/".startswith(f"{wanted}/")]
    if not found:
        folders = sorted({name.rpartition("/")[0] for name in names()})
        last = [name for name in names() if name.rpartition("/")[2] == wanted]
        meant = f"did you mean {last[0]!r}? " if last else guess(wanted, (*folders, *names()))
        raise InputError(
            f"there is no problem {wanted!r} in the gallery; {meant}geomsolve list problems has them all, "
            f"in folders: {', '.join(folders)}"
        )
    return found


def path_of(file: str) -> Path:
    """Where a file stands: in the gallery, if it is one of the names of :func:`named`, else under its own name."""
    return folder() / f"{file.removeprefix(PREFIX)}{ENDING}" if file.startswith(PREFIX) else Path(file)


def rows() -> list[dict[str, Any]]:
    """Every problem of the gallery as ``name, kind, title, why``; a file may hold several."""
    found = []
    for name in names():
        for document in read_documents(decode(path_of(f"{PREFIX}{name}").read_bytes())):
            if isinstance(document, YamlError):
                raise document
            problem = document.plain()
            found.append({"name": f"{PREFIX}{name}", **{key: problem[key] for key in ("kind", "title", "why")}})
    return found
