"""Can any embedding attain this weighting, and if not, what is the best and what should be changed?

The verdict is a matter of eigenvalues (``weightings/target.py``), never of the loss gap: three ages can miss the Gram
matrices by 1e-3 and the floor of the loss by 1e-5.  Where the target is out of reach the best embedding is the
optimum of a convex program over cosines or squared distances, with its certificate (``solvers/choose.py``).

Degenerate weightings with latents that know no bound push what no weight joins infinitely far apart: their infimum is
not attained and no embedding is reported.  A limit on dimensions below what is needed makes the program non-convex: the
best of several local solves is printed with the convex lower bound, and not certified.

Symbols: F - floor ``excess``, T and D ``wanted``, G ``attained``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geomsolve.analyses.binning import Binning, interval
from geomsolve.analyses.elimination import decided, in_fractions, in_words
from geomsolve.analyses.ranges import Ranges, ranges
from geomsolve.analyses.realizable_report import MOST_LIFTED, SHOWN, CasesReport, RealizableReport, by_label
from geomsolve.analyses.tree_merging import tree_merging
from geomsolve.errors import InputError
from geomsolve.gram.edm import spectrum_of
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, classify, structure_tolerance
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import Certificate
from geomsolve.questions.realizable import Realizable
from geomsolve.questions.slack import positions
from geomsolve.report import Effort, Proof, understood
from geomsolve.solvers.choose import solve_objective
from geomsolve.solvers.completion import MOST_POINTS, Completion, Range, complete
from geomsolve.solvers.manifold import solve_limited
from geomsolve.weightings import Weighting, make_weighting
from geomsolve.weightings.fixes import find_fixes
from geomsolve.weightings.latents import LATENTS, Latents
from geomsolve.weightings.reasons import reason
from geomsolve.weightings.target import MOST_LABELS, Target, Verdict, verdict_of

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


Told = Callable[[str, str], None]
"""Takes the verdict and its reason as soon as they are known, before the optimum is."""


def realizable(problem: Realizable, told: Told | None = None) -> RealizableReport | CasesReport:
    """Answer the question of :class:`Realizable`, with a proof; ``told`` hears the verdict first."""
    weighting = weighting_of(problem)
    refuse_unused(problem)
    if problem.labels is None and weighting.size is None:
        return _cases(problem, weighting)
    return _answer(problem, weighting, told=told)


def validate(problem: Realizable) -> None:
    """Raise :class:`InputError` for a weighting that does not exist or does not take what it was given."""
    weighting_of(problem)
    refuse_unused(problem)


def refuse_unused(problem: Realizable) -> None:
    """Raise :class:`InputError` for what changes labels, where there are none; and for ``exact`` of what is not."""
    if problem.exact:
        in_fractions(problem, weighting_of(problem), "exact")
    for field in ("arc", "sample", "bin"):
        if problem.labels is None and getattr(problem, field) is not None:
            raise InputError("this changes labels, and there are none; add --labels or leave it out", field=field)
    if problem.slack is not None and problem.labels is None and weighting_of(problem).size is None:
        raise InputError(
            "ranges are those of given labels, and there are none; add --labels or leave it out", field="slack"
        )


def weighting_of(problem: Realizable) -> Weighting:
    """The weighting that a problem names, with its parameters."""
    return make_weighting(problem.weighting, problem.parameters)


def ranges_of(problem: Realizable, target: Target, best: Best, names: tuple[str, ...]) -> Ranges | None:
    """How far the cosines of pairs of labels may be at a loss a little above the optimum, if that was asked."""
    if problem.slack is None or best.cosines is None:
        return None
    samples = [names[g] for g in target.orbits.index]
    try:
        wanted = positions(problem.pairs, samples, "label")
    except ValueError as error:
        raise InputError(str(error), field="pairs") from None

    def bind(orbits: Orbits) -> Objective:
        return target.finer(orbits).objective()

    return ranges(bind, target.orbits, best.cosines, samples, problem.slack, wanted, samples=True)


def refuse_slack(problem: Realizable, latents: Latents, n_distinct: int) -> None:
    """Raise :class:`InputError` where there are no cosines of different labels whose ranges could be asked for."""
    if problem.slack is not None and not latents.unit:
        raise InputError(
            f"ranges are those of cosines, and these latents have {latents.noun}s; ask with similarity cosine",
            field="slack",
        )
    if problem.slack is not None and n_distinct < 2:
        raise InputError("there is one distinct label, and no pair of different ones", field="slack")


def target_of(problem: Realizable, weighting: Weighting) -> Target:
    """Bind a weighting to the samples of a problem."""
    return weighting.bind(
        None if problem.labels is None else problem.points,
        latents=LATENTS[problem.similarity or weighting.similarity],
        temperature=problem.temperature,
        include=problem.self_pairs == "include",
        normalise=problem.normalise,
    )


def judged(problem: Realizable) -> Verdict:
    """The verdict on a complete problem."""
    target = target_of(problem, weighting_of(problem))
    return verdict_of(target, problem.dim, problem.eigenvalue_tolerance)


def works_of(problem: Realizable) -> Callable[[dict[str, Any]], bool]:
    """Whether the problem with some fields changed is realizable; what makes no sense is not."""

    def works(settings: dict[str, Any]) -> bool:
        try:
            return judged(problem.changed(**settings)).kind == "realizable"
        except InputError:
            return False

    return works


def _cases(problem: Realizable, weighting: Weighting) -> CasesReport:
    large = 1.2 * weighting.width / np.sqrt(problem.temperature)
    cases = []
    for about, labels in CASES:
        text = labels.format(large=large)
        row: dict[str, Any] = {"labels": text, "about": about}
        try:
            report = _answer(problem.changed(labels=text), weighting, fixes=False)
        except InputError as error:
            cases.append({**row, "verdict": None, "reason": error.message})
            continue
        row |= {"verdict": report.verdict, "reason": report.reason, "least_dimension": report.least_dimension}
        row |= {key: report.target[key] for key in ("min_eigenvalue", "radius")}
        row |= {key: report.optimum[key] for key in ("excess", "certified")}
        cases.append(row)
    return CasesReport(_understood(problem, weighting), weighting.condition, tuple(cases))


def _understood(problem: Realizable, weighting: Weighting) -> dict[str, Any]:
    similarity = problem.similarity or weighting.similarity
    known = understood(problem, **weighting.in_force(problem.temperature), similarity=similarity)
    if isinstance(known.get("labels"), tuple) and len(known["labels"]) > SHOWN:
        known["labels"] = f"{len(known['labels']):,} labels"
    return known


@dataclass(frozen=True)
class Best:
    """The best embedding found: orbit cosines C, None where the infimum is not attained, and its proof; ``orbits`` are
    single samples where dimensions are ``limited`` to those of its points.  Not ``resolved``: the loss hardly depends
    on the geometry, so that the proof says nothing about it."""

    cosines: FloatArray | None
    certificate: Certificate
    effort: Effort
    orbits: Orbits
    limited: FloatArray | None = None
    resolved: bool = True


def _answer(
    problem: Realizable, weighting: Weighting, *, fixes: bool = True, told: Told | None = None
) -> RealizableReport:
    target, rtol = target_of(problem, weighting), problem.eigenvalue_tolerance
    refuse_slack(problem, target.latents, target.orbits.n_orbits)
    completion: Completion | None = None
    if target.partial and problem.dim is not None:
        raise InputError("a limit on dimensions needs a complete matrix; fill in the missing entries", field="dim")
    if target.partial and not target.zero_weights:
        verdict, completion = _completed(target, rtol)
    else:
        verdict = verdict_of(target, problem.dim, rtol)
    shown: dict[str, Any] | None = None
    if problem.exact:
        verdict, shown = decided(problem, weighting, verdict)
    why = reason(weighting, target, verdict, problem.dim) if shown is None else in_words(shown)
    if told is not None:
        told(verdict.kind, why)
    best = _best(problem, target, verdict)
    latents, proof = target.latents, best.certificate
    said: dict[str, Any] = {
        "excess": max(0.0, proof.value - target.floor),
        "attained": best.cosines is not None,
        "dimension": None,
        "residual": None,
    }
    spectrum: FloatArray = np.zeros(0)
    attained: FloatArray | None = None
    structure = None
    if best.cosines is not None:
        full = target if best.limited is None else target.single()
        said["residual"], said["excess"] = full.residual(best.cosines)
        cosines = best.cosines if best.limited is None else target.orbits.reduce(best.cosines)
        attained = np.clip(latents.shown(cosines), *latents.bounds)
        if best.limited is None:
            spectrum = latents.eigenvalues(target.orbits, best.cosines)[::-1][:SHOWN]
            said["dimension"] = _dimension(latents, target.orbits, best.cosines, proof.gap)
        else:
            spectrum = np.asarray(np.linalg.svd(best.limited, compute_uv=False) ** 2, dtype=np.float64)
            said["dimension"] = best.limited.shape[1]
        if verdict.kind == "realizable":
            said["dimension"] = verdict.least_dimension
        if latents.unit and best.limited is None and target.orbits.n_classes > 1:
            structure = _structure(target, best.cosines, proof.gap)
            if not best.resolved:
                structure = replace(structure, kind="undetermined", groups=())
    names, wanted, figures = _names(problem, target), target.wanted(verdict), verdict.spectrum
    return RealizableReport(
        problem=_understood(problem, weighting),
        verdict=verdict.kind,
        reason=why,
        target={
            "min_eigenvalue": None if figures is None else figures.min_eigenvalue,
            "tolerance": None if figures is None else figures.tolerance,
            "negative_mass": None if figures is None else figures.negative_mass,
            "rank": None if figures is None else figures.rank,
            "radius": verdict.radius,
        },
        floor=target.floor,
        best=said,
        least_dimension=verdict.least_dimension,
        proof=Proof.of(proof, _unique(target, verdict, best, completion)),
        effort=best.effort,
        fixes=find_fixes(weighting, target, verdict, works_of(problem), rtol=rtol) if fixes else (),
        constant=_constant(verdict),
        completions=tuple(_range(found) for found in (completion.ranges if completion else ())),
        distortion=None if attained is None else target.distortion(wanted, attained, names),
        structure=structure,
        spectrum=tuple(spectrum.tolist()),
        latents=latents,
        names=names,
        orbits=target.orbits,
        wanted=wanted,
        attained=attained,
        limited=best.limited,
        ranges=ranges_of(problem, target, best, names),
        resolved=best.resolved,
        binning=rounding_of(problem, weighting, target, verdict, best),
        merging=tree_merging(problem, weighting, target) if fixes else None,
        exact=shown,
    )


def rounding_of(
    problem: Realizable, weighting: Weighting, target: Target, verdict: Verdict, best: Best
) -> Binning | None:
    """What rounding the labels did, if that was asked."""
    if problem.bin is None:
        return None
    exact = problem.changed(bin=None)
    before = len(np.unique(exact.points, axis=0))
    rounded = Binning(problem.bin, before, target.orbits.n_orbits)
    if before > MOST_LABELS or best.cosines is None or best.limited is not None:
        return rounded
    given = target_of(exact, weighting)
    ends = interval(target, best.cosines, verdict.kind, given, problem.eigenvalue_tolerance)
    if ends is None:
        return rounded
    low, high = ends
    proof = best.certificate
    error = max(high - proof.lower_bound, proof.value - low)
    return replace(rounded, error=error, low=low, high=high)


def _completed(target: Target, rtol: float) -> tuple[Verdict, Completion | None]:
    """The verdict on a target with missing entries: is there a completion?"""
    n, latents = target.orbits.n_classes, target.latents
    if n > MOST_POINTS:
        raise InputError(
            f"completing a matrix of {n:,} samples is too large a conic program; at most {MOST_POINTS} are completed",
            field="weights",
        )
    if target.self_weights_differ(rtol):
        return Verdict("inconsistent", "self weights"), None
    known = latents.shown(1 - target.wanted_distances() / 2)
    known = np.where((target.allowed > 0) & np.isfinite(known), known, np.nan)
    np.fill_diagonal(known, latents.own)
    found = complete(known, latents, target.components(), free=not target.include)
    spectrum = replace(spectrum_of(latents.gram(found.matrix), rtol), tolerance=found.tolerance)
    if not found.possible:
        return Verdict("inconsistent", "completion", spectrum, wanted=latents.cosines(known)), found
    return Verdict("realizable", "", spectrum, wanted=latents.cosines(found.matrix)), found


def _best(problem: Realizable, target: Target, verdict: Verdict) -> Best:
    """The best embedding for a verdict."""
    began = time.perf_counter()
    orbits, latents, floor = target.orbits, target.latents, target.floor
    if verdict.obstacle == "zero weights" and target.approached(problem.eigenvalue_tolerance):
        proof = Certificate.of(floor, 0.0, 0.0, problem.tolerance)
        return Best(
            None, proof, _effort("closed form", "the floor is approached as points move apart", 0, began), orbits
        )
    if verdict.kind == "realizable" or verdict.obstacle == "dimension":
        assert verdict.wanted is not None
        cosines = latents.feasible(orbits, verdict.wanted)
        excess = target.residual(cosines)[1]
        value = target.objective().value(cosines)
        proof = Certificate.of(value, excess, 0.0, problem.tolerance)
        best = Best(cosines, proof, _effort("closed form", "the target is attained", 0, began), orbits)
    else:
        target.refuse_escaping()
        answer = solve_objective(
            target.objective(),
            orbits,
            solver=problem.solver,
            tolerance=problem.tolerance,
            start=target.start(),
            unit=latents.unit,
        )
        solution, proof = answer.solution, answer.certificate
        if floor > proof.lower_bound:
            proof = proof.above(floor)
        told = _effort(solution.name, answer.reason, solution.iterations, began)
        best = Best(solution.cosines, proof, told, orbits, resolved=answer.resolved)
    if problem.dim is None or best.cosines is None:
        return best
    if _dimension(latents, orbits, best.cosines, best.certificate.gap) <= problem.dim:
        return best
    return _limited(problem, target, best, began)


def _effort(name: str, reason: str, iterations: int, began: float) -> Effort:
    return Effort(name, reason, iterations, time.perf_counter() - began)


def _limited(problem: Realizable, target: Target, best: Best, began: float) -> Best:
    """The best of several local solves in ``problem.dim`` dimensions, with the lower bound of the convex program."""
    assert problem.dim is not None
    assert best.cosines is not None
    if target.orbits.n_classes > MOST_LIFTED:
        raise InputError(f"a limit on dimensions is worked out for at most {MOST_LIFTED:,} samples", field="dim")
    full = target.single()
    start = target.orbits.lift(best.cosines)
    objective, unit = full.objective(), target.latents.unit
    solution, points = solve_limited(objective, full.orbits, start, problem.dim, problem.seed, unit=unit)
    proof = best.certificate.at(objective.value(solution.cosines))
    told = _effort(solution.name, f"{solution.note}; the bound is that without a limit", solution.iterations, began)
    return Best(solution.cosines, proof, told, full.orbits, points)


def _dimension(latents: Latents, orbits: Orbits, cosines: FloatArray, gap: float) -> int:
    """Dimensions that the embedding uses, up to what the gap leaves open."""
    values = latents.eigenvalues(orbits, cosines)
    return int(np.sum(values > latents.small(values, structure_tolerance(max(gap, 0.0)))))


def _structure(target: Target, cosines: FloatArray, gap: float) -> Structure:
    """The name of the geometry of the distinct labels, or of all samples; see :func:`by_label`."""
    orbits = target.orbits
    if not by_label(orbits, target.latents, cosines, gap):
        return classify(orbits, cosines, max(gap, 0.0))
    between = cosines.copy()
    np.fill_diagonal(between, 1.0)
    return classify(Orbits.trivial(np.full(orbits.n_orbits, 1 / orbits.n_orbits)), between, max(gap, 0.0))


def _unique(target: Target, verdict: Verdict, best: Best, completion: Completion | None) -> bool | None:
    """Whether the optimal geometry is the only one (up to rotation and, for distances, translation)."""
    if best.limited is not None or best.cosines is None:
        return None
    if completion is not None:
        return False if any(found.high - found.low > 1e-4 for found in completion.ranges) else None
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


def _range(found: Range) -> dict[str, Any]:
    """The values of one missing entry; rows and columns count from 1."""
    plain: dict[str, Any] = {"row": found.row + 1, "column": found.column + 1}
    ends = {"low": (found.low, found.low_attained), "high": (found.high, found.high_attained)}
    for name, (value, attained) in ends.items():
        plain[name] = value if np.isfinite(value) else None
        plain[f"{name}_attained"] = None if np.isnan(value) else attained
    return plain


def _names(problem: Realizable, target: Target) -> tuple[str, ...]:
    if problem.labels is None:
        return problem.sample_names or tuple(str(i + 1) for i in range(target.orbits.n_orbits))
    first = np.unique(target.orbits.index, return_index=True)[1]
    if problem.spelled:
        return tuple(problem.spelled[i] for i in first)
    if problem.drawn.shape[1] == 1:
        return tuple(f"{x:g}" for x in problem.drawn[first, 0])
    return tuple(str(i + 1) for i in range(target.orbits.n_orbits))
