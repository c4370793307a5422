"""Class-averaged denominators in random batches: every class that is there counts once, however often.

A batch of B samples drawn with replacement, an anchor of class a with another view of its own, or else counted only
where its class came again.  Each class b among the
other B - 1 samples adds e^{t_ab} once, the own class 1:

    F = sum_a p_a E log( 1 + sum over b != a that are there of e^{t_ab} ).

Classes of one orbit are alike, so what matters is how many of each orbit are there.  By Poisson numbers N_b of mean
l_b = p_b (B - 1), conditioned on their sum,

    P(j_h of the n_h classes of each orbit h) = [z^{B-1}] prod_h C(n_h, j_h) e^{-l_h (n_h - j_h)} q_h(z)^{j_h} / norm,

q_h(z) = sum_{i >= 1} P(N_h = i) z^i: sums of positive numbers, so that nothing cancels.  All j are enumerated.

Symbols: B ``batch``, j ``present``, q_h ``there``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, prod

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.enumerated import Enumerated

MOST_PRESENT = 20_000
"""Ways in which classes may be there, over all kinds of anchors, up to which they are enumerated."""

LARGEST_BATCH = 4096
"""Largest batch."""

NEVER = 1e-18
"""Probability below which a way is left out."""


class PresentClasses(Enumerated):
    """See the module.  Raises :class:`InputError` for too many classes to be enumerated."""

    unique_minimiser = True

    def __init__(self, orbits: Orbits, batch: int, temperature: float, *, lonely: bool = False) -> None:
        self.scale = 1 / temperature
        kinds = [orbits.others[g].astype(np.int64) for g in range(orbits.n_orbits)]
        ways = sum(prod(int(n) + 1 for n in others) for others in kinds)
        if ways > MOST_PRESENT:
            raise InputError(
                f"which classes a batch holds is enumerated, in at most {MOST_PRESENT:,} ways, and here are {ways:,}; "
                "take fewer classes, or more of equal size, or leave out the batch (the population limit)",
                field="loss.batch",
            )
        if batch > LARGEST_BATCH:
            raise InputError(
                f"at most {LARGEST_BATCH:,} samples; larger batches hold nearly every class", field="loss.batch"
            )
        rows = [
            (float(orbits.sizes[g] * orbits.proportions[g]) * chance, 1.0, g, present)
            for g, others in enumerate(kinds)
            for present, chance in presences(others, orbits.proportions, g, batch - 1, lonely)
        ]
        mass, constant, anchor, weights = zip(*rows, strict=True)
        self._hold(np.array(mass), np.array(constant), np.array(anchor), np.array(weights, dtype=np.float64))


def presences(
    others: IntArray, proportions: FloatArray, g: int, draws: int, lonely: bool
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every (j_1, ..., j_m) of the ``others`` (m,) and its probability, for an anchor of orbit ``g`` and ``draws``;
    ``lonely``: and that its own class came again."""
    from scipy.stats import poisson  # here, since only these batches need it

    numbers = np.arange(draws + 1)
    every = [poisson.pmf(numbers, p * draws) for p in proportions]
    tables = []
    for n, pmf in zip(others.tolist(), every, strict=True):
        there = pmf.copy()
        there[0] = 0.0
        power = np.zeros(draws + 1)
        power[0] = 1.0
        powers = [power]
        for _ in range(n):
            powers.append(np.convolve(powers[-1], there)[: draws + 1])
        tables.append([comb(n, j) * pmf[0] ** (n - j) * powers[j] for j in range(n + 1)])
    norm = float(poisson.pmf(draws, draws))
    own = every[g].copy()
    if lonely:
        own[0] = 0.0

    def extend(h: int, so_far: FloatArray, present: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
        last = h == len(tables) - 1
        for j, table in enumerate(tables[h]):
            if last:
                chance = float(so_far @ table[::-1]) / norm
                if chance > NEVER:
                    yield (*present, j), chance
            else:
                longer = np.convolve(so_far, table)[: draws + 1]
                if longer.any():
                    yield from extend(h + 1, longer, (*present, j))

    yield from extend(0, own, ())
