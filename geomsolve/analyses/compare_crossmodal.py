"""Are image and text embeddings arranged as their loss wants them, pair by pair?

n pairs that all differ are n classes of one image and one text each; of those the optimum is known (``crossmodal.py``):
one cosine a within pairs, one c across, and a modality gap.  Measured are, of unit rows x_i and y_i,

    within pairs    <x_i, y_i>, mean, least and largest          across    <x_i, y_j>, i != j
    modality gap    |mean x - mean y|                            alignment    mean |x_i - y_i|^2 = 2 - 2 mean <x_i, y_i>

and the loss itself, of all pairs as one batch.  Of many pairs some are drawn, which then are the data.

    matches          the mean cosines and the modality gap are within ``within`` of the prediction
    loose            the loss is at the optimum, but the geometry is another
    not there yet    neither

For clean pairs under CLIP a gap g that is forced costs the difference of log((1 + (n - 1) e^{-delta / tau}) / n) at
delta = n / (n - 1) (1 - g^2 / 4) and at g = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from geomsolve.analyses.crossmodal import crossmodal
from geomsolve.analyses.named import pair_loss_of
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import Joint
from geomsolve.questions.compare_crossmodal import CompareCrossmodal
from geomsolve.questions.crossmodal import Crossmodal
from geomsolve.report import ProvenReport, understood
from geomsolve.words import counted

if TYPE_CHECKING:
    from geomsolve.reading.embeddings import Embeddings

MOST_PAIRS, MOST_DRAWN = 2000, 300
"""Pairs that are compared, of more so many are drawn; and where the loss is a mean over random batches."""

AT_OPTIMUM = 1e-3
"""Excess over the optimum, relative above 1, that counts as being at it."""


@dataclass(frozen=True)
class CompareCrossmodalReport(ProvenReport):
    """Measured and predicted side by side; value, bound and proof are those of the predicted optimum.

    ``measured``: {partner_cosine{mean, min, max}, other_cosine{mean, min, max}, modality_gap, alignment};
    ``prediction``: {partner_cosine, other_cosine, modality_gap, alignment, rank, structure, tied}.  ``value_measured``
    is the loss of the data and ``excess`` how far it lies above the optimum; ``gap_price`` what the measured modality
    gap costs by itself under clean CLIP, None elsewhere.  ``pairs`` compared of ``rows`` given, in ``dim`` dimensions.
    """

    command: ClassVar[str] = "compare"
    verdicts: ClassVar[tuple[str, ...]] = ("matches", "loose", "not there yet")

    nouns: tuple[str, str]
    pairs: int
    rows: int
    dim: int
    measured: dict[str, Any]
    prediction: dict[str, Any]
    value_measured: float
    excess: float
    gap_price: float | None
    verdict: str

    @property
    def headline(self) -> str:
        return self.verdict

    @property
    def asked(self) -> dict[str, Any]:
        return {"value": self.value, "verdict": self.verdict}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        """The JSON object, with the value of the optimum under the name that ``compare`` has for it too."""
        return {**super().to_dict(**detail), "value_predicted": self.value}


def rows_of(file: Embeddings, field: str) -> FloatArray:
    """The unit rows (n, d) of a file; :class:`InputError` for rows without a direction."""
    try:
        rows = np.concatenate([np.asarray(chunk, dtype=np.float64) for chunk in file.chunks()])
    except InputError as error:
        raise InputError(error.message, field=field) from None
    largest = np.abs(rows).max(axis=1)
    for wrong, what in ((~np.isfinite(largest), "not finite"), (largest == 0, "zero")):
        if wrong.any():
            raise InputError(
                f"{file.place}: row {int(np.argmax(wrong))} (counted from 0) is {what} and has no direction; leave its "
                "pair out",
                field=field,
            )
    rows /= largest[:, None]
    unit: FloatArray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def compare_crossmodal(problem: CompareCrossmodal) -> CompareCrossmodalReport:
    """Answer the question of :class:`CompareCrossmodal`."""
    validate(problem)
    loss = pair_loss_of(problem)
    x, y = rows_of(problem.embeddings[0], "embeddings"), rows_of(problem.texts[0], "texts")
    if x.shape != y.shape:
        raise InputError(
            f"{counted(y.shape[0], 'row')} of {counted(y.shape[1], 'coordinate')}, but "
            f"{counted(x.shape[0], 'image')} of {x.shape[1]:,}; row i of either file is a pair, in one space",
            field="texts",
        )
    given = x.shape[0]
    if given < 2:
        raise InputError("one pair has no others; give at least two", field="embeddings")
    most = MOST_DRAWN if loss.draws_batches else MOST_PAIRS
    if given > most:
        drawn = np.sort(np.random.default_rng(problem.seed).choice(given, most, replace=False))
        x, y = x[drawn], y[drawn]
    n = x.shape[0]
    joint = Joint.classes(Orbits.equal(n))
    loss = loss.among(joint)
    report = crossmodal(
        Crossmodal(
            counts=[1] * n, loss=loss.written, solver=problem.solver, tolerance=problem.tolerance, seed=problem.seed
        )
    )
    cross = x @ y.T
    off = ~np.eye(n, dtype=bool)
    apart = joint.apart()
    wide = apart.paired.reduce_cross(cross)
    value = loss.objective(apart).value(wide)
    gap = float(np.linalg.norm(x.mean(axis=0) - y.mean(axis=0)))
    own, other = np.diag(cross), cross[off]
    measured = {
        "partner_cosine": spread(own),
        "other_cosine": spread(other),
        "modality_gap": gap,
        "alignment": 2 - 2 * float(own.mean()),
    }
    a, c = float(report.gram.cross[0, -1]), float(report.gram.cross[0, 0])
    wanted = {
        "partner_cosine": a,
        "other_cosine": c,
        "modality_gap": report.modality_gap["value"],
        "alignment": 2 - 2 * a,
        "rank": report.rank,
        "structure": report.structure["kind"],
        "tied": report.tied,
    }
    excess = value - report.value
    off_by = max(abs(float(own.mean()) - a), abs(float(other.mean()) - c), abs(gap - wanted["modality_gap"]))
    if off_by <= problem.within:
        verdict = "matches"
    elif excess <= AT_OPTIMUM * max(1.0, abs(report.value)):
        verdict = "loose"
    else:
        verdict = "not there yet"
    return CompareCrossmodalReport(
        problem=understood(problem, loss=loss.written),
        proof=report.proof,
        effort=report.effort,
        nouns=report.nouns,
        pairs=n,
        rows=given,
        dim=x.shape[1],
        measured=measured,
        prediction=wanted,
        value_measured=value,
        excess=excess,
        gap_price=loss.gap_price(n, gap),
        verdict=verdict,
    )


def spread(cosines: FloatArray) -> dict[str, float]:
    """Mean, least and largest."""
    return {"mean": float(cosines.mean()), "min": float(cosines.min()), "max": float(cosines.max())}


def validate(problem: CompareCrossmodal) -> None:
    """Raise :class:`InputError` for a loss, or files, that do not go together."""
    loss = pair_loss_of(problem)
    loss.objective(Joint.classes(Orbits.equal(2)))
    images, texts = problem.embeddings[0].count, problem.texts[0].count
    if images is not None and texts is not None and images != texts:
        raise InputError(
            f"{counted(texts, 'row')} for {counted(images, 'image')}; row i of either is a pair", field="texts"
        )
