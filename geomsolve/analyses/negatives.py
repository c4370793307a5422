"""What do k negatives change, against infinitely many?

    R(k) = min_G E log(1 + sum_{j=1..k} e^{s_j - s_+}) - log k          (DCL: without the 1)
    CE   = min_G  -E s_+ + E log E e^{s}                                s = cosine / tau; the limit of R(k)

For every G, hence for the minima too,

    - log(1 + e^{2/tau} / k)  <=  CE - R(k)  <=  (e^{2/tau} - 1)^2 / (8 k).

Lower: Jensen's inequality, and e^{s_+} / E e^s <= e^{2/tau}; for DCL it is 0.  Upper: dropping the positive, -log
has curvature at most 1 where e^{s + 1/tau} lives, [1, e^{2/tau}], whose variance is at most (e^{2/tau} - 1)^2 / 4.

Both parts are monotone in k for fixed G: log of the mean of k negatives rises in expectation (DCL), and what the
positive adds, E log(1 + e^{s_+} / sum_j e^{s_j}), falls.  So for all k' >= k and G* optimal in the limit,

    - added by the positive at (k, G*)  <=  CE - R(k')  <=  CE - R_DCL(k),

which proves an accuracy for all larger k though CE - R(k) itself need not be monotone.  The bounds are those of the
similarity-search view of InfoNCE; the two lines above are derived for this project.

Symbols: k ``negatives``, R(k) ``risk``, CE ``limit``, CE - R(k) ``difference``, tau ``temperature``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, exp, expm1, inf, log, log2
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.imbalance import collapse_temperature
from geomsolve.analyses.merging import structure_at
from geomsolve.analyses.named import loss_of
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, names_of
from geomsolve.losses.infonce import Negatives as WithNegatives
from geomsolve.objectives.base import Objective
from geomsolve.objectives.joint import joint_objective
from geomsolve.questions.negatives import MOST_NEGATIVES, TAKEN, Negatives
from geomsolve.report import Effort, Proof, ProvenReport, Table, understood
from geomsolve.solvers.base import Answer
from geomsolve.solvers.choose import refuse_oversize, solve_objective

LOG_LARGEST = 709.0
"""e to this power is still a floating-point number."""

FIRST_TRY = 64
"""The number of negatives at which the search for the least sufficient number begins."""


@dataclass(frozen=True)
class Row:
    """The answer for ``negatives`` = k; losses in nats, cosines those of the optimal geometry for this k.

    ``difference`` = CE - R(k) lies between ``lower`` and ``upper``; ``threshold`` is the temperature nearest to the
    one in force at which minority collapse sets in or ends for this k; ``gap`` of the certificate of R(k).
    ``cosine_change`` is the largest difference between its cosines and those of the limit.
    """

    negatives: int
    risk: float
    difference: float
    lower: float
    upper: float
    threshold: float | None
    structure: str
    min_cosine: float
    max_cosine: float
    cosine_change: float
    gap: float
    certified: bool


@dataclass(frozen=True)
class Least:
    """Negatives that bring the loss within ``accuracy`` of its limit.

    ``exact`` meets it and ``exact`` - 1 does not.  From ``always`` on every k is proven to meet it, by the general
    bounds or by those of the module, and from no smaller number is that proven.  Both are None where no number up to a
    billion is proven to suffice.  ``bound`` >= ``always`` is what the general bounds alone promise (inf beyond 1e308).
    """

    accuracy: float
    exact: int | None
    always: int | None
    bound: float


@dataclass(frozen=True)
class NegativesReport(ProvenReport):
    """``limit`` in nats, with its own certificate and ``structure``, the geometry that attains it; ``rows`` by k.

    ``names`` and ``proportions`` (K,) of the classes, or of the points of a joint distribution.  ``assumption``
    completes 'proven for ...': the embeddings that the bounds are about, None where all.
    """

    command: ClassVar[str] = "negatives"
    flat: ClassVar[tuple[str, ...]] = ("lower_bound", "gap", "certified")

    names: tuple[str, ...]
    proportions: tuple[float, ...]
    structure: Structure
    rows: tuple[Row, ...]
    least_negatives: Least
    assumption: str | None = None

    @property
    def limit(self) -> float:
        """The loss of infinitely many negatives at its optimum, in nats."""
        return self.value

    @property
    def table(self) -> Table:
        return Table.of_rows(self.rows)

    @property
    def headline(self) -> str:
        return self.structure.named(self.names)

    @property
    def asked(self) -> dict[str, Any]:
        return {**super().asked, **self.structure.facts(self.names)}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        plain = {**super().to_dict(**detail), "limit": self.limit}
        structure = plain["structure"]
        del structure["tolerance"]
        structure["groups"] = names_of(self.structure.groups, self.names)
        return plain


def lower_bound(k: int, temperature: float, *, decoupled: bool) -> float:
    """The bound from below on CE - R(k), in nats."""
    return 0.0 if decoupled else -float(np.logaddexp(0.0, 2 / temperature - log(k)))


def upper_bound(k: int, temperature: float) -> float:
    """The bound from above on CE - R(k), in nats; inf where it is beyond floating-point numbers."""
    return _exp(2 * _log_spread(temperature) - log(8 * k))


def least_by_bound(accuracy: float, temperature: float, *, decoupled: bool) -> float:
    """Least k at which both bounds are within ``accuracy`` nats; inf where it is beyond floating-point numbers."""
    least = _exp(2 * _log_spread(temperature) - log(8 * accuracy))
    if not decoupled:
        least = max(least, _exp(2 / temperature - log(expm1(accuracy))))
    return max(1, ceil(least)) if least < inf else inf


def _log_spread(temperature: float) -> float:
    """log(e^{2/tau} - 1)."""
    return 2 / temperature + log(-expm1(-2 / temperature))


def _exp(x: float) -> float:
    return exp(x) if x < LOG_LARGEST else inf


def negatives(problem: Negatives) -> NegativesReport:
    """Answer the question of :class:`Negatives`, with a proof for every row."""
    joint = problem.joint_distribution
    loss = loss_of(problem)
    assert isinstance(loss, WithNegatives)
    settings = loss.parameters()
    temperature, decoupled = settings["temperature"], not loss.own
    orbits = Orbits.trivial(problem.proportions) if joint is not None else Orbits.of(problem.proportions)
    refuse_oversize(orbits.n_orbits, field=problem.source)

    def objective(k: float, *, dcl: bool) -> Objective:
        if joint is None:
            return loss.against(k, orbits, decoupled=dcl)
        sampling = settings["sampling"]
        return joint_objective(joint, orbits, decoupled=dcl, negatives=k, temperature=temperature, sampling=sampling)

    @cache
    def answer(k: float, dcl: bool) -> Answer:
        return solve_objective(objective(k, dcl=dcl), orbits, solver=problem.solver, tolerance=problem.tolerance)

    def risk(k: int, dcl: bool) -> float:
        return answer(k, dcl).certificate.value - log(k)

    at_limit = answer(inf, decoupled)
    limit, geometry = at_limit.certificate.value, at_limit.solution.cosines

    def off_by(k: int) -> float:
        """|CE - R(k)|."""
        return abs(limit - risk(k, decoupled))

    def never_beyond(k: int) -> float:
        """The best bound on |CE - R(k')| for all k' >= k, which falls with k; see the module."""
        general = max(upper_bound(k, temperature), -lower_bound(k, temperature, decoupled=decoupled))
        found = limit - (answer(k, True).certificate.lower_bound - log(k))
        if not decoupled:
            found = max(found, objective(k, dcl=False).value(geometry) - objective(k, dcl=True).value(geometry))
        return min(general, found)

    rows = []
    for k in problem.negatives:
        proof, cosines = answer(k, decoupled).certificate, answer(k, decoupled).solution.cosines
        structure = structure_at(objective(k, dcl=decoupled), orbits, answer(k, decoupled))[0]
        threshold = None if joint is not None else collapse_temperature(loss.replace(negatives=k), orbits)
        rows.append(
            Row(
                negatives=k,
                risk=proof.value - log(k),
                difference=limit - (proof.value - log(k)),
                lower=lower_bound(k, temperature, decoupled=decoupled),
                upper=upper_bound(k, temperature),
                threshold=threshold,
                structure=structure.kind,
                min_cosine=structure.min_cosine,
                max_cosine=structure.max_cosine,
                cosine_change=float(np.abs(cosines - geometry).max()),
                gap=proof.gap,
                certified=proof.certified,
            )
        )
    least = least_sufficient(off_by, never_beyond, problem.accuracy)
    decisive = [] if least[0] is None else [answer(k, decoupled) for k in (least[0], least[0] - 1) if k > 0]
    proven = all(a.certificate.certified for a in [at_limit, *decisive]) and all(row.certified for row in rows)
    taken = {key: settings[key] for key in TAKEN}
    return NegativesReport(
        problem=understood(problem, loss={"name": loss.name, **taken}),
        names=problem.class_names,
        proportions=problem.proportions,
        proof=replace(Proof.of(at_limit.certificate), certified=proven),
        effort=Effort.of(at_limit),
        structure=structure_at(objective(inf, dcl=decoupled), orbits, at_limit)[0],
        rows=tuple(rows),
        least_negatives=Least(
            problem.accuracy, *least, least_by_bound(problem.accuracy, temperature, decoupled=decoupled)
        ),
        assumption=loss.assumption(orbits) or None,
    )


def least_sufficient(
    off_by: Callable[[int], float], never_beyond: Callable[[int], float], accuracy: float
) -> tuple[int | None, int | None]:
    """``exact`` and ``always`` of :class:`Least`: upwards until proven, then back to the least number that is, and on
    from there to one that suffices where one less does not."""
    enough = FIRST_TRY
    while (left := never_beyond(enough)) > accuracy:
        enough *= 2 ** max(1, ceil(log2(left / accuracy)))
        if enough > MOST_NEGATIVES:
            return None, None
    always = first_within(never_beyond, accuracy, enough)
    return first_within(off_by, accuracy, always), always


def first_within(off_by: Callable[[int], float], accuracy: float, enough: int) -> int:
    """A number up to ``enough``, which suffices, that suffices where one less does not (or is 1).

    Every guess takes what is left to be proportional to 1/k, which it nearly is, and every other one halves.
    """
    missed = 0
    while enough > 1 and missed == 0:
        guess = min(enough - 1, max(1, int(0.9 * enough * off_by(enough) / accuracy)))
        enough, missed = (enough, guess) if off_by(guess) > accuracy else (guess, 0)
    halve = False
    while enough - missed > 1:
        slope = (1 / missed - 1 / enough) / (off_by(missed) - off_by(enough))
        guess = (missed + enough) // 2 if halve else round(1 / (1 / enough + slope * (accuracy - off_by(enough))))
        guess = min(enough - 1, max(missed + 1, guess))
        enough, missed = (enough, guess) if off_by(guess) > accuracy else (guess, missed)
        halve = not halve
    return enough
