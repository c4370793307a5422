"""What ``compare`` answers: one encoder beside its prediction, or several checkpoints of it.

The verdicts are those of ``analyses/compare_verdict.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.compare_verdict import VERDICTS, Verdict
from geomsolve.analyses.imbalance import FULL_GRAM
from geomsolve.analyses.prediction import Prediction
from geomsolve.analyses.remedies import Remedy
from geomsolve.gram.measure import Measurement
from geomsolve.gram.structure import Structure, names_of
from geomsolve.gram.types import FloatArray
from geomsolve.report import Report, Table, head, jsonable


@dataclass(frozen=True)
class LossOnData:
    """``value`` in nats with its ``standard_error``, on ``samples`` of the rows; None with a reason in ``missing``."""

    value: float | None
    standard_error: float = 0.0
    samples: int = 0
    missing: str = ""


@dataclass(frozen=True)
class Errors:
    """How far the measured cosines are from the predicted ones.

    ``largest``; ``rms`` over pairs and ``weighted`` by the product of the shares of the two classes; ``of_class`` (K,)
    rms over the pairs of a class; ``standard`` (K, K) errors of the measured cosines, as class means are of samples.
    """

    largest: float
    rms: float
    weighted: float
    of_class: FloatArray
    standard: FloatArray

    @property
    def noise_floor(self) -> float:
        """Two standard errors of the cosine that is known least."""
        return 2 * float(self.standard.max())


@dataclass(frozen=True)
class Heated:
    """What the loss wants of class means that scatter: the optimum at the ``temperature`` tau / rho^2.

    ``gram`` (K, K) of it, and the largest difference ``max_gram_error`` of the measured cosines from it.
    """

    temperature: float
    gram: FloatArray
    max_gram_error: float


@dataclass(frozen=True)
class Duality:
    """NC3: cosines (K,) of the rows of a classifier with the class means, ``plain`` and both ``centred``."""

    plain: FloatArray
    centred: FloatArray


@dataclass(frozen=True)
class Comparison:
    """Measurement and prediction side by side, of the embeddings of one file.

    ``read``: which columns of which files.  ``lengths``: the smallest and largest length of a row before it was brought
    to 1.  ``structure`` names the measured geometry, with ``within`` as its tolerance.  ``prediction`` is the optimum,
    or the best found in ``dim`` dimensions where the optimum does not fit and was not met; ``free`` the optimum in any
    dimension.  ``columns`` of the file, ``dim`` those that the encoder can use.  ``within_cosine``: rho^2, the mean
    cosine of two samples of a class, None where no class has two.  ``angle_excess``: the loss at the measured cosines
    of class means alone, less the optimum, in nats; None for many classes.  ``within``: the difference that matches.
    ``remedy``: what helps where the loss wants classes at one point, None where it does not.  ``unsigned``: no row has
    a negative coordinate.
    """

    read: dict[str, Any]
    names: tuple[str, ...]
    counts: tuple[int, ...]
    columns: int
    dim: int
    lengths: tuple[float, float]
    measured: Measurement
    structure: Structure
    within: float
    prediction: Prediction
    free: Prediction
    errors: Errors
    loss_on_data: LossOnData
    judgement: Verdict
    within_cosine: float | None
    angle_excess: float | None
    heated: Heated | None
    duality: Duality | None
    remedy: Remedy | None
    unsigned: bool

    @property
    def verdict(self) -> str:
        """One of :data:`VERDICTS`."""
        return self.judgement.name

    @property
    def max_gram_error(self) -> float:
        """Largest difference of a cosine from the prediction."""
        return self.errors.largest

    @property
    def certified(self) -> bool:
        """Whether the prediction is proven, which the best found in few dimensions is not."""
        return self.free.certified and self.prediction.certified

    @property
    def headline(self) -> str:
        """The verdict."""
        return self.verdict

    @property
    def asked(self) -> dict[str, Any]:
        """What a problem file may expect of it, by the key of ``expect``."""
        return {"verdict": self.verdict, "structure": self.structure.kind, "groups": self.collapsed}

    @property
    def figures(self) -> dict[str, float]:
        """Numbers worth a line on a page, by what they are called."""
        return {"largest difference of a cosine": self.errors.largest, "rms difference": self.errors.rms}

    @property
    def collapsed(self) -> list[list[str]]:
        """Names of classes whose measured means coincide, one list a point."""
        return names_of(self.structure.groups, self.names)

    @property
    def excess(self) -> float | None:
        """How far the loss on the data lies above the predicted optimum."""
        value = self.loss_on_data.value
        return None if value is None else value - self.prediction.value

    def plain(self, *, full: bool = False) -> dict[str, Any]:
        """As JSON has it; ``full`` includes the Gram matrices however many classes there are."""
        found, p, errors = self.measured, self.prediction, self.errors
        total = sum(self.counts)
        grams = full or len(self.names) <= FULL_GRAM
        loss, judged = self.loss_on_data, self.judgement
        measured: dict[str, Any] = {
            "within_class": found.within_class,
            "within_class_cosine": self.within_cosine,
            "nc1": found.nc1,
            "nc2": {"equinorm": found.equinorm, "equiangular": found.equiangular},
            "nc3": None,
            "simplex_distance": found.simplex_distance,
        }
        if self.duality is not None:
            measured["nc3"] = {
                name: {"mean": float(np.mean(cosines)), "min": float(np.min(cosines)), "cosines": cosines}
                for name, cosines in (("plain", self.duality.plain), ("centred", self.duality.centred))
            }
        predicted: dict[str, Any] = {
            **p.figures,
            "unique": p.unique,
            "open": p.open,
            "structure": p.structure,
            "rank": self.free.rank,
            "dimension_limited": p.limited,
        }
        heated: dict[str, Any] | None = None
        if self.heated is not None:
            heated = {"temperature": self.heated.temperature, "max_gram_error": self.heated.max_gram_error}
        if grams:
            measured["gram"] = found.gram
            predicted["gram"] = p.gram
            if heated is not None and self.heated is not None:
                heated["gram"] = self.heated.gram
        ranges = None
        if judged.slack is not None:
            ranges = {"slack": judged.slack, "pairs": [pair.plain for pair in judged.pairs]}
        plain: dict[str, Any] = jsonable(
            {
                "verdict": self.verdict,
                "read": self.read,
                "dim": self.dim,
                "lengths": self.lengths,
                "classes": [
                    {
                        "name": name,
                        "count": n,
                        "proportion": n / total,
                        "scatter": float(found.scatter[a]),
                        "rms_gram_error": float(errors.of_class[a]),
                    }
                    for a, (name, n) in enumerate(zip(self.names, self.counts, strict=True))
                ],
                "structure": self.structure.kind,
                "collapsed": self.collapsed,
                "measured": measured,
                "prediction": predicted,
                "prediction_at_scatter": heated,
                "max_gram_error": errors.largest,
                "rms_gram_error": errors.rms,
                "weighted_rms_gram_error": errors.weighted,
                "noise_floor": errors.noise_floor,
                "allowed_gram_error": judged.allowed,
                "least_rms_gram_error": judged.least_rms,
                "ranges": ranges,
                "value_measured": loss.value,
                "value_predicted": p.value,
                "value_standard_error": loss.standard_error,
                "value_samples": loss.samples,
                "excess": self.excess,
                "angle_excess": self.angle_excess,
            }
        )
        if self.remedy is not None:
            plain["remedy"] = jsonable(self.remedy)
        return plain


@dataclass(frozen=True)
class CompareReport(Comparison, Report):
    """The comparison of one file with the prediction, and what was asked."""

    command: ClassVar[str] = "compare"
    verdicts: ClassVar[tuple[str, ...]] = VERDICTS

    @property
    def table(self) -> Table:
        return Table.of_matrix(self.measured.gram, self.names)

    @property
    def value(self) -> float | None:
        return self.prediction.value

    @property
    def gap(self) -> float | None:
        return self.prediction.gap

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` includes the Gram matrices however many classes there are."""
        return {**head(self.command), "problem": jsonable(self.problem), **self.plain(full=full)}


