"""One question on many processes: parts that are problems of their own, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from geomsolve.batch.workers import outcomes
from geomsolve.questions.base import Problem


def spread(parts: Sequence[Problem], *, progress: Callable[[int, int], None], **where: Any) -> list[dict[str, Any]]:
    """The JSON objects of the answers to ``parts``; ``where`` as :func:`geomsolve.batch.workers.outcomes` has it.

    Raises the error of the first part that has one, when all are done.
    """
    answers: dict[int, dict[str, Any]] = {}
    errors: dict[int, Exception] = {}
    for position, outcome in outcomes(parts, **where):
        if outcome.error is not None:
            errors[position] = outcome.error
        elif outcome.answer is not None:
            answers[position] = outcome.answer
        progress(len(answers) + len(errors), len(parts))
    if errors:
        raise errors[min(errors)]
    return [answers[position] for position in range(len(parts))]
