"""One question, one function: a problem in, a frozen report out.  Nothing here prints.

The analysis of a problem of kind ``k`` is the function ``k`` of the module ``geomsolve.analyses.k``; a function
``validate`` there, if any, says what is wrong with a problem without solving it.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

from geomsolve.errors import InputError

if TYPE_CHECKING:
    from geomsolve.analyses.advise import AdviseReport
    from geomsolve.analyses.check_report import CheckReport
    from geomsolve.analyses.classifiers import ClassifierReport
    from geomsolve.analyses.compare_report import CheckpointsReport, CompareReport
    from geomsolve.analyses.contrast import ContrastReport
    from geomsolve.analyses.crossmodal_report import CrossmodalReport
    from geomsolve.analyses.design_report import DesignReport
    from geomsolve.analyses.find_levels import FoundLevelsReport
    from geomsolve.analyses.imbalance import ImbalanceReport
    from geomsolve.analyses.levels import LevelsReport
    from geomsolve.analyses.realizable_report import CasesReport, RealizableReport
    from geomsolve.analyses.sweep import SweepReport
    from geomsolve.analyses.threshold_report import ThresholdReport
    from geomsolve.questions.advise import Advise
    from geomsolve.questions.base import Problem
    from geomsolve.questions.check import Check, CheckWeighting
    from geomsolve.questions.compare import Compare
    from geomsolve.questions.contrast import Contrast
    from geomsolve.questions.crossmodal import Crossmodal
    from geomsolve.questions.design import Design
    from geomsolve.questions.imbalance import Imbalance
    from geomsolve.questions.levels import Levels
    from geomsolve.questions.realizable import Realizable
    from geomsolve.questions.sweep import Sweep
    from geomsolve.questions.threshold import Threshold
    from geomsolve.report import Report


@overload
def solve(problem: Imbalance) -> ImbalanceReport | ClassifierReport: ...
@overload
def solve(problem: Advise) -> AdviseReport: ...
@overload
def solve(problem: Check | CheckWeighting) -> CheckReport: ...
@overload
def solve(problem: Realizable) -> RealizableReport | CasesReport: ...
@overload
def solve(problem: Threshold) -> ThresholdReport: ...
@overload
def solve(problem: Sweep) -> SweepReport: ...
@overload
def solve(problem: Levels) -> LevelsReport | FoundLevelsReport: ...
@overload
def solve(problem: Compare) -> CompareReport | CheckpointsReport: ...
@overload
def solve(problem: Contrast) -> ContrastReport: ...
@overload
def solve(problem: Design) -> DesignReport: ...
@overload
def solve(problem: Crossmodal) -> CrossmodalReport: ...
@overload
def solve(problem: Problem) -> Report: ...
def solve(problem: Any) -> Any:
    """Answer any problem: the report of the analysis for its kind.

    Raises :class:`geomsolve.InputError` for a question that makes no sense and :class:`geomsolve.SolverError`
    where no solver returns a usable point.
    """
    from geomsolve.questions.base import Problem

    if not isinstance(problem, Problem):
        shown = f"the class {problem.__name__}" if isinstance(problem, type) else f"{problem!r:.60}"
        raise InputError(f"wanted a question, such as Imbalance([0.7, 0.2, 0.1]), got {shown}")
    from geomsolve.analyses.notices import notices

    report: Report = getattr(_module(problem), problem.kind)(problem)  # type: ignore[attr-defined]
    return report.noting(*notices(problem))


def _module(problem: Problem) -> ModuleType:
    kind: str = problem.kind  # type: ignore[attr-defined]  # every problem that can be made has one
    return importlib.import_module(f"{__name__}.{kind}")


def validate(problem: Problem) -> None:
    """Raise :class:`geomsolve.InputError` for what a problem's own fields do not tell to be wrong, without solving.

    That is what the losses and solvers know, and what the function ``validate`` of the analysis knows, if it has one.
    """
    from geomsolve.analyses.expectation import refuse_unknown
    from geomsolve.analyses.named import loss_of
    from geomsolve.losses import ClassifierLoss
    from geomsolve.questions.base import LossProblem
    from geomsolve.questions.check import Composed
    from geomsolve.questions.classes import ClassProblem
    from geomsolve.solvers.choose import check_solver, refuse_oversize

    refuse_unknown(problem)
    if isinstance(problem, Composed):
        validate(problem.question)
    check_solver(problem.solver)
    if isinstance(problem, LossProblem):
        loss = loss_of(problem)
        if isinstance(problem, ClassProblem) and any(getattr(problem, name) is not None for name in problem.SOURCES):
            orbits = loss.orbits(problem.proportions, problem.class_counts)
            refuse_oversize(orbits.n_orbits, field=problem.source)
            if problem.of_classifiers and isinstance(loss, ClassifierLoss):
                loss.program(orbits)
            else:
                loss.objective(orbits)
    own = getattr(_module(problem), "validate", None)
    if own is not None:
        own(problem)
