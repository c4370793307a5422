"""Where along a path do the smaller classes collapse into one point?  Read off the certificate.

Collapse, G = v v' with v = (1, -1, ..., -1), is optimal iff its dual matrix S is psd (``proof/collapse.py``), so a
threshold is where the smallest eigenvalue of S changes sign along the path.  It is located between two places where
that sign differs; nothing is solved.  On the way there groups of classes may merge, which ``merging.py`` finds by
solving.

    temperature   the loss's own parameter
    majority      share P of the largest class; the others keep their ratios.  The path runs over P / (1 - P)
    batch         samples in a random batch, whole numbers; inf is the population limit
    negatives     k, whole numbers and inf
    imbalance     the ratio of the largest class to the smallest; in between, logarithms of sizes are stretched alike

For a loss of features and classifiers ``classifier_threshold.py`` answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any

import numpy as np

from geomsolve.analyses.classifier_threshold import classifier_threshold
from geomsolve.analyses.classifier_threshold import validate as validate_classifiers
from geomsolve.analyses.determined import settled_window
from geomsolve.analyses.merging import PARTIAL_ORBITS, merging_path
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.ranges import SETTLED, all_asked
from geomsolve.analyses.remedies import remedy
from geomsolve.analyses.threshold_report import UNITS, ThresholdReport
from geomsolve.analyses.varied import Classes, stretched, with_majority
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.losses import ClassifierLoss, Loss
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import collapse_is_optimal
from geomsolve.proof.collapse import TEMPERATURES, collapse_changes, has_majority
from geomsolve.proof.crossings import Change
from geomsolve.questions.threshold import Threshold
from geomsolve.report import understood

SCAN = 65
"""Points of a continuous path, evenly in its logarithm, between which a change is looked for."""

PARTIAL_SCAN = 21
"""The same for partial mergers, each of which is solved."""

PARTIAL_TEMPERATURES = (0.02, 50.0)
MOST_ODDS = 1e6
LEAST_RATIO = 1.001
EVERY = 256
"""Whole numbers up to which every one is looked at; beyond it the scan is even in the logarithm."""

MOST_WHOLE = 2**20


@dataclass(frozen=True)
class Path:
    """``at(x)`` is the problem at x; ``value(x)`` is x as a user states it; ``current`` is x of the problem as given.

    ``scan`` looks for collapse, ``partial`` for partial mergers; ``whole`` if only whole numbers make sense.
    """

    over: str
    at: Callable[[float], tuple[Objective, Orbits]]
    scan: tuple[float, ...]
    partial: tuple[float, ...]
    current: float
    whole: bool = False

    def value(self, x: float) -> float:
        """x in the user's terms: for the majority, its share and not its odds."""
        if self.over == "majority":
            return x / (1 + x)
        return int(x) if self.whole and x < inf else x

    def between(self, low: float, high: float) -> Path:
        """The part of the path from ``low`` to ``high``, in the user's terms."""
        a, b = (v / (1 - v) if self.over == "majority" else float(v) for v in (low, high))
        a, b = max(a, self.scan[0]), min(b, self.scan[-1])
        return replace(self, scan=(a, *(x for x in self.scan if a < x < b), b) if a < b else ())


def _geometric(low: float, high: float, count: int) -> tuple[float, ...]:
    return tuple(np.geomspace(low, high, count).tolist())


def path_over(over: str, loss: Loss, classes: Classes) -> Path:
    """The path of ``over`` through a problem; InputError where the loss has no such parameter."""
    if over == "majority":
        return _over_majority(loss, classes)
    if over == "imbalance":
        return _over_imbalance(loss, classes)
    if over not in loss.takes():
        raise InputError(
            f"the loss {loss.name} has no {over}; it takes {', '.join(loss.takes()) or 'none'}", field="over"
        )
    orbits = loss.orbits(classes.proportions, classes.class_counts)
    given = getattr(loss, over)

    def at(x: float) -> tuple[Objective, Orbits]:
        return loss.varied(over, int(x) if over != "temperature" and x < inf else x).objective(orbits), orbits

    if over == "temperature":
        partial = _geometric(*PARTIAL_TEMPERATURES, PARTIAL_SCAN)
        return Path(over, at, _geometric(*TEMPERATURES, SCAN), partial, given)
    least, most = loss.range_of(over, orbits)
    beyond = [round(x) for x in np.geomspace(EVERY, MOST_WHOLE, 13)][1:]

    def within(numbers: Sequence[float]) -> tuple[float, ...]:
        return (*(float(x) for x in numbers if least <= x < most), most)

    scan = within([*range(int(least), EVERY + 1), *beyond])
    partial = within(
        [least, least + 1, *(x for x in (4, 6, 8, 12, 16, 24, 32, 64, 128, EVERY) if x > least + 1), *beyond[::4]]
    )
    return Path(over, at, scan, partial, inf if given is None else given, whole=True)


