"""How does the optimal geometry change along one or two parameters?

Every point is solved and certified as by ``imbalance``, and from scratch: starting at the neighbouring answer was
measured to be slower, as the way from a bent or collapsed geometry is longer than that from the simplex.  Along
temperature, majority share, batch size or negatives the places where the smaller classes collapse are found exactly
(``threshold.py``).

    imbalance   f = largest over smallest class:   exp  p_i ~ f^{-i / (K-1)};   step  p_i ~ 1 for i < K // 2, else 1 / f
                of classes that are given the logarithms of sizes are stretched alike

Of a loss with features and classifiers (``classifiers.py``) a row is about both, and along the weight of the
regulariser the places where alike classes merge are exact.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.classifiers import Arranged, arrange, program_of, refuse_unanswered, thresholds
from geomsolve.analyses.imbalance import SAME, best_in_dimension, flat_limit
from geomsolve.analyses.merging import structure_at
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.nonnegative import hold, proven_for, refuse_other_ranges
from geomsolve.analyses.ranges import Around, all_asked, range_above_frame, range_around, refuse_ranges, widest_range
from geomsolve.analyses.threshold import path_over
from geomsolve.analyses.threshold_report import UNITS
from geomsolve.analyses.varied import Classes, stretched, with_majority
from geomsolve.errors import InputError, nearest
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, angle_degrees, classify, names_of
from geomsolve.gram.types import FloatArray
from geomsolve.losses import ClassifierLoss, Loss
from geomsolve.proof.certificate import Certificate
from geomsolve.proof.collapse import collapse_changes, has_majority
from geomsolve.questions.sweep import WHOLE, Elsewhere, Sweep, points_of
from geomsolve.report import Proof, Report, Table, jsonable, understood
from geomsolve.solvers.base import Answer
from geomsolve.solvers.choose import refuse_oversize, solve_objective
from geomsolve.words import UNSEEN, nats, number

UNBENT = ("regular simplex", "antipodal", "undetermined")
"""Geometries beside which the regular simplex is no other one."""

MOST_DRAWN = 200
"""Classes up to which the geometry of every point is kept."""

GEOMETRY = "geometry"
"""Where a row holds it until it is taken out."""

OTHER_AXES = ("majority", "imbalance", "dim")
"""What can vary besides the parameters of the loss."""


@dataclass(frozen=True)
class SweepReport(Report):
    """One row a point, the last parameter of ``over`` varying fastest.

    ``geometries`` are the cosines (K, K) at each point between the classes called ``names``, None where there are more
    than :data:`MOST_DRAWN`. ``counted`` says which structures there are, and at how many points. ``rows`` hold the
    parameters, ``value``, ``lower_bound``, ``gap``, ``certified``, ``structure``, ``groups``, extreme cosines and
    angles, ``rank`` and ``rarest_angle_deg``, the angle between the two least frequent classes, and ``simplex_excess``,
    what the regular simplex would lose in nats (None where that does not arise); with a slack also ``widest``, how wide
    the widest range of a cosine is, ``widest_pair``, the names of its classes, and ``widest_complete``: no pair of
    distinct proportions was left out; of a mean over batches ``expectation``, 'exact' or, where the ratio of two
    expectations stands for it, 'ratio'. ``collapse`` lists where full minority collapse sets in or ends along the first
    parameter, within its range, for every value of the second; None where that parameter has no such thresholds. Of
    features and classifiers ``structure``, ``groups``, cosines and angles are those of the classifiers; ``features``,
    ``feature_min_angle_deg`` and ``feature_max_angle_deg`` are of the feature means, ``alignment`` is the mean cosine
    of a feature mean and its classifier, ``cross_entropy`` the loss without the charge on lengths; ``collapse``, along
    the weight of the regulariser, lists where the ``groups`` of alike classes merge, and where, with ``structure``
    'total collapse', all vanish. ``assumption`` completes 'for ...': the embeddings that the proofs are about, None
    where about all.
    """

    command: ClassVar[str] = "sweep"
    apart: ClassVar[tuple[str, ...]] = ("counted", "geometries", "names")

    over: dict[str, list[float]]
    counted: str
    rows: list[dict[str, Any]]
    geometries: list[FloatArray | None]
    names: tuple[str, ...]
    collapse: list[dict[str, Any]] | None
    seconds: float
    assumption: str | None = None

    @property
    def certified(self) -> bool:
        return all(row["certified"] for row in self.rows)

    @property
    def table(self) -> Table:
        return Table.of_rows(self.rows)

    @property
    def of_classifiers(self) -> bool:
        """Whether the rows are about features and classifiers."""
        return bool(self.rows) and "features" in self.rows[0]

    @property
    def headline(self) -> str:
        bends = self.bends
        return f"{self.counted}; {losing(bends)}" if bends else self.counted

    @property
    def bends(self) -> list[float]:
        """What the regular simplex would lose where the geometry is another one, in nats, ascending."""
        bent = [row for row in self.rows if row["structure"] not in UNBENT and row["simplex_excess"] is not None]
        return sorted(row["simplex_excess"] for row in bent if row["simplex_excess"] > SAME * max(1, abs(row["value"])))

    @property
    def asked(self) -> dict[str, Any]:
        return {"structure": self.counted}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``axes`` are the parameters in their order, which the keys of ``over`` lose when sorted."""
        own = {"axes": list(self.over), "certified": self.certified, "summary": self.counted}
        return {**super().to_dict(**detail), **own}


