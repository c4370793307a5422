"""Which geometry does this loss want for these class proportions?

    minimise F(G)  subject to  G psd, G_aa = 1        (G: cosines between unit class means)

Within-class collapse is a theorem for these losses (convexity and Jensen), so F is a function of G alone.
The problem goes through the orbit reduction (``gram/orbits.py``) to a solver, and the answer carries the
certificate of ``proof/certificate.py``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.classifiers import ClassifierReport, classifiers
from geomsolve.analyses.merging import structure_at
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.nonnegative import hold, proven_for, refuse_other_ranges
from geomsolve.analyses.ranges import Ranges, ranges, refuse_ranges
from geomsolve.analyses.remedies import Remedy, remedy
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, classify, names_of
from geomsolve.gram.types import FloatArray
from geomsolve.losses import ClassifierLoss, Loss
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import certify
from geomsolve.proof.collapse import nearest_collapse_temperature
from geomsolve.proof.uniqueness import optimum_is_unique
from geomsolve.questions.imbalance import Imbalance
from geomsolve.report import Effort, Proof, ProvenReport, Table, jsonable, understood
from geomsolve.solvers.base import Answer, Solution
from geomsolve.solvers.choose import refuse_oversize, solve_objective
from geomsolve.solvers.first_order import Watch
from geomsolve.solvers.manifold import solve_limited
from geomsolve.words import worth

FULL_ORBITS = 200
"""Distinct proportions up to which their m x m cosines are part of the JSON without being asked for: writing a million
of them takes longer than finding them."""

SAME = 1e-12
"""Losses no farther apart than this, relatively, are the same up to rounding."""

FLAT = 1e-9
"""All slopes of F together, relative to F, up to which the loss is flat."""

FULL_GRAM = 64
"""Classes up to which the K x K Gram matrix is part of the JSON without being asked for."""


@dataclass(frozen=True)
class ImbalanceReport(ProvenReport):
    """The optimal geometry and its proof.

    ``orbit_cosines`` (m, m), see :class:`Orbits`; ``value``, ``lower_bound``, ``gap`` in nats; ``unique`` is None
    where it was not determined; ``nearest_threshold`` is the collapse temperature nearest to the one in force.
    ``simplex_excess``: by how many nats the regular simplex loses, None where the question does not arise.
    ``dimension_limited`` says whether a limit of the dimension binds, and is None where there is no limit; where it
    binds, every class is an orbit of its own and ``lower_bound`` is that of the unlimited problem.
    ``given``: the parameters of the loss that the question states; the others have their defaults.
    ``resolved`` is False where the loss hardly depends on the geometry, so that its proof leaves the angles open;
    ``simplex_limit`` says that the regular simplex, which is then shown, is where they tend as the temperature falls.
    ``ranges``: how far cosines may be at a loss a little above the optimum, where that was asked.
    ``remedy``: what helps classes that have collapsed, None where none have.
    ``assumption`` completes 'for ...': the embeddings for which the proof holds, None where it holds for all.
    ``convex`` is False for a loss whose answer is only the best of several local searches.
    ``nonnegative`` {exact, how, relaxed_lower_bound}, where no feature has a negative coordinate: whether the bound is
    that of such features (and how that is known), or only of G psd and G >= 0.
    ``expectation``, of a mean over as many terms as a batch has: 'exact', or 'ratio' where value and proof are of
    E sum / E number, with ``drawn_mean`` {value, standard_error} of drawn batches at the same geometry.
    ``slopes`` (m, m) of the minorant that the proof of a loss with kinks is about.
    """

    command: ClassVar[str] = "imbalance"
    apart: ClassVar[tuple[str, ...]] = ("names", "orbits", "orbit_cosines", "given", "slopes")

    names: tuple[str, ...]
    orbits: Orbits
    orbit_cosines: FloatArray
    rank: int
    structure: Structure
    nearest_threshold: dict[str, Any] | None
    simplex_excess: float | None
    assumption: str | None = None
    dimension_limited: bool | None = None
    convex: bool = True
    resolved: bool = True
    simplex_limit: bool = False
    given: tuple[str, ...] = ()
    ranges: Ranges | None = None
    remedy: Remedy | None = None
    expectation: str | None = None
    drawn_mean: dict[str, float] | None = None
    nonnegative: dict[str, Any] | None = None
    slopes: FloatArray | None = None

    @property
    def gram(self) -> FloatArray:
        """Cosines between all class means (K, K), in the order of the classes."""
        return self.orbits.lift(self.orbit_cosines)

    @property
    def open(self) -> bool:
        """Whether the cosines are those of one of many optima, as far as anyone can tell."""
        return not self.resolved or self.unique is False

    @property
    def table(self) -> Table:
        return Table.of_matrix(self.gram, self.names)

    @property
    def headline(self) -> str:
        if not self.resolved:
            return "angles not determined"
        named, excess = self.structure.named(self.names), self.bend
        return named if excess is None else f"{named}, {worth(excess)}"

    @property
    def bend(self) -> float | None:
        """By how many nats the geometry beats the regular simplex; None where it is one, or is as good as one."""
        return bend(self.structure, self.simplex_excess, self.value) if self.resolved else None

    @property
    def asked(self) -> dict[str, Any]:
        threshold = self.nearest_threshold
        return {
            **super().asked,
            **self.structure.facts(self.names),
            "threshold": None if threshold is None else threshold["value"],
        }

    @property
    def figures(self) -> dict[str, float]:
        return {"rank": self.rank, **self.structure.angles}

    def groups(self) -> list[list[str]]:
        """Names of the classes that coincide, one list a point."""
        return names_of(self.structure.groups, self.names)

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` includes all cosines, however many classes and distinct proportions there are."""
        plain = super().to_dict(**detail)
        orbits = self.orbits
        p = orbits.proportions[orbits.index]
        cosines = None
        if full or orbits.n_orbits <= FULL_ORBITS:
            cosines = jsonable(self.orbit_cosines)
            for g in np.flatnonzero(orbits.sizes == 1):
                cosines[g][g] = None
        del plain["structure"]["tolerance"], plain["simplex_excess"]
        plain["classes"] = [
            {"name": name, "proportion": float(p[a]), "orbit": int(orbits.index[a])}
            for a, name in enumerate(self.names)
        ]
        plain["orbits"] = [
            {"size": int(n), "proportion": float(q)} for n, q in zip(orbits.sizes, orbits.proportions, strict=True)
        ]
        plain["orbit_cosines"] = cosines
        for said in ("convex", "resolved", "simplex_limit"):  # by certified, by unique, and in words by solver.reason
            del plain[said]
        for maybe in ("dimension_limited", "expectation", "drawn_mean", "remedy", "nonnegative"):
            if plain[maybe] is None:
                del plain[maybe]
        plain["structure"]["groups"] = self.groups()
        if self.ranges is None:
            del plain["ranges"]
        else:
            plain["ranges"] = jsonable(self.ranges.plain)
        if full or orbits.n_classes <= FULL_GRAM:
            plain["gram"] = jsonable(self.gram)
        return plain


