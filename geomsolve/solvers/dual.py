"""The dual route: Newton's method on the optimality conditions, for optima of nearly full rank.

At an optimum G of  minimise F(G), G psd, G_aa = 1,  the dual matrix S = D + diag(mu) of ``certificate.py`` is psd
and G S = 0.  An optimum of rank K - 1 has an S of rank one, S = u u', so that everything follows from u:

    D_ab(G) = u_a u_b   for a != b   (the forces match),        G u = 0   (they balance),

and with S = U U', U having r columns, an optimum of rank K - r.  These are solved for the cosines and U together.
The forces of contrastive losses are products of exponentials, so it is their logarithms that are matched, which
makes the first equation affine but for the losses' normalisers (derived for this project; section 'Where the
formulas come from' of the README).  With T >= 0 the part of the forces that attracts (``Objective.attraction``),

    log(D + T) = log(U U' + T).

One step: with H = own - sum_r rows_r rows_r' the curvature (:class:`RowCurvature`), eliminating the change of the
cosines leaves as unknowns the change of U and of the few normalisers y of each row, (r + R) m in all: a dense
system up to a few thousand unknowns, matrix-free GMRES beyond.  An orbit that the step drives past C_gg = 1 has
collapsed: its cosine is held at 1 and S gains a multiplier on its contrast.  Where G comes out indefinite, U gains
the offending eigenvector as a column.

Everything is in orbit coordinates: Phi, Psi are the two sides times ``pairs``.  The answer is a proposal:
``certificate.py`` proves it or does not.

Symbols: U ``roots``, C ``cosines``, Phi ``forces``, Psi ``wanted``, log(Psi/Phi) ``mismatch``, n_g G U ``imbalance``,
own ``X`` inverted, the response of C to U ``response``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geomsolve.certificate import dual_blocks
from geomsolve.gram.orbits import Blocks, Orbits
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.types import FloatArray
from geomsolve.losses.base import Objective, RowCurvature
from geomsolve.solvers.base import Solution

SOLVED = 1e-13
"""Largest relative residual at which Newton's method stops."""

ACCEPTABLE = 1e-7
"""Relative residual below which an iteration that has stalled, at rounding level, still counts as converged."""

DENSE = 1200
"""Unknowns up to which the Newton system is built and factorised; beyond, GMRES without building it."""

ROUNDING = 1e-13
"""Eigenvalues of G, and multipliers of held orbits relative to their forces, that may be negative by rounding."""

NULL = 1e-9
"""Eigenvalues of a repaired Gram matrix up to which it has a null vector there."""

FARTHEST = 4.0
"""Largest cosine that an iterate may have: it is a Gram matrix only in the end, but never far from one."""

SHORTEST = 1e-3
"""Fraction of a Newton step at which the search along it ends."""

MAX_STEPS = 60
MAX_ROUNDS = 6
MAX_COLUMNS = 6
"""Columns of U that are tried: optima of lower rank are the manifold solver's."""

LONGEST = 2.0
"""Largest change of log u in one step."""

BLOCK = 2**22
"""Entries of an m x m matrix that are worked on at once."""


