"""Is my loss value good?  The values that belong to total collapse, to untrained embeddings and to the optimum.

A batch of B samples in V views holds N = V B embeddings.  Per anchor, in nats:

    loss             over other embeddings           total collapse                 random unit vectors
    supcon, simclr   all N - 1                       log(N - 1)                     E log sum_{N-1} e^{c/tau}
    infonce, sum     its positive, k negatives       log(1 + k)                     E log (e^{c/tau} + sum_k ...)
    infonce, mean    the negatives averaged          log 2                          E log (e^{c/tau} + mean_k ...)
    dcl              k negatives                     log k                          E log sum_k e^{c/tau}
    sigmoid          its positive, k negatives       s(bias - 1/tau) + k s(1/tau - bias),  s(x) = log(1 + e^x)
    triplet          one of each                     margin                         E max(c - c' + margin, 0)
    align-uniform    pairs of all                    0                              2 + log E e^{-2 s (1 - c)}

Without ``negatives`` a batch supplies k = V (B - 1), for sigmoid k = B - 1; k = inf has log k subtracted.  The
optimum of supcon in balanced batches, m = N / K embeddings a class, is log((m - 1) + (N - m) e^{-K / ((K-1) tau)});
every optimum here comes from the program of ``imbalance`` with its certificate.  In random batches of supcon

    F = sum_a p_a E log( V - 1 + V sum_{j < B} e^{t_{a c_j}} ),  c_j ~ p       (V >= 2)

and with one view an anchor whose class came only once has no positive and contributes 0:

    F = sum_a p_a [ E log Y_a - (1 - p_a)^{B-1} E(log Y_a | no c_j = a) ],  Y_a = sum_{j < B} e^{t_{a c_j}}.

Symbols: B ``batch``, V ``views``, N ``n_embeddings``, K ``n_classes``, k ``negatives``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf, lgamma, log, log1p
from typing import ClassVar

import numpy as np

from geomsolve.errors import InputError, nearest
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.types import FloatArray
from geomsolve.losses import REGISTRY, Loss, make_loss
from geomsolve.objectives.base import Objective
from geomsolve.objectives.expectation import LogExpectation
from geomsolve.objectives.logsum import LogSum
from geomsolve.objectives.one_view import OneView
from geomsolve.objectives.random_start import random_hinge, random_log_sum, random_mean
from geomsolve.objectives.sampling import negative_distribution
from geomsolve.proof.certificate import Certificate, certify
from geomsolve.questions.levels import INSTANCE_NAMES, Levels
from geomsolve.report import Report, understood
from geomsolve.solvers.choose import refuse_oversize, solve_objective

LOSSES = ("supcon", *INSTANCE_NAMES, "infonce", "dcl", "triplet", "align-uniform", "sigmoid")

SAME = 1e-3
"""A loss value this close to a level, relative to it, is said to be that level."""


@dataclass(frozen=True)
class Optimum:
    """A program whose optimum, times ``times`` plus ``plus``, is a level."""

    objective: Objective
    orbits: Orbits
    times: float = 1.0
    plus: float = 0.0


@dataclass(frozen=True)
class Scale:
    """Levels of one loss in nats an anchor; ``random`` takes a dimension; ``balanced`` None if it makes no difference.

    ``batches`` is None where every sample is its own class, so that batches differ in nothing.
    """

    collapse: float
    random: Callable[[int], float]
    balanced: Optimum | None
    batches: Optimum | None


def _softplus(x: FloatArray | float) -> FloatArray:
    return np.logaddexp(0.0, x)


def _supcon(loss: Loss, problem: Levels, orbits: Orbits) -> Scale:
    batch, views = _batch(problem), problem.views
    temperature = loss.parameters()["temperature"]
    n_embeddings = batch * views
    random = partial(random_log_sum, [(1.0, n_embeddings - 1)], temperature)
    supcon = REGISTRY["supcon"](temperature=temperature)  # type: ignore[call-arg]
    one_batch = supcon.replace(full_batch=True)
    per_class = n_embeddings / orbits.n_classes
    balanced = None
    if problem.classes or problem.instances:
        if orbits.n_classes > batch:
            raise InputError(
                f"a batch of {batch:,} samples cannot hold {orbits.n_classes:,} classes equally; for random batches "
                f"give the proportions, --props {orbits.n_classes}*1/{orbits.n_classes}",
                field="classes",
            )
        if per_class <= 1:
            raise InputError("with one view and one sample a class no anchor has a positive", field="views")
        counted = replace(orbits, counts=np.full(orbits.n_orbits, per_class))
        balanced = Optimum(one_batch.objective(counted), counted)
    batches = None
    lonely = no_positive_probability(orbits, batch, views)
    if not problem.instances:
        drawn = supcon.replace(batch=batch, views=views).objective(orbits) if views > 1 else None
        batches = Optimum(drawn or OneView(orbits, batch, temperature), orbits)
    if balanced is None:  # anchors without a positive contribute 0, whatever the embeddings
        plain = random
        return Scale((1 - lonely) * log(n_embeddings - 1), lambda dim: (1 - lonely) * plain(dim), None, batches)
    return Scale(log(n_embeddings - 1), random, balanced, batches)


def _contrast(loss: Loss, problem: Levels, orbits: Orbits) -> Scale:
    """InfoNCE and its decoupled form."""
    taken = loss.parameters()
    temperature, mean = taken["temperature"], taken.get("form") == "mean"
    base = 1.0 if loss.name == "infonce" else 0.0
    counted = taken["negatives"]
    if counted == inf and problem.batch is None:
        objective = Optimum(loss.objective(orbits), orbits)
        inside = partial(_limit_random, temperature, base if mean else 0.0)
        return Scale(log1p(1) if mean and base else 0.0, inside, None, objective)
    drawn = problem.batch is not None and counted == inf
    k = problem.views * (_batch(problem) - 1) if drawn else int(counted)
    weight = 1 / k if mean else 1.0
    terms = [(weight, k)] + ([(1.0, 1)] if base else [])
    if problem.instances:
        others = orbits.others * (k * weight / (orbits.n_classes - 1))
        mass = orbits.sizes * orbits.proportions
        every = LogSum(others, np.full(mass.shape, base), mass, 1 / temperature, unique_minimiser=False)
        balanced, batches = Optimum(every, orbits), None
    else:
        chance, own = negative_distribution(orbits, taken["sampling"])
        balanced = None
        batches = Optimum(
            LogExpectation(
                chance,
                own,
                orbits.sizes * orbits.proportions,
                base=base,
                factor=problem.views * weight if drawn else weight,
                negatives=_batch(problem) - 1 if drawn else k,
                scale=1 / temperature,
                unique_minimiser=False,
            ),
            orbits,
        )
    return Scale(log(base + k * weight), partial(random_log_sum, terms, temperature), balanced, batches)


def _limit_random(temperature: float, offset: float, dim: int) -> float:
    """log(offset + E e^{c/tau}) - E log of the positive's own e^{c/tau}, which is 0; with an offset it stays random."""
    mean = random_mean(lambda c: np.exp((c - 1) / temperature), dim, 1 / temperature)
    if not offset:
        return log(mean) + 1 / temperature
    return random_mean(lambda c: np.logaddexp(c / temperature, log(mean) + 1 / temperature), dim, 1 / temperature)


