"""Where along a path do alike classes merge, features and classifiers, under a loss of both?

    regularisation   the weight lam, exact: the classes of an orbit share a point iff w (1 - e) / rho <= lam, and all
                     features vanish iff |D| at no logits is at most lam  (``proof/nuclear.py``)
    imbalance        the ratio R of the largest class to the smallest; the largest keeps its samples, and of the sizes
                     in between the logarithms are stretched alike

With a budget the multiplier nu takes the place of lam: it is solved for along the path, and w (1 - e) / rho - nu
changes sign where the classes merge.  Classes of different sizes never share a point but the origin: features of
both at one point with the classifiers would have to balance the same pull with different weights.

Symbols: R ``ratio``, nu ``multiplier``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, nan
from typing import Any

import numpy as np

from geomsolve.analyses.classifiers import program_of, thresholds
from geomsolve.analyses.threshold_report import UNITS, ThresholdReport
from geomsolve.analyses.varied import Classes, stretched
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.losses import ClassifierLoss
from geomsolve.objectives.cross_entropy import Budget, Margin, Peeled, Regularised
from geomsolve.questions.threshold import Threshold
from geomsolve.report import understood
from geomsolve.solvers.nuclear import solve_peeled

RATIOS = (1.01, 1e4)
"""Ratios of the largest class to the smallest between which mergers are looked for."""

FEW, MANY = 9, 61
"""Ratios looked at where each is solved, and where none is."""

RTOL = 1e-9
"""Relative accuracy of a ratio."""


@dataclass(frozen=True)
class Meeting:
    """From ``at`` on (``after``; else up to it) the classes of the ``orbits`` are at one point."""

    at: float
    after: bool
    orbits: tuple[int, ...]


def classifier_threshold(problem: Threshold, loss: ClassifierLoss) -> ThresholdReport:
    """Answer the question of :class:`Threshold` for a loss of features and classifiers."""
    validate(problem, loss)
    return over_regularisation(problem, loss) if problem.over == "regularisation" else over_imbalance(problem, loss)


def validate(problem: Threshold, loss: ClassifierLoss) -> None:
    """Raise :class:`InputError` for a path that the loss does not have, or classes that it cannot be taken for."""
    if problem.over not in ("regularisation", "imbalance"):
        raise InputError(
            f"the loss {loss.name} has no {problem.over}; its classes merge over imbalance or regularisation",
            field="over",
        )
    if problem.over == "regularisation":
        if "constraint" in loss.parameters():
            raise InputError("this form has no weight of a regulariser; leave it out", field="loss.constraint")
        loss = loss.replace(regularise=1.0)
    loss.program(loss.orbits(problem.proportions, problem.class_counts))


def over_regularisation(problem: Threshold, loss: ClassifierLoss) -> ThresholdReport:
    """Where along the weight of the regulariser; exact."""
    weight = loss.parameters().get("regularise")
    weighed = loss.replace(regularise=weight or 1.0)
    orbits = weighed.orbits(problem.proportions, problem.class_counts)
    program = program_of(weighed, orbits, field=problem.source)
    whole = tuple(range(orbits.n_orbits))
    found = [Meeting(at, True, whole if g is None else (g,)) for at, g in thresholds(program) if at > 0]
    end = found[-1].at
    own = [meeting for meeting in found[:-1] if meeting.at < end * (1 - 1e-12)]
    low = (own[0].at if own else end) / 10
    return report_of(problem, loss, orbits, [*own, found[-1]], weight, low, end * 10, total=end)


def over_imbalance(problem: Threshold, loss: ClassifierLoss) -> ThresholdReport:
    """Where along the ratio of the largest class to the smallest."""
    classes = Classes(problem.proportions, problem.class_counts)
    ratio = max(classes.proportions) / min(classes.proportions)

    def at(r: float) -> tuple[Peeled, Orbits]:
        changed = stretched(classes, r)
        orbits = loss.orbits(changed.proportions, changed.class_counts)
        return program_of(loss, orbits, field=problem.source), orbits

    program, orbits = at(RATIOS[0])
    several = program.points.several[0]
    low, high = RATIOS
    if isinstance(program, Margin):
        why = "without weight decay every class keeps the same margin ahead of all others, whatever their sizes"
        return report_of(problem, loss, orbits, [], ratio, low, high, reason=why, possible=False)
    if several.size == 0:
        why = "no two classes are alike, and only alike classes share a point other than the origin"
        return report_of(problem, loss, orbits, [], ratio, low, high, reason=why, possible=False)
    scan = np.geomspace(low, high, MANY if isinstance(program, Regularised) else FEW).tolist()
    found = meetings(lambda r: pulls(at(r)[0]), scan, several.tolist())
    reason = None
    if not any(meeting.at > low for meeting in found):
        reason = f"the same classes share a point at all {len(scan)} ratios looked at, from {low:g} to {high:g}"
    return report_of(problem, loss, orbits, found, ratio, low, high, reason=reason)


def pulls(program: Peeled) -> FloatArray:
    """(k,): w (1 - e) / rho less nu; where it is not positive, the classes of that orbit are at one point."""
    if isinstance(program, Regularised):
        return program.contrast_slope - program.weight
    assert isinstance(program, Budget)
    return program.contrast_slope - program.evaluate(solve_peeled(program).blocks)[1].operator


def meetings(pull: Callable[[float], FloatArray], scan: list[float], orbits: list[int]) -> list[Meeting]:
    """Where along the ascending ``scan`` an entry of ``pull`` changes its sign, in order."""
    from scipy.optimize import brentq  # here, since only this loss needs it

    seen = [pull(r) for r in scan]
    found = []
    for place, orbit in enumerate(orbits):
        for i in range(len(scan) - 1):
            before, after = seen[i][place] > 0, seen[i + 1][place] > 0
            if before != after:
                ends = log(scan[i]), log(scan[i + 1])
                root = exp(brentq(lambda x, i=place: float(pull(exp(x))[i]), *ends, xtol=RTOL))
                found.append(Meeting(root, bool(before), (orbit,)))
        if seen[0][place] <= 0:
            found.append(Meeting(scan[0], True, (orbit,)))
    return sorted(found, key=lambda meeting: meeting.at)


def report_of(
    problem: Threshold,
    loss: ClassifierLoss,
    orbits: Orbits,
    found: list[Meeting],
    current: float | None,
    low: float,
    high: float,
    *,
    reason: str | None = None,
    possible: bool = True,
    total: float | None = None,
) -> ThresholdReport:
    """The report: the first merger on the way is the threshold, the others are stages of the path."""
    names = problem.class_names

    def named(which: tuple[int, ...]) -> list[str]:
        return [names[a] for a in np.flatnonzero(np.isin(orbits.index, which))]

    begun = [meeting for meeting in found if meeting.at > low]
    first = begun[0] if begun else None
    together: list[tuple[int, ...]] = [meeting.orbits for meeting in found if meeting.at <= low]
    path: list[dict[str, Any]] = [{"from": None, "groups": [named(which) for which in together]}]
    merging = [named(which) for which in together]
    for meeting in begun:
        if meeting.after:
            together = [which for which in together if not set(which) <= set(meeting.orbits)] + [meeting.orbits]
        else:
            together = [which for which in together if which != meeting.orbits]
        path.append({"from": meeting.at, "groups": [named(which) for which in together]})
        if meeting.after and named(meeting.orbits) not in merging:
            merging.append(named(meeting.orbits))
    collapsed = None
    if current is not None:
        state = [stage for stage in path if stage["from"] is None or stage["from"] <= current][-1]
        collapsed = bool(state["groups"])
    stated = problem.over == "imbalance" or "regularise" in problem.loss.parameters
    return ThresholdReport(
        problem=understood(problem, loss=loss.written),
        names=names,
        proportions=problem.proportions,
        over=problem.over,
        threshold=None if first is None else {"over": problem.over, "value": first.at, "unit": UNITS[problem.over]},
        reason=reason,
        collapsed_above=None if first is None else first.after,
        changes=[{"value": meeting.at, "collapsed_above": meeting.after} for meeting in begun],
        collapsed=collapsed,
        possible=possible,
        current=nan if current is None else current,
        searched={"low": low, "high": high},
        path=path,
        merging=merging,
        given=stated,
        total=total,
        classifiers=True,
    )
