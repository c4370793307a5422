"""The optimum of features and classifiers, by their factors: Newton's method on  Y = P R'  and squares  y = t^2.

    minimise  F(Y) / lam + (|P|^2 + |R|^2) / 2 + sum_k (n_k - 1) t_k^2

over the factors P, R (m, m) of the quotient and the roots t (k,) of the contrasts (``objectives/cross_entropy.py``):
the least that the last two terms can be for a given Y is its nuclear norm.  A stationary point is the optimum unless
|D| exceeds lam somewhere; then the singular vectors of D there are a direction of descent, along which it goes on.  A
budget r is met by the multiplier nu for which |Y(nu)|_* = r, which falls in nu: one root.  Margins have a closed form.

The steps are conjugate gradients, scaled by about the diagonal of the curvature: rare classes bend F a hundred times
less than frequent ones.  In large problems the factors have the columns that Y needs, and those along which it grows.

The certificate decides; nothing here is trusted.

Symbols: P ``left``, R ``right``, t ``roots``, D ``slope``, nu, lam ``weight``, r ``radius``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import exp, log, log1p
from typing import Any

import numpy as np

from geomsolve.errors import SolverError
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross_entropy import Budget, Cross, Margin, Peeled, Regularised
from geomsolve.proof.certificate import TOLERANCE, Certificate
from geomsolve.proof.nuclear import certify_peeled, nothing_left

PRECISE = 1e-12
"""Relative gap at which no better point is looked for."""

ROUNDS = 8
"""Times that Newton's method goes on, more exactly or from a direction of descent."""

BREAK = 1e-2
"""Length of the first step along a direction of descent, relative to the largest singular value or 1."""

ROUGH = 1e-6
"""The same while a multiplier is only being bracketed."""

THIN = 60
"""Orbits up to which factors have as many columns as there are orbits; beyond, as many as matter."""

NEGLIGIBLE = 1e-10
"""Singular values, relative to the largest or 1, for which factors need no column."""

LARGE = 100
"""Orbits from which on a problem is large."""

GOOD, ROUGHER = 1e-8, 1e-4
"""Take the places of :data:`PRECISE` and :data:`ROUGH` in large problems."""

STEPS = 200
"""Most Newton steps from one start."""

INNER = 3
"""Most products with the curvature in a Newton step, in multiples of a side of the factors, and 50 more."""

NOISE = 1e-10
"""Relative change of the value below which it tells two points no longer apart, but their gradients do."""

WIDEST = 60
"""Most steps to bracket a multiplier."""

BEYOND = 1.5
"""How much farther than the norm's growth so far suggests the next multiplier is looked for."""

SECANTS = 6
"""Most secant steps for the multiplier."""

LEAST = 1e-290
"""Slopes below which numbers lose their digits."""


@dataclass(frozen=True, eq=False)
class PeeledAnswer:
    """The best ``blocks``, their certificate and what it took."""

    blocks: Cross
    certificate: Certificate
    solver: str
    reason: str
    iterations: int
    seconds: float


