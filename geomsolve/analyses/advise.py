"""Which single change of the training moves the classes as wanted, and which does nothing or harm?

Every change is answered by a forward solve of its own, that of ``geomsolve imbalance``, with its certificate.  Where a
parameter has no value that everyone tries, the least change that reaches the want is looked for (``needed.py``).

    wanted       the smallest angle between the smaller classes, or between any two, as large as that
    helps        that angle is larger than now by more than what the gaps leave open
    reached      it is as large as wanted, and the loss fixes it: the optimum is not known to be one of many

Classes are the smaller ones where they are less frequent than the largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from geomsolve.analyses.imbalance import ImbalanceReport, geometry
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.needed import Bound, Look, least_change
from geomsolve.analyses.remedies import MOST_ORBITS, SAMPLERS, largest_cosine
from geomsolve.errors import GeomsolveError, InputError
from geomsolve.gram.structure import angle_degrees, structure_tolerance
from geomsolve.losses import REGISTRY, Loss
from geomsolve.questions.advise import Advise
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.spelled import command_line
from geomsolve.report import Report, jsonable, understood
from geomsolve.solvers.choose import refuse_oversize, solve_objective

FIXED: tuple[dict[str, Any], ...] = (
    *({"sampler": name} for name in SAMPLERS),
    {"denominator": "balanced"},
    {"anchor_weights": "balanced"},
    {"anchor_weights": "balanced", "denominator": "balanced"},
    {"logit_adjust": 1.0},
)
"""Changes that are tried as they are commonly made."""

STEP = 10**0.25
"""Ratio of one temperature that is tried to the next."""

PATHS: dict[str, tuple[tuple[float, ...], ...]] = {
    "sampler": ((0.8, 0.6, 0.4, 0.2, 0.0),),
    "logit_adjust": ((-0.5, -1.0, -1.5, -2.0), (0.5, 1.0, 1.5, 2.0)),
}
"""Values looked at on each side of the one in force, nearest first."""

WHOLE: dict[str, tuple[int, ...]] = {
    "batch": (2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1024, 4096),
    "views": (2, 3, 4, 6, 8, 16),
    "negatives": (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 1024, 4096),
}
"""Whole numbers looked at for each parameter that is one."""

MERGERS = 8
"""How many rare classes at most are tried as one."""


Change = dict[str, Any]
"""Flags with their values, ``loss``, ``dim``, or the names to ``merge``."""

Step = tuple[Change, tuple[float, float] | None]
"""A change, and the range of values looked at where it is only the best of them."""


@dataclass(frozen=True)
class Option:
    """One ``change`` {flag: value} and what it does; angles in degrees, ``simplex_excess`` in nats.

    ``minority_angle_deg`` is None with fewer than two smaller classes, ``simplex_excess`` where it makes no sense.
    ``resolved`` is False where the loss hardly depends on the angles, ``unique`` False where other geometries are as
    good.  ``tried`` are the least and the most looked at where none reaches, ``change`` then being the best of them.
    ``assumption`` completes 'proven for ...'.  ``command`` repeats the forward solve.
    """

    change: Change
    helps: bool
    reached: bool
    min_angle_deg: float
    minority_angle_deg: float | None
    simplex_excess: float | None
    certified: bool
    structure: str
    unique: bool | None
    resolved: bool
    tried: tuple[float, float] | None
    assumption: str | None
    command: str


@dataclass(frozen=True)
class AdviseReport(Report):
    """The problem as it is ``now`` (None where the loss says nothing of the geometry), and the ``options``, best first.

    ``wanted_deg`` is the angle wanted, None for a simplex; ``reached`` whether it is there already.
    ``smaller`` are the names of the smaller classes.
    """

    command: ClassVar[str] = "advise"
    apart: ClassVar[tuple[str, ...]] = ("now", "names")

    want: str
    wanted_deg: float | None
    now: ImbalanceReport
    reached: bool
    names: tuple[str, ...]
    smaller: tuple[str, ...]
    options: tuple[Option, ...]

    @property
    def best(self) -> Option | None:
        """The best change, if one helps."""
        return next((option for option in self.options if option.helps), None)

    @property
    def headline(self) -> str:
        if self.reached:
            return "nothing needs to change"
        if self.best is None:
            return "no change helps"
        said = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in self.best.change.items())
        return said if self.best.reached else f"{said}, which is not enough"

    @property
    def certified(self) -> bool:
        return self.now.certified and all(option.certified for option in self.options)

    @property
    def figures(self) -> dict[str, float]:
        now, best = angles_of(self.now), self.best
        found = {"smallest angle now, degrees": now[0]}
        return found if best is None else {**found, "with the best change": best.min_angle_deg}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        plain = super().to_dict(**detail)
        now = self.now
        smallest, minority = angles_of(now)
        plain["now"] = {
            "min_angle_deg": smallest,
            "minority_angle_deg": minority,
            "structure": now.structure.kind,
            "groups": now.groups(),
            "simplex_excess": jsonable(now.simplex_excess),
            "certified": bool(now.certified),
            "resolved": now.resolved,
        }
        plain["classes"] = now.to_dict()["classes"]
        return plain


def angles_of(report: ImbalanceReport) -> tuple[float, float | None]:
    """The smallest angle of all classes, and that of the smaller ones, in degrees."""
    closest = largest_cosine(report.orbits, report.orbit_cosines, smaller=True)
    return report.structure.min_angle_deg, None if closest is None else angle_degrees(closest)


def advise(problem: Advise) -> AdviseReport:
    """Answer the question of :class:`Advise`."""
    loss = loss_of(problem)
    validate(problem)
    now = geometry(changed(problem, {}))
    seeker = Seeker(problem, loss, now)
    options = []
    for change, tried in seeker.changes():
        question = changed(problem, change)
        try:
            found = geometry(question)
        except GeomsolveError:  # what the loss does not take together, or no solver solves, is no option
            continue
        if found.convex and found.structure.kind != "degenerate":
            options.append(seeker.option(change, tried, question, found))
    p = problem.proportions
    return AdviseReport(
        problem=understood(problem, loss=loss.written),
        want=problem.want,
        wanted_deg=problem.wanted.degrees,
        now=now,
        reached=seeker.reaches(now),
        names=problem.class_names,
        smaller=tuple(name for name, share in zip(problem.class_names, p, strict=True) if share < max(p) * (1 - 1e-9)),
        options=tuple(sorted(options, key=seeker.rank)),
    )


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


def changed(problem: Advise, change: Change) -> Imbalance:
    """The forward question after a change: parameters of the loss, another ``loss``, a ``dim``, or a ``merge``."""
    parameters, classes = dict(problem.loss.parameters), {}
    for name in (*problem.SOURCES, "names"):
        classes[name] = getattr(problem, name)
    own = {key: value for key, value in change.items() if key not in ("loss", "dim", "merge")}
    name = change.get("loss", problem.loss.name)
    if "loss" in change:
        parameters = {key: value for key, value in parameters.items() if key in REGISTRY[name].takes()}
    if "merge" in change:
        classes = merged(problem, change["merge"])
    how = {key: getattr(problem, key) for key in ("solver", "tolerance", "seed")}
    return Imbalance(**classes, **how, dim=change.get("dim", problem.dim), loss={"name": name, **parameters, **own})


def merged(problem: Advise, names: list[str]) -> dict[str, Any]:
    """The classes with those of the given ``names`` as one, as fields of a question."""
    kept = [a for a, name in enumerate(problem.class_names) if name not in names]
    gone = [a for a, name in enumerate(problem.class_names) if name in names]
    source, values = ("counts", problem.class_counts) if problem.class_counts else ("props", problem.proportions)
    joined = [*(values[a] for a in kept), sum(values[a] for a in gone)]
    return {source: joined, "names": [*(problem.class_names[a] for a in kept), "+".join(names)]}


@dataclass(frozen=True)
class Seeker:
    """Looks for changes of a ``problem`` with its ``loss``, whose answer as it stands is ``now``."""

    problem: Advise
    loss: Loss
    now: ImbalanceReport

    def bound(self, report: ImbalanceReport) -> Bound:
        """What a report says about the angle that is wanted."""
        return self.measure(report.orbits, report.orbit_cosines, report.structure.tolerance)

    def measure(self, orbits: Any, cosines: Any, tolerance: float) -> Bound:
        """The largest cosine among the classes that the want is about, and how exactly it is known."""
        wanted = self.problem.wanted
        closest = largest_cosine(orbits, cosines, smaller=True) if wanted.smaller else None
        if closest is None:
            closest = largest_cosine(orbits, cosines, smaller=False)
        assert closest is not None
        return Bound(closest, tolerance, orbits.n_classes, wanted.degrees)

    def reaches(self, report: ImbalanceReport) -> bool:
        """Whether the want is met."""
        return self.fixed(report) and self.bound(report).reached

    def fixed(self, report: ImbalanceReport) -> bool:
        """Whether the loss fixes the geometry, as far as is known."""
        return report.resolved and report.unique is not False and report.structure.kind != "degenerate"

    def option(
        self, change: Change, tried: tuple[float, float] | None, question: Imbalance, found: ImbalanceReport
    ) -> Option:
        """What a change does, by its forward solve ``found``."""
        smallest, minority = angles_of(found)
        about_smaller = self.problem.wanted.smaller and angles_of(self.now)[1] is not None
        meant = self.fixed(found) and not (about_smaller and minority is None)
        bound = self.bound(found)
        open_now = self.now.unique is False or self.now.structure.kind == "degenerate"
        return Option(
            change={key: "+".join(value) if key == "merge" else value for key, value in change.items()},
            helps=meant and (bound.reached if open_now else bound.better(self.bound(self.now))),
            reached=meant and bound.reached,
            min_angle_deg=smallest,
            minority_angle_deg=minority,
            simplex_excess=found.simplex_excess,
            certified=bool(found.certified),
            structure=found.structure.kind,
            unique=found.unique,
            resolved=found.resolved,
            tried=tried,
            assumption=found.assumption,
            command=command_line(question),
        )

    def rank(self, option: Option) -> tuple[Any, ...]:
        """Best first: what helps and reaches, by the angle wanted; giving up classes comes last of what helps."""
        angle = option.minority_angle_deg if self.problem.wanted.smaller else option.min_angle_deg
        angle = option.min_angle_deg if angle is None else angle
        return (not option.helps, "merge" in option.change, not option.reached, -round(angle, 4))

    def changes(self) -> Iterator[Step]:
        """Every single change, in a fixed order."""
        takes, given = self.loss.takes(), self.loss.parameters()
        if "temperature" in takes:
            yield from self.temperature()
        for name in PATHS:
            if name in takes:
                yield from self.along(name)
        for change in FIXED:
            parsed = {name: takes[name].parse(value) for name, value in change.items() if name in takes}
            if len(parsed) == len(change) and any(given.get(name) != value for name, value in parsed.items()):
                yield change, None
        for name in WHOLE:
            if name in takes and (name != "views" or given.get("batch") is not None):
                yield from self.along_whole(name)
        if self.problem.dim is not None and self.problem.dim < len(self.problem.proportions) - 1:
            yield {"dim": len(self.problem.proportions) - 1}, None
        yield from (({"loss": name}, None) for name in sorted(REGISTRY) if name != self.loss.name)
        yield from self.merge()

    @property
    def searching(self) -> bool:
        """Whether values are searched for: there is something to reach, and each look is cheap."""
        few = self.now.orbits.n_orbits <= MOST_ORBITS
        return few and self.problem.dim is None and not self.reaches(self.now)

    def look(self, change: Change) -> Look | None:
        """A quick forward solve; None where the change makes no sense or is not solved."""
        question = changed(self.problem, change)
        try:
            loss = loss_of(question)
            orbits = loss.orbits(question.proportions, question.class_counts)
            objective = loss.objective(orbits)
            answer = solve_objective(objective, orbits, tolerance=question.tolerance)
        except GeomsolveError:
            return None
        bound = self.measure(orbits, answer.solution.cosines, structure_tolerance(max(answer.certificate.gap, 0.0)))
        excess = objective.value(orbits.regular_simplex()) - answer.certificate.value
        return Look(bound, excess, answer.resolved)

    def temperature(self) -> Iterator[Step]:
        """The temperature that is needed, below the one in force or, where none there is enough, above it."""
        now = self.loss.parameters()["temperature"]
        lower = [float(f"{now / STEP**i:.3g}") for i in range(1, 13) if now / STEP**i >= 1e-3]
        higher = [float(f"{now * STEP**i:.3g}") for i in range(1, 9) if now * STEP**i <= 1e3]
        if not self.searching:
            yield from (({"temperature": x}, None) for x in (now / 2, now * 2) if 1e-4 <= x <= 1e6)
            return
        found = least_change(lambda x: self.look({"temperature": x}), now, [lower, higher], logarithmic=True)
        if found is not None:
            yield {"temperature": found.value}, found.tried

    def along(self, name: str) -> Iterator[Step]:
        """The value of a continuous parameter that is needed, unless it is one that is tried anyway."""
        given = self.loss.parameters().get(name)
        now = {"sampler": 1.0, "logit_adjust": 0.0}[name] if given is None else float(given)
        sides = [[x for x in side if (x - now) * (side[-1] - side[0]) > 0] for side in PATHS[name]]
        if not self.searching:
            return
        found = least_change(lambda x: self.look({name: x}), now, sides)
        tried = [self.loss.takes()[name].parse(change[name]) for change in FIXED if set(change) == {name}]
        if found is not None and found.value not in tried:
            yield {name: found.value}, found.tried

    def along_whole(self, name: str) -> Iterator[Step]:
        """The whole number that is needed, nearest to the one in force (None or inf: beyond all)."""
        given = self.loss.parameters().get(name)
        now = float("inf") if given is None else float(given)
        try:
            least, most = self.loss.range_of(name, self.now.orbits)
        except InputError:
            return
        if not self.searching:
            return
        values = [x for x in WHOLE[name] if least <= x <= most]
        sides = [[x for x in reversed(values) if x < now], [x for x in values if x > now]]
        found = least_change(lambda x: self.look({name: int(x)}), now, sides, whole=True)
        if found is not None:
            yield {name: int(found.value)}, found.tried

    def merge(self) -> Iterator[Step]:
        """The fewest of the rarest classes that, taken as one, are enough; at least two smaller classes are left."""
        p = self.problem.proportions
        names = [self.problem.class_names[a] for a in sorted(range(len(p)), key=lambda a: (p[a], a))]
        most = min(len([x for x in p if x < max(p) * (1 - 1e-9)]) - 1, MERGERS)
        if not self.searching or most < 2:
            return
        found = least_change(
            lambda count: self.look({"merge": names[: int(count)]}), 1, [range(2, most + 1)], whole=True
        )
        if found is not None:
            merged = names[: int(found.value)]
            yield {"merge": [name for name in self.problem.class_names if name in merged]}, None
