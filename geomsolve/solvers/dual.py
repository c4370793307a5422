"""The dual route: Newton's method on the optimality conditions, for optima of nearly full rank.

At an optimum G of  minimise F(G), G psd, G_aa = 1,  the dual matrix S = D + diag(mu) of ``proof/certificate.py`` is psd
and G S = 0.  An optimum of rank K - 1 has an S of rank one, S = u u', so that everything follows from u:

    D_ab(G) = u_a u_b   for a != b   (the forces match),        G u = 0   (they balance),

and with S = U U', U having r columns, an optimum of rank K - r.  These are solved for the cosines and U together.
The forces of contrastive losses are products of exponentials, so it is their logarithms that are matched, which
makes the first equation affine but for the losses' normalisers (derived for this project; docs/sources.md).
With T >= 0 the part of the forces that attracts (``Objective.attraction``),

    log(D + T) = log(U U' + T).

The steps are those of ``solvers/newton.py``.  An orbit driven past C_gg = 1 has collapsed: its cosine is held at 1 and
S gains a multiplier on its contrast.  Where G comes out indefinite, U gains columns.

Everything is in orbit coordinates: Phi, Psi are the two sides times ``pairs``.  The answer is a proposal:
``proof/certificate.py`` proves it or does not.

Symbols: U ``roots``, C ``cosines``, Phi ``forces``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geomsolve.gram.orbits import Blocks, Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import collapse_is_optimal, dual_blocks
from geomsolve.solvers.base import Solution
from geomsolve.solvers.newton import State, newton

ACCEPTABLE = 1e-7
"""Relative residual below which an iteration that has stalled, at rounding level, still counts as converged."""

ROUNDING = 1e-13
"""Eigenvalues of G, and multipliers of held orbits relative to their forces, that may be negative by rounding."""

NULL = 1e-9
"""Eigenvalues of a repaired Gram matrix up to which it has a null vector there."""

MAX_ROUNDS = 6
MAX_COLUMNS = 6
"""Columns of U that are tried: optima of lower rank are the manifold solver's."""

MOST_ORBITS = 3000
"""Orbits up to which lower ranks are tried: they take eigenvectors."""


def rootless(objective: Objective, orbits: Orbits, cosines: FloatArray) -> State:
    """The state at ``cosines`` (m, m) without any root."""
    pull, m = objective.attraction, orbits.n_orbits
    attraction = (pull + pull.T) / 2 if isinstance(pull, np.ndarray) else pull
    return State(objective, orbits, attraction, cosines, np.zeros((m, 0)), np.zeros(m, dtype=bool))


def start(objective: Objective, orbits: Orbits) -> State | None:
    """The regular simplex; the root of its forces if they all repel, and no root at all if some attract."""
    m, n = orbits.n_orbits, orbits.sizes
    state = rootless(objective, orbits, orbits.regular_simplex())
    attraction = state.attraction
    if not isinstance(attraction, float):
        return state
    # least squares: log D_ab = log u_a + log u_b over all pairs of different classes
    log = state.forces.copy()
    log[state.fixed, state.fixed] = 1.0
    if not np.all(log > 0):
        return None
    np.log(log, out=log)
    log -= np.log(n) + np.log(n)[:, None]
    inner = np.log(np.diag(state.forces)[n > 1] / (n * (n - 1))[n > 1])
    log[n > 1, n > 1] = inner
    row = log @ n - np.diag(log)
    total = n @ row / (2 * orbits.n_classes - 2)
    roots = np.exp((row - total) / max(orbits.n_classes - 2, 1))
    if orbits.n_classes == 2:
        roots = np.full(m, np.exp(total / 2))
    return replace(state, roots=roots[:, None])


