"""Does gradient descent get there?  Free features, the actual batch loss, an ordinary optimiser, then a comparison.

The batch losses (``descent/``) are written from their definitions and share nothing with the objectives that the
prediction is computed from, and classes need not collapse.  By convexity and Jensen the expected batch loss of any
features is at least the certified lower bound, so a loss below it would refute the prediction: that is the verdict
*contradiction*.

    agrees          the loss is within tolerance of the predicted optimum and, where that is the only one, so is every
                    cosine of the class means, and classes have collapsed
    contradiction   the loss is below the certified lower bound by more than sampling and rounding can explain
    not there yet   neither, and training had not converged
    elsewhere       neither, though training had converged
    moved           a companion loss without a certified program: how far it lies from its plain loss's geometry
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from geomsolve.analyses.base import Report, jsonable, understood
from geomsolve.analyses.imbalance import FULL_GRAM, ImbalanceReport, imbalance
from geomsolve.descent import require
from geomsolve.errors import InputError
from geomsolve.gram.measure import Measurement, gram_error
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.losses import Loss, make_loss
from geomsolve.spec.check import Check
from geomsolve.spec.imbalance import Imbalance

if TYPE_CHECKING:
    from geomsolve.descent.train import Progress

GRAM_TOLERANCE = 0.05
"""Largest difference of a cosine that counts as the predicted geometry."""

SCATTER_TOLERANCE = 0.05
"""Largest within-class scatter (mean squared distance to the class mean) that counts as collapsed."""

VALUE_TOLERANCE = 1e-3
"""Largest excess of the loss, relative above 1, that counts as the predicted optimum; two standard errors on top."""

STANDARD_ERRORS = 4
"""How many standard errors below the bound a sampled loss must lie to contradict it."""

ROUNDING = 1e-9
"""How far below the bound, relative above 1, rounding may take a loss."""

FEWEST_SAMPLES, SAMPLES_PER_CLASS = 64, 4
"""Samples by default: at least so many altogether, and so many a class on average."""

MOST_SAMPLES = 20_000
"""Most samples where every step compares all of them with all."""


@dataclass(frozen=True)
class Descent:
    """Where descent ended.  ``value`` in nats with its ``standard_error`` (0 if nothing was sampled); ``gram`` (K, K)
    of the class means; ``within_class`` as in :class:`geomsolve.gram.measure.Measurement`."""

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
class CheckReport(Report):
    """Prediction and descent side by side; ``verdict`` as in the module.

    ``companion`` names what was added to the loss that the prediction does not know; then ``agrees`` is None.
    """

    command: ClassVar[str] = "check"

    prediction: ImbalanceReport
    descent: Descent
    max_gram_error: float
    verdict: str
    agrees: bool | None
    companion: str | None

    @property
    def exit_code(self) -> int:
        return 0 if self.agrees and self.prediction.certified else 1

    @property
    def names(self) -> tuple[str, ...]:
        return self.prediction.names

    @property
    def orbits(self) -> Orbits:
        return self.prediction.orbits

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` includes the Gram matrices however many classes there are."""
        plain = super().to_dict(**detail)
        p = self.prediction
        plain["prediction"] = {
            "value": p.value,
            "lower_bound": p.lower_bound,
            "gap": p.gap,
            "certified": p.certified,
            "unique": p.unique,
            "structure": p.structure.kind,
        }
        if full or p.orbits.n_classes <= FULL_GRAM:
            plain["prediction"]["gram"] = p.gram
        else:
            del plain["descent"]["gram"]
        cleaned: dict[str, Any] = jsonable(plain)
        return cleaned


def plain_loss(loss: Loss) -> tuple[Loss, str | None]:
    """The convex loss that ``loss`` is compared with, and what ``loss`` adds to it (None if it is convex itself)."""
    chosen = loss.parameters()
    if loss.name == "weince" and chosen["delta"] == 0 and chosen["tail_weight"] * chosen["tail_shape"] > 0:
        base = {"temperature": chosen["temperature"], "sampling": chosen["sampling"], "form": "mean"}
        return make_loss("infonce", base), "weince, its weight and shape read off each batch"
    if "hardness" in chosen:
        return loss.replace(hardness=None), f"negatives of hardness {chosen['hardness']:g}"
    return loss, None


def predict(problem: Check) -> tuple[ImbalanceReport, str | None]:
    """The certified geometry of the problem's plain loss, and what the problem adds to that loss, in words."""
    loss, companion = plain_loss(make_loss(problem.loss.name, problem.loss.parameters))
    if problem.synthetic is not None:
        also = f"synthetic negatives {problem.synthetic}"
        companion = also if companion is None else f"{companion}, and {also}"
    shared = {name: getattr(problem, name) for name in problem.model_fields_set & set(Imbalance.model_fields)}
    parameters = {name: value for name, value in loss.parameters().items() if name in loss.takes()}
    report = imbalance(Imbalance(**{**shared, "kind": "imbalance", "loss": {"name": loss.name, **parameters}}))
    return report, companion


