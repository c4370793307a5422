"""The question of ``geomsolve sweep`` about two sides: how do their angles and the modality gap change?"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from geomsolve.questions.crossmodal import TwoSides
from geomsolve.questions.sweep import read_axes
from geomsolve.registry import PAIR_LOSSES


class SweepCrossmodal(TwoSides):
    """How do two sides change ``over`` one or two parameters of the loss, or noise, each with its values?"""

    kind: Literal["sweep_crossmodal"] = "sweep_crossmodal"
    over: dict[str, tuple[float, ...]] = Field(description="parameter -> values, or a range such as 0.05:1:20")

    @field_validator("over", mode="before")
    @classmethod
    def _ranges(cls, value: Any, info: ValidationInfo) -> Any:
        return read_axes(value, info.data.get("base"), PAIR_LOSSES)
