"""Proofs that stand alone of weightings whose wanted cosines are no fractions: the verdict, and the least loss.

A weighting that the checker does not know by name is stated as the matrix of its weights, and the proof says so.

Symbols: T ``wanted``, the matrix of wanted cosines between distinct labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.analyses.elimination import exact
from geomsolve.analyses.proof_texts import bounds, decimals
from geomsolve.analyses.realizable import target_of
from geomsolve.analyses.realizable_report import RealizableReport
from geomsolve.errors import InputError
from geomsolve.questions.realizable import Realizable
from geomsolve.verify_weightings import FREE, TAKES
from geomsolve.weightings import Weighting
from geomsolve.weightings.target import Target

MOST_LABELS = 200
"""Distinct labels up to which a proof is written."""

ROUNDING = 1e-12
"""Eigenvalues of T, relative to its entries and size, whose sign is not claimed."""


def of_weighting(report: RealizableReport, problem: Realizable, weighting: Weighting) -> dict[str, Any]:
    """The proof of the verdict, where a margin shows it, and of the least loss."""
    target = target_of(problem, weighting)
    if type(target) is not Target or not target.latents.unit or target.partial or problem.dim is not None:
        raise InputError(
            "proofs that stand alone are of one weight for each pair, all known, and cosine latents; leave this out, "
            "or --dim, --similarity",
            field="proof",
        )
    m = target.orbits.n_orbits
    if m > MOST_LABELS or report.attained is None:
        raise InputError(f"{m:,} distinct labels are too many to check; a proof is of {MOST_LABELS}", field="proof")
    stated = {key: weighting.in_force(problem.temperature).get(key) for key in TAKES.get(weighting.name, "").split()}
    named = (
        weighting.name in TAKES
        and as_given(problem)
        and not target.zero_weights
        and all(x is not None for x in stated.values())
    )
    question: dict[str, Any] = {"weighting": {"name": weighting.name, **{key: _plain(x) for key, x in stated.items()}}}
    given: dict[str, Any] = {}
    if not named:
        question = _by_numbers(target)
        given = {"assuming": f"weights that are those of {weighting.name} on the labels asked about"}
    elif target.labels is not None:
        question["labels"] = _plain(target.labels)
    question |= {} if target.include else {"self_pairs": "exclude"}
    question |= {"sizes": target.orbits.sizes.tolist(), "temperature": exact(problem.temperature)}
    cosines = target.orbits.nearest_gram(report.attained)
    centroids, spread = target.orbits.factor(cosines)
    dual, low, high = bounds(target.objective(), target.orbits, cosines, None)
    claims: list[dict[str, Any]] = [{"claim": "value", "at_most": high}, {"claim": "bound", "at_least": low}]
    claims += [{"claim": "unique"}] if report.proof.unique and target.include else []
    verdict = _verdict(report, weighting, problem) if target.include else _up_to_constant(report)
    return {
        "kind": "weighting",
        "question": question,
        **given,
        "point": {"centroids": decimals(centroids), "spread": decimals(spread)},
        "dual": dual,
        "claims": [*claims, *(verdict if named else [])],
    }


def as_given(problem: Realizable) -> bool:
    """Whether labels and weights enter as they were given."""
    return problem.normalise == "rows" and problem.arc is None and problem.bin is None


def _by_numbers(target: Target) -> dict[str, Any]:
    """The weights (m, m) as a matrix of numbers, and how much an anchor counts where that differs."""
    weights = np.exp(target.log_weights - target.log_weights.max())
    masses = target.masses
    question = {"weighting": {"name": "custom", "weights": decimals((weights + weights.T) / 2)}}
    return {**question, **({} if np.ptp(masses) == 0 else {"masses": decimals(masses)})}


def _verdict(report: RealizableReport, weighting: Weighting, problem: Realizable) -> list[dict[str, Any]]:
    """The claim about T, where its smallest eigenvalue, or the form of the weighting, decides."""
    wanted = np.array(report.wanted)
    np.fill_diagonal(wanted, 1.0)
    if not np.isfinite(wanted).all():
        return []
    values, vectors = np.linalg.eigh(wanted)
    rounding = ROUNDING * wanted.shape[0] * float(np.abs(wanted).max())
    mixture = weighting.in_force(problem.temperature).get("target_temperature", 0) >= problem.temperature
    if report.verdict == "realizable" and (mixture or values[0] > rounding):
        return [{"claim": "realizable"}]
    if report.verdict == "inconsistent" and values[0] < -rounding:
        return [{"claim": "not realizable", "against": decimals(vectors[:, 0])}]
    return []


def _up_to_constant(report: RealizableReport) -> list[dict[str, Any]]:
    """The claim that T is psd with one constant, where that is not within rounding."""
    if report.verdict != "realizable" or report.constant is None or report.target is None:
        return []
    inside = report.target["min_eigenvalue"] > 10 * report.target["tolerance"]
    return [{"claim": FREE, "constant": decimals(np.asarray(report.constant["best"]))}] if inside else []


def _plain(x: Any) -> Any:
    """A parameter as a proof states it."""
    if isinstance(x, str):
        return x
    return [_plain(row) for row in np.asarray(x).tolist()] if np.ndim(x) else exact(float(x))
