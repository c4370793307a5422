"""SupCon on random batches of one view a sample, where an anchor whose class came only once has no positive.

    F = sum_a p_a [ E log Y_a - (1 - p_a)^{B-1} E(log Y_a | no c_j = a) ],   Y_a = sum_{j < B} e^{t_{a c_j}}:

such an anchor contributes 0.

Symbols: B ``batch``.
"""

from __future__ import annotations

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Curvature, Objective
from geomsolve.objectives.expectation import LogExpectation
from geomsolve.objectives.sampling import negative_distribution


class OneView(Objective):
    """Random batches of one view each, where an anchor may lack a positive; see the module."""

    unique_minimiser = False

    def __init__(self, orbits: Orbits, batch: int, temperature: float) -> None:
        p, n = orbits.proportions, orbits.sizes

        def expectation(chance: FloatArray, own: FloatArray, mass: FloatArray) -> LogExpectation:
            return LogExpectation(
                chance,
                own,
                mass,
                base=0.0,
                factor=1.0,
                negatives=batch - 1,
                scale=1 / temperature,
                unique_minimiser=False,
            )

        self.all = expectation(*negative_distribution(orbits, "iid"), n * p)
        self.alone = expectation(*negative_distribution(orbits, "supervised"), n * p * (1 - p) ** (batch - 1))

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, slope = self.all.evaluate(cosines)
        less, flatter = self.alone.evaluate(cosines)
        return value - less, slope - flatter

    def curvature(self, cosines: FloatArray) -> Curvature:
        every, alone = self.all.curvature(cosines), self.alone.curvature(cosines)
        return lambda change: every(change) - alone(change)
