"""The question of ``geomsolve levels``: is my loss value good?"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from geomsolve.questions.base import LossProblem, Whole
from geomsolve.questions.classes import EqualClassProblem
from geomsolve.registry import BATCH, REPLACEMENT, TEMPERATURE, VIEWS


class Levels(EqualClassProblem, LossProblem):
    """Which loss values belong to total collapse, to untrained embeddings and to the optimum?

    ``classes`` alone means balanced batches; ``props``, ``counts`` or ``dataset`` random ones.  Without any, every
    sample of a batch is its own class (instance discrimination, as in SimCLR).
    """

    of_classifiers: ClassVar[bool] = True
    kind: Literal["levels"] = "levels"
    batch: Annotated[int, BATCH] | None = Field(None, description="samples in a batch")
    views: Annotated[int, VIEWS] | None = Field(
        None, description="augmented views of each sample; 2 where the loss does not say otherwise"
    )
    base_temperature: Annotated[float, TEMPERATURE] | None = Field(
        None, description="the loss is multiplied by temperature over this"
    )
    reduction: Literal["mean", "mean-nonzero", "sum"] = Field(
        "mean", description="over anchors; mean-nonzero: over those that have a positive"
    )
    replacement: Annotated[str, REPLACEMENT] | None = Field(
        None, description="whether a random batch may hold a sample twice; no needs counts, and then is the default"
    )
    loss_value: float | None = Field(None, allow_inf_nan=False, description="a value to place between the levels")
    find: Literal["batch", "temperature", "base-temperature", "bias", "negatives"] | None = Field(
        None, description="the setting to find at which the loss value is a level; all others stay as given"
    )
    rounding: float = Field(0.0, exclude=True, description="half a unit of the last digit of loss_value")
    dim: Whole = Field(128, ge=2, description="embedding dimension of the random start")

    @model_validator(mode="before")
    @classmethod
    def _batch_of_the_loss(cls, data: Any) -> Any:
        """What belongs to the training here, whatever the loss: taken out of ``loss`` where it is."""
        loss = data.get("loss") if isinstance(data, dict) else None
        if not isinstance(loss, dict):
            return data
        moved = {key: loss[key] for key in ("batch", "views", "replacement") if key in loss}
        for key in moved:
            if data.get(key) not in (None, moved[key]):
                raise ValueError(f"{key} is given twice, as {data[key]} and, within the loss, as {moved[key]}")
        return {**data, **moved, "loss": {key: value for key, value in loss.items() if key not in moved}}

    @field_validator("find", mode="before")
    @classmethod
    def _hyphened(cls, value: Any) -> Any:
        return value.replace("_", "-") if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _digits(cls, data: Any) -> Any:
        """How exactly the loss value is given is known only from how it is written."""
        value = data.get("loss_value") if isinstance(data, dict) else None
        return data if value is None else {**data, "rounding": half_a_unit(value)}

    def check_source(self) -> None:
        if not self.instances:
            super().check_source()
        elif self.names is not None:
            raise ValueError("names need classes; give props, counts, dataset or classes too")

    @property
    def instances(self) -> bool:
        """Whether no classes are given, so that every sample is its own."""
        return all(getattr(self, name) is None for name in self.SOURCES)


def half_a_unit(value: Any) -> float:
    """Half a unit of the last digit of a number as it was written: 0.005 for 3.47; 0 for what is no number."""
    try:
        exponent = Decimal(str(value).strip()).as_tuple().exponent
    except InvalidOperation:
        return 0.0
    return 0.5 * 10.0 ** min(exponent, 300) if isinstance(exponent, int) else 0.0
