"""The question of ``geomsolve check``: does gradient descent reach the predicted geometry?"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from geomsolve.spec.base import LossProblem
from geomsolve.spec.classes import ClassProblem


class Check(ClassProblem, LossProblem):
    """Does gradient descent on the actual batch loss reach the geometry that is predicted for these classes?

    ``Check(props=[0.5, 0.3, 0.2], loss={"name": "supcon", "temperature": 0.5})``; needs torch.
    """

    kind: Literal["check"] = "check"
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="where to train; auto is cuda if there is one")
    steps: int = Field(20_000, ge=1, description="most training steps")
    samples: int | None = Field(None, ge=4, description="samples altogether, at least two a class are taken")
    dim: int | None = Field(None, ge=1, description="dimensions of the embedding (default: the number of classes)")
    optimizer: Literal["adam", "sgd", "lbfgs"] = Field("adam", description="how to descend")
    implementation: Literal["own", "pml"] = Field("own", description="whose batch losses; pml: pytorch-metric-learning")
    synthetic: str | None = Field(None, description="synthetic negatives: synco, or synco:1,4 for some kinds")

    @model_validator(mode="after")
    def _agree(self) -> Check:
        if self.synthetic is not None and self.implementation == "pml":
            raise ValueError("synthetic negatives are added to the project's own batch losses, not to pml's")
        return self
