"""Proofs that stand alone of non-negative features: the orthogonal frame, where no two classes attract each other."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

import numpy as np

from geomsolve.analyses.imbalance import ImbalanceReport
from geomsolve.analyses.proof_texts import CEILING, ROOM, assumed, classes_of, complete, decimals, known_loss, rounded
from geomsolve.errors import InputError
from geomsolve.losses import Loss
from geomsolve.questions.imbalance import Imbalance


def of_frame(report: ImbalanceReport, problem: Imbalance, loss: Loss) -> dict[str, Any]:
    """The proof that the frame is optimal among non-negative features; InputError for ``proof`` where it is not."""
    if report.structure.kind != "orthogonal frame" or not report.certified:
        raise InputError(
            "with non-negative features proofs that stand alone are of the orthogonal frame, which is not the optimum "
            "here; leave out --nonnegative, or this",
            field="proof",
        )
    classes, orbits, stated = classes_of(problem, report.orbits, known_loss(loss))
    objective = loss.objective(orbits)
    complete(stated, objective, orbits)
    cosines = np.diag(np.where(orbits.sizes == 1, 1.0, 0.0))
    minorant = objective.minorant(cosines, report.slopes if orbits.n_orbits == report.orbits.n_orbits else None)
    room = max(1.0, abs(minorant.value))
    shares = objective.shares(cosines, minorant.slope)
    claims = [
        {"claim": "value", "at_most": rounded(objective.value(cosines) + CEILING * room, ROUND_CEILING)},
        {"claim": "bound", "at_least": rounded(minorant.value - ROOM * room, ROUND_FLOOR)},
    ]
    return {
        "kind": "frame",
        **assumed(loss.assumption(report.orbits)),
        "question": {"loss": stated, "classes": classes},
        "dual": {} if shares is None else {"shares": decimals(shares)},
        "claims": [*claims, *([{"claim": "unique"}] if report.unique and shares is None else [])],
    }