def solve_dual(objective: Objective, orbits: Orbits, near: FloatArray | None = None) -> Solution | None:
    """The optimum, if its dual matrix has low rank; None if Newton's method finds none such.

    ``near`` (m, m): the optimum of an objective that differs little, to start from instead of the regular simplex.
    """
    if not objective.smooth:
        return None
    state = start(objective, orbits) if near is None else lower_rank(rootless(objective, orbits, near))
    inside = near is not None and orbits.n_orbits <= MOST_ORBITS and full_rank(orbits, near)
    steps = 0
    for _ in range(MAX_ROUNDS):
        if state is None:
            return None
        state, taken = newton(state)
        steps += taken
        cosines = feasible(replace(state)) if state.residual <= ACCEPTABLE else None
        if cosines is not None:
            return Solution(cosines, "dual", steps, note=explain(state))
        if steps == taken and orbits.sizes[0] == 1 and collapse_is_optimal(objective, orbits):
            sign = np.where(np.arange(orbits.n_orbits) == 0, 1.0, -1.0)
            return Solution(np.outer(sign, sign), "dual", steps, note="the collapse of all smaller classes is optimal")
        state = (pushed(objective, orbits, near) if inside and near is not None else None) or lower_rank(state)
        inside = False
    return None


def pushed(objective: Objective, orbits: Orbits, inside: FloatArray) -> State | None:
    """A start where the forces push cosines (m, m) of full rank; None where some orbits would not take part."""
    state = lower_rank(rootless(objective, orbits, edge(objective, orbits, inside)))
    return state if state is not None and np.all(np.abs(state.roots).sum(axis=1) > 0) else None


def full_rank(orbits: Orbits, cosines: FloatArray) -> bool:
    """Whether the Gram matrix of cosines (m, m) is well away from singular."""
    blocks = orbits.gram_blocks(cosines)
    least = float(np.linalg.eigvalsh(blocks.quotient)[0])
    return min(least, float(blocks.contrast[orbits.sizes > 1].min(initial=1.0))) > NULL


def edge(objective: Objective, orbits: Orbits, inside: FloatArray) -> FloatArray:
    """Where the forces at cosines (m, m) of full rank, acting on each pair alone, first make a Gram matrix singular:
    near the optimum of an objective that has a force more than that of which ``inside`` is the optimum."""
    slope = objective.gradient(inside)
    along = np.where(orbits.pairs > 0, -(slope + slope.T) / 2 / np.maximum(orbits.pairs, 1), 0.0)
    there, change = orbits.gram_blocks(inside), orbits.gram_blocks(inside + along)
    root = np.linalg.cholesky(there.quotient)
    turned = np.linalg.solve(root, np.linalg.solve(root, change.quotient - there.quotient).T)
    rates = [-float(np.linalg.eigvalsh(turned)[0])]
    several = orbits.sizes > 1
    rates += (1 - change.contrast[several] / there.contrast[several]).tolist()
    fastest = max(rates)
    return inside + along / fastest if fastest > 0 else inside


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
    if np.any(state.held):
        inner = np.diag(state.objective.gradient(state.cosines)) / np.maximum(n * (n - 1), 1)
        strength = np.sum(state.roots**2, axis=1)
        if np.any(state.held & (strength - inner < -ROUNDING * strength)):
            return None
    blocks = orbits.gram_blocks(state.cosines)
    quotient = blocks.quotient
    quotient += quotient.T
    quotient /= 2
    if state.roots.shape[1]:
        basis = np.linalg.qr(np.sqrt(n)[:, None] * state.roots)[0]
        quotient -= basis @ (basis.T @ quotient)
        quotient -= (quotient @ basis) @ basis.T
        quotient += quotient.T
        quotient /= 2
    contrast = np.where(state.held | (n == 1), 0.0, blocks.contrast)
    if not Blocks(quotient, contrast).is_psd(ROUNDING):
        return None
    return orbits.cosines_of(Blocks(quotient, np.maximum(contrast, 0.0)))


def lower_rank(state: State) -> State | None:
    """A start with more columns of U: the nearest Gram matrix, the orbits that have collapsed in it, and the part of
    its dual matrix on its null space."""
    orbits = state.orbits
    if orbits.n_orbits > MOST_ORBITS:
        return None
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
    return replace(state, cosines=cosines, roots=roots, held=held)
