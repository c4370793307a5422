"""Built-in sets of points, for labels and latents alike; ``geomsolve list labels``.

    line:9      0, 1, ..., 8                        line:9:0.5      the same, half as far apart
    circle:8    evenly on the unit circle           circle:8:2.5    radius 2.5
    sphere:40:3 random points on the unit sphere of 3 dimensions (seeded)
    grid:3x3    points with whole coordinates       simplex:4       corners of a regular simplex, radius 1
    rings:7x10  on the sphere in 3 dimensions: 7 heights evenly from -0.9 to 0.9, 10 longitudes evenly at each; the
                first coordinate is the height
    classes:5,3,2   class sizes: one-hot vectors, repeated

A new set is a :class:`Generator` given to :func:`register`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geomsolve.errors import InputError, nearest
from geomsolve.reading.numbers import LARGEST, SMALLEST

if TYPE_CHECKING:
    from geomsolve.reading.source import FloatArray

MOST_POINTS = 1_000_000
"""Points that a generator may make."""


@dataclass(frozen=True)
class Generator:
    """A built-in set: ``make`` turns the parts between colons, at most ``most`` of them, and a seed into (n, d)."""

    name: str
    example: str
    summary: str
    make: Callable[[Sequence[str], int], FloatArray]
    most: int = 1


GENERATORS: dict[str, Generator] = {}
"""By name."""


def register(generator: Generator) -> Generator:
    """Make a set known to every question and to ``list``."""
    GENERATORS[generator.name] = generator
    return generator


def is_generated(text: str) -> bool:
    """Whether ``text`` names a set rather than a list, a matrix or a file; an error for an unknown one."""
    name, colon, _ = text.partition(":")
    if not colon or not name.isidentifier():
        return False
    if name not in GENERATORS:
        raise InputError(f"there is no set of points {name!r}; {nearest(name, GENERATORS)}")
    return True


def generate(text: str, seed: int = 0) -> FloatArray:
    """The points (n, d) of the set that ``text`` names."""
    name, _, rest = text.partition(":")
    generator, parts = GENERATORS[name], rest.split(":")
    if not all(parts) or len(parts) > generator.most:
        raise InputError(f"{text!r} is not understood; write it like {generator.example}")
    points = generator.make(parts, seed)
    if len(points) < 2:
        raise InputError(f"{text!r} is one point, which has no geometry; wanted at least 2, as in {generator.example}")
    return points


def _whole(text: str, what: str, least: int = 1) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= MOST_POINTS:
        raise InputError(f"{what} must be a whole number from {least} to {MOST_POINTS:,}, got {text[:40]!r}")
    return value


def _positive(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not SMALLEST <= value <= LARGEST:
        raise InputError(f"{what} must be a number above 0, from {SMALLEST:g} to {LARGEST:g}, got {text[:40]!r}")
    return value


def _line(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    count = _whole(parts[0], "the number of labels", 2)
    step = _positive(parts[1], "the spacing") if len(parts) > 1 else 1.0
    return step * np.arange(count, dtype=np.float64)[:, None]


def _around(count: int) -> Any:
    """Points (count, 2), evenly on the unit circle."""
    import numpy as np

    angle = 2 * np.pi * np.arange(count) / count
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _circle(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    count = _whole(parts[0], "the number of labels", 2)
    radius = _positive(parts[1], "the radius") if len(parts) > 1 else 1.0
    return np.asarray(radius * _around(count), dtype=np.float64)


def _sphere(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    wanted = "sphere:POINTS:DIMENSION: "
    count = _whole(parts[0], f"{wanted}the number of points", 2)
    dim = _whole(parts[1], f"{wanted}the dimension", 2) if len(parts) > 1 else 3
    if count * dim > 10 * MOST_POINTS:
        raise InputError(f"{count:,} points in {dim:,} dimensions are too many")
    points = np.random.default_rng(seed).standard_normal((count, dim))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), dtype=np.float64)


def _grid(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    sides = [_whole(side, "a side of the grid") for side in parts[0].lower().split("x")]
    if not 2 <= math.prod(sides) <= MOST_POINTS or len(sides) > 32:
        raise InputError(
            f"a grid holds from 2 to {MOST_POINTS:,} labels on at most 32 sides, {parts[0][:40]!r} has "
            f"{float(math.prod(sides)):,.6g}"
        )
    axes = np.meshgrid(*(np.arange(side, dtype=np.float64) for side in sides), indexing="ij")
    return np.column_stack([axis.ravel() for axis in axes])


def _simplex(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    count = _whole(parts[0], "the number of labels", 2)
    if count > 5000:
        raise InputError(f"a simplex has at most 5,000 corners here, got {count:,}")
    return np.asarray(np.sqrt(count / (count - 1)) * (np.eye(count) - 1 / count), dtype=np.float64)


def _rings(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    match = re.fullmatch(r"([0-9]{1,6})x([0-9]{1,6})", parts[0])
    heights, around = map(int, match.groups()) if match else (0, 0)
    if heights < 2 or around < 1:
        raise InputError(
            f"'rings:{parts[0][:40]}' is not rings:HEIGHTSxLONGITUDES with at least 2 heights, as in rings:7x10"
        )
    if heights * around > MOST_POINTS:
        raise InputError(f"{heights * around:,} points are too many; at most {MOST_POINTS:,}")
    height = np.repeat(np.linspace(-0.9, 0.9, heights), around)
    flat = np.tile(_around(around), (heights, 1))
    return np.column_stack([height, np.sqrt(1 - height**2)[:, None] * flat])


def _classes(parts: Sequence[str], seed: int) -> FloatArray:
    import numpy as np

    sizes = [_whole(size, "a class size") for size in parts[0].replace(" ", "").split(",")]
    if not (2 <= sum(sizes) <= MOST_POINTS and sum(sizes) * len(sizes) <= 100 * MOST_POINTS):
        raise InputError(f"classes need from 2 to {MOST_POINTS:,} samples in all, got {sum(sizes):,}")
    return np.repeat(np.eye(len(sizes)), sizes, axis=0)


for _built_in in (
    Generator("line", "line:9", "0, 1, ..., 8; line:9:0.5 spaces them by 0.5", _line, 2),
    Generator("circle", "circle:8", "evenly on a circle of radius 1; circle:8:2.5 has radius 2.5", _circle, 2),
    Generator("sphere", "sphere:40:3", "40 random points on the unit sphere of 3 dimensions (--seed)", _sphere, 2),
    Generator("grid", "grid:3x3", "points with whole coordinates; any number of sides", _grid),
    Generator("simplex", "simplex:4", "the corners of a regular simplex of radius 1", _simplex),
    Generator("rings", "rings:7x10", "7 heights on the unit sphere of 3 dimensions, 10 points around at each", _rings),
    Generator("classes", "classes:5,3,2", "class sizes: as many equal one-hot labels", _classes),
):
    register(_built_in)
