"""Proofs that stand alone of how two sides are arranged: every point on its own, the pairs as they were written.

Points that the solver takes as one have parts of its multipliers, as they have of its pairs.

Symbols: D, alpha, beta of ``proof/paired.py``, of which verify has halves: mu = (alpha, beta) / 2.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import Any

import numpy as np

from geomsolve.analyses.crossmodal_report import CrossmodalReport
from geomsolve.analyses.elimination import exact
from geomsolve.analyses.named import pair_loss_of
from geomsolve.analyses.proof_texts import CEILING, ROOM, decimals, known_loss, rounded
from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.proof.paired import multipliers
from geomsolve.questions.crossmodal import Crossmodal

MOST_POINTS = 200
"""Points of both sides together up to which a proof is written: each is a row of its own."""


def of_sides(report: CrossmodalReport, problem: Crossmodal) -> dict[str, Any]:
    """The proof that no two encoders have a lower loss."""
    joint, points = report.joint, sum(report.counts)
    if report.dimension_limited or points > MOST_POINTS:
        raise InputError(
            f"proofs that stand alone are about all embeddings of up to {MOST_POINTS} points; leave out --dim, or this",
            field="proof",
        )
    loss = pair_loss_of(problem).among(joint)
    stated = known_loss(loss)
    pairs = weights(problem)
    shares = np.array([[float(x) for x in row] for row in pairs])
    shares /= shares.sum()
    one = parts(shares.sum(axis=1), joint.first_point)
    two = parts(shares.sum(axis=0), joint.second_point)
    cross = report.gram.cross
    value, slope = loss.objective(joint).evaluate(cross)
    force, alpha, beta = multipliers(joint.paired, cross, slope)
    x, y = joint.paired.first_index[joint.first_point], joint.paired.second_index[joint.second_point]
    mu = np.concatenate([one * alpha[x], two * beta[y]]) / 2
    D = joint.paired.lift_cross(force)[np.ix_(joint.first_point, joint.second_point)] * np.outer(one, two) / 2
    n = one.size
    S = np.diag(mu)
    S[:n, n:], S[n:, :n] = D, D.T
    first, between, second = report.matrices()
    values, vectors = np.linalg.eigh(np.block([[first, between], [between.T, second]]))
    size = float(np.abs(S).max())
    short = points * (max(0.0, -float(np.linalg.eigvalsh(S)[0])) + 1e-14 * points * size)
    room = max(1.0, abs(value))
    return {
        "kind": "sides",
        "question": {"loss": stated, "pairs": [[str(entry) for entry in row] for row in pairs]},
        "point": {"centroids": decimals(vectors * np.sqrt(np.maximum(values, 0.0))), "spread": ["0"] * points},
        "dual": {"mu": decimals(mu)},
        "claims": [
            {"claim": "value", "at_most": rounded(value + CEILING * room, ROUND_CEILING)},
            {"claim": "bound", "at_least": rounded(value - short - ROOM * room, ROUND_FLOOR)},
        ],
    }


def weights(problem: Crossmodal) -> list[list[Fraction]]:
    """How often each pair comes, in fractions, up to a factor."""
    if problem.pairs is not None:
        return [[Fraction(exact(x)) for x in row] for row in problem.pairs.values.tolist()]
    given = problem.class_counts or getattr(problem, "props", None) or problem.proportions
    w, noise = [Fraction(exact(x)) for x in given], Fraction(exact(problem.noise or 0.0))
    total = sum(w)
    return [[(1 - noise) * p * (i == j) + noise * p * q / total for j, q in enumerate(w)] for i, p in enumerate(w)]


def parts(shares: FloatArray, point: IntArray) -> FloatArray:
    """What each point that was given has of the one that the solver takes it as."""
    found: FloatArray = shares / np.bincount(point, weights=shares)[point]
    return found
