"""The question of ``geomsolve spectrum``: which frequencies of images does contrastive learning keep?"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from geomsolve.questions.base import Problem
from geomsolve.questions.data import Pictures
from geomsolve.reading.images import read_images
from geomsolve.reading.lists import read_numbers
from geomsolve.reading.numbers import LARGEST, SMALLEST, in_range
from geomsolve.reading.source import FloatArray
from geomsolve.reading.table import Table

MOST_FREQUENCIES = 1_000_000

SMALL, LARGE = 1e-12, 1e12
"""Between these the variances and widths of a question lie, so that their products with any power are numbers."""


class Spectrum(Problem):
    """How is feature power spread over the frequencies of stationary images, whose spectrum is ``power``?

    ``Spectrum(power="power-law:2:64", noise=0.01)``; or ``images``, a folder of png files or an array.
    ``alignment`` is 1/eps if left out.
    """

    leading: ClassVar[str] = "power"
    kind: Literal["spectrum"] = "spectrum"
    power: str | tuple[float, ...] | None = Field(None, description="power at 1, 2, ... cycles: power-law:2:64 or list")
    images: Pictures | None = Field(
        None, description="images whose spectrum is taken: an npy file, or a folder of png files"
    )
    noise: float = Field(0, ge=0, le=LARGE, description="variance of added white noise")
    blur: float | None = Field(None, ge=SMALL, le=LARGE, description="cut-off of the blur, in cycles")
    crop: float = Field(0, ge=0, le=1, description="largest distance of two shifts, as a part of the image's width")
    jitter: float = Field(0, ge=0, le=LARGE, description="standard deviation of a random contrast")
    eps: float = Field(0.1, ge=SMALL, le=LARGE, description="width of the kernel between features")
    alignment: float | None = Field(None, ge=0, le=LARGE, description="weight t of alignment")

    @field_validator("power", mode="before")
    @classmethod
    def _read_power(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            return None
        if isinstance(value, str) and value.startswith("power-law"):
            power_law(value)
            return value
        base = info.data.get("base")
        values = read_numbers(value, base) if isinstance(value, str) else value
        if isinstance(values, np.ndarray):
            values = values.tolist()
        if not isinstance(values, (list, tuple)) or not values:
            raise ValueError(f"wanted the power of at least one frequency, got {value!r}")
        for position, x in enumerate(values, 1):
            if isinstance(x, bool) or not isinstance(x, (int, float)) or not 0 <= x < float("inf"):
                raise ValueError(f"powers must be numbers, 0 or more, but number {position} is {x!r}")
            if not in_range(x):
                raise ValueError(
                    f"powers must be 0 or from {SMALLEST:g} to {LARGEST:g}, but number {position} is {x:g}; "
                    "rescale them all"
                )
        if not any(values):
            raise ValueError("all powers are zero: there is nothing to see in such images")
        if len(values) > MOST_FREQUENCIES:
            raise ValueError(f"{len(values):,} frequencies are too many; at most {MOST_FREQUENCIES:,}")
        return tuple(float(x) for x in values)

    @field_validator("images", mode="before")
    @classmethod
    def _read_images(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None or isinstance(value, Table):
            return value
        if not isinstance(value, str):
            raise ValueError(f"wanted the name of an npy file or of a folder of png files, got {value!r:.60}")
        read = read_images(value, info.data.get("base"))
        if not read.values[:, 0].any():
            raise ValueError("the images are all of one colour: they have no power at any frequency")
        if not all(map(in_range, read.values[:, 0])):
            raise ValueError("the grey values are too large or too small for a spectrum; rescale them")
        return read

    @model_validator(mode="after")
    def _one_source(self) -> Spectrum:
        if (self.power is None) == (self.images is None):
            found = "nothing" if self.power is None else "both"
            raise ValueError(f"give the spectrum by exactly one of power and images; found {found}")
        return self

    @cached_property
    def bands(self) -> tuple[FloatArray, FloatArray]:
        """Power (n,) at 1, ..., n cycles, and how many frequencies (n,) have it."""
        if self.images is not None:
            return self.images.values[:, 0], self.images.values[:, 1]
        power = power_law(self.power) if isinstance(self.power, str) else np.array(self.power)
        return power, np.ones_like(power)

    @cached_property
    def weight(self) -> float:
        """t, the weight of alignment."""
        return 1 / self.eps if self.alignment is None else self.alignment


def power_law(text: str) -> FloatArray:
    """``power-law:a:n``: k^-a at k = 1, ..., n."""
    match = re.fullmatch(r"power-law:([0-9]*\.?[0-9]+):([0-9]{1,7})", text)
    exponent, count = (float(match[1]), int(match[2])) if match else (0.0, 0)
    if not (1 <= count <= MOST_FREQUENCIES and exponent <= 20):
        raise ValueError(f"{text!r} is no power law; write power-law:EXPONENT:FREQUENCIES, as in power-law:2:64")
    return np.arange(1.0, count + 1) ** -exponent
