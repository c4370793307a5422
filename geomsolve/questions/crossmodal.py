"""The question of ``geomsolve crossmodal``: how do two encoders arrange images and texts that belong together?

pairs      weights of images (rows) and texts (columns) that belong together: a matrix or a file with one
props      or classes (also counts, labels, a data set): an image and a text of each, as often as the class
noise      a part of the pairs of classes has a text drawn at random
gap        what a modality gap costs, the distance between the mean of the images and that of the texts
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from geomsolve.errors import InputError
from geomsolve.questions.base import PairProblem, Whole
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.data import Matrix
from geomsolve.reading.matrices import read_matrix
from geomsolve.reading.table import Table


class TwoSides(ClassProblem, PairProblem):
    """A problem about the points of two sides that belong together, given by classes or by ``pairs``."""

    SOURCES: ClassVar[tuple[str, ...]] = (*ClassProblem.SOURCES, "pairs")

    pairs: Matrix | None = Field(None, description="weights of images (rows) and texts (columns) that belong together")
    noise: float | None = Field(None, ge=0, le=1, description="part of the pairs of classes with a random text")

    @classmethod
    def led_by(cls, value: Any) -> dict[str, Any]:
        """The matrix of pairs, where the first argument has rows; else the classes."""
        rows = value.split(";") if isinstance(value, str) else value
        nested = isinstance(rows, (list, tuple)) and any(isinstance(row, (list, tuple)) for row in rows)
        if nested or getattr(value, "ndim", 1) == 2 or (isinstance(value, str) and len(rows) > 1):
            return {"pairs": value}
        return super().led_by(value)

    @field_validator("pairs", mode="before")
    @classmethod
    def _read_pairs(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            return None
        table = value if isinstance(value, Table) else read_matrix(value, info.data.get("base"))
        weights = table.values
        if min(weights.shape) < 2:
            rows, columns = weights.shape
            raise ValueError(f"wanted at least two images (rows) and two texts (columns), got {rows} x {columns}")
        if (weights < 0).any():
            i, j = np.argwhere(weights < 0)[0]
            raise ValueError(f"the weight in row {i + 1}, column {j + 1} is {weights[i, j]:g}; weights are at least 0")
        if not weights.any():
            raise ValueError("all weights are 0; give how often each image comes with each text")
        for axis, noun in ((1, "row"), (0, "column")):
            empty = np.flatnonzero(~weights.any(axis=axis)) + 1
            if empty.size:
                raise ValueError(f"{noun} {empty[0]} has no pair, only zeros; leave it out, or give it a weight")
        return table

    @model_validator(mode="after")
    def _noise_of_classes(self) -> TwoSides:
        if self.noise is not None and self.pairs is not None:
            raise InputError("it is for classes; write the noise into the weights of the pairs", field="noise")
        return self

    @cached_property
    def proportions(self) -> tuple[float, ...]:
        """(K,) of the classes, or of the images that are given: positive, sum 1 up to rounding."""
        if self.pairs is None:
            return super().proportions
        rows = self.pairs.values.sum(axis=1)
        return tuple((rows / rows.sum()).tolist())


class Crossmodal(TwoSides):
    """How do two encoders arrange images and texts under ``loss``, and do they coincide?

    ``Crossmodal([0.7, 0.2, 0.1], loss="clip", temperature=0.5)``, or ``pairs=[[3, 1], [0, 2]]``:
    how often each image (row) comes with each text (column).
    """

    kind: Literal["crossmodal"] = "crossmodal"
    dim: Whole | None = Field(None, ge=1, description="dimensions of the embedding, if limited")
    gap: float | None = Field(
        None, ge=0, le=2, allow_inf_nan=False, description="modality gap to force, 0 to 2: what does it cost?"
    )

    @model_validator(mode="after")
    def _gap_in_any_dimension(self) -> Crossmodal:
        if self.gap is not None and self.dim is not None:
            raise InputError("its price is that in any dimension; leave the dimension or the gap out", field="gap")
        return self
