"""Does gradient descent get there?  Free features, the actual batch loss, an ordinary optimiser, then a comparison.

The batch losses (``descent/``) are written from their definitions and share nothing with the objectives that the
prediction is computed from, and classes need not collapse.  By convexity and Jensen the expected batch loss of any
features is at least the certified lower bound, so a loss below it would refute the prediction: that is the verdict
*contradiction*.

    agrees          the loss is within tolerance of the predicted optimum and, where that is the only one and its
                    angles are resolved, so is every cosine of the class means, and classes have collapsed; a loss
                    within single precision of the certified bound pins neither down, and agrees as it stands
    contradiction   the loss is below the certified lower bound by more than sampling and rounding can explain
    not there yet   neither, and training had not converged
    elsewhere       neither, though training had converged
    moved           a companion loss without a certified program: how far it lies from its plain loss's geometry
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from geomsolve.analyses.check_classifiers import predicted_for, reached, refuse, trial_of
from geomsolve.analyses.check_report import CheckReport, Descent, Loosest, same_geometry, unseen
from geomsolve.analyses.imbalance import ImbalanceReport, geometry
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.prediction import Prediction
from geomsolve.analyses.ranges import PairRange, range_above_frame, range_around, widest_range
from geomsolve.analyses.realizable import realizable, target_of, weighting_of
from geomsolve.analyses.realizable_report import RealizableReport
from geomsolve.descent import require
from geomsolve.descent.recipes import missing
from geomsolve.errors import InputError
from geomsolve.gram.measure import Measurement, gram_error
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.losses import ClassifierLoss, Loss
from geomsolve.questions.check import OF_THE_DOCUMENT, Check, CheckWeighting
from geomsolve.questions.check_crossmodal import CheckCrossmodal
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.realizable import Realizable
from geomsolve.report import Report, understood

if TYPE_CHECKING:
    import torch

    from geomsolve.descent.experiments import Experiment
    from geomsolve.descent.train import Progress

AnyCheck = Check | CheckWeighting | CheckCrossmodal

VALUE_TOLERANCE = 1e-3
"""Largest excess of the loss, relative above 1, that counts as the predicted optimum; two standard errors on top."""

STANDARD_ERRORS = 4
"""How many standard errors below the bound a sampled loss must lie to contradict it."""

ROUNDING = 1e-9
"""How far below the bound, relative above 1, rounding may take a loss."""

SEEN = 1e-4
"""Excess in nats that a trained network leaves at best: its batches and its precision do not resolve less."""

FEWEST_SAMPLES, SAMPLES_PER_CLASS = 64, 4
"""Samples by default: at least so many altogether, and so many a class on average."""

SPARE = 2
"""Dimensions a class by default for non-negative features: with as many as classes, one class may take two axes for
good, and two classes share the last one."""

MOST_SAMPLES = 20_000
"""Most samples where every step compares all of them with all."""


MOST_DIM = 4096
"""Dimensions that are trained where there are fewer samples: more than one a sample lead to no other geometry."""


@dataclass(frozen=True)
class Sides:
    """What is trained and what that is compared with, for either kind of question.

    ``companion`` as in :class:`CheckReport`; ``known`` is what the problem means beside what it says.  ``order`` (n,):
    for each sample, as it was given, its place among the features; None where classes are compared, not samples.
    ``measured``: cosines and within-class scatter of what was trained, where these are not of class means alone.
    """

    trial: Experiment
    predicted: Prediction
    companion: str | None
    known: dict[str, Any]
    order: IntArray | None = None
    measured: Callable[[torch.Tensor], tuple[FloatArray, float]] | None = None


def check(
    problem: Check | CheckWeighting,
    *,
    answer: Report | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Answer the question of :class:`Check` or :class:`CheckWeighting`.

    ``answer``: that of the question which is checked, where it is at hand.  ``progress`` is told the steps taken and
    the loss, now and then.
    """
    validate(problem)
    require("torch", what="the descent check")
    from geomsolve.descent.train import choose_device

    device = choose_device(problem.training.device)
    sides = of_classes(problem, device, answer) if isinstance(problem, Check) else of_samples(problem, device, answer)
    return run(problem, sides, progress)


def run(problem: AnyCheck, sides: Sides, progress: Progress | None) -> CheckReport:
    """Train and compare."""
    found = train(problem, sides, progress)
    error = gram_error(found.gram, sides.predicted.gram)
    loosest = None if sides.companion else loosest_of(problem, sides.predicted, found)
    verdict = "moved" if sides.companion else judge(sides.predicted, found, error)
    return CheckReport(
        problem={**understood(problem, **sides.known), "dim": found.dim},
        prediction=sides.predicted,
        descent=found,
        max_gram_error=error,
        verdict=verdict,
        agrees=None if sides.companion else verdict == "agrees",
        companion=sides.companion,
        loosest=loosest,
    )


