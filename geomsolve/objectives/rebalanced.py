"""Who counts how much in a supervised contrastive loss: anchors, denominators and margins by class.

    F = sum_a w_a log( v_aa + sum_{b != a} v_ab e^{(G_ab - 1 + m_ab)/tau} )

    sampler      classes drawn with chance q_a proportional to p_a^alpha  (1: as they are, .5: square root, 0: balanced)
    anchors      w_a proportional to q_a c_a, sum 1, with class weights c:   plain 1,  balanced 1 / q_a,
                 effective number (1 - beta) / (1 - beta^{n_a})   (Cui et al. 2019)
    denominator  v_ab = v_b proportional to q_b (plain) or 1 (balanced: every class averaged, as in balanced
                 contrastive losses, Zhu et al. 2022), times q_b^eta (logit adjustment, Menon et al. 2021)
    margins      m_ab added to the cosine of a pair

Each is a positive combination of logarithms of sums of exponentials, so F stays convex, and the certificate is the
same.  Derived for this project.

Symbols: p ``proportions``, q ``drawn``, w ``anchors``, v ``denominators``, alpha ``sampler``, eta ``logit_adjust``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray

REBALANCED = ("sampler", "anchor_weights", "denominator", "logit_adjust", "pair_margin")
"""What may be changed, by name."""

PerClass = str | tuple[float, ...]
"""A rule by name, or one number a class."""


Margins = tuple[tuple[float, ...], ...]
"""A margin for each ordered pair of classes, in cosines."""


@dataclass(frozen=True)
class Rebalance:
    """What is changed, class by class; None or 0 where nothing is.  See the module."""

    sampler: float | None = None
    anchor_weights: PerClass | None = None
    denominator: PerClass | None = None
    logit_adjust: float | None = None
    pair_margin: Margins | None = None

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        """What is changed as checkers of proofs know it, numbers of each class as tuples; None where they do not."""
        listed = {"anchor": self.anchor_weights, "compared": self.denominator}
        numbers = {key: given for key, given in listed.items() if isinstance(given, tuple)}
        if self.pair_margin is not None or any(min(given) <= 0 for given in numbers.values()):
            return None
        rules = {"anchors": self.anchor_weights, "denominator": self.denominator}
        named = {key: rule for key, rule in rules.items() if isinstance(rule, str) and rule != "plain"}
        powers = {"sampler": self.sampler, "logit_adjust": self.logit_adjust}
        return {**named, **{key: x for key, x in powers.items() if x is not None}, **numbers}

    def columns(self, n_classes: int) -> FloatArray | None:
        """What tells classes of equal proportion apart (K, q): what was given class by class; None if nothing was.

        Raises :class:`InputError` unless every list has one number a class, and the margins a row and a column.
        """
        columns = []
        for name in ("anchor_weights", "denominator"):
            rule = getattr(self, name)
            if rule is not None and not isinstance(rule, str):
                columns.append(_given(rule, n_classes, name))
        if self.pair_margin is not None:
            if len(self.pair_margin) != n_classes:
                raise InputError(
                    f"{len(self.pair_margin)} rows for {n_classes:,} classes; give one a class",
                    field="loss.pair_margin",
                )
            columns.append(np.arange(n_classes, dtype=np.float64))  # each class has margins of its own
        return np.column_stack(columns) if columns else None

    def margins(self, orbits: Orbits) -> FloatArray:
        """m (m, m), the margin of the anchor's orbit (row) against each other; every class an orbit of its own."""
        if self.pair_margin is None:
            return np.zeros((orbits.n_orbits, orbits.n_orbits))
        first = np.unique(orbits.index, return_index=True)[1]
        by_class: FloatArray = np.asarray(self.pair_margin, dtype=np.float64)
        return by_class[np.ix_(first, first)]

    def by_orbit(self, orbits: Orbits) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, w and v of one class of each orbit (m,), whose classes must be alike in all of them."""
        p = orbits.proportions[orbits.index]
        counts = None if orbits.counts is None else orbits.counts[orbits.index]
        first = np.unique(orbits.index, return_index=True)[1]
        return self.drawn(p)[first], self.anchors(p, counts)[first], self.denominators(p)[first]

    def drawn(self, proportions: FloatArray) -> FloatArray:
        """q (K,), sum 1: how often each class is drawn."""
        if self.sampler is None:
            return proportions
        return _shares(proportions**self.sampler)

    def anchors(self, proportions: FloatArray, counts: ArrayLike | None) -> FloatArray:
        """w (K,), sum 1."""
        q = self.drawn(proportions)
        return _shares(q * self._class_weights(q, counts))

    def _class_weights(self, q: FloatArray, counts: ArrayLike | None) -> FloatArray:
        rule = self.anchor_weights
        if rule is None:
            return np.ones_like(q)
        if rule == "balanced":
            return 1 / q
        if isinstance(rule, str):
            if counts is None:
                raise InputError(
                    "the effective number is of samples; give the classes by counts", field="loss.anchor_weights"
                )
            beta = float(rule.partition(":")[2])
            weights: FloatArray = (1 - beta) / -np.expm1(np.asarray(counts, dtype=np.float64) * np.log(beta))
            return weights
        return _given(rule, q.size, "anchor_weights")

    def denominators(self, proportions: FloatArray) -> FloatArray:
        """v (K,), sum 1."""
        q = self.drawn(proportions)
        rule = self.denominator
        if rule is None or rule == "plain":
            base = q
        elif rule == "balanced":
            base = np.ones_like(q)
        else:
            assert not isinstance(rule, str)
            base = _given(rule, q.size, "denominator")
        return _shares(base * q ** (self.logit_adjust or 0.0))


def _shares(weights: FloatArray) -> FloatArray:
    shares: FloatArray = weights / weights.sum()
    return shares


def _given(numbers: Sequence[float], n_classes: int, field: str) -> FloatArray:
    if len(numbers) != n_classes:
        raise InputError(f"{len(numbers)} numbers for {n_classes:,} classes; give one a class", field=f"loss.{field}")
    return np.asarray(numbers, dtype=np.float64)
