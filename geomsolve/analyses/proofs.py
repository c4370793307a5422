"""Answers as proofs that stand alone: files that ``geomsolve.verify`` checks and nothing else has to.

The question stands there in exact numbers, the embedding as vectors, so that it is feasible whatever they are, and the
multipliers mu as decimals.  Nothing here needs to be trusted: what is claimed a little too boldly fails the check.

    value <= u      u is the loss found, rounded up
    bound >= l      l = F(G) - K max(0, -lambda_min(S)), less what rounding may be worth (:data:`ROOM`)
    collapsed       one class opposite all others, which is checked with exact null vectors, and ``unique``

Symbols: mu ``multipliers``, D ``off_diagonal``, G through ``Orbits.factor``.
"""

from __future__ import annotations

import json
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from geomsolve._version import __version__
from geomsolve.analyses.elimination import eliminate, exact, target_in_fractions
from geomsolve.analyses.exactly import enclose
from geomsolve.analyses.imbalance import ImbalanceReport
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.realizable import weighting_of
from geomsolve.analyses.realizable_report import RealizableReport
from geomsolve.analyses.threshold import Path, path_over
from geomsolve.analyses.threshold_report import ThresholdReport
from geomsolve.analyses.varied import Classes
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.losses import Loss
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import collapse_blocks, collapse_is_optimal, dual_matrix
from geomsolve.proof.collapse import has_majority
from geomsolve.questions.base import Problem
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.realizable import Realizable
from geomsolve.questions.threshold import Threshold
from geomsolve.report import Report
from geomsolve.verify import FORMAT

ROOM = 1e-11
"""Nats, relative to a loss above 1, by which a claimed bound stays below the one found, for rounding."""

CEILING = 1e-13
"""The same for a claimed value: rounding of a sum."""

DIGITS = 12
"""Decimals of a threshold that are enclosed unless others are asked for; double precision gives no more."""

EIGENVALUES = 1e-14
"""How far a threshold from eigenvalues in double precision may be off, relative to a threshold above 1."""

MOST = 1000
"""Distinct proportions up to which a proof is written: checking costs their cube."""


def decimals(values: FloatArray) -> Any:
    """Arrays of doubles as decimals in quotes, in lists."""
    return [decimals(row) for row in values] if values.ndim else format(Decimal(repr(float(values))), "f")


def standing_alone(report: Report, problem: Problem, digits: int | None = None) -> str:
    """The proof of a report as the content of a file; InputError for ``proof`` where none is written.

    ``digits``: decimals of a threshold that are enclosed, :data:`DIGITS` unless given.
    """
    if isinstance(report, ImbalanceReport) and isinstance(problem, Imbalance):
        return as_text(of_optimum(report, problem))
    if isinstance(report, ThresholdReport) and isinstance(problem, Threshold):
        return as_text(of_threshold(report, problem, digits or DIGITS))
    if isinstance(report, RealizableReport) and isinstance(problem, Realizable):
        return as_text(of_target(report, problem))
    raise InputError("no proof that stands alone is written of such an answer; leave this out", field="proof")


def as_text(proof: dict[str, Any]) -> str:
    """A proof as JSON, one entry a line."""
    head = {"format": FORMAT, "written_by": f"geomsolve {__version__}"}
    return json.dumps({**head, **proof}, indent=1, ensure_ascii=False) + "\n"


def known_loss(loss: Loss) -> dict[str, Any]:
    """The loss as a proof states it; InputError where there is no proof of it."""
    parameters = loss.in_proofs
    if parameters is None:
        raise InputError(
            f"no proof that stands alone is written for this form of {loss.name}; it is for supcon, infonce and dcl "
            "without changed weights, and for triplet, sigmoid and spectral. Leave this out",
            field="proof",
        )
    written = {key: exact(x) if type(x) in (int, float) else x for key, x in parameters.items()}
    return {"name": loss.name, **written}