@dataclass(frozen=True)
class State:
    """Where Newton's method stands: ``cosines`` (m, m), ``roots`` (m, r), ``held`` (m,) orbits held at C_gg = 1."""

    objective: Objective
    orbits: Orbits
    cosines: FloatArray
    roots: FloatArray
    held: Any

    @cached_property
    def free(self) -> Any:
        """(m, m): pairs whose cosine is an unknown."""
        free = self.orbits.pairs > 0
        free[np.diag_indices_from(free)] &= ~self.held
        return free

    @cached_property
    def attraction(self) -> FloatArray | float:
        pull = self.objective.attraction
        return (pull + pull.T) / 2 if isinstance(pull, np.ndarray) else pull

    @cached_property
    def forces(self) -> FloatArray:
        """Phi = pairs (D + T), (m, m)."""
        slope = self.objective.gradient(self.cosines)
        slope = (slope + slope.T) / 2
        slope += self.attraction
        return slope

    @cached_property
    def wanted(self) -> FloatArray:
        """Psi = pairs (U U' + T), (m, m)."""
        product: FloatArray = self.roots @ self.roots.T
        product *= self.orbits.pairs
        product += self.attraction
        return product

    @cached_property
    def mismatch(self) -> FloatArray:
        """log(Psi / Phi) where a cosine is free, else 0; nan or inf where a side is not positive."""
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(self.wanted / self.forces)
        log[~self.free] = 0.0
        return log

    @cached_property
    def imbalance(self) -> FloatArray:
        """n_g (G U)_g, (m, r)."""
        around = self.orbits.others * self.cosines
        return self.orbits.sizes[:, None] * (self.roots + around @ self.roots)

    @cached_property
    def residual(self) -> float:
        """The largest relative residual: of a force, or of the forces' balance at an orbit."""
        if not np.all(np.isfinite(self.mismatch)):
            return np.inf
        worst = float(np.abs(self.mismatch).max())
        if self.roots.shape[1]:
            size = self.orbits.sizes @ np.abs(self.roots) / self.orbits.n_classes
            scale = self.orbits.sizes[:, None] * (np.abs(self.roots) + size)
            worst = max(worst, float(np.max(np.abs(self.imbalance) / scale)))
        return worst

    def moved(self, length: float, cosines: FloatArray, roots: FloatArray) -> State:
        """The state after ``length`` times a step; the roots of a force of one sign keep theirs."""
        if isinstance(self.attraction, float) and self.roots.shape[1] == 1:
            moved = self.roots * np.exp(length * roots / self.roots)
        else:
            moved = self.roots + length * roots
        return State(self.objective, self.orbits, self.cosines + length * cosines, moved, self.held)


