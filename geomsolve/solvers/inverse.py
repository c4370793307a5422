"""Which weights make a given geometry optimal: the inverse of the program that all other solvers solve.

    F = sum_a w_a log sum_b v_b E_ab,   E_ab = e^{(G_ab - 1 + m_ab)/tau},  E_aa = 1      (``objectives/rebalanced.py``)

A Gram matrix G is optimal iff S = D + diag(mu) is psd and S G = 0, that is, iff the forces between classes cancel:

    D_ab = (N Y N')_ab  for a != b,  Y psd,        D_ab = (w_a s_ab + w_b s_ba) / (2 tau),   s_ab = v_b E_ab / Z_a,

N an orthonormal basis of the null space of G and Z_a = sum_b v_b E_ab.

    anchors        w: linear in (w, Y), a semidefinite program; a linear one where N is one vector, as for the simplex.
                   Of several solutions one in their midst: class weights and Y as far from singular as can be.
    batches        how often each of given batches comes: linear likewise, with D^B the forces within a batch.  Of
                   several solutions one with as many classes in a batch on the average as can be.
    farkas         multipliers that refute every w, or every force whatever is changed (``proof/farkas.py``)
    proportionate  v, or w and v: least squares of 1 - (N Y N')_ab / D_ab with Y = L L', from several starts
    pair_margins   m: for forces T = N Y N' > 0 that cancel, E_ab = 2 tau T_ab / (x_a v_b + x_b v_a) with x = w / Z;
                   K equations for Z, and the scale of T such that the mean margin is 0

Nothing here is taken for an answer: weights are fed back to the loss, and multipliers are checked.  Derived for this
project.

Symbols: w ``anchors``, v ``denominators``, E ``exponentials``, N ``basis``, s / tau ``rates``, T ``forces``.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.solvers.conic import attempts, load_cvxpy

STARTS = 12
"""Starts of the least squares that is not convex; of many classes, beyond :data:`MANY`, the first two."""

MANY = 20

STEPS = 200
"""Most steps from each."""

MATCHED = 1e-10
"""Sum of squares of relative differences of forces at which no further start is tried."""

NONE = 1e-12
"""Masses up to which a class is no anchor."""

RARE = 1e-7
"""Chances up to which a batch does not come."""

INNER = 0.1
"""How far below zero N' Lambda N is to be, relative to the least gain, so that a proof survives rounding."""

DIGITS = 8
"""Significant digits of the multipliers of a proof."""


def null_basis(gram: FloatArray, threshold: float) -> FloatArray:
    """Orthonormal basis (K, k) of the eigenvectors of ``gram`` (K, K) with eigenvalues up to ``threshold``."""
    values, vectors = np.linalg.eigh(gram)
    basis: FloatArray = vectors[:, values <= threshold]
    return basis


def _pairs(n: int) -> tuple[Any, Any]:
    return np.triu_indices(n, 1)


def _products(basis: FloatArray) -> FloatArray:
    """(P, k * k): the row of a pair a < b times the entries of a symmetric Y is (N Y N')_ab."""
    first, second = _pairs(basis.shape[0])
    products = np.einsum("pi,pj->pij", basis[first], basis[second])
    both: FloatArray = ((products + products.transpose(0, 2, 1)) / 2).reshape(first.size, -1)
    return both


def rows_of(pushes: FloatArray) -> FloatArray:
    """(P, n): the row of a pair times masses is the force between the pair; ``pushes`` (n, K, K) of a unit of each."""
    first, second = _pairs(pushes.shape[1])
    rows: FloatArray = ((pushes[:, first, second] + pushes[:, second, first]) / 2).T
    return rows


def each_anchor(rates: FloatArray) -> FloatArray:
    """``pushes`` (K, K, K) of each anchor: its own row of ``rates`` (K, K)."""
    pushes: FloatArray = np.eye(len(rates))[:, :, None] * rates
    return pushes


def _sizes(rows: FloatArray) -> FloatArray:
    """(P, 1): the sum of each row; of a row of nothing, the largest."""
    sums = rows.sum(axis=1, keepdims=True)
    sizes: FloatArray = np.where(sums > 0, sums, sums.max())
    return sizes


