"""The question of ``geomsolve imbalance``: which geometry does this loss want for these proportions?"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from geomsolve.questions.base import LossProblem
from geomsolve.questions.classes import ClassProblem


class Imbalance(ClassProblem, LossProblem):
    """Which geometry does ``loss`` want for classes of these proportions?

    ``Imbalance(props=[0.7, 0.2, 0.1], loss={"name": "supcon", "temperature": 0.5})``, or ``counts=``, or ``dataset=``.
    ``dim=2`` limits the dimension of the embedding.
    """

    kind: Literal["imbalance"] = "imbalance"
    dim: int | None = Field(None, ge=1, description="dimensions of the embedding, if limited")
