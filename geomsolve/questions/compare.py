"""The question of ``geomsolve compare``: does a trained encoder have the predicted geometry?"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from geomsolve.questions.base import LossProblem


class Compare(LossProblem):
    """Do the embeddings in a file have the geometry that is predicted for their own class proportions?

    ``Compare(embeddings="z.npy", labels="y.npy", loss={"name": "supcon", "temperature": 0.1})``.
    """

    kind: Literal["compare"] = "compare"
    embeddings: str = Field(description="a file of vectors, one row a sample: npy, npz, csv, tsv, parquet or pt")
    labels: str = Field(description="a file with the class of each row")
    within: float = Field(0.1, gt=0, lt=1, description="largest difference of a cosine that counts as a match")
