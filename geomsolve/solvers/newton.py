"""Newton's method on the optimality conditions of ``solvers/dual.py``: one state, one linear system a step.

The equations are  log(D + T) = log(U U' + T)  for the forces, and  G U = 0  for their balance.  With the curvature
H = own - sum_r rows_r rows_r' (:class:`RowCurvature`), eliminating the change of the cosines leaves as unknowns the
change of U and of the few normalisers y of each row, (r + R) m in all: a system, factorised while small, given to
GMRES beyond (Newton-Krylov), which applies it by its m x m factors, in single precision.

Everything is in orbit coordinates: Phi, Psi are the two sides times ``pairs``.

Symbols: U ``roots``, C ``cosines``, Phi ``forces``, log(Psi/Phi) ``mismatch``, n_g G U ``imbalance``, 1/own ``X``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import BoolArray, FloatArray, IntArray
from geomsolve.objectives.base import Objective, RowCurvature
from geomsolve.solvers.gmres import gmres

SOLVED = 1e-12
"""Largest relative residual at which Newton's method stops."""

FORCING = 0.01
"""What GMRES may leave of the right side, relative to the residual of the state."""

DIRECT = 600
"""Unknowns up to which the Newton system is factorised; beyond, GMRES."""

SINGLE = 600
"""Unknowns up to which GMRES has the Newton system in double precision."""

FACTORED = 2000
"""Unknowns up to which the Newton system is factorised where GMRES fails."""

FARTHEST = 4.0
"""Largest cosine that an iterate may have: it is a Gram matrix only in the end, but never far from one."""

SHORTEST = 1e-3
"""Fraction of a Newton step at which the search along it ends."""

MAX_STEPS = 60

LONGEST = 2.0
"""Largest change of log u in one step."""

MOST_MISMATCH = 600.0
"""Largest logarithm of a quotient of forces from which a step is made; e to it is a number."""

BLOCK = 2**16
"""Entries of an m x m matrix that are worked on at once."""


@dataclass(frozen=True)
class State:
    """Where Newton's method stands: ``cosines`` (m, m), ``roots`` (m, r), ``held`` (m,) orbits held at C_gg = 1;
    ``attraction`` is the objective's, symmetrised."""

    objective: Objective
    orbits: Orbits
    attraction: FloatArray | float
    cosines: FloatArray
    roots: FloatArray
    held: BoolArray

    @property
    def fixed(self) -> IntArray:
        """Orbits whose inner cosine is no unknown."""
        return np.flatnonzero((self.orbits.sizes == 1) | self.held)

    @cached_property
    def forces(self) -> FloatArray:
        """Phi = pairs (D + T), (m, m)."""
        slope = self.objective.gradient(self.cosines)
        slope = slope + slope.T
        slope /= 2
        slope += self.attraction
        return slope

    @cached_property
    def mismatch(self) -> FloatArray:
        """log(Psi / Phi) where a cosine is free, else 0; nan or inf where a side is not positive."""
        many = self.orbits.sizes[:, None] * self.roots
        wanted: FloatArray = many @ many.T
        wanted[np.diag_indices_from(wanted)] -= np.sum(many * self.roots, axis=1)
        wanted += self.attraction
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            wanted /= self.forces
            np.log(wanted, out=wanted)
        wanted[self.fixed, self.fixed] = 0.0
        return wanted

    @cached_property
    def imbalance(self) -> FloatArray:
        """n_g (G U)_g, (m, r)."""
        n = self.orbits.sizes[:, None]
        around = self.cosines @ (n * self.roots) - np.diag(self.cosines)[:, None] * self.roots
        imbalance: FloatArray = n * (self.roots + around)
        return imbalance

    @cached_property
    def residual(self) -> float:
        """The largest relative residual: of a force, or of the forces' balance at an orbit."""
        worst = float(np.abs(self.mismatch).max())
        if not np.isfinite(worst):
            return np.inf
        if self.roots.shape[1]:
            size = self.orbits.sizes @ np.abs(self.roots) / self.orbits.n_classes
            scale = self.orbits.sizes[:, None] * (np.abs(self.roots) + size)
            worst = max(worst, float(np.max(np.abs(self.imbalance) / np.maximum(scale, np.finfo(float).tiny))))
        return worst

    def moved(self, length: float, step: Step) -> State:
        """The state after ``length`` times a step; the roots of forces that all repel keep their sign."""
        if isinstance(self.attraction, float) and self.roots.shape[1] == 1:
            roots = self.roots * np.exp(length * step.roots / self.roots)
        else:
            roots = self.roots + length * step.roots
        cosines = length * step.cosines
        cosines += self.cosines
        return replace(self, cosines=cosines, roots=roots)


