"""What every problem shares: strict, frozen, and errors that name the field, not the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from geomsolve.errors import InputError, nearest


def explain(error: ValidationError, model: type[BaseModel]) -> InputError:
    """The first complaint of a validation, as one plain sentence with its dotted field."""
    first = error.errors(include_url=False)[0]
    loc = [str(part) for part in first["loc"]]
    field = ".".join(loc)
    value = first.get("input")
    kind = first["type"]
    if kind == "extra_forbidden":
        return InputError(f"unknown key; {nearest(loc[-1], model.model_fields)}", field=field)
    if kind == "missing":
        return InputError("this is needed", field=field)
    message = str(first["ctx"]["error"]) if kind == "value_error" else first["msg"]
    shown = "" if kind == "value_error" or isinstance(value, (dict, list)) else f", got {value!r}"
    return InputError(f"{message}{shown}", field=field)


class Frozen(BaseModel):
    """A pydantic model that forbids unknown keys and raises :class:`InputError` instead of ValidationError."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise explain(error, type(self)) from None


class LossChoice(BaseModel):
    """A loss by ``name``, with whatever parameters that loss takes; the registry of losses checks them."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = "supcon"

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class Problem(Frozen):
    """The base of all problems."""

    title: str | None = None
    why: str | None = None
    solver: str = Field("auto", description="auto, conic or manifold")
    tolerance: float = Field(1e-6, gt=0, lt=1, description="relative gap below which an answer is certified")
    seed: int = Field(0, ge=0)
    base: Path | None = Field(None, exclude=True, description="folder that relative paths start from")

    @property
    def notices(self) -> tuple[str, ...]:
        """What was understood differently from what was written, for the user to see."""
        return ()


class LossProblem(Problem):
    """A problem about a loss."""

    loss: LossChoice = LossChoice()

    @field_validator("loss", mode="before")
    @classmethod
    def _loss_by_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


Kind = Literal["imbalance"]
