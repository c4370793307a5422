"""Is my loss value good?  The values that belong to total collapse, to untrained embeddings and to the optimum.

What these are the loss says itself (``levels`` in its file), in nats an anchor of a batch of B samples in V views; here
they are asked for, every optimum is reached with its certificate, and all are put into the user's own scale.
Where every sample is its own class there are as many classes as samples that an anchor sees.

Symbols: B ``batch``, V ``views``, K ``n_classes``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.find_levels import FoundLevelsReport, find_levels, path_through
from geomsolve.analyses.scales import LONELY, Reached, Setting, reach
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import Objective
from geomsolve.objectives.drawn_batches import Batches
from geomsolve.objectives.levels import Optimum, Scale
from geomsolve.questions.levels import Levels
from geomsolve.report import Proof, ProvenReport, Table, understood

SAME = 1e-3
"""A loss value this close to a level, relative to it, is said to be that level."""

SMALL = 0.05
"""The part of the way from optimum to collapse below which levels are not told apart by the digits of a value."""

DRAWN, SPREADS = 2000, 4.0
"""Random batches that are drawn to see how much single ones differ; a value is not accused of lying so many standard
deviations of a single batch below the optimum, which is a mean over batches."""

ROUNDING = 1e-9
"""Relative differences of single batches below this are none."""


@dataclass(frozen=True)
class LevelsReport(ProvenReport):
    """Levels in the user's own scale: times ``factor`` (temperature over base temperature, and anchors for sums).

    ``collapse``, ``random_start`` (unit vectors in ``dim`` dimensions), ``optimum`` with ``lower_bound`` and ``gap``;
    ``optimum_random_batches`` is None where batches differ in nothing, as where every sample is its own class.
    ``assumption`` completes 'if ...': what the optimum takes for granted; ``lower_bound`` holds without it.
    ``only_for`` completes 'proven for ...': the embeddings that all this is about, None where all; JSON has either as
    ``assumption``.
    ``optimum_many_samples`` is the optimum in the limit, where the number of samples matters and is not given;
    ``optimum`` is that of ``n_classes``.  ``remark``: what else the loss has to say.
    ``position`` of ``loss_value``: 0 at the optimum, 1 at collapse.  ``reading`` is 'optimum', 'collapse', 'random
    start', 'between', 'above', 'below', or 'one batch': below, but by no more than a single batch may be.

    ``replacement``: how random batches are drawn, with ('yes') or without ('no'), ``optimum_other_replacement`` the
    optimum if they are drawn the other way.  ``batch_spread``: standard deviation of single random batches at the
    optimum.  ``expectation``, of a mean over as many terms as a batch has (the reduction mean-nonzero, positive pairs):
    'exact', or 'ratio' where E sum / E number stands for it,
    with ``drawn_mean`` {value, standard_error} of drawn batches at the same geometry.  ``other_reduction``: the levels
    of the other of mean and mean-nonzero where they differ, and the reading of ``loss_value`` there.
    """

    command: ClassVar[str] = "levels"
    flat: ClassVar[tuple[str, ...]] = ("lower_bound", "gap", "certified")
    apart: ClassVar[tuple[str, ...]] = ("only_for", "untrained")

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
    only_for: str | None
    optimum_many_samples: float | None
    remark: str | None
    replacement: str | None = None
    optimum_other_replacement: float | None = None
    batch_spread: float | None = None
    expectation: str | None = None
    drawn_mean: dict[str, float] | None = None
    other_reduction: dict[str, Any] | None = None
    untrained: str = "unit vectors at random"

    @property
    def optimum(self) -> float:
        """The least value that any embedding can have."""
        return self.value

    @property
    def roughly(self) -> bool:
        """Whether a ratio of expectations stands for the optimum."""
        return self.expectation == "ratio" and self.optimum_random_batches in (None, self.optimum)

    @property
    def table(self) -> Table:
        levels = {"collapse": self.collapse, "random start": self.random_start, "optimum": self.optimum}
        return Table({"value": list(levels.values())}, list(levels))

    @property
    def headline(self) -> str:
        return f"optimum {self.optimum:.6g}"

    @property
    def asked(self) -> dict[str, Any]:
        return {**super().asked, "collapse": self.collapse, "position": self.position}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        plain = {**super().to_dict(**detail), "optimum": self.optimum}
        return {**plain, "assumption": self.assumption or self.only_for}


@dataclass(frozen=True)
class Ladder:
    """Optimum, collapse and random start of one reduction."""

    optimum: float
    collapse: float
    random_start: float

    def times(self, factor: float) -> Ladder:
        return Ladder(factor * self.optimum, factor * self.collapse, factor * self.random_start)


def levels(problem: Levels) -> LevelsReport | FoundLevelsReport:
    """Answer the question of :class:`Levels`."""
    return located(problem) if problem.find is None else find_levels(problem)


def located(problem: Levels) -> LevelsReport:
    """The levels of one setting, and where a loss value stands among them."""
    setting = Setting.of(problem)
    training, scale, factor = setting.training, setting.scale, setting.factor
    first = scale.first

    def scaled(optimum: Optimum, start: FloatArray | None = None) -> Reached:
        proof, effort, cosines = reach(optimum, problem.solver, problem.tolerance, start)
        proof = proof.scaled(factor * optimum.times, factor * optimum.plus, unit=factor)
        return proof if optimum.bound is None else proof.above(factor * optimum.bound), effort, cosines

    proof, effort, cosines = scaled(first)
    random_batches, at = (proof, cosines) if first is scale.batches else (None, None)
    if scale.batches is not None and random_batches is None:
        random_batches, _, at = scaled(scale.batches)
    certified = proof.certified and (random_batches is None or random_batches.certified)
    other = None if scale.other is None else scaled(scale.other, at)[0].value
    ladder = Ladder(proof.value, factor * scale.collapse, factor * scale.random(problem.dim))
    singles = Singles.of(scale, at, factor, problem.seed) if random_batches and not scale.balanced else None
    alternative, expectation, drawn_mean = None, None, None
    if singles is not None and scale.no_positive > LONELY:
        nonzero = singles.any_positive / (1 - scale.no_positive)
        alternative, expectation = ladder.times(nonzero), "ratio"
        if problem.reduction == "mean-nonzero":
            ladder, alternative = alternative, ladder
            # no more anchors have a positive than there are, so the optimum of the mean is below that of this one
            proof = proof.scaled(nonzero, unit=factor).above(proof.lower_bound)
            certified = proof.certified
            other = None if other is None else nonzero * other
            if scale.few is not None:
                proof, effort, at = scaled(scale.few, at)
                expectation, other, certified = "exact", None, proof.certified
                ladder = Ladder(proof.value, ladder.collapse, ladder.random_start)
            random_batches = proof
            drawn_mean = singles.mean("mean-nonzero", at)
    if problem.reduction == "mean":
        expectation = None
    batches = None if scale.batches is None else scale.batches.objective
    if isinstance(batches, Objective) and batches.expectation and at is not None:
        expectation, drawn_mean = batches.expectation, batches.drawn_mean(at, problem.seed)
        drawn_mean = drawn_mean and {key: factor * x for key, x in drawn_mean.items()}
        if expectation == "ratio" and first is scale.batches:
            random_batches = proof = proof.above(batches.least_share * proof.lower_bound)
            certified = proof.certified
    spread = singles and singles.spread(problem.reduction, at)
    value = problem.loss_value
    orbits, batch = training.orbits, training.batch
    drawn = scale.drawn or (Batches(orbits, batch, 1, finite=False) if batch is not None and scale.batches else None)
    lowest = min(ladder.optimum, ladder.optimum if other is None else other)

    def read(here: Ladder, lowest: float) -> str | None:
        if value is None:
            return None
        found = reading(value, here.optimum, here.collapse, here.random_start, problem.rounding)
        if found == "below" and value >= lowest - SAME * abs(lowest):
            return "optimum"
        return "one batch" if found == "below" and spread and value >= lowest - SPREADS * spread else found

    found = read(ladder, lowest)
    compared = None
    if alternative is not None and singles is not None:
        names = ("mean", "mean-nonzero")
        compared = {
            "reduction": names[problem.reduction == names[0]],
            "optimum": alternative.optimum,
            "collapse": alternative.collapse,
            "random_start": alternative.random_start,
            "reading": None,
        }
        if found in ("above", "below", "between", "one batch"):
            # a logged batch that has a positive at all is worth more than the mean over batches, some of which are 0
            single = alternative.times(1 / singles.any_positive if problem.reduction == names[0] else 1.0)
            fits = [fit for fit in (read(alternative, alternative.optimum), read(single, single.optimum)) if fit]
            named = [fit for fit in fits if fit in ("optimum", "collapse", "random start")]
            unsaid = [fit for fit in fits if fit == "between"] if found in ("above", "below") else []
            compared["reading"] = next(iter(named + unsaid), None)
    return LevelsReport(
        problem=understood(problem, loss=setting.written, views=training.views),
        collapse=ladder.collapse,
        random_start=ladder.random_start,
        optimum_random_batches=None if random_batches is None else random_batches.value,
        proof=replace(Proof.of(proof), certified=certified),
        effort=effort,
        loss_value=value,
        position=None if value is None else position(value, ladder.optimum, ladder.collapse),
        reading=found,
        no_positive_probability=scale.no_positive,
        missing_class_probability=None if drawn is None else drawn.lacks_a_class(),
        factor=factor,
        n_embeddings=scale.embeddings,
        n_classes=orbits.n_classes,
        instances=problem.instances,
        assumption=first.assumption or None,
        only_for=first.only_for or None,
        untrained=scale.untrained,
        optimum_many_samples=None if scale.many is None else factor * scale.many,
        remark=scale.remark or None,
        replacement=None if scale.drawn is None else "no" if scale.drawn.finite else "yes",
        optimum_other_replacement=other,
        batch_spread=spread or None,
        expectation=expectation,
        drawn_mean=drawn_mean,
        other_reduction=compared,
    )


@dataclass(frozen=True)
class Singles:
    """Random batches drawn to see how single ones differ, in the user's scale; ``any_positive`` as in the module of
    :class:`Batches`."""

    batches: Batches
    numbers: IntArray
    temperature: float
    factor: float
    any_positive: float

    @classmethod
    def of(cls, scale: Scale, cosines: FloatArray | None, factor: float, seed: int) -> Singles | None:
        if scale.drawn is None or scale.temperature is None or cosines is None:
            return None
        numbers = scale.drawn.draw(DRAWN, np.random.default_rng(seed))
        return cls(scale.drawn, numbers, scale.temperature, factor, scale.drawn.any_positive())

    def _values(self, reduction: str, cosines: FloatArray) -> FloatArray:
        mean, nonzero = self.batches.values(self.numbers, cosines, self.temperature)
        return self.factor * (nonzero if reduction == "mean-nonzero" else mean)

    def spread(self, reduction: str, cosines: FloatArray | None) -> float:
        """Standard deviation of a single batch at orbit ``cosines``."""
        if cosines is None:
            return 0.0
        values = self._values(reduction, cosines)
        spread = float(np.std(values))
        return spread if spread > ROUNDING * float(np.abs(values).max()) else 0.0

    def mean(self, reduction: str, cosines: FloatArray | None) -> dict[str, float] | None:
        """Mean over the drawn batches at orbit ``cosines``."""
        if cosines is None:
            return None
        values = self._values(reduction, cosines)
        return {"value": float(values.mean()), "standard_error": float(values.std() / values.size**0.5)}


def validate(problem: Levels) -> None:
    """InputError for what the loss knows to be wrong, without solving."""
    if problem.find is None:
        setting = Setting.of(problem)
        _ = setting.scale, setting.factor  # they may complain
    else:
        path_through(problem)


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
