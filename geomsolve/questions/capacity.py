"""The question of ``geomsolve capacity``: how far apart can this many classes be in this many dimensions?"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from geomsolve.questions.base import Problem


class Capacity(Problem):
    """``Capacity(classes=1041, dim=384)``: ``classes`` unit vectors in ``dim`` dimensions, as far apart as possible."""

    leading: ClassVar[str] = "classes"
    kind: Literal["capacity"] = "capacity"
    classes: int = Field(description="how many classes, at least 2")
    dim: int = Field(description="dimensions of the embedding, at least 1")

    @field_validator("classes")
    @classmethod
    def _enough(cls, value: int) -> int:
        if value < 2:
            raise ValueError(f"angles need at least 2 classes, got {value}")
        return value

    @field_validator("dim")
    @classmethod
    def _some(cls, value: int) -> int:
        if value < 1:
            raise ValueError(f"wanted at least 1 dimension, got {value}")
        return value
