"""Which single change of the training moves the classes as wanted, and which does nothing or harm?

Every change is answered by a forward solve of its own, that of ``geomsolve imbalance``, with its certificate.  Where a
parameter has no value that everyone tries, the least change that reaches the want is looked for (``needed.py``).

    wanted       the smallest angle between the smaller classes, or between any two, as large as that
    helps        that angle is larger than now by more than what the gaps leave open
    reached      it is as large as wanted, and the loss fixes it: the optimum is not known to be one of many
    unsolved     no solver gave a usable answer: the change is listed without angles, and nothing is claimed of it

Classes are the smaller ones where they are less frequent than the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from geomsolve.analyses.changes import Change, Changes, bound, changed
from geomsolve.analyses.forward import angles_of, fixes
from geomsolve.analyses.imbalance import ImbalanceReport, geometry
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.needed import Bound
from geomsolve.analyses.remedies import EQUAL
from geomsolve.errors import InputError, SolverError
from geomsolve.questions.advise import Advise
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.spelled import command_line
from geomsolve.report import Report, Table, jsonable, understood
from geomsolve.solvers.choose import refuse_oversize


@dataclass(frozen=True)
class Option:
    """One ``change`` {flag: value} and what it does; angles in degrees, ``simplex_excess`` in nats.

    ``minority_angle_deg`` is None with fewer than two smaller classes, ``simplex_excess`` where it makes no sense.
    ``fixed`` is False where the loss does not fix the angles: it hardly depends on them, or is as content with others.
    ``tried`` are the least and the most looked at where none reaches, ``change`` then being the best of them.
    ``unsolved`` is what the solver said where it gave no answer: then there are no angles, and nothing is known.
    ``assumption`` completes 'proven for ...'.  ``command`` repeats the forward solve.
    """

    change: Change
    helps: bool
    reached: bool
    min_angle_deg: float | None
    minority_angle_deg: float | None
    simplex_excess: float | None
    certified: bool
    structure: str | None
    unique: bool | None
    fixed: bool
    tried: tuple[float, float] | None
    assumption: str | None
    command: str
    unsolved: str | None = None

    @classmethod
    def without_answer(cls, change: Change, command: str, why: str) -> Option:
        """A change of which nothing is known, as no solver answered the question that ``command`` asks."""
        unknown = dict.fromkeys(
            ("min_angle_deg", "minority_angle_deg", "simplex_excess", "structure", "unique", "tried", "assumption")
        )
        no = dict.fromkeys(("helps", "reached", "certified", "fixed"), False)
        return cls(change=plainly(change), command=command, unsolved=why, **unknown, **no)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Standing:
    """What the loss wants before any change; angles and ``simplex_excess`` as in :class:`Option`.

    ``groups``: names of classes that coincide.  ``bent``: whether it is no regular simplex.  ``rank``: dimensions used.
    ``classes``: name, proportion and orbit of each.
    """

    min_angle_deg: float
    minority_angle_deg: float | None
    structure: str
    groups: list[list[str]]
    simplex_excess: float | None
    certified: bool
    resolved: bool
    bent: bool
    rank: int
    classes: list[dict[str, Any]]

    @classmethod
    def of(cls, report: ImbalanceReport) -> Standing:
        """What a report says of it."""
        smallest, minority = angles_of(report)
        return cls(
            min_angle_deg=smallest,
            minority_angle_deg=minority,
            structure=report.structure.kind,
            groups=report.groups(),
            simplex_excess=report.simplex_excess,
            certified=bool(report.certified),
            resolved=report.resolved,
            bent=report.structure.simplex_distance > report.structure.tolerance,
            rank=report.rank,
            classes=report.to_dict()["classes"],
        )

    @property
    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        keys = ("min_angle_deg", "minority_angle_deg", "structure", "groups", "simplex_excess", "certified", "resolved")
        return {key: getattr(self, key) for key in keys}


@dataclass(frozen=True)
class AdviseReport(Report):
    """The problem as it is ``now``, and the ``options``, best first.

    ``wanted_deg`` is the angle wanted, None for a simplex; ``reached`` whether it is there already; ``settled`` whether
    the loss fixes the angles as things stand.
    ``smaller`` are the names of the smaller classes.
    """

    command: ClassVar[str] = "advise"
    apart: ClassVar[tuple[str, ...]] = ("now", "names")
    verdicts: ClassVar[tuple[str, ...]] = ("nothing to change", "reached", "better", "no change helps")

    want: str
    wanted_deg: float | None
    now: Standing
    settled: bool
    reached: bool
    names: tuple[str, ...]
    smaller: tuple[str, ...]
    options: tuple[Option, ...]

    @property
    def best(self) -> Option | None:
        """The best change, if one helps."""
        return next((option for option in self.options if option.helps), None)

    @property
    def verdict(self) -> str:
        """Whether the want is met now, by a change, or not quite; one of ``verdicts``."""
        if self.reached or self.best is None:
            return "nothing to change" if self.reached else "no change helps"
        return "reached" if self.best.reached else "better"

    @property
    def table(self) -> Table:
        return Table.of_rows(self.options)

    @property
    def headline(self) -> str:
        if self.reached or self.best is None:
            return self.verdict
        said = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in self.best.change.items())
        return said if self.best.reached else f"{said}, which is not enough"

    @property
    def certified(self) -> bool:
        return self.now.certified and all(option.certified for option in self.options)

    @property
    def asked(self) -> dict[str, Any]:
        return {"verdict": self.verdict}

    @property
    def figures(self) -> dict[str, float]:
        best = self.best
        found = {"smallest angle now, degrees": self.now.min_angle_deg}
        if best is not None and best.min_angle_deg is not None:
            found["with the best change"] = best.min_angle_deg
        return found

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        plain = super().to_dict(**detail)
        plain["now"] = jsonable(self.now.plain)
        plain["verdict"] = self.verdict
        plain["classes"] = self.now.classes
        return plain


def advise(problem: Advise, *, progress: Callable[[Change], None] | None = None) -> AdviseReport:
    """Answer the question of :class:`Advise`; ``progress`` is told of each change that is being solved."""
    loss = loss_of(problem)
    validate(problem)
    now = geometry(changed(problem, {}))
    judge = Judge(problem, now)
    options = []
    for change, tried in Changes(problem, loss, now.orbits, not judge.done).all():
        if progress is not None:
            progress(change)
        try:
            question = changed(problem, change)
            found = geometry(question)
        except InputError:  # what the loss does not take together is no option
            continue
        except SolverError as error:
            options.append(Option.without_answer(change, command_line(question), str(error)))
            continue
        if found.convex and found.structure.kind != "degenerate":
            options.append(judge.option(change, tried, question, found))
    p = problem.proportions
    return AdviseReport(
        problem=understood(problem, loss=loss.written),
        want=problem.want,
        wanted_deg=problem.wanted.degrees,
        now=Standing.of(now),
        settled=judge.settled,
        reached=judge.done,
        names=problem.class_names,
        smaller=tuple(name for name, share in zip(problem.class_names, p, strict=True) if share < max(p) * (1 - EQUAL)),
        options=tuple(sorted(options, key=judge.rank)),
    )


def plainly(change: Change) -> Change:
    """A change as it is reported: merged classes as one name."""
    return {key: "+".join(value) if key == "merge" else value for key, value in change.items()}


def validate(problem: Advise) -> None:
    """InputError for what the loss knows to be wrong, without solving."""
    loss = loss_of(problem)
    orbits = loss.orbits(problem.proportions, problem.class_counts)
    refuse_oversize(orbits.n_orbits, field=problem.source)
    if loss.objective(orbits).below is not None:
        raise InputError(
            "this loss is not convex, so that no change is proven to help; geomsolve sweep searches",
            field="loss.hardness",
        )


@dataclass(frozen=True, eq=False)
class Judge:
    """Says what changes of a ``problem`` do, whose answer as it stands is ``now``."""

    problem: Advise
    now: ImbalanceReport

    def bound(self, report: ImbalanceReport) -> Bound:
        """What a report says about the angle that is wanted."""
        return bound(self.problem, report.orbits, report.orbit_cosines, report.structure.tolerance)

    @cached_property
    def settled(self) -> bool:
        """Whether the loss fixes the geometry as things stand."""
        return self.fixed(self.now, changed(self.problem, {}))

    @cached_property
    def done(self) -> bool:
        """Whether the want is met as things stand."""
        return self.settled and self.bound(self.now).reached

    @property
    def comparable(self) -> bool:
        """Whether there is an angle now to be wider than: fixed by the loss, or the one that it tends to."""
        return self.settled or not self.now.resolved

    def fixed(self, report: ImbalanceReport, question: Imbalance) -> bool:
        """Whether the loss fixes the geometry of a report."""
        return fixes(report, loss_of(question).objective(report.orbits))

    def option(
        self, change: Change, tried: tuple[float, float] | None, question: Imbalance, found: ImbalanceReport
    ) -> Option:
        """What a change does, by its forward solve ``found``."""
        smallest, minority = angles_of(found)
        about_smaller = self.problem.wanted.smaller and angles_of(self.now)[1] is not None
        fixed = self.fixed(found, question)
        meant = fixed and not (about_smaller and minority is None)
        reach = self.bound(found)
        return Option(
            change=plainly(change),
            helps=meant and (reach.better(self.bound(self.now)) if self.comparable else reach.reached),
            reached=meant and reach.reached,
            min_angle_deg=smallest,
            minority_angle_deg=minority,
            simplex_excess=found.simplex_excess,
            certified=bool(found.certified),
            structure=found.structure.kind,
            unique=found.unique,
            fixed=fixed,
            tried=tried,
            assumption=found.assumption,
            command=command_line(question),
        )

    def rank(self, option: Option) -> tuple[Any, ...]:
        """Best first: what helps and reaches, by the angle wanted.  Another loss comes after what keeps this one,
        giving up classes after all else that helps, and what was not solved last."""
        angle = option.minority_angle_deg if self.problem.wanted.smaller else option.min_angle_deg
        angle = option.min_angle_deg if angle is None else angle
        other = option.helps and "loss" in option.change
        angle = -1.0 if angle is None else angle
        kept = "merge" in option.change
        return (option.unsolved is not None, not option.helps, kept, not option.reached, other, -round(angle, 4))
