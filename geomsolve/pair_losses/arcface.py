"""ArcFace: a softmax of cosines between features and classifiers, with a margin that is added to the own angle.

    F = sum_ij pi_ij [ -cos(theta_ij + m)/tau + log( e^{cos(theta_ij + m)/tau} + sum_{l != j} e^{C_il/tau} ) ]

over features x_i of the class (or label) j, theta_ij their angle; without label noise pi = diag p.  It is not convex
in the cosines: what is best is searched for, and only the bound of ``objectives/angular.py`` is proven.

Symbols: pi ``joint``, tau ``temperature``, m ``margin``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geomsolve.objectives.angular import Angular
from geomsolve.objectives.cross import CrossObjective, Joint
from geomsolve.pair_losses.base import PairLoss, register
from geomsolve.pair_losses.cosine_softmax import refuse_many
from geomsolve.pair_losses.parameters import ANGLE, TEMPERATURE
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class ArcFace(PairLoss):
    """ArcFace; see the module."""

    name: ClassVar[str] = "arcface"
    summary: ClassVar[str] = "margin on the angle; not convex: the best found, with a proven bound beside it"
    source: ClassVar[str] = "Deng et al. 2019 (ArcFace)"
    also: ClassVar[tuple[str, ...]] = ("additive-angular-margin", "aam-softmax", "arc-margin-product")
    first_noun: ClassVar[str] = "feature"
    second_noun: ClassVar[str] = "classifier"

    temperature: float = parameter(TEMPERATURE, 0.1)
    margin: float = parameter(ANGLE, 0.5)

    convex: ClassVar[bool] = False

    @property
    def merges(self) -> bool:
        """A class is told from another that has the same features."""
        return False

    def objective(self, joint: Joint) -> CrossObjective:
        return self.smoothed(joint, 0.0)

    def smoothed(self, joint: Joint, soft: float) -> CrossObjective:
        return self._angular(joint, soft=soft)

    def below(self, joint: Joint) -> CrossObjective:
        return self._angular(joint, chord=True)

    def _angular(self, joint: Joint, *, soft: float = 0.0, chord: bool = False) -> CrossObjective:
        paired = joint.paired
        pi = joint.weights * paired.per_point
        of, label = np.nonzero(pi > 0)
        refuse_many(of.size * pi.shape[1], of.size)
        rest = paired.per_point[of]
        rest[np.arange(of.size), label] -= 1
        mass = (pi * paired.first[:, None])[of, label]
        own = np.ones(of.size)
        return Angular(mass, own, rest, of, label, 1 / self.temperature, self.margin, soft=soft, chord=chord)