def classes_of(problem: ClassProblem, orbits: Orbits) -> tuple[list[dict[str, Any]], Orbits]:
    """Kinds of classes with exact weights, which are divided by their sum; and the orbits that they are.

    Classes whose weights agree only up to rounding become kinds of their own.
    """
    given = problem.class_counts or getattr(problem, "props", None) or problem.proportions
    weights = [exact(x) for x in given]
    if any(len({weights[a] for a in np.flatnonzero(orbits.index == g)}) > 1 for g in range(orbits.n_orbits)):
        orbits = orbits.single()
    if orbits.n_orbits > MOST:
        raise InputError(
            f"{orbits.n_orbits:,} distinct proportions are too many to check; a proof is written for at most {MOST:,}",
            field="proof",
        )
    first = np.unique(orbits.index, return_index=True)[1]
    names = problem.class_names
    members = [[names[a] for a in np.flatnonzero(orbits.index == g)] for g in range(orbits.n_orbits)]
    return [
        {"size": int(n), "weight": weights[a], "names": who}
        for n, a, who in zip(orbits.sizes, first.tolist(), members, strict=True)
    ], orbits


def of_optimum(report: ImbalanceReport, problem: Imbalance) -> dict[str, Any]:
    """The proof of the least loss, of collapse and of uniqueness, as far as they were found."""
    loss = loss_of(problem)
    if report.nonnegative is not None or report.dimension_limited or not report.convex or problem.slack is not None:
        raise InputError(
            "proofs that stand alone are about all embeddings; leave out --dim, --nonnegative and --slack, or this",
            field="proof",
        )
    if report.structure.kind == "degenerate":
        raise InputError("the loss is degenerate, and the reason for that is its proof; leave this out", field="proof")
    stated = known_loss(loss)
    classes, orbits = classes_of(problem, report.orbits)
    objective = loss.objective(orbits)
    cosines = report.orbits.expand(report.orbit_cosines, orbits)
    apart = has_majority(orbits) and objective.decides and objective.smooth
    collapsed = apart and collapse_is_optimal(objective, orbits)
    if collapsed:
        signs = np.where(np.arange(orbits.n_orbits) == 0, 1, -1)
        cosines = np.outer(signs, signs).astype(np.float64)
        point = {"centroids": [[str(x)] for x in signs.tolist()], "spread": ["0"] * orbits.n_orbits}
    else:
        centroids, spread = orbits.factor(cosines)
        point = {"centroids": decimals(centroids), "spread": decimals(spread)}
    dual, low, high = bounds(objective, orbits, cosines, report.slopes)
    claims: list[dict[str, str]] = [{"claim": "value", "at_most": high}, {"claim": "bound", "at_least": low}]
    claims += [{"claim": "collapsed"}] if collapsed else []
    claims += [{"claim": "unique"}] if report.unique and (objective.smooth or collapsed) else []
    return {
        "kind": "optimum",
        "question": {"loss": stated, "classes": classes},
        **({"assuming": report.assumption} if report.assumption else {}),
        "point": point,
        "dual": dual,
        "claims": claims,
    }


def bounds(
    objective: Objective, orbits: Orbits, cosines: FloatArray, slopes: FloatArray | None
) -> tuple[dict[str, Any], str, str]:
    """The multipliers, and what the loss is claimed to be at least and at most."""
    value = objective.value(cosines)
    minorant = objective.minorant(cosines, slopes)
    multipliers, off_diagonal = dual_matrix(orbits, cosines, minorant.slope)
    blocks = orbits.blocks(multipliers, off_diagonal)
    size = float(np.abs(blocks.quotient).max() + np.abs(off_diagonal).max())
    short = orbits.n_classes * (max(0.0, -blocks.min_eigenvalue()) + 1e-14 * size)
    room = max(1.0, abs(value))
    low = rounded(minorant.value - short - ROOM * room, ROUND_FLOOR)
    dual: dict[str, Any] = {"mu": decimals(multipliers)}
    if not objective.smooth:
        mass = objective.evaluate(np.ones_like(cosines))[1]  # every pair is above the knee there
        share = np.divide(minorant.slope, mass, out=np.zeros_like(mass), where=mass > 0)
        dual["shares"] = decimals(np.clip(share, 0.0, 1.0))
    return dual, low, rounded(value + CEILING * room, ROUND_CEILING)


def rounded(x: float, way: str) -> str:
    """Twelve decimals, rounded ``way``."""
    return format(Decimal(repr(float(x))).quantize(Decimal("1e-12"), rounding=way), "f")


