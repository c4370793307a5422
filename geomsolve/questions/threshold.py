"""The question of ``geomsolve threshold``: where along a path do the smaller classes fall into one point?"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from geomsolve.questions.base import LossProblem
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.slack import Slack
from geomsolve.registry import LOSSES

Over = Literal["temperature", "majority", "batch", "negatives", "imbalance", "regularisation"]


class Threshold(ClassProblem, LossProblem):
    """Where do all classes but the largest collapse into one point, as ``over`` varies and the rest stays as given?

    ``majority`` is the share of the largest class; the others keep their ratios.  ``imbalance`` is the ratio of the
    largest class to the smallest, ``regularisation`` the weight decay of cross-entropy.  With ``slack``, over
    temperature, also: from which temperature on is every cosine settled to ``width`` at a loss that much above the
    optimum?
    """

    of_classifiers: ClassVar[bool] = True
    kind: Literal["threshold"] = "threshold"
    over: Over = Field("temperature", description="what varies")
    slack: Slack = None
    width: float | None = Field(
        None, gt=0, le=2, description="how wide a range of cosines may be that counts as settled; 0.1 unless given"
    )

    @field_validator("over", mode="before")
    @classmethod
    def _in_own_words(cls, value: Any) -> Any:
        name = LOSSES.parameter_name(value) if isinstance(value, str) else value
        return "regularisation" if name == "regularise" else name

    @model_validator(mode="after")
    def _settled_over_temperature(self) -> Threshold:
        if self.width is not None and self.slack is None:
            raise ValueError("cosines have ranges only at a loss above the optimum; give the slack too")
        if self.slack is not None and self.over != "temperature":
            raise ValueError(
                f"where ranges settle is found over temperature, not over {self.over}; leave the slack out"
            )
        return self
