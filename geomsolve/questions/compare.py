"""The question of ``geomsolve compare``: does a trained encoder have the predicted geometry?"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from geomsolve.questions.base import LossProblem
from geomsolve.questions.data import ClassLabels, Vectors
from geomsolve.reading.embeddings import Embeddings, open_embeddings
from geomsolve.reading.labels import Classes, read_classes


class Compare(LossProblem):
    """Do the embeddings in a file have the geometry that is predicted for their own class proportions?

    ``Compare(embeddings="z.npy", labels="y.npy", loss={"name": "supcon", "temperature": 0.1})``.  The labels are read
    here; of the embeddings only what their file holds.
    """

    kind: Literal["compare"] = "compare"
    labels: ClassLabels = Field(description="a file with the class of each row")
    embeddings: Vectors = Field(description="a file of vectors, one row a sample: npy, npz, csv, tsv, parquet or pt")
    within: float = Field(0.1, gt=0, lt=1, description="largest difference of a cosine that counts as a match")

    @field_validator("labels", mode="before")
    @classmethod
    def _read_labels(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, Classes):
            return value
        classes = read_classes(_name(value, "labels"), info.data.get("base"))
        if len(classes.names) < 2:
            raise ValueError(f"all labels are {classes.names[0]!r}; one class has no geometry")
        return classes

    @field_validator("embeddings", mode="before")
    @classmethod
    def _look_at_embeddings(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, Embeddings):
            return value
        return open_embeddings(_name(value, "embeddings"), info.data.get("base"), info.data.get("labels"))

    @property
    def read(self) -> dict[str, Any]:
        """What is read of which file, and which columns of it are left out, each with the reason."""
        return {
            "embeddings": self.embeddings.place,
            "labels": self.labels.place,
            "columns": list(self.embeddings.columns),
            "left_out": [{"column": name, "why": why} for name, why in self.embeddings.left_out],
        }


def _name(value: Any, what: str) -> str:
    """A file's name as text."""
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        return str(value)
    raise ValueError(f"wanted the name of a file with {what}, got {value!r:.60}")
