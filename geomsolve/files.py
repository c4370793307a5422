"""Files that are written whole or not at all: what stands under a name is at any moment the old content or the new.

New content is written beside the file, brought to the disk, and then takes its name in one step.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from geomsolve.errors import InputError


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Make ``content`` that of the file; anything but a regular file, such as /dev/null, is just written to.

    Raises :class:`InputError` if there is no such folder, OSError if it cannot be written.
    """
    target = Path(path).resolve()  # a link stays a link
    data = content.encode("utf-8") if isinstance(content, str) else content
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {str(target.parent)!r}", field="out")
    replace_content(target, data).close()


def replace_content(target: Path, data: bytes, ready: Callable[[IO[bytes]], object] | None = None) -> IO[bytes]:
    """Put ``data`` in the place of ``target``; returns the new file, open for more.

    ``ready`` is called with that file before it takes the name.  Permissions stay those of the file that was there.
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    file = os.fdopen(handle, "ab")
    try:
        if ready is not None:
            ready(file)
        file.write(data)
        sync(file)
        Path(name).chmod(_permissions(target))
        Path(name).replace(target)
    except BaseException:
        file.close()
        Path(name).unlink(missing_ok=True)
        raise
    return file


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
