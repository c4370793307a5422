"""The modality gap of the optimum, its range over all optima, and what it costs to force one.

What all optima have in common decides how the range is found.  Where the floor of the loss is reached they are all
vectors with the ideal cosines: two semidefinite programs.  Where the optimum is the only one, there is nothing to ask.
Else the loss is tilted towards a larger and a smaller gap (``proof/modality_gap.py``), as it is to force one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.analyses.attainable import Attained, ideal_cosines
from geomsolve.gram.paired import PairedGram
from geomsolve.objectives.cross import CrossObjective, Joint
from geomsolve.pair_losses import PairLoss
from geomsolve.proof.modality_gap import (
    CURVE,
    MEETS,
    Forced,
    GapProblem,
    GapRange,
    Solve,
    ends,
    forced,
    optimal_range,
    prices,
)
from geomsolve.proof.paired_uniqueness import is_only_optimum
from geomsolve.report import Proof
from geomsolve.solvers.attainable import gap_range
from geomsolve.solvers.leaning import solve_leaning

MOST = 48
"""Kinds of points up to which a gap is forced."""

ASKED = 12
"""Kinds of points up to which the loss is tilted for the range of the gap, without being asked."""

SETTLED = 1e-9
"""Relative gap of the proof at which an optimum is looked at as one."""

ROUNDING = 1e-14
"""g^2 that is 0 up to rounding."""

DRAWN = 8
"""Kinds of points up to which geometries are added to a curve of prices; of more, it is drawn of so many at least."""


@dataclass(frozen=True)
class ModalityGap:
    """``value`` of the optimum that is shown.  No optimum has a gap outside [``low``, ``high``], which is proven; None
    where that was not worked out.  ``exact``: the range is tight.

    ``forced`` to at least this, the loss rises by ``price`` nats, and by no less than ``at_least``; ``curve`` are pairs
    of a gap and its price.
    """

    value: float
    low: float | None
    high: float | None
    exact: bool
    forced: float | None = None
    price: float | None = None
    at_least: float | None = None
    curve: tuple[tuple[float, float], ...] | None = None

    @property
    def width(self) -> float:
        """Of the range; 0 where that was not worked out."""
        return 0.0 if self.low is None or self.high is None else self.high - self.low

    @classmethod
    def alone(cls, joint: Joint, objective: CrossObjective, gram: PairedGram) -> ModalityGap:
        """The gap of a geometry of which nothing else is known."""
        return cls(gap_of(sides_of(joint, objective), gram), None, None, False)


def modality_gap(
    loss: PairLoss,
    joint: Joint,
    objective: CrossObjective,
    optimum: PairedGram,
    attained: Attained,
    proof: Proof,
    *,
    gap: float | None,
    seed: int = 0,
) -> ModalityGap:
    """The modality gap of ``optimum``; ``proof`` says how near it is to be one, and whether it is the only one.

    ``gap`` is to be forced, if it is not None.
    """
    sides = sides_of(joint, objective)
    value = gap_of(sides, optimum)
    if sides.sizes.size != tilted_kinds(joint):
        first, cross, second = joint.paired.lift(optimum)
        joint = joint.apart()
        optimum = PairedGram(np.diag(first), first, np.diag(second), second, joint.paired.reduce_cross(cross))
        sides = sides_of(joint, loss.objective(joint))

    def solve(tilt: float, near: PairedGram) -> PairedGram:
        return solve_leaning(sides, tilt, near, seed=seed)

    found = _range(loss, joint, sides, solve, optimum, attained, proof)
    low, high, exact = (None, None, False) if found is None else (found.low, found.high, found.exact)
    if gap is None:
        return ModalityGap(value, low, high, exact)
    if exact and high is not None and gap <= high - MEETS:  # some optimum has it
        price, known = Forced(gap, 0.0, 0.0), list(ends(sides, optimum))
    else:
        price, known = forced(sides, solve, optimum, gap)
    curve = None
    if len(known) >= DRAWN or sides.sizes.size <= DRAWN:
        if high is not None and high > value:  # what costs nothing
            known = [each for each in known if each.tilt == 0 or each.gap > high]
        curve = tuple(prices(sides, solve, optimum, known, CURVE if sides.sizes.size <= DRAWN else 0))
    return ModalityGap(value, low, high, exact, gap, price.price, price.at_least, curve)


def tilted_kinds(joint: Joint) -> int:
    """Kinds of points where the loss is tilted: those that may be shorter than 1 are taken one by one."""
    paired = joint.paired
    g, h, _ = paired.several
    if np.any(joint.first_given[g] > 1) or np.any(joint.second_given[h] > 1):
        return sum(paired.points)
    return paired.n_first + paired.n_second


def gap_of(sides: GapProblem, gram: PairedGram) -> float:
    """The modality gap of a geometry; 0 where it is rounding."""
    square = sides.square(gram)
    return float(np.sqrt(square)) if square > ROUNDING else 0.0


def sides_of(joint: Joint, objective: CrossObjective) -> GapProblem:
    """The two sides with the weights of their points; those that stand for several given ones may be shorter than 1."""
    given = np.concatenate([joint.first_given, joint.second_given])
    return GapProblem(objective, joint.paired, np.concatenate([joint.first, -joint.second]), given > 1)


def _range(
    loss: PairLoss,
    joint: Joint,
    sides: GapProblem,
    solve: Solve,
    optimum: PairedGram,
    attained: Attained,
    proof: Proof,
) -> GapRange | None:
    ideal = loss.ideal(joint)
    if attained.reached and ideal is not None:
        cosines = ideal_cosines(loss, ideal)
        low, high, exact = gap_range(
            joint.paired, cosines, sides.centre, short=sides.short.astype(float), loose=ideal.bias is None
        )
        return GapRange(float(np.sqrt(max(low, 0.0))), float(np.sqrt(min(max(high, 0.0), 4.0))), exact)
    settled = proof.gap <= SETTLED * max(1.0, abs(proof.value)) and not sides.short.any() and proof.unique is not False
    if settled and (proof.unique or is_only_optimum(sides.objective, joint.paired, optimum, proof.gap)):
        value = gap_of(sides, optimum)
        return GapRange(value, value, True)
    return optimal_range(sides, solve, optimum) if sides.sizes.size <= ASKED else None
