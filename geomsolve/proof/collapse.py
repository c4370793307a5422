"""When do all minority classes fall into one point?  Decided by the certificate at the collapsed candidate.

With one majority class the candidate is v = (1, -1, ..., -1), G = v v': all other classes opposite the majority.
It is optimal iff its dual matrix S (``certificate.py``) is psd; S v = 0 always, so the rest of the spectrum
decides.  A threshold is where the smallest of these eigenvalues changes sign along a path, found by bisection;
nothing is solved.  Derived for this project; section 'Where the formulas come from' of the README.

Symbols: S ``blocks``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import COLLAPSE_ROUNDING, collapse_blocks, collapse_is_optimal
from geomsolve.proof.crossings import changes

TEMPERATURES = (0.005, 200.0)
"""Range of temperatures that is searched for a threshold."""

MOST_ORBITS = 3000
"""Distinct proportions up to which the search is made: it takes some fifty factorisations."""

SCAN = 17
"""Temperatures, evenly in the logarithm, at which the search looks for a change of sign."""


def has_majority(orbits: Orbits) -> bool:
    """Whether one class is more frequent than every other, and there are at least two others to collapse."""
    return bool(orbits.sizes[0] == 1 and orbits.n_classes > 2)


def collapse_margin(objective: Objective, orbits: Orbits) -> float:
    """Smallest eigenvalue of S at the collapsed candidate, v left out: collapse is optimal iff this is >= 0."""
    blocks, size = collapse_blocks(objective, orbits)
    margin = float(min(np.linalg.eigvalsh(blocks.quotient)[0], blocks.contrast.min()))
    return 0.0 if abs(margin) <= COLLAPSE_ROUNDING * size else margin


def roots(collapsed: Callable[[float], bool], low: float, high: float, scan: int) -> list[float]:
    """Where ``collapsed`` changes along [low, high], looked for at ``scan`` points even in the logarithm."""
    return [change.at for change in changes(collapsed, np.geomspace(low, high, scan).tolist())]


def nearest_collapse_temperature(
    at: Callable[[float], Objective], temperature: float | None, orbits: Orbits
) -> float | None:
    """The temperature nearest to ``temperature`` (by ratio) at which full minority collapse sets in or ends.

    ``at(t)`` is the objective at temperature t.  None where the loss has no temperature or kinks, there is no majority,
    no temperature in :data:`TEMPERATURES` makes a difference, or there are more than :data:`MOST_ORBITS` distinct
    proportions.
    """
    if temperature is None or not has_majority(orbits) or orbits.n_orbits > MOST_ORBITS:
        return None

    def collapsed(t: float) -> bool:
        return collapse_is_optimal(at(t), orbits)

    found = roots(collapsed, *TEMPERATURES, SCAN)
    return min(found, key=lambda t: abs(log(t / temperature)), default=None)
