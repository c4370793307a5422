"""The question of ``geomsolve negatives``: what do k negatives change, against infinitely many?"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from geomsolve.questions.base import LossChoice, LossProblem
from geomsolve.questions.classes import SUM_TOLERANCE, ClassProblem
from geomsolve.questions.data import Matrix
from geomsolve.reading.lists import read_numbers
from geomsolve.reading.matrices import read_matrix
from geomsolve.reading.numbers import SMALLEST
from geomsolve.reading.source import FloatArray
from geomsolve.registry import LOSSES

DEFAULT = "infonce"
"""The loss, unless another is named."""

TAKEN = ("temperature", "sampling")
"""Parameters that the question takes with the loss."""

MOST_NEGATIVES = 10**9
"""Largest k that is asked about: beyond it R(k) differs from its limit by less than the gap of a certified answer."""


def answered() -> list[str]:
    """Names of the losses that the question is about, the one by default first."""
    found = [name for name, cls in LOSSES.items() if cls.tends_to_cross_entropy]
    return sorted(found, key=lambda name: (name != DEFAULT, name))


class Negatives(ClassProblem, LossProblem):
    """How far is the loss with k negatives from its limit, for each k of ``negatives``?

    ``Negatives(props=[0.7, 0.2, 0.1], negatives=[1, 8, 64], loss={"name": "infonce", "temperature": 0.5})``; or, in
    place of classes, ``joint``: the distribution of (anchor, positive) over n points, as n rows of n numbers.
    """

    SOURCES: ClassVar[tuple[str, ...]] = (*ClassProblem.SOURCES, "joint")

    kind: Literal["negatives"] = "negatives"
    loss: LossChoice = LossChoice(name=DEFAULT)
    negatives: tuple[int, ...] = Field((1, 4, 16, 64, 256), description="numbers of negatives k")
    accuracy: float = Field(0.01, ge=1e-6, le=10, description="wanted distance from the limit, in nats")
    joint: Matrix | None = Field(None, description="joint distribution of anchor and positive, in place of classes")

    @field_validator("loss", mode="before")
    @classmethod
    def _loss_by_name(cls, value: Any, info: ValidationInfo) -> Any:
        given = {"name": value} if isinstance(value, str) else value
        return {"name": DEFAULT, **given} if isinstance(given, dict) else given

    @field_validator("negatives", mode="before")
    @classmethod
    def _read_negatives(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str):
            value = read_numbers(value, info.data.get("base"))
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        if not values:
            raise ValueError("the list is empty; give at least one number of negatives")
        for k in values:
            if isinstance(k, bool) or not isinstance(k, (int, float)) or not 1 <= k <= MOST_NEGATIVES or k != int(k):
                hint = "; the limit of infinitely many is always shown" if k == math.inf else ""
                raise ValueError(f"wanted whole numbers from 1 to {MOST_NEGATIVES:,}, got {k!r}{hint}")
        return tuple(sorted({int(k) for k in values}))

    @field_validator("joint", mode="before")
    @classmethod
    def _read_joint(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None:
            return None
        joint = read_matrix(value, info.data.get("base"))
        check_joint(joint.values)
        return joint

    @field_validator("loss")
    @classmethod
    def _has_a_limit(cls, loss: LossChoice) -> LossChoice:
        known = answered()
        if loss.name not in known:
            raise ValueError(f"wanted {' or '.join(known)}, whose limit is the cross-entropy, got {loss.name!r}")
        for key in loss.parameters:
            if key not in TAKEN:
                raise ValueError(f"this question takes a temperature and a sampling with the loss, not {key!r}")
        return loss

    @cached_property
    def joint_distribution(self) -> FloatArray | None:
        """(n, n), sum 1 up to rounding, or None where classes are given."""
        if self.joint is None:
            return None
        matrix: FloatArray = self.joint.values / self.joint.values.sum()
        return matrix

    @cached_property
    def proportions(self) -> tuple[float, ...]:
        """(K,) of the classes, or of the points of ``joint`` as anchors."""
        if self.joint_distribution is None:
            return super().proportions
        return tuple(self.joint_distribution.sum(axis=1).tolist())


def check_joint(matrix: FloatArray) -> None:
    """ValueError unless ``matrix`` is square, >= 0, with sum 1 and every point an anchor at times."""
    n, columns = matrix.shape
    if n != columns or n < 2:
        raise ValueError(f"wanted a square matrix of at least two points, got {n} x {columns}")
    if np.any(matrix < 0):
        row, column = np.argwhere(matrix < 0)[0]
        raise ValueError(
            f"probabilities cannot be negative, but row {row + 1}, column {column + 1} is {matrix[row, column]:g}"
        )
    total = float(matrix.sum())
    if abs(total - 1) > SUM_TOLERANCE:
        raise ValueError(f"the probabilities of all pairs sum to {total:.6g}, not 1; divide them by their sum")
    rare = np.flatnonzero(matrix.sum(axis=1) < SMALLEST)
    if rare.size:
        share = float(matrix[rare[0]].sum())
        is_zero = "zero" if share == 0 else f"{share:g} in all"
        raise ValueError(f"row {rare[0] + 1} is {is_zero}: that point is never an anchor; leave it out")
