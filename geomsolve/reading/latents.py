"""Latent points on the unit sphere, as users give them.

    sphere:200:3    200 random points in 3 dimensions (seeded)
    rings:7x10      on the sphere in 3 dimensions: 7 heights evenly from -0.9 to 0.9, 10 longitudes evenly at each; the
                    first coordinate is the height
    @file.npy, @file, 1,0;0,1;-1,0    a matrix, one point a row

Everything that goes wrong is a ValueError.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from geomsolve.errors import nearest
from geomsolve.reading.matrices import FloatArray, Rows, read_matrix

MOST_POINTS = 5_000
"""Points that are asked about at most: the answer is an n x n matrix, found in about n^3 operations a step."""

UNIT_TOLERANCE = 1e-3
"""How far the length of a point may be from 1 and still be meant as 1."""

GENERATORS = ("sphere:200:3", "rings:7x10")


def is_generated(text: str) -> bool:
    """Whether ``text`` names a generator rather than a matrix; ValueError for an unknown one."""
    name, colon, _ = text.partition(":")
    if not colon or text.startswith("@"):
        return False
    known = {generator.partition(":")[0] for generator in GENERATORS}
    if name not in known:
        raise ValueError(f"unknown generator {name!r}; {nearest(name, known)}")
    return True


def generate(text: str, seed: int) -> FloatArray:
    """Points (n, d) of a generator, of length 1."""
    name, _, sizes = text.partition(":")
    pattern = r"([0-9]{1,6}):([0-9]{1,4})" if name == "sphere" else r"([0-9]{1,6})x([0-9]{1,6})"
    match = re.fullmatch(pattern, sizes)
    first, second = map(int, match.groups()) if match else (0, 0)
    points = first if name == "sphere" else first * second
    if first < 2 or second < (2 if name == "sphere" else 1):
        wanted = "sphere:POINTS:DIMENSION" if name == "sphere" else "rings:HEIGHTSxLONGITUDES"
        raise ValueError(f"{text!r} is not {wanted} with at least 2 points, as in {', '.join(GENERATORS)}")
    refuse_many(points)
    if name == "sphere":
        return to_unit(np.random.default_rng(seed).normal(size=(first, second)))
    height = np.repeat(np.linspace(-0.9, 0.9, first), second)
    around = np.tile(2 * np.pi * np.arange(second) / second, first)
    radius = np.sqrt(1 - height**2)
    return np.column_stack([height, radius * np.cos(around), radius * np.sin(around)])


def refuse_many(points: int) -> None:
    """ValueError for more points than can be asked about."""
    if points > MOST_POINTS:
        raise ValueError(f"{points:,} points are too many; at most {MOST_POINTS:,}, for instance a random part of them")


def to_unit(points: FloatArray) -> FloatArray:
    """Each row divided by its length."""
    unit: FloatArray = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit


def check_unit(points: FloatArray) -> None:
    """ValueError unless ``points`` (n, d) are at least two and all of length 1 within the tolerance."""
    if points.shape[0] < 2:
        raise ValueError("one point has no geometry; give at least two, one a row")
    refuse_many(points.shape[0])
    lengths = np.linalg.norm(points, axis=1)
    off = np.flatnonzero(np.abs(lengths - 1) > UNIT_TOLERANCE)
    if off.size:
        raise ValueError(
            f"latents lie on the unit sphere, but row {off[0] + 1} has length {lengths[off[0]]:.6g}; "
            "divide each row by its length"
        )


def read_points(latents: Rows, seed: int, base: Path | None) -> FloatArray:
    """Unit points (n, d) of validated ``latents``."""
    if isinstance(latents, str) and is_generated(latents):
        return generate(latents, seed)
    return to_unit(read_matrix(latents, base))
