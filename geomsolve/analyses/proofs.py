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
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from geomsolve import verify, verify_further, verify_losses
from geomsolve._version import __version__
from geomsolve.analyses.advise import AdviseReport
from geomsolve.analyses.capacity import CapacityReport
from geomsolve.analyses.changes import changed
from geomsolve.analyses.classifiers import ClassifierReport
from geomsolve.analyses.crossmodal_report import CrossmodalReport
from geomsolve.analyses.design_report import DesignReport
from geomsolve.analyses.elimination import eliminate, exact, in_fractions, target
from geomsolve.analyses.exactly import enclose
from geomsolve.analyses.imbalance import ImbalanceReport, imbalance
from geomsolve.analyses.merging import best_geometry
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.proof_texts import assumed, bounds, classes_of, complete, decimals, known_loss
from geomsolve.analyses.proofs_of_classifiers import of_classifiers
from geomsolve.analyses.proofs_of_frames import of_frame
from geomsolve.analyses.proofs_of_sides import of_sides
from geomsolve.analyses.proofs_of_spacing import of_spacing
from geomsolve.analyses.proofs_of_weightings import as_given, of_weighting
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
from geomsolve.objectives.merged import Merger
from geomsolve.proof.certificate import COLLAPSE_ROUNDING, collapse_blocks, collapse_is_optimal
from geomsolve.proof.collapse import has_majority
from geomsolve.questions.advise import Advise
from geomsolve.questions.base import Problem
from geomsolve.questions.capacity import Capacity
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.crossmodal import Crossmodal
from geomsolve.questions.design import Design
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.realizable import Realizable
from geomsolve.questions.spelled import command_line
from geomsolve.questions.threshold import Threshold
from geomsolve.report import Report

DIGITS = 12
"""Decimals of a threshold that are enclosed unless others are asked for; double precision gives no more."""

EIGENVALUES = 1e-14
"""How far a threshold from eigenvalues in double precision may be off, relative to a threshold above 1."""

LISTED = ("frame", "classifiers")
"""Kinds of proofs that are of the last format whatever their loss is."""

MOST_ENCLOSED = 50
"""Distinct proportions up to which the optimum is enclosed."""


def standing_alone(report: Report, problem: Problem, digits: int | None = None) -> str:
    """The proof of a report as the content of a file; InputError for ``proof`` where none is written.

    ``digits``: decimals of a threshold that are enclosed, :data:`DIGITS` unless given.
    """
    if isinstance(report, ImbalanceReport) and isinstance(problem, Imbalance):
        return as_text(of_optimum(report, problem))
    if isinstance(report, ClassifierReport) and isinstance(problem, Imbalance):
        return as_text(of_classifiers(report, problem))
    if isinstance(report, ThresholdReport) and isinstance(problem, Threshold):
        return as_text(of_threshold(report, problem, digits or DIGITS))
    if isinstance(report, RealizableReport) and isinstance(problem, Realizable):
        return as_text(of_target(report, problem))
    if isinstance(report, CapacityReport) and isinstance(problem, Capacity):
        return as_text(of_spacing(report, problem))
    if isinstance(report, CrossmodalReport) and isinstance(problem, Crossmodal):
        return as_text(of_sides(report, problem))
    if isinstance(report, DesignReport) and isinstance(problem, Design):
        return as_text(of_design(report, problem))
    if isinstance(report, AdviseReport) and isinstance(problem, Advise):
        return as_text(of_advice(report, problem))
    raise InputError("no proof that stands alone is written of such an answer; leave this out", field="proof")


def as_text(proof: dict[str, Any]) -> str:
    """A proof as JSON, one entry a line, of the first format that knows its loss."""
    loss, classes = proof["question"].get("loss"), proof["question"].get("classes", [{}])
    known = loss is None or {*loss} <= {"name", *verify.TAKES.get(loss["name"], "").split()}
    named = loss is None or (loss["name"] in verify.TAKES and not {"anchor", "compared"} & {*classes[0]})
    form = format_beyond(proof)
    if known and named and proof["kind"] in verify.KINDS and form == verify_further.FURTHER:
        form = verify.FORMAT
    head = {"format": form, "written_by": f"geomsolve {__version__}"}
    return json.dumps({**head, **proof}, indent=1, ensure_ascii=False) + "\n"


