"""SupCon with the mean over positives inside the logarithm, L_in.

    l_i = - log( (1/|P|) sum_{p in P} e^{s_ip} / sum_{a != i} e^{s_ia} )
        = log |P| + log( 1 + sum_{n of other classes} e^{s_in} / sum_{p in P} e^{s_ip} )

is not convex in the cosines: it is concave along those of the positives.  But it falls with each of them, which are at
most 1, and at 1 it is what L_out is there, log( sum_{a != i} e^{t_ia} ), t = s - 1/tau.  That is convex in the other
cosines, so that by Jensen's inequality no embedding has a lower mean than collapsed classes can have: F, its optimum
and its collapse are those of ``losses/supcon.py`` in the population limit, and as much proven.  (How samples of one
class gather on the way is another question: L_in hardly pulls at the farther ones.)

Source: Khosla et al. 2020, equation 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import TEMPERATURE
from geomsolve.losses.supcon import SupCon
from geomsolve.objectives.base import Objective
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class SupConIn(Loss):
    """SupCon's L_in; see the module."""

    name: ClassVar[str] = "supcon-in"
    summary: ClassVar[str] = "SupCon with the mean over positives inside the logarithm: the same optimum as supcon"
    source: ClassVar[str] = "Khosla et al. 2020, L_in"
    also: ClassVar[tuple[str, ...]] = ("l-in", "supcon-l-in")
    needs_classes: ClassVar[bool] = True

    temperature: float = parameter(TEMPERATURE, 0.1)

    @property
    def outside(self) -> SupCon:
        """SupCon with the mean outside, of the same optimum."""
        return SupCon(self.temperature)

    def objective(self, orbits: Orbits) -> Objective:
        return self.outside.objective(orbits)

    @property
    def counted_off(self) -> str:
        return self.outside.counted_off

    def notes(self) -> tuple[str, ...]:
        return ("at the optimum L_in is L_out: where the positives share a point both means are the same",)