def _triplet(loss: Loss, problem: Levels, orbits: Orbits) -> Scale:
    margin = loss.parameters()["margin"]
    return Scale(margin, partial(random_hinge, margin), None, Optimum(loss.objective(orbits), orbits))


def _align_uniform(loss: Loss, problem: Levels, orbits: Orbits) -> Scale:
    s = loss.parameters()["uniform_t"]

    def random(dim: int) -> float:
        return 2 + log(random_mean(lambda c: np.exp(-2 * s * (1 - c)), dim, 2 * s))

    return Scale(0.0, random, None, Optimum(loss.objective(orbits), orbits))


def _sigmoid(loss: Loss, problem: Levels, orbits: Orbits) -> Scale:
    taken = loss.parameters()
    scale, bias, k = 1 / taken["temperature"], taken["bias"], _batch(problem) - 1
    positive = float(_softplus(bias - scale))

    def random(dim: int) -> float:
        near = random_mean(lambda c: _softplus(bias - scale * c), dim, scale)
        return near + k * random_mean(lambda c: _softplus(scale * c - bias), dim, scale)

    optimum = Optimum(loss.objective(orbits), orbits, times=k, plus=positive)
    return Scale(positive + k * float(_softplus(scale - bias)), random, None, optimum)


_SCALES: dict[str, Callable[[Loss, Levels, Orbits], Scale]] = {
    **dict.fromkeys(("supcon", *INSTANCE_NAMES), _supcon),
    **dict.fromkeys(("infonce", "dcl"), _contrast),
    "triplet": _triplet,
    "align-uniform": _align_uniform,
    "sigmoid": _sigmoid,
}


