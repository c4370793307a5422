"""Values that are many and seldom looked at, as few bytes; only ever read by the process that packed them."""

from __future__ import annotations

import pickle
import zlib
from typing import Any


def packed(value: Any) -> bytes:
    """A value that can be pickled, as bytes."""
    return zlib.compress(pickle.dumps(value), level=1)


def unpacked(data: bytes) -> Any:
    """A copy of what was packed."""
    return pickle.loads(zlib.decompress(data))  # noqa: S301  (from this process)
