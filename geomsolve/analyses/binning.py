"""How much can rounding labels change the optimum?  A bound, from what both ask for.

    |F* - F*_b| <= max |<M, G>| / tau  over unit-diagonal psd G,   M = symmetric part of diag(a) (P - P_b)

F and F_b, of the labels as given and of the rounded ones, are functions of the same n x n cosines and differ by
<M, G>/tau, linear in them.  As tr G = n and every row of M sums to 0, |<M, G>| is at most n times the largest
eigenvalue in size, and at most sum_i a_i |P_i - P_b,i|_1 (cosines differ by at most 2 within a row); the smaller
counts.  Derived for this project.

Symbols: P ``log_target``, a ``masses``, tau ``temperature``, M ``moved``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.objectives.logsum import LogSum
from geomsolve.weightings.target import Target


@dataclass(frozen=True)
class Binning:
    """Labels rounded to multiples of ``width``: ``distinct`` are left of those ``before``; the optimal loss moves by at
    most ``error`` nats, None where no bound is known."""

    width: float
    before: int
    distinct: int
    error: float | None


def binning(width: float, before: int, target: Target, given: Target | None) -> Binning:
    """What rounding did; ``given`` is the target of the labels as they were, None where that is too large."""
    error = None
    if given is not None and comparable(given) and comparable(target):
        error = bound(target, given)
    return Binning(width, before, target.orbits.n_orbits, error)


def comparable(target: Target) -> bool:
    """Whether the loss is an ordinary one of cosines, which differs from another by its target only."""
    plain = isinstance(target.objective(), LogSum)
    return plain and target.latents.unit and target.normalise == "rows" and not target.partial


def bound(target: Target, given: Target) -> float:
    """See the module; samples of one given label stay together, so that orbits of ``given`` suffice."""
    sizes = given.orbits.sizes
    first = np.unique(given.orbits.index, return_index=True)[1]
    place = target.orbits.index[first]
    before, after = probabilities(given), probabilities(target)
    own = before[1] - after[1][place]
    moved = before[0] - after[0][np.ix_(place, place)]
    np.fill_diagonal(moved, np.where(sizes > 1, np.diag(moved), 0.0))
    others = sizes - np.eye(sizes.size)
    masses = given.masses
    rows = (others * np.abs(moved)).sum(axis=1) + np.abs(own)
    by_rows = float((sizes * masses) @ rows)
    weighed = masses[:, None] * moved
    even = (weighed + weighed.T) / 2
    root = np.sqrt(sizes)
    quotient = root[:, None] * even * root
    inner, alone = np.diag(even), masses * own
    quotient[np.diag_indices_from(quotient)] += alone - inner
    values = np.linalg.eigvalsh(quotient)
    contrast = np.abs(np.where(sizes > 1, alone - inner, 0.0))
    largest = max(float(np.abs(values).max()), float(contrast.max()))
    return min(by_rows, given.orbits.n_classes * largest) / given.temperature


def probabilities(target: Target) -> tuple[FloatArray, FloatArray]:
    """P of one pair (m, m), and of the self pair (m,)."""
    logs, own = target.log_target()
    return np.exp(logs), np.exp(own)
