"""Standard output: its reader may leave early, as ``| head`` does; it may be full or closed, or lack letters."""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Never

from geomsolve.errors import GeomsolveError


class Closed(io.TextIOBase):
    """In the place of a stream that was closed before this process began."""

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> Never:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def prepare_streams() -> None:
    """Make writing say what is wrong: to a closed stream an OSError, and letters that it does not have as codes.

    A file opened later must not take the place of a closed stream, where a library would print into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stdout is None:
        sys.stdout = Closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def while_read() -> Iterator[None]:
    """Write until the reader leaves; what follows then goes nowhere, so that the exit code stays that of the answer.

    Raises :class:`GeomsolveError` where standard output cannot be written to for another reason.
    """
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:  # click and rich turn the former into exit code 1
        if (isinstance(error, SystemExit) and error.code != 1) or not _reader_left():
            raise
        _to_nowhere()
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT):
            raise
        _to_nowhere()
        raise GeomsolveError(f"standard output: {error.strerror}") from None


def _reader_left() -> bool:
    """Whether it is standard output that lost its reader: a pipe to somewhere else can break too."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (AttributeError, OSError, ValueError):  # a system without poll, or a stream without a file
        return not hasattr(select, "poll")


def _to_nowhere() -> None:
    """Let what is still to be written to standard output go nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = io.StringIO()
