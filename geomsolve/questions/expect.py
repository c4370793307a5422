"""What a problem file expects of its answer, so that a changed prediction fails loudly.

    expect: {structure: minority collapse, groups: [[b, c]], value: -0.128125}
    expect: {value: {value: 1.28001, tolerance: 1e-5}, threshold: null}          # null: there is none

A number is met when the answer is within ``tolerance`` (absolute) of it: its own, else the one for all numbers.
Fractions are read too: ``min_cosine: -1/9``.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, WithJsonSchema, field_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from geomsolve.reading.numbers import number

TOLERANCE = 1e-4
"""Default for the distance between an expected number and the answer: numbers are written with a few digits."""


ClassName = Annotated[str, WithJsonSchema({"type": ["string", "number"]})]


class Near(BaseModel):
    """A number, maybe with its own tolerance."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)

    value: float = Field(strict=True)
    tolerance: float | None = Field(None, ge=0, strict=True)

    @field_validator("value", mode="before")
    @classmethod
    def _fraction(cls, value: Any) -> Any:
        if isinstance(value, str):
            return number(value)
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """A number, a fraction, or a mapping."""
        mapping = handler.resolve_ref_schema(handler(core))
        number = {"type": ["number", "string"]}
        mapping["properties"]["value"] = number
        return {"anyOf": [number, mapping]}


class Expectation(BaseModel):
    """What the answer has to be; keys that are left out are not looked at."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False, coerce_numbers_to_str=True
    )

    structure: str | None = Field(
        None, description="name of the geometry, such as 'regular simplex', or a sweep's summary"
    )
    verdict: str | None = Field(None, description="verdict of the analysis, such as realizable, holds or agrees")
    groups: tuple[tuple[ClassName, ...], ...] | None = Field(None, description="names of the classes that coincide")
    value: Near | None = Field(None, description="loss value at the optimum, in nats")
    min_cosine: Near | None = Field(None, description="smallest cosine between two classes")
    max_cosine: Near | None = Field(None, description="largest cosine between two classes")
    threshold: Near | None = Field(None, description="where classes collapse; null if nowhere")
    collapse: Near | None = Field(None, description="loss value of total collapse")
    position: Near | None = Field(None, description="where a loss value stands: 0 at the optimum, 1 at collapse")
    price: Near | None = Field(None, description="what a forced modality gap costs, in nats")
    attainable: Near | None = Field(None, description="temperature up to which pairs are expressed exactly, or null")
    at_least: Near | None = Field(None, description="how many are known to fit, or dimensions that are needed")
    at_most: Near | None = Field(None, description="how many cannot be exceeded, or dimensions that are enough")
    tolerance: float = Field(TOLERANCE, ge=0, strict=True, description="of every number that has none of its own")

    @field_validator(
        "value",
        "min_cosine",
        "max_cosine",
        "threshold",
        "collapse",
        "position",
        "price",
        "attainable",
        "at_least",
        "at_most",
        mode="before",
    )
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return value if value is None or isinstance(value, (dict, Near)) else {"value": value}
