"""Are image and text embeddings arranged as their loss wants them, pair by pair or class by class?

n pairs that all differ are n classes of one image and one text each; of those the optimum is known (``crossmodal.py``):
one cosine a within pairs, one c across, and a modality gap.  Measured are, of unit rows x_i and y_i,

    within pairs    <x_i, y_i>, mean, least and largest          across    <x_i, y_j>, i != j
    modality gap    |mean x - mean y|                            alignment    mean |x_i - y_i|^2 = 2 - 2 mean <x_i, y_i>

and the loss itself, of all pairs as one batch.  Of many pairs some are drawn, which then are the data.

Where pairs have classes, images and texts of a class belong together, and one pass over the rows gives the mean m_a of
the images of a class, and l_a of its texts.  Then within pairs is cos(m_a, l_a), across cos(m_a, l_b), each class once;
the modality gap is |sum_a p_a (m_a - l_a)|, alignment the mean of |x - y|^2 over an image and a text of one class,
2 - 2 sum_a p_a <m_a, l_a>, scatter the mean of |x - m_a|^2, 1 - sum_a p_a |m_a|^2; and the loss is that with all of a
class at its mean.

    matches          the mean cosines (of classes: every cosine) and the modality gap are within ``within`` of the
                     prediction
    loose            the loss is at the optimum, but the geometry is another
    not there yet    neither

For clean pairs under CLIP a gap g that is forced costs the difference of log((1 + (n - 1) e^{-delta / tau}) / n) at
delta = n / (n - 1) (1 - g^2 / 4) and at g = 0.

Symbols: p_a ``share``, m_a ``images``, l_a ``texts``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geomsolve.analyses.compare_crossmodal_report import Checkpoint, CompareCrossmodalReport
from geomsolve.analyses.crossmodal import crossmodal
from geomsolve.analyses.crossmodal_report import FULL_POINTS, CrossmodalReport
from geomsolve.analyses.named import pair_loss_of
from geomsolve.analyses.scan import Progress, Scan, length, scanned
from geomsolve.errors import InputError
from geomsolve.gram.measure import directions
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.cross import Joint
from geomsolve.pair_losses import PairLoss
from geomsolve.questions.compare_crossmodal import CompareCrossmodal
from geomsolve.questions.crossmodal import Crossmodal
from geomsolve.report import understood
from geomsolve.words import counted

if TYPE_CHECKING:
    from geomsolve.reading.embeddings import Embeddings
    from geomsolve.reading.labels import Classes

MOST_PAIRS, MOST_DRAWN = 2000, 300
"""Pairs that are compared, of more so many are drawn; and where the loss is a mean over random batches.  Classes, too,
of which more are refused."""

AT_OPTIMUM = 1e-3
"""Excess over the optimum, relative above 1, that counts as being at it."""

ROUNDING = 1e-12
"""A squared distance of unit vectors that is none."""

Files = tuple["Embeddings", "Embeddings"]
"""Of the first and of the second side."""


@dataclass(frozen=True)
class Case:
    """The question, its loss and who belongs to whom, the optimum with its cosines ``wanted`` (n, n) between the sides,
    and whom to tell of rows that are read."""

    problem: CompareCrossmodal
    loss: PairLoss
    joint: Joint
    report: CrossmodalReport
    wanted: FloatArray
    tell: Progress


def compare_crossmodal(problem: CompareCrossmodal, *, progress: Progress | None = None) -> CompareCrossmodalReport:
    """Answer the question of :class:`CompareCrossmodal`; ``progress`` is told the rows read, now and then."""
    validate(problem)
    loss = pair_loss_of(problem)
    labels = problem.labels
    rows = length(problem.embeddings[0], "embeddings") if labels is None else labels.codes.size
    if labels is None:
        if rows < 2:
            raise InputError("one pair has no others; give at least two", field="embeddings")
        n = min(rows, most(loss))
        chosen = np.sort(np.random.default_rng(problem.seed).choice(rows, n, replace=False))
        asked: dict[str, Any] = {"counts": [1] * n}
    else:
        asked = {"counts": labels.counts.tolist(), "names": labels.names}
    joint = Joint.classes(Orbits.of(Crossmodal(**asked).proportions, tuple(asked["counts"])))
    loss = loss.among(joint)
    how = {key: getattr(problem, key) for key in ("solver", "tolerance", "seed")}
    report = crossmodal(Crossmodal(**asked, loss=loss.written, **how))
    case = Case(problem, loss, joint, report, report.matrices()[1], progress or (lambda done, total: None))
    if labels is None:
        found = [of_pairs(case, files, rows, chosen) for files in problem.checkpoints]
    else:
        found = [of_classes(case, files, labels) for files in problem.checkpoints]
    classes = None
    if labels is not None:
        classes = [
            {"name": name, "count": int(k), "proportion": float(k / rows)}
            for name, k in zip(labels.names, labels.counts, strict=True)
        ]
    return CompareCrossmodalReport(
        problem=understood(problem, loss=loss.written),
        proof=report.proof,
        effort=report.effort,
        nouns=report.nouns,
        pairs=rows if labels is not None else n,
        rows=rows,
        classes=classes,
        prediction=predicted(case, cross=labels is not None),
        checkpoints=tuple(found),
    )


def most(loss: PairLoss) -> int:
    """Pairs, or classes, that are compared at most."""
    return MOST_DRAWN if loss.draws_batches else MOST_PAIRS


def predicted(case: Case, *, cross: bool) -> dict[str, Any]:
    """The geometry that is predicted; of pairs that differ, or that are alike, one cosine each, else the means."""
    own, other = own_and_other(case.wanted)
    report = case.report
    found = {
        "partner_cosine": float(own.mean()),
        "other_cosine": float(other.mean()),
        "modality_gap": report.modality_gap["value"],
        "alignment": squared_distance(float(report.joint.first[report.joint.paired.first_index] @ own)),
        "rank": report.rank,
        "structure": report.structure["kind"],
        "tied": report.tied,
    }
    if cross:
        found["cross"] = shown(case.wanted)
    return found


def shown(cross: FloatArray) -> FloatArray | None:
    """Cosines (K, K) as JSON has them, None where they are many."""
    return cross if cross.shape[0] <= FULL_POINTS else None


def own_and_other(cross: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The cosines (n,) within pairs and (n (n - 1),) across them, of all (n, n)."""
    return np.diag(cross), cross[~np.eye(cross.shape[0], dtype=bool)]


