"""The geometry of non-negative features, as after a ReLU: solved, named, and whether it is the only one.

The program is that of ``solvers/nonnegative.py``, its proof that of ``proof/nonnegative.py``.  Averages of non-negative
features are non-negative, so that classes collapse onto their means as they do without the constraint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, classify
from geomsolve.losses import Loss
from geomsolve.objectives.base import Objective
from geomsolve.proof.nonnegative import frame_is_unique
from geomsolve.proof.uniqueness import optimum_is_unique
from geomsolve.solvers.base import Answer
from geomsolve.solvers.choose import refuse_oversize
from geomsolve.solvers.nonnegative import Nonnegative, solve_nonnegative


@dataclass(frozen=True)
class Held:
    """The answer for classes of ``orbits``, and how it was ``found``; ``limited`` as in :class:`ImbalanceReport`."""

    orbits: Orbits
    found: Nonnegative
    structure: Structure
    rank: int
    unique: bool | None
    limited: bool | None

    @property
    def answer(self) -> Answer:
        return self.found.answer

    @property
    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"exact": self.found.exact, "how": self.found.how, "relaxed_lower_bound": self.found.relaxed}


def hold(loss: Loss, orbits: Orbits, *, solver: str, tolerance: float, seed: int, dim: int | None) -> Held:
    """The best geometry of non-negative features, in at most ``dim`` dimensions if that is given."""
    if dim is not None and dim < orbits.n_classes:
        refuse_oversize(orbits.n_classes, field="dim")
        orbits = orbits.single()
    if loss.target_dimension(orbits):
        raise InputError(f"{loss.name} has targets with coordinates of both signs; leave this out", field="nonnegative")
    objective = loss.objective(orbits)
    found = solve_nonnegative(objective, orbits, solver=solver, tolerance=tolerance, seed=seed, dim=dim)
    cosines, proof = found.answer.solution.cosines, found.answer.certificate
    limited = None if dim is None else found.how in ("relaxation", "local")
    structure = classify(orbits, cosines, proof.gap if proof.certified else 0.0, limited=bool(limited))
    if objective.degenerate:
        structure = replace(structure, kind="degenerate")
    unique = only_one(loss, objective, orbits, found)
    return Held(orbits, found, structure, orbits.rank(cosines, structure.tolerance), unique, limited)


def only_one(loss: Loss, objective: Objective, orbits: Orbits, found: Nonnegative) -> bool | None:
    """Whether the answer is the only optimum among non-negative features; None where that was not determined."""
    if not (found.exact and found.answer.certificate.certified):
        return None
    if objective.degenerate:
        return False
    if found.how == "frame":
        return frame_is_unique(objective, orbits)
    if objective.unique_minimiser:
        return True
    solution = found.answer.solution
    if solution.multipliers is not None:
        return None
    alone = optimum_is_unique(
        objective,
        orbits,
        solution.cosines,
        solution.slopes,
        single=lambda: loss.objective(orbits.single()),
        gap=found.answer.certificate.gap,
    )
    return True if alone else None  # another optimum might have a negative cosine


def refuse_other_ranges(held: Held) -> None:
    """Raise :class:`InputError` where the ranges of cosines are not worked out: away from the orthogonal frame."""
    if held.found.how != "frame":
        raise InputError(
            "with non-negative features ranges are worked out around the orthogonal frame, which is not the optimum "
            "here; leave the slack out",
            field="slack",
        )


def proven_for(assumption: str) -> str:
    """The embeddings that a proof is about, completing 'proven for ...': ``assumption`` is that of the loss."""
    if assumption:
        return f"non-negative features and {assumption}"
    return "non-negative features; those of any sign may go lower"
