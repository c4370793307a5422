"""The answer of ``geomsolve design``: weights with their proof, the proof that there are none, or the nearest found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.nearest import Nearest
from geomsolve.gram.structure import Structure
from geomsolve.gram.types import FloatArray
from geomsolve.proof.certificate import Certificate
from geomsolve.proof.equal_masses import UnequalMasses
from geomsolve.proof.farkas import Refutation
from geomsolve.report import Report, Table, jsonable


@dataclass(frozen=True)
class DesignReport(Report):
    """``weights`` (None where none were found) by class, sum 1: anchor masses or denominators (K,), both of them,
    margins (K, K), or the batches, by positions of classes from 1, with how often each comes.  ``parameters`` of the
    loss set them.  ``target`` (K, K) is the geometry asked for, ``moved`` by so
    much to be a Gram matrix.

    ``optimality``: the certificate of the target under the weights, in nats; ``refutation``: that there are none.
    ``only``: whether the target is then the only optimum; None where that is not known.
    ``assumption`` completes 'for ...': the embeddings for which proofs of optima hold, None where for all.
    ``nearest``: the best that was found where the target was not reached.
    """

    command: ClassVar[str] = "design"
    apart: ClassVar[tuple[str, ...]] = (
        "names",
        "proportions",
        "target",
        "optimality",
        "refutation",
        "only",
        "structure",
    )
    verdicts: ClassVar[tuple[str, ...]] = ("feasible", "none", "not found")

    names: tuple[str, ...]
    proportions: FloatArray
    target: FloatArray
    moved: float
    assumption: str | None
    structure: Structure
    weights: FloatArray | dict[str, Any] | None
    parameters: dict[str, Any] | None
    optimality: Certificate | None
    only: bool | None
    refutation: Refutation | UnequalMasses | None
    nearest: Nearest | None

    @property
    def verdict(self) -> str:
        """'feasible' or 'none', both proven, or 'not found'."""
        if self.optimality is not None:
            return "feasible"
        return "not found" if self.refutation is None else "none"

    @property
    def feasible(self) -> bool | None:
        """Whether weights exist; None where that is not known."""
        return {"feasible": True, "none": False, "not found": None}[self.verdict]

    @property
    def certified(self) -> bool:
        return self.feasible is not None

    @property
    def table(self) -> Table:
        if not isinstance(self.weights, np.ndarray):
            return super().table
        if self.weights.ndim == 2:
            return Table.of_matrix(self.weights, self.names)
        return Table({"proportion": self.proportions.tolist(), "weight": self.weights.tolist()}, list(self.names))

    @property
    def value(self) -> float | None:
        return None if self.optimality is None else self.optimality.value

    @property
    def gap(self) -> float | None:
        return None if self.optimality is None else self.optimality.gap

    @property
    def headline(self) -> str:
        if self.feasible is None and self.nearest is not None:
            return f"not found; nearest is off by {self.nearest.max_gram_error:.2g}"
        return {"feasible": "weights exist", "none": "no such weights", "not found": "not found"}[self.verdict]

    @property
    def asked(self) -> dict[str, Any]:
        return {"verdict": self.verdict, **(self.structure.facts(self.names) if self.feasible else {})}

    @property
    def figures(self) -> dict[str, float]:
        proof = self.proof
        off = {} if self.nearest is None else {"nearest: largest error of a cosine": self.nearest.max_gram_error}
        return off if proof is None else {"residual of the proof": proof["residual"], **off}

    @property
    def proof(self) -> dict[str, Any] | None:
        """The proof under the keys that JSON has."""
        if self.optimality is not None:
            c = self.optimality
            return {
                "kind": "optimal",
                "residual": c.gap,
                "value": c.value,
                "lower_bound": c.lower_bound,
                "gap": c.gap,
                "unique": self.only,
            }
        return None if self.refutation is None else self.refutation.plain

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        """The JSON object."""
        own = {key: getattr(self, key) for key in ("verdict", "feasible", "proof")}
        classes = [{"name": n, "proportion": p} for n, p in zip(self.names, self.proportions, strict=True)]
        plain = {**super().to_dict(**detail), **jsonable({**own, "classes": classes, "gram": self.target})}
        if self.nearest is not None:
            plain["nearest"]["weights"] = jsonable(alone(self.nearest.weights))
        return plain


def alone(weights: dict[str, Any]) -> Any:
    """Weights by what they are, or those of one kind alone."""
    return weights if len(weights) > 1 else next(iter(weights.values()))
