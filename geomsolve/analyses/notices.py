"""What was understood differently from what was written, and what a loss has to say about its parameters."""

from __future__ import annotations

from geomsolve.errors import InputError
from geomsolve.questions.base import LossProblem, PairProblem, Problem


def notices(problem: Problem) -> tuple[str, ...]:
    """Everything that a user should see beside the answer to ``problem``, one sentence each."""
    return (*problem.notices, *of_loss(problem))


def of_loss(problem: Problem) -> tuple[str, ...]:
    """What the loss of a problem has to say about its parameters; what is wrong with them is told later."""
    if not isinstance(problem, (LossProblem, PairProblem)):
        return ()
    from geomsolve.analyses.named import any_loss_of
    from geomsolve.losses import Loss
    from geomsolve.questions.classes import ClassProblem

    try:
        loss = any_loss_of(problem)
        if loss is None:
            return ()
        if isinstance(loss, Loss) and isinstance(problem, ClassProblem) and not problem.instances:
            return (*loss.notes(), *loss.notes_for(len(problem.proportions)))
        return loss.notes()
    except InputError:
        return ()
