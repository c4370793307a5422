"""Can a matrix with missing entries be completed to the Gram or squared-distance matrix of some points?

    maximise x  subject to  A(M) - x I psd,  M_ii and M_ij = known_ij (+ one constant for each component, if free),
                            x <= the largest known entry where nothing else bounds it

M holds cosines, A(M) = M, or squared distances, A(M) the centred matrix on the centred space; which, the latents say.
The completion found is completed by hand (known entries exactly as given) and judged by its eigenvalues, so no
solver's status is trusted for a yes.  A no is proven elsewhere: by a certified optimum of the loss above its floor.
The range of one missing entry is two more such programs, where the latents know no closed form: there the set of
completions is compact and its ends are attained; where it is not, an end may be an infimum only, or infinite.

Symbols: x ``margin``, A ``body``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from geomsolve.errors import SolverError
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.solvers.conic import attempts, load_cvxpy

GREY = 1e-7
"""Margins smaller than this, relative to the size of the matrix, cannot be told from zero by a conic solver."""

FEWEST_RANGES, MOST_RANGES = 6, 40
"""Missing pairs of which the range is worked out by programs, two each, of many points and of up to 25; the ranges of
others are not found."""

MOST_POINTS = 150
"""Points up to which a completion is sought: the cost grows with the sixth power."""


class Latents(Protocol):
    """What a completion asks of the latents; see ``weightings/latents.py``."""

    own: float

    def body(self, shown: Any) -> Any:
        """The matrix that is psd exactly where ``shown`` (n, n) is attained."""

    def ends(
        self, known: FloatArray, pair: tuple[int, int], components: IntArray, free: bool
    ) -> tuple[float, float, bool, bool] | None:
        """The range of one missing entry of an attainable matrix, as in :class:`Range`, where it is in closed form."""


@dataclass(frozen=True)
class Range:
    """The values that the missing entry at ``row``, ``column`` takes over all completions.

    ``low`` and ``high``: infinite where there is no bound, nan where none was found; each with whether a completion
    has just that value.  Ends that cannot be told from 0, or cosines from +-1, are exactly that.
    """

    row: int
    column: int
    low: float
    high: float
    low_attained: bool
    high_attained: bool


@dataclass(frozen=True, eq=False)
class Completion:
    """``matrix`` (n, n) completed, cosines or squared distances; ``margin`` its smallest relevant eigenvalue.

    ``ranges`` of each missing pair, empty where there is no completion; of those that need programs the first
    are found, between :data:`FEWEST_RANGES` and :data:`MOST_RANGES` of them.
    """

    matrix: FloatArray
    margin: float
    possible: bool
    tolerance: float
    ranges: tuple[Range, ...]


def complete(known: FloatArray, latents: Latents, components: IntArray, *, free: bool) -> Completion:
    """Complete ``known`` (n, n), cosines or squared distances, nan where missing, its diagonal given.

    ``components`` (n,): which points known entries connect; where constants are ``free``, known entries are up to one
    constant for each component.  Raises :class:`SolverError` where no solver left a point.
    """
    cp = load_cvxpy()
    n = known.shape[0]
    missing = np.isnan(known)
    filled = np.where(missing, 0.0, known)
    size = max(1.0, float(np.abs(filled).max()))
    scaled = filled / size
    matrix = cp.Variable((n, n), symmetric=True)
    margin = cp.Variable()
    shift: Any = 0
    variables = None
    off = ~np.eye(n, dtype=bool)
    if free:
        count = int(components.max()) + 1
        variables = cp.Variable(count)
        shift = sum(variables[k] * (((components == k)[:, None] & (components == k)) & off) for k in range(count))
    known_pairs = np.where(missing, 0.0, 1.0)
    body = latents.body(matrix)
    constraints = [
        cp.multiply(known_pairs, matrix - shift) == known_pairs * scaled,
        (body + body.T) / 2 - margin * np.eye(body.shape[0]) >> 0,
        margin <= 1,
    ]

    def solve(goal: Any, rules: list[Any]) -> bool:
        problem = cp.Problem(goal, rules)
        return any(matrix.value is not None and np.all(np.isfinite(matrix.value)) for _ in attempts(problem))

    if not solve(cp.Maximize(margin), constraints):
        raise SolverError("no conic solver returned a completion; fill in some of the missing entries")
    raw = np.asarray(matrix.value, dtype=np.float64)
    constant = np.zeros((n, n))
    if variables is not None:
        same = components[:, None] == components
        constant = np.where(same & off, np.asarray(variables.value)[components][:, None], 0.0)
    found = size * np.where(missing, (raw + raw.T) / 2, scaled + constant)
    lowest = float(np.linalg.eigvalsh(latents.body(found))[0])
    tolerance = GREY * size
    possible = lowest >= -tolerance
    ranges = []
    pairs = np.argwhere(np.triu(missing, 1)) if possible else np.empty((0, 2), dtype=int)
    rules = [*constraints, margin >= 0]
    marks = (latents.own, -latents.own, 0.0)  # where ranges are likely to end
    solved, most = 0, max(FEWEST_RANGES, int(MOST_RANGES * min(1.0, (25 / n) ** 3)))
    for i, j in pairs.tolist():
        closed = latents.ends(known, (i, j), components, free)
        if closed is not None:
            ranges.append(Range(i, j, *closed))
            continue
        values = []
        solved += 1
        for goal in (cp.Minimize(matrix[i, j]), cp.Maximize(matrix[i, j])):
            asked = solved <= most
            end = size * float(matrix.value[i, j]) if asked and solve(goal, rules) else np.nan
            values.append(next((mark for mark in marks if abs(end - mark) <= tolerance), end))
        ranges.append(Range(i, j, values[0], values[1], not np.isnan(values[0]), not np.isnan(values[1])))
    return Completion(found, lowest, possible, tolerance, tuple(ranges))
