"""What a question names: the loss, made with its parameters."""

from __future__ import annotations

from geomsolve.losses import Loss, make_loss
from geomsolve.questions.base import LossProblem
from geomsolve.questions.classes import ClassProblem


def loss_of(problem: LossProblem) -> Loss:
    """The loss of a problem; raises :class:`geomsolve.InputError` for what it does not take."""
    loss = make_loss(problem.loss.name, problem.loss.parameters, instances=problem.instances)
    return loss.among(problem.class_names) if isinstance(problem, ClassProblem) and not problem.instances else loss
