"""The optimum of pairs of two halves, by one root.

The feasible cosines (a, c) are a diamond with the corners (1, 1), (-1, -1), +-(1, -1/(n - 1)).  An F that falls in a
and rises in c is least on the edge from total antipodal collapse (-1, -1) to the regular simplex (1, -1/(n - 1)),

    c = ((n - 2) a - n) / (2 (n - 1)),   -1 <= a <= 1,

where it is convex in a: at an end, or at the root of its derivative.  The certificate decides; nothing here is trusted.

Symbols: a ``on``, c ``off``, n ``n_pairs``.
"""

from __future__ import annotations

from geomsolve.objectives.two_towers import TwoTowers


def solve_pairs(objective: TwoTowers) -> tuple[float, float]:
    """The best cosines a and c on the edge."""
    n = objective.n_pairs

    def across(on: float) -> float:
        return ((n - 2) * on - n) / (2 * (n - 1))

    def slope(on: float) -> float:
        _, by_on, by_off = objective.evaluate(on, across(on))
        return by_on + by_off * (n - 2) / (2 * (n - 1))

    if slope(1.0) <= 0:
        on = 1.0
    elif slope(-1.0) >= 0:
        on = -1.0
    else:
        from scipy.optimize import brentq  # here, since only this loss needs it

        on = float(brentq(slope, -1.0, 1.0, xtol=1e-15, rtol=8.9e-16))
    return on, across(on)