@dataclass(frozen=True)
class Step:
    """Change of the cosines (m, m) and of the roots (m, r); ``relative`` is the largest change of a root compared with
    its row, ``scale`` (r m,) turns an imbalance into the change of the roots that it asks for."""

    cosines: FloatArray
    roots: FloatArray
    relative: float
    scale: FloatArray

    def size(self, state: State) -> float:
        """How far ``state`` is from solving the equations: mismatches of forces, and changes of U that balance asks."""
        worst = float(np.abs(state.mismatch).max())
        asked = state.imbalance.T.ravel() * self.scale
        return max(worst, float(np.abs(asked).max(initial=0.0))) if np.isfinite(worst) else np.inf


class Newton:
    """The linear system of one step; LinAlgError where the loss has no curvature along some cosine, or forces differ
    beyond all numbers.

    Its unknowns are the change of U, each row in units of its size ``unit`` (m,), and the normalisers y in units
    ``pull`` (R, m); its equations, scaled by ``scale``, are those of balance and the definition of y.  ``X`` (m, m)
    is 1/own where a cosine is free, else 0.
    """

    def __init__(self, state: State, curvature: RowCurvature) -> None:
        if np.abs(state.mismatch).max() > MOST_MISMATCH:
            raise np.linalg.LinAlgError("forces differ by more than a quotient of numbers can say")
        self.state, self.rows, self.joint = state, curvature.rows, curvature.joint
        own = curvature.own + curvature.own.T
        own[state.fixed, state.fixed] = np.inf
        if not np.all(own > 0):
            raise np.linalg.LinAlgError("the loss is straight along some cosine")
        self.X = np.divide(2.0, own, out=own)
        unit = np.linalg.norm(state.roots, axis=1)
        self.unit = np.maximum(unit, 1e-8 * unit.max(initial=0.0))
        self.m, self.r, self.R = self.X.shape[0], state.roots.shape[1], self.rows.shape[0]
        self.n_unknowns = self.r * self.m + self.R * (1 if self.joint else self.m)
        height = max(1, BLOCK // self.m)
        self.blocks = [slice(i, min(i + height, self.m)) for i in range(0, self.m, height)]
        self.pull = np.empty((self.R, self.m))
        for part in self.blocks:
            self.pull[:, part] = (np.abs(self.rows[:, part]) * (self.X[part] * state.forces[part])).sum(axis=2)
        if self.joint:
            self.pull[:] = self.pull.sum(axis=1, keepdims=True)
        self.pull[self.pull == 0] = 1.0  # a row may have fewer normalisers than others

    def pairs(self, part: slice) -> FloatArray:
        """Some rows of ``orbits.pairs``."""
        n = self.state.orbits.sizes.astype(np.float64)
        pairs = np.outer(n[part], n)
        pairs[np.arange(pairs.shape[0]), np.arange(self.m)[part]] -= n[part]
        return pairs

    def base(self, part: slice) -> FloatArray:
        """Some rows of the change of the cosines that matches the forces while U and y stay."""
        base: FloatArray = self.X[part] * self.state.forces[part]
        base *= self.state.mismatch[part]
        return base

    def response(self, part: slice, pairs: FloatArray) -> FloatArray:
        """Some rows of dC/d(U U')."""
        response = np.exp(-self.state.mismatch[part])
        response *= self.X[part]
        response *= pairs
        return response

    def matrix(self) -> tuple[FloatArray, FloatArray]:
        """The scaled matrix and ``scale`` (both by unknown)."""
        size, m = self.n_unknowns, self.m
        full = np.zeros((size, size))
        scale = np.empty(size)
        wide = 1 if self.joint else m
        U, n = self.state.roots, self.state.orbits.sizes
        for part in self.blocks:
            places = np.arange(m)[part]
            own = (np.arange(places.size), places)
            pairs, X, rows = self.pairs(part), self.X[part], self.rows[:, part]
            Q = self.response(part, pairs)
            PQ, PX = pairs * Q, pairs * X
            turned = [self.rows[j][:, part].T for j in range(self.R)]
            for c in range(self.r):
                here = slice(c * m + part.start, c * m + part.stop)
                for d in [c, *(d for d in range(self.r) if d != c)]:
                    block = PQ * U[part, d, None] * U[:, c]
                    block[own] += PQ @ (U[:, c] * U[:, d])
                    if c == d:
                        block += pairs * self.state.cosines[part]
                        block[own] += n[part]
                    block *= self.unit
                    if c == d:
                        largest = np.abs(block).max(axis=1)
                        if not largest.all():
                            raise np.linalg.LinAlgError("nothing here holds some orbit")
                        scale[here] = 1 / largest
                    full[here, d * m : (d + 1) * m] = block * scale[here, None]
                for j in range(self.R):
                    block = PX * turned[j] * U[:, c]
                    block[own] += (PX * rows[j]) @ U[:, c]
                    block *= self.pull[j] / 2 * scale[here, None]
                    at = self.r * m + j * wide
                    full[here, at : at + wide] = block.sum(axis=1, keepdims=True) if self.joint else block
            for k in range(self.R):
                at = self.r * m + k * wide
                here = slice(at, at + 1) if self.joint else slice(at + part.start, at + part.stop)
                scale[here] = 1 / self.pull[k, :1] if self.joint else 1 / self.pull[k, part]
                for d in range(self.r):
                    block = rows[k] * Q
                    inner = block @ U[:, d]
                    block *= U[part, d, None]
                    block[own] += inner
                    block *= -self.unit * scale[here, None]
                    full[here, d * m : (d + 1) * m] += block.sum(axis=0) if self.joint else block
                for j in range(self.R):
                    block = X * rows[k] * turned[j]
                    block[own] += (X * rows[k] * rows[j]).sum(axis=1)
                    block *= -self.pull[j] / 2 * scale[here, None]
                    at = self.r * m + j * wide
                    full[here, at : at + wide] += block.sum() if self.joint else block
        normalisers = np.arange(self.r * m, size)
        full[normalisers, normalisers] += 1
        return full, scale

    def operator(self) -> tuple[Callable[[FloatArray], FloatArray], FloatArray]:
        """The same linear map by its m x m factors, 2 + 2R + R^2 of them, and ``scale``: here balance is scaled by its
        diagonal.  The factors are in single precision where they are large, which only costs a step more."""
        U, n, m = self.state.roots, self.state.orbits.sizes[:, None], self.m
        dtype = np.float64 if self.n_unknowns <= SINGLE else np.float32
        turn, rest = np.empty((2, m, m), dtype)
        push, pulled = np.empty((2, self.R, m, m), dtype)
        mixed = np.empty((self.R, self.R, m, m), dtype)
        felt, norms = np.empty((self.R, m, self.r)), np.empty((self.R, m, self.r))
        own, crossed = np.empty((m, self.r * self.r)), np.empty((self.R, self.R, m))
        both = (U[:, :, None] * U[:, None, :]).reshape(m, -1)
        for part in self.blocks:
            pairs, X, rows = self.pairs(part), self.X[part], self.rows[:, part]
            Q = self.response(part, pairs)
            for k in range(self.R):
                weighed = X * rows[k]
                for j in range(self.R):
                    mixed[k, j, part] = weighed * self.rows[j][:, part].T
                    crossed[k, j, part] = np.einsum("gh,gh->g", weighed, rows[j])
                weighed *= pairs
                push[k, part] = weighed
                felt[k, part] = weighed @ U
                np.multiply(rows[k], Q, out=weighed)
                pulled[k, part] = weighed
                norms[k, part] = weighed @ U
            Q *= pairs
            turn[part] = Q
            own[part] = Q @ both
            pairs *= self.state.cosines[part]
            rest[part] = pairs
        own = own.reshape(m, self.r, self.r)
        size = np.diagonal(own, axis1=1, axis2=2) + n * (1 + np.abs(np.diag(self.state.cosines)[:, None]) * (n - 1))
        pull = self.pull[:, :1] if self.joint else self.pull
        scale = np.concatenate([1 / (size * self.unit[:, None]).T.ravel(), 1 / pull.ravel()])

        def apply(unknowns: FloatArray) -> FloatArray:
            du, y = self.split(unknowns)
            half = np.broadcast_to(y / 2, (self.R, m))
            du, low = np.ascontiguousarray(du), du.astype(dtype)
            balance = n * du + rest @ low + np.einsum("gcd,gd->gc", own, du)
            around = (turn @ (du[:, None, :] * U[:, :, None]).reshape(m, -1).astype(dtype)).reshape(m, self.r, self.r)
            balance += np.einsum("gcd,gd->gc", around, U)
            normalisers = np.empty((self.R, m))
            for k in range(self.R):
                balance += half[k, :, None] * felt[k] + push[k].T @ (half[k, :, None] * U).astype(dtype)
                normalisers[k] = np.sum(norms[k] * du + U * (pulled[k] @ low), axis=1)
                for j in range(self.R):
                    normalisers[k] += crossed[k, j] * half[j] + mixed[k, j] @ half[j].astype(dtype)
            normalisers = y - (normalisers.sum(axis=1, keepdims=True) if self.joint else normalisers)
            applied: FloatArray = scale * np.concatenate([balance.T.ravel(), normalisers.ravel()])
            return applied

        return apply, scale

    def split(self, unknowns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The change of U (m, r), and the normalisers y (R, m), or (R, 1) if they are shared."""
        du = unknowns[: self.r * self.m].reshape(self.r, self.m).T * self.unit[:, None]
        y = unknowns[self.r * self.m :].reshape(self.R, 1 if self.joint else self.m)
        return du, y * self.pull[:, : y.shape[1]]

    def change(self, part: slice, du: FloatArray, y: FloatArray) -> FloatArray:
        """Some rows of the change of the cosines that ``du`` and ``y`` bring about."""
        U = self.state.roots
        change: FloatArray = du[part] @ U.T
        change += U[part] @ du.T
        change *= self.pairs(part)
        change *= np.exp(-self.state.mismatch[part])
        for rows, normaliser in zip(self.rows, np.broadcast_to(y / 2, self.pull.shape), strict=True):
            change += normaliser[part, None] * rows[part]
            change += normaliser * rows[:, part].T
        change *= self.X[part]
        return change

    def right_side(self) -> FloatArray:
        """What the step has to bring about, by equation (not scaled)."""
        balance, normalisers = -self.state.imbalance, np.empty((self.R, self.m))
        for part in self.blocks:
            base = self.base(part)
            balance[part] -= (self.pairs(part) * base) @ self.state.roots
            normalisers[:, part] = np.einsum("kgh,gh->kg", self.rows[:, part], base)
        if self.joint:
            normalisers = normalisers.sum(axis=1, keepdims=True)
        return np.concatenate([balance.T.ravel(), normalisers.ravel()])

    def rotations(self) -> list[FloatArray]:
        """Changes of U that leave U U' as it is, as unknowns."""
        turns = []
        for c in range(self.r):
            for d in range(c):
                turn = np.zeros(self.n_unknowns)
                turn[c * self.m : (c + 1) * self.m] = self.state.roots[:, d] / self.unit
                turn[d * self.m : (d + 1) * self.m] = -self.state.roots[:, c] / self.unit
                turns.append(turn / np.linalg.norm(turn))
        return turns

    def step(self) -> Step:
        """The step; raises LinAlgError where there is none."""
        unknowns: FloatArray = np.zeros(0)
        scale, converged = np.zeros(0), False
        turns = self.rotations()
        if self.n_unknowns > DIRECT:
            apply, scale = self.operator()
            unknowns, converged = krylov(
                lambda x: apply(x) + sum(turn * (turn @ x) for turn in turns),
                scale * self.right_side(),
                self.state.residual,
            )
            del apply
        if 0 < self.n_unknowns <= FACTORED and not converged:
            matrix, scale = self.matrix()
            for turn in turns:
                matrix += np.outer(turn, turn)
            unknowns = np.asarray(np.linalg.solve(matrix, scale * self.right_side()), dtype=np.float64)
            del matrix
        du, y = self.split(unknowns)
        change = np.empty_like(self.X)
        for part in self.blocks:
            change[part] = self.change(part, du, y) + self.base(part)
        U = self.state.roots
        relative = np.abs(du) / np.maximum(np.linalg.norm(U, axis=1, keepdims=True), np.finfo(float).tiny)
        return Step(change, du, float(relative.max(initial=0.0)), scale[: self.r * self.m])


def krylov(apply: Callable[[FloatArray], FloatArray], right: FloatArray, residual: float) -> tuple[FloatArray, bool]:
    """GMRES on a linear map, as exactly as a step from ``residual`` needs it, and whether it got there."""
    return gmres(apply, right, min(1e-3, max(1e-10, FORCING * residual, FORCING * SOLVED / residual)))


def newton(state: State) -> tuple[State, int]:
    """Iterate towards the solution nearest to ``state``; ``residual`` of the result says whether it got there."""
    state = replace(state)  # a copy of its own, for the same reason as below
    for count in range(MAX_STEPS):
        if state.residual <= SOLVED or not np.isfinite(state.residual):
            return state, count
        curvature = state.objective.curvature(state.cosines)
        if not isinstance(curvature, RowCurvature):
            return state, count
        try:
            system = Newton(state, curvature)
            del curvature  # what a step needs of it is in the system now, and memory is needed for the step
            step = system.step()
            del system
        except np.linalg.LinAlgError:
            return state, count
        if not (np.all(np.isfinite(step.cosines)) and np.all(np.isfinite(step.roots))):
            return state, count
        before = step.size(state)
        state = replace(state)  # without what it has computed: memory is needed for the next one
        length = min(1.0, LONGEST / max(step.relative, LONGEST))
        while True:
            trial = state.moved(length, step)
            if np.abs(trial.cosines).max() <= FARTHEST and step.size(trial) <= (1 - length / 8) * before:
                break
            length /= 2
            if length < SHORTEST:
                return state, count
        state = trial
        del step, trial
    return state, MAX_STEPS
