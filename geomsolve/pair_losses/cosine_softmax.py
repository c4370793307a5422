"""Softmax of cosines between features and classifiers, both of unit length: NormFace, CosFace, logit adjustment.

    F = sum_ij pi_ij [ -(C_ij - m)/tau + log( r_j e^{(C_ij - m)/tau} + sum_{l != j} r_l e^{C_il/tau} ) ]

over features x_i of the class (or label) j; without label noise pi = diag p.  r = 1 is NormFace (``prior`` uniform),
r = p logit-adjusted (``prior`` props, r in multiples of its mean); m > 0 is CosFace.

Symbols: pi, p ``joint``, tau ``temperature``, m ``margin``, r ``prior``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.objectives.cross import Attraction, CrossObjective, Joint, LogRows, Total
from geomsolve.objectives.own_rows import OwnRows, is_clean
from geomsolve.pair_losses.base import PairLoss, register
from geomsolve.pair_losses.parameters import MARGIN, PRIOR, TEMPERATURE
from geomsolve.registry import parameter

MOST_TERMS = 10_000_000
"""Terms of a margin's logarithms: with label noise there is a row for each kind of pair."""


@register
@dataclass(frozen=True)
class CosineSoftmax(PairLoss):
    """Softmax of cosines; see the module."""

    name: ClassVar[str] = "cosine-softmax"
    summary: ClassVar[str] = "NormFace; with --margin CosFace; with --prior props logit-adjusted"
    source: ClassVar[str] = "Wang et al. 2017 (NormFace), Wang et al. 2018 (CosFace), Menon et al. 2021 (prior)"
    also: ClassVar[tuple[str, ...]] = (
        "normface",
        "norm-softmax",
        "normalized-softmax",
        "cosface",
        "large-margin-cosine",
        "am-softmax",
        "additive-margin-softmax",
    )
    first_noun: ClassVar[str] = "feature"
    second_noun: ClassVar[str] = "classifier"

    temperature: float = parameter(TEMPERATURE, 0.1)
    margin: float = parameter(MARGIN, 0.0)
    prior: str = parameter(PRIOR, "uniform")

    @property
    def merges(self) -> bool:
        """With a margin a class is told from another that has the same features."""
        return self.margin == 0

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return self.parameters()

    def objective(self, joint: Joint) -> CrossObjective:
        scale, paired, margin = 1 / self.temperature, joint.paired, self.margin
        pi = joint.weights * paired.per_point
        classes = paired.second * joint.second_given
        each = joint.second_given.astype(np.float64)
        if self.prior == "props":
            each = joint.second * classes.sum()
        prior = joint.spread(np.tile(each, (paired.n_first, 1)))
        pull = Attraction(scale * pi * paired.first[:, None])
        first = np.where(paired.counts > 0, prior, 0.0)
        rest = paired.per_point * first
        if is_clean(joint):
            own = np.full(paired.n_first, paired.n_second)
            weights = rest.copy()
            weights[:, -1] *= np.exp(-scale * margin)
            if weights[:, -1].all():
                return Total(OwnRows(joint.first * paired.first, weights, scale, own), constant=scale * margin)
        if margin == 0:
            rows = LogRows(joint.first * paired.first, rest, scale)
            return Total(pull, rows, constant=scale)
        of, label = np.nonzero(pi > 0)
        refuse_many(of.size * pi.shape[1], of.size)
        weights = rest[of]
        weights[np.arange(of.size), label] += first[of, label] * np.expm1(-scale * margin)
        rows = LogRows((pi * paired.first[:, None])[of, label], weights, scale, row=of)
        return Total(pull, rows, constant=scale * (1 + margin))


def refuse_many(terms: int, kinds: int) -> None:
    """Raise :class:`InputError` for more terms than are held at once: with a margin each kind of pair has its own."""
    if terms > MOST_TERMS:
        raise InputError(
            f"a margin with {kinds:,} kinds of pairs that have a weight is too much; leave the margin out, or the "
            "noise",
            field="loss.margin",
        )
