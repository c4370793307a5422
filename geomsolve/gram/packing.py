"""How many points (or lines) fit, no two closer than a cosine: proven bounds and known arrangements.

At most, of points with mutual cosines <= s in d dimensions:

    s < 0         1 - 1/s and d + 1, attained by a regular simplex (Rankin 1955)        s = 0    2 d (Rankin 1955)
    s > 0         Levenshtein's bound; in the plane 2 pi / arccos s, in space Fejes Toth's; and by linear programming,
                  f(1)/f_0 for every f = sum_k f_k P_k with f_k >= 0, f_0 > 0 and f <= 0 on [-1, s]   (Delsarte 1977)

and of lines with |cosines| <= s the same by even f, f <= 0 on [0, s]; with f of degree 2 and 4 in closed form

    d (1 - s^2) / (1 - d s^2),  d s^2 < 1 (Welch)          d (d + 2) (1 - s^2) / (3 - (d + 2) s^2),  (d + 2) s^2 < 3.

The program only proposes f: its coefficients are made >= 0, and the maximum of f on the interval is taken off f_0.

At least: known codes (``CODES``, ``LINES``), those of fewer dimensions, orthogonal sums of two, characters of
polynomials (``families.py``), and greedy covering
(Chabauty 1953, Shannon 1959): a largest arrangement covers the sphere by caps of cosine s, so it has at least one over
the share of a cap, half that for lines.

Symbols: d ``dim``, s ``cosine``, P_k normalised Gegenbauer polynomials.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from math import acos, exp, floor, inf, log, pi, sqrt

import numpy as np

from geomsolve.gram.codes import PROVEN, fejes_toth_bound, levenshtein, ranges
from geomsolve.gram.families import characters
from geomsolve.gram.types import FloatArray

GOLDEN = (1 + sqrt(5)) / 4

CODES: dict[int, tuple[tuple[int, float, str], ...]] = {
    3: ((12, 1 / sqrt(5), "icosahedron"),),
    4: ((10, 1 / 6, "Petersen code"), (24, 0.5, "24-cell"), (120, GOLDEN, "600-cell")),
    5: ((16, 1 / 5, "Clebsch code"), (40, 0.5, "roots of D5")),
    6: ((27, 1 / 4, "Schlaefli code"), (72, 0.5, "roots of E6")),
    7: ((56, 1 / 3, "28 equiangular lines"), (126, 0.5, "roots of E7")),
    8: ((240, 0.5, "roots of E8"),),
    16: ((288, 1 / 4, "Kerdock"), (4320, 0.5, "Barnes-Wall")),
    21: ((112, 1 / 9, "McLaughlin subcode"), (162, 1 / 7, "strongly regular graph")),
    22: ((100, 1 / 11, "Higman-Sims"), (275, 1 / 6, "McLaughlin"), (891, 1 / 4, "Leech lattice")),
    23: ((552, 1 / 5, "276 equiangular lines"), (4600, 1 / 3, "Leech lattice")),
    24: ((196560, 0.5, "Leech lattice"),),
}
"""Known codes by dimension: points, their largest cosine, name (Conway & Sloane 1999; Cohn & Kumar 2007)."""

LINES: dict[int, tuple[tuple[int, float, str], ...]] = {
    3: ((6, 1 / sqrt(5), "icosahedron"),),
    4: ((12, 0.5, "24-cell"), (60, GOLDEN, "600-cell")),
    5: ((10, 1 / 3, "equiangular"), (20, 0.5, "roots of D5")),
    6: ((16, 1 / 3, "equiangular"), (36, 0.5, "roots of E6")),
    7: ((28, 1 / 3, "equiangular"), (63, 0.5, "roots of E7")),
    8: ((120, 0.5, "roots of E8"),),
    15: ((36, 1 / 5, "equiangular"),),
    16: ((144, 1 / 4, "Kerdock"), (2160, 0.5, "Barnes-Wall")),
    21: ((126, 1 / 5, "equiangular"),),
    22: ((176, 1 / 5, "equiangular"),),
    23: ((276, 1 / 5, "equiangular"), (2300, 1 / 3, "Leech lattice")),
    24: ((98280, 0.5, "Leech lattice"),),
}
"""The same of lines, by the absolute cosine."""

KISSING = {3: (12, "Schuette & van der Waerden 1953"), 4: (24, "Musin 2008")}
"""Most points with cosines of at most 1/2, where it takes more than these bounds, with who proved it."""

SLACK = 1e-9
"""A cosine asked for counts as that of a code where it falls short by no more: 0.4472135955 is 1/sqrt(5)."""

DEGREES = 24
"""Degree of the polynomials of the linear program."""

MOST = 10**15
"""Numbers above which a count is not told apart."""


def _whole(bound: float) -> int | None:
    """The largest whole number that a bound allows; None where it is beyond telling."""
    return None if not bound < MOST else floor(bound * (1 + 1e-10) + 1e-9)


def at_most(dim: int, cosine: float, *, lines: bool = False) -> tuple[int | None, str]:
    """A proven upper bound on how many points, or ``lines``, have mutual cosines of at most ``cosine`` < 1, and its
    name; None where none below 10^15 is known."""
    s = min(cosine + SLACK, 1 - 1e-15) if cosine > 0 else cosine
    found = dict(_line_bounds(dim, s) if lines else _point_bounds(dim, s))
    name = min(found, key=lambda each: found[each]) if found else ""
    return (_whole(found[name]), name) if name else (None, "no bound")


def _point_bounds(dim: int, s: float) -> dict[str, float]:
    if dim == 1:
        return {"two points": 2.0}
    if s < 0:
        return {"simplex": min(1 - 1 / s, dim + 1.0)} if s <= -1 / dim else {"simplex": dim + 1.0}
    if s <= SLACK:
        return {"orthoplex": 2.0 * dim}
    if dim == 2:
        return {"polygon": 2 * pi / acos(s)}
    found: dict[str, float] = {}
    for degree, low, high in ranges(dim):
        if low <= s <= high:
            found["Levenshtein"] = levenshtein(degree, dim, s)
            break
    if dim == 3:
        n = 3
        while fejes_toth_bound(n + 1) <= s and n < 10**6:
            n += 1
        found["Fejes Toth"] = float(n)
    if dim in KISSING and s <= 0.5 + SLACK:
        count, source = KISSING[dim]
        found[source] = float(count)
    best = min(found.values(), default=inf)
    for (d, n), (value, source) in PROVEN.items():
        if d == dim and value > s and n - 1 < best:
            found[source] = float(n - 1)
    bound = linear_programming(dim, s, lines=False)
    if bound < min(found.values(), default=inf):
        found["linear programming"] = bound
    return found


def _line_bounds(dim: int, s: float) -> dict[str, float]:
    if dim == 1:
        return {"one line": 1.0}
    if s <= SLACK:
        return {"orthogonal": float(dim)}
    if dim == 2:
        return {"polygon": pi / acos(s)}
    found: dict[str, float] = {}
    if dim * s * s < 1:
        found["Welch"] = max(dim * (1 - s * s) / (1 - dim * s * s), float(dim))
    if (dim + 2) * s * s < 3:
        found["Levenshtein"] = max(dim * (dim + 2) * (1 - s * s) / (3 - (dim + 2) * s * s), dim * (dim + 1) / 2)
    bound = linear_programming(dim, s, lines=True)
    if bound < min(found.values(), default=inf):
        found["linear programming"] = bound
    return found


def polynomials(dim: int, degrees: range, at: FloatArray) -> FloatArray:
    """P_k of the ``degrees`` (k,) at cosines (n,), normalised to 1 at 1: (n, k)."""
    rows = [np.ones_like(at), at]
    for k in range(1, max(degrees)):
        rows.append(((2 * k + dim - 2) * at * rows[k] - k * rows[k - 1]) / (k + dim - 2))
    return np.column_stack([rows[k] for k in degrees])


@lru_cache(maxsize=512)
def linear_programming(dim: int, cosine: float, *, lines: bool) -> float:
    """The bound by polynomials of degree ``DEGREES``, checked as the module says; infinite where none is found."""
    optimize = importlib.import_module("scipy.optimize")
    degrees = range(2, DEGREES + 1, 2) if lines else range(1, DEGREES + 1)
    low = 0.0 if lines else -1.0
    grid = (low + cosine) / 2 - (cosine - low) / 2 * np.cos(np.linspace(0, pi, 400))
    values = polynomials(dim, degrees, grid)
    found = optimize.linprog(
        np.ones(len(degrees)), A_ub=values, b_ub=-np.ones(grid.size), bounds=(0, None), method="highs"
    )
    if found.x is None or found.status != 0:
        return inf
    weights = np.maximum(found.x, 0.0)
    dense = (low + cosine) / 2 - (cosine - low) / 2 * np.cos(np.linspace(0, pi, 40_001))
    f = polynomials(dim, degrees, dense) @ weights
    # a polynomial of degree n on points of this many per half period lies above its largest value there by less than
    # this share of its range (Bernstein): (pi n / 80,002)^2 / 2
    above = float(f.max()) + (pi * DEGREES / 80_002) ** 2 * float(np.abs(f).max())
    return 1 + float(weights.sum()) / -above if above < 0 else inf


def cap_share(dim: int, cosine: float) -> float:
    """log of the share of the sphere whose points have a cosine above ``cosine`` >= 0 with a given one."""
    special = importlib.import_module("scipy.special")
    share = float(special.betainc((dim - 1) / 2, 0.5, 1 - cosine * cosine)) / 2
    if share > 0:
        return log(share)
    half = (dim - 1) / 2  # far below what float64 holds: an upper bound of the incomplete beta function
    logs = half * log(1 - cosine * cosine) - log(half * cosine) - float(special.betaln(half, 0.5)) - log(2)
    return float(logs)


def at_least(dim: int, cosine: float, *, lines: bool = False) -> tuple[int, str]:
    """How many points, or ``lines``, are known to have mutual cosines of at most ``cosine``, and how."""
    if cosine < 0 and not lines:
        if cosine < -1:
            return 1, "one point"
        most = min(floor(1 - 1 / cosine + SLACK), dim + 1) if cosine > -1 else 2
        return (most, "regular simplex") if most > 1 else (1, "one point")
    found = [_named(dim, cosine, lines), characters(dim, cosine, lines=lines), kerdock(dim, cosine, lines=lines)]
    if dim == 2:
        most = floor((1 if lines else 2) * pi / acos(min(cosine + SLACK, 1 - 1e-15)) + 1e-9)
        found.append((most, "polygon"))
    if dim > 2 and cosine > 0:
        logs = -cap_share(dim, cosine) - (log(2) if lines else 0.0)
        covering = MOST if logs > log(MOST) else int(np.ceil(exp(logs) * (1 - 1e-9)))
        found.append((covering, "greedy covering"))
    return max(found, key=_count)


def kerdock(dim: int, cosine: float, *, lines: bool) -> tuple[int, str]:
    """The largest Kerdock code in at most ``dim`` dimensions, 4^k of them, whose cosines are 2^-k; 0 where none is."""
    half = max((k for k in range(2, 11) if 4**k <= dim), default=0)
    if not half or 2.0**-half > cosine + SLACK:
        return 0, ""
    lines_of = 4**half * (4**half // 2 + 1)
    return lines_of if lines else 2 * lines_of, "Kerdock"


def _count(found: tuple[int, str]) -> int:
    return found[0]


@lru_cache(maxsize=512)
def _named(dim: int, cosine: float, lines: bool) -> tuple[int, str]:
    """The best of the known codes in at most ``dim`` dimensions, with the orthogonal sum of what is left."""
    table, plain = (LINES, 1) if lines else (CODES, 2)
    best = [(0, "")]
    for d in range(1, min(dim, 512) + 1):
        own = (plain * d, "orthogonal" if lines else "orthoplex")
        known = [(n, name) for n, s, name in table.get(d, ()) if s <= cosine + SLACK]
        if d >= 4 and cosine >= 0.5 - SLACK:
            known.append(((d * (d - 1)) * (1 if lines else 2), f"roots of D{d}"))
        found = max([own, *known, kerdock(d, cosine, lines=lines)], key=_count)
        sums = [(best[e][0] + best[d - e][0], best[e][1]) for e in table if 0 < e < d and best[e][0]]
        joined = [(n, name if name.startswith("orthogonal sum") else f"orthogonal sum with {name}") for n, name in sums]
        best.append(max([found, *joined], key=_count))
    return max([(plain * dim, "orthogonal" if lines else "orthoplex"), best[-1]], key=_count)