def check(
    problem: Check, *, prediction: ImbalanceReport | None = None, progress: Progress | None = None
) -> CheckReport:
    """Answer the question of :class:`Check`; ``progress`` is told the steps taken and the loss, now and then.

    ``prediction`` saves solving again where the answer of :func:`imbalance` for the same problem is at hand.
    """
    require("torch", what="the descent check")
    if problem.implementation == "pml":
        require("pytorch_metric_learning", what="--implementation pml", field="implementation")
    predicted, companion = predict(problem) if prediction is None else (prediction, None)
    outcome = train(problem, progress)
    error = gram_error(outcome.gram, predicted.gram)
    verdict = "moved" if companion else judge(predicted, outcome, error)
    return CheckReport(
        problem=understood(
            problem,
            loss={"name": problem.loss.name, **make_loss(problem.loss.name, problem.loss.parameters).parameters()},
            proportions=problem.proportions,
            samples=outcome.samples,
            dim=outcome.dim,
            device=outcome.device,
        ),
        prediction=predicted,
        descent=outcome,
        max_gram_error=error,
        verdict=verdict,
        agrees=None if companion else verdict == "agrees",
        companion=companion,
    )


def judge(predicted: ImbalanceReport, found: Descent, error: float) -> str:
    """The verdict, as in the module."""
    scale = max(1.0, abs(predicted.value))
    if found.value + STANDARD_ERRORS * found.standard_error < predicted.lower_bound - ROUNDING * scale:
        return "contradiction"
    excess = abs(found.value - predicted.value)
    close = excess <= VALUE_TOLERANCE * scale + 2 * found.standard_error
    same = error <= GRAM_TOLERANCE and found.within_class <= SCATTER_TOLERANCE
    if close and (same or predicted.unique is not True):
        return "agrees"
    return "elsewhere" if found.converged else "not there yet"


def samples_of_classes(problem: Check, loss: Loss) -> list[int]:
    """How many samples each class has."""
    n_classes = len(problem.proportions)
    if getattr(loss, "full_batch", False):
        if problem.samples is not None:
            raise InputError("a full batch has the samples that the counts say; leave this out", field="samples")
        if problem.class_counts is None:
            raise InputError("a full batch needs class counts, not proportions", field="loss.full_batch")
        return list(problem.class_counts)
    from geomsolve.descent.population import apportion

    wanted = problem.samples or max(FEWEST_SAMPLES, SAMPLES_PER_CLASS * n_classes)
    return apportion(problem.proportions, wanted)


def train(problem: Check, progress: Progress | None) -> Descent:
    """Let the features go, and measure where they end."""
    import torch

    from geomsolve.descent.experiments import experiment
    from geomsolve.descent.negatives import read_kinds
    from geomsolve.descent.population import Population
    from geomsolve.descent.train import choose_device, descend

    loss = make_loss(problem.loss.name, problem.loss.parameters)
    try:
        synthetic = () if problem.synthetic is None else read_kinds(problem.synthetic)
    except ValueError as error:
        raise InputError(str(error), field="synthetic") from None
    sizes = samples_of_classes(problem, loss)
    n_classes = len(sizes)
    if sum(sizes) > MOST_SAMPLES:
        raise InputError(
            f"{sum(sizes):,} samples are too many to compare all with all; at most {MOST_SAMPLES:,}, so fewer classes "
            "or smaller counts",
            field="samples",
        )
    device = choose_device(problem.device)
    population = Population.of(problem.proportions, sizes, device)
    if problem.implementation == "pml":
        from geomsolve.descent.pml import pml_experiment

        trial = pml_experiment(loss, population)
    else:
        trial = experiment(loss, population, synthetic)
    generator = torch.Generator(device=device).manual_seed(problem.seed)
    outcome = descend(
        trial,
        problem.dim or n_classes,
        optimizer=problem.optimizer,
        steps=problem.steps,
        generator=generator,
        progress=progress,
    )
    estimate = trial.value(outcome.features, generator)
    sums = torch.zeros((n_classes, outcome.features.shape[1]), dtype=torch.float64, device=device)
    sums.index_add_(0, trial.row_labels, trial.row_weights[:, None] * outcome.features)
    measured = Measurement.of(sums.cpu().numpy(), np.asarray(problem.proportions))
    return Descent(
        value=estimate.value,
        standard_error=estimate.standard_error,
        gram=measured.gram,
        within_class=measured.within_class,
        steps=outcome.steps,
        converged=outcome.converged,
        seconds=outcome.seconds,
        device=describe(device),
        optimizer=problem.optimizer,
        samples=len(population),
        dim=outcome.features.shape[1],
    )


def describe(device: Any) -> str:
    """A device in words: 'cpu', or 'cuda' with the name of the GPU."""
    import torch

    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else "cpu"


def as_check(problem: Imbalance, **settings: Any) -> Check:
    """The check of the same classes and loss as ``problem``."""
    shared = {name: getattr(problem, name) for name in problem.model_fields_set & set(Check.model_fields)}
    return Check(**{**shared, "kind": "check", **settings})