def loosest_of(problem: AnyCheck, predicted: Prediction, found: Descent) -> Loosest | None:
    """The cosine that the loss says least about, at the excess that descent left or at :data:`SEEN`."""
    if not isinstance(problem, Check) or predicted.classes is not None or predicted.limited or not predicted.convex:
        return None
    held = problem.question.nonnegative
    if held and predicted.structure != "orthogonal frame":
        return None
    if predicted.structure == "degenerate":
        return None
    around = range_above_frame if held else range_around
    slack = max(SEEN, found.value - predicted.value + 2 * found.standard_error)
    (a, b), range_ = widest_range(
        loss_of(problem.question).objective, predicted.orbits, predicted.cosines, slack, around
    )
    return Loosest(slack, PairRange((predicted.names[a], predicted.names[b]), float(predicted.gram[a, b]), range_))


def validate(problem: Check | CheckWeighting) -> None:
    """Raise :class:`InputError` for a loss that cannot be trained."""
    if isinstance(problem, Check) and isinstance(loss := loss_of(problem.question), ClassifierLoss):
        refuse(problem, loss)
    elif isinstance(problem, Check) and (why := missing(loss_of(problem.question))):
        raise InputError(why, field="loss.name")


def of_classes(problem: Check, device: torch.device, answer: Report | None = None) -> Sides:
    """A loss on classes, several features each; compared with the optimum of its plain loss."""
    loss = loss_of(problem.question)
    if isinstance(loss, ClassifierLoss):
        return of_classifiers(problem, loss, device)
    trial = loss_trial(problem, loss, device)
    trial.nonnegative = problem.question.nonnegative
    plain, companion = loss.plain()
    if problem.training.synthetic is not None:
        also = f"synthetic negatives {problem.training.synthetic}"
        companion = also if companion is None else f"{companion}, and {also}"
    stated = {name: getattr(problem.question, name) for name in problem.question.model_fields_set}
    if isinstance(answer, ImbalanceReport) and companion is None:
        report = answer
    else:
        report = geometry(Imbalance(**{**stated, "loss": plain.written}))
    known: dict[str, Any] = {"loss": loss.written}
    if not loss.counts_are_samples:
        known["samples"] = len(trial.population)
    return Sides(trial, Prediction.of_loss(report), companion, known)


def of_classifiers(problem: Check, loss: ClassifierLoss, device: torch.device) -> Sides:
    """A loss of features and classifiers: several features a class, and one classifier."""
    trial = trial_of(problem, loss, samples_of_classes(problem, loss), device)
    stated = {name: getattr(problem.question, name) for name in problem.question.model_fields_set}
    predicted = predicted_for(problem, **stated)

    def measured(z: torch.Tensor) -> tuple[FloatArray, float]:
        vectors, scatter = trial.measured(z)
        return reached(vectors.cpu().numpy(), predicted.gram), scatter

    known = {"loss": loss.written, "samples": len(trial.population)}
    return Sides(trial, predicted, None, known, measured=measured)


def of_samples(problem: CheckWeighting, device: torch.device, answer: Report | None = None) -> Sides:
    """A weighting of samples, one feature each; compared with the best embedding."""
    trial, index = weighting_trial(problem.question, device)
    answer = answer or realizable(problem.question)
    assert isinstance(answer, RealizableReport)
    known = {key: value for key, value in answer.problem.items() if key not in OF_THE_DOCUMENT}
    order = np.argsort(np.argsort(index, kind="stable"), kind="stable")
    return Sides(trial, Prediction.of_weighting(answer), None, known, order)


def judge(predicted: Prediction, found: Descent, error: float) -> str:
    """The verdict, as in the module."""
    scale = max(1.0, abs(predicted.value))
    if found.value + STANDARD_ERRORS * found.standard_error < predicted.lower_bound - ROUNDING * scale:
        return "contradiction"
    excess = abs(found.value - predicted.value)
    close = excess <= VALUE_TOLERANCE * scale + 2 * found.standard_error
    if close and (same_geometry(predicted, found, error) or not predicted.determined or unseen(predicted, found)):
        return "agrees"
    return "elsewhere" if found.converged else "not there yet"


def samples_of_classes(problem: Check, loss: Loss) -> list[int]:
    """How many samples each class has."""
    asked, wanted = problem.question, problem.training.samples
    if loss.counts_are_samples:
        if wanted is not None:
            raise InputError("the loss is of the samples that the counts say; leave this out", field="samples")
        loss.objective(loss.orbits(asked.proportions, asked.class_counts))  # which refuses proportions without counts
        return list(asked.class_counts or ())
    from geomsolve.descent.population import apportion

    return apportion(asked.proportions, wanted or max(FEWEST_SAMPLES, SAMPLES_PER_CLASS * len(asked.proportions)))


