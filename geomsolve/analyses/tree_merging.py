"""From which weight of the upper level on do the classes of a group share a point?

    S(lambda) = (1 - lambda) S_lower + lambda S_upper    at the geometry of merged groups, on the certificate

The geometry where every lowest group is a point, and these stand as the levels above want, has the same value whatever
part lambda the level of these groups has in its weight and that of the classes, and the slope of F is affine in lambda.
So the parts at which it is optimal, S(lambda) psd, are an interval that ends at 1, where it is the optimum of the
program.  Its other end is found by bisection on the smallest eigenvalue, without solving again.  Balanced trees of two
levels have a closed form (``weightings/hierarchy.py``), which is the test.

Symbols: lambda ``upper``, S ``blocks``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.gram.orbits import Blocks
from geomsolve.gram.types import IntArray
from geomsolve.proof.certificate import dual_blocks
from geomsolve.questions.realizable import Realizable
from geomsolve.solvers.choose import solve_objective
from geomsolve.weightings import Weighting
from geomsolve.weightings.target import Target

NEGLIGIBLE = 1e-11
"""Eigenvalues no farther below 0, relative to the largest entry of S, count as 0."""

MOST_CLASSES = 400
"""Distinct labels up to which the threshold is worked out."""


def tree_merging(problem: Realizable, weighting: Weighting, target: Target) -> dict[str, Any] | None:
    """The threshold ``{over, value, merged}`` of a tree of several levels; None where it has one, or groups of one
    class each.  ``merged``: whether the weight asked about is above it."""
    labels = target.labels
    if labels is None or weighting.mixed(0.5, labels.shape[1]) is None:
        return None
    levels = labels.shape[1]
    if not (target.include and target.latents.unit and target.normalise == "rows"):
        return None
    groups = np.unique(labels[:, :-1], axis=0, return_inverse=True)[1].ravel()
    if not 2 <= groups.max() + 1 < labels.shape[0] <= MOST_CLASSES:
        return None
    value = _threshold(problem, weighting, target, groups)
    over = "upper level weight" if levels == 2 else "share of the last level but one in the last two"
    return {"over": over, "value": value, "merged": weighting.upper_weight(levels) >= value}


def _threshold(problem: Realizable, weighting: Weighting, target: Target, groups: IntArray) -> float:
    points = problem.points

    def bound(upper: float) -> Target:
        mixed = weighting.mixed(upper, points.shape[1])
        assert mixed is not None
        return mixed.bind(points, latents=target.latents, temperature=target.temperature)

    whole = weighting.without_last(points.shape[1])
    only = whole.bind(points[:, :-1], latents=target.latents, temperature=target.temperature)
    answer = solve_objective(only.objective(), only.orbits, tolerance=problem.tolerance)
    assert only.labels is not None
    order = np.unique(only.labels, axis=0, return_inverse=True)[1].ravel()
    place = np.argsort(order)[groups]
    cosines = answer.solution.cosines[np.ix_(place, place)].copy()
    cosines[place[:, None] == place] = 1.0
    lower, upper = (
        dual_blocks(target.orbits, cosines, bound(share).objective().gradient(cosines)) for share in (0.0, 1.0)
    )
    size = max(float(np.abs(each.quotient).max()) for each in (lower, upper))
    below, above = 0.0, 1.0
    while above - below > 1e-13:
        middle = (below + above) / 2
        if _smallest(lower, upper, middle) >= -NEGLIGIBLE * size:
            above = middle
        else:
            below = middle
    return above


def _smallest(lower: Blocks, upper: Blocks, share: float) -> float:
    quotient = (1 - share) * lower.quotient + share * upper.quotient
    contrast = (1 - share) * lower.contrast + share * upper.contrast
    return min(float(np.linalg.eigvalsh(quotient)[0]), float(contrast.min()))
