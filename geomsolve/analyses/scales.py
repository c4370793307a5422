"""A question about levels, understood: which loss, how it meets its samples, and what its levels are multiplied by.

    level in the user's scale = factor * level in nats an anchor,
    factor = temperature / base temperature, where there is one, times the anchors of a batch, where these are summed

Where every sample is its own class there are as many classes as samples that an anchor sees.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from geomsolve.analyses.named import loss_of
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.types import FloatArray
from geomsolve.losses import REGISTRY, Alias, Loss, aliases
from geomsolve.objectives.cross_entropy import Peeled
from geomsolve.objectives.levels import Optimum, Scale, Training
from geomsolve.objectives.two_towers import TwoTowers
from geomsolve.proof.certificate import Certificate, certify
from geomsolve.proof.two_towers import certify_pairs
from geomsolve.questions.levels import Levels
from geomsolve.report import Effort
from geomsolve.solvers.choose import refuse_oversize, solve_objective
from geomsolve.solvers.nuclear import solve_peeled
from geomsolve.solvers.two_towers import solve_pairs

VIEWS = 2
"""Views of a sample, where neither the user nor the name of the loss says how many."""

LONELY = 1e-4
"""Probability that an anchor lacks a positive from which on the reductions mean and mean-nonzero are told apart."""

Reached = tuple[Certificate, Effort, FloatArray | None]
"""The proof of an optimum, what it took, and its orbit cosines, where it has some."""


def reach(optimum: Optimum, solver: str, tolerance: float, start: FloatArray | None = None) -> Reached:
    """The optimum with its proof: the regular simplex where classes are equal and that proves optimal, else solved."""
    objective, orbits = optimum.objective, optimum.orbits
    began = time.perf_counter()

    def closed(proof: Certificate, reason: str, cosines: FloatArray | None = None) -> Reached:
        return proof, Effort("closed form", reason, 0, time.perf_counter() - began), cosines

    if isinstance(objective, TwoTowers):
        on, off = solve_pairs(objective)
        what = "the regular simplex" if on == 1 else f"cosines {on:.6g} within pairs and {off:.6g} across"
        return closed(certify_pairs(objective, on, off, tolerance=tolerance), f"two towers: {what}")
    if isinstance(objective, Peeled):
        peeled = solve_peeled(objective, tolerance=tolerance)
        effort = Effort(peeled.solver, peeled.reason, peeled.iterations, peeled.seconds)
        return peeled.certificate, effort, None
    if orbits.n_orbits == 1 and objective.decides:
        simplex = np.full((1, 1), simplex_cosine(orbits.n_classes))
        proof = certify(objective, orbits, simplex, tolerance=tolerance)
        if proof.certified:
            return closed(proof, "the regular simplex is optimal", simplex)
    answer = solve_objective(objective, orbits, solver=solver, tolerance=tolerance, start=start)
    return answer.certificate, Effort.of(answer), answer.solution.cosines


@dataclass(frozen=True)
class Setting:
    """One setting of a question about levels; ``batch``, ``base_temperature`` and ``replacement`` may differ from what
    the problem says."""

    problem: Levels
    loss: Loss
    alias: Alias | None
    batch: int | None
    base_temperature: float | None
    replacement: str | None

    @classmethod
    def of(cls, problem: Levels) -> Setting:
        """The setting that a problem gives."""
        _, alias = aliases().get(problem.loss.name, (None, None))
        return cls(problem, loss_of(problem), alias, problem.batch, problem.base_temperature, problem.replacement)

    def at(self, name: str, value: float) -> Setting:
        """The same with the batch, the base temperature or a parameter of the loss changed."""
        if name == "batch":
            return replace(self, batch=int(value))
        if name == "base_temperature":
            return replace(self, base_temperature=value)
        return replace(self, loss=self.loss.varied(name, value))

    @property
    def written(self) -> dict[str, Any]:
        """The loss by the name that was asked for, with what is in force; a switch that is off is not."""
        in_force = {key: x for key, x in self.loss.parameters().items() if x is not False}
        return {"name": self.problem.loss.name, **in_force}

    @cached_property
    def training(self) -> Training:
        """How the loss meets its samples."""
        problem = self.problem
        training = Training(
            named=problem.loss.name,
            orbits=self._classes(),
            batch=self.batch,
            views=self._views(),
            instances=problem.instances,
            balanced=problem.instances or problem.classes is not None,
            replacement=self.replacement,
        )
        if self.replacement is not None and ("replacement" not in self.loss.takes() or training.balanced):
            losses = " and ".join(REGISTRY.users("replacement"))
            raise InputError(
                f"it is about random batches of {losses}; give --counts or --props for these, or leave it out",
                field="replacement",
            )
        return training

    @cached_property
    def scale(self) -> Scale:
        """The levels in nats an anchor."""
        return self.loss.levels(self.training)

    @property
    def factor(self) -> float:
        """What levels in nats an anchor are multiplied by."""
        factor, reduction = 1.0, self.problem.reduction
        if self.base_temperature is not None:
            temperature = self.loss.parameters().get("temperature")
            if temperature is None:
                raise InputError(
                    f"the loss {self.loss.name} has no temperature to divide by it", field="base_temperature"
                )
            factor *= temperature / self.base_temperature
        if reduction == "mean-nonzero" and (self.scale.temperature is None or self.loss.averaged != Loss.averaged):
            raise InputError(
                f"{self.problem.loss.name} is a mean over {self.loss.averaged}, none of which lacks a positive here; "
                "take mean or sum",
                field="reduction",
            )
        if reduction == "sum":
            if self.scale.anchors is None and self.batch is not None:
                raise InputError(
                    f"{self.problem.loss.name} is a mean over {self.loss.averaged}, of which not every batch has as "
                    "many; take mean",
                    field="reduction",
                )
            if self.scale.anchors is None:
                raise InputError(
                    f"{self.problem.loss.name} is summed over the anchors of a batch; give its size", field="batch"
                )
            factor *= self.scale.anchors
        return factor

    def _views(self) -> int:
        wanted = self.alias.views if self.alias else None
        if wanted is not None and self.problem.views not in (None, wanted):
            raise InputError(
                f"{self.problem.loss.name} compares the two halves of a pair, each seen once; leave this out",
                field="views",
            )
        return self.problem.views or wanted or VIEWS

    def _classes(self) -> Orbits:
        """The classes of the problem; without any given, one for every sample that an anchor sees."""
        problem = self.problem
        if not problem.instances:
            orbits = self.loss.orbits(problem.proportions, problem.class_counts)
            refuse_oversize(orbits.n_orbits, field=problem.source)
            return orbits
        if self.loss.needs_classes and self.alias is None:
            others = [f"; where every sample is its own class it is --loss {each.name}" for each in self.loss.aliases]
            raise InputError(
                f"{self.loss.name} needs classes: give --classes or --props{''.join(others[:1])}", field="classes"
            )
        return Orbits.equal(self.loss.points(self.batch))
