"""Does contrastive learning find the latents, up to rotation?

Points z_i on a sphere with masses p_i; the positive j of i has chance  pi(j|i) ~ p_j e^{kappa z_i.z_j}  on a support.
The loss with infinitely many negatives, as a function of the Gram matrix G of unit embeddings, is

    F(G) = sum_i p_i [ - sum_j pi(j|i) s_ij + log sum_{j in N_i} p_j e^{s_ij} ],       s = G / tau,

N_i all points, or, support-corrected, the support of i.  F is convex, so the optimum is certified, and

    F(G) >= floor = - sum_i p_i KL(pi(.|i) || p),     with equality iff  p_j e^{s_ij} ~ pi(j|i)  on N_i, all else 0.

The *diversity condition*: p is absolutely continuous with respect to every pi(.|i), so any two points may be a
positive pair.  If it holds and kappa tau = 1, the identity map attains the floor, and F is strictly convex: the
latents are found up to rotation.  If not, maps that are no rotations can be strictly better: a witness is

    h_l(u, v) = (u, l v) / |(u, l v)|,     u the coordinates that positives share,  l < 1.

The support-corrected loss makes the identity attain the floor again, but never sees a pair off the support: turning
one connected component of the positive graph to its opposite is another optimum.

Symbols: p ``mass``, pi ``target``, tau ``temperature``, l ``witness``, N_i ``positives`` or everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geomsolve.gram.embedding import embed, procrustes
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import structure_tolerance
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.logsum import LogSum
from geomsolve.proof.certificate import Certificate, certify
from geomsolve.questions.diversity import Diversity
from geomsolve.report import Effort, Proof, ProvenReport, jsonable, understood
from geomsolve.solvers.choose import check_solver, solve_objective

EXACT = 1e-10
"""Relative gap up to which the latents themselves count as the optimum; above it the program is solved."""

WITNESSES = tuple(tenths / 10 for tenths in range(10, 0, -1))
"""The l of the maps h_l that are tried; l = 1 is the identity."""


@dataclass(frozen=True, kw_only=True)
class Optimum(Proof):
    """An embedding with its proof.  ``procrustes_error``: root mean square distance to the latents after the best
    rotation or reflection; ``gram`` (n, n)."""

    rank: int
    procrustes_error: float
    gram: FloatArray

    def plain(self, *, full: bool) -> dict[str, Any]:
        """As JSON has it, the parts of the proof beside the rest; the Gram matrix if ``full``."""
        said = {**self.figures, "rank": self.rank, "procrustes_error": self.procrustes_error}
        return jsonable({**said, "gram": self.gram} if full else said)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class DiversityReport(ProvenReport):
    """``verdict`` is 'holds' or 'violated'; ``uncovered_mass`` the chance that two random points are never a positive
    pair; ``components`` the sizes of the connected components of the positive graph, largest first.

    ``identity`` holds the loss of the latents and its ``excess`` over the optimum; ``recovered`` says whether the
    optimum is the latents up to rotation.  ``other_optimum`` is a different one, where one was found, and ``unique``
    then is False; None: not determined.  Losses in nats.
    """

    command: ClassVar[str] = "diversity"
    apart: ClassVar[tuple[str, ...]] = ("optimum", "other_optimum")
    flat: ClassVar[tuple[str, ...]] = ("unique", "certified", "solver")
    verdicts: ClassVar[tuple[str, ...]] = ("holds", "violated")

    points: int
    dim: int
    verdict: str
    holds: bool
    uncovered_mass: float
    components: tuple[int, ...]
    floor: float
    identity: dict[str, float]
    optimum: Optimum
    recovered: bool
    other_optimum: Optimum | None
    witness: tuple[dict[str, float], ...]

    @property
    def headline(self) -> str:
        return self.verdict

    @property
    def asked(self) -> dict[str, Any]:
        return {**super().asked, "verdict": self.verdict}

    def to_dict(self, *, full: bool = False, **detail: Any) -> dict[str, Any]:
        """The JSON object; ``full`` includes the Gram matrices."""
        plain = super().to_dict(**detail)
        plain["procrustes_error"] = self.optimum.procrustes_error
        plain["optimum"] = self.optimum.plain(full=full)
        plain["other_optimum"] = None if self.other_optimum is None else self.other_optimum.plain(full=full)
        return plain


def conditional(points: FloatArray, mass: FloatArray, concentration: float, positives: NDArray[np.bool_]) -> FloatArray:
    """pi (n, n): chance that the positive of i is j."""
    chance = np.where(positives, mass * np.exp(concentration * (points @ points.T - 1)), 0.0)
    rows: FloatArray = chance / chance.sum(axis=1, keepdims=True)
    return rows


def weighted_infonce(mass: FloatArray, target: FloatArray, compared: NDArray[np.bool_], temperature: float) -> LogSum:
    """F of the module: ``target`` (n, n) pi, ``compared`` (n, n) whether j stands in the denominator of i."""
    weights = np.where(compared, mass, 0.0)
    own = np.diag(weights).copy()
    weights, across = weights.copy(), target.copy()
    np.fill_diagonal(weights, 0.0)
    np.fill_diagonal(across, 0.0)
    everything = bool(compared.all())  # only then is every cosine within a strictly convex term
    return LogSum(weights, own, mass, 1 / temperature, across, unique_minimiser=everything)


def squeezed(points: FloatArray, shared: int, witness: float) -> FloatArray:
    """h_l of every point: the coordinates after the first ``shared`` times l, then back to length 1."""
    scaled = points * np.where(np.arange(points.shape[1]) < shared, 1.0, witness)
    unit: FloatArray = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return unit


def diversity(problem: Diversity) -> DiversityReport:
    """Answer the question of :class:`Diversity`, with a proof."""
    from scipy.sparse.csgraph import connected_components

    check_solver(problem.solver)
    points, mass = problem.points, problem.mass
    n, dim = points.shape
    positives = problem.positives
    target = conditional(points, mass, problem.concentration, positives)
    compared = positives if problem.corrected else np.ones_like(positives)
    objective = weighted_infonce(mass, target, compared, problem.temperature)
    orbits = Orbits.trivial(mass)
    identity = orbits.nearest_gram(points @ points.T)

    def proven(gram: FloatArray) -> Certificate:
        return certify(objective, orbits, gram, tolerance=problem.tolerance)

    def optimum_at(gram: FloatArray, proof: Certificate) -> Optimum:
        rows = embed(gram)
        root = np.sqrt(mass)[:, None]
        return Optimum(
            **vars(Proof.of(proof)),
            rank=int(np.sum(np.linalg.eigvalsh(gram) > structure_tolerance(max(proof.gap, 0.0)))),
            procrustes_error=procrustes(root * rows, root * points)[0],
            gram=gram,
        )

    at_identity = proven(identity)
    if at_identity.gap <= EXACT * max(1.0, abs(at_identity.value)):
        gram, proof = identity, at_identity
        effort = Effort("none", "the latents themselves pass the certificate", 0, 0.0)
    else:
        answer = solve_objective(objective, orbits, solver=problem.solver, tolerance=problem.tolerance)
        gram, proof = answer.solution.cosines, answer.certificate
        effort = Effort.of(answer)
    optimum = optimum_at(gram, proof)
    n_components, component = connected_components(positives, directed=False)

    other = None
    if problem.corrected:
        if n_components > 1:
            turned = np.where(component == component[0], -1.0, 1.0)
            second = gram * np.outer(turned, turned)
        else:
            second = solve_objective(objective, orbits, solver="manifold", tolerance=problem.tolerance).solution.cosines
        candidate = optimum_at(second, proven(second))
        apart = float(np.abs(second - gram).max())
        if candidate.certified and apart > structure_tolerance(max(candidate.gap, proof.gap, 0.0)):
            other = candidate

    shared = problem.shared_coordinates or 1
    witness = []
    if shared < dim:
        for squeeze in WITNESSES:
            rows = squeezed(points, shared, squeeze)
            witness.append({"lambda": squeeze, "value": objective.value(orbits.nearest_gram(rows @ rows.T))})
    allowed = target > 0
    divergence = np.sum(np.where(allowed, target * np.log(np.where(allowed, target, 1.0) / mass), 0.0), axis=1)
    holds = bool(positives.all())
    return DiversityReport(
        problem=understood(problem, kappa=problem.concentration),
        points=n,
        dim=dim,
        verdict="holds" if holds else "violated",
        holds=holds,
        uncovered_mass=float(mass @ ~positives @ mass),
        components=tuple(sorted(np.bincount(component).tolist(), reverse=True)),
        floor=-float(mass @ divergence),
        identity={"value": at_identity.value, "excess": max(0.0, at_identity.value - proof.value)},
        optimum=optimum,
        recovered=optimum.procrustes_error <= structure_tolerance(max(proof.gap, 0.0)),
        other_optimum=other,
        witness=tuple(witness),
        proof=Proof.of(proof, True if objective.unique_minimiser else (False if other is not None else None)),
        effort=effort,
    )
