"""Kinds of values that a parameter may have: numbers, whole numbers, words, switches, lists, groups and matrices.

Each kind is a function, or a constant, that gives :class:`Values`: the type that pydantic checks and writes as JSON
schema, and the same in words for messages.  :mod:`geomsolve.registry` hands them on to those who declare a parameter.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict, TypeAdapter, WithJsonSchema


@dataclass(frozen=True)
class Values:
    """The values that a parameter may have: a ``type`` that pydantic checks, and the same in words, ``wanted``.

    ``words`` are all values, where they can be listed; a ``matrix``, a ``listed`` number for each class, or ``grouped``
    classes may be written as text or stand in a file.
    """

    type: Any
    wanted: str
    words: tuple[str, ...] = ()
    matrix: bool = False
    listed: bool = False
    grouped: bool = False

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """Pydantic's check of the type."""
        return TypeAdapter(self.type)


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("true and false are no numbers")
    return value


def _infinity(value: Any) -> float:
    written = value.strip().lower() if isinstance(value, str) else value
    if written in ("inf", "infinity", ".inf") or (isinstance(value, float) and value == math.inf):
        return math.inf
    raise ValueError("this is finite")


FRACTION = r"^[-+]?[0-9]+/0*[1-9][0-9]*$"
"""Numbers that no decimal writes exactly, such as the cosine -1/3 of four classes, are given as fractions."""


def _number(value: Any) -> Any:
    """A value that pydantic reads as a number, from a fraction, too."""
    if isinstance(value, str) and len(value) <= 100 and re.match(FRACTION, value):
        return float(Fraction(value))
    return _no_truth_value(value)


_NUMBER = BeforeValidator(_number)


def number(noun: str, low: float, high: float, *, zero: bool = False) -> Values:
    """Finite numbers from ``low`` to ``high``; with ``zero`` also 0, below a positive ``low``.

    ``noun`` completes 'wanted ...', as in 'a temperature'; the bounds are added to it.
    """
    schema = {"type": ["number", "string"], "minimum": low, "maximum": high, "pattern": FRACTION}
    within: Any = Annotated[float, Field(ge=low, le=high, allow_inf_nan=False), _NUMBER, WithJsonSchema(schema)]
    bounds = f"from {spelled(low)} to {spelled(high)}"
    if zero:
        nothing = Annotated[float, Field(ge=0, le=0), _NUMBER, WithJsonSchema({"const": 0})]
        return Values(within | nothing, f"{noun}, 0 or {bounds}")
    return Values(within, f"{noun} {'above 0, ' if low > 0 else ''}{bounds}")


LARGEST_WHOLE = 2**53
"""The largest whole number of a question: above it floating-point numbers have gaps."""


def whole(minimum: int, *, infinite: bool = False) -> Values:
    """Whole numbers from ``minimum`` up to :data:`LARGEST_WHOLE`; also ``inf``."""
    bounds = Field(ge=minimum, le=LARGEST_WHOLE, multiple_of=1, allow_inf_nan=False)
    schema = {"type": "integer", "minimum": minimum, "maximum": LARGEST_WHOLE}
    finite = Annotated[float, bounds, _NUMBER, AfterValidator(int), WithJsonSchema(schema)]
    wanted = f"a whole number, at least {minimum}"
    if not infinite:
        return Values(finite, wanted)
    endless = Annotated[float, BeforeValidator(_infinity), WithJsonSchema({"const": "inf"})]
    return Values(finite | endless, f"{wanted}, or inf")


def choice(*words: str) -> Values:
    """One of the ``words``."""
    return Values(Literal[words], f"one of {', '.join(words)}", words)


def text(longest: int, wanted: str) -> Values:
    """Text of at most ``longest`` characters that the choice itself reads; ``wanted`` says what it is."""
    return Values(Annotated[str, Strict(), Field(min_length=1, max_length=longest)], wanted)


def spelled(x: float) -> str:
    """A bound or a default as one would write it: 0.1, 1e6."""
    mantissa, exponent, power = f"{x:g}".partition("e")
    return f"{mantissa}e{int(power)}" if exponent else mantissa


_ROWS = {"type": "array", "items": {"type": "array", "items": {"type": ["number", "string", "null"]}}}


