"""Who reads standard output may leave early, as ``| head`` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def while_read() -> Iterator[None]:
    """Write until the reader leaves; what follows then goes nowhere, so that the exit code stays that of the answer."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:  # click and rich turn the former into exit code 1
        if isinstance(error, SystemExit) and error.code != 1:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
