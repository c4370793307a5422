"""Proofs that stand alone of how far apart points can be: the points found, and a polynomial that bounds all others.

    f = 1 + sum_k f_k P_k,  f_k >= 0,  f < 0 on [-1, s],  f(1) < K

shows that K points have a cosine above s (``verify_codes.py``).  f is that of a linear program on a grid, lowered by as
much as it rises above 0 in between; s is the strongest bound known, less what that takes.

Symbols: K ``n``, d ``dim``, s ``cosine``, P_k of ``gram/packing.py``.
"""

from __future__ import annotations

import importlib
from decimal import ROUND_CEILING, ROUND_FLOOR
from math import pi
from typing import Any

import numpy as np

from geomsolve.analyses.capacity import CapacityReport
from geomsolve.analyses.proof_texts import decimals, rounded
from geomsolve.errors import InputError
from geomsolve.gram.codes import bounds
from geomsolve.gram.packing import polynomials
from geomsolve.gram.types import FloatArray
from geomsolve.questions.capacity import Capacity

MOST_POINTS = 500
"""Points up to which a proof is written: all their cosines are enclosed."""

DEGREES = 24
"""Degree of the polynomial."""

STEPS = tuple(10 ** (k / 2 - 9) for k in range(17))
"""How far below the strongest bound s is tried, until a polynomial is found."""

FINE = 100_001
"""Points at which a polynomial is looked at."""

ROUNDING = 1e-12
"""Room of a claimed cosine, and by how much f stays below 0."""


def of_spacing(report: CapacityReport, problem: Capacity) -> dict[str, Any]:
    """The proof of the largest cosine of the points, and of one that no points keep below."""
    n, dim = report.problem["classes"], report.problem["dim"]
    if report.points is None or n > MOST_POINTS:
        raise InputError(f"a proof that stands alone is of up to {MOST_POINTS} points; leave this out", field="proof")
    proof: dict[str, Any] = {
        "kind": "spacing",
        "question": {"classes": int(n), "dim": int(dim)},
        "points": decimals(report.points),
    }
    high = rounded(report.max_cosine + ROUNDING, ROUND_CEILING)
    claims: list[dict[str, str]] = [{"claim": "cosine", "at_most": high}]
    if n <= dim + 1:
        claims.append({"claim": "spacing", "at_least": f"-1/{n - 1}", "by": "simplex"})
    elif n <= 2 * dim:
        claims.append({"claim": "spacing", "at_least": "0", "by": "orthoplex"})
    elif dim >= 2 and (found := bounding(n, dim)):
        claims.append({"claim": "spacing", "at_least": found[0], "by": "polynomial"})
        proof["polynomial"] = decimals(found[1])
    else:
        claims.append({"claim": "spacing", "at_least": "0", "by": "orthoplex"})
    return {**proof, "claims": claims}


def bounding(n: int, dim: int) -> tuple[str, FloatArray] | None:
    """A cosine s, as a decimal, and f_1, f_2, ... that show ``n`` points to exceed it; None if none is found."""
    strongest = max(bounds(n, dim).values())
    for step in STEPS:
        text = rounded(strongest - step, ROUND_FLOOR)
        weights = polynomial(n, dim, float(text))
        if weights is not None:
            return text, weights
    return None


def polynomial(n: int, dim: int, cosine: float) -> FloatArray | None:
    """f_1, f_2, ... with f < 0 on [-1, ``cosine``] and f(1) < n, as far as points close to each other tell."""
    optimize = importlib.import_module("scipy.optimize")
    degrees = range(1, DEGREES + 1)

    def grid(count: int) -> FloatArray:
        x: FloatArray = (cosine - 1) / 2 - (cosine + 1) / 2 * np.cos(np.linspace(0, pi, count))
        return polynomials(dim, degrees, x)

    coarse = grid(600)
    found = optimize.linprog(
        np.ones(DEGREES), A_ub=coarse, b_ub=-np.ones(len(coarse)), bounds=(0, None), method="highs"
    )
    if found.x is None or found.status != 0:
        return None
    weights = np.maximum(found.x, 0.0)
    weights[weights < 1e-12] = 0.0
    rest = grid(FINE) @ weights
    # between points it rises above them by less than this share of its size (Bernstein's inequality)
    constant = -float(rest.max()) - 2 * (pi * DEGREES / (2 * FINE)) ** 2 * float(np.abs(rest).max() + 1)
    if not constant > 0 or not 1 + float(weights.sum()) / constant < n - ROUNDING * n:
        return None
    scaled: FloatArray = weights / constant
    return scaled