def _over_majority(loss: Loss, classes: Classes) -> Path:
    p = np.asarray(classes.proportions)
    largest = int(np.argmax(p))

    def at(odds: float) -> tuple[Objective, Orbits]:
        varied = with_majority(classes, odds / (1 + odds))
        orbits = loss.orbits(varied.proportions, varied.class_counts)
        return loss.objective(orbits), orbits

    others = np.delete(p, largest)
    low = float(others.max() / others.sum()) * (1 + 1e-6)
    partial = _geometric(low, 1e3, PARTIAL_SCAN)
    return Path("majority", at, _geometric(low, MOST_ODDS, SCAN), partial, float(p[largest] / others.sum()))


def _over_imbalance(loss: Loss, classes: Classes) -> Path:
    p = np.asarray(classes.proportions)

    def at(ratio: float) -> tuple[Objective, Orbits]:
        varied = stretched(classes, ratio)
        orbits = loss.orbits(varied.proportions, varied.class_counts)
        return loss.objective(orbits), orbits

    partial = _geometric(LEAST_RATIO, 1e3, PARTIAL_SCAN)
    return Path("imbalance", at, _geometric(LEAST_RATIO, MOST_ODDS, SCAN), partial, float(p.max() / p.min()))


def threshold(problem: Threshold) -> ThresholdReport:
    """Answer the question of :class:`Threshold`."""
    loss = loss_of(problem)
    if isinstance(loss, ClassifierLoss):
        return classifier_threshold(problem, loss)
    path = path_over(problem.over, loss, Classes(problem.proportions, problem.class_counts))
    objective, orbits = path.at(path.partial[0])
    names = problem.class_names
    found: list[Change[bool]] = []
    if objective.below is not None:
        raise InputError(
            "this loss is not convex, so no certificate decides where collapse is optimal; geomsolve sweep searches",
            field="loss.hardness",
        )
    reason = impossible(objective, orbits, loss)
    possible = reason is None
    if reason is None:
        found = collapse_changes(path.at, path.scan, whole=path.whole)
        if not found:
            reason = unchanged(path)
    nearest = min(found, key=lambda change: _distance(path, change.at), default=None)
    stages = None
    sought = objective.decides and not objective.keeps_apart
    if sought and orbits.n_classes > 2 and orbits.n_orbits <= PARTIAL_ORBITS:
        stages = _stages(path, found, names)
    upwards = nearest is None or nearest.after
    determined = None
    if problem.slack is not None:
        width = SETTLED if problem.width is None else problem.width
        window = settled_window(lambda t: loss.replace(temperature=t).objective, orbits, problem.slack, width)
        determined = {
            "over": problem.over,
            "value": window.low,
            "until": window.high,
            "slack": problem.slack,
            "width": width,
            "pair": [names[a] for a in window.pair],
            "at": window.at,
            "widest": window.width,
            "complete": all_asked(orbits),
        }
    collapsed = _collapsed_now(path) if objective.decides and has_majority(orbits) else False
    return ThresholdReport(
        problem=understood(problem, loss=loss.written),
        names=names,
        proportions=problem.proportions,
        over=problem.over,
        threshold=None
        if nearest is None
        else {"over": problem.over, "value": path.value(nearest.at), "unit": UNITS[problem.over]},
        reason=reason,
        collapsed_above=None if nearest is None else nearest.after,
        changes=[{"value": path.value(change.at), "collapsed_above": change.after} for change in found],
        collapsed=collapsed,
        possible=possible,
        current=path.value(path.current),
        searched={"low": path.value(path.scan[0]), "high": path.value(path.scan[-1])},
        path=stages,
        merging=_formed(stages, upwards) if stages is not None else [_others(names, orbits)] if found else [],
        assumption=loss.assumption(orbits) or None,
        given=problem.over in ("majority", "imbalance") or problem.over in problem.loss.parameters,
        determined=determined,
        remedy=remedy(problem, loss, orbits) if collapsed else None,
        expectation=_expectation(path, [change.at for change in found] or [path.current]),
    )


