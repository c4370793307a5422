"""The question of ``geomsolve design``: which weights make a loss want this geometry?

simplex                     the regular simplex, all classes at equal angles
1,-.5,-.5;-.5,1,-.5;...     cosines between the class means, a row and a column a class
@gram.npy, @gram.csv        the same in a file
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from geomsolve.errors import InputError
from geomsolve.questions.base import LossProblem
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.data import Matrix
from geomsolve.reading.matrices import read_matrix
from geomsolve.reading.table import Table

SIMPLEX: Final = "simplex"


class Design(ClassProblem, LossProblem):
    """Which weights make ``loss`` want the geometry ``target``?

    ``Design(props=[0.45, 0.35, 0.2], loss={"name": "supcon", "temperature": 0.5}, change="anchors")``.  ``change`` says
    what may differ from the loss as it is: how much classes count as anchors, in denominators, both, margins, or which
    classes are in a batch together and how often; ``batches`` of the loss are then those to choose from.
    """

    kind: Literal["design"] = "design"
    target: Literal["simplex"] | Matrix = Field(SIMPLEX, description="simplex, or cosines between the class means")
    change: Literal["anchors", "denominators", "both", "margins", "batches"] = Field(
        "anchors", description="what is designed: anchor masses, denominators, both, margins of pairs or batches"
    )

    @field_validator("target", mode="before")
    @classmethod
    def _read_target(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, Table):
            return value
        if isinstance(value, str) and value.isalpha():
            if value != SIMPLEX:
                raise ValueError(f"wanted simplex, a matrix of cosines or @file with one, got {value!r}")
            return value
        return read_matrix(value, info.data.get("base"))

    @model_validator(mode="after")
    def _one_row_a_class(self) -> Design:
        if isinstance(self.target, Table):
            rows, columns = self.target.values.shape
            n = len(self.proportions)
            if (rows, columns) != (n, n):
                raise InputError(
                    f"the target is {rows} x {columns}, but there are {n} classes; give a row and a column a class",
                    field="target",
                )
        return self
