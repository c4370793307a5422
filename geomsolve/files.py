"""Files that are written whole or not at all: what stands under a name is at any moment the old content or the new.

New content is written beside the file, brought to the disk, and then takes its name in one step.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from geomsolve.errors import InputError


def write_atomically(path: str | Path, content: str | bytes, *, field: str = "out") -> None:
    """Make ``content`` that of the file; anything but a regular file, such as /dev/null, is just written to.

    Raises :class:`InputError` for ``field`` if there is no such folder, OSError if it cannot be written.
    """
    write_together([(field, path, content)])


def write_together(files: Iterable[tuple[str, str | Path, str | bytes]]) -> None:
    """:func:`write_atomically` for several, each (field, path, content): all content is on the disk before the first
    file takes its name, so that what cannot be written leaves none of them behind."""
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
            file, part = _beside(target, data)
            file.close()
            new.append((target, part, data))
        for target, ready, data in new:
            if ready is None:
                target.write_bytes(data)
            else:
                ready.replace(target)
    except BaseException:
        for _, ready, _ in new:
            if ready is not None:
                ready.unlink(missing_ok=True)
        raise


def replace_content(target: Path, data: bytes, ready: Callable[[IO[bytes]], object]) -> IO[bytes]:
    """Put ``data`` in the place of ``target``; returns the new file, open for more.

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


def _beside(target: Path, data: bytes, ready: Callable[[IO[bytes]], object] | None = None) -> tuple[IO[bytes], Path]:
    """New content beside ``target``, on the disk: the file, open for more, and its name.  ``ready`` is called with the
    file first.  Permissions are those of the file that is there."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    file = os.fdopen(handle, "ab")
    try:
        if ready is not None:
            ready(file)
        file.write(data)
        sync(file)
        Path(name).chmod(_permissions(target))
    except BaseException:
        file.close()
        Path(name).unlink(missing_ok=True)
        raise
    return file, Path(name)


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