def refuse_crowd(samples: int, field: str) -> None:
    """Raise :class:`InputError` for more samples than can all be compared with all."""
    if samples > MOST_SAMPLES:
        raise InputError(
            f"{samples:,} samples are too many to compare all with all; at most {MOST_SAMPLES:,} are trained",
            field=field,
        )


def loss_trial(problem: Check, loss: Loss, device: torch.device) -> Experiment:
    """The experiment for a loss on classes."""
    from geomsolve.descent.negatives import read_kinds
    from geomsolve.descent.population import Population
    from geomsolve.descent.recipes import experiment, pml_experiment

    training = problem.training
    try:
        synthetic = () if training.synthetic is None else read_kinds(training.synthetic)
    except ValueError as error:
        raise InputError(str(error), field="synthetic") from None
    sizes = samples_of_classes(problem, loss)
    refuse_crowd(sum(sizes), "samples")
    population = Population.of(problem.question.proportions, sizes, device)
    if training.implementation == "own":
        return experiment(loss, population, synthetic)
    require("pytorch_metric_learning", what="--implementation pml", field="implementation")
    return pml_experiment(loss, population)


def weighting_trial(problem: Realizable, device: torch.device) -> tuple[Experiment, IntArray]:
    """The experiment for a weighting: one feature a sample, its class the samples with equal labels (n,)."""
    import torch

    from geomsolve.descent.denominator import Weighted
    from geomsolve.descent.population import Population

    weighting = weighting_of(problem)
    if not weighting.trained:
        raise InputError(f"{weighting.name} has no training recipe, so it cannot be checked", field="weighting")
    target = target_of(problem, weighting)
    if target.partial:
        raise InputError("the check needs a complete matrix; fill in the missing entries", field="weights")
    sizes = target.orbits.sizes
    refuse_crowd(int(sizes.sum()), "labels")
    labels = np.zeros((sizes.size, 0)) if target.labels is None else target.labels
    logs = weighting.weigh(
        labels, sizes, include=target.include, temperature=problem.temperature, latents=target.latents
    )
    trial = Weighted(
        Population.of(sizes / sizes.sum(), sizes, device),
        problem.temperature,
        torch.tensor(logs, device=device),
        itself=target.include,
        columns=problem.normalise == "columns",
        spherical=target.latents.unit,
    )
    return trial, target.orbits.index


def train(problem: AnyCheck, sides: Sides, progress: Progress | None) -> Descent:
    """Let the features go, and measure where they end."""
    import torch

    from geomsolve.descent.train import SMALL, descend, steady

    trial, predicted, asked, training = sides.trial, sides.predicted, problem.question, problem.training
    device = trial.population.device
    generator = torch.Generator(device=device).manual_seed(asked.seed)
    n_classes = trial.population.sizes.numel()
    if asked.dim is not None and asked.dim > max(MOST_DIM, trial.rows):
        raise InputError(
            f"{asked.dim:,} dimensions are more than can be trained in reasonable time, and {trial.rows:,} features "
            f"reach no other geometry in more than {trial.rows:,}; at most {max(MOST_DIM, trial.rows):,}",
            field="dim",
        )
    outcome = descend(
        trial,
        asked.dim or (trial.rows if sides.order is not None else n_classes * (SPARE if trial.nonnegative else 1)),
        optimizer=training.optimizer,
        steps=training.steps,
        generator=generator,
        goal=None if sides.companion else predicted.lower_bound if predicted.certified else predicted.value,
        progress=progress,
    )
    z = outcome.features
    sums = torch.zeros((n_classes, z.shape[1]), dtype=torch.float64, device=device)
    with steady(SMALL):
        estimate = trial.value(z, generator)
        if sides.measured is None:
            sums.index_add_(0, trial.row_labels, trial.row_weights[:, None] * z)
        else:
            gram, within_class = sides.measured(z)
    if sides.measured is None:
        measured = Measurement.of(sums.cpu().numpy(), trial.population.proportions.cpu().numpy())
        gram, within_class = measured.gram, measured.within_class
    if sides.order is not None:  # sample by sample, so that samples of one label are compared as well
        gram, within_class = pairs_of_samples(z.cpu().numpy()[sides.order], trial.spherical), 0.0
    return Descent(
        value=estimate.value,
        standard_error=estimate.standard_error,
        gram=gram,
        within_class=within_class,
        steps=outcome.steps,
        converged=outcome.converged,
        seconds=outcome.seconds,
        device=describe(device),
        optimizer=training.optimizer,
        samples=len(trial.population),
        dim=z.shape[1],
    )


def describe(device: Any) -> str:
    """A device in words: 'cpu', or 'cuda' with the name of the GPU."""
    import torch

    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else "cpu"


def pairs_of_samples(z: FloatArray, spherical: bool) -> FloatArray:
    """Cosines, or squared distances, of features ``z`` (n, d)."""
    if spherical:
        return z @ z.T
    square: FloatArray = np.sum((z[:, None] - z) ** 2, axis=2)
    return square
