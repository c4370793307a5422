"""The parameters that losses take: how each is spelled, read, bounded and explained, said once.

A loss declares which of these it uses as dataclass fields (``temperature: float = parameter(TEMPERATURE, 0.1)``).
The command line makes one flag of each, and a flag given to a loss that does not declare it is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from geomsolve.errors import InputError


@dataclass(frozen=True)
class Parameter:
    """``flags`` as on the command line; ``read`` turns what a user wrote into a value or raises ValueError."""

    name: str
    flags: tuple[str, ...]
    read: Callable[[Any], Any]
    metavar: str
    help: str

    def parse(self, value: Any) -> Any:
        """The checked value, or :class:`InputError` saying what is wanted."""
        try:
            return self.read(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"{error}, got {value!r}", field=self.name) from None


def parameter(which: Parameter, default: Any) -> Any:
    """A dataclass field of a loss, tied to the shared description of the parameter."""
    return field(default=default, metadata={"parameter": which})


def number(wanted: str, holds: Callable[[float], bool]) -> Callable[[Any], float]:
    """A reader of finite numbers for which ``holds``; ``wanted`` completes 'wanted ...'."""

    def read(value: Any) -> float:
        try:
            x = float(value) if not isinstance(value, bool) else math.nan
        except (TypeError, ValueError):
            x = math.nan
        if not (math.isfinite(x) and holds(x)):
            raise ValueError(f"wanted {wanted}")
        return x

    return read


def whole(minimum: int, *, infinite: bool = False) -> Callable[[Any], float]:
    """A reader of whole numbers >= ``minimum``; with ``infinite`` also ``inf``."""
    wanted = f"wanted a whole number, at least {minimum}" + (", or inf" if infinite else "")

    def read(value: Any) -> float:
        try:
            x = float(value) if not isinstance(value, bool) else math.nan
        except (TypeError, ValueError):
            x = math.nan
        if infinite and x == math.inf:
            return x
        if not (math.isfinite(x) and x == int(x) and minimum <= x <= 2**53):
            raise ValueError(wanted)
        return int(x)

    return read


def choice(*allowed: str) -> Callable[[Any], str]:
    """A reader of one of the ``allowed`` words."""

    def read(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"wanted one of {', '.join(allowed)}")
        return str(value)

    return read


def switch(value: Any) -> bool:
    """A reader of true or false."""
    if not isinstance(value, bool):
        raise ValueError("wanted true or false")
    return value


TEMPERATURE = Parameter(
    "temperature",
    ("-t", "--temperature"),
    number("a temperature above 0, from 0.0001 to 1e6", lambda x: 1e-4 <= x <= 1e6),
    "T",
    "Temperature: similarities are cosines divided by it (default 0.1).",
)
NEGATIVES = Parameter(
    "negatives",
    ("--negatives",),
    whole(1, infinite=True),
    "K|inf",
    "Negatives an anchor is compared with (default inf).",
)
SAMPLING = Parameter(
    "sampling",
    ("--sampling",),
    choice("iid", "supervised"),
    "iid|supervised",
    "Where negatives come from: all classes, own class included (iid), or only other classes (supervised).",
)
FORM = Parameter(
    "form",
    ("--form",),
    choice("sum", "mean"),
    "sum|mean",
    "Whether the negatives' exponentials are summed or averaged.",
)
BATCH = Parameter("batch", ("--batch",), whole(2), "B", "Samples in a random batch (default: the population limit).")
VIEWS = Parameter("views", ("--views",), whole(2), "V", "Augmented views of each sample in a batch (default 2).")
FULL_BATCH = Parameter("full_batch", ("--full-batch",), switch, "", "One batch holds the whole set; needs counts.")
EPSILON = Parameter(
    "epsilon",
    ("--epsilon",),
    number("a weight above 0, at most 1", lambda x: 0 < x <= 1),
    "E",
    "Weight of pairs from different classes, against 1 within a class (default 0.1).",
)
MARGIN = Parameter(
    "margin",
    ("--margin",),
    number("a margin above 0, from 1e-6 to 2", lambda x: 1e-6 <= x <= 2),
    "M",
    "Hinge margin: a negative costs nothing below cosine 1 - M (default 1).",
)
BIAS = Parameter(
    "bias",
    ("--bias",),
    number("a number from -1e6 to 1e6", lambda x: abs(x) <= 1e6),
    "B",
    "Bias subtracted from the logit (default 0).",
)
UNIFORM_T = Parameter(
    "uniform_t",
    ("--uniform-t",),
    number("a number above 0, from 1e-6 to 1e4", lambda x: 1e-6 <= x <= 1e4),
    "S",
    "Sharpness s of the Gaussian potential exp(-s |x - y|^2) (default 2).",
)
DELTA = Parameter(
    "delta",
    ("--delta",),
    number("a number, at least 0", lambda x: x >= 0),
    "D",
    "Floor under the distance 1 - cosine whose logarithm is taken (default 0).",
)
TAIL_WEIGHT = Parameter(
    "tail_weight",
    ("--tail-weight",),
    number("a weight from 0 to 1", lambda x: 0 <= x <= 1),
    "L",
    "Weight lambda of the extreme-value term of the logit, 1 - lambda of the cosine (default 0.5).",
)
TAIL_SHAPE = Parameter(
    "tail_shape",
    ("--tail-shape",),
    number("a number, at least 0", lambda x: x >= 0),
    "B",
    "Weibull shape beta of the extreme-value term (default 1).",
)
HARDNESS = Parameter(
    "hardness",
    ("--hardness",),
    number("a number above 0", lambda x: x > 0),
    "B",
    "Draw negatives with density proportional to e^(B cosine); not convex, so the answer is not certified.",
)
