"""Does a trained encoder have the geometry that its loss wants for the data's own class proportions?

One pass over the embeddings, in chunks: each row is brought to unit length, and the class sums give everything that
``gram/measure.py`` measures.  The loss value is that of the actual batch losses (``descent/``, which needs torch):
on all samples where they are few enough, else on a sample of them that keeps the proportions.

    matches            every cosine is as predicted (where the optimum is unique), or else the loss is
    another geometry   the measured cosines have a name of their own, and the prediction has not
    still converging   neither
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.imbalance import FULL_GRAM, ImbalanceReport, imbalance
from geomsolve.analyses.named import loss_of
from geomsolve.descent.recipes import missing
from geomsolve.errors import InputError
from geomsolve.gram.measure import Measurement, gram_error
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, classify, names_of
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.losses import Loss
from geomsolve.questions.compare import Compare
from geomsolve.questions.imbalance import Imbalance
from geomsolve.report import Report, jsonable, understood
from geomsolve.words import counted

VALUE_TOLERANCE = 1e-2
"""Excess of the loss, relative above 1, that counts as the optimum where that is not a single geometry."""

WHOLE_SAMPLES, DRAWN_SAMPLES = 20_000, 4_000
"""Most samples of which all take part in the loss: where all are compared with all, and where batches are drawn."""

SUBSET = 4_000
"""Samples that stand for the rest where there are more."""

UNIT = 1e-3
"""Lengths that differ from 1 by less than this are not worth a remark."""

Progress = Callable[[int, int], None]
"""Called with the rows read so far and how many there are."""


@dataclass(frozen=True)
class LossOnData:
    """``value`` in nats with its ``standard_error``, on ``samples`` of the rows; None with a reason in ``missing``."""

    value: float | None
    standard_error: float = 0.0
    samples: int = 0
    missing: str = ""


@dataclass(frozen=True)
class CompareReport(Report):
    """Measurement and prediction side by side; ``verdict`` as in the module.

    ``read``: which columns of which files.  ``lengths``: the smallest and largest length of a row before it was brought
    to 1.  ``structure`` names the measured geometry, with ``within`` as its tolerance.
    """

    command: ClassVar[str] = "compare"
    verdicts: ClassVar[tuple[str, ...]] = ("matches", "another geometry", "still converging")

    read: dict[str, Any]
    names: tuple[str, ...]
    counts: tuple[int, ...]
    dim: int
    lengths: tuple[float, float]
    measured: Measurement
    structure: Structure
    prediction: ImbalanceReport
    max_gram_error: float
    loss_on_data: LossOnData
    verdict: str

    @property
    def certified(self) -> bool:
        return self.prediction.certified

    @property
    def headline(self) -> str:
        return self.verdict

    @property
    def asked(self) -> dict[str, Any]:
        return {"verdict": self.verdict, "structure": self.structure.kind, "groups": self.collapsed}

    @property
    def collapsed(self) -> list[list[str]]:
        """Names of classes whose measured means coincide, one list a point."""
        return names_of(self.structure.groups, self.names)

    @property
    def excess(self) -> float | None:
        """How far the loss on the data lies above the predicted optimum."""
        value = self.loss_on_data.value
        return None if value is None else value - self.prediction.value

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` includes the Gram matrices however many classes there are."""
        plain = super().to_dict(**detail)
        found, p = self.measured, self.prediction
        total = sum(self.counts)
        for key in ("names", "counts", "loss_on_data"):
            del plain[key]
        plain["classes"] = [
            {"name": name, "count": n, "proportion": n / total, "scatter": float(s)}
            for name, n, s in zip(self.names, self.counts, found.scatter, strict=True)
        ]
        plain["structure"] = self.structure.kind
        plain["collapsed"] = self.collapsed
        plain["measured"] = {
            "within_class": found.within_class,
            "nc1": found.nc1,
            "simplex_distance": found.simplex_distance,
        }
        plain["prediction"] = {
            **p.proof.figures,
            "unique": p.unique,
            "structure": p.structure.kind,
        }
        if full or len(self.names) <= FULL_GRAM:
            plain["measured"]["gram"] = found.gram
            plain["prediction"]["gram"] = p.gram
        loss = self.loss_on_data
        plain["value_measured"], plain["value_predicted"] = loss.value, p.value
        plain["value_standard_error"], plain["value_samples"] = loss.standard_error, loss.samples
        cleaned: dict[str, Any] = jsonable(plain)
        return cleaned


@dataclass(frozen=True)
class Scan:
    """What one pass over the rows gives: class ``sums`` (K, d) of unit rows, the unit rows ``kept`` (n, d)."""

    sums: FloatArray
    kept: FloatArray
    lengths: tuple[float, float]


