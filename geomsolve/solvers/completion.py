"""Can a matrix with missing entries be completed to the Gram or squared-distance matrix of some points?

    cosines    maximise x  subject to  G - x I psd,  G_ii = 1,  G_ij = known_ij (+ one c a component, if free)
    distances  maximise x  subject to  B(D) - x J psd,  D_ij = known_ij (+ e, if free),  x <= their mean,  D >= 0

The completion found is completed by hand (known entries exactly as given) and judged by its eigenvalues, so no
solver's status is trusted for a yes.  A no is proven elsewhere: by a certified optimum of the loss above its floor.
The range of one missing entry is two more such programs.

Symbols: x ``margin``, c and e the constants of ``components``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geomsolve.errors import SolverError
from geomsolve.gram.edm import centred
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.solvers.conic import attempts, load_cvxpy

GREY = 1e-7
"""Margins smaller than this, relative to the size of the matrix, cannot be told from zero by a conic solver."""

MOST_MISSING = 6
"""Missing pairs up to which the range of each is worked out."""

MOST_POINTS = 150
"""Points up to which a completion is sought: the cost grows with the sixth power."""


@dataclass(frozen=True, eq=False)
class Completion:
    """``matrix`` (n, n) completed, cosines or squared distances; ``margin`` its smallest relevant eigenvalue.

    ``ranges``: for each missing pair (i, j) the least and greatest value over all completions, empty where there is
    none, or too many are missing; nan for an end that was not found, as where there is none.  Ends that cannot be told
    from 0, or cosines from +-1, are exactly that.
    """

    matrix: FloatArray
    margin: float
    possible: bool
    tolerance: float
    ranges: tuple[tuple[int, int, float, float], ...]


def complete(known: FloatArray, *, euclidean: bool, components: IntArray | None = None) -> Completion:
    """Complete ``known`` (n, n), nan where missing, its diagonal given.

    ``components`` (n,): where constants are free, the component of each point; known entries are then up to one
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
    if components is not None:
        count = int(components.max()) + 1
        variables = cp.Variable(count)
        shift = sum(variables[k] * (((components == k)[:, None] & (components == k)) & off) for k in range(count))
    known_pairs = np.where(missing, 0.0, 1.0)
    constraints = [cp.multiply(known_pairs, matrix - shift) == known_pairs * scaled]
    centre = np.eye(n) - 1 / n
    if euclidean:
        body = -centre @ matrix @ centre / 2
        constraints += [matrix >= 0, margin <= 1, (body + body.T) / 2 - margin * centre >> 0]
    else:
        constraints += [matrix - margin * np.eye(n) >> 0]

    def solve(goal: Any, rules: list[Any]) -> bool:
        problem = cp.Problem(goal, rules)
        return any(matrix.value is not None and np.all(np.isfinite(matrix.value)) for _ in attempts(problem))

    if not solve(cp.Maximize(margin), constraints):
        raise SolverError("no conic solver returned a completion; fill in some of the missing entries")
    raw = np.asarray(matrix.value, dtype=np.float64)
    constant = np.zeros((n, n))
    if variables is not None:
        assert components is not None
        same = components[:, None] == components
        constant = np.where(same & off, np.asarray(variables.value)[components][:, None], 0.0)
    found = size * np.where(missing, (raw + raw.T) / 2, scaled + constant)
    lowest = _lowest(found, euclidean)
    tolerance = GREY * size
    possible = lowest >= -tolerance
    ranges = []
    pairs = np.argwhere(np.triu(missing, 1))
    if possible and 0 < len(pairs) <= MOST_MISSING:
        rules = [*constraints, margin >= 0]
        marks = (0.0,) if euclidean else (-1.0, 0.0, 1.0)  # where ranges are likely to end
        for i, j in pairs:
            ends = []
            for goal in (cp.Minimize(matrix[i, j]), cp.Maximize(matrix[i, j])):
                ok = solve(goal, rules) and abs(matrix.value[i, j]) < 1e6
                end = size * float(matrix.value[i, j]) if ok else np.nan
                ends.append(next((mark for mark in marks if abs(end - mark) <= tolerance), end))
            ranges.append((int(i), int(j), ends[0], ends[1]))
    return Completion(found, lowest, possible, tolerance, tuple(ranges))


def _lowest(matrix: FloatArray, euclidean: bool) -> float:
    """Smallest eigenvalue; for distances that of the centred matrix on the centred space."""
    if not euclidean:
        return float(np.linalg.eigvalsh(matrix)[0])
    n = matrix.shape[0]
    gram = centred(matrix)
    return float(np.linalg.eigvalsh(gram + np.abs(gram).sum() / n * np.ones((n, n)))[0])