def _batch(problem: Levels) -> int:
    if problem.batch is None:
        raise InputError(f"{problem.loss.name} compares within a batch; give its size", field="batch")
    return problem.batch


def no_positive_probability(orbits: Orbits, batch: int, views: int) -> float:
    """How likely an anchor in a random batch is alone in its class: sum_a p_a (1 - p_a)^(B-1) at one view."""
    if views > 1:
        return 0.0
    p = orbits.proportions
    return float(np.sum(orbits.sizes * p * (1 - p) ** (batch - 1)))


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


def reach(optimum: Optimum, solver: str, tolerance: float) -> Certificate:
    """The optimum with its proof: the regular simplex where classes are equal and that proves optimal, else solved."""
    orbits = optimum.orbits
    if orbits.n_orbits == 1 and optimum.objective.decides:
        simplex = np.full((1, 1), simplex_cosine(orbits.n_classes))
        proof = certify(optimum.objective, orbits, simplex, tolerance=tolerance)
        if proof.certified:
            return proof
    return solve_objective(optimum.objective, orbits, solver=solver, tolerance=tolerance).certificate


@dataclass(frozen=True)
class LevelsReport(Report):
    """Levels in the user's own scale: times ``factor`` (temperature over base temperature, and anchors for sums).

    ``collapse``, ``random_start`` (unit vectors in ``dim`` dimensions), ``optimum`` with ``lower_bound`` and ``gap``;
    ``optimum_random_batches`` is None where every sample is its own class.  ``position`` of ``loss_value``: 0 at the
    optimum, 1 at collapse.  ``reading`` is 'optimum', 'collapse', 'random start', 'between', 'above' or 'below'.
    """

    command: ClassVar[str] = "levels"

    collapse: float
    random_start: float
    optimum: float
    optimum_random_batches: float | None
    lower_bound: float
    gap: float
    certified: bool
    loss_value: float | None
    position: float | None
    reading: str | None
    no_positive_probability: float
    missing_class_probability: float | None
    factor: float
    n_embeddings: int | None
    n_classes: int
    instances: bool

    @property
    def exit_code(self) -> int:
        return 0 if self.certified else 1


