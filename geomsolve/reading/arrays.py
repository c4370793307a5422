"""Arrays and labels in files, read in chunks; nothing is ever unpickled.

    .npy              rows straight from disk               .csv, .tsv   numbers, a header line is skipped
    .npz[:name]       streamed out of the archive           .parquet     its floating-point columns, or a list column
    .pt, .pth[:name]  a tensor, by torch with weights_only  (needs pyarrow; .pt needs torch)

A name after a colon picks one of several arrays; for labels also a column of a .csv or .parquet file.  Embeddings are
two-dimensional, one row a sample, float16 to float64.  Everything that goes wrong is an :class:`InputError` for the
field it was read for.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.reading.lists import read_names
from geomsolve.words import counted

CHUNK = 2**22
"""Numbers that are read at once."""

BINARY = (".npy", ".npz", ".pt", ".pth", ".parquet")


@dataclass(frozen=True)
class Rows:
    """A two-dimensional array that is read in chunks of rows: ``chunks()`` starts from the beginning each time.

    ``count`` is the number of rows where the file says so beforehand, else None.
    """

    count: int | None
    chunks: Callable[[], Iterator[NDArray[Any]]]


def locate(text: str, base: Path | None, field: str) -> tuple[Path, str]:
    """The file and the name after its colon, '' if there is none."""
    for name, key in ((text, ""), (text.rpartition(":")[0], text.rpartition(":")[2])):
        path = (base or Path()) / name
        if name and path.is_file():
            return path, key
    raise InputError(f"there is no file {text!r}", field=field)


def optional(module: str, suffix: str, install: str, field: str) -> Any:
    """An optional library that reads files called ``*suffix``."""
    if importlib.util.find_spec(module) is None:
        raise InputError(f"reading {suffix} files needs {module}; install it with: pip install {install}", field=field)
    return importlib.import_module(module)


def bad(path: Path, why: object, field: str) -> InputError:
    """The complaint that a file cannot be read."""
    return InputError(f"{str(path)!r} cannot be read: {why}", field=field)


def open_rows(text: str, base: Path | None, field: str) -> Rows:
    """The embeddings in a file."""
    path, key = locate(text, base, field)
    reader = {
        ".npy": _npy,
        ".npz": _npz,
        ".pt": _torch,
        ".pth": _torch,
        ".csv": _csv,
        ".tsv": _csv,
        ".parquet": _parquet,
    }.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{str(path)!r} is of no kind that is read here; known: .npy, .npz, .csv, .tsv, .parquet, .pt", field=field
        )
    if key and path.suffix not in (".npz", ".pt", ".pth"):
        raise InputError(f"{path.name} holds one array; leave out {key!r}", field=field)
    try:
        return reader(path, key, field)
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise bad(path, error, field) from None


def _matrix(shape: tuple[int, ...], dtype: Any, path: Path, field: str) -> None:
    """Refuse anything but floating-point numbers in two dimensions."""
    if len(shape) == 2 and 0 in shape:
        raise InputError(f"{str(path)!r} is empty: an array of {shape[0]} rows and {shape[1]} columns", field=field)
    if np.dtype(dtype).kind != "f" or len(shape) != 2:
        raise InputError(
            f"{str(path)!r} holds {np.dtype(dtype)} of shape {tuple(shape)}; wanted floating-point numbers in two "
            "dimensions, one row a sample",
            field=field,
        )


def _sliced(array: Any) -> Rows:
    n, d = array.shape
    size = max(1, CHUNK // d)
    return Rows(n, lambda: (np.asarray(array[i : i + size]) for i in range(0, n, size)))


def _load(path: Path, field: str, **how: Any) -> Any:
    """What numpy saved in a file; by itself it takes any other file for pickled data."""
    start = b"PK" if path.suffix.lower() == ".npz" else np.lib.format.MAGIC_PREFIX
    with path.open("rb") as file:
        if file.read(len(start)) != start:
            raise bad(path, f"it is no {path.suffix.lower()} file", field)
    return np.load(path, allow_pickle=False, **how)


def _npy(path: Path, key: str, field: str) -> Rows:
    array = _load(path, field, mmap_mode="r")
    _matrix(array.shape, array.dtype, path, field)
    return _sliced(array)


def _one_of(names: list[str], key: str, path: Path, field: str) -> str:
    """The array called ``key``, or the only one there is."""
    if key in names:
        return key
    if not key and len(names) == 1:
        return names[0]
    found = ", ".join(names) or "none"
    say = f"has no array {key!r}" if key else f"holds {len(names)} arrays: name one, as in {path.name}:{names[0]}"
    raise InputError(f"{str(path)!r} {say if names else 'holds no array'}; it has {found}", field=field)


def _npz(path: Path, key: str, field: str) -> Rows:
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        member = _one_of(names, key, path, field) + ".npy"
        with archive.open(member) as stream:
            shape, fortran, dtype = _header(stream)
    if dtype.hasobject:
        raise InputError(f"{str(path)!r} holds pickled objects, which are never loaded", field=field)
    _matrix(shape, dtype, path, field)
    if fortran:
        return _sliced(_load(path, field)[member.removesuffix(".npy")])
    n, d = shape
    size = max(1, CHUNK // d)

    def chunks() -> Iterator[NDArray[Any]]:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            _header(stream)
            for start in range(0, n, size):
                rows = min(size, n - start)
                data = stream.read(rows * d * dtype.itemsize)
                yield np.frombuffer(data, dtype).reshape(rows, d)

    return Rows(n, chunks)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and type of the .npy data that ``stream`` starts with."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(stream)


def _tensors(path: Path, field: str) -> dict[str, Any]:
    """All tensors in a file of torch, by name ('' if the file is one tensor)."""
    torch = optional("torch", path.suffix, "'geomsolve[torch]'", field)
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception:  # whatever torch makes of a file that is none of its own, or that holds code
        raise InputError(
            f"{str(path)!r} holds no plain tensors (nothing is unpickled); save a tensor or a dict of tensors with "
            "torch.save",
            field=field,
        ) from None
    if isinstance(loaded, torch.Tensor):
        return {"": loaded}
    if isinstance(loaded, dict):
        return {str(name): value for name, value in loaded.items() if isinstance(value, torch.Tensor)}
    raise InputError(f"{str(path)!r} holds {type(loaded).__name__}, not a tensor", field=field)


def _torch(path: Path, key: str, field: str) -> Rows:
    tensors = _tensors(path, field)
    wide = [name for name, value in tensors.items() if value.ndim == 2 and value.is_floating_point()]
    tensor = tensors[_one_of(wide or list(tensors), key, path, field)].detach()
    if tensor.is_floating_point() and tensor.element_size() == 2:  # bfloat16 is unknown to numpy
        tensor = tensor.float()
    array = tensor.numpy()
    _matrix(array.shape, array.dtype, path, field)
    return _sliced(array)


def _csv(path: Path, key: str, field: str) -> Rows:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","

    def lines() -> Iterator[tuple[int, str]]:
        with path.open(encoding="utf-8-sig") as file:
            yield from ((number, line) for number, line in enumerate(file, 1) if line.strip())

    _, head = next(lines(), (0, ""))
    if not head:
        raise InputError(f"{str(path)!r} is empty", field=field)
    width = len(head.split(delimiter))
    heading = int(not all(_is_number(cell) for cell in head.split(delimiter)))

    def chunks() -> Iterator[NDArray[Any]]:
        rest = itertools.islice(lines(), heading, None)
        while block := list(itertools.islice(rest, max(1, CHUNK // width))):
            rows = [_row(line, delimiter, width, f"line {n} of {str(path)!r}", field) for n, line in block]
            yield np.array(rows, dtype=np.float64)

    return Rows(None, chunks)


def _row(line: str, delimiter: str, width: int, place: str, field: str) -> list[float]:
    cells = line.split(delimiter)
    if len(cells) != width:
        raise InputError(f"{place} has {counted(len(cells), 'column')} instead of {width}", field=field)
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        wrong = next(cell for cell in cells if not _is_number(cell))
        raise InputError(f"{wrong.strip()!r} in {place} is not a number", field=field) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet_file(path: Path, field: str) -> Any:
    optional("pyarrow", ".parquet", "'geomsolve[parquet]'", field)
    try:
        return importlib.import_module("pyarrow.parquet").ParquetFile(path)
    except Exception as error:
        raise bad(path, error, field) from None


def _parquet(path: Path, key: str, field: str) -> Rows:
    types = importlib.import_module("pyarrow.types") if importlib.util.find_spec("pyarrow") else None
    file = _parquet_file(path, field)
    assert types is not None
    schema = file.schema_arrow
    lists = [f.name for f in schema if types.is_fixed_size_list(f.type) or types.is_list(f.type)]
    columns = [f.name for f in schema if types.is_floating(f.type)]
    if not lists and not columns:
        raise InputError(f"{str(path)!r} has neither floating-point columns nor a list column", field=field)
    width = len(columns) or 512

    def chunks() -> Iterator[NDArray[Any]]:
        chosen = lists[:1] or columns
        for batch in file.iter_batches(batch_size=max(1, CHUNK // width), columns=chosen):
            if lists:
                values = batch.column(0).flatten().to_numpy(zero_copy_only=False)
                if values.size % batch.num_rows:
                    raise InputError(f"the lists in {str(path)!r} differ in length", field=field)
                yield values.reshape(batch.num_rows, -1)
            else:
                yield np.column_stack([c.to_numpy(zero_copy_only=False) for c in batch.columns])

    return Rows(int(file.metadata.num_rows), chunks)


def read_labels(text: str, base: Path | None, field: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The class of each row, as a position (N,) in the names of the classes, which are sorted."""
    path, key = locate(text, base, field)
    suffix = path.suffix.lower()
    try:
        raw = _labels_array(path, key, field) if suffix in BINARY else np.array(_labels_text(path, key, field))
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise bad(path, error, field) from None
    if raw.ndim == 2 and 1 in raw.shape:
        raw = raw.ravel()
    if raw.ndim != 1 or raw.size == 0:
        raise InputError(f"{str(path)!r} holds an array of shape {raw.shape}; wanted one label a row", field=field)
    if raw.dtype.kind == "f":
        if not np.all(np.isfinite(raw) & (raw == np.floor(raw))):
            first = int(np.flatnonzero(~(np.isfinite(raw) & (raw == np.floor(raw))))[0])
            raise InputError(f"label {first} is {raw[first]}; classes are whole numbers or names", field=field)
        raw = raw.astype(np.int64)
    if raw.dtype.kind not in "iubUS":
        raise InputError(f"{str(path)!r} holds {raw.dtype}; classes are whole numbers or names", field=field)
    if raw.dtype.kind in "US" and all(_is_whole(str(x)) for x in np.unique(raw)):
        raw = raw.astype(np.int64)
    values, codes = np.unique(raw, return_inverse=True)
    names = tuple(x.decode() if isinstance(x, bytes) else str(x) for x in values.tolist())
    return codes.astype(np.int64), names


