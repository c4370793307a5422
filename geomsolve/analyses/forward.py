"""One forward solve among several that stand side by side: the question, and what a row of a table says of its answer.

The smaller classes are those less frequent than the largest.
"""

from __future__ import annotations

from typing import Any

from geomsolve.analyses.imbalance import ImbalanceReport
from geomsolve.analyses.remedies import largest_cosine
from geomsolve.gram.structure import angle_degrees
from geomsolve.objectives.base import Objective
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.imbalance import Imbalance


def forward(problem: ClassProblem, loss: dict[str, Any], **other: Any) -> Imbalance:
    """The question of ``geomsolve imbalance`` about the classes of a problem and a ``loss``; ``other`` fields."""
    fields = {name: getattr(problem, name) for name in (*problem.SOURCES, "names", "solver", "tolerance", "seed")}
    return Imbalance(**{**fields, **other}, loss=loss)


def angles_of(report: ImbalanceReport) -> tuple[float, float | None]:
    """The smallest angle of all classes, and that of the smaller ones, in degrees; None where there are no two."""
    closest = largest_cosine(report.orbits, report.orbit_cosines, smaller=True)
    return report.structure.min_angle_deg, None if closest is None else angle_degrees(closest)


def fixes(report: ImbalanceReport, objective: Objective) -> bool:
    """Whether the loss fixes the geometry: it is the only optimum or, of a smooth loss, not known not to be."""
    if not report.resolved or report.structure.kind == "degenerate" or report.unique is False:
        return False
    if report.nonnegative is not None and not report.nonnegative["exact"]:
        return False
    return report.unique is True or objective.smooth
