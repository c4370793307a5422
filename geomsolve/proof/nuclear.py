"""The proof for features and classifiers: no logits do better.

The programs are those of ``objectives/cross_entropy.py``.  For any chances Q, D = diag(w/rho) (Q - T), and every Y',

    budget        F(Y') >= h(Q) + <D, Y'> >= h(Q) - r |D|            where |Y'|_* <= r
    regularised   F(Y') + lam |Y'|_* >= h(Q)                         where |D| <= lam; Q is drawn to T until that is so
    margin        |Y'|_* >= <G, Y'> >= sum over j != k of m_kj       where |G| <= 1 and m_kj = -rho_k G_kj >= 0, rows of
                  G sum to 0, since <G, Y'> = sum m_kj (Z'_kk - Z'_kj)

|.| the operator norm.  The first is the Lagrange dual of the two traces: with multipliers alpha, beta of the features'
and the classifiers' the joint matrix [[alpha I, D/2], [D'/2, beta I]] is psd iff 2 root(alpha beta) >= |D|.  No solver
is trusted: Q and G may be anything.

Which alike classes are at one point is exact.  On the contrasts of an orbit Y is a number y and D is
w (q_kk - q_kj - (1 - e)) / rho.  With y = 0 the two chances are equal, so D = -w (1 - e) / rho; with y > 0 it is less
in size and, at an optimum, as large as D gets at all.  So, with nu = |D*| at the optimum,

    the classes of an orbit, features and classifiers, are at one point iff   w (1 - e) / rho <= nu.

In the regularised form nu = lam.  Else nu is known within root(2 L gap), L = max w / (2 rho^2) the Lipschitz constant
of D: F(Y*) >= F(Y) + <D, Y* - Y> + |D* - D|^2 / (2 L).  Derived for this project.

Symbols: Y ``blocks``, D ``slope``, nu ``multiplier``, r ``radius``, lam ``weight``, h ``dual``.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from geomsolve.gram.types import BoolArray, FloatArray
from geomsolve.objectives.cross_entropy import Budget, Cross, Margin, Peeled, Regularised
from geomsolve.proof.certificate import TOLERANCE, Certificate

NOTHING = 1e-9
"""Singular values, relative to the largest of all, that are taken for 0."""


def certify_peeled(program: Peeled, blocks: Cross, *, tolerance: float = TOLERANCE) -> Certificate:
    """The certificate of ``blocks`` that satisfy the constraints of the program."""
    if isinstance(program, Margin):
        return certify_margin(program, blocks, tolerance)
    value, slope, chances = program.evaluate(blocks)
    size = slope.operator
    if isinstance(program, Regularised):
        value += program.weight * blocks.nuclear
        part = min(1.0, program.weight / size) if size > 0 else 1.0
        bound = program.loss.dual(program.loss.towards_target(chances, part))
        missing = program.weight - size
    else:
        assert isinstance(program, Budget)
        bound, missing = program.loss.dual(chances) - program.radius * size, 0.0
        missing = bound - value
    bound = max(bound, program.loss.floor)  # which nothing goes below anyhow
    return Certificate.of(value, max(value - bound, 0.0), missing, tolerance)


def turn(blocks: Cross) -> Cross:
    """The slope of the nuclear norm at Y: U V', of singular values that are not 0 up to rounding."""
    left, values, right = np.linalg.svd(blocks.quotient)
    least = NOTHING * max(values[0], np.abs(blocks.contrast).max(initial=0.0))
    kept = values > least
    signs = np.where(np.abs(blocks.contrast) > least, np.sign(blocks.contrast), 0.0)
    return Cross(left[:, kept] @ right[kept], signs, blocks.times)


def certify_margin(program: Margin, blocks: Cross, tolerance: float) -> Certificate:
    """The certificate of the least norm; the logits are first made larger where a margin is short."""
    logits, counts = program.logits(blocks), program.loss.counts
    ahead = float((logits[:, -1:] - logits[:, :-1])[counts[:, :-1] > 0].min())
    value = blocks.nuclear / ahead if ahead > 0 else inf
    entries = program.logits(turn(blocks)) * program.scale[:, None]  # G, one entry of each kind
    multipliers = np.maximum(-program.scale[:, None] * entries[:, :-1], 0.0)
    repaired = np.column_stack([-multipliers, np.sum(counts[:, :-1] * multipliers, axis=1)])
    size = program.blocks(repaired, -1).operator
    bound = float(program.points.first @ repaired[:, -1]) / max(size, 1.0)
    return Certificate.of(value, max(value - bound, 0.0), 1 - size, tolerance)


def multiplier(program: Peeled, blocks: Cross, gap: float) -> tuple[float, float]:
    """Between which numbers nu lies; ``gap`` of the blocks in nats."""
    if isinstance(program, Regularised):
        return program.weight, program.weight
    if isinstance(program, Margin):
        return 0.0, 0.0
    size = program.evaluate(blocks)[1].operator
    lipschitz = float(np.max(program.loss.mass / program.scale**2)) / 2
    off = sqrt(2 * lipschitz * max(gap, 0.0))
    return max(size - off, 0.0), size + off


def at_one_point(program: Peeled, blocks: Cross, gap: float) -> tuple[BoolArray, BoolArray]:
    """(k,) for every orbit of more than one class: proven to be at one point, and proven not to be."""
    low, high = multiplier(program, blocks, gap)
    pull = program.contrast_slope
    return pull <= low, pull > high


def nothing_left(program: Peeled) -> float:
    """The weight of the regulariser from which on all features and classifiers vanish: |D| at no logits."""
    return program.evaluate(program.equal.scaled(0.0))[1].operator


def unique(program: Peeled, blocks: Cross) -> bool | None:
    """Whether the optimum is the only one, up to rotations.

    F is strictly convex but for constants in the rows of Z.  Where the norm binds, D 1 = 0 makes those 0, since the
    rows of Y lie where D is largest.  Of margins: all of them bind, where every multiplier is positive.
    """
    if isinstance(program, Regularised):
        return True
    if isinstance(program, Budget):
        return program.free() is None or blocks.nuclear > program.radius * (1 - 1e-9)
    entries = program.logits(turn(blocks)) * program.scale[:, None]
    off: FloatArray = entries[:, :-1][program.loss.counts[:, :-1] > 0]
    return True if float(off.max()) < -1e-9 else None