def levels(problem: Levels) -> LevelsReport:
    """Answer the question of :class:`Levels`."""
    loss, orbits, scale, factor = _understood(problem)
    name = problem.loss.name
    first = scale.balanced or scale.batches
    assert first is not None
    proof = reach(first, problem.solver, problem.tolerance)
    proofs = [proof]
    drawn = None
    if scale.batches is not None:
        other = proof if first is scale.batches else reach(scale.batches, problem.solver, problem.tolerance)
        proofs.append(other)
        drawn = factor * (scale.batches.plus + scale.batches.times * other.value)
    best = factor * (first.plus + first.times * proof.value)
    collapse, random = factor * scale.collapse, factor * scale.random(problem.dim)
    value = problem.loss_value
    width = collapse - best
    supcon = name == "supcon"
    batch = problem.batch
    missing = missing_class_probability(orbits, batch) if batch is not None and not problem.instances else None
    taken = {"name": name, **{key: x for key, x in loss.parameters().items() if key != "full_batch"}}
    return LevelsReport(
        problem=understood(problem, loss=taken),
        collapse=collapse,
        random_start=random,
        optimum=best,
        optimum_random_batches=drawn,
        lower_bound=best - factor * first.times * proof.gap,
        gap=factor * first.times * proof.gap,
        certified=all(p.certified for p in proofs),
        loss_value=value,
        position=None if value is None or width <= 0 else (value - best) / width,
        reading=None if value is None else reading(value, best, collapse, random),
        no_positive_probability=no_positive_probability(orbits, batch, problem.views) if supcon and batch else 0.0,
        missing_class_probability=missing,
        factor=factor,
        n_embeddings=None if batch is None else batch * problem.views,
        n_classes=orbits.n_classes,
        instances=problem.instances,
    )


def validate(problem: Levels) -> None:
    """InputError for what the loss knows to be wrong, without solving."""
    _understood(problem)


def _understood(problem: Levels) -> tuple[Loss, Orbits, Scale, float]:
    """The loss, its classes, its levels and what they are multiplied by."""
    name = problem.loss.name
    if name not in _SCALES:
        raise InputError(f"levels of the loss {name!r} are not known; {nearest(name, LOSSES)}", field="loss.name")
    loss = make_loss(problem.registered.name, problem.registered.parameters)
    orbits = _classes(problem, loss)
    return loss, orbits, _SCALES[name](loss, problem, orbits), _factor(problem, loss)


def _classes(problem: Levels, loss: Loss) -> Orbits:
    """The classes of the problem; without any given, one for every sample that an anchor sees."""
    name = problem.loss.name
    if not problem.instances:
        if name in INSTANCE_NAMES:
            raise InputError(
                f"{name} takes every sample for a class of its own; leave the classes out, or ask --loss supcon",
                field="loss.name",
            )
        orbits = Orbits.of(problem.proportions, problem.class_counts)
        refuse_oversize(orbits.n_orbits, field=problem.source)
        return orbits
    if name == "supcon":
        raise InputError(
            "supcon needs classes: give --classes or --props; where every sample is its own class it is --loss simclr",
            field="classes",
        )
    negatives = loss.parameters().get("negatives", inf)
    if negatives < inf:
        count = int(negatives) + 1
    elif problem.batch is not None:
        count = problem.batch
    else:
        raise InputError(
            f"give a batch size, or the classes, or, for {name}, negatives if it takes them", field="batch"
        )
    return Orbits(np.array([count]), np.array([1 / count]), np.zeros(count, dtype=np.int64))


def _factor(problem: Levels, loss: Loss) -> float:
    factor = 1.0
    if problem.base_temperature is not None:
        temperature = loss.parameters().get("temperature")
        if temperature is None:
            raise InputError(f"the loss {loss.name} has no temperature to divide by it", field="base_temperature")
        factor *= temperature / problem.base_temperature
    if problem.reduction == "sum":
        factor *= _batch(problem) * (1 if loss.name == "sigmoid" else problem.views)
    return factor


def reading(value: float, optimum: float, collapse: float, random: float) -> str:
    """Which level a loss value is, within :data:`SAME`, or between or beside which it lies."""

    def at(level: float) -> bool:
        return abs(value - level) <= SAME * max(abs(level), 0.05 * abs(collapse - optimum))

    named: dict[str, float] = {"optimum": optimum, "collapse": collapse, "random start": random}
    close: list[tuple[float, str]] = [(abs(value - level), name) for name, level in named.items() if at(level)]
    if close:
        return min(close)[1]
    if value < optimum:
        return "below"
    return "between" if value < collapse else "above"
