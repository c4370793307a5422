"""Losses that are not convex: the best of several local searches, beside a bound that a convex loss below it proves.

Nothing says that the best point found is the optimum.  What is proven is how much lower an optimum could be: the
distance to the certified optimum of a convex loss that is nowhere above this one.
"""

from __future__ import annotations

import time

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import TOLERANCE
from geomsolve.solvers.base import Answer
from geomsolve.solvers.manifold import INWARD, interior, solve_manifold

STARTS = 8
"""Local searches: from the optimum of the convex loss, from near the regular simplex, and from random points."""


def random_start(orbits: Orbits, rng: np.random.Generator) -> FloatArray:
    """Orbit cosines (m, m) of random directions, one a class."""
    points = rng.standard_normal((orbits.n_classes, orbits.n_classes))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return orbits.reduce(points @ points.T)


def solve_locally(
    objective: Objective, orbits: Orbits, convex: Answer, *, tolerance: float = TOLERANCE, seed: int = 0
) -> Answer:
    """The best point of several local searches for ``objective``; ``convex`` answers its ``below``, with the bound."""
    began = time.perf_counter()
    rng = np.random.default_rng(seed)
    middle = interior(orbits)
    starts = [(1 - INWARD) * convex.solution.cosines + INWARD * middle, middle]
    starts += [random_start(orbits, rng) for _ in range(STARTS - len(starts))]
    found = [solve_manifold(objective, orbits, start=start) for start in starts]
    values = [objective.value(solution.cosines) for solution in found]
    best = int(np.argmin(values))
    value = values[best]
    proof = convex.certificate.at(value)
    agree = sum(v <= value + tolerance * max(1.0, abs(value)) for v in values)
    reason = f"the loss is not convex: the best of {len(starts)} local searches, reached by {agree} of them"
    return Answer(found[best], proof, reason, convex.seconds + time.perf_counter() - began)
