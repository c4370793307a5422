"""Can unit vectors express the pairs exactly, and up to which temperature?  See ``proof/attainable.py``.

The loss is never below its ``floor``, what it would be if logits were free (``objectives/ideal.py``).  Vectors of unit
length reach it up to the temperature tau* and no further: there cosines would have to leave [-1, 1], or be those of no
points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.errors import SolverError
from geomsolve.objectives.cross import Joint
from geomsolve.objectives.ideal import Ideal
from geomsolve.pair_losses import PairLoss
from geomsolve.proof.attainable import Attainable
from geomsolve.solvers.attainable import largest_temperature

WEIGHTLESS = (
    "some pairs have no weight, so that the loss wants their logits without end: its floor is only approached, as the "
    "temperature goes to 0"
)
OPEN = "the loss leaves open which logits are best, so that this is not worked out"


@dataclass(frozen=True)
class Attained:
    """``floor`` and ``excess`` = how far the optimum lies above it, in nats; None where there is no floor.

    Unit vectors reach the floor up to ``temperature`` and at none above ``at_most``, both proven; where the loss has a
    bias, with the best one, ``bias``, and with the bias as it is up to ``at_bias``.  None with a ``reason`` where there
    is no such temperature, or it is not known.  ``reached``: whether they do here, which is proven.
    """

    temperature: float | None = None
    at_most: float | None = None
    bias: float | None = None
    at_bias: float | None = None
    floor: float | None = None
    excess: float | None = None
    reached: bool = False
    certified: bool = False
    reason: str = ""


def attainable(loss: PairLoss, joint: Joint, value: float) -> Attained:
    """Whether the pairs can be expressed exactly; ``value`` is the loss of the optimum in nats."""
    ideal = loss.ideal(joint)
    if ideal is None:
        return Attained(reason=OPEN)
    excess = max(0.0, value - ideal.floor)
    if not ideal.finite:
        return Attained(floor=ideal.floor, excess=excess, reason=WEIGHTLESS)
    try:
        best, here = _temperatures(ideal, joint)
    except SolverError as error:
        return Attained(floor=ideal.floor, excess=excess, reason=str(error))
    return Attained(
        best.temperature,
        best.at_most,
        None if ideal.bias is None else -best.shift,
        None if ideal.bias is None else here.temperature,
        ideal.floor,
        excess,
        bool(loss.parameters()["temperature"] <= here.temperature),
        best.certified,
    )


def _temperatures(ideal: Ideal, joint: Joint) -> tuple[Attainable, Attainable]:
    """With the best constant, and with that of the loss."""
    best = largest_temperature(joint.paired, ideal.logits)
    return best, best if ideal.bias is None else largest_temperature(joint.paired, ideal.logits, shift=-ideal.bias)


def ideal_cosines(loss: PairLoss, ideal: Ideal) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The cosines (m_x, m_y + 1) that give a loss its ideal logits, up to a constant where it leaves one open."""
    return np.asarray(loss.parameters()["temperature"] * (ideal.logits - (ideal.bias or 0.0)))
