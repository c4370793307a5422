"""The question of ``geomsolve diversity``: does contrastive learning find the latents that made the data?"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationInfo, field_validator, model_validator

from geomsolve.questions.base import Problem, Whole
from geomsolve.questions.data import Matrix
from geomsolve.reading.latents import read_latents
from geomsolve.reading.lists import read_numbers
from geomsolve.reading.matrices import read_matrix
from geomsolve.reading.numbers import LARGEST, SMALLEST, in_range
from geomsolve.reading.source import FloatArray
from geomsolve.registry import TEMPERATURE
from geomsolve.words import counted

SAME_COORDINATE = 1e-9
"""Coordinates closer than this count as shared."""

RESTRICTIONS = ("shared_coordinates", "support", "edges")
"""Fields that restrict which pairs are positives; at most one does, and without any, all pairs may be."""


class Diversity(Problem):
    """Are latents on a sphere a best embedding, when the positive j of point i has chance p_j exp(kappa z_i.z_j)?

    ``Diversity(latents="rings:7x10", temperature=0.3, shared_coordinates=1)``; ``kappa`` is 1/temperature if left out.
    """

    leading: ClassVar[str] = "latents"
    kind: Literal["diversity"] = "diversity"
    latents: Matrix = Field(description="points on the unit sphere: sphere:200:3, rings:7x10, @file or rows")
    masses: tuple[float, ...] | None = Field(None, description="how frequent each point is (default: equally)")
    kappa: float | None = Field(None, ge=0, le=1e6, description="concentration of positives")
    temperature: Annotated[float, TEMPERATURE] = 0.1
    shared_coordinates: Whole | None = Field(None, ge=1, description="positives agree in the first so many coordinates")
    support: Matrix | None = Field(None, description="n x n, not 0 where j may be a positive of i")
    edges: Matrix | None = Field(None, description="pairs i, j (from 0) that are positives of each other")
    corrected: bool = Field(False, description="restrict the denominator to pairs that may be positives")

    @field_validator("latents", mode="before")
    @classmethod
    def _read_latents(cls, value: Any, info: ValidationInfo) -> Any:
        return read_latents(value, info.data.get("base"), info.data.get("seed", 0))

    @field_validator("support", "edges", mode="before")
    @classmethod
    def _read_pairs(cls, value: Any, info: ValidationInfo) -> Any:
        return None if value is None else read_matrix(value, info.data.get("base"))

    @field_validator("masses", mode="before")
    @classmethod
    def _read_masses(cls, value: Any, info: ValidationInfo) -> Any:
        values = read_numbers(value, info.data.get("base")) if isinstance(value, str) else value
        if values is None:
            return None
        if not isinstance(values, (list, tuple)):
            raise ValueError(f"wanted a list of numbers, got {values!r}")
        for position, x in enumerate(values, 1):
            if isinstance(x, bool) or not isinstance(x, (int, float)) or not 0 < x < float("inf"):
                raise ValueError(f"masses must be positive numbers, but number {position} is {x!r}")
            if not in_range(x):
                raise ValueError(
                    f"masses must be from {SMALLEST:g} to {LARGEST:g}, but number {position} is {x:g}; rescale them all"
                )
        return values

    @model_validator(mode="after")
    def _fits(self) -> Diversity:
        n, d = self.points.shape
        given = [name for name in RESTRICTIONS if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"give at most one of {', '.join(RESTRICTIONS)}; found {' and '.join(given)}")
        if self.masses is not None and len(self.masses) != n:
            raise ValueError(f"{counted(len(self.masses), 'mass', 'masses')} for {n} points; give one mass a point")
        if self.shared_coordinates is not None and self.shared_coordinates > d:
            raise ValueError(f"{self.shared_coordinates} shared coordinates, but the latents have {d}")
        if self.support is not None:
            shape = self.support.values.shape
            if shape != (n, n):
                raise ValueError(f"the support matrix is {shape[0]} x {shape[1]}, but there are {n} points")
            empty = np.flatnonzero(~self.positives.any(axis=1))
            if empty.size:
                raise ValueError(f"row {empty[0] + 1} of the support is zero: that point has no positive")
        if self.edges is not None:
            edges = self.edges.values
            if edges.shape[1] != 2:
                raise ValueError(f"an edge is a pair of points, but the rows of edges hold {edges.shape[1]} numbers")
            wrong = np.argwhere((edges != np.floor(edges)) | (edges < 0) | (edges >= n))
            if wrong.size:
                row, column = wrong[0]
                raise ValueError(
                    f"row {row + 1} of edges names point {edges[row, column]:g}; there are points 0 to {n - 1}"
                )
        return self

    @cached_property
    def points(self) -> FloatArray:
        """The latents (n, d), of length 1."""
        points = self.latents.points
        unit: FloatArray = points / np.linalg.norm(points, axis=1, keepdims=True)
        return unit

    @cached_property
    def mass(self) -> FloatArray:
        """(n,), positive, sum 1 up to rounding."""
        n = self.points.shape[0]
        mass: FloatArray = np.ones(n) if self.masses is None else np.array(self.masses)
        mass /= mass.sum()
        return mass

    @cached_property
    def concentration(self) -> float:
        return 1 / self.temperature if self.kappa is None else self.kappa

    @cached_property
    def positives(self) -> NDArray[np.bool_]:
        """(n, n): whether j may be the positive of i."""
        n = self.points.shape[0]
        allowed: NDArray[np.bool_] = np.ones((n, n), dtype=np.bool_)
        if self.shared_coordinates is not None:
            shared = self.points[:, : self.shared_coordinates]
            allowed = np.abs(shared[:, None] - shared[None]).max(axis=2) <= SAME_COORDINATE
        elif self.support is not None:
            allowed = self.support.values != 0
        elif self.edges is not None:
            first, second = self.edges.values.astype(np.int64).T
            allowed = np.eye(n, dtype=np.bool_)
            allowed[first, second] = allowed[second, first] = True
        return allowed
