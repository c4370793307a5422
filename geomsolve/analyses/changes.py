"""The single changes that are tried, and the value of each that is needed.

Some are tried as they are commonly made (``FIXED``).  Of others the least change that reaches the want is looked for
(``needed.py``), by quick forward solves on both sides of the value in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from geomsolve.analyses.forward import forward
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.needed import Bound, Found, Look, least_change
from geomsolve.analyses.remedies import EQUAL, MOST_ORBITS, SAMPLERS, largest_cosine
from geomsolve.errors import InputError, SolverError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import structure_tolerance
from geomsolve.gram.types import FloatArray
from geomsolve.losses import REGISTRY, Loss
from geomsolve.questions.advise import Advise
from geomsolve.questions.imbalance import Imbalance
from geomsolve.solvers.choose import solve_objective

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
    "batch": (2, 3, 4, 6, 8, 16, 32, 128, 512, 4096),
    "views": (2, 3, 4, 8, 16),
    "negatives": (1, 2, 3, 4, 6, 8, 16, 32, 128, 512, 4096),
}
"""Whole numbers looked at for each parameter that is one."""

MERGERS = 8
"""How many rare classes at most are tried as one."""


Change = dict[str, Any]
"""Flags with their values, ``loss``, ``dim``, or the names to ``merge``."""

Step = tuple[Change, tuple[float, float] | None]
"""A change, and the range of values looked at where it is only the best of them."""


def changed(problem: Advise, change: Change) -> Imbalance:
    """The forward question after a change: parameters of the loss, another ``loss``, a ``dim``, or a ``merge``."""
    parameters = dict(problem.loss.parameters)
    own = {key: value for key, value in change.items() if key not in ("loss", "dim", "merge")}
    name = change.get("loss", problem.loss.name)
    if "loss" in change:
        parameters = {key: value for key, value in parameters.items() if key in REGISTRY[name].takes()}
    classes = merged(problem, change["merge"]) if "merge" in change else {}
    return forward(problem, {"name": name, **parameters, **own}, dim=change.get("dim", problem.dim), **classes)


def merged(problem: Advise, names: list[str]) -> dict[str, Any]:
    """The classes with those of the given ``names`` as one, as fields of a question."""
    kept = [a for a, name in enumerate(problem.class_names) if name not in names]
    gone = [a for a, name in enumerate(problem.class_names) if name in names]
    source, values = ("counts", problem.class_counts) if problem.class_counts else ("props", problem.proportions)
    joined = [*(values[a] for a in kept), sum(values[a] for a in gone)]
    others = dict.fromkeys(problem.SOURCES)
    return {**others, source: joined, "names": [*(problem.class_names[a] for a in kept), "+".join(names)]}


def bound(problem: Advise, orbits: Orbits, cosines: FloatArray, tolerance: float) -> Bound:
    """The largest cosine among the classes that the want is about, known to ``tolerance``."""
    wanted = problem.wanted
    closest = largest_cosine(orbits, cosines, smaller=True) if wanted.smaller else None
    if closest is None:
        closest = largest_cosine(orbits, cosines, smaller=False)
    assert closest is not None
    return Bound(closest, tolerance, orbits.n_classes, wanted.degrees)


@dataclass(frozen=True)
class Changes:
    """The single changes of a ``problem`` with its ``loss``, whose classes have ``orbits``.

    Values are searched for where the want is ``open``: not met as things stand.
    """

    problem: Advise
    loss: Loss
    orbits: Orbits
    open: bool

    def all(self) -> Iterator[Step]:
        """Every single change, in a fixed order."""
        takes, given = self.loss.takes(), self.loss.parameters()
        if "temperature" in takes:
            yield from self.temperature()
        for name in PATHS:
            if name in takes:
                yield from self.along(name)
        for change in FIXED:
            parsed = {name: takes[name].parse(value) for name, value in change.items() if name in takes}
            if len(parsed) == len(change) and all(given.get(name) != value for name, value in parsed.items()):
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
        few = self.orbits.n_orbits <= MOST_ORBITS
        return few and self.problem.dim is None and self.open

    def needed(
        self, change: Callable[[float], Change], now: float, sides: Sequence[Sequence[float]], **how: bool
    ) -> Found | None:
        """The value that is needed, as :func:`least_change` says; where there is none as no solver solved the changes,
        the first of them, so that it is not dropped unseen."""
        unsolved: list[float] = []

        def look(x: float) -> Look | None:
            try:
                return self.look(change(x))
            except SolverError:
                unsolved.append(x)
                return None

        found = least_change(look, now, sides, **how)
        return Found(unsolved[0]) if found is None and unsolved else found

    def look(self, change: Change) -> Look | None:
        """A quick forward solve; None where the change makes no sense.  Raises SolverError."""
        try:
            question = changed(self.problem, change)
            loss = loss_of(question)
            orbits = loss.orbits(question.proportions, question.class_counts)
            objective = loss.objective(orbits)
            answer = solve_objective(objective, orbits, tolerance=question.tolerance)
        except InputError:
            return None
        seen = bound(
            self.problem, orbits, answer.solution.cosines, structure_tolerance(max(answer.certificate.gap, 0.0))
        )
        excess = objective.value(orbits.regular_simplex()) - answer.certificate.value
        return Look(seen, excess, answer.resolved)

    def temperature(self) -> Iterator[Step]:
        """The temperature that is needed, below the one in force or, where none there is enough, above it."""
        now = self.loss.parameters()["temperature"]
        lower = [float(f"{now / STEP**i:.3g}") for i in range(1, 13) if now / STEP**i >= 1e-3]
        higher = [float(f"{now * STEP**i:.3g}") for i in range(1, 9) if now * STEP**i <= 1e3]
        if not self.searching:
            yield from (({"temperature": x}, None) for x in (now / 2, now * 2) if 1e-4 <= x <= 1e6)
            return
        found = self.needed(lambda x: {"temperature": x}, now, [lower, higher], logarithmic=True)
        if found is not None:
            yield {"temperature": found.value}, found.tried

    def along(self, name: str) -> Iterator[Step]:
        """The value of a continuous parameter that is needed, unless it is one that is tried anyway."""
        given = self.loss.parameters().get(name)
        now = {"sampler": 1.0, "logit_adjust": 0.0}[name] if given is None else float(given)
        sides = [[x for x in side if (x - now) * (side[-1] - side[0]) > 0] for side in PATHS[name]]
        if not self.searching:
            return
        found = self.needed(lambda x: {name: x}, now, sides)
        tried = [self.loss.takes()[name].parse(change[name]) for change in FIXED if set(change) == {name}]
        if found is not None and found.value not in tried:
            yield {name: found.value}, found.tried

    def along_whole(self, name: str) -> Iterator[Step]:
        """The whole number that is needed, nearest to the one in force (None or inf: beyond all)."""
        given = self.loss.parameters().get(name)
        now = float("inf") if given is None else float(given)
        try:
            least, most = self.loss.range_of(name, self.orbits)
        except InputError:
            return
        if not self.searching:
            return
        values = [x for x in WHOLE[name] if least <= x <= most]
        sides = [[x for x in reversed(values) if x < now], [x for x in values if x > now]]
        found = self.needed(lambda x: {name: int(x)}, now, sides, whole=True)
        if found is not None:
            yield {name: int(found.value)}, found.tried

    def merge(self) -> Iterator[Step]:
        """The fewest of the rarest classes that, taken as one, are enough; at least two smaller classes are left."""
        p = self.problem.proportions
        names = [self.problem.class_names[a] for a in sorted(range(len(p)), key=lambda a: (p[a], a))]
        most = min(len([x for x in p if x < max(p) * (1 - EQUAL)]) - 1, MERGERS)
        if not self.searching or most < 2:
            return
        found = self.needed(lambda count: {"merge": names[: int(count)]}, 1, [range(2, most + 1)], whole=True)
        if found is not None:
            merged = names[: int(found.value)]
            yield {"merge": [name for name in self.problem.class_names if name in merged]}, None
