"""The power spectrum of images: a numpy array, or a folder of png files.

    S_f = mean over images of |DFT_f|^2 / pixels,    averaged over the frequencies f = (f_x, f_y) whose length rounds to
                                                     1, 2, ... cycles across the shorter side

so that white noise of variance v per pixel has S_f = v everywhere.  Grey values run from 0 to 1; colours are averaged.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from geomsolve.errors import InputError
from geomsolve.reading.files import existing, picture_files
from geomsolve.reading.npy import load
from geomsolve.reading.source import FloatArray
from geomsolve.reading.table import Table


def read_images(name: str, base: Path | None = None) -> Table:
    """The spectrum of the images as a table (n, 2): columns as in :func:`power_spectrum`."""
    return Table(np.column_stack(power_spectrum(name, base)), ("power", "many"), name)


def power_spectrum(name: str, base: Path | None = None) -> tuple[FloatArray, FloatArray]:
    """Power (n,) at 1, ..., n cycles across the shorter side, and how many frequencies (n,) that averages."""
    total, count = np.zeros((0, 0)), 0
    first = ""
    for label, image in grey_images(name, base):
        if not np.all(np.isfinite(image)):
            raise InputError(f"{label} holds a value that is not finite")
        if count and image.shape != total.shape:
            raise InputError(f"images differ in size: {first} is {total.shape}, {label} is {image.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            spectrum = np.abs(np.fft.fft2(image)) ** 2 / image.size
        if not np.all(np.isfinite(spectrum)):
            raise InputError(f"{label} holds values too large to have a power, up to {np.abs(image).max():.3g}")
        total, first = (total + spectrum, first) if count else (spectrum, label)
        count += 1
    side = min(total.shape)
    if side < 4:
        raise InputError(f"images of {total.shape[0]} x {total.shape[1]} pixels have no spectrum to speak of")
    vertical, horizontal = (np.fft.fftfreq(length) * side for length in total.shape)
    cycles = np.rint(np.hypot(vertical[:, None], horizontal)).astype(np.int64).ravel()
    many = np.bincount(cycles)[1 : side // 2 + 1]
    summed = np.bincount(cycles, weights=total.ravel() / count)[1 : side // 2 + 1]
    return summed / many, many.astype(np.float64)


def grey_images(name: str, base: Path | None) -> Iterator[tuple[str, FloatArray]]:
    """Each image (height, width) with what to call it in a message."""
    path = (base or Path()) / name
    if path.is_dir():
        files = picture_files(path)
        if not files:
            raise InputError(f"the folder {name!r} holds no png files")
        try:
            imread = importlib.import_module("matplotlib.image").imread
        except ImportError:
            raise InputError("reading png files needs matplotlib: pip install 'geomsolve[plot]'") from None
        for file in files:
            try:
                pixels = np.asarray(imread(file), dtype=np.float64)
            except (OSError, ValueError, SyntaxError) as error:  # what Pillow raises for a broken file
                raise InputError(f"{str(file)!r} is no png image: {error}") from None
            yield str(file), pixels if pixels.ndim == 2 else pixels[..., :3].mean(axis=2)
        return
    file = existing(name, base)
    try:
        array = None if file.suffix.lower() == ".npz" else load(file, mmap_mode="r")
    except InputError:
        array = None
    if array is None:
        raise InputError(f"{str(file)!r} is neither a folder of png files nor a numpy array of numbers")
    if array.dtype.kind not in "biuf" or array.ndim not in (2, 3, 4) or array.size == 0:
        raise InputError(f"{str(file)!r} holds {array.dtype} of shape {array.shape}, not images x height x width")
    if array.ndim == 4 and array.shape[3] not in (1, 3, 4):
        raise InputError(
            f"{str(file)!r} has {array.shape[3]} values a pixel; wanted images x height x width x 1, 3 or 4"
        )
    scale = 255.0 if array.dtype == np.uint8 else 1.0
    for number, pixels in enumerate(array if array.ndim > 2 else array[None], 1):
        grey = pixels.astype(np.float64) / scale
        yield f"image {number}", grey if grey.ndim == 2 else grey[..., :3].mean(axis=2)
