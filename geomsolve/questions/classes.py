"""Class proportions, however they are given: proportions, counts, the labels of samples or a data set's name.

proportions    positive; a sum within 1e-3 of 1 is renormalised exactly, and said
counts         whole numbers >= 1; ``props`` that are all whole and sum above 1 are taken as counts, and said
labels         one a sample; the classes are what differs, and are named so

``reading/shares.py`` has the forms in which proportions and counts may be written, ``reading/samples.py`` labels.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import (
    Field,
    InstanceOf,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from geomsolve.errors import InputError
from geomsolve.questions.base import Problem, Whole
from geomsolve.reading.arrays import array, named
from geomsolve.reading.datasets import dataset
from geomsolve.reading.lists import read_names, read_numbers
from geomsolve.reading.numbers import MOST_ITEMS, SMALLEST
from geomsolve.reading.samples import Samples, read_samples
from geomsolve.reading.shares import look_like_labels, read_shares
from geomsolve.words import counted

SUM_TOLERANCE = 1e-3
"""How far a sum of proportions may be from 1 and still be meant as 1."""


MOST_SAMPLES = 2**53
"""Samples of one class that are counted exactly."""


def _are_counts(values: tuple[float, ...]) -> bool:
    return sum(values) > 1 and all(x >= 1 and x == math.floor(x) for x in values)


def _check(values: tuple[float, ...], what: str) -> None:
    if not values:
        raise ValueError("the list is empty; give one number a class, at least two")
    for position, x in enumerate(values, 1):
        if not (math.isfinite(x) and x > 0):
            raise ValueError(f"{what} must be positive numbers, but number {position} is {x:g}")
        if not SMALLEST <= x <= MOST_SAMPLES:
            bound = f"at least {SMALLEST:g}" if x < SMALLEST else f"at most {MOST_SAMPLES:,}"
            raise ValueError(f"{what} must be {bound}, but number {position} is {x:g}")
    if len(values) < 2:
        raise ValueError(f"one class ({values[0]:g}) has no geometry; give at least two")


def _numbers(kind: str) -> WithJsonSchema:
    """A list of numbers, or names with numbers."""
    return WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": {"type": kind}},
                {"type": "object", "additionalProperties": {"type": [kind, "string"]}},
                {"type": "null"},
            ]
        }
    )


_written = PlainSerializer(lambda samples: None if samples is None else samples.place, return_type=Any)
_labels = WithJsonSchema(
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number"]}}, {"type": "null"}]}
)


def _are_words(value: Any) -> bool:
    """Whether it is a list of texts none of which has a number."""
    each = value.ravel().tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(each, (list, tuple)) or not each:
        return False
    return all(isinstance(x, str) and x.strip()[:1].isalpha() and not set(x) & set(":=") for x in each)


class ClassProblem(Problem):
    """A problem about classes: exactly one of ``SOURCES``, and maybe ``names``."""

    SOURCES: ClassVar[tuple[str, ...]] = ("props", "counts", "labels", "dataset")
    """Fields that may give the classes; exactly one does."""
    leading: ClassVar[str] = "props"

    props: Annotated[tuple[float, ...] | None, _numbers("number")] = Field(
        None, description="class proportions, maybe by name"
    )
    counts: Annotated[tuple[int, ...] | None, _numbers("integer")] = Field(
        None, description="samples of each class, maybe by name"
    )
    labels: Annotated[InstanceOf[Samples] | None, _written, _labels] = Field(
        None, description="the class of each sample: a list, or a file with them"
    )
    dataset: str | None = Field(None, description="a built-in data set")
    names: tuple[str, ...] | None = Field(None, description="class names")

    @classmethod
    def led_by(cls, value: Any) -> dict[str, Any]:
        """Proportions or counts; or the name of a data set; or labels, one a sample, where they are words."""
        if isinstance(value, str) and value.strip()[:1].isalpha() and not set(value) & set("=@,{"):
            return {"dataset": value.strip()}
        if named(value) is None and _are_words(array(value)):
            return {"labels": value}
        return {cls.leading: value}

    @model_validator(mode="before")
    @classmethod
    def _with_names(cls, data: Any) -> Any:
        """Proportions and counts out of text or a mapping, with the names in it; labels that stand in no place as
        counts and names."""
        if not isinstance(data, dict):
            return data
        read = dict(data)
        if data.get("names") is not None and not isinstance(data["names"], (str, list, tuple)):
            given = array(data["names"])
            read["names"] = given.tolist() if isinstance(given, np.ndarray) else given
        for key in ("props", "counts"):
            value = data.get(key)
            if isinstance(value, (list, tuple)) and any(isinstance(x, str) and set(x) & set("%:") for x in value):
                value = ",".join(map(str, value))
            try:
                value = value if value is None else (named(value) or array(value))
                if isinstance(value, np.ndarray):
                    read[key] = value.ravel().tolist() if 1 in value.shape else value.tolist()
                if not isinstance(value, (str, Mapping)):
                    continue
                found = read_shares(value, data.get("base"))
            except InputError as error:
                raise InputError(error.message, field=key) from None
            if found.parts and key == "counts":
                raise InputError("counts are whole numbers of samples; give percentages and ratios as props", field=key)
            read[key] = found.values
            if found.names is not None:
                if data.get("names") is not None:
                    raise InputError(f"the names stand in {key} already; leave one of the two out", field="names")
                read["names"] = found.names
        if data.get("labels") is not None:
            try:
                found_labels = read_samples(data["labels"], data.get("base"))
            except InputError as error:
                raise InputError(error.message, field="labels") from None
            read["labels"] = found_labels
            if not found_labels.place and all(data.get(name) is None for name in cls.SOURCES if name != "labels"):
                names = found_labels.names if data.get("names") is None else data["names"]
                read.update(labels=None, counts=found_labels.counts, names=names)
        return read

    @field_validator("props", "counts", mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        """Every entry is checked, with its position in the message; strings among them are read as lists."""
        base = info.data.get("base")
        if value is None:
            return None
        try:
            entries = list(value)
        except TypeError:
            raise ValueError(f"wanted a list of numbers, got {value!r}") from None
        value = [x for entry in entries for x in (read_numbers(entry, base) if isinstance(entry, str) else [entry])]
        numbers = []
        for x in value:
            if isinstance(x, bool) or not hasattr(x, "__float__"):
                raise ValueError(f"{x!r} is not a number")
            try:
                numbers.append(float(x))
            except (OverflowError, TypeError, ValueError):
                raise ValueError(f"{str(x)[:40]!r} is not a number that fits") from None
        values = tuple(numbers)
        if info.field_name == "props":
            _check(values, "proportions")
            total = math.fsum(values)
            if not _are_counts(values) and abs(total - 1) > SUM_TOLERANCE:
                raise ValueError(
                    f"the proportions sum to {total:.6g}, not 1; make them sum to 1, or give whole counts of samples"
                )
            return values
        _check(values, "counts")
        for position, x in enumerate(values, 1):
            if x != math.floor(x):
                raise ValueError(f"counts must be whole numbers, but number {position} is {x:g}")
        return tuple(int(x) for x in values)

    @field_validator("dataset")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None:
            dataset(value)
        return value

    @field_validator("names", mode="before")
    @classmethod
    def _read_names(cls, value: Any, info: ValidationInfo) -> Any:
        names = read_names(value, info.data.get("base")) if isinstance(value, str) else value
        if isinstance(names, (list, tuple)):
            names = [str(name) for name in names]
            twice = sorted(name for name, times in Counter(names).items() if times > 1)
            if twice:
                raise ValueError(f"the name {twice[0]!r} stands twice; names tell classes apart")
            if any(not name for name in names):
                raise ValueError("a name is empty")
        return names

    @model_validator(mode="after")
    def _one_source(self) -> ClassProblem:
        self.check_source()
        return self

    def check_source(self) -> None:
        """ValueError unless the classes, and their names, are given once and fit."""
        given = [name for name in self.SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "nothing"
            known = f"{', '.join(self.SOURCES[:-1])} or {self.SOURCES[-1]}"
            raise ValueError(f"give the classes by exactly one of {known}; found {found}")
        if self.names is not None and len(self.names) != len(self.proportions):
            raise ValueError(
                f"{counted(len(self.names), 'name')} for {len(self.proportions)} classes; give one name a class"
            )

    @property
    def source(self) -> str:
        """The field that holds the classes, for messages about them."""
        return next(name for name in self.SOURCES if getattr(self, name) is not None)

    @cached_property
    def class_counts(self) -> tuple[int, ...] | None:
        """Samples of each class, where they are known."""
        if self.dataset is not None:
            return dataset(self.dataset).counts
        if self.labels is not None:
            return self.labels.counts
        if self.props is not None and _are_counts(self.props):
            return tuple(int(x) for x in self.props)
        return self.counts

    @cached_property
    def proportions(self) -> tuple[float, ...]:
        """(K,), positive, sum 1 up to rounding."""
        values = self.class_counts or self.props
        assert values is not None
        total = math.fsum(values)
        return tuple(x / total for x in values)

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        if self.names is not None:
            return self.names
        if self.labels is not None:
            return self.labels.names
        if self.dataset is not None:
            return dataset(self.dataset).names
        return tuple(str(a + 1) for a in range(len(self.proportions)))

    @property
    def notices(self) -> tuple[str, ...]:
        given = self.counts or self.props
        if given is not None and look_like_labels(given, least=3):
            what = "counts" if self.counts else "props"
            return (
                f"{what}: taken for {len(given):,} classes; if these are labels, one a sample, give them as labels",
            )
        if self.labels is not None:
            return tuple(
                f"labels: {name!r} is counted as a class, of {counted(count, 'sample')}; if it means that there is no "
                "label, leave these samples out"
                for name, count in self.labels.doubtful
            )
        if self.dataset is not None:
            return dataset(self.dataset).notes
        if self.props is None:
            return ()
        if _are_counts(self.props):
            return (f"props: all whole and summing to {sum(self.props):,.0f}, so taken as counts",)
        total = math.fsum(self.props)
        if abs(total - 1) > 1e-9:
            return (f"props: sum to {total:.6g}; divided by it so that they sum to 1",)
        return ()


class EqualClassProblem(ClassProblem):
    """The same, where ``classes`` may also give just the number of classes, which then are equally frequent."""

    SOURCES: ClassVar[tuple[str, ...]] = (*ClassProblem.SOURCES, "classes")

    classes: Whole | None = Field(None, ge=2, le=MOST_ITEMS, description="number of equally frequent classes")

    @cached_property
    def proportions(self) -> tuple[float, ...]:
        return (1 / self.classes,) * self.classes if self.classes else super().proportions
