"""Does a trained encoder have the geometry that its loss wants for the data's own class proportions?

One pass over the embeddings (``analyses/scan.py``) brings each row to unit length, and the class sums give everything
that ``gram/measure.py`` measures.  The loss value is that of the actual batch losses (``descent/``, which needs torch):
on all samples where they are few enough, else on a sample of them that keeps the proportions.  What is made of it all
is said in ``analyses/compare_verdict.py``.

Where samples scatter within their class, with mean cosine rho^2, a loss that allows it wants of the class means what it
wants at the temperature tau / rho^2 (``Loss.scatter_is_heat``).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from geomsolve.analyses.compare_report import (
    CheckpointsReport,
    CompareReport,
    Comparison,
    Duality,
    Errors,
    Heated,
    LossOnData,
)
from geomsolve.analyses.compare_verdict import Case, judge
from geomsolve.analyses.imbalance import geometry
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.prediction import Prediction
from geomsolve.analyses.remedies import Remedy, remedy
from geomsolve.analyses.scan import Progress, scanned
from geomsolve.descent.recipes import missing
from geomsolve.errors import InputError
from geomsolve.gram.measure import (
    Measurement,
    alignment,
    gram_error,
    least_rms_error,
    rms_errors,
    standard_errors,
    within_cosines,
)
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import classify
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.losses import Loss
from geomsolve.questions.compare import Compare
from geomsolve.questions.imbalance import Imbalance
from geomsolve.report import understood
from geomsolve.words import counted

if TYPE_CHECKING:
    from geomsolve.reading.embeddings import Embeddings

WHOLE_SAMPLES, DRAWN_SAMPLES = 20_000, 4_000
"""Most samples of which all take part in the loss: where all are compared with all, and where batches are drawn."""

SUBSET = 4_000
"""Samples that stand for the rest where there are more."""

SEARCHED = 20
"""Classes up to which the best arrangement in the encoder's dimension is searched where the optimum does not fit."""

MEASURED = 2000
"""Classes up to which the loss is evaluated at the measured cosines of class means."""

SIGNED = 1e-6
"""Coordinates of unit rows this little below 0 are so by rounding."""


Predict = Callable[[int | None], Prediction]
"""The prediction in so many dimensions, or without a limit."""


def compare(problem: Compare, *, progress: Progress | None = None) -> CompareReport | CheckpointsReport:
    """Answer the question of :class:`Compare`; ``progress`` is told the rows read, now and then.

    Several files give a :class:`CheckpointsReport`.
    """
    validate(problem)
    loss = loss_of(problem)

    @cache
    def predict(dim: int | None) -> Prediction:
        return predicted(problem, loss, dim=dim)

    free = predict(None)  # before files are read
    collapsed = free.structure == "minority collapse" and free.convex
    helps = remedy(question(problem, loss), loss, free.orbits) if collapsed else None
    tell = progress or (lambda done, total: None)
    found = tuple(of_file(problem, each, loss, predict, helps, tell) for each in problem.embeddings)
    asked = understood(problem, loss=loss.written)
    return CompareReport(asked, **vars(found[0])) if len(found) == 1 else CheckpointsReport(asked, found)


def question(problem: Compare, loss: Loss, **changes: Any) -> Imbalance:
    """What is asked of ``loss`` for the proportions of the labels, with ``changes``."""
    labels = problem.labels
    how = {key: getattr(problem, key) for key in ("solver", "tolerance", "seed", "nonnegative")}
    return Imbalance(counts=labels.counts.tolist(), names=labels.names, loss=loss.written, **how, **changes)


def predicted(problem: Compare, loss: Loss, **changes: Any) -> Prediction:
    """The optimum of ``loss`` for the proportions of the labels, with ``changes`` of the question.

    Raises :class:`InputError` where every geometry is optimal.
    """
    report = geometry(question(problem, loss, **changes))
    if report.structure.kind == "degenerate":
        raise InputError(f"there is nothing to compare with: {report.effort.reason}", field="loss.delta")
    if report.nonnegative is not None and report.structure.kind != "orthogonal frame" and not changes.get("dim"):
        raise InputError(
            "encoders with non-negative features are compared where the orthogonal frame is the optimum, which it is "
            "not here; leave it out",
            field="nonnegative",
        )
    return Prediction.of_loss(report)


