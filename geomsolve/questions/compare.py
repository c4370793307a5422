"""The question of ``geomsolve compare``: does a trained encoder have the predicted geometry?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from geomsolve.questions.base import LossProblem, Whole
from geomsolve.questions.data import ClassLabels, Matrix, Vectors
from geomsolve.questions.slack import Nonnegative
from geomsolve.reading import samples
from geomsolve.reading.embeddings import Embeddings, names_file, several_embeddings
from geomsolve.reading.labels import Classes, classes_of
from geomsolve.reading.table import Table, read_rows
from geomsolve.words import counted


class Compare(LossProblem):
    """Do embeddings have the geometry that is predicted for their own class proportions?

    ``Compare(z, labels=y, loss="supcon", temperature=0.1)`` with arrays of any library, or the names of files; several
    in a list are checkpoints, with the same rows in each.  The labels are read here; of the embeddings in a file only
    what it holds.
    """

    leading: ClassVar[str] = "embeddings"
    kind: Literal["compare"] = "compare"
    labels: ClassLabels = Field(description="a file with the class of each row")
    embeddings: Vectors = Field(
        description="a file of vectors, one row a sample: npy, npz, csv, tsv, parquet or pt; or a list of such files"
    )
    within: float = Field(0.1, gt=0, lt=1, description="largest difference of a cosine that counts as a match")
    nonnegative: Nonnegative = False
    dim: Whole | None = Field(
        None, ge=1, description="dimensions that the encoder can use (default: those of its rows)"
    )
    classifier: Matrix | None = Field(None, description="a file with the classifier's weights, one row a class")

    @field_validator("labels", mode="before")
    @classmethod
    def _read_labels(cls, value: Any, info: ValidationInfo) -> Any:
        return classes_in(value, info.data.get("base"))

    @field_validator("embeddings", mode="before")
    @classmethod
    def _look_at_embeddings(cls, value: Any, info: ValidationInfo) -> Any:
        return several_embeddings(value, info.data.get("base"), info.data.get("labels"))

    @field_validator("classifier", mode="before")
    @classmethod
    def _read_classifier(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            return None
        if isinstance(value, str) or hasattr(value, "__fspath__"):
            value = f"@{str(value).removeprefix('@')}"
        table = read_rows(value, info.data.get("base"))
        labels = info.data.get("labels")
        rows = table.points.shape[0]
        if labels is not None and rows != len(labels.names):
            raise ValueError(
                f"{counted(rows, 'row')} for {counted(len(labels.names), 'class', 'classes')}; give one row a class, "
                "in the order of the labels"
            )
        if not np.all(np.isfinite(table.values)):
            raise ValueError("an entry is not finite")
        return Table(table.points, table.names, table.place)

    def read(self, embeddings: Embeddings) -> dict[str, Any]:
        """What is read of a file, and which columns of it are left out, each with the reason."""
        return {
            "embeddings": embeddings.place,
            "labels": self.labels.place,
            "columns": list(embeddings.columns),
            "left_out": [{"column": name, "why": why} for name, why in embeddings.left_out],
        }


def classes_in(value: Any, base: Path | None) -> Classes:
    """The class of each row, of at least two: from a file, a list or an array."""
    if isinstance(value, Classes):
        return value
    if names_file(value):
        classes = samples.classes_in(value, base)
        listed = classes.path is None and "," in classes.place
        place = f"{classes.codes.size:,} labels" if listed else classes.place.removeprefix("@")
        classes = replace(classes, place=place)
    else:
        classes = classes_of(value)
    if len(classes.names) < 2:
        raise ValueError(f"all labels are {classes.names[0]!r}; one class has no geometry")
    return classes
