"""Can any embedding attain this weighting, and if not, what is the best and what should be changed?

The verdict is a matter of eigenvalues (``analyses/target.py``), never of the loss gap: three ages can miss the Gram
matrices by 1e-3 and the floor of the loss by 1e-5.  Where the target is out of reach the best embedding is the
optimum of a convex program, with its certificate:

    cosine latents      minimise F(G),  G psd, G_ii = 1          (``solvers/choose.py``)
    Euclidean latents   minimise F(D),  D squared distances      (``solvers/manifold.py``)

Degenerate weightings with Euclidean latents push what no weight joins infinitely far apart: their infimum is not
attained and no embedding is reported.  A limit on dimensions below what is needed makes the program non-convex: the
best of several local solves is printed with the convex lower bound, and not certified.

Symbols: F - floor ``excess``, T and D ``wanted``, G ``attained``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.fixes import Fix, find_fixes
from geomsolve.analyses.target import (
    Target,
    Verdict,
    self_weights_differ,
    target_of,
    verdict_of,
    wanted_with_self,
    weighting_of,
)
from geomsolve.errors import InputError
from geomsolve.gram.edm import centred, spectrum_of
from geomsolve.gram.embedding import embed
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, classify, names_of, structure_tolerance
from geomsolve.gram.types import FloatArray
from geomsolve.proof.certificate import Certificate
from geomsolve.questions.realizable import Realizable
from geomsolve.report import Effort, Proof, ProvenReport, Report, jsonable, understood
from geomsolve.solvers.choose import solve_objective
from geomsolve.solvers.completion import MOST_POINTS, Completion, complete
from geomsolve.solvers.manifold import solve_distances, solve_limited
from geomsolve.weightings import Weighting
from geomsolve.words import counted

SHOWN = 64
"""Labels up to which matrices are part of the JSON."""

MOST_LIFTED = 5000
"""Samples up to which a matrix of all of them is built."""

CASES = (
    ("line", "line:9"),
    ("circle", "circle:8"),
    ("circle too large for the temperature", "circle:8:{large:.6g}"),
    ("grid", "grid:3x3"),
    ("sphere", "sphere:20:3"),
    ("simplex", "simplex:4"),
    ("two labels", "0,1"),
    ("ages", "20,25,30,40,60,80"),
    ("classes", "classes:5,3,2"),
)
"""Reference label sets; ``large`` is a radius 1.2 times the largest that y-Aware with a Gaussian kernel attains."""


@dataclass(frozen=True)
class RealizableReport(ProvenReport):
    """The verdict with its proof.

    ``target`` holds ``min_eigenvalue``, ``negative_mass``, ``rank`` and ``radius`` of what is asked for (None where the
    weights are 0 or missing); ``floor`` in nats; ``best`` says of the best embedding its ``excess``
    over the floor, ``attained``, ``dimension``, ``residual`` (max |softmax(s) - P|); ``optimum`` adds its proof.
    ``wanted`` and ``attained`` (m, m) are cosines between distinct labels, for Euclidean latents squared distances.
    ``constant``: the interval of the free constant where self pairs are excluded.
    """

    command: ClassVar[str] = "realizable"
    apart: ClassVar[tuple[str, ...]] = ("best", "orbits", "limited")
    flat: ClassVar[tuple[str, ...]] = ("unique", "solver")
    verdicts: ClassVar[tuple[str, ...]] = ("realizable", "degenerate", "inconsistent")

    verdict: str
    reason: str
    target: dict[str, Any]
    floor: float
    best: dict[str, Any]
    least_dimension: int | None
    fixes: tuple[Fix, ...]
    constant: dict[str, Any] | None
    completions: tuple[dict[str, Any], ...]
    distortion: dict[str, Any] | None
    structure: Structure | None
    spectrum: tuple[float, ...]
    similarity: str
    names: tuple[str, ...]
    orbits: Orbits
    wanted: FloatArray | None
    attained: FloatArray | None
    limited: FloatArray | None

    @property
    def optimum(self) -> dict[str, Any]:
        """The best embedding with its proof: value, lower bound and gap in nats, and what ``best`` says."""
        proof = {key: getattr(self, key) for key in ("value", "lower_bound", "gap", "certified")}
        return {**proof, **self.best}

    @property
    def headline(self) -> str:
        return self.verdict

    @property
    def asked(self) -> dict[str, Any]:
        named = {} if self.structure is None else self.structure.facts(self.names)
        return {**super().asked, "verdict": self.verdict, **named}

    @property
    def figures(self) -> dict[str, float]:
        return {} if self.structure is None else self.structure.angles

    @cached_property
    def points(self) -> FloatArray | None:
        """The embedding (n, r), one row a sample in the order given; None where there is none, or it is too large."""
        if self.limited is not None:
            return self.limited
        if self.attained is None:
            return None
        orbits, matrix = self.orbits, self.attained
        euclidean = self.similarity == "euclidean"
        inner = np.diag(matrix)
        together = inner <= 0 if euclidean else inner >= 1 - structure_tolerance(max(self.optimum["gap"], 0.0))
        if np.all(together | (orbits.sizes == 1)):
            matrix = matrix.copy()
            np.fill_diagonal(matrix, 0.0 if euclidean else 1.0)
            gram = centred(matrix) if euclidean else matrix
            return embed(gram, tolerance=_small(gram))[orbits.index]
        if orbits.n_classes > MOST_LIFTED:
            return None
        full = orbits.lift(matrix)
        if euclidean:
            np.fill_diagonal(full, 0.0)
        gram = centred(full) if euclidean else full
        return embed(gram, tolerance=_small(gram))

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        plain = super().to_dict(**detail)
        plain["optimum"] = jsonable(self.optimum)
        plain["samples"], plain["distinct"] = self.orbits.n_classes, self.orbits.n_orbits
        plain["labels"] = [
            {"name": name, "count": int(n)} for name, n in zip(plain.pop("names"), self.orbits.sizes, strict=True)
        ]
        if len(self.names) > SHOWN:
            del plain["wanted"], plain["attained"], plain["labels"]
        if self.structure is not None:
            plain["structure"]["groups"] = names_of(self.structure.groups, self.names)
            del plain["structure"]["tolerance"]
        return plain


@dataclass(frozen=True)
class CasesReport(Report):
    """Without labels: the ``condition`` in words, and the verdict on reference label sets.

    Each of ``cases``: ``labels``, ``about``, ``verdict`` (None where the weighting cannot compare such labels, with
    the ``reason``), ``min_eigenvalue``, ``radius``, ``least_dimension``, ``excess``.
    """

    command: ClassVar[str] = "realizable"

    condition: str
    cases: tuple[dict[str, Any], ...]

    @property
    def certified(self) -> bool:
        return all(case.get("certified", True) for case in self.cases)

    @property
    def headline(self) -> str:
        yes = sum(case["verdict"] == "realizable" for case in self.cases)
        return f"realizable for {yes} of {counted(len(self.cases), 'label set')}"


def realizable(problem: Realizable) -> RealizableReport | CasesReport:
    """Answer the question of :class:`Realizable`, with a proof."""
    weighting = weighting_of(problem)
    refuse_unused(problem)
    if problem.labels is None and weighting.name != "custom":
        return _cases(problem, weighting)
    return _answer(problem, weighting)


def validate(problem: Realizable) -> None:
    """Raise :class:`InputError` for a weighting that does not exist or does not take what it was given."""
    weighting_of(problem)
    refuse_unused(problem)


def refuse_unused(problem: Realizable) -> None:
    """Raise :class:`InputError` for what changes labels, where there are none to change."""
    for field in ("arc", "sample"):
        if problem.labels is None and getattr(problem, field) is not None:
            raise InputError("this changes labels, and there are none; add --labels or leave it out", field=field)


def _cases(problem: Realizable, weighting: Weighting) -> CasesReport:
    sigma = getattr(weighting, "sigma", 1.0)
    large = 1.2 * sigma / np.sqrt(problem.temperature)
    cases = []
    for about, labels in CASES:
        text = labels.format(large=large)
        row: dict[str, Any] = {"labels": text, "about": about}
        try:
            report = _answer(problem.changed(labels=text), weighting, fixes=False)
        except InputError as error:
            cases.append({**row, "verdict": None, "reason": error.message})
            continue
        figures = {key: report.target[key] for key in ("min_eigenvalue", "radius")}
        optimum = {key: report.optimum[key] for key in ("excess", "certified")}
        dimension = report.least_dimension
        cases.append(
            {**row, "verdict": report.verdict, "reason": report.reason, "least_dimension": dimension}
            | figures
            | optimum
        )
    return CasesReport(_understood(problem, weighting), weighting.condition, tuple(cases))


def _understood(problem: Realizable, weighting: Weighting) -> dict[str, Any]:
    similarity = problem.similarity or weighting.similarity
    known = understood(problem, **weighting.parameters(), similarity=similarity)
    if weighting.name == "xclr":
        known["target_temperature"] = known.get("target_temperature", problem.temperature)
    if isinstance(known.get("labels"), tuple) and len(known["labels"]) > SHOWN:
        known["labels"] = f"{len(known['labels']):,} labels"
    return known


@dataclass(frozen=True)
class Best:
    """The best embedding found: orbit cosines (1 - D/2), None where the infimum is not attained, and its proof."""

    cosines: FloatArray | None
    certificate: Certificate
    effort: Effort
    limited: FloatArray | None = None


def _answer(problem: Realizable, weighting: Weighting, *, fixes: bool = True) -> RealizableReport:
    target = target_of(problem, weighting)
    completion: Completion | None = None
    if target.partial and problem.dim is not None:
        raise InputError("a limit on dimensions needs a complete matrix; fill in the missing entries", field="dim")
    if target.partial and not target.zero_weights:
        verdict, completion = _completed(target, problem.eigenvalue_tolerance)
    else:
        verdict = verdict_of(target, problem.dim, problem.eigenvalue_tolerance)
    best = _best(problem, target, verdict)
    euclidean = target.similarity == "euclidean"
    proof, floor = best.certificate, target.floor
    optimum: dict[str, Any] = {
        "excess": max(0.0, proof.value - floor),
        "attained": best.cosines is not None,
        "dimension": None,
        "residual": None,
    }
    structure = None
    if best.cosines is not None:
        orbits = target.orbits if best.limited is None else Orbits.trivial(np.full(len(best.limited), 1.0))
        full = target if best.limited is None else _lifted(target)
        optimum["residual"], optimum["excess"] = full.residual(best.cosines)
        if verdict.kind == "realizable":
            optimum["dimension"] = verdict.least_dimension
        elif best.limited is not None:
            optimum["dimension"] = best.limited.shape[1]
        else:
            optimum["dimension"] = _dimension(orbits, best.cosines, proof.gap, euclidean)
        if not euclidean and best.limited is None and orbits.n_classes > 1:
            structure = _structure(orbits, best.cosines, proof.gap)
    attained = (
        best.cosines
        if best.limited is None
        else target.orbits.reduce(best.cosines)
        if best.cosines is not None
        else None
    )
    names = _names(problem, target)
    wanted = _wanted(target, verdict)
    if euclidean:
        wanted = None if wanted is None else 2 * (1 - wanted)
        attained = None if attained is None else np.maximum(2 * (1 - attained), 0.0)
    figures = verdict.spectrum
    return RealizableReport(
        problem=_understood(problem, weighting),
        verdict=verdict.kind,
        reason=_reason(problem, weighting, target, verdict, completion),
        target={
            "min_eigenvalue": None if figures is None else figures.min_eigenvalue,
            "tolerance": None if figures is None else figures.tolerance,
            "negative_mass": None if figures is None else figures.negative_mass,
            "rank": None if figures is None else figures.rank,
            "radius": verdict.radius,
        },
        floor=floor,
        best=optimum,
        least_dimension=verdict.least_dimension,
        proof=Proof.of(proof, _unique(target, verdict, best, completion)),
        effort=best.effort,
        fixes=find_fixes(problem, weighting, target, verdict) if fixes else (),
        constant=_constant(verdict),
        completions=tuple(
            {"row": i + 1, "column": j + 1, "low": low, "high": high}
            for i, j, low, high in (completion.ranges if completion else ())
        ),
        distortion=_distortion(target, wanted, attained, names),
        structure=structure,
        spectrum=_spectrum(best, target, euclidean),
        similarity=target.similarity,
        names=names,
        orbits=target.orbits,
        wanted=wanted,
        attained=attained,
        limited=best.limited,
    )


def _completed(target: Target, rtol: float) -> tuple[Verdict, Completion]:
    """The verdict on a target with missing entries: is there a completion?"""
    n = target.orbits.n_classes
    if n > MOST_POINTS:
        raise InputError(
            f"completing a matrix of {n:,} samples is too large a conic program; at most {MOST_POINTS} are completed",
            field="weights",
        )
    euclidean = target.similarity == "euclidean"
    known = wanted_with_self(target) if target.include else 1 + target.temperature * target.log_weights
    known = np.where(target.allowed > 0, known, np.nan)
    np.fill_diagonal(known, 1.0)
    if target.include and self_weights_differ(target, rtol):
        return Verdict("inconsistent", "self weights", None, None, known, None), Completion(
            known, -np.inf, False, 0.0, ()
        )
    found = complete(
        2 * (1 - known) if euclidean else known,
        euclidean=euclidean,
        components=None if target.include else target.components(),
    )
    matrix = 1 - found.matrix / 2 if euclidean else found.matrix
    judged = centred(found.matrix) if euclidean else found.matrix
    spectrum = replace(spectrum_of(judged, rtol), tolerance=found.tolerance)
    if not found.possible:
        return Verdict("inconsistent", "completion", spectrum, None, known, None), found
    return Verdict("realizable", "", spectrum, None, matrix, None), found


def _best(problem: Realizable, target: Target, verdict: Verdict) -> Best:
    """The best embedding for a verdict."""
    began = time.perf_counter()
    tolerance = problem.tolerance
    euclidean = target.similarity == "euclidean"
    if verdict.kind == "realizable" or verdict.obstacle == "dimension":
        assert verdict.wanted is not None
        cosines = verdict.wanted if euclidean else target.orbits.nearest_gram(verdict.wanted)
        _, excess = target.residual(cosines)
        value = target.objective().value(cosines)
        proof = Certificate(value, value - excess, excess, 0.0, tolerance)
        best = Best(cosines, proof, _effort("closed form", "the target is attained", 0, began))
    elif euclidean:
        best = _best_euclidean(problem, target, verdict)
    else:
        start = target.orbits.nearest_gram(_start(target))
        answer = solve_objective(
            target.objective(), target.orbits, solver=problem.solver, tolerance=tolerance, start=start
        )
        solution = answer.solution
        proof = _above(answer.certificate, target.floor)
        best = Best(solution.cosines, proof, _effort(solution.name, answer.reason, solution.iterations, began))
    if problem.dim is None or best.cosines is None:
        return best
    if _dimension(target.orbits, best.cosines, best.certificate.gap, euclidean) <= problem.dim:
        return best
    return _limited(problem, target, best, began)


def _above(proof: Certificate, floor: float) -> Certificate:
    """The same certificate where the floor is the better lower bound."""
    if floor <= proof.lower_bound:
        return proof
    return replace(proof, lower_bound=floor, gap=proof.value - floor)


def _effort(name: str, reason: str, iterations: int, began: float) -> Effort:
    return Effort(name, reason, iterations, time.perf_counter() - began)


def _start(target: Target) -> FloatArray:
    """Cosines to start from: e^{tau log w} agrees with the target for near pairs, and is 0 for far ones."""
    strength = target.temperature * target.log_weights
    strength = strength - (float(np.diag(strength).mean()) if target.include else 0.0)
    start: FloatArray = np.exp(np.minimum(strength, 0.0)) * target.allowed
    start[target.orbits.pairs == 0] = 1.0
    return start


def _best_euclidean(problem: Realizable, target: Target, verdict: Verdict) -> Best:
    """Squared distances: the certified optimum where it is attained, else its infimum or nothing."""
    began = time.perf_counter()
    tolerance, floor = problem.tolerance, target.floor
    if verdict.obstacle == "zero weights" and _floor_approached(target, problem.eigenvalue_tolerance):
        proof = Certificate(floor, floor, 0.0, 0.0, tolerance)
        return Best(None, proof, _effort("closed form", "the floor is approached as points move apart", 0, began))
    if problem.solver != "auto":
        raise InputError("Euclidean latents are solved in one way only; leave the solver out", field="solver")
    if target.components().max() > 0 or not target.include:
        raise InputError(
            "with Euclidean latents, groups of samples that no positive weight joins move infinitely far apart, and "
            "some group is not realizable by itself; ask about each group separately",
            field="labels",
        )
    strength = target.temperature * target.log_weights
    finite = np.isfinite(strength)
    distances = -2 * (np.where(finite, strength, 1.5 * strength[finite].min()) - float(np.diag(strength).mean()))
    start = centred(np.maximum(distances, 0.0))
    solution, proof = solve_distances(target.objective(), target.orbits, start, tolerance=tolerance)
    why = "squared distances, by Newton steps on points"
    return Best(solution.cosines, _above(proof, floor), _effort(solution.name, why, solution.iterations, began))


def _floor_approached(target: Target, rtol: float) -> bool:
    """Whether Euclidean points come arbitrarily near the floor although some weights are 0.

    Without self pairs always: 1 1' - I is interior to the distance matrices, so all distances can grow while the
    differences that the weights ask for stay.  With self pairs, if each connected group is realizable by itself.
    """
    if not target.include:
        return True
    if self_weights_differ(target, rtol):
        return False
    wanted = wanted_with_self(target)
    parts = target.components()
    for part in range(int(parts.max()) + 1):
        block = 2 * (1 - wanted[np.ix_(parts == part, parts == part)])
        if not np.isfinite(block).all():
            return False
        if not spectrum_of(centred(block), rtol).psd:
            return False
    return True


def _lifted(target: Target) -> Target:
    """The same target with one orbit a sample."""
    index = target.orbits.index
    if index.size > MOST_LIFTED:
        raise InputError(f"a limit on dimensions is worked out for at most {MOST_LIFTED:,} samples", field="dim")
    at = np.ix_(index, index)
    return replace(
        target,
        orbits=Orbits.trivial(np.full(index.size, 1 / index.size)),
        log_weights=target.log_weights[at],
        allowed=target.allowed[at],
        masses=target.masses[index],
    )


def _limited(problem: Realizable, target: Target, best: Best, began: float) -> Best:
    """The best of several local solves in ``problem.dim`` dimensions, with the lower bound of the convex program."""
    assert problem.dim is not None
    assert best.cosines is not None
    unit = target.similarity == "cosine"
    full = _lifted(target)
    lifted = target.orbits.lift(best.cosines)
    gram = lifted if unit else centred(2 * (1 - lifted))
    solution, points = solve_limited(full.objective(), full.orbits, gram, problem.dim, problem.seed, unit=unit)
    cosines = solution.cosines
    value = full.objective().value(cosines)
    bound = best.certificate.lower_bound
    proof = Certificate(value, bound, value - bound, 0.0, problem.tolerance)
    why = f"{solution.note}; the bound is that without a limit"
    return Best(cosines, proof, _effort(solution.name, why, solution.iterations, began), points)


def _small(gram: FloatArray) -> float:
    return 1e-9 * max(float(np.trace(gram)), 1e-300)


def _dimension(orbits: Orbits, cosines: FloatArray, gap: float, euclidean: bool) -> int:
    """Dimensions that the embedding uses, up to what the gap leaves open."""
    values = _eigenvalues(orbits, cosines, euclidean)
    return int(np.sum(values > structure_tolerance(max(gap, 0.0)) * max(1.0, values[-1] if euclidean else 1.0)))


def _eigenvalues(orbits: Orbits, cosines: FloatArray, euclidean: bool) -> FloatArray:
    if not euclidean:
        return orbits.eigenvalues(orbits.gram_blocks(cosines))
    blocks = orbits.blocks(np.zeros(orbits.n_orbits), cosines - 1)
    unit = np.sqrt(orbits.sizes / orbits.n_classes)
    project = np.eye(unit.size) - np.outer(unit, unit)
    return orbits.eigenvalues(replace(blocks, quotient=project @ blocks.quotient @ project))


def _spectrum(best: Best, target: Target, euclidean: bool) -> tuple[float, ...]:
    """The largest eigenvalues of the Gram matrix of the embedding, at most :data:`SHOWN`."""
    if best.cosines is None:
        return ()
    if best.limited is not None:
        points = best.limited - best.limited.mean(axis=0) if euclidean else best.limited
        values = np.linalg.svd(points, compute_uv=False) ** 2
        return tuple(float(x) for x in values)
    return tuple(float(x) for x in _eigenvalues(target.orbits, best.cosines, euclidean)[::-1][:SHOWN])


def _structure(orbits: Orbits, cosines: FloatArray, gap: float) -> Structure | None:
    """The name of the geometry of the distinct labels, if samples with equal labels coincide."""
    inner = np.diag(cosines)
    if orbits.n_orbits < 2 or np.any((orbits.sizes > 1) & (inner < 1 - structure_tolerance(max(gap, 0.0)))):
        return classify(orbits, cosines, max(gap, 0.0))
    m = orbits.n_orbits
    between = cosines.copy()
    np.fill_diagonal(between, 1.0)
    return classify(Orbits.trivial(np.full(m, 1 / m)), between, max(gap, 0.0))


def _wanted(target: Target, verdict: Verdict) -> FloatArray | None:
    """What is asked for (m, m), nan where nothing is, -inf where the weight is 0."""
    if verdict.wanted is not None:
        wanted = np.where(target.allowed > 0, verdict.wanted, np.nan)
    else:
        wanted = wanted_with_self(target) if target.include else 1 + target.temperature * target.log_weights
        wanted = np.where(target.allowed > 0, wanted, np.nan)
    return np.asarray(wanted, dtype=np.float64)


def _distortion(
    target: Target, wanted: FloatArray | None, attained: FloatArray | None, names: tuple[str, ...]
) -> dict[str, Any] | None:
    """How far the attained similarities (or squared distances) are from the wanted ones, over pairs that enter."""
    if wanted is None or attained is None:
        return None
    entering = (target.pairs > 0) & np.isfinite(wanted)
    if not entering.any():
        return None
    error = np.where(entering, np.abs(attained - np.where(entering, wanted, 0.0)), 0.0)
    g, h = divmod(int(np.argmax(error)), error.shape[0])
    weights = np.where(entering, target.pairs * target.orbits.sizes[:, None], 0.0)
    return {
        "max_error": float(error[g, h]),
        "rms_error": float(np.sqrt(np.sum(weights * error**2) / weights.sum())),
        "pair": [names[g], names[h]],
        "wanted": float(wanted[g, h]),
        "attained": float(attained[g, h]),
    }


def _unique(target: Target, verdict: Verdict, best: Best, completion: Completion | None) -> bool | None:
    """Whether the optimal geometry is the only one (up to rotation and, for distances, translation)."""
    if best.limited is not None or best.cosines is None:
        return None
    if completion is not None:
        return False if any(high - low > 1e-4 for *_, low, high in completion.ranges) else None
    if target.include and not target.partial:
        return True  # F is strictly convex in the entries that are not fixed
    if verdict.kind == "realizable" and verdict.shift is not None:
        low, high = verdict.shift.low, verdict.shift.high
        return low is not None and high is not None and high - low <= 1e-9 * max(1.0, abs(high))
    return None


def _constant(verdict: Verdict) -> dict[str, Any] | None:
    """The interval of the free constant: what a pair of weight 1 gets (a cosine, or a squared distance)."""
    if verdict.shift is None:
        return None
    shift = verdict.shift
    return {"low": shift.low, "high": shift.high, "best": shift.best}


def _names(problem: Realizable, target: Target) -> tuple[str, ...]:
    if problem.labels is not None:
        plain = problem.changed(arc=None).points
        if plain.shape[1] == 1:
            first = np.unique(target.orbits.index, return_index=True)[1]
            return tuple(f"{x:g}" for x in plain[first, 0])
    return tuple(str(i + 1) for i in range(target.orbits.n_orbits))


def _reason(
    problem: Realizable, weighting: Weighting, target: Target, verdict: Verdict, completion: Completion | None
) -> str:
    """Why the verdict is what it is, in one or two sentences."""
    cosine = target.similarity == "cosine"
    what = "cosines" if cosine else "squared distances"
    spectrum = verdict.spectrum
    if verdict.obstacle == "zero weights":
        if cosine:
            return (
                "some pairs have weight 0, which asks for a similarity of minus infinity; no finite embedding has that"
            )
        return "some pairs have weight 0, which asks for an infinite distance; no finite embedding has that"
    if verdict.obstacle == "self weights":
        return (
            "the weights of samples with themselves differ, but a sample is equally similar to itself everywhere, so "
            "no constant fits all of them"
        )
    assert spectrum is not None
    lowest = f"{0.0 if abs(spectrum.min_eigenvalue) <= spectrum.tolerance else spectrum.min_eigenvalue:.6g}"
    if completion is not None:
        if verdict.kind == "realizable":
            return f"the missing {what} can be filled in (smallest eigenvalue then {lowest})"
        return f"no values of the missing {what} help: the best completion has the smallest eigenvalue {lowest}"
    if verdict.obstacle == "dimension":
        return f"the wanted {what} need {verdict.least_dimension} dimensions, and only {problem.dim} are allowed"
    matrix = f"the matrix of wanted {what}" if cosine else f"the centred matrix of wanted {what}"
    free = "" if target.include else ", whatever the free constant"
    if verdict.kind == "inconsistent" and lowest == "0":
        reason = (
            "the wanted cosines are so near 1 that their matrix has no negative eigenvalue beyond rounding, but the "
            "distances they stand for are not those of points on a unit sphere"
        )
    elif verdict.kind == "inconsistent":
        reason = f"{matrix} has a negative eigenvalue, {lowest}{free}; points cannot have that"
    else:
        reason = f"{matrix} has no negative eigenvalue (smallest {lowest})" + (
            "" if target.include else ", for a suitable constant"
        )
    return reason + _about_labels(problem, weighting, target, verdict)


def _about_labels(problem: Realizable, weighting: Weighting, target: Target, verdict: Verdict) -> str:
    """The same in terms of the labels, where there is a closed form."""
    parameters = weighting.parameters()
    if not (target.include and target.similarity == "cosine" and problem.normalise == "rows"):
        return ""
    if weighting.name == "soft-supcon" and target.orbits.n_orbits > 1:
        from geomsolve.weightings.soft_supcon import threshold

        least = threshold(target.orbits.n_orbits, problem.temperature)
        word = "at least" if verdict.kind == "realizable" else "below"
        return f"; epsilon {parameters['epsilon']:g} is {word} exp(-K/((K-1) temperature)) = {least:.6g}"
    if parameters.get("kernel") != "gaussian" or target.labels is None:
        if verdict.radius is None or verdict.kind == "realizable":
            return ""
        return f"; the wanted points lie on a sphere, but of radius {verdict.radius:.6g} instead of at most 1"
    largest = parameters["sigma"] / np.sqrt(problem.temperature)
    fits = f"sigma/sqrt(temperature) = {largest:.6g}"
    if verdict.radius is None:
        scalar = "three or more different scalars never do" if target.labels.shape[1] == 1 else "these do not"
        return f"; the labels would have to lie on a sphere of radius at most {fits}, and {scalar}"
    radius = verdict.radius * largest
    word = "within" if verdict.kind == "realizable" else "above"
    return f"; the labels lie on a sphere of radius {radius:.6g}, {word} {fits}"