def _expectation(path: Path, places: Sequence[float]) -> str | None:
    """'ratio' where at one of the ``places`` a ratio stands for a mean over batches, else 'exact'; None for no mean."""
    found = {path.at(x)[0].expectation for x in places}
    return max(found) or None


def validate(problem: Threshold) -> None:
    """InputError for what the loss knows to be wrong, without looking for a threshold."""
    loss = loss_of(problem)
    if isinstance(loss, ClassifierLoss):
        validate_classifiers(problem, loss)
        return
    path = path_over(problem.over, loss, Classes(problem.proportions, problem.class_counts))
    path.at(path.scan[0])


def impossible(objective: Objective, orbits: Orbits, loss: Loss) -> str | None:
    """Why full minority collapse cannot occur at all, or None."""
    if orbits.n_classes == 2:
        return (
            "two classes stand at opposite points whatever their shares; there is no second small class to merge with"
        )
    if objective.degenerate:
        return objective.degenerate
    if objective.keeps_apart:
        return objective.keeps_apart
    if not objective.smooth:
        return (
            f"{loss.name} charges nothing below cosine 1 - margin, so two smaller classes that share a point can move "
            "apart and save, at no cost against the largest class"
        )
    if not has_majority(orbits):
        return "the largest classes have equal shares, so no single class stands against all others"
    return None


def unchanged(path: Path) -> str:
    """That collapse is, or is not, optimal wherever along the path it was looked at, which is not everywhere."""
    low, high = path.value(path.scan[0]), path.value(path.scan[-1])
    where = "all" if collapse_is_optimal(*path.at(path.scan[0])) else "none of the"
    names = {"majority": "majority shares", "batch": "batch sizes", "negatives": "numbers of negatives"}
    name = names.get(path.over, "ratios" if path.over == "imbalance" else "temperatures")
    return f"collapse is optimal at {where} {len(path.scan)} {name} looked at, from {low:.4g} to {high:.7g}"


def _collapsed_now(path: Path) -> bool | None:
    """Whether the problem as given is collapsed; None where it has a tie for the largest class."""
    objective, orbits = path.at(path.current)
    return collapse_is_optimal(objective, orbits) if has_majority(orbits) else False


def _distance(path: Path, x: float) -> float:
    """How far x is from the problem as given, in the logarithm; inf counts as one more step after the last number."""
    return abs(log(min(x, 2 * MOST_WHOLE)) - log(min(path.current, 2 * MOST_WHOLE)))


def _others(names: tuple[str, ...], orbits: Orbits) -> list[str]:
    return [name for name, g in zip(names, orbits.index, strict=True) if g > 0]


def _stages(path: Path, found: list[Change[bool]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The groups of classes that share a point, from which value on; ``found`` are the changes of full collapse."""
    orbits = path.at(path.partial[0])[1]
    sides = {x for change in found for x in ((change.at - 1, change.at) if path.whole else _sides(change.at))}
    scan = sorted({*path.partial, *(x for x in sides if x >= path.scan[0])})
    stages: list[dict[str, Any]] = []
    for x, merger in merging_path(path.at, scan, whole=path.whole):
        groups = [[names[a] for a in np.flatnonzero(np.isin(orbits.index, group))] for group in merger]
        stages.append({"from": path.value(x) if stages else None, "groups": groups})
    return stages


def _sides(x: float) -> tuple[float, float]:
    return x / 1.001, x * 1.001


def _formed(stages: list[dict[str, Any]], upwards: bool) -> list[list[str]]:
    """Groups in the order in which they first form, along the path or against it."""
    formed: list[list[str]] = []
    for stage in stages if upwards else reversed(stages):
        formed += [group for group in stage["groups"] if group not in formed]
    return formed
