"""The question of ``geomsolve check``: does gradient descent reach the predicted geometry?"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from geomsolve.questions.base import Frozen, LossProblem
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.realizable import Realizable


class Training(Frozen):
    """How to train."""

    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="where to train; auto is cuda if there is one")
    steps: int = Field(20_000, ge=1, description="most training steps")
    optimizer: Literal["adam", "sgd", "lbfgs"] = Field("adam", description="how to descend")


class Check(ClassProblem, LossProblem, Training):
    """Does gradient descent on the actual batch loss reach the geometry that is predicted for these classes?

    ``Check(props=[0.5, 0.3, 0.2], loss={"name": "supcon", "temperature": 0.5})``; needs torch.
    """

    kind: Literal["check"] = "check"
    samples: int | None = Field(None, ge=4, description="samples altogether, at least two a class are taken")
    dim: int | None = Field(None, ge=1, description="dimensions of the embedding (default: the number of classes)")
    implementation: Literal["own", "pml"] = Field("own", description="whose batch losses; pml: pytorch-metric-learning")
    synthetic: str | None = Field(None, description="synthetic negatives: synco, or synco:1,4 for some kinds")

    @model_validator(mode="after")
    def _agree(self) -> Check:
        if self.synthetic is not None and self.implementation == "pml":
            raise ValueError("synthetic negatives are added to the project's own batch losses, not to pml's")
        return self


class CheckWeighting(Realizable, Training):
    """The same for a weighting of pairs of labelled samples: one free feature a sample, all in every step.

    ``CheckWeighting(weighting="yaware", labels=[20, 25, 30], sigma=5)``; ``dim`` limits the features.
    """

    model_config = ConfigDict(extra="allow")

    kind: Literal["check_weighting"] = "check_weighting"  # type: ignore[assignment]

    @model_validator(mode="after")
    def _samples(self) -> CheckWeighting:
        if self.labels is None and self.weighting != "custom":
            raise ValueError("a weighting is trained on samples; give their labels")
        return self

    def without_training(self) -> dict[str, Any]:
        """The fields of the realizability question that were set."""
        apart = {"kind", *Training.model_fields}
        return {name: getattr(self, name) for name in self.model_fields_set - apart}
