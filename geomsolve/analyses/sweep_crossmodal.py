"""How do two sides change along one or two parameters?  Every point is solved and certified as by ``crossmodal``."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.crossmodal import answer_of, joint_of, refuse_proof
from geomsolve.analyses.crossmodal_report import KINDS, describe
from geomsolve.analyses.modality_gap import ModalityGap
from geomsolve.analyses.named import pair_loss_of
from geomsolve.analyses.sweep import GEOMETRY, MOST_DRAWN
from geomsolve.errors import InputError, nearest
from geomsolve.gram.paired import PairedGram
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import Joint
from geomsolve.pair_losses import PairLoss
from geomsolve.questions.crossmodal import Crossmodal
from geomsolve.questions.sweep import Elsewhere, points_of
from geomsolve.questions.sweep_crossmodal import SweepCrossmodal
from geomsolve.report import Proof, Report, Table, understood


@dataclass(frozen=True)
class SweepCrossmodalReport(Report):
    """One row a point, the last parameter of ``over`` varying fastest.

    ``geometries`` are the cosines of all points at each, those of the first side before those of the second, None where
    they are too many.  ``counted`` says which structures there are, and at how many points (``summary`` in JSON).
    ``rows`` hold the parameters, ``value``, ``lower_bound``, ``gap``, ``certified``, ``tied`` (true, false, or null
    where that was not settled), ``structure``, ``modality_gap``, ``partner_angle_deg`` (the largest of a point with its
    partner, null without any) and ``other_angle_deg`` (the smallest with any other).
    """

    command: ClassVar[str] = "sweep"
    apart: ClassVar[tuple[str, ...]] = ("counted", "geometries")
    structures: ClassVar[tuple[str, ...]] = KINDS

    over: dict[str, list[float]]
    nouns: tuple[str, str]
    counted: str
    rows: list[dict[str, Any]]
    geometries: list[FloatArray | None]
    seconds: float

    @property
    def certified(self) -> bool:
        return all(row["certified"] for row in self.rows)

    @property
    def headline(self) -> str:
        return self.counted

    @property
    def asked(self) -> dict[str, Any]:
        return {"structure": self.counted}

    @property
    def table(self) -> Table:
        """One row a point."""
        return Table.of_rows(self.rows)

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``axes`` are the parameters in their order."""
        return {
            **super().to_dict(**detail),
            "axes": list(self.over),
            "certified": self.certified,
            "summary": self.counted,
        }


def sweep_crossmodal(
    problem: SweepCrossmodal,
    *,
    progress: Callable[[int, int], None] | None = None,
    elsewhere: Elsewhere | None = None,
) -> SweepCrossmodalReport:
    """Answer the question of :class:`SweepCrossmodal`; ``progress`` is told the points solved, of how many.

    The points are solved here, unless they are solved ``elsewhere``.
    """
    validate(problem)
    began = time.perf_counter()
    loss = pair_loss_of(problem)
    if elsewhere is None:
        rows = rows_of(problem, loss, progress)
    else:
        rows = [row for answer in elsewhere(points_of(problem)) for row in answer["rows"]]
    geometries = [entry.pop(GEOMETRY, None) for entry in rows]  # answers from elsewhere have none
    counts = Counter(entry["structure"] for entry in rows)
    found = ", ".join(f"{kind} at {count}" for kind, count in counts.most_common())
    return SweepCrossmodalReport(
        problem=understood(problem, loss=loss.written),
        over={name: list(values) for name, values in problem.over.items()},
        nouns=(loss.first_noun, loss.second_noun),
        counted=f"{found} of {len(rows):,} points",
        rows=rows,
        geometries=geometries,
        seconds=time.perf_counter() - began,
    )


def rows_of(
    problem: SweepCrossmodal, loss: PairLoss, progress: Callable[[int, int], None] | None
) -> list[dict[str, Any]]:
    """The row of every point."""
    rows: list[dict[str, Any]] = []
    count = math.prod(map(len, problem.over.values()))
    for values in itertools.product(*problem.over.values()):
        if progress is not None:
            progress(len(rows), count)
        point = dict(zip(problem.over, values, strict=True))
        rows.append({**point, **row(problem, *at_point(problem, loss, point))})
    return rows


def at_point(problem: SweepCrossmodal, loss: PairLoss, point: dict[str, float]) -> tuple[PairLoss, Crossmodal]:
    """The loss and the question at a point; :class:`InputError` for a value that makes no sense."""
    asked = {name: getattr(problem, name) for name in (*problem.SOURCES, "noise", "names", "solver")}
    for name, value in point.items():
        if name == "noise":
            asked["noise"] = value
            continue
        try:
            loss = loss.replace(**{name: loss.takes()[name].parse(value)})
        except InputError as error:
            raise InputError(f"{name}: {error.message}", field="over") from None
    try:
        return loss, Crossmodal(**asked, loss={"name": loss.name, **loss.parameters()})
    except InputError as error:
        raise InputError(f"{error.field}: {error.message}", field="over") from None


def row(problem: SweepCrossmodal, loss: PairLoss, asked: Crossmodal) -> dict[str, Any]:
    """The figures of one point."""
    joint = joint_of(asked, loss)
    answer, joint = answer_of(loss, joint, problem)
    objective = loss.objective(joint)
    proof = answer.certificate
    arranged = describe(joint, answer.gram, proof.gap, answer.tied)
    own, others = arranged["partners"], arranged["others"]
    return {
        **Proof.of(proof).figures,
        "tied": answer.tied,
        "structure": arranged["kind"],
        "modality_gap": ModalityGap.alone(joint, objective, answer.gram).value,
        "partner_angle_deg": None if own is None else own["max_angle_deg"],
        "other_angle_deg": None if others is None else others["min_angle_deg"],
        GEOMETRY: whole(joint, answer.gram),
    }


def whole(joint: Joint, gram: PairedGram) -> FloatArray | None:
    """The cosines of all points, those of the first side before those of the second; None of too many."""
    x, y = joint.first_point, joint.second_point
    if x.size + y.size > MOST_DRAWN:
        return None
    first, cross, second = joint.paired.lift(gram)
    cross = cross[np.ix_(x, y)]
    return np.block([[first[np.ix_(x, x)], cross], [cross.T, second[np.ix_(y, y)]]])


def validate(problem: SweepCrossmodal) -> None:
    """Raise :class:`InputError` for a parameter or value that makes no sense, without solving."""
    loss = pair_loss_of(problem)
    for name, values in problem.over.items():
        if name != "noise" and (name not in loss.takes() or isinstance(loss.defaults()[name], str)):
            raise InputError(
                f"the loss {loss.name} has no {name} to go over; {nearest(name, [*loss.takes(), 'noise'])}",
                field="over",
            )
        for value in values:
            varied, asked = at_point(problem, loss, {name: value})
            varied.objective(joint_of(asked, varied))
            refuse_proof(asked, varied)