def of_pairs(case: Case, files: Files, rows: int, chosen: IntArray) -> Checkpoint:
    """What is to be said of the ``chosen`` (n,) of so many ``rows`` of two files, all different."""
    x = kept(files[0], "embeddings", rows, chosen, case.tell)
    y = kept(files[1], "texts", rows, chosen, case.tell)
    alike(x, y, case.report.nouns)
    cross = x @ y.T
    gap = float(np.linalg.norm(x.mean(axis=0) - y.mean(axis=0)))
    measured = {
        **cosines(cross),
        "modality_gap": gap,
        "alignment": squared_distance(float(np.diag(cross).mean())),
    }
    compared = zip(own_and_other(cross), own_and_other(case.wanted), strict=True)
    off_by = max(abs(float(found.mean() - wanted.mean())) for found, wanted in compared)
    value, excess, verdict = judged(case, cross, gap, off_by)
    price = case.loss.gap_price(chosen.size, gap)
    return Checkpoint(places(files), x.shape[1], measured, value, excess, price, None, verdict)


def of_classes(case: Case, files: Files, labels: Classes) -> Checkpoint:
    """What is to be said of two files by the means of their classes."""
    counts = labels.counts.astype(np.float64)
    share = counts / counts.sum()
    images = means(files[0], "embeddings", labels.codes, counts, case.tell)
    if length(files[1], "texts") == labels.codes.size:
        texts = means(files[1], "texts", labels.codes, counts, case.tell)
    else:
        texts = means(files[1], "texts", np.arange(counts.size), np.ones(counts.size), case.tell)
    alike(images, texts, case.report.nouns)
    cross: FloatArray = np.clip(directions(images) @ directions(texts).T, -1, 1)
    scatter = [max(0.0, 1 - float(share @ np.sum(side**2, axis=1))) for side in (images, texts)]
    gap = float(np.linalg.norm(share @ (images - texts)))
    measured = {
        **cosines(cross),
        "modality_gap": gap,
        "alignment": squared_distance(float(share @ np.sum(images * texts, axis=1))),
        "scatter": {"first": scatter[0], "second": scatter[1]},
        "cross": shown(cross),
    }
    off_by = float(np.abs(cross - case.wanted).max())
    value, excess, verdict = judged(case, cross, gap, off_by)
    return Checkpoint(places(files), images.shape[1], measured, value, excess, None, off_by, verdict)


def places(files: Files) -> dict[str, str]:
    """What was read."""
    return {"embeddings": files[0].place, "texts": files[1].place}


