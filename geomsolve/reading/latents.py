"""Latent points on the unit sphere: a built-in set (``generators.py``), or a matrix with one point a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from geomsolve.errors import InputError
from geomsolve.reading.generators import generate, is_generated
from geomsolve.reading.matrices import read_matrix
from geomsolve.reading.table import Table

MOST_POINTS = 5_000
"""Points that are asked about at most: the answer is an n x n matrix, found in about n^3 operations a step."""

UNIT_TOLERANCE = 1e-3
"""How far the length of a point may be from 1 and still be meant as 1."""


def read_latents(value: Any, base: Path | None = None, seed: int = 0) -> Table:
    """At least two points (n, d) whose length is 1 within the tolerance, as they were given."""
    if isinstance(value, str) and is_generated(value):
        table = Table(generate(value, seed), (), value)
    else:
        table = read_matrix(value, base)
    points = table.points
    if points.shape[0] < 2:
        raise InputError("one point has no geometry; give at least two, one a row")
    if points.shape[0] > MOST_POINTS:
        raise InputError(
            f"{points.shape[0]:,} points are too many; at most {MOST_POINTS:,}, for instance a random part of them"
        )
    lengths = np.linalg.norm(points, axis=1)
    off = np.flatnonzero(np.abs(lengths - 1) > UNIT_TOLERANCE)
    if off.size:
        raise InputError(
            f"latents lie on the unit sphere, but row {off[0] + 1} has length {lengths[off[0]]:.6g}; "
            "divide each row by its length"
        )
    return table
