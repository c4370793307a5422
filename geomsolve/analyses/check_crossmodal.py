"""Does gradient descent reach what is predicted for two sides?  See ``analyses/check.py``.

Every image and every text has one free vector; a loss that is a mean over random batches is trained on such, drawn as
its prediction has it.  The points compared are those of both sides, as given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geomsolve.analyses.check import Sides, run
from geomsolve.analyses.check_report import CheckReport
from geomsolve.analyses.crossmodal import crossmodal, joint_of
from geomsolve.analyses.named import pair_loss_of
from geomsolve.analyses.prediction import Prediction
from geomsolve.descent import require
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.questions.check_crossmodal import CheckCrossmodal

if TYPE_CHECKING:
    from geomsolve.descent.train import Progress

MOST_DRAWN = 32_768
"""Pairs of a batch that are drawn in training."""

MOST_POINTS = 400
"""Points of both sides together that are trained."""


def check_crossmodal(problem: CheckCrossmodal, *, progress: Progress | None = None) -> CheckReport:
    """Answer the question of :class:`CheckCrossmodal`; ``progress`` is told the steps taken and the loss."""
    validate(problem)
    require("torch", what="the descent check")
    import torch

    from geomsolve.descent.pair_recipes import recipe_of
    from geomsolve.descent.train import choose_device
    from geomsolve.descent.two_sides import BatchesOfPairs, TwoSides

    asked = problem.question
    loss = pair_loss_of(asked)
    device = choose_device(problem.training.device)
    pairs = torch.tensor(chances(problem), device=device)
    loss = loss.among(joint_of(asked, loss))
    recipe, given = recipe_of(loss), loss.parameters()
    if loss.draws_batches:
        trial: TwoSides = BatchesOfPairs(pairs, recipe.of_batches(loss), given["batch"], given["temperature"])
    else:
        trial = TwoSides(pairs, recipe.loss_of(loss, pairs))
    return run(problem, Sides(trial, predicted(problem), None, {"loss": loss.written}), progress)


def chances(problem: CheckCrossmodal) -> FloatArray:
    """(n_x, n_y): how often each x comes with each y, as given, sum 1."""
    asked = problem.question
    if asked.pairs is not None:
        return np.asarray(asked.pairs.values / asked.pairs.values.sum(), dtype=np.float64)
    p, noise = np.asarray(asked.proportions), asked.noise or 0.0
    return (1 - noise) * np.diag(p) + noise * np.outer(p, p)


def predicted(problem: CheckCrossmodal) -> Prediction:
    """What is predicted for the cosines of all points of both sides."""
    report = crossmodal(problem.question)
    first, cross, second = report.matrices()
    gram = np.block([[first, cross], [cross.T, second]])
    counts = report.counts
    names = [list(report.names), [str(j + 1) for j in range(counts[1])]]
    if problem.question.pairs is None:
        names[1] = names[0]
    sides = [f"{noun} {name}" for side, noun in zip(names, report.nouns, strict=True) for name in side]
    return Prediction(
        **vars(report.proof),
        problem=report.problem,
        names=tuple(sides),
        orbits=Orbits.trivial(np.full(sum(counts), 1 / sum(counts))),
        cosines=gram,
        structure=report.structure["kind"],
        rank=report.rank,
        limited=bool(report.dimension_limited),
        points=f"{report.nouns[0]}s and {report.nouns[1]}s",
        sides=tuple(zip(report.nouns, counts, strict=True)),
        classes=Orbits.of(problem.question.proportions),
    )


def validate(problem: CheckCrossmodal) -> None:
    """Raise :class:`InputError` for what is not trained."""
    asked = problem.question
    loss = pair_loss_of(asked)
    if not loss.convex:
        raise InputError(
            f"{loss.name} is not convex: its answer is itself the best that descent finds, and no prediction to check",
            field="loss.name",
        )
    if loss.draws_batches and loss.parameters()["batch"] > MOST_DRAWN:
        raise InputError(
            f"at most {MOST_DRAWN:,} pairs a batch are drawn in training; leave it out for the limit of large batches",
            field="loss.batch",
        )
    if asked.gap is not None:
        raise InputError("descent is left to find its own; leave it out", field="gap")
    points = 2 * len(asked.proportions) if asked.pairs is None else sum(asked.pairs.values.shape)
    if points > MOST_POINTS:
        raise InputError(f"at most {MOST_POINTS} points are trained, there are {points:,}", field=asked.source)