@dataclass(eq=False)
class Factors:
    """The function of the factors, for scipy: its value and gradient, and its curvature along a direction."""

    program: Peeled
    weight: float
    times: FloatArray
    steps: int = 0
    columns: int = 0
    at: FloatArray = field(default_factory=lambda: np.zeros(0))
    seen: Any = None

    def __post_init__(self) -> None:
        self.columns = self.m

    @property
    def m(self) -> int:
        return int(self.program.scale.size)

    def parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """P, R and t of the unknowns."""
        m, size = self.m, self.m * self.columns
        return x[:size].reshape(m, -1), x[size : 2 * size].reshape(m, -1), x[2 * size :]

    def blocks(self, x: FloatArray) -> Cross:
        """Y of the unknowns."""
        left, right, roots = self.parts(x)
        return Cross(left @ right.T, roots**2, self.times)

    def evaluate(self, x: FloatArray) -> tuple[float, FloatArray]:
        """The value and the gradient."""
        left, right, roots = self.parts(x)
        value, slope, chances = self.program.evaluate(self.blocks(x))
        slope = slope.scaled(1 / self.weight)
        self.at, self.seen = x.copy(), (slope, chances)
        total = value / self.weight + (np.sum(left**2) + np.sum(right**2)) / 2 + self.times @ roots**2
        gradient = (
            slope.quotient @ right + left,
            slope.quotient.T @ left + right,
            2 * self.times * roots * (slope.contrast + 1),
        )
        return float(total), np.concatenate([part.ravel() for part in gradient])

    def curvature(self, x: FloatArray, along: FloatArray) -> FloatArray:
        """The second derivative at x along a direction."""
        if not np.array_equal(x, self.at):
            self.evaluate(x)
        self.steps += 1
        slope, chances = self.seen
        left, right, roots = self.parts(x)
        d_left, d_right, d_roots = self.parts(along)
        change = Cross(d_left @ right.T + left @ d_right.T, 2 * roots * d_roots, self.times)
        bent = self.program.curvature(chances, change).scaled(1 / self.weight)
        result = (
            bent.quotient @ right + slope.quotient @ d_right + d_left,
            bent.quotient.T @ left + slope.quotient.T @ d_left + d_right,
            2 * self.times * (d_roots * (slope.contrast + 1) + roots * bent.contrast),
        )
        return np.concatenate([part.ravel() for part in result])

    def diagonal(self, x: FloatArray) -> FloatArray:
        """About the diagonal of the second derivative at x, entry by entry: that of the loss, and what lengths cost."""
        if not np.array_equal(x, self.at):
            self.evaluate(x)
        chances = self.seen[1]
        left, right, _ = self.parts(x)
        loss = self.program.loss
        bend = np.where(loss.counts > 0, chances * (1 - chances), 0.0)
        bend[:, :-1][np.diag_indices(self.m)] += bend[:, -1]
        bend = bend[:, :-1] * (loss.mass / self.program.scale**2 / self.weight)[:, None]
        return np.concatenate([(1 + bend @ right**2).ravel(), (1 + bend.T @ left**2).ravel(), 2 * self.times])

    def balanced(self, blocks: Cross, slope: Cross | None = None) -> tuple[FloatArray, bool]:
        """Factors of equal length of Y, and whether ``slope`` at Y, over lam, shows a way down, which is then taken."""
        u, values, v = np.linalg.svd(blocks.quotient)
        roots = np.sqrt(np.maximum(blocks.contrast, 0.0))
        a, size, b = np.linalg.svd(slope.quotient) if slope is not None else (u, np.zeros(0), v)
        steep = np.flatnonzero(size > 1 + 1e-9)
        if self.m > THIN:
            needed = int(np.sum(values > NEGLIGIBLE * max(1.0, values[0]))) + steep.size
            self.columns = min(self.m, max(1, needed))
        left, right = (side[:, : self.columns] * np.sqrt(values[: self.columns]) for side in (u, v.T))
        found = False
        if slope is not None:
            step = BREAK * np.sqrt(max(1.0, values[0]))
            for i, j in zip(steep, reversed(range(self.columns)), strict=False):
                if values[j] < step**2:
                    left[:, j], right[:, j], found = -step * a[:, i], step * b[i], True
            asleep = (-slope.contrast > 1 + 1e-9) & (roots < step)
            roots[asleep], found = step, found or bool(asleep.any())
        return np.concatenate([left.ravel(), right.ravel(), roots]), found


