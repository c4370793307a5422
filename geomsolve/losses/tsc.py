"""Targeted supervised contrastive learning (TSC): k positives, and a pull of every class to a target of its own.

For an anchor i of class a, with k positives and its own other view, and the target u_a of its class,

    l_i = - 1/(k + 2) [ sum over the k + 1 positives j of log( e^{s_ij} / Z_i ) + w log( e^{s(z_i, u_a)} / Z_i ) ],

w the ``target_weight``, Z_i the sum over the queue and the targets: so the published code, whose --K is k and whose
--tw is w.  The targets are the vertices of a regular simplex, assigned to classes in the best way.  In the population
limit, a queue of n that holds many more samples than there are classes, less (k + 1 + w)/(k + 2) log n,

    F = (k + 1 + w)/(k + 2) sum_a p_a log sum_b p_b e^{t_ab} + w/(k + 2) sum_a p_a (1 - z_a . u_a) / tau.

That is convex in the Gram matrix of class means and targets, of which the targets' block is fixed, and with the targets
placed as well as can be it is convex in the cosines between classes alone (``objectives/targets.py``).  By convexity
nothing is lost where samples share their class's mean, brought to length 1 in a dimension of its own.  Equal classes
reach every target.  Unequal ones do not, however large w, as Z_i stands against the target as well; but no two of them
ever merge.

Source: Li et al. 2022.  Symbols: k ``positives``, w ``target_weight``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register
from geomsolve.losses.parameters import POSITIVES, TARGET_WEIGHT, TEMPERATURE
from geomsolve.objectives.base import Objective
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.targets import ToTargets
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class TSC(Loss):
    """Targeted supervised contrastive loss; see the module."""

    name: ClassVar[str] = "tsc"
    summary: ClassVar[str] = "k positives, and every class drawn to a vertex of a fixed regular simplex"
    source: ClassVar[str] = "Li et al. 2022 (targeted supervised contrastive learning), long queue"
    also: ClassVar[tuple[str, ...]] = ("targeted-supcon", "targeted-supervised-contrastive")
    needs_classes: ClassVar[bool] = True

    temperature: float = parameter(TEMPERATURE, 0.1)
    positives: int = parameter(POSITIVES, 6)
    target_weight: float = parameter(TARGET_WEIGHT, 0.2)

    @property
    def shares(self) -> tuple[float, float]:
        """How much the logarithm of the sum counts in the loss of an anchor, and how much its target."""
        terms = self.positives + 2
        return (self.positives + 1 + self.target_weight) / terms, self.target_weight / terms

    def notes(self) -> tuple[str, ...]:
        return (
            f"a queue of n embeddings adds {self.shares[0]:.4g} log n to the loss; it is taken to be much longer than "
            "there are classes, so that the targets in its denominators do not count",
        )

    def target_dimension(self, orbits: Orbits) -> int:
        return orbits.n_classes - 1

    def objective(self, orbits: Orbits) -> Objective:
        p, scale = orbits.proportions, 1 / self.temperature
        crowd, pull = self.shares
        base = LogSum(orbits.others * p, p, crowd * orbits.sizes * p, scale, unique_minimiser=True)
        return ToTargets(base, orbits, pull * scale)
