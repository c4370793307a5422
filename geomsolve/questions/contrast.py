"""The question of ``geomsolve contrast``: what do these losses, side by side, do to the same classes?

supcon,sigmoid,spectral      names of losses, in the order of the rows
all                          every loss there is
(nothing)                    the handful that people choose among; each loss says itself whether it is one of them

In a problem file a loss may also be a mapping with parameters of its own, so that one loss can stand there twice.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    ValidationInfo,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from geomsolve.errors import InputError, nearest
from geomsolve.questions.base import LossChoice, read_lists
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.slack import LEAST_SLACK, Nonnegative
from geomsolve.reading.lists import read_names
from geomsolve.registry import LOSSES, Registry
from geomsolve.words import UNSEEN

ALL: Final = "all"


class Shared(BaseModel):
    """Parameters that hold for every loss that takes them."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that were given."""
        return dict(self.model_extra or {})

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Every parameter of every loss."""
        schema = handler.resolve_ref_schema(handler(core))
        schema["properties"] = {name: declared.json_schema() for name, declared in LOSSES.parameters().items()}
        schema["additionalProperties"] = False
        return schema


def _plain(entry: LossChoice) -> Any:
    return {"name": entry.name, **entry.parameters} if entry.parameters else entry.name


Entry = Annotated[LossChoice, PlainSerializer(_plain, return_type=Any)]


class Contrast(ClassProblem):
    """What do these losses, side by side, do to the same classes?

    ``Contrast(props=[0.7, 0.2, 0.1], losses=["supcon", "sigmoid"], temperature=0.5)``: ``loss`` holds the
    parameters of each loss that takes them.  ``slack``: nats above the optimum at which the widest range of a cosine
    is bounded.  ``nonnegative``: no coordinate of a feature is negative, as after a ReLU.
    """

    of_loss: ClassVar[Registry[Any] | None] = LOSSES
    kind: Literal["contrast"] = "contrast"
    losses: tuple[Entry, ...] | Literal["all"] | None = Field(
        None, description="losses by name, or all; a common handful unless given"
    )
    loss: Shared = Field(Shared(), description="parameters of each loss that takes them")
    nonnegative: Nonnegative = False
    slack: float = Field(
        UNSEEN,
        ge=LEAST_SLACK,
        le=100,
        allow_inf_nan=False,
        description="nats above the optimum for cosines' bounds",
    )

    @field_validator("losses", mode="before")
    @classmethod
    def _named(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None or value == ALL:
            return value
        base = info.data.get("base")
        written = read_names(value, base) if isinstance(value, str) else value
        if not isinstance(written, (list, tuple)) or not written:
            raise ValueError(f"wanted names of losses, or all, got {value!r}")
        entries = []
        for entry in written:
            if isinstance(entry, dict):
                entries.append(LossChoice(**read_lists(entry, base)))
            elif isinstance(entry, (str, LossChoice)):
                entries.append(LossChoice(name=entry) if isinstance(entry, str) else entry)
            else:
                raise ValueError(f"wanted the name of a loss, or a mapping with name and parameters, got {entry!r}")
        twice = next((entry for i, entry in enumerate(entries) if entry in entries[:i]), None)
        if twice is not None:
            raise ValueError(f"the loss {twice.name!r} stands twice with the same parameters")
        return tuple(entries)

    @field_validator("loss", mode="before")
    @classmethod
    def _parsed(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, Shared):
            return value
        if not isinstance(value, dict):
            raise ValueError(f"wanted parameters of losses, such as temperature: 0.5, got {value!r}")
        declared = LOSSES.parameters()
        read = read_lists(value, info.data.get("base"))
        for name in read:
            if name not in declared:
                hint = "name the losses under losses" if name == "name" else nearest(name, declared)
                raise InputError(f"no loss has this parameter; {hint}", field=name)
            read[name] = declared[name].parse(read[name])
        return read