def bend(structure: Structure, excess: float | None, value: float) -> float | None:
    """The ``excess`` of the regular simplex over an optimal ``value`` where the geometry is another one and better."""
    if excess is None or structure.simplex_distance <= structure.tolerance:
        return None
    return excess if excess > SAME * max(1.0, abs(value)) else None


def collapse_temperature(loss: Loss, orbits: Orbits, objective: Objective | None = None) -> float | None:
    """The temperature nearest to that of ``loss`` at which full collapse sets in or ends, if there is one.

    ``objective`` is that of the loss, where it is at hand.
    """
    plain = objective or loss.objective(orbits)

    def at(temperature: float) -> Objective:
        return loss.objective_at(temperature, orbits, plain)

    return nearest_collapse_temperature(at, loss.parameters().get("temperature"), orbits)


def imbalance(problem: Imbalance, watch: Watch | None = None) -> ImbalanceReport | ClassifierReport:
    """Answer the question of :class:`Imbalance`, with a proof, and say what helps where classes collapse.

    ``watch`` is told how far a long search in limited dimension is; KeyboardInterrupt then ends it with the best found.
    """
    if isinstance(loss_of(problem), ClassifierLoss):
        return classifiers(problem)
    report = geometry(problem, watch)
    helped = report.convex and not report.dimension_limited and not problem.nonnegative
    if report.structure.kind != "minority collapse" or not helped:
        return report
    return replace(report, remedy=remedy(problem, loss_of(problem), report.orbits))


