"""Does gradient descent reach what is predicted for a weighting of pairs?  See ``analyses/check.py``."""

from __future__ import annotations

from geomsolve.analyses.check import check
from geomsolve.analyses.check_report import CheckReport
from geomsolve.questions.check import CheckWeighting


def check_weighting(problem: CheckWeighting) -> CheckReport:
    """Answer the question of :class:`CheckWeighting`."""
    return check(problem)
