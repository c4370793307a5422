"""The question of ``geomsolve advise``: what should be changed so that small classes keep apart?

separate               the smaller classes at a right angle from each other, or wider
simplex                all classes as a regular simplex
angle:DEG              every two classes at least DEG degrees apart
minority-angle:DEG     every two of the smaller classes at least DEG degrees apart

The smaller classes are all but the largest (or but the largest ones, where these are equal).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator

from geomsolve.errors import nearest
from geomsolve.questions.base import LossProblem, Whole
from geomsolve.questions.classes import ClassProblem

SEPARATE = 90.0
"""Degrees from which on the smaller classes count as separate."""

WANTS = ("separate", "simplex", "angle:DEG", "minority-angle:DEG")


@dataclass(frozen=True)
class Wanted:
    """A want as it is understood: at least ``degrees`` between all classes, or between the smaller ones.

    ``degrees`` is None for the regular simplex.
    """

    degrees: float | None
    smaller: bool


def read_want(text: str) -> Wanted:
    """The want that ``text`` states; ValueError saying what is wrong with it."""
    if text == "separate":
        return Wanted(SEPARATE, True)
    if text == "simplex":
        return Wanted(None, False)
    name, colon, degrees = text.partition(":")
    if name not in ("angle", "minority-angle") or not colon:
        raise ValueError(f"unknown want {text!r}; {nearest(text, WANTS)}")
    try:
        angle = float(degrees)
    except ValueError:
        raise ValueError(f"{degrees!r} is no angle; write degrees, as in {name}:100") from None
    if not 0 < angle <= 180:
        raise ValueError(f"an angle is above 0 and at most 180 degrees, got {degrees}")
    return Wanted(angle, name == "minority-angle")


class Advise(ClassProblem, LossProblem):
    """Which single change of the training moves the classes as wanted, and which does nothing or harm?

    ``Advise(props=[0.95, 0.03, 0.02], loss={"name": "supcon", "temperature": 1})``; ``want`` as in the module's text.
    """

    kind: Literal["advise"] = "advise"
    want: str = Field("separate", description=f"what is wanted: {', '.join(WANTS)}")
    dim: Whole | None = Field(None, ge=1, description="dimensions of the embedding, if limited")

    @field_validator("want", mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        if not isinstance(value, str):
            raise ValueError(f"wanted one of {', '.join(WANTS)}, got {value!r}")
        read_want(value.strip())
        return value.strip()

    @property
    def wanted(self) -> Wanted:
        """The want as it is understood."""
        return read_want(self.want)
