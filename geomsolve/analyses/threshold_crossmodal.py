"""Where along a path do two sides coincide, move apart or collapse?  Decided by the certificate at every point.

The collapsed states are known in closed form, and the best geometry whose sides coincide is one program of one side;
which of them is optimal is the sign of an eigenvalue (``proof/paired_states.py``), and where that changes is located
by bisection.  The problem of two sides itself is never solved.

    temperature   the loss's own parameter
    bias          that of SigLIP, added to the logit; the path runs over e^bias
    noise         the part of pairs with a random text; the path runs over noise / (1 - noise)
    classes       equally frequent classes, whole numbers
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, inf, log
from typing import Any

import numpy as np

from geomsolve.analyses.crossmodal import joint_of
from geomsolve.analyses.named import pair_loss_of
from geomsolve.analyses.threshold_crossmodal_report import UNITS, ThresholdCrossmodalReport
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.objectives.cross import Joint
from geomsolve.objectives.expectation import COLDEST
from geomsolve.objectives.tied import can_be_tied, tied_cross, tied_orbits
from geomsolve.pair_losses import PairLoss
from geomsolve.proof.collapse import TEMPERATURES
from geomsolve.proof.crossings import Change, changes
from geomsolve.proof.paired_states import collapsed, constant, is_optimal, is_settled, simplex_margin
from geomsolve.questions.threshold_crossmodal import ThresholdCrossmodal
from geomsolve.report import understood
from geomsolve.solvers.two_sides import tied_optimum

SCAN = 49
"""Points of a continuous path between which a change is looked for."""

EVERY, MOST_CLASSES = 24, 2**20
"""Numbers of classes up to which every one is looked at, and up to which any is."""

FARTHEST = 600.0
"""Size of a bias up to which is looked: its exponential is a number."""

BESIDE = 10.0
"""How far the path of a bias reaches beyond where pulls and pushes are alike."""

NOISE_ODDS = (1e-6, 1e6)

CLOSE = 1e-11
"""How near the program of one side must come to the optimum, in eigenvalues, for its sides to coincide there."""

BRIEF = 1e-7
"""States that last for less than this part of the path are rounding between two others."""

EXPRESSED = "expressed"
"""The state 'tied', where the loss is that of free logits, and points that do not coincide have it, too."""

SAME_LOGIT = 1e-12
"""Part of the largest difference of logits that is rounding."""

UNKNOWN = "not settled"
"""The state where forces cancel to their rounding."""

SIMPLEX = 1e-7
"""Cosines this close to those of the regular simplex are them."""


@dataclass(frozen=True)
class SidesPath:
    """``at(x)`` is the problem at x and ``value(x)`` x as a user states it; ``current``, its x as given, or None."""

    at: Callable[[float], tuple[PairLoss, Joint]]
    value: Callable[[float], float]
    scan: tuple[float, ...]
    current: float | None
    whole: bool = False


def path_of(problem: ThresholdCrossmodal, loss: PairLoss) -> SidesPath:
    """The path of ``over``; :class:`InputError` where the loss or the problem has no such thing."""
    over = problem.over
    if not loss.convex:
        raise InputError(
            f"{loss.name} is not convex, so that no change of state is proven; geomsolve sweep searches along a range",
            field="loss.name",
        )
    if over == "classes":
        return over_classes(loss, problem.noise or 0.0)
    joint = joint_of(problem, loss)
    if over == "noise":
        if problem.pairs is not None:
            raise InputError("noise is for classes; pairs have their weights as given", field="over")
        orbits = Orbits.of(problem.proportions, problem.class_counts)

        def noise_of(odds: float) -> float:
            return 1.0 if odds == inf else odds / (1 + odds)

        def noisy(odds: float) -> tuple[PairLoss, Joint]:
            return loss, Joint.classes(orbits, noise_of(odds))

        now = problem.noise or 0.0
        return SidesPath(noisy, noise_of, geometric(*NOISE_ODDS), now / (1 - now) if now < 1 else inf)
    if over not in loss.takes():
        raise InputError(
            f"the loss {loss.name} has no {over}; it takes {', '.join(loss.takes())}, and there are noise and classes",
            field="over",
        )
    given = loss.parameters()[over]
    if over == "temperature":

        def heated(x: float) -> tuple[PairLoss, Joint]:
            return loss.replace(temperature=x), joint

        low, high = TEMPERATURES
        low = low if loss.parameters().get("batch") is None else max(low, COLDEST)
        return SidesPath(heated, lambda x: x, geometric(low, high), given)

    def biased(x: float) -> tuple[PairLoss, Joint]:
        return loss.replace(bias=log(x)), joint

    # below, no push is felt beside the pull in doubles; above, every side is at one point
    scale = 1 / loss.parameters()["temperature"]
    ends = -BESIDE - scale / 2, BESIDE + scale + log(max(joint.paired.points))
    low, high = (min(max(b, -FARTHEST), FARTHEST) for b in ends)
    scan = tuple(exp(b) for b in np.linspace(low, high, 2 * SCAN + 1))
    return SidesPath(biased, log, scan, exp(min(max(given, -FARTHEST), FARTHEST)))


def over_classes(loss: PairLoss, noise: float) -> SidesPath:
    """Over the number of equally frequent classes."""

    def alike(k: float) -> tuple[PairLoss, Joint]:
        return loss, Joint.classes(Orbits.equal(int(k)), noise)

    beyond = [round(x) for x in np.geomspace(EVERY, MOST_CLASSES, 30)][1:]
    scan = (*(float(k) for k in range(2, EVERY + 1)), *(float(k) for k in beyond))
    return SidesPath(alike, lambda x: int(x), scan, None, whole=True)


def geometric(low: float, high: float) -> tuple[float, ...]:
    """Evenly in the logarithm."""
    return tuple(np.geomspace(low, high, SCAN).tolist())


def expresses(loss: PairLoss, joint: Joint) -> bool:
    """Whether points that coincide have the logits that are best of all, with room: then other points have them, too.

    Of a loss without a bias these are C/tau plus a constant, so C_ij = 1 - tau (L_ii - L_ij), one L_ii for all.  If C
    has no eigenvalue 0, [[C, C - d], [C - d, C]] is that of points as good whose partners have the cosine 1 - d.
    """
    ideal, orbits = loss.ideal(joint), tied_orbits(joint)
    if ideal is None or not ideal.finite or ideal.bias is not None:
        return False
    others, own = ideal.logits[:, :-1], ideal.logits[:, -1]
    drop = np.where(orbits.pairs > 0, own[:, None] - others, 0.0)
    if drop.min() < 0 or np.ptp(own) > SAME_LOGIT * drop.max():
        return False
    temperature = loss.parameters()["temperature"]
    least = orbits.gram_blocks(1 - temperature * drop).min_eigenvalue()
    return bool(least > SAME_LOGIT * temperature * drop.max())


def state_of(loss: PairLoss, joint: Joint) -> str:
    """The state of two sides at the optimum, as the report has it."""
    objective, paired = loss.objective(joint), joint.paired
    if is_optimal(objective, paired, constant(paired, 1.0)):
        return "total collapse"
    if is_optimal(objective, paired, constant(paired, -1.0)):
        return "antipodal"
    if not can_be_tied(paired):
        return "general"
    orbits = tied_orbits(joint)
    largest = int(np.argmax(orbits.proportions))
    if (
        orbits.n_classes > 2
        and orbits.sizes[largest] == 1
        and is_optimal(objective, paired, collapsed(paired, largest))
    ):
        return "minority collapse"
    simplex = np.full((orbits.n_orbits, orbits.n_orbits), simplex_cosine(orbits.n_classes))
    if orbits.n_orbits == 1 and objective.gradient(tied_cross(simplex))[0, 0] >= 0:  # of all tied the simplex is best
        return "regular simplex" if is_optimal(objective, paired, tied_cross(simplex)) else "apart"
    if expresses(loss, joint):
        return EXPRESSED
    best = tied_optimum(objective, joint, thorough=True)
    if best is None:
        return UNKNOWN
    if not is_optimal(objective, paired, tied_cross(best.cosines), tolerance=CLOSE):
        return "apart"
    if not is_settled(objective, paired, tied_cross(best.cosines)):
        return UNKNOWN
    if orbits.n_orbits == 1:
        return "tied"
    near = bool(np.abs(best.cosines - simplex)[orbits.pairs > 0].max() <= SIMPLEX)
    return "regular simplex" if near else "tied"


def threshold_crossmodal(problem: ThresholdCrossmodal) -> ThresholdCrossmodalReport:
    """Answer the question of :class:`ThresholdCrossmodal`."""
    loss = pair_loss_of(problem)
    path = path_of(problem, loss)
    state = cache(lambda x: state_of(*path.at(x)))
    scan = settled(state, path.scan)
    found = merged(changes(state, scan, whole=path.whole)) if scan else []
    listed = [{"value": path.value(c.at), "before": named(c.before), "after": named(c.after)} for c in found]
    begin = found[0].before if found else state(scan[0]) if scan else UNKNOWN
    nearest = min(found, key=lambda change: distance(path, change), default=None)
    low, high = (path.value((scan or path.scan)[end]) for end in (0, -1))
    first = None
    if nearest is not None:
        first = {
            "over": problem.over,
            "value": path.value(nearest.at),
            "unit": UNITS[problem.over],
            "before": named(nearest.before),
            "after": named(nearest.after),
            "open": {"before": nearest.before == EXPRESSED, "after": nearest.after == EXPRESSED},
        }
    stages = [(None, begin), *((path.value(c.at), c.after) for c in found)]
    here = None if path.current is None else state(path.current)
    reason = f"the state is {named(begin)} at all {len(scan)} places looked at, from {low:.4g} to {high:.7g}"
    collapse = ("total collapse", "antipodal", "minority collapse")
    changed = nearest is not None and (nearest.before in collapse) != (nearest.after in collapse)
    return ThresholdCrossmodalReport(
        problem=understood(problem, loss=loss.written),
        over=problem.over,
        nouns=(loss.first_noun, loss.second_noun),
        threshold=first,
        reason=None if first else reason,
        collapsed_above=nearest.after in collapse if nearest is not None and changed else None,
        changes=listed,
        path=[{"from": x, "state": named(each), "open": each == EXPRESSED} for x, each in stages],
        state=None if here is None else named(here),
        open=here == EXPRESSED,
        current=None if path.current is None else path.value(path.current),
        searched={"low": low, "high": high},
        exact=exact_number(loss, problem, found),
        given=problem.noise is not None if problem.over == "noise" else problem.over in problem.loss.parameters,
    )


def named(state: str) -> str:
    """A state as the report has it."""
    return "tied" if state == EXPRESSED else state


def settled(state: Callable[[float], str], scan: Sequence[float]) -> list[float]:
    """The part of a scan without its ends at which the state is not settled."""
    known = [i for i, x in enumerate(scan) if state(x) != UNKNOWN]
    return list(scan[known[0] : known[-1] + 1]) if known else []


def merged(found: list[Change[str]]) -> list[Change[str]]:
    """Changes without the states between two of them that last for no more than rounding."""
    kept: list[Change[str]] = []
    for change in found:
        if kept and change.at <= kept[-1].at * (1 + BRIEF):
            change = Change(change.at, kept.pop().before, change.after)
        if change.before != change.after:
            kept.append(change)
    return kept


def exact_number(loss: PairLoss, problem: ThresholdCrossmodal, found: list[Change[str]]) -> float | None:
    """Over classes: where the formula of the simplex changes its sign, as a real number; None where it is no formula
    of this loss, or the simplex does not part."""
    parting = [c for c in found if c.before == "regular simplex" and c.after == "apart"]
    settings: dict[str, Any] = loss.parameters()
    if problem.over != "classes" or problem.noise or not parting or "bias" not in settings or settings.get("batch"):
        return None
    if settings["sampling"] != "supervised":
        return None
    from scipy.optimize import brentq  # here, since only this needs it

    at = parting[0].at
    scale, bias = 1 / settings["temperature"], settings["bias"]
    return float(brentq(lambda k: simplex_margin(k, scale, bias), max(at - 1, 2.0 + 1e-9), at, xtol=1e-12, rtol=1e-14))


def distance(path: SidesPath, change: Change[str]) -> float:
    """How far a change is from the problem as given, in the logarithm; from the start, where it is not given."""
    here = path.scan[0] if path.current is None else min(max(path.current, path.scan[0]), path.scan[-1])
    return abs(log(change.at) - log(here))


def validate(problem: ThresholdCrossmodal) -> None:
    """Raise :class:`InputError` for what the loss or the points make impossible."""
    path = path_of(problem, pair_loss_of(problem))
    loss, joint = path.at(path.scan[-1])
    loss.objective(joint)
