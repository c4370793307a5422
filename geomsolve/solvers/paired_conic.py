"""The conic route for two sides: the reference (cvxpy; Clarabel, then SCS), in the blocks of ``gram/paired.py``.

    minimise    linear . cross + sum_r mass_r z_r                    (as in ``conic.py``)
    subject to  Q psd,  T_k psd                                      (quotient and contrasts)
                Q_gg + (n_g - 1) T_g,gg = n_g                        (unit vectors)

cross_gh = Q_gh / root(n_g n_h); for partners on = (Q + (n - 1) T_12) / n, off = (Q - T_12) / n.

Symbols: Q ``quotient``, T ``one``, ``two``, ``turn``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from geomsolve.errors import SolverError
from geomsolve.gram.paired import Paired, PairedBlocks, PairedGram
from geomsolve.objectives.base import ConeForm
from geomsolve.objectives.cross import CrossObjective
from geomsolve.proof.paired import certify_cross
from geomsolve.solvers.conic import attempts, load_cvxpy


@dataclass(frozen=True)
class Program:
    """Variables of a cvxpy program over the Gram matrices of two sides, and the constraints that make them such.

    ``quotient`` (m_x + m_y square); ``one``, ``two``, ``turn`` (k,) the entries of the contrasts; ``cross`` the
    expression (m_x (m_y + 1),) of the cosines row by row.
    """

    quotient: Any
    one: Any
    two: Any
    turn: Any
    cross: Any
    constraints: list[Any]

    @classmethod
    def of(cls, cp: Any, paired: Paired) -> Program:
        """The program of unit vectors."""
        sparse = importlib.import_module("scipy.sparse")
        m, width = paired.n_first, paired.n_second + 1
        rows = m + paired.n_second
        size = np.concatenate([paired.first, paired.second]).astype(float)
        quotient = cp.Variable((rows, rows), symmetric=True, name="quotient")
        g, h = (a.ravel() for a in np.indices((m, width - 1)))
        entry, place = [g * width + h], [g * rows + m + h]
        weight = [1 / np.sqrt(paired.first[g] * paired.second[h])]
        matched, partners = paired.matched
        entry.append(matched * width + width - 1)
        place.append(matched * rows + m + partners)
        weight.append(1 / paired.first[matched])
        where = np.concatenate(entry), np.concatenate(place)
        shape = (m * width, rows * rows)
        cross = sparse.csr_matrix((np.concatenate(weight), where), shape=shape) @ cp.vec(quotient, order="C")
        constraints = [quotient >> 0]
        diagonal = cp.diag(quotient)
        g, h, n = paired.several
        one = two = turn = None
        if g.size:
            one, two, turn = (cp.Variable(g.size, name=name) for name in ("one", "two", "turn"))
            k = np.arange(g.size)
            where = np.concatenate([g * width + width - 1, g * width + h]), np.concatenate([k, k])
            entries = np.concatenate([(n - 1) / n, -1 / n])
            cross = cross + sparse.csr_matrix((entries, where), shape=(m * width, g.size)) @ turn
            constraints.append(cp.SOC(one + two, cp.vstack([2 * turn, one - two])))
            constraints += [diagonal[g] + cp.multiply(n - 1, one) == n, diagonal[m + h] + cp.multiply(n - 1, two) == n]
        alone = np.flatnonzero(size == 1)
        if alone.size:
            constraints.append(diagonal[alone] == 1)
        return cls(quotient, one, two, turn, cross, constraints)

    def cost(self, cp: Any, form: ConeForm) -> tuple[Any, list[Any]]:
        """F as an expression, and the constraints that it needs."""
        cost = form.constant + form.linear.ravel() @ self.cross if form.linear.size else form.constant
        if form.logs is None:
            return cost, []
        logs, width = form.logs, form.linear.shape[1]
        rows = logs.mass.size
        log_sums = cp.Variable(rows, name="logs")
        offset = np.flatnonzero(np.isfinite(logs.log_offset))
        row = np.concatenate([logs.row, offset])
        terms = logs.scale * (self.cross[logs.g * width + logs.h] - 1) + logs.log_weight
        entries = cp.hstack([terms, logs.log_offset[offset]]) if offset.size else terms
        weights = cp.Variable(row.size, name="weights")
        sparse = importlib.import_module("scipy.sparse")
        gather = sparse.csr_matrix((np.ones(row.size), (row, np.arange(row.size))), shape=(rows, row.size))
        needs = [cp.ExpCone(entries - log_sums[row], np.ones(row.size), weights), gather @ weights <= 1]
        return cost + logs.mass @ log_sums, needs

    def found(self, paired: Paired) -> PairedGram:
        """The values of the variables, made feasible."""
        g, _, _ = paired.several
        contrast = np.zeros((g.size, 2, 2))
        if g.size:
            contrast[:, 0, 0], contrast[:, 1, 1] = self.one.value, self.two.value
            contrast[:, 0, 1] = contrast[:, 1, 0] = self.turn.value
        return paired.unit(PairedBlocks(np.asarray(self.quotient.value, dtype=np.float64), contrast))


def solve_conic_sides(objective: CrossObjective, paired: Paired, *, tolerance: float) -> tuple[PairedGram, str, int]:
    """The Gram matrix found, the solver's name and its iterations; keeps the attempt with the smallest gap."""
    form = objective.cone_form()
    if form is None:
        raise SolverError("this loss has no cone form of reasonable size here; leave --solver out")
    cp = load_cvxpy()
    program = Program.of(cp, paired)
    cost, needs = program.cost(cp, form)
    problem = cp.Problem(cp.Minimize(cost), [*program.constraints, *needs])
    best: tuple[float, PairedGram, str, int] | None = None
    for name, iterations in attempts(problem):
        if program.quotient.value is None or not np.all(np.isfinite(program.quotient.value)):
            continue
        gram = program.found(paired)
        proof = certify_cross(objective, paired, gram.cross, tolerance=tolerance)
        if best is None or proof.gap < best[0]:
            best = proof.gap, gram, name, iterations
        if proof.certified:
            break
    if best is None:
        raise SolverError("neither Clarabel nor SCS returned a point; leave --solver out, or raise the temperature")
    return best[1:]