def batch_chances(pushes: FloatArray, basis: FloatArray, counts: FloatArray) -> FloatArray | None:
    """c (n,) >= 0, sum 1, under which the forces of batches with ``pushes`` (n, K, K) cancel; None where none was
    found.  ``counts`` (n,): classes in each batch."""
    n, k = len(pushes), basis.shape[1]
    rows = rows_of(pushes)
    scale = _sizes(rows)
    rows, products = rows / scale, _products(basis) / scale
    products = products / np.abs(products).max()
    cp = load_cvxpy()
    chances, inner = cp.Variable(n, nonneg=True), cp.Variable((k, k), PSD=True)
    rules = [rows @ chances == products @ cp.vec(inner, order="C"), cp.sum(chances) == 1]
    system = np.vstack([np.hstack([rows, -products]), np.concatenate([np.ones(n), np.zeros(k * k)])])
    wanted = np.concatenate([np.zeros(len(rows)), [1.0]])
    for _ in attempts(cp.Problem(cp.Maximize(counts @ chances), rules)):
        found = np.concatenate([chances.value, np.ravel(inner.value)])
        if not np.all(np.isfinite(found)):
            continue
        for least in (RARE, 0.0):
            kept = np.concatenate([found[:n] > least, np.ones(k * k, dtype=bool)])
            refined = np.where(kept, found, 0.0)
            refined[kept] += np.linalg.lstsq(system[:, kept], wanted - system @ refined, rcond=None)[0]
            left = float(np.abs(wanted - system @ refined).max())
            if left < MATCHED and refined[:n].min() >= 0:
                often: FloatArray = refined[:n] / refined[:n].sum()
                return often
    return None


def anchor_masses(rates: FloatArray, basis: FloatArray, drawn: FloatArray) -> FloatArray | None:
    """w (K,) >= 0, sum 1, under which the forces of ``rates`` (K, K) cancel; None where the program left none.

    ``drawn`` (K,): the masses to which class weights are relative.
    """
    n, k = basis.shape
    if k == 0:
        return None
    rows = rows_of(each_anchor(rates))
    scale = rows.sum(axis=1, keepdims=True)
    rows, products = rows / scale, _products(basis) / scale
    products = products / np.abs(products).max()
    cp = load_cvxpy()
    masses, least, inner = cp.Variable(n, nonneg=True), cp.Variable(nonneg=True), cp.Variable((k, k), PSD=True)
    rules = [rows @ masses == products @ cp.vec(inner, order="C"), cp.sum(masses) == 1, masses >= least * drawn]
    midst = [*rules, inner - least / n * np.eye(k) >> 0]
    system = np.vstack([np.hstack([rows, -products]), np.concatenate([np.ones(n), np.zeros(k * k)])])
    wanted = np.concatenate([np.zeros(len(rows)), [1.0]])
    best: tuple[float, FloatArray] | None = None
    for program in (midst, rules):
        for _ in attempts(cp.Problem(cp.Maximize(least), program)):
            found = np.concatenate([masses.value, np.ravel(inner.value)])
            if not np.all(np.isfinite(found)):
                continue
            found = found + np.linalg.lstsq(system, wanted - system @ found, rcond=None)[0]
            left = float(np.abs(wanted - system @ found).max()) + max(0.0, -float(found[:n].min()))
            if best is None or left < best[0]:
                best = left, np.where(found[:n] > NONE, found[:n], 0.0)
            if left < MATCHED:
                break
        if best is not None and best[0] < MATCHED and best[1].min() > 0:
            break
    return None if best is None else best[1] / best[1].sum()


def least_squares_masses(rates: FloatArray, basis: FloatArray) -> FloatArray:
    """w (K,) >= 0, sum 1, whose forces cancel as nearly as a Y that is a multiple of the identity lets them."""
    rows = rows_of(each_anchor(rates))
    scale = rows.sum(axis=1, keepdims=True)
    k = basis.shape[1]
    one = _products(basis) @ np.eye(k).ravel() if k else np.zeros(len(rows))
    top = max(float(np.abs(one[:, None] / scale).max(initial=0.0)), 1e-300)
    system = np.vstack([np.hstack([rows / scale, -one[:, None] / scale / top]), [*np.ones(rates.shape[0]), 0.0]])
    found = importlib.import_module("scipy.optimize").nnls(system, [*np.zeros(len(rows)), 1.0])[0][:-1]
    masses: FloatArray = found / found.sum()
    return masses


