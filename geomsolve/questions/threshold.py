"""The question of ``geomsolve threshold``: where along a path do the smaller classes fall into one point?"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from geomsolve.questions.base import LossProblem
from geomsolve.questions.classes import ClassProblem

Over = Literal["temperature", "majority", "batch", "negatives"]


class Threshold(ClassProblem, LossProblem):
    """Where do all classes but the largest collapse into one point, as ``over`` varies and the rest stays as given?

    ``majority`` is the share of the largest class; the others keep their ratios.
    """

    kind: Literal["threshold"] = "threshold"
    over: Over = Field("temperature", description="what varies")