def geometry(problem: Imbalance, watch: Watch | None = None) -> ImbalanceReport:
    """The optimal geometry of a problem, with its proof."""
    loss = loss_of(problem)
    orbits = loss.orbits(problem.proportions, problem.class_counts)
    refuse_oversize(orbits.n_orbits, field=problem.source)
    objective = loss.objective(orbits)
    if problem.slack is not None:
        refuse_ranges(objective)
    convex = objective.below is None
    if not convex and orbits.n_classes <= FULL_GRAM:  # such a loss may tell classes of equal proportion apart
        orbits = Orbits.trivial(problem.proportions, problem.class_counts)
        objective = loss.objective(orbits)
    if problem.nonnegative:
        return nonnegative(problem, loss, orbits)
    answer = solve_objective(objective, orbits, solver=problem.solver, tolerance=problem.tolerance, seed=problem.seed)
    limit = None if answer.resolved else flat_limit(objective, orbits, answer)
    answer = answer if limit is None else limit
    cosines, proof = answer.solution.cosines, answer.certificate
    structure, rank = structure_at(objective, orbits, answer)
    if objective.degenerate:
        structure = replace(structure, kind="degenerate")
    limited = None if problem.dim is None else rank > problem.dim and not objective.degenerate
    if limited:
        return limit_dimension(problem, loss, orbits, answer, watch)
    excess = None if objective.degenerate else objective.value(orbits.regular_simplex()) - proof.value
    unique = None
    if answer.resolved:
        unique = optimum_is_unique(
            objective,
            orbits,
            cosines,
            answer.solution.slopes,
            single=lambda: loss.objective(orbits.single()),
            gap=proof.gap,
        )
    if answer.resolved and unique is None and excess is not None and structure.simplex_distance > structure.tolerance:
        unique = False if excess <= SAME * max(1.0, abs(proof.value)) else None
    near = None
    if problem.slack is not None:
        near = ranges(loss.objective, orbits, cosines, problem.class_names, problem.slack, problem.wanted)
    threshold = collapse_temperature(loss, orbits, objective) if objective.decides else None
    return ImbalanceReport(
        problem=understood(problem, loss=loss.written),
        names=problem.class_names,
        orbits=orbits,
        orbit_cosines=cosines,
        proof=Proof.of(proof, unique),
        effort=replace(Effort.of(answer), reason=objective.degenerate or answer.reason),
        rank=rank,
        structure=structure,
        nearest_threshold=None if threshold is None else {"over": "temperature", "value": threshold},
        simplex_excess=excess,
        assumption=loss.assumption(orbits) or None,
        dimension_limited=limited,
        convex=convex,
        resolved=answer.resolved,
        given=tuple(problem.loss.parameters),
        slopes=answer.solution.slopes,
        simplex_limit=limit is not None,
        ranges=near,
        expectation=objective.expectation or None,
        drawn_mean=objective.drawn_mean(cosines, problem.seed),
    )


