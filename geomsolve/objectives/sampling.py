"""Where the negatives of an anchor come from: iid from p, its own class included, or supervised, from other classes.

    iid          r(c|a) = p_c
    supervised   r(c|a) = p_c / (1 - p_a),  c != a

Symbols: r(c|a) ``chance`` and ``own``.
"""

from __future__ import annotations

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray


def negative_distribution(orbits: Orbits, sampling: str) -> tuple[FloatArray, FloatArray]:
    """``chance`` (m, m) that a negative of orbit g is another class, of orbit h; ``own`` (m,) that it is its own."""
    p = orbits.proportions
    if sampling == "iid":
        return orbits.others * p, p
    others = orbits.others * p
    return others / others.sum(axis=1, keepdims=True), np.zeros_like(p)  # 1 - p has few digits where p is almost 1


def negative_share(orbits: Orbits, sampling: str) -> float:
    """The probability that a draw is of another class than its anchor: 1 - sum_a p_a r(a|a)."""
    _, own = negative_distribution(orbits, sampling)
    return 1 - float(np.sum(orbits.sizes * orbits.proportions * own))
