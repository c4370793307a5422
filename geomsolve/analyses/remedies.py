"""What sampling the classes otherwise would do for small classes that have collapsed: quick answers, each certified.

A class sampler draws class a in proportion to p_a^alpha: alpha = 0 (``balanced``) all classes alike, alpha = 1/2
(``sqrt``) in between.  Each is one forward solve.  ``geomsolve advise`` compares every change.

Symbols: p ``proportions``, alpha the sampler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import GeomsolveError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import angle_degrees
from geomsolve.gram.types import FloatArray
from geomsolve.losses import Loss
from geomsolve.questions.advise import Advise
from geomsolve.questions.base import LossProblem
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.spelled import command_line
from geomsolve.solvers.choose import solve_objective

SAMPLERS = ("balanced", "sqrt")
"""Class samplers that are common, the stronger one first."""

MOST_ORBITS = 300
"""Distinct proportions up to which the samplers are tried unasked."""

EQUAL = 1e-9
"""Relative difference of proportions that counts as none."""


def smaller_orbits(orbits: Orbits) -> NDArray[np.bool_]:
    """Whether each orbit (m,) is of smaller classes: less frequent than the largest."""
    smaller: NDArray[np.bool_] = orbits.proportions < orbits.proportions.max() * (1 - EQUAL)
    return smaller


def largest_cosine(orbits: Orbits, cosines: FloatArray, *, smaller: bool) -> float | None:
    """The largest cosine between two classes, or between two of the smaller ones; None where there are no two."""
    entries = orbits.pairs > 0
    if smaller:
        kept = smaller_orbits(orbits)
        entries = entries & np.outer(kept, kept)
    return float(cosines[entries].max()) if entries.any() else None


@dataclass(frozen=True)
class Remedy:
    """What helps collapsed classes: ``tried`` are {sampler, minority_angle_deg, certified}, best first.

    ``command`` asks about every change.
    """

    tried: tuple[dict[str, Any], ...]
    command: str


def remedy(problem: ClassProblem, loss: Loss, orbits: Orbits) -> Remedy:
    """What the common samplers do for the classes of ``problem``, of which some share a point at the optimum."""
    tried: list[dict[str, Any]] = []
    for name in SAMPLERS if "sampler" in loss.takes() and orbits.n_orbits <= MOST_ORBITS else ():
        try:
            changed = loss.replace(sampler=loss.takes()["sampler"].parse(name))
            grouped = changed.orbits(problem.proportions, problem.class_counts)
            answer = solve_objective(changed.objective(grouped), grouped)
        except GeomsolveError:
            continue
        closest = largest_cosine(grouped, answer.solution.cosines, smaller=True)
        if closest is not None and answer.certificate.certified:
            tried.append({"sampler": name, "minority_angle_deg": angle_degrees(closest), "certified": True})
    tried.sort(key=lambda found: -found["minority_angle_deg"])
    assert isinstance(problem, LossProblem)
    given = {
        name: getattr(problem, name) for name in (*problem.SOURCES, "names", "loss", "tolerance", "seed", "solver")
    }
    return Remedy(tuple(tried), command_line(Advise(**given)))
