"""The same classes under several losses, side by side: where does each put them, and how much does it care?

Every row is a forward solve of its own, that of ``geomsolve imbalance``, with its certificate.  Beside the geometry:

    simplex_excess   F(regular simplex) - F*, in nats: what equal angles everywhere would lose
    threshold        the temperature nearest to the one in force at which the smaller classes fall into one point
    width            how wide the range is in which a cosine may lie at F* + slack (``proof/ranges.py``), of the pair
                     that the loss holds least firmly; of every pair where these are few

A loss that gives no answer for these classes has a row that says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.classifiers import ClassifierReport, classifiers
from geomsolve.analyses.forward import angles_of, fixes, forward
from geomsolve.analyses.imbalance import ImbalanceReport, geometry
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.ranges import Around, by_firmness, range_above_frame, range_around
from geomsolve.analyses.remedies import EQUAL
from geomsolve.errors import GeomsolveError, InputError, nearest
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.structure import angle_degrees, names_of
from geomsolve.losses import REGISTRY, ClassifierLoss, find_loss, make_loss
from geomsolve.questions.base import LossChoice
from geomsolve.questions.contrast import ALL, Contrast
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.spelled import command_line
from geomsolve.report import Report, Table, jsonable, understood
from geomsolve.solvers.choose import refuse_oversize

FEW_PAIRS = 6
"""Pairs of distinct proportions up to which the range of each is asked for."""

LOOSEST = 1
"""Pairs, those held least firmly, whose ranges are asked for beyond: the first was the widest wherever all were."""

RANGED_ORBITS = 150
"""Distinct proportions up to which ranges are asked for: each takes some twenty solves."""


@dataclass(frozen=True)
class Width:
    """The widest range found: how ``wide``, of which ``pair`` by name; ``complete`` if of all pairs."""

    wide: float
    pair: tuple[str, str]
    complete: bool


@dataclass(frozen=True)
class Row:
    """What one loss does; angles in degrees, ``value``, ``lower_bound``, ``gap`` and ``simplex_excess`` in nats.

    ``label`` tells the row from the others.  ``ignored`` are parameters that the loss does not take.  ``failed`` says
    why there is no answer; ``missing`` whether that is for want of something that can be given.  ``fixed`` is False
    where the loss does not fix the angles.  ``max_cosine`` is that of the smallest angle.  ``threshold``: the
    temperature at which all but the largest class fall into one point, ``collapsed_above`` it or below.  Of a
    loss that has classifiers, too, the row is about its feature means; ``classifier_angle_deg`` is the smallest angle
    between two classifiers.
    """

    label: str
    parameters: dict[str, Any]
    ignored: tuple[str, ...] = ()
    failed: str | None = None
    missing: bool = False
    structure: str | None = None
    groups: list[list[str]] | None = None
    min_angle_deg: float | None = None
    minority_angle_deg: float | None = None
    max_cosine: float | None = None
    simplex_excess: float | None = None
    threshold: float | None = None
    collapsed_above: bool | None = None
    width: Width | None = None
    value: float | None = None
    lower_bound: float | None = None
    gap: float | None = None
    certified: bool = False
    unique: bool | None = None
    fixed: bool = False
    classifier_angle_deg: float | None = None
    assumption: str | None = None
    command: str | None = None

    @property
    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        plain: dict[str, Any] = jsonable(vars(self))
        wide = self.width
        plain["loss"] = plain.pop("label")
        plain["width"] = None if wide is None else wide.wide
        plain["width_pair"] = None if wide is None else list(wide.pair)
        plain["width_complete"] = None if wide is None else wide.complete
        del plain["missing"], plain["max_cosine"]
        return plain


@dataclass(frozen=True)
class ContrastReport(Report):
    """One row a loss: in the order asked for, or the widest angle first where no losses were named.

    ``names`` are the classes, of so many ``sizes``, ``smaller`` those that are less frequent than the largest;
    ``simplex_angle_deg`` is the angle of the regular simplex.  ``slack`` in nats is that of the widths.
    """

    command: ClassVar[str] = "contrast"
    apart: ClassVar[tuple[str, ...]] = ("names", "sizes")
    verdicts: ClassVar[tuple[str, ...]] = ("none collapses", "some collapse", "all collapse", "no answer")

    names: tuple[str, ...]
    smaller: tuple[str, ...]
    sizes: int
    simplex_angle_deg: float
    slack: float
    rows: tuple[Row, ...]

    @property
    def solved(self) -> tuple[Row, ...]:
        """The rows with an answer."""
        return tuple(row for row in self.rows if row.failed is None)

    @property
    def settled(self) -> tuple[Row, ...]:
        """The rows whose loss fixes the angles, the widest first."""
        return tuple(sorted((row for row in self.solved if row.fixed), key=lambda row: -self.angle(row)))

    def angle(self, row: Row) -> float:
        """The smallest angle of a row with an answer between the smaller classes, or between all where these are
        fewer than two."""
        found = row.min_angle_deg if row.minority_angle_deg is None else row.minority_angle_deg
        assert found is not None
        return found

    @property
    def collapsed(self) -> tuple[Row, ...]:
        """The rows in which classes share a point."""
        return tuple(row for row in self.settled if row.groups)

    @property
    def verdict(self) -> str:
        """How many of the losses that fix the angles put classes at one point."""
        if not self.settled:
            return "no answer"
        if not self.collapsed:
            return "none collapses"
        return "all collapse" if len(self.collapsed) == len(self.settled) else "some collapse"

    @property
    def certified(self) -> bool:
        return all(row.certified for row in self.rows if not row.missing)

    @property
    def table(self) -> Table:
        return Table.of_rows([row.plain for row in self.rows], [row.label for row in self.rows])

    @property
    def headline(self) -> str:
        if not self.settled:
            return self.verdict
        best, worst = self.settled[0], self.settled[-1]
        if best is worst:
            return f"{self.angle(best):.1f}° ({best.label})"
        return f"{self.angle(worst):.1f}° ({worst.label}) to {self.angle(best):.1f}° ({best.label})"

    @property
    def asked(self) -> dict[str, Any]:
        cosines = [row.max_cosine for row in self.settled if row.max_cosine is not None]
        extremes = {"min_cosine": min(cosines), "max_cosine": max(cosines)} if cosines else {}
        return {"verdict": self.verdict, **extremes}

    @property
    def figures(self) -> dict[str, float]:
        return {f"{row.label}: smallest angle, degrees": self.angle(row) for row in self.settled}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        plain = super().to_dict(**detail)
        plain["rows"] = [row.plain for row in self.rows]
        plain["verdict"] = self.verdict
        plain["certified"] = self.certified
        return plain


def contrast(problem: Contrast, *, progress: Callable[[str], None] | None = None) -> ContrastReport:
    """Answer the question of :class:`Contrast`; ``progress`` is told of each loss that is being solved."""
    validate(problem)
    rows = []
    for entry in entries(problem):
        if progress is not None:
            progress(label(entry))
        rows.append(row_of(problem, entry))
    if all(row.missing for row in rows):
        raise InputError("; ".join(f"{row.label}: {row.failed}" for row in rows), field="losses")
    p = problem.proportions
    report = ContrastReport(
        problem=understood(problem, losses=[plain(entry) for entry in entries(problem)]),
        names=problem.class_names,
        smaller=tuple(name for name, share in zip(problem.class_names, p, strict=True) if share < max(p) * (1 - EQUAL)),
        sizes=len(set(p)),
        simplex_angle_deg=angle_degrees(simplex_cosine(len(p))),
        slack=problem.slack,
        rows=tuple(rows),
    )
    return report if isinstance(problem.losses, tuple) else best_first(report)


def validate(problem: Contrast) -> None:
    """InputError for losses that there are not, and for parameters that none of them takes, without solving."""
    refuse_oversize(len(set(problem.proportions)), field=problem.source)
    for entry in entries(problem):
        try:
            takes = type(make_loss(entry.name, {})).takes()
            for key, value in entry.parameters.items():
                if key not in takes:
                    raise InputError(f"{entry.name} does not use {key!r}; {nearest(key, takes)}")
                takes[key].parse(value)
        except InputError as error:
            raise InputError(said(error), field="losses") from None
    takers = {name: {key for key, cls in REGISTRY.items() if name in cls.takes()} for name in problem.loss.parameters}
    shown = {entry.name for entry in entries(problem)}
    for name, users in takers.items():
        if not users & shown:
            raise InputError(
                f"none of these losses uses it, but {', '.join(sorted(users))} would; name one under --losses",
                field=f"loss.{name}",
            )


def entries(problem: Contrast) -> tuple[LossChoice, ...]:
    """The losses that are asked about, in the order asked for."""
    if isinstance(problem.losses, tuple):
        return problem.losses
    usual = [name for name, cls in REGISTRY.items() if vars(cls).get("in_contrast")]  # itself, not what it derives from
    names = sorted(REGISTRY if problem.losses == ALL else usual)
    return tuple(LossChoice(name=name) for name in names)


def plain(entry: LossChoice) -> Any:
    """A loss as a problem file has it."""
    return {"name": entry.name, **entry.parameters} if entry.parameters else entry.name


def label(entry: LossChoice) -> str:
    """A loss with the parameters of its own, in a few words."""
    own = [f"{key.replace('_', ' ')} {value}" for key, value in entry.parameters.items()]
    return ", ".join([entry.name, *own])


def said(error: GeomsolveError) -> str:
    """What is wrong, with the key that it is about."""
    about = error.field.removeprefix("loss.") if isinstance(error, InputError) else ""
    message = getattr(error, "message", str(error))
    return f"{about.replace('_', ' ')}: {message}" if about not in ("", "name") else message


def row_of(problem: Contrast, entry: LossChoice) -> Row:
    """What one loss does to the classes of a problem."""
    takes = find_loss(entry.name).takes()
    shared = problem.loss.parameters
    ignored = tuple(key for key in shared if key not in takes)
    stated = {**{key: value for key, value in shared.items() if key in takes}, **entry.parameters}
    try:
        question = forward(problem, {"name": entry.name, **stated}, nonnegative=problem.nonnegative)
        loss = loss_of(question)
        if isinstance(loss, ClassifierLoss):
            answer: ClassifierReport | ImbalanceReport = classifiers(question)
        else:
            answer = geometry(question)
    except GeomsolveError as error:
        return Row(label(entry), stated, ignored, failed=said(error), missing=isinstance(error, InputError))
    whose = of_features(answer) if isinstance(answer, ClassifierReport) else of_means(question, answer, problem.slack)
    return Row(
        label=label(entry),
        parameters=loss.parameters(),
        ignored=ignored,
        value=answer.value,
        lower_bound=answer.lower_bound,
        gap=answer.gap,
        certified=bool(answer.certified),
        unique=answer.unique,
        command=command_line(question),
        **whose,
    )


def of_means(question: Imbalance, report: ImbalanceReport, slack: float) -> dict[str, Any]:
    """What a row says of the class means that a loss of one set of points wants."""
    loss = loss_of(question)
    objective = loss.objective(report.orbits)
    shown = not objective.degenerate
    smallest, minority = angles_of(report)
    near = report.nearest_threshold
    together = max(map(len, report.structure.groups), default=1) >= report.orbits.n_classes - 1
    return {
        "structure": report.structure.kind,
        "groups": report.groups(),
        "min_angle_deg": smallest if shown else None,
        "minority_angle_deg": minority if shown else None,
        "max_cosine": report.structure.max_cosine if shown else None,
        "simplex_excess": report.simplex_excess,
        "threshold": None if near is None else near["value"],
        "collapsed_above": None if near is None else (loss.parameters()["temperature"] > near["value"]) == together,
        "width": width(question, report, slack),
        "fixed": fixes(report, objective),
        "assumption": report.assumption,
    }


def of_features(report: ClassifierReport) -> dict[str, Any]:
    """What a row says of the feature means, where a loss has classifiers besides.

    There is no temperature, and the simplex is not compared with: what a loss is worth there depends on lengths.
    """
    structure, cosines = report.features.structure, report.features.gram
    p = report.orbits.proportions[report.orbits.index]
    smaller = np.flatnonzero(p < p.max() * (1 - EQUAL))
    among = cosines[np.ix_(smaller, smaller)][np.triu_indices(smaller.size, 1)]
    known = among[np.isfinite(among)]
    return {
        "structure": structure.kind,
        "groups": names_of(structure.groups, report.names),
        "min_angle_deg": structure.min_angle_deg,
        "minority_angle_deg": angle_degrees(float(known.max())) if known.size else None,
        "max_cosine": structure.max_cosine,
        "classifier_angle_deg": report.structure.min_angle_deg,
        "fixed": report.unique is not False and bool(report.certified),
    }


def width(question: Imbalance, report: ImbalanceReport, slack: float) -> Width | None:
    """The widest range that a cosine may have at a loss ``slack`` above the optimum.

    None where the loss has kinks or is not convex, depends on nothing, or there are too many distinct proportions; of
    non-negative features, where the optimum is not the orthogonal frame.
    """
    loss, orbits, cosines = loss_of(question), report.orbits, report.orbit_cosines
    objective = loss.objective(orbits)
    if not objective.smooth or objective.degenerate or not report.convex or orbits.n_orbits > RANGED_ORBITS:
        return None
    around: Around = range_around
    if report.nonnegative is not None:
        if report.nonnegative["how"] != "frame":
            return None
        around = range_above_frame
    pairs = by_firmness(objective, orbits, cosines)
    asked = pairs if len(pairs) <= FEW_PAIRS else pairs[:LOOSEST]
    found = {pair: around(loss.objective, orbits, cosines, slack, pair).width for pair in asked}
    widest = max(asked, key=lambda pair: found[pair])
    names = question.class_names
    return Width(found[widest], (names[widest[0]], names[widest[1]]), len(asked) == len(pairs))


def best_first(report: ContrastReport) -> ContrastReport:
    """The same with the rows whose angles are fixed on top, the widest first, and those without an answer last."""

    def rank(row: Row) -> tuple[Any, ...]:
        open_angles = row.min_angle_deg is None or not row.fixed
        return (row.failed is not None, open_angles, 0.0 if open_angles else -round(report.angle(row), 4), row.label)

    return ContrastReport(**{**vars(report), "rows": tuple(sorted(report.rows, key=rank))})