def judged(case: Case, cross: FloatArray, gap: float, off_by: float) -> tuple[float, float, str]:
    """The loss at cosines (n, n), how far above the optimum that is, and the verdict on what is ``off_by`` so much."""
    apart = case.joint.apart()
    value = case.loss.objective(apart).value(apart.paired.reduce_cross(cross))
    best = case.report.value
    if max(off_by, abs(gap - case.report.modality_gap["value"])) <= case.problem.within:
        verdict = "matches"
    elif value - best <= AT_OPTIMUM * max(1.0, abs(best)):
        verdict = "loose"
    else:
        verdict = "not there yet"
    return value, value - best, verdict


def cosines(cross: FloatArray) -> dict[str, dict[str, float]]:
    """Mean, least and largest cosine within pairs and across them."""
    own, other = own_and_other(cross)
    named = {"partner_cosine": own, "other_cosine": other}
    return {key: {"mean": float(c.mean()), "min": float(c.min()), "max": float(c.max())} for key, c in named.items()}


def squared_distance(cosine: float) -> float:
    """The mean squared distance of unit vectors that have such a mean cosine, 0 where it is rounding."""
    square = 2 - 2 * cosine
    return square if square > ROUNDING else 0.0


def kept(file: Embeddings, field: str, rows: int, chosen: IntArray, tell: Progress) -> FloatArray:
    """The ``chosen`` unit rows (n, d), ascending, of a file that must have so many ``rows``."""
    found = pass_over(file, field, np.zeros(rows, dtype=np.int64), 1, chosen, tell)
    if found is None:
        count = counted(length(file, field), "row")
        raise InputError(f"{file.place} has {count}, not {rows:,}; row i of every file is a pair", field=field)
    return found.kept


def means(file: Embeddings, field: str, codes: IntArray, counts: FloatArray, tell: Progress) -> FloatArray:
    """(K, d): the mean of the unit rows of each class."""
    found = pass_over(file, field, codes, counts.size, np.zeros(0, dtype=np.int64), tell)
    if found is None:
        count = counted(length(file, field), "row")
        raise InputError(f"{file.place} has {count} for {counted(codes.size, 'label')}", field=field)
    mean: FloatArray = found.sums / counts[:, None]
    return mean


def pass_over(
    file: Embeddings, field: str, codes: IntArray, n_classes: int, keep: IntArray, tell: Progress
) -> Scan | None:
    """One pass over a side, as :func:`geomsolve.analyses.scan.scanned` has it."""

    def complain(place: str, kind: str, count: int, first: int) -> InputError:
        return InputError(
            f"{place}: row {first} (counted from 0) is {kind} and has no direction; leave its pair out", field=field
        )

    return scanned(file, codes, n_classes, keep, tell, complain=complain, field=field)[0]


def alike(x: FloatArray, y: FloatArray, nouns: tuple[str, str]) -> None:
    """Raise :class:`InputError` for two sides that are not in one space."""
    if x.shape[1] != y.shape[1]:
        raise InputError(
            f"{nouns[1]}s of {counted(y.shape[1], 'coordinate')}, but {nouns[0]}s of {x.shape[1]:,}; both sides must "
            "be in one space",
            field="texts",
        )


def validate(problem: CompareCrossmodal) -> None:
    """Raise :class:`InputError` for a loss, or files, that do not go together."""
    loss, labels = pair_loss_of(problem), problem.labels
    loss.objective(Joint.classes(Orbits.equal(2)))
    known = [file.count for file in (*problem.embeddings, *problem.texts) if file.count is not None]
    if labels is None:
        for images, texts in problem.checkpoints:
            if images.count is not None and texts.count is not None and images.count != texts.count:
                raise InputError(
                    f"{counted(texts.count, 'row')} for {counted(images.count, loss.first_noun)}; row i of either is a "
                    f"pair (or name the class of each {loss.first_noun} by labels: then one row a class will do)",
                    field="texts",
                )
        if len(set(known)) > 1:
            raise InputError("checkpoints must have the same rows; these have different numbers", field="embeddings")
        return
    n, k = labels.codes.size, len(labels.names)
    for file, field, allowed in (
        *((file, "embeddings", {n}) for file in problem.embeddings),
        *((file, "texts", {n, k}) for file in problem.texts),
    ):
        if file.count is not None and file.count not in allowed:
            one = loss.first_noun if field == "embeddings" else loss.second_noun
            more = f", or one a class ({k:,})" if field == "texts" else ""
            raise InputError(
                f"{file.place} has {counted(file.count, one)} for {counted(n, 'label')}; give one a label{more}",
                field=field,
            )
    if k > most(loss):
        batches = " where the loss is a mean over random batches" if loss.draws_batches else ""
        raise InputError(f"at most {most(loss):,} classes are compared{batches}, there are {k:,}", field="labels")
