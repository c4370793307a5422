"""The question of ``geomsolve compare`` about two sides: are image and text embeddings where their loss wants them?"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from geomsolve.questions.base import PairProblem
from geomsolve.questions.data import Vectors
from geomsolve.reading.embeddings import Embeddings, open_embeddings


class CompareCrossmodal(PairProblem):
    """Do embeddings of images and of their texts, row by row, have the geometry that is predicted for such pairs?

    ``CompareCrossmodal(embeddings="images.npy", texts="texts.npy", loss={"name": "clip", "temperature": 0.01})``;
    row i of either file is a pair, and all pairs differ.
    """

    kind: Literal["compare_crossmodal"] = "compare_crossmodal"
    embeddings: Vectors = Field(description="a file of image embeddings, one row a pair")
    texts: Vectors = Field(description="a file of text embeddings, one row a pair, in the same order")
    within: float = Field(0.1, gt=0, lt=1, description="largest difference of a mean cosine that counts as a match")

    @field_validator("embeddings", "texts", mode="before")
    @classmethod
    def _look(cls, value: Any, info: ValidationInfo) -> Any:
        files = value if isinstance(value, (list, tuple)) else [value]
        if len(files) != 1:
            raise ValueError("wanted the name of one file with embeddings")
        base = info.data.get("base")
        return tuple(each if isinstance(each, Embeddings) else open_embeddings(str(each), base) for each in files)
