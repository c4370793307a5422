"""What a question names: the loss, made with its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geomsolve.losses import Loss, make_loss
from geomsolve.questions.base import LossProblem, PairProblem, Problem
from geomsolve.questions.classes import ClassProblem

if TYPE_CHECKING:
    from geomsolve.pair_losses import PairLoss


def loss_of(problem: LossProblem) -> Loss:
    """The loss of a problem; raises :class:`geomsolve.InputError` for what it does not take."""
    loss = make_loss(problem.loss.name, problem.loss.parameters, instances=problem.instances)
    return loss.among(problem.class_names) if isinstance(problem, ClassProblem) and not problem.instances else loss


def pair_loss_of(problem: PairProblem) -> PairLoss:
    """The loss of two sides of a problem; raises :class:`geomsolve.InputError` for what it does not take."""
    from geomsolve.pair_losses import make_pair_loss  # questions about classes start without these

    return make_pair_loss(problem.loss.name, problem.loss.parameters)


def any_loss_of(problem: Problem) -> Loss | PairLoss | None:
    """The loss of a problem, whatever it is a loss of; None where the problem has none."""
    if isinstance(problem, PairProblem):
        return pair_loss_of(problem)
    return loss_of(problem) if isinstance(problem, LossProblem) else None
