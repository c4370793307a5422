"""Tensors as torch saves them: .pt and .pth, one or a dictionary of them.  Nothing but tensors is unpickled."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.reading.files import optional
from geomsolve.reading.npy import side_by_side, sliced
from geomsolve.reading.source import UNREAD, Column, Source


@dataclass(frozen=True)
class Tensors(Source):
    """A file of tensors, by name ('' if the file is one tensor); ``rows`` of each."""

    rows: tuple[int, ...]

    @classmethod
    def look(cls, path: Path) -> Tensors:
        """The tensors at ``path``."""
        found = _load(path)
        if not found:
            raise InputError(f"{str(path)!r} holds no tensor")
        columns = tuple(
            Column(name, UNREAD, None, why)
            if (why := _no_plain(t))
            else Column(name, _kind(t), tuple(t.shape[1:]) if t.ndim else (-1,), str(t.dtype).removeprefix("torch."))
            for name, t in found.items()
        )
        rows = tuple(0 if _no_plain(t) or not t.ndim else len(t) for t in found.values())
        return cls(path, columns, rows[0] if len(set(rows)) == 1 else None, rows)

    def rows_of(self, position: int) -> int:
        return self.rows[position]

    def blocks(self, chosen: Sequence[int], *, blank: bool = False) -> Iterator[NDArray[Any]]:
        found = _load(self.path)
        arrays = [self._array(found, i) for i in chosen]
        if len({len(array) for array in arrays}) > 1:
            raise InputError(f"the chosen tensors of {str(self.path)!r} differ in their number of rows")
        width = sum(array.size // max(1, len(array)) for array in arrays)
        return side_by_side([sliced(array, self.size(width)) for array in arrays])

    def values(self, position: int) -> NDArray[Any]:
        self.whole([position])
        return self._array(_load(self.path), position)

    def _array(self, found: dict[str, Any], i: int) -> NDArray[Any]:
        if self.columns[i].kind == UNREAD:
            raise InputError(f"{str(self.path)!r} holds {self.columns[i].dtype}")
        tensor = found[self.columns[i].name].detach()
        if tensor.is_floating_point() and tensor.element_size() < 4:  # bfloat16 and smaller ones are unknown to numpy
            tensor = tensor.float()
        return np.asarray(tensor.numpy())


def _no_plain(tensor: Any) -> str:
    """What a tensor is that numpy has no array for, and what to do; '' for all others."""
    if tensor.is_nested:
        return "a nested tensor, whose rows differ in length; pad them"
    if str(tensor.layout) != "torch.strided":
        return "a sparse tensor; save it with to_dense()"
    if tensor.is_quantized:
        return "a quantised tensor; save it with dequantize()"
    if tensor.device.type == "meta":
        return "a tensor without values (on the device 'meta')"
    return ""


def _kind(tensor: Any) -> str:
    if tensor.is_floating_point():
        return "f"
    if tensor.is_complex():
        return "c"
    return "b" if str(tensor.dtype) == "torch.bool" else "i"


def _load(path: Path) -> dict[str, Any]:
    torch = optional("torch", path.suffix, "'geomsolve[torch]'")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of kinds of tensors that are refused below
            loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception:  # whatever torch makes of a file that is none of its own, or that holds code
        raise InputError(
            f"{str(path)!r} holds no plain tensors (nothing is unpickled); save a tensor or a dict of tensors with "
            "torch.save"
        ) from None
    if isinstance(loaded, torch.Tensor):
        return {"": loaded}
    if isinstance(loaded, dict):
        return {str(name): value for name, value in loaded.items() if isinstance(value, torch.Tensor)}
    raise InputError(f"{str(path)!r} holds {type(loaded).__name__}, not a tensor")
