"""What ``check`` answers: a prediction, where descent ended, and what is made of the two (``analyses/check.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.imbalance import FULL_GRAM, ImbalanceReport
from geomsolve.analyses.ranges import PairRange
from geomsolve.analyses.realizable_report import RealizableReport
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.report import Proof, Report, jsonable
from geomsolve.weightings.latents import SPHERE, Latents


@dataclass(frozen=True, kw_only=True)
class Prediction(Proof):
    """What descent is compared with, from either kind of question, with its proof.

    ``gram`` (n, n) of the classes or, for a weighting, of the samples: their cosines, or what else their ``latents``
    are compared by.  ``orbits`` and ``names`` of the classes or samples; ``report`` is the whole answer.
    """

    report: ImbalanceReport | RealizableReport
    structure: str
    orbits: Orbits
    names: tuple[str, ...]
    gram: FloatArray
    subject: str
    least_dimension: int | None
    latents: Latents = SPHERE

    @classmethod
    def of_loss(cls, report: ImbalanceReport) -> Prediction:
        return cls(
            **vars(report.proof),
            report=report,
            structure=report.structure.kind,
            orbits=report.orbits,
            names=report.names,
            gram=report.gram,
            subject=str(report.problem["loss"]["name"]),
            least_dimension=report.rank,
        )

    @classmethod
    def of_weighting(cls, report: RealizableReport) -> Prediction:
        if report.attained is None:
            raise InputError(
                "with latents compared by distance this weighting only drives samples apart for ever; there is no "
                "geometry to compare with",
                field="weighting",
            )
        orbits = report.orbits
        gram = orbits.lift(report.attained)
        np.fill_diagonal(gram, report.latents.own)
        return cls(
            **vars(report.proof),
            report=report,
            structure=report.verdict,
            orbits=orbits,
            names=tuple(report.names[g] for g in orbits.index),
            gram=gram,
            subject=str(report.problem["weighting"]),
            least_dimension=report.best["dimension"],
            latents=report.latents,
        )


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
    def headline(self) -> str:
        return self.verdict

    @property
    def asked(self) -> dict[str, Any]:
        return {"verdict": self.verdict}

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` includes the Gram matrices however many classes there are."""
        p = self.prediction
        said = {**p.figures, "unique": p.unique, "structure": p.structure, "gram": p.gram}
        plain = {**super().to_dict(**detail), "prediction": said}
        plain["prediction"]["noun"] = p.latents.noun
        plain["loosest"] = None if self.loosest is None else jsonable(self.loosest.plain)
        if not full and p.orbits.n_classes > FULL_GRAM:
            del plain["prediction"]["gram"], plain["descent"]["gram"]
        cleaned: dict[str, Any] = jsonable(plain)
        return cleaned
