"""Which geometry does this loss want for these class proportions?

    minimise F(G)  subject to  G psd, G_aa = 1        (G: cosines between unit class means)

Within-class collapse is a theorem for these losses (convexity and Jensen), so F is a function of G alone.
The problem goes through the orbit reduction (``gram/orbits.py``) to a solver, and the answer carries the
certificate of ``certificate.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.base import Report, jsonable, understood
from geomsolve.analyses.collapse import nearest_collapse_temperature
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, classify
from geomsolve.gram.types import FloatArray
from geomsolve.losses import make_loss
from geomsolve.solvers.choose import refuse_oversize, solve_objective
from geomsolve.spec.imbalance import Imbalance
from geomsolve.uniqueness import optimum_is_unique

FULL_GRAM = 64
"""Classes up to which the K x K Gram matrix is part of the JSON without being asked for."""


@dataclass(frozen=True)
class ImbalanceReport(Report):
    """The optimal geometry and its proof.

    ``orbit_cosines`` (m, m), see :class:`Orbits`; ``value``, ``lower_bound``, ``gap`` in nats; ``unique`` is None
    where it was not determined; ``nearest_threshold`` is the collapse temperature nearest to the one in force.
    """

    command: ClassVar[str] = "imbalance"

    names: tuple[str, ...]
    orbits: Orbits
    orbit_cosines: FloatArray
    value: float
    lower_bound: float
    gap: float
    certified: bool
    unique: bool | None
    rank: int
    structure: Structure
    solver: dict[str, Any]
    nearest_threshold: dict[str, Any] | None

    @property
    def gram(self) -> FloatArray:
        """Cosines between all class means (K, K), in the order of the classes."""
        return self.orbits.lift(self.orbit_cosines)

    @property
    def exit_code(self) -> int:
        return 0 if self.certified else 1

    def groups(self) -> list[list[str]]:
        """Names of the classes that coincide, one list a point."""
        return [[self.names[a] for a in group] for group in self.structure.groups]

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` includes the Gram matrix however many classes there are."""
        plain = super().to_dict(**detail)
        orbits = self.orbits
        p = orbits.proportions[orbits.index]
        cosines = jsonable(self.orbit_cosines)
        for g in np.flatnonzero(orbits.sizes == 1):
            cosines[g][g] = None
        del plain["names"], plain["structure"]["tolerance"]
        plain["classes"] = [
            {"name": name, "proportion": float(p[a]), "orbit": int(orbits.index[a])}
            for a, name in enumerate(self.names)
        ]
        plain["orbits"] = [
            {"size": int(n), "proportion": float(q)} for n, q in zip(orbits.sizes, orbits.proportions, strict=True)
        ]
        plain["orbit_cosines"] = cosines
        plain["structure"]["groups"] = self.groups()
        if full or orbits.n_classes <= FULL_GRAM:
            plain["gram"] = jsonable(self.gram)
        return plain


def imbalance(problem: Imbalance) -> ImbalanceReport:
    """Answer the question of :class:`Imbalance`, with a proof."""
    loss = make_loss(problem.loss.name, problem.loss.parameters)
    orbits = Orbits.of(problem.proportions, problem.class_counts)
    refuse_oversize(orbits.n_orbits, field=problem.source)
    objective = loss.objective(orbits)
    answer = solve_objective(objective, orbits, solver=problem.solver, tolerance=problem.tolerance)
    cosines, proof = answer.solution.cosines, answer.certificate
    structure = classify(orbits, cosines, max(proof.gap, 0.0))
    threshold = nearest_collapse_temperature(loss, orbits) if objective.smooth else None
    return ImbalanceReport(
        problem=understood(
            problem,
            loss={"name": loss.name, **loss.parameters()},
            proportions=problem.proportions,
        ),
        names=problem.class_names,
        orbits=orbits,
        orbit_cosines=cosines,
        value=proof.value,
        lower_bound=proof.lower_bound,
        gap=proof.gap,
        certified=proof.certified,
        unique=optimum_is_unique(loss, objective, orbits, cosines, answer.solution.slopes),
        rank=orbits.rank(cosines, structure.tolerance),
        structure=structure,
        solver={
            "name": answer.solution.name,
            "reason": answer.reason,
            "iterations": answer.solution.iterations,
            "seconds": answer.seconds,
        },
        nearest_threshold=None if threshold is None else {"over": "temperature", "value": threshold},
    )