def losing(bends: list[float]) -> str:
    """What the regular simplex would lose, in words a trainer understands; ``bends`` ascending."""
    if bends[-1] < UNSEEN:
        return f"a regular simplex loses at most {nats(bends[-1])}: training will not see it"
    low, high = number(bends[0], 2), nats(bends[-1])
    return f"a regular simplex loses {high if bends[0] >= bends[-1] else f'{low} to {high}'}"


def profile(n_classes: int, factor: float, rule: str) -> tuple[float, ...]:
    """Proportions (K,) of ``n_classes`` whose largest is ``factor`` times the smallest, by ``rule`` exp or step."""
    rank = np.arange(n_classes)
    sizes = factor ** -(rank / (n_classes - 1)) if rule == "exp" else np.where(rank < n_classes // 2, 1.0, 1 / factor)
    return tuple((sizes / sizes.sum()).tolist())


def validate(problem: Sweep) -> None:
    """InputError for a parameter or value that makes no sense, without solving."""
    loss = loss_of(problem)
    first = {name: values[0] for name, values in problem.over.items()}
    for name in problem.over:
        if name not in OTHER_AXES and name not in loss.takes():
            known = nearest(name, [*loss.takes(), *OTHER_AXES])
            raise InputError(f"the loss {loss.name} has no {name}; {known}", field="over")
    for name, values in problem.over.items():
        for value in values:
            varied, classes = at_point(problem, loss, {**first, name: value})
            if isinstance(varied, ClassifierLoss):
                varied.program(varied.orbits(classes.proportions, classes.class_counts))
    if isinstance(loss, ClassifierLoss):
        refuse_unanswered(problem)
        if problem.dim is not None or "dim" in problem.over:
            raise InputError("in fewer dimensions classifiers are not worked out; leave it out", field="dim")


def at_point(problem: Sweep, loss: Loss, point: dict[str, float]) -> tuple[Loss, Classes]:
    """The loss and classes at a point; InputError for a value that makes no sense."""
    classes = Classes(problem.proportions, problem.class_counts)
    changes: dict[str, Any] = {}
    for name, value in sorted(point.items()):  # imbalance before majority, which keeps the ratios it makes
        if name == "imbalance":
            if not value >= 1:
                raise InputError(f"imbalance is largest over smallest class, at least 1, got {value:g}", field="over")
            if problem.classes is None:
                classes = stretched(classes, value)
            else:
                classes = Classes(profile(problem.classes, value, problem.profile), None)
        elif name == "majority":
            if not 0 < value < 1:
                raise InputError(f"a majority share lies between 0 and 1, got {value:g}", field="over")
            classes = with_majority(classes, value)
        elif name == "dim":
            if not (value >= 1 and value == int(min(value, 2**53))):
                raise InputError(f"dim is a whole number, at least 1, got {value:g}", field="over")
        else:
            try:
                changes[name] = loss.takes()[name].parse(value)
            except InputError as error:
                raise InputError(f"{name}: {error.message}", field="over") from None
    try:
        return loss.replace(**changes) if changes else loss, classes
    except InputError as error:
        raise InputError(f"{error.field.removeprefix('loss.')}: {error.message}", field="over") from None


def sweep(
    problem: Sweep, *, progress: Callable[[int, int], None] | None = None, elsewhere: Elsewhere | None = None
) -> SweepReport:
    """Answer the question of :class:`Sweep`; ``progress`` is told the points solved, and how many there are.

    The points are solved here, unless they are solved ``elsewhere``.
    """
    validate(problem)
    began = time.perf_counter()
    loss = loss_of(problem)
    if elsewhere is None:
        rows, assumption = rows_of(problem, loss, progress)
    else:
        answers = elsewhere(points_of(problem))
        rows = [row for answer in answers for row in answer["rows"]]
        assumption = next((answer["assumption"] for answer in answers if answer.get("assumption")), "")
    geometries = [entry.pop(GEOMETRY, None) for entry in rows]  # answers from elsewhere have none
    first = at_point(problem, loss, {name: values[0] for name, values in problem.over.items()})[0]
    written = {key: value for key, value in loss.written.items() if key in first.written}  # of one form, if that varies
    return SweepReport(
        problem=understood(problem, loss=written),
        over={name: [_plain(name, value) for value in values] for name, values in problem.over.items()},
        counted=summary(rows),
        rows=rows,
        geometries=geometries,
        names=tuple(problem.class_names),
        collapse=None if problem.nonnegative else collapse_along(problem, loss),
        seconds=time.perf_counter() - began,
        assumption=assumption or None,
    )


def rows_of(
    problem: Sweep, loss: Loss, progress: Callable[[int, int], None] | None
) -> tuple[list[dict[str, Any]], str]:
    """The row of every point, and what completes 'for ...' where the proofs are not about all embeddings."""
    rows: list[dict[str, Any]] = []
    assumption = ""
    count = math.prod(map(len, problem.over.values()))
    for values in itertools.product(*problem.over.values()):
        if progress is not None:
            progress(len(rows), count)
        point = {name: _plain(name, value) for name, value in zip(problem.over, values, strict=True)}
        varied, classes = at_point(problem, loss, point)
        orbits = varied.orbits(classes.proportions, classes.class_counts)
        refuse_oversize(orbits.n_orbits, field="over")
        if isinstance(varied, ClassifierLoss):
            found = arrange(program_of(varied, orbits, field=problem.source), orbits, tolerance=problem.tolerance)
            rows.append({**point, **classifier_row(problem, found)})
            continue
        if problem.nonnegative:
            rows.append({**point, **nonnegative_row(problem, varied, orbits, point.get("dim", problem.dim))})
            assumption = assumption or proven_for(varied.assumption(orbits))
            continue
        objective = varied.objective(orbits)
        answer = solve_objective(objective, orbits, solver=problem.solver, tolerance=problem.tolerance)
        if not answer.resolved:
            answer = flat_limit(objective, orbits, answer) or answer
        assumption = assumption or varied.assumption(orbits)
        dim = point.get("dim", problem.dim)
        entry = row(problem, varied, orbits, answer, None if dim is None else int(dim))
        if problem.slack is not None:
            refuse_ranges(objective)
            entry |= widest(problem, varied, orbits, answer)
        if objective.expectation:
            entry["expectation"] = objective.expectation
        rows.append({**point, **entry})
    return rows, assumption


def _plain(name: str, value: float) -> float:
    return int(value) if name in WHOLE and value == int(min(value, 2**53)) else value


def row(problem: Sweep, loss: Loss, orbits: Orbits, answer: Answer, dim: int | None) -> dict[str, Any]:
    """The figures of one point, in at most ``dim`` dimensions."""
    objective = loss.objective(orbits)
    structure, rank = structure_at(objective, orbits, answer)
    simplex = objective.value(orbits.regular_simplex())
    limited = dim is not None and rank > dim
    if limited and dim is not None:
        orbits, answer = best_in_dimension(loss, orbits, answer, dim, problem.seed)
        known = answer.certificate.gap if answer.certificate.certified else 0.0
        structure = classify(orbits, answer.solution.cosines, known, limited=True)
        rank = orbits.rank(answer.solution.cosines, structure.tolerance)
    excess = None if limited or objective.degenerate else simplex - answer.certificate.value
    return figures(problem, orbits, answer.certificate, answer.solution.cosines, structure, rank, excess)


def classifier_row(problem: Sweep, found: Arranged) -> dict[str, Any]:
    """The figures of one point for features and classifiers."""
    features, classifiers = found.features.structure, found.classifiers
    figured = figures(problem, found.orbits, found.proof, classifiers.cosines, classifiers.structure, found.rank, None)
    rarest_known = np.isfinite(classifiers.cosines[rarest(found.orbits)])
    more = {
        "features": features.kind,
        "feature_min_angle_deg": features.min_angle_deg,
        "feature_max_angle_deg": features.max_angle_deg,
        "alignment": found.alignment,
        "rarest_angle_deg": figured["rarest_angle_deg"] if rarest_known else None,
        "cross_entropy": found.cross_entropy,
    }
    known: dict[str, Any] = jsonable({**figured, **more})
    return known


def nonnegative_row(problem: Sweep, loss: Loss, orbits: Orbits, dim: float | None) -> dict[str, Any]:
    """The figures of one point for features without a negative coordinate."""
    whole = None if dim is None else int(dim)
    held = hold(loss, orbits, solver=problem.solver, tolerance=problem.tolerance, seed=problem.seed, dim=whole)
    answer = held.answer
    found = figures(problem, held.orbits, answer.certificate, answer.solution.cosines, held.structure, held.rank, None)
    if problem.slack is not None:
        refuse_ranges(loss.objective(orbits))
        refuse_other_ranges(held)
        found |= widest(problem, loss, orbits, held.answer, range_above_frame)
    return {**found, "exact": held.found.exact}


def widest(problem: Sweep, loss: Loss, orbits: Orbits, answer: Answer, around: Around = range_around) -> dict[str, Any]:
    """The pair whose cosine ranges farthest around an answer, within the slack."""
    assert problem.slack is not None
    pair, range_ = widest_range(loss.objective, orbits, answer.solution.cosines, problem.slack, around)
    return {
        "widest": range_.width,
        "widest_pair": [problem.class_names[a] for a in pair],
        "widest_complete": all_asked(orbits),
    }


def rarest(orbits: Orbits) -> tuple[int, int]:
    """The orbits of the two least frequent classes."""
    g, h = orbits.index[np.argsort(orbits.proportions[orbits.index], kind="stable")[:2]]
    return int(g), int(h)


def figures(
    problem: Sweep,
    orbits: Orbits,
    proof: Certificate,
    cosines: FloatArray,
    structure: Structure,
    rank: int,
    excess: float | None,
) -> dict[str, Any]:
    """The figures of an answer; ``excess`` of the regular simplex."""
    return {
        **Proof.of(proof).figures,
        "structure": structure.kind,
        "groups": names_of(structure.groups, problem.class_names),
        "min_cosine": structure.min_cosine,
        "max_cosine": structure.max_cosine,
        "min_angle_deg": structure.min_angle_deg,
        "max_angle_deg": structure.max_angle_deg,
        "rarest_angle_deg": angle_degrees(float(cosines[rarest(orbits)])),
        "rank": rank,
        "simplex_excess": excess,
        GEOMETRY: drawn(orbits, cosines),
    }


def drawn(orbits: Orbits, cosines: FloatArray) -> FloatArray | None:
    """The cosines between all classes; None where they are too many or, of features at 0, there are none."""
    if orbits.n_classes > MOST_DRAWN:
        return None
    gram = orbits.lift(cosines)
    return gram if np.all(np.isfinite(gram)) else None


def summary(rows: list[dict[str, Any]]) -> str:
    """Which structures there are, and at how many points, the most frequent first."""
    counts = Counter(entry["structure"] for entry in rows)
    return ", ".join(f"{kind} at {count}" for kind, count in counts.most_common()) + f" of {len(rows):,} points"


def collapse_along(problem: Sweep, loss: Loss) -> list[dict[str, Any]] | None:
    """Exact places of full minority collapse along the first parameter, for every value of the second."""
    first, *second = problem.over
    if isinstance(loss, ClassifierLoss):
        return mergers_along(problem, loss) if first == "regularise" else None
    if first not in UNITS or (first == "imbalance" and problem.classes is not None):  # sizes by a profile
        return None
    low, high = min(problem.over[first]), max(problem.over[first])
    found: list[dict[str, Any]] = []
    for value in problem.over[second[0]] if second else (None,):
        point = {} if value is None else {second[0]: value}
        varied, classes = at_point(problem, loss, point)
        path = path_over(first, varied, classes)
        orbits = varied.orbits(classes.proportions, classes.class_counts)
        if orbits.n_classes < 3 or not path.at(path.scan[0])[0].decides:
            continue
        if first != "majority" and not has_majority(orbits):
            continue
        part = path.between(low, high)
        found += [
            {first: path.value(change.at), **point, "collapsed_above": change.after}
            for change in collapse_changes(part.at, part.scan, whole=part.whole)
        ]
    return found


def mergers_along(problem: Sweep, loss: ClassifierLoss) -> list[dict[str, Any]]:
    """Exact weights of the regulariser at which alike classes merge, or all vanish, for every value of the second."""
    first, *second = problem.over
    low, high = min(problem.over[first]), max(problem.over[first])
    found: list[dict[str, Any]] = []
    for value in problem.over[second[0]] if second else (None,):
        point = {} if value is None else {second[0]: value}
        varied, classes = at_point(problem, loss, {first: low, **point})
        assert isinstance(varied, ClassifierLoss)
        orbits = varied.orbits(classes.proportions, classes.class_counts)
        *own, (end, _) = thresholds(program_of(varied, orbits, field=problem.source))
        stages = [
            (at, "minority collapse", [problem.class_names[a] for a in np.flatnonzero(orbits.index == g)])
            for at, g in own
            if at < end * (1 - 1e-12)
        ]
        found += [
            {first: at, **point, "collapsed_above": True, "structure": kind, "groups": [group]}
            for at, kind, group in [*stages, (end, "total collapse", list(problem.class_names))]
            if low <= at <= high
        ]
    return found