def format_beyond(proof: dict[str, Any]) -> str:
    """The first format beyond that of ``verify.py`` which knows what a proof is about."""
    kind, loss = proof["kind"], proof["question"].get("loss")
    listed = kind in verify_losses.KINDS and (loss is None or kind in LISTED or verify_losses.needed(loss))
    return verify_losses.LOSSES if listed else verify_further.FURTHER


def of_optimum(report: ImbalanceReport, problem: Imbalance) -> dict[str, Any]:
    """The proof of the least loss, of collapse and of uniqueness, as far as they were found."""
    loss = loss_of(problem)
    if report.dimension_limited or not report.convex or problem.slack is not None:
        raise InputError(
            "proofs that stand alone are about all embeddings; leave out --dim and --slack, or this", field="proof"
        )
    if report.structure.kind == "degenerate":
        raise InputError("the loss is degenerate, and the reason for that is its proof; leave this out", field="proof")
    if report.nonnegative is not None:
        return of_frame(report, problem, loss)
    found = Found(report.orbit_cosines, report.unique, report.rank, report.structure.groups, report.slopes)
    return {**proof_at(problem, loss, report.orbits, found), **assumed(report.assumption)}


@dataclass(frozen=True)
class Found:
    """A geometry that is optimal: cosines (m, m), whether it is the only one, rank, groups of classes at one point, and
    the slopes of a minorant of a loss with kinks."""

    cosines: FloatArray
    unique: bool | None
    rank: int
    groups: tuple[tuple[int, ...], ...] = ()
    slopes: FloatArray | None = None


def proof_at(problem: ClassProblem, loss: Loss, known: Orbits, found: Found) -> dict[str, Any]:
    """The proof that a geometry of ``known`` orbits is optimal."""
    classes, orbits, stated = classes_of(problem, known, known_loss(loss))
    objective = loss.objective(orbits)
    complete(stated, objective, orbits)
    cosines = known.expand(found.cosines, orbits)
    groups = groups_of(found, objective, orbits)
    if groups:
        cosines = best_geometry(objective, orbits, groups)
    apart = has_majority(orbits) and objective.decides and objective.smooth
    collapsed = apart and collapse_is_optimal(objective, orbits)
    if collapsed:
        signs = np.where(np.arange(orbits.n_orbits) == 0, 1, -1)
        cosines = np.outer(signs, signs).astype(np.float64)
        point = {"centroids": [[str(x)] for x in signs.tolist()], "spread": ["0"] * orbits.n_orbits}
    else:
        centroids, spread = orbits.factor(cosines)
        for group in groups:
            centroids[list(group)], spread[list(group)] = centroids[group[0]], 0.0
        point = {"centroids": decimals(centroids), "spread": decimals(spread)}
    dual, low, high = bounds(objective, orbits, cosines, found.slopes)
    claims: list[dict[str, str]] = [{"claim": "value", "at_most": high}, {"claim": "bound", "at_least": low}]
    claims += [{"claim": "collapsed"}] if collapsed else []
    claims += [{"claim": "unique"}] if found.unique and (objective.unique_minimiser or collapsed) else []
    proof = {
        "kind": "optimum",
        "question": {"loss": stated, "classes": classes},
        "point": point,
        "dual": dual,
        "claims": claims,
    }
    further = further_claims(proof, groups, found.rank) if objective.decides else []
    return {**proof, "further": further} if further else proof


def groups_of(found: Found, objective: Objective, orbits: Orbits) -> Merger:
    """Which orbits share a point at the optimum that is proven, as far as it was found; whole orbits only."""
    if not objective.decides or not found.groups:
        return ()
    groups = tuple(tuple(sorted({int(orbits.index[a]) for a in group})) for group in found.groups)
    whole = sum(int(orbits.sizes[list(group)].sum()) for group in groups) == sum(map(len, found.groups))
    apart = len({g for group in groups for g in group}) == sum(map(len, groups))
    return tuple(sorted(groups)) if whole and apart else ()


def of_design(report: DesignReport, problem: Design) -> dict[str, Any]:
    """The proof that the target is an optimum under the weights found."""
    if report.parameters is None or report.optimality is None:
        raise InputError(
            "a proof that stands alone is written of weights that were found; leave this out", field="proof"
        )
    loss = loss_of(problem).replace(**report.parameters)
    orbits = Orbits.trivial(problem.proportions, problem.class_counts)
    rank = int(np.linalg.matrix_rank(report.target, tol=1e-9, hermitian=True))
    found = Found(report.target, report.only, rank)
    return {**proof_at(problem, loss, orbits, found), **assumed(report.assumption)}