@dataclass(frozen=True)
class Newton:
    """The linear system of one step.  ``unit`` (m,) is the size of each row of U, in which its change is counted."""

    state: State
    curvature: RowCurvature
    unit: FloatArray
    X: FloatArray
    response: FloatArray

    @classmethod
    def at(cls, state: State, curvature: RowCurvature) -> Newton:
        own = (curvature.own + curvature.own.T) / 2
        X = np.divide(1.0, own, out=np.zeros_like(own), where=state.free)
        response = X * state.orbits.pairs
        response *= state.forces
        np.divide(response, state.wanted, out=response, where=state.free)
        unit = np.linalg.norm(state.roots, axis=1)
        return cls(state, curvature, np.maximum(unit, 1e-8 * unit.max(initial=0.0)), X, response)

    def change(self, rows: slice, du: FloatArray, y: FloatArray) -> FloatArray:
        """Change of the cosines in ``rows`` that answers changes ``du`` (m, r) of U and ``y`` (R, m) of normalisers."""
        U, r = self.state.roots, self.curvature.rows
        moved = du[rows] @ U.T + U[rows] @ du.T
        moved *= self.response[rows]
        if y.size:
            turn = np.zeros_like(moved)
            for k in range(y.shape[0]):
                turn += y[k, rows, None] * r[k, rows] + y[k] * r[k][:, rows].T
            turn *= self.X[rows] / 2
            moved += turn
        return moved

    def blocks(self) -> list[slice]:
        m = self.X.shape[0]
        height = max(1, BLOCK // m)
        return [slice(i, min(i + height, m)) for i in range(0, m, height)]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Orbits, columns of U, normalisers a row."""
        return self.X.shape[0], self.state.roots.shape[1], self.curvature.rows.shape[0]

    def split(self, unknowns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``du`` (m, r) and ``y`` (R, m) from the vector of unknowns."""
        m, r, R = self.shape
        du = unknowns[: m * r].reshape(r, m).T * self.unit[:, None]
        y = unknowns[m * r :].reshape(R, 1 if self.curvature.joint else m)
        return du, np.repeat(y, m, axis=1) if self.curvature.joint else y

    def joined(self, balance: FloatArray, normalisers: FloatArray) -> FloatArray:
        if self.curvature.joint:
            normalisers = normalisers.sum(axis=1, keepdims=True)
        return np.concatenate([balance.T.ravel(), normalisers.ravel()])

    def answered(self, change: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """What a change of the cosines (some rows) does to the balance (rows, r) and to the normalisers (R, rows)."""
        balance = (self.state.orbits.pairs[rows] * change) @ self.state.roots
        return balance, np.einsum("kgh,gh->kg", self.curvature.rows[:, rows], change)

    def apply(self, unknowns: FloatArray) -> FloatArray:
        """The system's matrix times ``unknowns``."""
        du, y = self.split(unknowns)
        orbits, C = self.state.orbits, self.state.cosines
        balance, normalisers = np.empty_like(du), np.empty((self.shape[2], self.shape[0]))
        for rows in self.blocks():
            balance[rows], normalisers[:, rows] = self.answered(self.change(rows, du, y), rows)
            balance[rows] += orbits.sizes[rows, None] * (du[rows] + (orbits.others[rows] * C[rows]) @ du)
        own = y[:, :1] / self.shape[0] if self.curvature.joint else y
        return self.joined(balance, own - normalisers)

    def right_side(self) -> FloatArray:
        balance, normalisers = np.empty_like(self.state.roots), np.empty((self.shape[2], self.shape[0]))
        for rows in self.blocks():
            base = self.X[rows] * self.state.forces[rows] * self.state.mismatch[rows]
            balance[rows], normalisers[:, rows] = self.answered(base, rows)
        return self.joined(-self.state.imbalance - balance, normalisers)

    def matrix(self) -> FloatArray:
        """The system's matrix, built entry by entry."""
        m, r, R = self.shape
        U, C, X, Q, n = self.state.roots, self.state.cosines, self.X, self.response, self.unit
        pairs, others, N = self.state.orbits.pairs, self.state.orbits.others, self.state.orbits.sizes[:, None]
        rows = self.curvature.rows
        full = np.empty(((r + R) * m,) * 2)
        part = [slice(i * m, (i + 1) * m) for i in range(r + R)]
        PQ, PX = pairs * Q, pairs * X
        for c in range(r):
            for d in range(r):
                block = PQ * np.outer(U[:, d], U[:, c])
                block[np.diag_indices(m)] += (PQ * U[:, c] * U[:, d]).sum(axis=1)
                if c == d:
                    block += N * (others * C + np.eye(m))
                full[part[c], part[d]] = block * n
            for j in range(R):
                block = PX * rows[j].T * U[:, c]
                block[np.diag_indices(m)] += (PX * U[:, c] * rows[j]).sum(axis=1)
                full[part[c], part[r + j]] = block / 2
        for k in range(R):
            for d in range(r):
                block = rows[k] * Q * U[:, d, None]
                block[np.diag_indices(m)] += (rows[k] * Q * U[:, d]).sum(axis=1)
                full[part[r + k], part[d]] = -block * n
            for j in range(R):
                block = X * rows[k] * rows[j].T
                block[np.diag_indices(m)] += (X * rows[k] * rows[j]).sum(axis=1)
                full[part[r + k], part[r + j]] = -block / 2
            if not self.curvature.joint:
                full[part[r + k], part[r + k]] += np.eye(m)
        if self.curvature.joint:
            total = np.kron(np.eye(R), np.ones((1, m)))
            top, side = full[: r * m], full[r * m :]
            core = total @ side[:, r * m :] @ total.T + np.eye(R)
            return np.block([[top[:, : r * m], top[:, r * m :] @ total.T], [total @ side[:, : r * m], core]])
        return full

    def size(self, state: State) -> float:
        """How far ``state`` is from solving the equations: mismatches of forces, and changes of U that balance asks."""
        if not np.all(np.isfinite(state.mismatch)):
            return np.inf
        m, r, _ = self.shape
        asked = state.imbalance.T.ravel() / self.diagonal[: m * r]
        return max(float(np.abs(state.mismatch).max()), float(np.abs(asked).max(initial=0.0)))

    @cached_property
    def diagonal(self) -> FloatArray:
        """The diagonal of :meth:`matrix`, nearly."""
        m, r, R = self.shape
        orbits, U = self.state.orbits, self.state.roots
        balance, normalisers = np.empty((m, r)), np.empty((R, m))
        inner = np.diag(self.state.cosines)
        for rows in self.blocks():
            balance[rows] = (orbits.pairs[rows] * self.response[rows]) @ U**2
            normalisers[:, rows] = np.einsum("gh,kgh->kg", self.X[rows], self.curvature.rows[:, rows] ** 2)
        balance += (np.diag(self.response) * np.diag(orbits.pairs))[:, None] * U**2
        balance += (orbits.sizes * (1 + np.diag(orbits.others) * inner))[:, None]
        core = np.ones(R) if self.curvature.joint else 1 - normalisers.ravel() / 2
        return np.concatenate([(balance * self.unit[:, None]).T.ravel(), core])

    def rotations(self) -> list[FloatArray]:
        """Changes of U that leave U U' as it is."""
        m, r, R = self.shape
        turns = []
        for c in range(r):
            for d in range(c):
                du = np.zeros((m, r))
                du[:, c], du[:, d] = self.state.roots[:, d], -self.state.roots[:, c]
                turns.append(self.joined(du / self.unit[:, None], np.zeros((R, m))))
        return turns

    def solve(self) -> tuple[FloatArray, FloatArray]:
        """The step: change of the cosines (m, m) and of U (m, r)."""
        right = self.right_side()
        if right.size == 0:
            unknowns = right
        elif right.size <= DENSE:
            matrix = self.matrix()
            scale = 1 / np.abs(matrix).max(axis=1)
            for turn in self.rotations():
                matrix += np.outer(turn / scale, turn / (turn @ turn))
            unknowns = np.linalg.solve(matrix * scale[:, None], right * scale)
        else:
            unknowns = self.krylov(right)
        du, y = self.split(unknowns)
        change = np.empty_like(self.X)
        for rows in self.blocks():
            change[rows] = self.change(rows, du, y)
            change[rows] += self.X[rows] * self.state.forces[rows] * self.state.mismatch[rows]
        return change, du

    def krylov(self, right: FloatArray) -> FloatArray:
        """GMRES on the system scaled by its diagonal."""
        linalg = importlib.import_module("scipy.sparse.linalg")
        scale = 1 / self.diagonal
        operator = linalg.LinearOperator((right.size,) * 2, lambda x: scale * self.apply(x), dtype=np.float64)
        goal = min(1e-3, max(1e-10, 0.1 * self.state.residual))
        found: FloatArray = linalg.gmres(operator, scale * right, rtol=goal, restart=60, maxiter=3)[0]
        return found


def newton(state: State) -> tuple[State, int]:
    """Iterate towards the solution nearest to ``state``; ``residual`` of the result says whether it got there."""
    for count in range(MAX_STEPS):
        if state.residual <= SOLVED or not np.isfinite(state.residual):
            return state, count
        curvature = state.objective.curvature(state.cosines)
        if not isinstance(curvature, RowCurvature) or not np.all((curvature.own + curvature.own.T)[state.free] > 0):
            return state, count
        system = Newton.at(state, curvature)
        try:
            cosines, roots = system.solve()
        except np.linalg.LinAlgError:
            return state, count
        if not (np.all(np.isfinite(cosines)) and np.all(np.isfinite(roots))):
            return state, count
        relative = np.abs(roots) / np.maximum(np.linalg.norm(state.roots, axis=1, keepdims=True), 1e-300)
        before = system.size(state)
        length = min(1.0, LONGEST / float(relative.max(initial=1e-300)))
        while True:
            trial = state.moved(length, cosines, roots)
            if np.abs(trial.cosines).max() <= FARTHEST and system.size(trial) <= (1 - length / 8) * before:
                break
            length /= 2
            if length < SHORTEST:
                return state, count
        state = trial
    return state, MAX_STEPS


def start(objective: Objective, orbits: Orbits) -> State | None:
    """The regular simplex; the root of its forces if they all repel, and no root at all if some attract."""
    m, n = orbits.n_orbits, orbits.sizes
    cosines = np.full((m, m), simplex_cosine(orbits.n_classes))
    state = State(objective, orbits, cosines, np.zeros((m, 0)), np.zeros(m, dtype=bool))
    if not isinstance(state.attraction, float):
        return state
    forces = state.forces[state.free]
    if not np.all(forces > 0):
        return None
    # least squares: log D_ab = log u_a + log u_b over all pairs of different classes
    log = np.zeros((m, m))
    log[state.free] = np.log(forces / orbits.pairs[state.free])
    row = (orbits.others * log).sum(axis=1)
    total = n @ row / (2 * orbits.n_classes - 2)
    roots = np.exp((row - total) / max(orbits.n_classes - 2, 1))
    if orbits.n_classes == 2:
        roots = np.full(m, np.exp(total / 2))
    return State(objective, orbits, cosines, roots[:, None], state.held)


def solve_dual(objective: Objective, orbits: Orbits) -> Solution | None:
    """The optimum, if its dual matrix has low rank; None if Newton's method finds none such."""
    state = start(objective, orbits) if objective.smooth else None
    steps = 0
    for _ in range(MAX_ROUNDS):
        if state is None:
            return None
        state, taken = newton(state)
        steps += taken
        cosines = feasible(state) if state.residual <= ACCEPTABLE else None
        if cosines is not None:
            return Solution(cosines, "dual", steps, note=explain(state))
        cosines = minority_collapse(objective, orbits)
        if cosines is not None:
            return Solution(cosines, "dual", steps, note="all smaller classes in one point is optimal, by its own dual")
        state = lower_rank(state)
    return None


def explain(state: State) -> str:
    """Why the dual route was right for this optimum."""
    columns, held = state.roots.shape[1], int(state.held.sum())
    if columns == 0:
        return "every force vanishes, so the cosines follow one by one"
    spread = "nearly all directions are used" if columns == 1 else f"all but {columns} directions are used"
    collapsed = f", {held} group{'' if held == 1 else 's'} of equal classes collapsed" if held else ""
    return f"smooth loss, {spread}{collapsed}: Newton's method on the optimality conditions"


def feasible(state: State) -> FloatArray | None:
    """The cosines, made to annul U exactly, if they are a Gram matrix and no held orbit wants to open."""
    orbits, n = state.orbits, state.orbits.sizes
    inner = np.diag(state.forces - state.attraction) / np.maximum(np.diag(orbits.pairs), 1)
    strength = np.sum(state.roots**2, axis=1)
    if np.any(state.held & (strength - inner < -ROUNDING * strength)):
        return None
    blocks = orbits.gram_blocks(state.cosines)
    quotient = (blocks.quotient + blocks.quotient.T) / 2
    if state.roots.shape[1]:
        basis = np.linalg.qr(np.sqrt(n)[:, None] * state.roots)[0]
        quotient -= basis @ (basis.T @ quotient)
        quotient -= (quotient @ basis) @ basis.T
        quotient = (quotient + quotient.T) / 2
    contrast = np.where(state.held | (n == 1), 0.0, blocks.contrast)
    if contrast.min() < -ROUNDING or not Blocks(quotient, np.zeros(0)).is_psd(ROUNDING):
        return None
    return orbits.cosines_of(Blocks(quotient, np.maximum(contrast, 0.0)))


def minority_collapse(objective: Objective, orbits: Orbits) -> FloatArray | None:
    """All classes opposite the one majority class, if that is optimal: its S, which is known exactly, tells."""
    if orbits.sizes[0] > 1:
        return None
    sign = np.where(np.arange(orbits.n_orbits) == 0, 1.0, -1.0)
    cosines = np.outer(sign, sign)
    dual = dual_blocks(orbits, cosines, objective.gradient(cosines))
    slack = ROUNDING * float(np.abs(dual.quotient).max())
    return cosines if dual.contrast.min() >= -slack and dual.is_psd(slack) else None


def lower_rank(state: State) -> State | None:
    """A start with more columns of U: the nearest Gram matrix, the orbits that have collapsed in it, and the part of
    its dual matrix on its null space."""
    orbits = state.orbits
    cosines = orbits.nearest_gram(state.cosines)
    blocks = orbits.gram_blocks(cosines)
    held = (orbits.sizes > 1) & (blocks.contrast <= NULL)
    values, vectors = np.linalg.eigh(blocks.quotient)
    null = vectors[:, values <= NULL]
    if null.shape[1] > MAX_COLUMNS:
        return None
    dual = dual_blocks(orbits, cosines, state.objective.gradient(cosines)).quotient
    strength, turn = np.linalg.eigh(null.T @ dual @ null)
    roots = (null @ turn * np.sqrt(np.maximum(strength, 0.0)))[:, strength > 0] / np.sqrt(orbits.sizes)[:, None]
    return State(state.objective, orbits, cosines, roots, held)
