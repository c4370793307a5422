"""Arrays of any library in place of lists and files: numpy, torch, pandas, and whatever else turns into an array.

    tensor           on any device, of any type, with or without a gradient     -> an array
    Series           its values; its index names them where it has a meaning    -> an array, or names with numbers
    DataFrame        its columns side by side, which keep their names           -> an array

No library is loaded here: an object says by what it can do what it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError


def array(value: Any) -> Any:
    """``value`` as an array of numpy, where it is an array of some library; anything else as it is."""
    if isinstance(value, (np.ndarray, np.generic, str, bytes, list, tuple, dict, set)) or value is None:
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # a tensor
        tensor = value.detach().cpu()
        if "bfloat16" in str(tensor.dtype):  # which numpy does not have
            tensor = tensor.float()
        return tensor.resolve_conj().numpy() if hasattr(tensor, "resolve_conj") else tensor.numpy()
    if hasattr(value, "to_numpy"):
        return _plain(value.to_numpy())
    if hasattr(value, "__array__"):
        return _plain(np.asarray(value))
    return value


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """The values without what tables make of texts: numbers as numbers where all are."""
    if values.dtype.kind != "O":
        return values
    flat = values.ravel().tolist()
    if flat and all(isinstance(x, (bool, int, float)) for x in flat):
        return np.array(values.tolist())
    return values


def columns(value: Any) -> tuple[str, ...]:
    """The names of the columns of a DataFrame; none for anything else, or where they are only numbered."""
    names = getattr(value, "columns", None)
    if names is None or not hasattr(value, "to_numpy"):
        return ()
    return () if _numbered(names) else tuple(map(str, names))


def named(value: Any) -> dict[str, Any] | None:
    """Names with numbers, of a Series whose index is more than positions, or of a DataFrame of names and numbers.

    None for anything else.  Raises :class:`InputError` for a name that stands twice.
    """
    if not hasattr(value, "to_numpy") or not hasattr(value, "index"):
        return None
    if columns(value) or getattr(value, "ndim", 1) == 2:
        return _of_columns(value)
    return None if _numbered(value.index) else _unique(list(value.index), array(value).tolist())


def _numbered(index: Any) -> bool:
    """Whether an index is no more than the positions, as tables have it unless they are told another."""
    return hasattr(index, "step") and hasattr(index, "start")


def _of_columns(frame: Any) -> dict[str, Any] | None:
    table = frame.to_numpy()
    if table.shape[1] == 1:
        return None if _numbered(frame.index) else _unique(list(frame.index), table[:, 0].tolist())
    if table.shape[1] != 2:
        raise InputError(
            f"a table of {table.shape[1]} columns is no list of classes; give one column of numbers, or one of names "
            "and one of numbers"
        )
    texts = [i for i in (0, 1) if all(isinstance(x, str) for x in table[:, i])]
    at = texts[0] if len(texts) == 1 else 0
    return _unique(table[:, at].tolist(), table[:, 1 - at].tolist())


def _unique(names: list[Any], values: list[Any]) -> dict[str, Any]:
    found = {str(name): x for name, x in zip(names, values, strict=True)}
    if len(found) != len(names):
        twice = next(str(name) for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"the name {twice!r} stands twice; names tell classes apart")
    return found
