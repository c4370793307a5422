"""Proofs that stand alone of weightings whose wanted cosines are no fractions: the verdict, and the least loss.

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

MOST_LABELS = 200
"""Distinct labels up to which a proof is written."""

ROUNDING = 1e-12
"""Eigenvalues of T, relative to its entries and size, whose sign is not claimed."""


def of_weighting(report: RealizableReport, problem: Realizable, weighting: Weighting) -> dict[str, Any]:
    """The proof of the verdict, where a margin shows it, and of the least loss."""
    target = target_of(problem, weighting)
    taken = TAKES.get(weighting.name)
    stated = {key: weighting.in_force(problem.temperature).get(key) for key in (taken or "").split()}
    plain = target.latents.unit and target.normalise == "rows" and problem.dim is None
    plain = plain and problem.arc is None and problem.bin is None
    if taken is None or not plain or any(x is None for x in stated.values()) or target.zero_weights or target.partial:
        raise InputError(
            "proofs that stand alone are of weightings above 0 with cosine latents, on labels or weights as given: "
            f"{', '.join(TAKES)}; leave this out, or --arc, --bin, --dim, --normalise, --similarity",
            field="proof",
        )
    m = target.orbits.n_orbits
    if m > MOST_LABELS or report.attained is None:
        raise InputError(f"{m:,} distinct labels are too many to check; a proof is of {MOST_LABELS}", field="proof")
    question: dict[str, Any] = {"weighting": {"name": weighting.name, **{key: _plain(x) for key, x in stated.items()}}}
    if target.labels is not None:
        question["labels"] = _plain(target.labels)
    question |= {} if target.include else {"self_pairs": "exclude"}
    question |= {"sizes": target.orbits.sizes.tolist(), "temperature": exact(problem.temperature)}
    cosines = target.orbits.nearest_gram(report.attained)
    centroids, spread = target.orbits.factor(cosines)
    dual, low, high = bounds(target.objective(), target.orbits, cosines, None)
    claims: list[dict[str, Any]] = [{"claim": "value", "at_most": high}, {"claim": "bound", "at_least": low}]
    claims += [{"claim": "unique"}] if report.proof.unique and target.include else []
    return {
        "kind": "weighting",
        "question": question,
        "point": {"centroids": decimals(centroids), "spread": decimals(spread)},
        "dual": dual,
        "claims": [*claims, *(_verdict(report, weighting, problem) if target.include else _up_to_constant(report))],
    }


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