def _is_whole(text: str) -> bool:
    return text.strip().lstrip("+-").isdecimal()


def _labels_array(path: Path, key: str, field: str) -> NDArray[Any]:
    if path.suffix == ".npy":
        return np.asarray(_load(path, field))
    if path.suffix == ".npz":
        with _load(path, field) as archive:
            return np.asarray(archive[_one_of(list(archive.files), key, path, field)])
    if path.suffix == ".parquet":
        file = _parquet_file(path, field)
        column = _one_of(list(file.schema_arrow.names), key, path, field)
        return np.array(file.read(columns=[column]).column(0).to_pylist())
    tensors = _tensors(path, field)
    flat = [name for name, value in tensors.items() if value.ndim == 1]
    return np.asarray(tensors[_one_of(flat or list(tensors), key, path, field)].numpy())


def _labels_text(path: Path, key: str, field: str) -> list[str]:
    """One label a line; a single heading above whole numbers is dropped.  Of a table, the column called ``key``."""
    if key:
        return read_names(f"@{path}:{key}")
    try:
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is neither a text file nor of a kind that is read here", field=field) from None
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    if path.suffix.lower() in (".csv", ".tsv") and lines and ("," in lines[0] or "\t" in lines[0]):
        raise InputError(f"{str(path)!r} has several columns: name one, as in {path.name}:label", field=field)
    if len(lines) > 1 and not _is_whole(lines[0]) and all(map(_is_whole, lines[1:])):
        return lines[1:]
    return lines
