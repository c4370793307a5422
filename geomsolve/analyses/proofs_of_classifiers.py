"""Proofs that stand alone of features and classifiers: the two of each class, and chances or prices.

Logits Z are as in ``objectives/cross_entropy.py``; Y = diag(rho) Z = U s V' gives features diag(1/rho) U root(s) and
classifiers V root(s), which no others of these logits are shorter than.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

import numpy as np

from geomsolve.analyses.classifiers import ClassifierReport
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.proof_texts import CEILING, ROOM, classes_of, decimals, known_loss, rounded
from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.losses import ClassifierLoss
from geomsolve.objectives.cross_entropy import Budget, Margin, Peeled, Regularised
from geomsolve.questions.imbalance import Imbalance
from geomsolve.verify_classifiers import MOST

INSIDE = 1e-13
"""Part by which lengths and norms stay within what binds them, for rounding."""

WIDE = 1e-6
"""Gap between what is claimed at most and at least, relative above 1, beyond which nothing is."""


def of_classifiers(report: ClassifierReport, problem: Imbalance) -> dict[str, Any]:
    """The proof of the least loss; InputError for ``proof`` where there is none."""
    loss = loss_of(problem)
    assert isinstance(loss, ClassifierLoss)
    classes, orbits, stated = classes_of(problem, report.orbits, known_loss(loss))
    if orbits.n_classes > MOST:
        raise InputError(
            f"{orbits.n_classes:,} classes are too many to check with their classifiers; a proof is of {MOST} or fewer",
            field="proof",
        )
    order = np.argsort(orbits.index, kind="stable")
    program, of = loss.program(orbits), orbits.index[order]
    logits = np.outer(report.features.norms, report.classifiers.norms) * np.nan_to_num(report.across)
    logits, rho = logits[np.ix_(order, order)], program.scale[of]
    left, lengths, right = np.linalg.svd(rho[:, None] * logits)
    if isinstance(program, Margin):
        lengths /= least_margin(logits) * (1 - INSIDE)
    elif isinstance(program, Budget):
        lengths *= min(1.0, program.radius / float(lengths.sum())) * (1 - INSIDE)
    skew = program.ratio**0.25
    features = left * np.sqrt(lengths) / rho[:, None] * skew
    classifiers = right.T * np.sqrt(lengths) / skew
    kept = lengths > 1e-9 * lengths[0]
    turn = left[:, kept] @ right[kept]
    dual, low, high = bounded(program, of, features @ classifiers.T, float(lengths.sum()), turn)
    if high - low > WIDE * max(1.0, abs(high)):
        raise InputError("no proof that stands alone was found of this optimum; leave this out", field="proof")
    room = max(1.0, abs(high))
    return {
        "kind": "classifiers",
        "question": {"loss": stated, "classes": classes},
        "point": {"features": decimals(features), "classifiers": decimals(classifiers)},
        "dual": {key: decimals(value) for key, value in dual.items()},
        "claims": [
            {"claim": "value", "at_most": rounded(high + CEILING * room, ROUND_CEILING)},
            {"claim": "bound", "at_least": rounded(low - ROOM * room, ROUND_FLOOR)},
        ],
    }


def least_margin(logits: FloatArray) -> float:
    """The least of Z_kk - Z_kj (K, K) over j != k."""
    ahead = np.diag(logits)[:, None] - logits
    return float(ahead[~np.eye(len(logits), dtype=bool)].min())


def bounded(
    program: Peeled, of: IntArray, logits: FloatArray, norm: float, turn: FloatArray
) -> tuple[dict[str, FloatArray], float, float]:
    """The dual, and what the program is at least and at most, at logits (K, K) of classes whose orbits are ``of``.

    ``norm`` is the nuclear norm of Y, ``turn`` (K, K) its slope.
    """
    rho = program.scale[of]
    if isinstance(program, Margin):
        prices = np.maximum(-rho[:, None] * turn, 0.0)
        np.fill_diagonal(prices, 0.0)
        size = float(np.linalg.norm((np.diag(prices.sum(axis=1)) - prices) / rho[:, None], 2))
        prices /= max(1.0, size) * (1 + INSIDE)
        return {"prices": prices}, float(prices.sum()), norm
    loss, k = program.loss, len(logits)
    mass, log_v = loss.mass[of], loss.log_prior[of]
    target = loss.sure * np.eye(k) + loss.uniform
    z = logits + log_v
    top = z.max(axis=1, keepdims=True)
    total = np.log(np.exp(z - top).sum(axis=1)) + top[:, 0]
    value = float(mass @ (total - np.sum(target * z, axis=1)))
    chances = np.exp(z - total[:, None])
    size = float(np.linalg.norm(mass[:, None] * (chances - target) / rho[:, None], 2))
    if isinstance(program, Regularised):
        value += program.weight * norm
        part = min(1.0, program.weight / size * (1 - INSIDE)) if size > 0 else 1.0
        chances = target + part * (chances - target)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.where(chances > 0, -chances * np.log(chances), 0.0)
    least = float(mass @ np.sum(entropy + (chances - target) * log_v, axis=1))
    charged = program.radius * size if isinstance(program, Budget) else 0.0
    return {"chances": chances}, least - charged, value
