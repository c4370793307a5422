"""In which state two sides are at the optimum: collapsed, coinciding or apart.  Read off the certificate, not solved.

C is optimal iff S of ``proof/paired.py`` is psd there.  Three candidates are known beforehand,

    total collapse      C = 1, all points at one
    antipodal           C = - 1 1', each side at one point, opposite the other: S is then the signed Laplacian
                        [[diag D1, -D], [-D', diag D'1]] of the forces
    minority collapse   C = v v', v = (1, -1, ..., -1): all classes but the largest at one point

and a fourth is the best of all C whose sides coincide.  S is scaled to the forces on each point, so that rare ones
count as much as others.  Eigenvalues cross 0 along a path, so a change of state has the accuracy of the bisection.

For n matched pairs of SigLIP, all alike, with scale s and b taken off the logit, S is psd at the regular simplex iff

    sigma(b - s) >= ((n - 2) / 2) sigma(- s / (n - 1) - b),

which :func:`simplex_margin` has for any real n.
"""

from __future__ import annotations

from math import inf

import numpy as np

from geomsolve.gram.paired import Paired
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossObjective
from geomsolve.proof.paired import dual_blocks, dual_gram, relative

NOISE = 1e-13
"""Eigenvalues of the scaled S that are less than this below 0 are 0 up to rounding."""


UNSETTLED = 1e-5
"""Eigenvalues of S, scaled to the multipliers, that rounding does not explain where multipliers are."""


def lowest(objective: CrossObjective, paired: Paired, cross: FloatArray) -> float:
    """The smallest eigenvalue of the scaled S at feasible ``cross`` (m_x, m_y + 1)."""
    size = objective.forces(cross)
    one, two = np.sqrt(size.sum(axis=1) / paired.first), np.sqrt(paired.flip(size).sum(axis=1) / paired.second)
    least = 1e-150 + 1e-9 * max(float(one.max()), float(two.max()))
    blocks = dual_blocks(paired, cross, objective.gradient(cross))
    return relative(paired, blocks, np.maximum(one, least), np.maximum(two, least)).min_eigenvalue()


def is_settled(objective: CrossObjective, paired: Paired, cross: FloatArray) -> bool:
    """Whether what is left of the forces is more than their rounding: S scaled to the multipliers says the same."""
    dual = dual_gram(paired, cross, objective.gradient(cross))
    alpha, beta = np.maximum(dual.first_own, 0.0), np.maximum(dual.second_own, 0.0)
    top = max(float(alpha.max()), float(beta.max()))
    if top == 0:
        return True
    one, two = (np.sqrt(np.maximum(own, 1e-9 * top)) for own in (alpha, beta))
    return relative(paired, paired.blocks(dual), one, two).min_eigenvalue() >= -UNSETTLED


def is_optimal(objective: CrossObjective, paired: Paired, cross: FloatArray, *, tolerance: float = NOISE) -> bool:
    """Whether ``cross`` is optimal, up to rounding."""
    return lowest(objective, paired, cross) >= -tolerance


def constant(paired: Paired, cosine: float) -> FloatArray:
    """``cross`` (m_x, m_y + 1) that is ``cosine`` throughout."""
    return np.full((paired.n_first, paired.n_second + 1), cosine)


def collapsed(paired: Paired, largest: int) -> FloatArray:
    """``cross`` of v v', +1 on the orbit ``largest`` of classes whose points coincide."""
    v = np.where(np.arange(paired.n_first) == largest, 1.0, -1.0)
    return np.column_stack([np.outer(v, v), np.ones(v.size)])


def simplex_margin(pairs: float, scale: float, bias: float) -> float:
    """How far the regular simplex is from parting; not negative iff it is optimal.  ``bias`` is added to the logit."""

    def log_sigma(z: float) -> float:
        return -float(np.logaddexp(0, -z))

    if pairs <= 2:
        return inf
    return log_sigma(-bias - scale) - float(np.log((pairs - 2) / 2)) - log_sigma(bias - scale / (pairs - 1))