def nonnegative(problem: Imbalance, loss: Loss, orbits: Orbits) -> ImbalanceReport:
    """The report for features without a negative coordinate.

    The regular simplex and the collapse into opposite points are none of theirs, so that neither is compared with.
    """
    held = hold(loss, orbits, solver=problem.solver, tolerance=problem.tolerance, seed=problem.seed, dim=problem.dim)
    objective, cosines = loss.objective(held.orbits), held.answer.solution.cosines
    near = None
    if problem.slack is not None:
        refuse_other_ranges(held)
        near = ranges(loss.objective, orbits, cosines, problem.class_names, problem.slack, problem.wanted, frame=True)
    return ImbalanceReport(
        problem=understood(problem, loss=loss.written),
        names=problem.class_names,
        orbits=held.orbits,
        orbit_cosines=cosines,
        proof=Proof.of(held.answer.certificate, held.unique),
        effort=replace(Effort.of(held.answer), reason=objective.degenerate or held.answer.reason),
        rank=held.rank,
        structure=held.structure,
        nearest_threshold=None,
        simplex_excess=None,
        assumption=proven_for(loss.assumption(held.orbits)),
        dimension_limited=held.limited,
        convex=objective.below is None,
        given=tuple(problem.loss.parameters),
        ranges=near,
        expectation=objective.expectation or None,
        drawn_mean=objective.drawn_mean(cosines, problem.seed),
        nonnegative=held.plain,
    )


def flat_limit(objective: Objective, orbits: Orbits, answer: Answer) -> Answer | None:
    """The regular simplex with its proof, where an ``answer`` left the angles open because all forces vanish.

    A loss that attracts no pair is then a constant plus a sum of positive multiples of e^{(C_gh - 1)/tau} as far as
    it depends on C at all.  As tau -> 0 the largest cosine alone decides, and the regular simplex makes that smallest.
    None where forces are felt at the simplex, or where its loss is not proven to be as low.
    """
    simplex = orbits.regular_simplex()
    value, slope = objective.evaluate(simplex)
    felt = float(np.abs(slope).sum())
    room = FLAT * max(1.0, abs(value))
    if not objective.decides or isinstance(objective.attraction, np.ndarray) or not felt <= room:
        return None
    proof = certify(objective, orbits, simplex, tolerance=answer.certificate.tolerance)
    if value > answer.certificate.value + room or not proof.certified:
        return None
    solution = Solution(simplex, answer.solution.name, answer.solution.iterations)
    return replace(answer, solution=solution, certificate=proof)


def best_in_dimension(
    loss: Loss, orbits: Orbits, free: Answer, dim: int, seed: int, watch: Watch | None = None
) -> tuple[Orbits, Answer]:
    """The best found in ``dim`` dimensions, where the optimum ``free`` of the limit needs more; each class an orbit.

    No embedding whatever its dimension goes below the optimum's lower bound, so that is the lower bound here, too.
    """
    refuse_oversize(orbits.n_classes, field="dim")
    if dim < (least := loss.target_dimension(orbits)):
        raise InputError(f"{loss.name} has targets that need {least:,} dimensions; take as many or more", field="dim")
    classes = orbits.single()
    objective = loss.objective(classes)
    began = time.perf_counter()
    solution, _ = solve_limited(objective, classes, orbits.lift(free.solution.cosines), dim, seed, watch=watch)
    proof = free.certificate.at(objective.value(solution.cosines))
    return classes, Answer(solution, proof, solution.note, free.seconds + time.perf_counter() - began)


def limit_dimension(
    problem: Imbalance, loss: Loss, orbits: Orbits, free: Answer, watch: Watch | None = None
) -> ImbalanceReport:
    """The report in ``problem.dim`` dimensions, where the optimum ``free`` of the limit needs more."""
    assert problem.dim is not None
    classes, answer = best_in_dimension(loss, orbits, free, problem.dim, problem.seed, watch)
    solution, proof, objective = answer.solution, answer.certificate, loss.objective(classes)
    structure = classify(classes, solution.cosines, proof.gap if proof.certified else 0.0, limited=True)
    return ImbalanceReport(
        problem=understood(problem, loss=loss.written),
        names=problem.class_names,
        orbits=classes,
        orbit_cosines=solution.cosines,
        proof=Proof.of(proof),
        effort=Effort.of(answer),
        rank=classes.rank(solution.cosines, structure.tolerance),
        structure=structure,
        nearest_threshold=None,
        simplex_excess=None,
        assumption=loss.assumption(orbits) or None,
        dimension_limited=True,
        convex=objective.below is None,
        given=tuple(problem.loss.parameters),
        expectation=objective.expectation or None,
        drawn_mean=objective.drawn_mean(solution.cosines, problem.seed),
    )
