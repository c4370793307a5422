"""What ``check`` answers: a prediction, where descent ended, and what is made of the two (``analyses/check.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from geomsolve.analyses.imbalance import FULL_GRAM
from geomsolve.analyses.prediction import Prediction
from geomsolve.analyses.ranges import PairRange
from geomsolve.gram.types import FloatArray
from geomsolve.report import Report, Table, jsonable


@dataclass(frozen=True)
class Descent:
    """Where descent ended.  ``value`` in nats with its ``standard_error`` (0 if nothing was sampled); ``gram`` as in
    :class:`Prediction`; ``within_class`` as in :class:`geomsolve.gram.measure.Measurement`."""

    value: float
    standard_error: float
    gram: FloatArray
    within_class: float
    steps: int
    converged: bool
    seconds: float
    device: str
    optimizer: str
    samples: int
    dim: int


GRAM_TOLERANCE = 0.05
"""Largest difference of a cosine that counts as the predicted geometry."""

SCATTER_TOLERANCE = 0.05
"""Largest within-class scatter (mean squared distance to the class mean) that counts as collapsed."""

SINGLE = 2.0**-23
"""What single precision resolves of a loss, relative above 1."""


def same_geometry(predicted: Prediction, found: Descent, error: float) -> bool:
    """Whether classes have collapsed and no cosine differs by more than it may; ``error`` is the largest difference."""
    return error <= GRAM_TOLERANCE * max(1.0, float(predicted.gram.max())) and found.within_class <= SCATTER_TOLERANCE


def unseen(predicted: Prediction, found: Descent) -> bool:
    """Whether the loss reached is so near the certified bound that training in single precision sees no difference.

    What it has not reached then, a cosine or the collapse of a class, the loss does not pin down: the features that
    descent found show it.
    """
    if found.standard_error or not predicted.certified:
        return False
    return found.value - predicted.lower_bound <= SINGLE * max(1.0, abs(predicted.value))


@dataclass(frozen=True)
class Loosest:
    """The widest range among the cosines that the loss holds least firmly, at ``slack`` nats above the optimum."""

    slack: float
    pair: PairRange

    @property
    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"slack": self.slack, **self.pair.plain, "width": self.pair.range.width}


@dataclass(frozen=True)
class CheckReport(Report):
    """Prediction and descent side by side; ``verdict`` as in the module.

    ``companion`` names what was added to the loss that the prediction does not know; then ``agrees`` is None.
    ``loosest``: how far a cosine may be at the loss that was reached, or at the least that training sees; None where
    that is not known.
    """

    command: ClassVar[str] = "check"
    apart: ClassVar[tuple[str, ...]] = ("prediction", "loosest")
    verdicts: ClassVar[tuple[str, ...]] = ("agrees", "contradiction", "not there yet", "elsewhere", "moved")

    prediction: Prediction
    descent: Descent
    max_gram_error: float
    verdict: str
    agrees: bool | None
    companion: str | None
    loosest: Loosest | None = None

    @property
    def certified(self) -> bool:
        return bool(self.agrees) and self.prediction.certified

    @property
    def complaints(self) -> tuple[str, ...]:
        return ("the two sides of the check disagree",) if self.agrees is False else ()

    @property
    def open(self) -> bool:
        """Whether the predicted loss was reached at another geometry, because the loss does not pin it down."""
        reached = unseen(self.prediction, self.descent)
        return reached and not same_geometry(self.prediction, self.descent, self.max_gram_error)

    @property
    def table(self) -> Table:
        return Table.of_matrix(self.descent.gram, self.prediction.names)

    @property
    def value(self) -> float | None:
        return self.prediction.value

    @property
    def gap(self) -> float | None:
        return self.prediction.gap

    @property
    def headline(self) -> str:
        return self.verdict

    @property
    def asked(self) -> dict[str, Any]:
        return {"verdict": self.verdict}

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` includes the Gram matrices however many classes there are."""
        p = self.prediction
        shape = {"unique": p.unique, "open": p.open, "structure": p.structure, "noun": p.latents.noun, "gram": p.gram}
        plain = {**super().to_dict(**detail), "prediction": {**p.figures, **shape}}
        plain["loosest"] = None if self.loosest is None else self.loosest.plain
        if not full and p.orbits.n_classes > FULL_GRAM:
            del plain["prediction"]["gram"], plain["descent"]["gram"]
        cleaned: dict[str, Any] = jsonable(plain)
        return cleaned