def farkas(basis: FloatArray, pushes: FloatArray | None) -> FloatArray | None:
    """Multipliers (K, K) for ``proof/farkas.py``, rounded to :data:`DIGITS`; None where no solver left any.

    ``pushes`` (n, K, K), or None for any forces that push.
    """
    n, k = basis.shape
    first, second = _pairs(n)
    rows = None if pushes is None else rows_of(pushes)
    scale = np.ones(first.size) if rows is None else 2 * _sizes(rows)[:, 0]
    cp = load_cvxpy()
    scaled, least = cp.Variable(first.size), cp.Variable()
    rules = [cp.abs(scaled) <= 1]
    if rows is None:
        rules.append(scaled >= least)
    else:
        rules.append((rows.T * 2 / scale) @ scaled >= least)
    if k:
        products = _products(basis) / scale[:, None]
        size = float(np.abs(products).max())
        reduced = cp.reshape(2 * (products / size).T @ scaled, (k, k), order="C")
        rules.append(-(reduced + reduced.T) / 2 - INNER * least * np.eye(k) >> 0)
    for _ in attempts(cp.Problem(cp.Maximize(least), rules)):
        if not np.all(np.isfinite(scaled.value)):
            continue
        multipliers = np.zeros((n, n))
        values = np.asarray(scaled.value) / scale
        values = values / np.abs(values).max(initial=1e-300)
        multipliers[first, second] = [float(f"{x:.{DIGITS}g}") for x in values]
        return multipliers + multipliers.T
    return None


def shares(exponentials: FloatArray, denominators: FloatArray) -> FloatArray:
    """s_ab (K, K), rows of sum 1, from E (K, K) and v (K,)."""
    terms = exponentials * denominators
    found: FloatArray = terms / terms.sum(axis=1, keepdims=True)
    return found