def of_advice(report: AdviseReport, problem: Advise) -> dict[str, Any]:
    """The proof of the geometry after the best change, or of that as things stand where none helps."""
    change: dict[str, Any] = {} if report.best is None else dict(report.best.change)
    if "merge" in change:
        change["merge"] = change["merge"].split("+")
    question = changed(problem, change)
    answer = imbalance(question)
    assert isinstance(answer, ImbalanceReport)
    return {**of_optimum(answer, question), "about": command_line(question)}


def further_claims(proof: dict[str, Any], groups: Merger, rank: int) -> list[dict[str, Any]]:
    """Which classes share a point in every optimum, and its rank, where python-flint is there and finds that both hold.

    What they take, the optimum enclosed, is more than numbers in double precision say beforehand.
    """
    if verify.flint is None or len(proof["question"]["classes"]) > MOST_ENCLOSED:
        return []
    listed = [list(group) for group in groups]
    claims: list[dict[str, Any]] = [{"claim": "groups", "groups": listed}] if groups else []
    claims.append({"claim": "rank", "groups": listed, "rank": rank})
    found = verify_losses.check_all(json.dumps({"format": format_beyond(proof), **proof, "claims": claims}))
    return [claim for claim, outcome in zip(claims, found, strict=True) if outcome[1]]


def of_threshold(report: ThresholdReport, problem: Threshold, digits: int) -> dict[str, Any]:
    """The proof that collapse sets in, or ends, in an interval whose ends differ by one in the last of ``digits``.

    The smallest eigenvalue of S, v left out, is 0 at the threshold; of its two sides the one where it is negative is
    shown by its eigenvector.
    """
    varied = ("temperature", "majority", "batch", "negatives")
    if report.threshold is None or problem.over not in varied or problem.slack is not None:
        raise InputError(
            f"proofs that stand alone are of thresholds over {', '.join(varied)}, where there is one; leave this out",
            field="proof",
        )
    loss = loss_of(problem)
    assert isinstance(loss, Loss)
    stated = known_loss(loss)
    path = path_over(problem.over, loss, Classes(problem.proportions, problem.class_counts))
    value = float(report.threshold["value"])
    objective, orbits = path.at(odds(path, value))
    classes, orbits, stated = classes_of(problem, orbits, stated)
    if problem.over in stated and path.whole:
        stated[problem.over] = str(int(value) + 1)  # there are most batches at the upper end
    complete(stated, objective, orbits)
    stated.pop(problem.over, None)
    if not has_majority(orbits):
        raise InputError("several classes are the largest; a proof needs one", field="proof")
    question = {"over": problem.over, "loss": stated, "classes": classes}
    above = bool(report.collapsed_above)
    if path.whole:
        low = next((k for k in (int(value) - 1, int(value)) if k > 0 and changes_after(path, k)), int(value))
        text, held = (str(low), str(low + 1)), float(low + 1 if above else low)
        blocks, size = collapse_blocks(*path.at(held))
        if blocks.min_eigenvalue() < COLLAPSE_ROUNDING * size:
            raise InputError(
                f"at {problem.over} {held:g} other geometries are as good as collapse, so that no proof that stands "
                "alone is written of this threshold; leave this out",
                field="proof",
            )
        return threshold_proof(
            question, assumed(report.assumption), text, downhill(path, float(low if above else low + 1)), above=above
        )
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
    return threshold_proof(question, assumed(report.assumption), text, against, above=above)


def threshold_proof(
    question: dict[str, Any], given: dict[str, str], ends: tuple[str, str], against: Any, *, above: bool
) -> dict[str, Any]:
    """That collapse sets in, or ends, between two ends, with a direction for the one where there is none."""
    side = "above" if above else "below"
    claim = {"claim": "threshold", "low": ends[0], "high": ends[1], "collapsed": side, "against": against}
    return {"kind": "threshold", "question": question, **given, "claims": [claim]}


def changes_after(path: Path, k: int) -> bool:
    """Whether classes collapse at just one of the whole numbers k and k + 1."""
    return collapse_is_optimal(*path.at(float(k))) != collapse_is_optimal(*path.at(float(k + 1)))


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
    weighting = weighting_of(problem)
    if weighting.in_proofs is None or problem.self_pairs == "exclude" or not as_given(problem):
        return of_weighting(report, problem, weighting)
    labels, sigma = in_fractions(problem, weighting, "proof")
    if report.exact is None:
        x = eliminate(target(labels, exact(problem.temperature), sigma))[1]
    else:
        x = report.exact["against"]
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
