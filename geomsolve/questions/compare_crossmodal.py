"""The question of ``geomsolve compare`` about two sides: are image and text embeddings where their loss wants them?"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from geomsolve.errors import InputError
from geomsolve.questions.base import PairProblem
from geomsolve.questions.compare import classes_in
from geomsolve.questions.data import ClassLabels, Vectors
from geomsolve.reading.embeddings import Embeddings, several_embeddings
from geomsolve.words import counted


class CompareCrossmodal(PairProblem):
    """Do embeddings of images and of their texts, row by row, have the geometry that is predicted for such pairs?

    ``CompareCrossmodal(images, texts=texts, loss="clip", temperature=0.01)`` with arrays of any library, or the names
    of files; row i of either is a pair, and all pairs differ.  With ``labels``, the class of each pair, images and
    texts of a class belong together; ``texts`` may then have one row a class, in the order of the classes' names.
    Several in a list are checkpoints with the same rows; one file of texts may go with all of them.
    """

    leading: ClassVar[str] = "embeddings"
    kind: Literal["compare_crossmodal"] = "compare_crossmodal"
    labels: ClassLabels | None = Field(None, description="a file with the class of each pair, where pairs have classes")
    embeddings: Vectors = Field(description="a file of image embeddings, one row a pair, or a list of such files")
    texts: Vectors = Field(description="a file of text embeddings, one row a pair or class, or as many such files")
    within: float = Field(0.1, gt=0, lt=1, description="largest difference of a cosine that counts as a match")

    @field_validator("labels", mode="before")
    @classmethod
    def _read_labels(cls, value: Any, info: ValidationInfo) -> Any:
        return None if value is None else classes_in(value, info.data.get("base"))

    @field_validator("embeddings", "texts", mode="before")
    @classmethod
    def _look(cls, value: Any, info: ValidationInfo) -> Any:
        return several_embeddings(value, info.data.get("base"), info.data.get("labels"))

    @model_validator(mode="after")
    def _side_by_side(self) -> CompareCrossmodal:
        images, texts = len(self.embeddings), len(self.texts)
        if texts not in (1, images):
            raise InputError(
                f"{counted(texts, 'file')} for {counted(images, 'file')} of images; give one for each, in the same "
                "order, or one for all",
                field="texts",
            )
        return self

    @property
    def checkpoints(self) -> list[tuple[Embeddings, Embeddings]]:
        """The files of images, each with that of its texts."""
        texts = self.texts if len(self.texts) == len(self.embeddings) else self.texts * len(self.embeddings)
        return list(zip(self.embeddings, texts, strict=True))