@dataclass(frozen=True)
class CheckpointsReport(Report):
    """Several ``checkpoints`` in the order given, all with the same labels; the last one is the answer."""

    command: ClassVar[str] = "compare"

    checkpoints: tuple[Comparison, ...]

    @property
    def last(self) -> Comparison:
        """The last checkpoint."""
        return self.checkpoints[-1]

    @property
    def certified(self) -> bool:
        return all(each.certified for each in self.checkpoints)

    @property
    def table(self) -> Table:
        rows = [{"verdict": each.verdict, **each.asked, **each.figures} for each in self.checkpoints]
        return Table.of_rows(rows, [str(each.read["embeddings"]) for each in self.checkpoints])

    @property
    def value(self) -> float | None:
        return self.last.prediction.value

    @property
    def gap(self) -> float | None:
        return self.last.prediction.gap

    @property
    def headline(self) -> str:
        return self.last.headline

    @property
    def asked(self) -> dict[str, Any]:
        return self.last.asked

    @property
    def figures(self) -> dict[str, float]:
        return self.last.figures

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object: ``checkpoints``, each as the object of a single file has it; ``full`` as there."""
        answers = [each.plain(full=full) for each in self.checkpoints]
        return {
            **head(self.command),
            "problem": jsonable(self.problem),
            "verdict": self.last.verdict,
            "checkpoints": answers,
        }