def of_threshold(report: ThresholdReport, problem: Threshold, digits: int) -> dict[str, Any]:
    """The proof that collapse sets in, or ends, in an interval whose ends differ by one in the last of ``digits``.

    The smallest eigenvalue of S, v left out, is 0 at the threshold; of its two sides the one where it is negative is
    shown by its eigenvector.
    """
    if report.threshold is None or problem.over not in ("temperature", "majority") or problem.slack is not None:
        raise InputError(
            "proofs that stand alone are of thresholds over temperature or majority, where there is one; leave this "
            "out",
            field="proof",
        )
    loss = loss_of(problem)
    assert isinstance(loss, Loss)
    stated = known_loss(loss)
    path = path_over(problem.over, loss, Classes(problem.proportions, problem.class_counts))
    value = float(report.threshold["value"])
    orbits = path.at(odds(path, value))[1]
    classes, orbits = classes_of(problem, orbits)
    if problem.over == "temperature":
        del stated["temperature"]
    if not has_majority(orbits):
        raise InputError("several classes are the largest; a proof needs one", field="proof")
    question = {"over": problem.over, "loss": stated, "classes": classes}
    above = bool(report.collapsed_above)
    root = refined(path, value)
    unit, room = Decimal(1).scaleb(-min(digits, DIGITS)), Decimal(repr(EIGENVALUES * max(1.0, root)))
    ends = (
        (Decimal(repr(root)) - room).quantize(unit, rounding=ROUND_FLOOR),
        (Decimal(repr(root)) + room).quantize(unit, rounding=ROUND_CEILING),
    )
    against: Any
    if digits > DIGITS:
        text, against = enclose(question, ends[0], ends[1], above=above, digits=digits)
    else:
        text = (format(ends[0], "f"), format(ends[1], "f"))
        against = downhill(path, float(ends[0] if above else ends[1]))
    return {
        "kind": "threshold",
        "question": question,
        **({"assuming": report.assumption} if report.assumption else {}),
        "claims": [
            {
                "claim": "threshold",
                "low": text[0],
                "high": text[1],
                "collapsed": "above" if above else "below",
                "against": against,
            }
        ],
    }


def odds(path: Path, value: float) -> float:
    """Where on a path what a user states as ``value`` is: the odds of a share."""
    return value / (1 - value) if path.over == "majority" else value


def refined(path: Path, near: float) -> float:
    """The root of the smallest eigenvalue of S beside ``near``, to rounding."""
    from scipy.optimize import brentq

    def lowest(x: float) -> float:
        blocks, _ = collapse_blocks(*path.at(odds(path, x)))
        return float(min(np.linalg.eigvalsh(blocks.quotient)[0], blocks.contrast.min()))

    for width in (1e-9, 1e-7):
        low, high = near * (1 - width), near * (1 + width)
        if lowest(low) * lowest(high) < 0:
            return float(brentq(lowest, low, high, xtol=1e-16, rtol=1e-15))
    return near


def downhill(path: Path, value: float) -> Any:
    """A direction in which S is negative at ``value``: one number an orbit, or within an orbit."""
    objective, orbits = path.at(odds(path, value))
    blocks, _ = collapse_blocks(objective, orbits)
    values, vectors = np.linalg.eigh(blocks.quotient)
    within = int(np.argmin(blocks.contrast))
    if blocks.contrast[within] < values[0]:
        return {"within": within}
    return decimals(vectors[:, 0] / np.sqrt(orbits.sizes))


def of_target(report: RealizableReport, problem: Realizable) -> dict[str, Any]:
    """The proof of a verdict about a matrix of fractions, by exact elimination."""
    T, labels, sigma = target_in_fractions(problem, weighting_of(problem), "proof")
    x = eliminate(T)[1]
    if (x is None) != (report.verdict == "realizable"):
        raise InputError(
            f"the verdict {report.verdict!r} is within rounding of another, and in exact numbers it is "
            f"{'realizable' if x is None else 'inconsistent'}; ask with --exact",
            field="proof",
        )
    claim: dict[str, Any] = {"claim": "realizable"}
    if x is not None:
        claim = {"claim": "not realizable", "against": [str(entry) for entry in x]}
    return {
        "kind": "realizable",
        "question": {"labels": labels, "temperature": exact(problem.temperature), "sigma": sigma},
        "claims": [claim],
    }