def exponent(**words: float) -> Values:
    """A number from 0 to 2, or one of the ``words`` for such a number."""

    def read(value: Any) -> Any:
        return words.get(value, value) if isinstance(value, str) else value

    schema = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 2}, {"enum": sorted(words)}]}
    within = Field(ge=0, le=2, allow_inf_nan=False)
    kind: Any = Annotated[float, within, _NUMBER, BeforeValidator(read), WithJsonSchema(schema)]
    return Values(kind, f"a number from 0 to 2, or {' or '.join(sorted(words))}")


def per_class(*rules: str, zero: bool = False) -> Values:
    """Positive numbers, one a class, or a rule by name; a rule ``name:`` takes a number between 0 and 1 behind it.

    With ``zero`` some of the numbers, though not all, may be 0.
    """
    plain = [rule for rule in rules if not rule.endswith(":")]
    numbered = [rule for rule in rules if rule.endswith(":")]

    def read(value: Any) -> Any:
        if isinstance(value, str):
            if value in plain:
                return value
            name, colon, number = value.partition(":")
            if f"{name}{colon}" in numbered and 0 < float(number) < 1:
                return value
            raise ValueError("no such rule")
        numbers = tuple(float(_no_truth_value(x)) for x in value)
        if not any(numbers) or not all(math.isfinite(x) and (x > 0 or (zero and x == 0)) for x in numbers):
            raise ValueError("numbers must be positive")
        return numbers

    wanted = f"{', '.join([*plain, *(f'{rule}BETA' for rule in numbered)])}, or positive numbers, one a class"
    wanted += ", some of which may be 0" if zero else ""
    numbers = {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1}
    schema = WithJsonSchema({"anyOf": [{"type": "string"}, numbers]})
    return Values(Annotated[Any, BeforeValidator(read), schema], wanted, listed=True)


def one_each(noun: str) -> Values:
    """Positive numbers, one for each ``noun``."""

    def read(value: Any) -> Any:
        numbers = tuple(float(_no_truth_value(x)) for x in value)
        if not numbers or not all(math.isfinite(x) and x > 0 for x in numbers):
            raise ValueError("numbers must be positive")
        return numbers

    numbers = {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1}
    schema = WithJsonSchema({"anyOf": [{"type": "string"}, numbers]})
    return Values(Annotated[Any, BeforeValidator(read), schema], f"positive numbers, one a {noun}", listed=True)


def margins() -> Values:
    """A square matrix of numbers from -4 to 4, one row and one column a class."""

    def read(value: Any) -> Any:
        rows = tuple(tuple(float(_no_truth_value(x)) for x in row) for row in value)
        if not rows or any(len(row) != len(rows) or not all(abs(x) <= 4 for x in row) for row in rows):
            raise ValueError("no such matrix")
        return rows

    kind: Any = Annotated[Any, BeforeValidator(read), WithJsonSchema({"anyOf": [{"type": "string"}, _ROWS]})]
    return Values(kind, "a square matrix of numbers from -4 to 4, one row a class, or @file", matrix=True)


def groups() -> Values:
    """Groups of two or more classes, each by its name or its number."""

    def read(value: Any) -> Any:
        found = tuple(tuple(x if isinstance(x, str) else int(_no_truth_value(x)) for x in group) for group in value)
        if not found or any(len(group) < 2 for group in found):
            raise ValueError("no such groups")
        return found

    rows = {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 2}}
    schema = WithJsonSchema({"anyOf": [{"type": "string"}, rows]})
    wanted = "groups of two or more classes, by name or number, as in 1,2,3;2,3,4, or @file with one a line"
    return Values(Annotated[Any, BeforeValidator(read), schema], wanted, grouped=True)


def budget() -> Values:
    """``budget:E_H,E_W``: two positive numbers; a single one E is ``budget:E,E``."""

    def read(value: Any) -> str:
        if isinstance(value, bool):
            raise ValueError("no such budget")
        text = str(value)
        if ":" not in text and "," not in text:
            text = f"budget:{text},{text}"
        name, _, rest = text.partition(":")
        pair = tuple(float(x) for x in rest.split(","))
        if name != "budget" or len(pair) != 2 or not all(1e-6 <= x <= 1e6 for x in pair):
            raise ValueError("no such budget")
        return text

    schema = WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": "^(budget:[^,]+,[^,]+|[^,:]+)$"}, {"type": "number"}]}
    )
    wanted = "budget:E_H,E_W, both from 1e-6 to 1e6, as in budget:5,1, or one number for both"
    return Values(Annotated[Any, BeforeValidator(read), schema], wanted)


switch = Values(Annotated[bool, Strict()], "true or false")

matrix = Values(
    Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, _ROWS]})], "a square matrix, or @file", matrix=True
)
