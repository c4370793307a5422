"""One question, one function: a problem in, a frozen report out.  Nothing here prints.

The analysis of a problem of kind ``k`` is the function ``k`` of the module ``geomsolve.analyses.k``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from geomsolve.analyses.base import Report
    from geomsolve.analyses.imbalance import ImbalanceReport
    from geomsolve.spec.base import Problem
    from geomsolve.spec.imbalance import Imbalance


@overload
def solve(problem: Imbalance) -> ImbalanceReport: ...
@overload
def solve(problem: Problem) -> Report: ...
def solve(problem: Any) -> Any:
    """Answer any problem: the report of the analysis for its kind.

    Raises :class:`geomsolve.InputError` for a question that makes no sense and :class:`geomsolve.SolverError`
    where no solver returns a usable point.
    """
    return getattr(importlib.import_module(f"{__name__}.{problem.kind}"), problem.kind)(problem)