def solve_peeled(program: Peeled, *, tolerance: float = TOLERANCE) -> PeeledAnswer:
    """The optimum of a program, with its certificate."""
    began = time.perf_counter()
    if isinstance(program, Margin):
        proof = certify_peeled(program, program.equal, tolerance=tolerance)
        why = "logits that are all ahead by 1 and sum to 0"
        return PeeledAnswer(program.equal, proof, "closed form", why, 0, time.perf_counter() - began)
    if isinstance(program, Regularised):
        exact = PRECISE if program.scale.size < LARGE else GOOD
        blocks, steps = penalised(program, program.weight, goal=exact)
        why = "Newton steps on features and classifiers"
    else:
        assert isinstance(program, Budget)
        blocks, steps = within(program)
        why = "Newton steps on features and classifiers, for the multiplier that meets the budget"
    proof = certify_peeled(program, blocks, tolerance=tolerance)
    if not np.isfinite(proof.value):
        raise SolverError("the loss overflowed; try a smaller budget or a larger weight of the regulariser")
    return PeeledAnswer(blocks, proof, "manifold", why, steps, time.perf_counter() - began)


def step_within(
    factors: Factors, x: FloatArray, gradient: FloatArray, region: float, scale: FloatArray
) -> tuple[FloatArray, float, float]:
    """A step by preconditioned conjugate gradients (Steihaug 1983), of at most ``region`` in the norm of ``scale``;
    what it should gain, and its length."""
    step = np.zeros_like(x)
    left = gradient.copy()
    ahead = left / scale
    along = -ahead
    square = float(left @ ahead)
    exact = square * min(0.25, square**0.5 / (1 + float(np.sqrt(x @ (scale * x)))))
    inside, slant, length2 = 0.0, 0.0, square  # |step|^2, <step, along>, |along|^2
    for _ in range(INNER * factors.m + 50):
        bent = factors.curvature(x, along)
        curved = float(along @ bent)
        length = square / curved if curved > 0 else np.inf
        if curved <= 0 or inside + 2 * length * slant + length**2 * length2 >= region**2:
            a, b, c = length2, slant, inside - region**2
            step = step + (-b + np.sqrt(max(b * b - a * c, 0.0))) / a * along
            inside = region**2
            break
        step = step + length * along
        inside, slant = inside + 2 * length * slant + length**2 * length2, slant + length * length2
        left = left + length * bent
        ahead = left / scale
        before, square = square, float(left @ ahead)
        if square <= exact:
            break
        turn = square / before
        along = turn * along - ahead
        slant, length2 = turn * slant, square + turn**2 * length2
    return step, -float(gradient @ step + step @ factors.curvature(x, step) / 2), float(np.sqrt(inside))


def descend(factors: Factors, x: FloatArray, exact: float) -> FloatArray:
    """Newton's method in a region of trust from ``x``, until the gradient is ``exact`` relative to x."""
    value, gradient = factors.evaluate(x)
    region = 0.0
    for _ in range(STEPS):
        if np.linalg.norm(gradient) <= exact * (1 + np.linalg.norm(x)):
            break
        scale = factors.diagonal(x)
        region = region or 1 + float(np.sqrt(x @ (scale * x)))
        step, gain, length = step_within(factors, x, gradient, region, scale)
        there, slope = factors.evaluate(x + step)
        if abs(gain) > NOISE * abs(value):
            good, accepted = (value - there) / gain, value - there > 0.1 * gain > 0
        else:
            accepted = bool(np.linalg.norm(slope) < 0.9 * np.linalg.norm(gradient))
            good = float(accepted)
            if not accepted:
                break
        region = length / 4 if not good > 0.25 else max(region, 2.5 * length) if good > 0.75 else region
        if accepted:
            x, value, gradient = x + step, there, slope
    return x