def of_file(
    problem: Compare, file: Embeddings, loss: Loss, predict: Predict, helps: Remedy | None, progress: Progress
) -> Comparison:
    """What is to be said of the embeddings of one file."""
    codes, names, counts = problem.labels.codes, problem.labels.names, problem.labels.counts
    all_of_them = codes.size <= (WHOLE_SAMPLES if loss.reads_whole_set else DRAWN_SAMPLES)
    rng = np.random.default_rng(problem.seed)
    keep = np.arange(codes.size) if all_of_them else chosen(codes, counts, SUBSET, rng)
    scan, found = scanned(file, codes, len(names), keep, progress, signs=problem.nonnegative)
    if scan is None:
        raise unequal(problem, file, "more embeddings" if found > codes.size else counted(found, "embedding"))
    if problem.nonnegative and scan.lowest < -SIGNED:
        raise InputError(
            f"{file.place}: a coordinate is negative ({scan.lowest:.3g} in a row of unit length), so that these are no "
            "features after a ReLU; leave nonnegative out",
            field="embeddings",
        )
    share = counts / counts.sum()
    measured = Measurement.of(scan.sums, counts.astype(np.float64))
    structure = classify(Orbits.trivial(share), measured.gram, 0.0, tolerance=problem.within)
    on_data = loss_on_data(loss, scan.kept, codes[keep], counts, problem.seed)
    standard = standard_errors(scan.kept, codes[keep], scan.sums, counts)
    columns = scan.sums.shape[1]
    dim = problem.dim or columns
    free = predict(None)
    rms, weighted, of_class = rms_errors(measured.gram - free.gram, share)
    least, limited = 0.0, None
    angles = without_scatter(loss, free, measured.gram)
    case = Case(
        free=free,
        limited=None,
        gram=measured.gram,
        standard=standard,
        structure=structure,
        angles=angles,
        value=on_data.value,
        standard_error=on_data.standard_error,
        within=problem.within,
    )
    if case.too_few(dim):
        least = least_rms_error(free.orbits.eigenvalues(free.orbits.gram_blocks(free.cosines)), dim)
        limited = predict(dim) if len(names) <= SEARCHED else None
        case = replace(case, limited=limited)
    judgement = judge(case, loss.objective, least, rms)
    prediction = free
    if limited is not None:
        prediction = limited
        rms, weighted, of_class = rms_errors(measured.gram - limited.gram, share)
    rho = mean_within(scan.sums, counts)
    return Comparison(
        read=problem.read(file),
        names=names,
        counts=tuple(int(n) for n in counts),
        columns=columns,
        dim=dim,
        lengths=scan.lengths,
        measured=measured,
        structure=structure,
        within=problem.within,
        prediction=prediction,
        free=free,
        errors=Errors(gram_error(measured.gram, prediction.gram), rms, weighted, of_class, standard),
        loss_on_data=on_data,
        judgement=judgement,
        within_cosine=rho,
        angle_excess=None if angles is None else angles - free.value,
        heated=heated(problem, loss, rho, measured.gram),
        duality=duality(problem, scan.sums, counts),
        remedy=helps,
        unsigned=scan.lowest >= 0,
    )


def mean_within(sums: FloatArray, counts: IntArray) -> float | None:
    """rho^2: the mean cosine of two samples of a class, classes weighted by their share; None where none has two."""
    found = within_cosines(sums, counts)
    known = ~np.isnan(found)
    return float(np.average(found[known], weights=counts[known])) if known.any() else None


