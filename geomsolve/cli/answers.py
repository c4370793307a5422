"""Answers for a person, whichever command they come from: what prints a report, and phrases that several share.

Every command that prints a report does so by the function ``show`` of its module; :func:`show` finds it by the name
that the report gives, so that no command knows another.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console

from geomsolve.cli.output import File, Output
from geomsolve.cli.render import loss_phrase
from geomsolve.gram.orbits import Orbits
from geomsolve.questions.base import Problem
from geomsolve.registry import WEIGHTINGS
from geomsolve.report import Report
from geomsolve.words import counted, number


def show(report: Report, screen: Console, *, quiet: bool) -> None:
    """Print a report as its own command does."""
    importlib.import_module(f"geomsolve.cli.commands.{report.command}").show(report, screen, quiet=quiet)


def deliver_both(output: Output, report: Report, check: Report, files: Sequence[File] = ()) -> int:
    """Give a report with a descent check of the same question to the user, the check under the JSON key ``check``;
    ``files`` as in :meth:`Output.deliver`."""

    def both(report: Report, screen: Console, *, quiet: bool) -> None:
        show(report, screen, quiet=quiet)
        if not quiet:
            screen.print()
        show(check, screen, quiet=quiet)

    answer = {**report.to_dict(full=output.full), "check": check.to_dict(full=output.full)}
    return max(output.deliver(report, both, answer, files=files), check.exit_code)


def proof_files(path: str | None, report: Report, problem: Problem, digits: int | None = None) -> list[File]:
    """The proof that stands alone, to be written to ``path`` if that is given; ``digits`` of a threshold."""
    if path is None:
        return []
    from geomsolve.analyses.proofs import standing_alone

    return [("proof", path, standing_alone(report, problem, digits))]


def setting(problem: dict[str, Any], orbits: Orbits) -> str:
    """What was asked, with every parameter in force: of a loss on classes, or of a weighting of samples."""
    return of_weighting(problem, orbits) if "weighting" in problem else of_classes(problem, orbits)


def undetermined(problem: dict[str, Any]) -> str:
    """That the loss leaves the angles open, as a clause."""
    stated = {"name": problem["weighting"], **problem} if "weighting" in problem else problem["loss"]
    where = f" at temperature {number(stated['temperature'], 4)}" if "temperature" in stated else ""
    return f"the angles are not determined{where}: {stated['name']} hardly depends on them"


def of_classes(problem: dict[str, Any], orbits: Orbits) -> str:
    """The loss and the classes."""
    p = orbits.proportions
    if orbits.n_classes <= 8:
        classes = "proportions " + ", ".join(number(x, 4) for x in p[orbits.index])
    elif (sizes := np.unique(p).size) == 1:
        classes = f"{orbits.n_classes:,} classes of proportion {number(p[0], 3)}"
    else:
        spread = f"proportions {number(p.max(), 3)} to {number(p.min(), 3)}"
        classes = f"{orbits.n_classes:,} classes of {sizes:,} sizes, {spread}"
    features = ", non-negative features" if problem.get("nonnegative") else ""
    return f"{loss_phrase(problem['loss'])}, {classes}{features}."


def of_weighting(problem: dict[str, Any], orbits: Orbits) -> str:
    """The weighting and the samples."""
    shown = in_force(problem, "dim", "arc", "sample", "bin")
    shown.append(f"self pairs {problem['self_pairs']}d")
    shown.append(f"weights normalised by {problem['normalise']}")
    samples = f"{counted(orbits.n_classes, 'sample')}, {orbits.n_orbits:,} different"
    return f"Weighting {problem['weighting']}, {', '.join(shown)}; {samples}."


def in_force(problem: dict[str, Any], *more: str) -> list[str]:
    """The temperature, the parameters of the weighting but for matrices, and ``more`` settings, each with its value."""
    takes = WEIGHTINGS[problem["weighting"]].takes()
    keys = ["temperature", *(key for key, declared in takes.items() if not declared.values.matrix), *more]
    values = {key: problem[key] for key in keys if problem.get(key) is not None}
    return [f"{key.replace('_', ' ')} {_spelled(x)}" for key, x in values.items()]


def _spelled(value: Any) -> str:
    """A value of a parameter as one would write it."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(_spelled, value))
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else f"{value:g}"