def proportionate(
    exponentials: FloatArray,
    basis: FloatArray,
    anchors: FloatArray,
    denominators: FloatArray,
    *,
    both: bool,
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """w and v (K,), sum 1, under which forces cancel as nearly as was found: v alone, or ``both``.

    ``anchors`` w and ``denominators`` v (K,) as they are now; w stays so unless both are free.
    """
    optimize = importlib.import_module("scipy.optimize")
    n, k = basis.shape
    first, second = _pairs(n)
    eye = np.eye(n)

    def parts(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        w = _shares_of(x[n : 2 * n]) if both else anchors
        return w, _shares_of(x[:n]), x[-k * k :].reshape(k, k)

    def forces(w: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        s = shares(exponentials, v)
        one_way = w[:, None] * s
        return s, (one_way + one_way.T) / 2

    uniform = np.full(n, 1 / n)
    scale = float(np.sqrt(forces(uniform, uniform)[1][first, second].mean()))
    scaled = scale * basis  # so that L is of the size of 1, however small the forces are

    def residual(x: FloatArray) -> FloatArray:
        w, v, lower = parts(x)
        side = scaled @ lower
        left: FloatArray = 1 - (side[first] * side[second]).sum(axis=1) / forces(w, v)[1][first, second]
        return left

    def slope(x: FloatArray) -> FloatArray:
        w, v, lower = parts(x)
        s, d = forces(w, v)
        side = scaled @ lower
        held = d[first, second]
        ratio = (side[first] * side[second]).sum(axis=1) / held
        there, back = (w[first] * s[first, second] / 2 / held, w[second] * s[second, first] / 2 / held)
        by_v = there[:, None] * (eye[second] - s[first]) + back[:, None] * (eye[first] - s[second])
        pulls = np.einsum("pi,pj->pij", scaled[first], side[second])
        pulls = pulls + np.einsum("pi,pj->pij", scaled[second], side[first])
        by_lower = -pulls.reshape(first.size, -1) / held[:, None]
        columns = [ratio[:, None] * by_v]
        if both:
            by_w = there[:, None] * (eye[first] - w) + back[:, None] * (eye[second] - w)
            columns.append(ratio[:, None] * by_w)
        return np.hstack([*columns, by_lower])

    random = np.random.default_rng(seed)
    starts = [(uniform, uniform), (anchors, denominators)]
    more = STARTS - len(starts) if n <= MANY else 0
    starts += [(random.dirichlet(np.ones(n)), random.dirichlet(np.ones(n))) for _ in range(more)]
    best: tuple[float, FloatArray] | None = None
    for w, v in starts:
        d = forces(w if both else anchors, v)[1]
        np.fill_diagonal(d, 0.0)
        np.fill_diagonal(d, d.sum(axis=1))  # psd, as for the simplex
        values, vectors = np.linalg.eigh(basis.T @ d @ basis)
        lower = vectors * np.sqrt(np.maximum(values, 1e-12 * values[-1])) / scale
        side = scaled @ lower
        ratio = (side @ side.T / np.where(eye == 0, d, 1.0))[first, second]
        lower *= np.sqrt(max(ratio.sum(), 1e-3 * np.abs(ratio).sum()) / (ratio @ ratio))  # nearest to 1 on the whole
        x = np.concatenate([np.log(v), np.log(w) if both else [], lower.ravel()])
        with np.errstate(all="ignore"):  # steps may lead to weights of nothing
            found = optimize.least_squares(residual, x, jac=slope, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=STEPS)
        if np.isfinite(found.cost) and (best is None or found.cost < best[0]):
            best = float(found.cost), found.x
        if best is not None and best[0] < MATCHED**2:
            break
    assert best is not None
    w, v, _ = parts(best[1])
    return w, v


def _shares_of(logs: FloatArray) -> FloatArray:
    weights = np.exp(logs - logs.max())
    found: FloatArray = weights / weights.sum()
    return found


def cancelling_forces(basis: FloatArray, near: FloatArray) -> FloatArray | None:
    """T (K, K), the off-diagonal part of N Y N' with Y psd, positive and as nearly a multiple of ``near`` (K, K) > 0 as
    can be; None where no Y makes it positive beyond rounding."""
    n, k = basis.shape
    if k == 0:
        return None
    first, second = _pairs(n)
    products = _products(basis) / near[first, second][:, None]
    products = products / np.abs(products).max()
    cp = load_cvxpy()
    inner, least = cp.Variable((k, k), PSD=True), cp.Variable()
    ratio = products @ cp.vec(inner, order="C")
    for _ in attempts(cp.Problem(cp.Maximize(least), [ratio >= least, ratio <= 1])):
        values, vectors = np.linalg.eigh((inner.value + inner.value.T) / 2)
        psd = (vectors * np.maximum(values, 0.0)) @ vectors.T
        found = products @ psd.ravel()
        if np.all(np.isfinite(found)) and found.min() > 1e-6:
            forces = np.zeros((n, n))
            forces[first, second] = found * near[first, second]
            return forces + forces.T
    return None


def pair_margins(
    logits: FloatArray, forces: FloatArray, anchors: FloatArray, denominators: FloatArray
) -> FloatArray | None:
    """m / tau (K, K), symmetric, mean 0, under which the forces are a multiple of ``forces`` T (K, K) > 0; None where
    none was found.  ``logits`` (K, K) are (G - 1) / tau."""
    optimize = importlib.import_module("scipy.optimize")
    n, w, v = anchors.size, anchors, denominators
    off = ~np.eye(n, dtype=bool)
    log_forces = np.log(np.where(off, forces, 1.0))

    def log_terms(x: FloatArray) -> FloatArray:
        pushed = w * np.exp(-x[:n])
        mixed = np.outer(pushed, v)
        found: FloatArray = x[n] + log_forces - np.log((mixed + mixed.T) / 2)
        return found

    def equations(x: FloatArray) -> FloatArray:
        log_e = log_terms(x)
        sums = v + (np.exp(np.clip(log_e, -700, 700)) * off) @ v
        return np.concatenate([np.log(sums) - x[:n], [(log_e - logits)[off].mean()]])

    log_z = np.log(np.exp(logits) @ v)
    scale = float((logits - log_terms(np.concatenate([log_z, [0.0]])))[off].mean())
    start = np.concatenate([log_z, [scale]])
    for method in ("hybr", "lm"):
        with np.errstate(all="ignore"):
            found = optimize.root(equations, start, method=method, options={"xtol": 1e-14})
        left = float(np.abs(found.fun).max())
        if np.isfinite(left) and left < 1e-8:
            margins: FloatArray = np.where(off, log_terms(found.x) - logits, 0.0)
            return margins
    return None
