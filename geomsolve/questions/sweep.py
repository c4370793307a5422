"""The question of ``geomsolve sweep``: how does the geometry change along one or two parameters?

0.05:1:20        20 values from 0.05 to 1, evenly          log:0.05:1:20    evenly in the logarithm
0.1,0.5,1        a list, as everywhere
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import Field, ValidationInfo, field_validator, model_validator

from geomsolve.questions.base import LossProblem, Problem, Whole
from geomsolve.questions.classes import EqualClassProblem
from geomsolve.questions.slack import Nonnegative, Slack, check_slack
from geomsolve.reading.arrays import array
from geomsolve.reading.lists import read_numbers
from geomsolve.registry import LOSSES, Registry

WHOLE = ("batch", "views", "negatives", "dim")
"""Parameters that are whole numbers: the values of a range are rounded."""

MOST_POINTS = 100_000


def read_range(text: str, base: Path | None = None) -> list[float]:
    """The values of a range or list; ValueError saying what is wrong."""
    if ":" not in text or text.startswith("@"):
        return read_numbers(text, base)
    parts = text.split(":")
    logarithmic = parts[0] == "log"
    parts = parts[1:] if logarithmic else parts
    if len(parts) != 3:
        raise ValueError(f"{text!r} is no range; write first:last:how-many, as in 0.05:1:20, or log:0.05:1:20")
    (low,), (high,), (count,) = (read_numbers(part) or [math.nan] for part in parts)
    if not (math.isfinite(low) and math.isfinite(high) and low != high):
        raise ValueError(f"{text!r} is no range: first and last must be two different numbers")
    if not (count == count and 2 <= count <= MOST_POINTS and count == int(count)):
        raise ValueError(f"{text!r} is no range: wanted a whole number of values, from 2 to {MOST_POINTS:,}")
    if logarithmic and min(low, high) <= 0:
        raise ValueError(f"{text!r} is no logarithmic range: first and last must be above 0")
    steps = [i / (int(count) - 1) for i in range(int(count))]
    if logarithmic:
        values = [math.exp(math.log(low) * (1 - s) + math.log(high) * s) for s in steps]
    else:
        values = [low * (1 - s) + high * s for s in steps]
    return [low, *values[1:-1], high]


def spelled_ranges(value: str | Sequence[str]) -> Any:
    """``temperature=0.05:1:20``, as on the command line, or a list of such; what is none of these as it is."""
    each = [value] if isinstance(value, str) else list(value)
    pairs = [part.partition("=") for part in each if isinstance(part, str)]
    if len(pairs) != len(each) or not all(name.strip() and sign and values.strip() for name, sign, values in pairs):
        return value
    return {name.strip(): values.strip() for name, _, values in pairs}


def read_axes(value: Any, base: Path | None, losses: Registry[Any]) -> dict[str, list[float]]:
    """One or two parameters of ``losses``, each with its values; ValueError saying what is wrong."""
    value = spelled_ranges(value) if isinstance(value, (str, list, tuple)) else value
    if not isinstance(value, dict) or not 1 <= len(value) <= 2:
        raise ValueError(f"wanted one or two parameters with their values, as in temperature=0.05:1:20, got {value!r}")
    read: dict[str, list[float]] = {}
    for name, values in value.items():
        ranged = isinstance(values, str) and ":" in values and not values.startswith("@")
        numbers = read_range(values, base) if isinstance(values, str) else array(values)
        numbers = numbers.ravel().tolist() if hasattr(numbers, "ravel") else numbers
        if not isinstance(numbers, (list, tuple)) or not numbers:
            raise ValueError(f"wanted values for {name}, got {values!r}")
        if ranged and name in WHOLE:
            numbers = list(dict.fromkeys(float(round(x)) for x in numbers))
        own = losses.parameter_name(str(name))
        read["regularise" if own == "regularisation" else own] = list(numbers)
    if math.prod(map(len, read.values())) > MOST_POINTS:
        raise ValueError(f"that makes more than {MOST_POINTS:,} points")
    return read


S = TypeVar("S", bound=Problem)


def points_of(problem: S) -> list[S]:
    """The sweep of each point alone, the last parameter varying fastest."""
    over: dict[str, tuple[float, ...]] = problem.over  # type: ignore[attr-defined]  # of a sweep
    return [
        problem.model_copy(
            update={"over": {name: (value,) for name, value in zip(over, values, strict=True)}, "expect": None}
        )
        for values in itertools.product(*over.values())
    ]


Elsewhere = Callable[[Sequence[Problem]], list[dict[str, Any]]]
"""Solves the sweeps of single points on other processes, and gives their JSON objects."""


class Sweep(EqualClassProblem, LossProblem):
    """How does the geometry change ``over`` one or two parameters, each with its values?

    ``Sweep([0.7, 0.2, 0.1], over="temperature=log:0.05:1:20")``, or ``over={"temperature": [0.1, 0.5]}``.
    A parameter is one of the loss (temperature, batch, negatives, epsilon, ...), ``majority`` (share of the largest
    class; the others keep their ratios), ``imbalance`` (largest over smallest class: of the classes given, logarithms
    of sizes are stretched alike; of ``classes`` classes sizes are by ``profile``) or ``dim``, the dimensions of the
    embedding.  ``slack`` asks how far cosines may be at a loss that much above the optimum.
    """

    of_classifiers: ClassVar[bool] = True
    kind: Literal["sweep"] = "sweep"
    over: dict[str, tuple[float, ...]] = Field(description="parameter -> values, or a range such as 0.05:1:20")
    dim: Whole | None = Field(None, ge=1, description="dimensions of the embedding, if limited")
    nonnegative: Nonnegative = False
    slack: Slack = None
    profile: Literal["exp", "step"] = Field("exp", description="how sizes fall with imbalance: evenly in log, or half")

    @field_validator("over", mode="before")
    @classmethod
    def _ranges(cls, value: Any, info: ValidationInfo) -> Any:
        return read_axes(value, info.data.get("base"), LOSSES)

    @model_validator(mode="after")
    def _ranges_know_no_dimension(self) -> Sweep:
        check_slack(self.slack, None, self.dim is not None or "dim" in self.over)
        return self