def penalised(
    program: Peeled, weight: float, start: Cross | None = None, *, goal: float = PRECISE
) -> tuple[Cross, int]:
    """Y that minimises F + ``weight`` |Y|_*, to the relative gap ``goal`` if that is reached, and the steps taken."""
    charged = Regularised(program.loss, program.scale, program.ratio, weight)
    factors = Factors(program, weight, program.equal.times)
    if weight >= nothing_left(program):
        return program.equal.scaled(0.0), 0
    begin = program.equal if start is None else start
    x, _ = factors.balanced(begin, program.evaluate(begin)[1].scaled(1 / weight))
    best, best_gap, exact = begin, np.inf, max(1e-8, goal)
    for _ in range(ROUNDS):
        blocks = factors.blocks(descend(factors, x, exact))
        proof = certify_peeled(charged, blocks)
        better = proof.gap < best_gap / 2
        if proof.gap < best_gap:
            best, best_gap = blocks, proof.gap
        if best_gap <= goal * max(abs(proof.value), LEAST):
            break
        x, onward = factors.balanced(blocks, program.evaluate(blocks)[1].scaled(1 / weight))
        if not onward and not better:
            break
        exact = exact if onward else max(exact / 100, 1e-14)
    return best, factors.steps


def within(program: Budget) -> tuple[Cross, int]:
    """Y that minimises F among those of norm up to the radius, and the steps taken.

    The multiplier is bracketed and found roughly first, then by secants with exact solves.
    """
    free = program.free()
    if free is not None:
        return free, 0
    from scipy.optimize import brentq  # here, since only this loss needs it

    radius, steps = program.radius, 0
    last = program.equal.scaled(radius / program.equal.nuclear)
    large = program.scale.size >= LARGE
    exact, rough = (GOOD, ROUGHER) if large else (PRECISE, ROUGH)
    if large:  # from nothing, whose factors have few columns
        last = program.equal.scaled(0.0)
    seen: dict[float, float] = {}

    def excess(log_weight: float, goal: float = rough) -> float:
        nonlocal last, steps
        last, more = penalised(program, exp(log_weight), last if last.nuclear > 0 or large else None, goal=goal)
        steps += more
        seen[log_weight] = last.nuclear / radius - 1
        return seen[log_weight]

    def known(log_weight: float) -> float:
        return seen[log_weight] if log_weight in seen else excess(log_weight)

    size = program.evaluate(program.equal.scaled(radius / program.equal.nuclear))[1].operator
    if not size > LEAST:
        raise SolverError("budgets this large leave a loss below what floating-point numbers tell; give smaller ones")
    low = high = log(size)
    ends, stride = [excess(low)] * 2, 0.3
    for _ in range(WIDEST):
        if ends[0] < 0:
            high, ends[1], low, stride = low, ends[0], low - stride, 2 * stride
            ends[0] = excess(low)
            if -1 < ends[1] < ends[0] < 0:  # far steps cost the most: as far as the norm's growth so far says
                growth = (log1p(ends[0]) - log1p(ends[1])) / (high - low)
                stride = min(stride, BEYOND * -log1p(ends[0]) / growth)
        elif ends[1] > 0:
            low, ends[0], high, stride = high, ends[1], high + stride, 2 * stride
            ends[1] = excess(high)
        else:
            break
    root = float(brentq(known, low, high, xtol=rough)) if ends[0] > 0 > ends[1] else low
    off = excess(root, exact)
    slope = (ends[1] - ends[0]) / (high - low) if high > low else -1.0
    found = [last]
    for _ in range(SECANTS):
        step = -off / slope if slope else 0.0
        if abs(off) <= exact or not low - stride <= root + step <= high + stride:
            break
        root, before = root + step, off
        off = excess(root, exact)
        found.append(last)
        slope = (off - before) / step if step and off != before else slope
    u, _, v = np.linalg.svd(program.evaluate(program.equal.scaled(0.0))[1].quotient)
    found += [
        program.equal,
        Cross(-np.outer(u[:, 0], v[0]), 0 * last.contrast, last.times),
    ]  # best for no budget at all
    within_it = [blocks.scaled(radius / blocks.nuclear) for blocks in found if blocks.nuclear > 0]
    return min(within_it, key=lambda blocks: certify_peeled(program, blocks).gap), steps
