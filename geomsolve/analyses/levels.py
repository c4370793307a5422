"""Is my loss value good?  The values that belong to total collapse, to untrained embeddings and to the optimum.

What these are the loss says itself (``levels`` in its file), in nats an anchor of a batch of B samples in V views; here
they are asked for, every optimum is reached with its certificate, and all are put into the user's own scale.
Where every sample is its own class there are as many classes as samples that an anchor sees.

Symbols: B ``batch``, V ``views``, K ``n_classes``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import isfinite, lgamma, log
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.losses import Alias, Loss, aliases, make_loss
from geomsolve.objectives.levels import Optimum, Scale, Training
from geomsolve.objectives.two_towers import TwoTowers
from geomsolve.proof.certificate import Certificate, certify
from geomsolve.proof.two_towers import certify_pairs
from geomsolve.questions.levels import Levels
from geomsolve.report import Effort, Proof, ProvenReport, understood
from geomsolve.solvers.choose import refuse_oversize, solve_objective
from geomsolve.solvers.two_towers import solve_pairs

SAME = 1e-3
"""A loss value this close to a level, relative to it, is said to be that level."""

SMALL = 0.05
"""The part of the way from optimum to collapse below which levels are not told apart by the digits of a value."""

VIEWS = 2
"""Views of a sample, where neither the user nor the name of the loss says how many."""


def missing_class_probability(orbits: Orbits, batch: int) -> float:
    """How likely a random batch of ``batch`` samples lacks at least one class.

    P(all there) = B! [z^B] prod_a (e^{p_a z} - 1), read off by Cauchy's integral on the circle |z| = B.
    """
    p, n = orbits.proportions, orbits.sizes
    expected = float(np.sum(n * (1 - p) ** batch))
    if expected < 1e-9:  # then one class at most is missing, up to the square of this
        return expected
    if orbits.n_classes > batch:
        return 1.0
    count = 2 * batch + 200
    z = batch * np.exp(2j * np.pi * np.arange(count) / count)
    log_terms = np.log(1 - np.exp(-np.multiply.outer(z, p))) @ n
    rest = np.exp(log_terms + z - batch) * np.exp(-2j * np.pi * batch * np.arange(count) / count)
    present = np.exp(lgamma(batch + 1) - batch * log(batch) + batch) * float(rest.real.mean())
    return float(min(1.0, max(0.0, 1 - present)))


def reach(optimum: Optimum, solver: str, tolerance: float) -> tuple[Certificate, Effort]:
    """The optimum with its proof: the regular simplex where classes are equal and that proves optimal, else solved."""
    objective, orbits = optimum.objective, optimum.orbits
    began = time.perf_counter()

    def closed(proof: Certificate, reason: str) -> tuple[Certificate, Effort]:
        return proof, Effort("closed form", reason, 0, time.perf_counter() - began)

    if isinstance(objective, TwoTowers):
        on, off = solve_pairs(objective)
        what = "the regular simplex" if on == 1 else f"cosines {on:.6g} within pairs and {off:.6g} across"
        return closed(certify_pairs(objective, on, off, tolerance=tolerance), f"two towers: {what}")
    if orbits.n_orbits == 1 and objective.decides:
        simplex = np.full((1, 1), simplex_cosine(orbits.n_classes))
        proof = certify(objective, orbits, simplex, tolerance=tolerance)
        if proof.certified:
            return closed(proof, "the regular simplex is optimal")
    answer = solve_objective(objective, orbits, solver=solver, tolerance=tolerance)
    return answer.certificate, Effort.of(answer)


@dataclass(frozen=True)
class LevelsReport(ProvenReport):
    """Levels in the user's own scale: times ``factor`` (temperature over base temperature, and anchors for sums).

    ``collapse``, ``random_start`` (unit vectors in ``dim`` dimensions), ``optimum`` with ``lower_bound`` and ``gap``;
    ``optimum_random_batches`` is None where batches differ in nothing, as where every sample is its own class.
    ``assumption`` completes 'if ...': what the optimum takes for granted; ``lower_bound`` holds without it.
    ``optimum_many_samples`` is the optimum in the limit, where the number of samples matters and is not given;
    ``optimum`` is that of ``n_classes``.  ``remark``: what else the loss has to say.
    ``position`` of ``loss_value``: 0 at the optimum, 1 at collapse.  ``reading`` is 'optimum', 'collapse', 'random
    start', 'between', 'above' or 'below'.
    """

    command: ClassVar[str] = "levels"
    flat: ClassVar[tuple[str, ...]] = ("lower_bound", "gap", "certified")

    collapse: float
    random_start: float
    optimum_random_batches: float | None
    loss_value: float | None
    position: float | None
    reading: str | None
    no_positive_probability: float
    missing_class_probability: float | None
    factor: float
    n_embeddings: int | None
    n_classes: int
    instances: bool
    assumption: str | None
    optimum_many_samples: float | None
    remark: str | None

    @property
    def optimum(self) -> float:
        """The least value that any embedding can have."""
        return self.value

    @property
    def headline(self) -> str:
        return f"{self.optimum:.6g}"

    @property
    def asked(self) -> dict[str, Any]:
        return {**super().asked, "collapse": self.collapse, "position": self.position}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        return {**super().to_dict(**detail), "optimum": self.optimum}


def levels(problem: Levels) -> LevelsReport:
    """Answer the question of :class:`Levels`."""
    loss, training, scale, factor = _understood(problem)
    first = scale.first

    def scaled(optimum: Optimum) -> tuple[Certificate, Effort]:
        proof, effort = reach(optimum, problem.solver, problem.tolerance)
        proof = proof.scaled(factor * optimum.times, factor * optimum.plus, unit=factor)
        return proof if optimum.bound is None else proof.above(factor * optimum.bound), effort

    proof, effort = scaled(first)
    drawn = None
    if scale.batches is not None:
        drawn = proof if first is scale.batches else scaled(scale.batches)[0]
    best, collapse, random = proof.value, factor * scale.collapse, factor * scale.random(problem.dim)
    value = problem.loss_value
    orbits, batch = training.orbits, training.batch
    missing = missing_class_probability(orbits, batch) if batch is not None and scale.batches else None
    taken = {"name": problem.loss.name, **{key: x for key, x in loss.parameters().items() if x is not False}}
    return LevelsReport(
        problem=understood(problem, loss=taken, views=training.views),
        collapse=collapse,
        random_start=random,
        optimum_random_batches=None if drawn is None else drawn.value,
        proof=Proof(best, proof.lower_bound, proof.gap, proof.certified and (drawn is None or drawn.certified)),
        effort=effort,
        loss_value=value,
        position=None if value is None else position(value, best, collapse),
        reading=None if value is None else reading(value, best, collapse, random, problem.rounding),
        no_positive_probability=scale.no_positive,
        missing_class_probability=missing,
        factor=factor,
        n_embeddings=scale.embeddings,
        n_classes=orbits.n_classes,
        instances=problem.instances,
        assumption=first.assumption or None,
        optimum_many_samples=None if scale.many is None else factor * scale.many,
        remark=scale.remark or None,
    )


def validate(problem: Levels) -> None:
    """InputError for what the loss knows to be wrong, without solving."""
    _understood(problem)


def _understood(problem: Levels) -> tuple[Loss, Training, Scale, float]:
    """The loss, how it meets its samples, its levels and what they are multiplied by."""
    name = problem.loss.name
    loss = make_loss(name, problem.loss.parameters, instances=problem.instances)
    _, alias = aliases().get(name, (None, None))
    training = Training(
        named=name,
        orbits=_classes(problem, loss, alias),
        batch=problem.batch,
        views=_views(problem, alias),
        instances=problem.instances,
        balanced=problem.instances or problem.classes is not None,
    )
    scale = loss.levels(training)
    return loss, training, scale, _factor(problem, loss, scale)


def _views(problem: Levels, alias: Alias | None) -> int:
    wanted = alias.views if alias else None
    if wanted is not None and problem.views not in (None, wanted):
        raise InputError(
            f"{problem.loss.name} compares the two halves of a pair, each seen once; leave this out", field="views"
        )
    return problem.views or wanted or VIEWS


def _classes(problem: Levels, loss: Loss, alias: Alias | None) -> Orbits:
    """The classes of the problem; without any given, one for every sample that an anchor sees."""
    if not problem.instances:
        orbits = Orbits.of(problem.proportions, problem.class_counts)
        refuse_oversize(orbits.n_orbits, field=problem.source)
        return orbits
    if loss.needs_classes and alias is None:
        others = " or ".join(f"--loss {each.name}" for each in loss.aliases[:1])
        raise InputError(
            f"{loss.name} needs classes: give --classes or --props; where every sample is its own class it is {others}",
            field="classes",
        )
    return Orbits.equal(loss.points(problem.batch))


def _factor(problem: Levels, loss: Loss, scale: Scale) -> float:
    factor = 1.0
    if problem.base_temperature is not None:
        temperature = loss.parameters().get("temperature")
        if temperature is None:
            raise InputError(f"the loss {loss.name} has no temperature to divide by it", field="base_temperature")
        factor *= temperature / problem.base_temperature
    if problem.reduction == "sum":
        if scale.anchors is None:
            raise InputError(f"{problem.loss.name} is summed over the anchors of a batch; give its size", field="batch")
        factor *= scale.anchors
    return factor


def position(value: float, optimum: float, collapse: float) -> float | None:
    """Where a value stands, 0 at the optimum and 1 at collapse; None where these are one, or it is too far off."""
    if collapse <= optimum:
        return None
    where = (value - optimum) / (collapse - optimum)
    return where if isfinite(where) else None


def reading(value: float, optimum: float, collapse: float, random: float, rounding: float = 0.0) -> str:
    """Which level a loss value is, or between or beside which it lies.

    It is a level within :data:`SAME`, or within ``rounding``, half a unit of its last digit, where that is a small part
    of the way from optimum to collapse.
    """
    typed = min(rounding, SMALL * abs(collapse - optimum))

    def at(level: float) -> bool:
        return abs(value - level) <= max(typed, SAME * max(abs(level), SMALL * abs(collapse - optimum)))

    named: dict[str, float] = {"optimum": optimum, "collapse": collapse, "random start": random}
    close: list[tuple[float, str]] = [(abs(value - level), name) for name, level in named.items() if at(level)]
    if close:
        return min(close)[1]
    if value < optimum:
        return "below"
    return "between" if value < collapse else "above"