def without_scatter(loss: Loss, free: Prediction, gram: FloatArray) -> float | None:
    """The loss at the cosines ``gram`` (K, K) of class means alone; None for many classes."""
    if len(free.names) > MEASURED:
        return None
    try:
        return loss.objective(free.orbits.single()).value(gram)
    except InputError:  # of batches without replacement, which take few distinct counts
        return None


def heated(problem: Compare, loss: Loss, rho: float | None, gram: FloatArray) -> Heated | None:
    """What the loss wants of class means whose samples have the mean cosine ``rho``; None where that is open."""
    temperature = loss.parameters().get("temperature")
    if not loss.scatter_is_heat or temperature is None or rho is None or not 0 < rho <= 1:
        return None
    try:
        hotter = predicted(problem, loss.replace(temperature=temperature / rho))
    except InputError:  # hotter than what is solved
        return None
    return Heated(temperature / rho, hotter.gram, gram_error(gram, hotter.gram)) if hotter.resolved else None


def duality(problem: Compare, sums: FloatArray, counts: IntArray) -> Duality | None:
    """How the rows of the classifier, if one was given, lie to the class means."""
    if problem.classifier is None:
        return None
    rows = problem.classifier.values
    if rows.shape[1] != sums.shape[1]:
        raise InputError(
            f"its rows have {counted(rows.shape[1], 'entry', 'entries')}, the embeddings "
            f"{counted(sums.shape[1], 'column')}; give the embeddings that the classifier takes",
            field="classifier",
        )
    return Duality(*alignment(rows, sums / counts[:, None]))


def validate(problem: Compare) -> None:
    """Raise :class:`InputError` where the embeddings' file says that there are more or fewer than labels."""
    n = problem.labels.codes.size
    for file in problem.embeddings:
        if file.count is not None and file.count != n:
            raise unequal(problem, file, counted(file.count, "embedding"))


def unequal(problem: Compare, file: Embeddings, found: str) -> InputError:
    """The complaint about as many embeddings as ``found`` says."""
    where = f" in {file.place}" if len(problem.embeddings) > 1 else ""
    n = counted(problem.labels.codes.size, "label")
    return InputError(f"{n} for {found}{where}; give one label a row", field="labels")


def chosen(codes: IntArray, counts: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """Positions, ascending, of about ``most`` rows that keep the proportions, at least two a class where it has two."""
    wanted = np.minimum(counts, np.maximum(2, np.round(counts * (most / codes.size)))).astype(np.int64)
    order = np.argsort(codes, kind="stable")
    first = np.cumsum(counts) - counts
    picked = [order[f + rng.choice(n, w, replace=False)] for f, n, w in zip(first, counts, wanted, strict=True)]
    return np.sort(np.concatenate(picked))


def loss_on_data(loss: Loss, kept: FloatArray, codes: IntArray, counts: IntArray, seed: int) -> LossOnData:
    """The loss of unit rows ``kept`` (n, d) of classes ``codes`` (n,), which are ``counts`` (K,) in the whole data."""
    if importlib.util.find_spec("torch") is None:
        return LossOnData(None, missing="evaluating the loss needs torch: pip install 'geomsolve[torch]'")
    if why := missing(loss):
        return LossOnData(None, missing=why)
    if loss.counts_are_samples and codes.size < counts.sum():
        most = WHOLE_SAMPLES if loss.reads_whole_set else DRAWN_SAMPLES
        what = "a full batch, or batches without replacement,"
        return LossOnData(None, missing=f"a loss of {what} is evaluated for at most {most:,} samples")
    import torch

    from geomsolve.descent.population import Population
    from geomsolve.descent.recipes import experiment

    order = np.argsort(codes, kind="stable")
    population = Population.of(counts / counts.sum(), np.bincount(codes), stands_for=float(counts.sum() / codes.size))
    trial = experiment(loss, population)
    z = torch.from_numpy(kept[order]).repeat_interleave(trial.rows // codes.size, 0)
    estimate = trial.value(z, torch.Generator().manual_seed(seed))
    return LossOnData(estimate.value, estimate.standard_error, int(codes.size))
