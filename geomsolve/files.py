"""Files that are written whole or not at all: what stands under a name is at any moment the old content or the new.

New content is written beside the file, brought to the disk, and then takes its name in one step.

What a command has read is never overwritten by what it writes: within :func:`watching`, readers say what they read
(:func:`was_read`), and whoever writes asks (:func:`refuse_overwriting`).  Files are told apart by what they are, not by
their names, so that links to a file are that file.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from geomsolve.errors import GeomsolveError, InputError

Key = tuple[int, int] | Path

_read: ContextVar[set[Key] | None] = ContextVar("read", default=None)


@contextmanager
def watching() -> Iterator[None]:
    """Remember which files are read from here on."""
    token = _read.set(set())
    try:
        yield
    finally:
        _read.reset(token)


def was_read(path: Path) -> Path:
    """Say that a file is read; returns it."""
    known = _read.get()
    if known is not None:
        known.add(_key(path))
    return path


def _key(path: Path) -> Key:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return Path(os.path.realpath(path)) if "\0" not in str(path) else path
    return found.st_dev, found.st_ino


def _special(path: Path) -> bool:
    try:
        return path.exists() and not path.is_file()
    except (OSError, ValueError):  # no file can have this name: that is said when it is opened
        return True


def refuse_overwriting(files: Iterable[tuple[str, str | Path | None]]) -> None:
    """Raise :class:`InputError` for (field, path) to be written, if it is a file that was read or another of them.

    Anything but a regular file, such as /dev/null, may be written to as often as one likes.
    """
    taken = set(_read.get() or ())
    for field, path in files:
        if path is None or _special(Path(path)):
            continue
        key = _key(Path(path))
        if key in taken:
            raise InputError(f"{str(path)!r} is needed for something else; write to another file", field=field)
        taken.add(key)


def write_atomically(path: str | Path, content: str | bytes, *, field: str = "out") -> None:
    """Make ``content`` that of the file; anything but a regular file, such as /dev/null, is just written to.

    Raises :class:`InputError` for ``field`` if there is no such folder, OSError if it cannot be written.
    """
    write_together([(field, path, content)])


def write_together(files: Iterable[tuple[str, str | Path, str | bytes]]) -> None:
    """:func:`write_atomically` for several, each (field, path, content): all content is on the disk before the first
    file takes its name, so that what cannot be written leaves none of them behind."""
    files = list(files)
    refuse_overwriting((field, path) for field, path, _ in files)
    new: list[tuple[Path, Path | None, bytes]] = []
    try:
        for field, path, content in files:
            target = Path(path).resolve()  # a link stays a link
            data = content.encode("utf-8") if isinstance(content, str) else content
            if target.exists() and not target.is_file():
                new.append((target, None, data))
                continue
            if not target.parent.is_dir():
                raise InputError(f"there is no folder {str(target.parent)!r}", field=field)
            file, part = _beside(target, [data])
            file.close()
            new.append((target, part, data))
        for target, ready, data in new:
            with naming(target):
                if ready is None:
                    target.write_bytes(data)
                else:
                    ready.replace(target)
    except BaseException:
        for _, ready, _ in new:
            if ready is not None:
                ready.unlink(missing_ok=True)
        raise


def replace_content(target: Path, data: Iterable[bytes], ready: Callable[[IO[bytes]], object]) -> IO[bytes]:
    """Put ``data``, piece by piece, in the place of ``target``; returns the new file, open for more.

    ``ready`` is called with that file before it takes the name.
    """
    file, part = _beside(target, data, ready)
    try:
        part.replace(target)
    except BaseException:
        file.close()
        part.unlink(missing_ok=True)
        raise
    return file


def _beside(
    target: Path, data: Iterable[bytes], ready: Callable[[IO[bytes]], object] | None = None
) -> tuple[IO[bytes], Path]:
    """New content beside ``target``, on the disk: the file, open for more, and its name.  ``ready`` is called with the
    file first.  Permissions are those of the file that is there."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    file = os.fdopen(handle, "ab")
    try:
        with naming(target):
            if ready is not None:
                ready(file)
            file.writelines(data)
            sync(file)
            Path(name).chmod(_permissions(target))
    except BaseException:
        with suppress(OSError):  # what is left in the buffer does not fit either
            file.close()
        Path(name).unlink(missing_ok=True)
        raise
    return file, Path(name)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn the error that ``path`` cannot hold what is written, though it may be written to, into one that names it."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
            raise
        raise GeomsolveError(f"{str(path)!r} cannot be written: {error.strerror}") from None


def sync(file: IO[bytes]) -> None:
    """Bring what was written to the disk."""
    file.flush()
    os.fsync(file.fileno())


def _permissions(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
