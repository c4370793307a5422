"""The question of ``geomsolve capacity``: how far apart can this many classes be in this many dimensions?"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from geomsolve.errors import InputError
from geomsolve.questions.base import Problem


class Capacity(Problem):
    """``Capacity(classes=1041, dim=384)``: ``classes`` unit vectors in ``dim`` dimensions, as far apart as possible.

    With ``max_cosine``, the largest cosine that any two may have, one of the others is asked for: how many classes fit,
    or how many dimensions they need.  ``lines``: opposite vectors count as one, so that |cosines| are limited.
    """

    leading: ClassVar[str] = "classes"
    kind: Literal["capacity"] = "capacity"
    classes: int | None = Field(None, le=10**15, description="how many classes, at least 2")
    dim: int | None = Field(None, le=10**6, description="dimensions of the embedding, at least 1")
    max_cosine: float | None = Field(None, ge=-1, lt=1, description="the largest cosine that two classes may have")
    lines: bool = Field(False, description="whether opposite vectors count as one")

    @field_validator("classes")
    @classmethod
    def _enough(cls, value: int | None) -> int | None:
        if value is not None and value < 2:
            raise ValueError(f"angles need at least 2 classes, got {value}")
        return value

    @field_validator("dim")
    @classmethod
    def _some(cls, value: int | None) -> int | None:
        if value is not None and value < 1:
            raise ValueError(f"wanted at least 1 dimension, got {value}")
        return value

    @model_validator(mode="after")
    def _two_of_three(self) -> Capacity:
        given = {"classes": self.classes, "dim": self.dim, "max_cosine": self.max_cosine}
        missing = [name for name, value in given.items() if value is None]
        if not missing:
            raise InputError(
                "classes, dimensions and the largest cosine are more than a question: leave out what is asked for",
                field="max_cosine",
            )
        if len(missing) > 1:
            raise InputError(
                "give two of classes, dim and max_cosine; the third is what is asked for", field=missing[0]
            )
        if self.lines and self.max_cosine is None:
            raise InputError(
                "lines are counted for a largest cosine; give max_cosine and leave another out", field="lines"
            )
        if self.lines and self.max_cosine is not None and self.max_cosine < 0:
            raise InputError("lines have cosines in absolute value; give a number from 0", field="max_cosine")
        return self