def compare(problem: Compare, *, progress: Progress | None = None) -> CompareReport:
    """Answer the question of :class:`Compare`; ``progress`` is told the rows read, now and then."""
    validate(problem)
    codes, names, counts = problem.labels.codes, problem.labels.names, problem.labels.counts
    loss = loss_of(problem)
    shared = {"solver": problem.solver, "tolerance": problem.tolerance, "seed": problem.seed}
    prediction = imbalance(Imbalance(counts=counts.tolist(), names=names, loss=problem.loss.model_dump(), **shared))
    if prediction.structure.kind == "degenerate":
        raise InputError(f"there is nothing to compare with: {prediction.solver['reason']}", field="loss.delta")
    all_of_them = codes.size <= (WHOLE_SAMPLES if loss.reads_whole_set else DRAWN_SAMPLES)
    rng = np.random.default_rng(problem.seed)
    keep = np.arange(codes.size) if all_of_them else chosen(codes, counts, SUBSET, rng)
    scan = scanned(problem, codes, len(names), keep, progress or (lambda done, total: None))
    measured = Measurement.of(scan.sums, counts.astype(np.float64))
    structure = classify(Orbits.trivial(counts / counts.sum()), measured.gram, 0.0, tolerance=problem.within)
    error = gram_error(measured.gram, prediction.gram)
    on_data = loss_on_data(loss, scan.kept, codes[keep], counts, problem.seed)
    return CompareReport(
        problem=understood(problem, loss=loss.written),
        read=problem.read,
        names=names,
        counts=tuple(int(n) for n in counts),
        dim=scan.sums.shape[1],
        lengths=scan.lengths,
        measured=measured,
        structure=structure,
        prediction=prediction,
        max_gram_error=error,
        loss_on_data=on_data,
        verdict=judge(prediction, structure, error, on_data.value, problem.within),
    )


def validate(problem: Compare) -> None:
    """Raise :class:`InputError` where the embeddings' file says that there are more or fewer than labels."""
    n, found = problem.labels.codes.size, problem.embeddings.count
    if found is not None and found != n:
        raise InputError(
            f"{counted(n, 'label')} for {counted(found, 'embedding')}; give one label a row", field="labels"
        )


def chunks(problem: Compare) -> Iterator[Any]:
    """Rows of the embeddings; complaints about them name their field."""
    try:
        yield from problem.embeddings.chunks()
    except InputError as error:
        raise InputError(error.message, field="embeddings") from None


def judge(prediction: ImbalanceReport, measured: Structure, error: float, value: float | None, within: float) -> str:
    """The verdict, as in the module."""
    if error <= within:
        return "matches"
    if prediction.unique is False and value is not None:
        if value - prediction.value <= VALUE_TOLERANCE * max(1.0, abs(prediction.value)):
            return "matches"
        return "still converging"
    alike = classify(prediction.orbits, prediction.orbit_cosines, 0.0, tolerance=within).kind
    unnamed = ("general", "symmetric by proportion", "equiangular")
    return "still converging" if measured.kind in (*unnamed, alike) else "another geometry"


def chosen(codes: IntArray, counts: IntArray, most: int, rng: np.random.Generator) -> IntArray:
    """Positions, ascending, of about ``most`` rows that keep the proportions, at least two a class where it has two."""
    wanted = np.minimum(counts, np.maximum(2, np.round(counts * (most / codes.size)))).astype(np.int64)
    order = np.argsort(codes, kind="stable")
    first = np.cumsum(counts) - counts
    picked = [order[f + rng.choice(n, w, replace=False)] for f, n, w in zip(first, counts, wanted, strict=True)]
    return np.sort(np.concatenate(picked))


def scanned(problem: Compare, codes: IntArray, n_classes: int, keep: IntArray, progress: Progress) -> Scan:
    """One pass over the embeddings; :class:`InputError` for rows without a direction and labels that do not match."""
    from scipy.sparse import csr_array

    n = codes.size
    done, low, high = 0, np.inf, 0.0
    sums, kept = np.zeros((0, 0)), np.zeros((0, 0))
    trouble = {"not finite": [0, 0], "zero": [0, 0]}
    for chunk in chunks(problem):
        with np.errstate(over="ignore"):  # of wider numbers, which are then not finite
            block = chunk.astype(np.float64)
        size = block.shape[0]
        if done == 0:
            sums, kept = np.zeros((n_classes, block.shape[1])), np.zeros((keep.size, block.shape[1]))
        if done + size > n:
            done += size
            break
        largest = np.abs(block).max(axis=1)
        for kind, wrong in (("not finite", ~np.isfinite(largest)), ("zero", largest == 0)):
            if wrong.any():
                if not trouble[kind][0]:
                    trouble[kind][1] = done + int(np.argmax(wrong))
                trouble[kind][0] += int(wrong.sum())
        usable = np.isfinite(largest) & (largest > 0)
        if usable.all():
            block /= largest[:, None]  # first, so that no square is too large or too small for a number
            lengths = np.linalg.norm(block, axis=1)
            block /= lengths[:, None]
            with np.errstate(over="ignore"):
                lengths *= largest
            low, high = min(low, float(lengths.min())), max(high, float(lengths.max()))
            member = csr_array((np.ones(size), (codes[done : done + size], np.arange(size))), shape=(n_classes, size))
            sums += np.asarray(member @ block)
            here = slice(*np.searchsorted(keep, (done, done + size)))
            kept[here] = block[keep[here] - done]
        done += size
        progress(done, n)
    if done != n:
        found = "more embeddings" if done > n else counted(done, "embedding")
        raise InputError(f"{counted(n, 'label')} for {found}; give one label a row", field="labels")
    for kind, (count, first) in trouble.items():
        if count:
            some = f"{counted(count, 'row')} {'is' if count == 1 else 'are'}"
            raise InputError(
                f"{problem.embeddings.place}: {some} {kind}, first row {first} (counted from 0); such rows have no "
                "direction: remove them with their labels",
                field="embeddings",
            )
    return Scan(sums, kept, (low, high))


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
