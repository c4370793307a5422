"""What the descent check of a loss of features and classifiers trains, and what it is compared with.

The points are the feature means of the K classes and their K classifiers, 2 K in all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geomsolve.analyses.classifiers import ClassifierReport, classifiers, program_of
from geomsolve.analyses.prediction import Prediction
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.losses import ClassifierLoss
from geomsolve.objectives.cross_entropy import Budget, Regularised
from geomsolve.questions.check import Check
from geomsolve.questions.imbalance import Imbalance

if TYPE_CHECKING:
    import torch

    from geomsolve.descent.classifiers import Classifier

MOST_CLASSES = 200
"""Classes whose features and classifiers are trained."""


def refuse(problem: Check, loss: ClassifierLoss) -> None:
    """Raise :class:`InputError` for what is not trained."""
    training, asked = problem.training, problem.question
    for name in ("synthetic", "implementation"):
        if getattr(training, name) not in (None, "own"):
            raise InputError(f"{loss.name} has no negatives and is trained by torch; leave this out", field=name)
    program_of(loss, loss.orbits(asked.proportions, asked.class_counts), field=asked.source)
    if len(asked.proportions) > MOST_CLASSES:
        raise InputError(f"at most {MOST_CLASSES} classes are trained", field=asked.source)


def trial_of(problem: Check, loss: ClassifierLoss, sizes: list[int], device: torch.device) -> Classifier:
    """The experiment: ``sizes`` (K,) features of each class, and the classifiers."""
    import torch

    from geomsolve.descent.classifiers import Classifier
    from geomsolve.descent.population import Population

    asked = problem.question
    program = program_of(loss, loss.orbits(asked.proportions, asked.class_counts), field=asked.source)
    index, n = program.points.first_index, len(asked.proportions)
    budget = None
    if isinstance(program, Budget):
        budget = (program.radius / n * program.ratio**0.5, program.radius / n / program.ratio**0.5)
    return Classifier(
        Population.of(asked.proportions, sizes, device),
        torch.tensor(program.loss.mass[index], device=device),
        torch.tensor(program.loss.log_prior[index], device=device),
        program.loss.smoothing,
        budget=budget,
        decay=program.weight if isinstance(program, Regularised) else 0.0,
        samples=sum(asked.class_counts or ()),
    )


def predicted_for(problem: Check, **stated: Any) -> Prediction:
    """What is predicted for the cosines of all feature means and classifiers."""
    report = classifiers(Imbalance(**stated))
    k = len(report.names)
    sides = [f"{name} ({side})" for side in ("feature", "classifier") for name in report.names]
    return Prediction(
        **vars(report.proof),
        problem=report.problem,
        names=tuple(sides),
        orbits=Orbits.trivial(np.full(2 * k, 0.5 / k)),
        cosines=both(report),
        structure=report.structure.kind,
        rank=report.rank,
        points="feature means and classifiers",
        classes=report.orbits,
        norm=report.cross_entropy is None,
    )


def both(report: ClassifierReport) -> FloatArray:
    """Cosines (2 K, 2 K) of feature means and classifiers; 0 with those that are 0."""
    lengths = np.concatenate([report.features.norms, report.classifiers.norms])
    inner = np.block([[report.features.gram, report.across], [report.across.T, report.classifiers.gram]])
    inner[lengths == 0], inner[:, lengths == 0] = 0.0, 0.0
    np.fill_diagonal(inner, 1.0)
    return inner


def reached(vectors: FloatArray, predicted: FloatArray) -> FloatArray:
    """Cosines (2 K, 2 K) of ``vectors`` (2 K, d), left out where 0 is ``predicted`` because one of the two is 0."""
    length = np.linalg.norm(vectors, axis=1)
    short = length <= 1e-3 * max(float(length.max()), 1e-300)
    unit = vectors / np.where(length > 0, length, 1.0)[:, None]
    gram: FloatArray = unit @ unit.T
    lost = short & ~np.any(predicted - np.eye(length.size), axis=1)
    gram[lost], gram[:, lost] = 0.0, 0.0
    np.fill_diagonal(gram, 1.0)
    return gram
