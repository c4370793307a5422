"""SupCon on batches that always hold the same classes: only classes that meet in one are compared.

    F = sum_B c_B F_B,    F_B = sum_{a in B} q_a log( 1 + sum_{b in B, b != a} (q_b / q_a) e^{t_ab} ),

batches B that come with chance c, sum 1, q the proportions within the batch, sum 1: the population limit within each,
in which the anchor's own class counts 1, so that F is what classes cost each other.  Classes that never meet do not
push each other: the slope of F by their cosine is 0, and they may share a point however low the temperature.  Batches
{1,2,3} and {2,3,4} of equal classes: 1 and 4 merge, the three points are a regular simplex, F = log(1 + 2 e^{-3/(2
tau)}).  Derived for this project.

Symbols: B ``batches``, c ``chances``, q ``shares``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.objectives.enumerated import Enumerated

Groups = tuple[tuple[int | str, ...], ...]
"""Classes of each batch: positions counted from 1, or names."""


class FixedBatches(Enumerated):
    """See the module.  ``batches``: positions of classes, counted from 1; they come as often as ``weights`` say."""

    def __init__(
        self, orbits: Orbits, batches: Groups, temperature: float, weights: Sequence[float] | None = None
    ) -> None:
        p = orbits.proportions[orbits.index]
        member = np.zeros((len(batches), p.size))
        for row, batch in zip(member, batches, strict=True):
            row[[int(a) - 1 for a in batch]] = 1.0
        shares = member * p
        shares /= shares.sum(axis=1, keepdims=True)
        chances = np.ones(len(batches)) if weights is None else np.asarray(weights, dtype=np.float64)
        super().__init__(orbits, shares * (chances / chances.sum())[:, None], shares, shares, temperature)
        self.weights /= self.constant[:, None]
        self.constant = np.ones_like(self.constant)
        met = member.T @ member > 0
        self.unique_minimiser = bool(met.all())


def strangers(batches: Groups) -> list[str]:
    """The pairs of classes that are in no batch together, as '1 with 4'."""
    classes = sorted({a for batch in batches for a in batch}, key=lambda a: (isinstance(a, str), a))
    met = [set(batch) for batch in batches]
    pairs = combinations(classes, 2)
    return [f"{a} with {b}" for a, b in pairs if not any(a in batch and b in batch for batch in met)]


def positions(batches: Groups, names: Sequence[str]) -> Groups:
    """The batches by positions of classes, counted from 1; :class:`InputError` for what is no class or never meets."""
    place = {name: a + 1 for a, name in enumerate(names)}
    found = []
    for batch in batches:
        numbers = []
        for entry in batch:
            number = place.get(entry) if isinstance(entry, str) else entry
            if number is None and str(entry).isdecimal():
                number = int(entry)
            if number is None or not 1 <= int(number) <= len(names):
                raise InputError(
                    f"unknown class {entry!r}; give names of classes, or numbers from 1 to {len(names)}",
                    field="loss.batches",
                )
            numbers.append(int(number))
        if len(set(numbers)) < len(numbers):
            raise InputError(f"a batch names a class twice: {', '.join(map(str, batch))}", field="loss.batches")
        found.append(tuple(numbers))
    held = {number for batch in found for number in batch}
    missing = [name for name, a in place.items() if a not in held]
    if missing:
        raise InputError(
            f"class {missing[0]!r} is in no batch, so nothing is learned of it; leave it out of the classes",
            field="loss.batches",
        )
    return tuple(found)
