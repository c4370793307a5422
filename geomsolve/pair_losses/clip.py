"""CLIP: each image picks its text out of all texts, each text its image.

    F = - <pi, C>/tau + (1/2) sum_i p_i log sum_j q_j e^{C_ij/tau} + (1/2) sum_j q_j log sum_i p_i e^{C_ij/tau}

in the limit of large batches (less the logarithm of their size); a batch of B pairs drawn from pi, exactly, in
``objectives/cross_batches.py``.  F is never below - I(X; Y), the mutual information of the pairs.

Symbols: pi, p, q ``joint``, tau ``temperature``, B ``batch``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.objectives.cross import Attraction, CrossObjective, Joint, LogRows, Total
from geomsolve.objectives.cross_batches import BatchRows
from geomsolve.objectives.ideal import Ideal, log_ratio
from geomsolve.objectives.own_rows import OwnRows, is_clean
from geomsolve.pair_losses.base import PairLoss, register
from geomsolve.pair_losses.parameters import BATCH, TEMPERATURE
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class Clip(PairLoss):
    """CLIP; see the module."""

    name: ClassVar[str] = "clip"
    summary: ClassVar[str] = "symmetric softmax over the batch; without --batch the limit of large ones less log B"
    source: ClassVar[str] = "Radford et al. 2021 (CLIP)"
    also: ClassVar[tuple[str, ...]] = ("open-clip",)

    temperature: float = parameter(TEMPERATURE, 0.1)
    batch: int | None = parameter(BATCH, None)

    @property
    def draws_batches(self) -> bool:
        return self.batch is not None

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return {"temperature": self.temperature} if self.batch is None else None

    def gap_price(self, pairs: int, gap: float) -> float | None:
        """The gap scales the margin between own and other cosines: n/(n - 1) (1 - g^2/4)."""
        if self.batch is not None:
            return None

        def at(g: float) -> float:
            margin = pairs / (pairs - 1) * (1 - g * g / 4)
            return float(np.logaddexp(0, np.log(pairs - 1) - margin / self.temperature))

        return at(gap) - at(0.0)

    def objective(self, joint: Joint) -> CrossObjective:
        scale, paired = 1 / self.temperature, joint.paired
        pull = Attraction(scale * joint.weights * paired.counts)
        if self.batch is not None:
            sides = (BatchRows(joint, scale, self.batch), BatchRows(joint.mirror, scale, self.batch, paired))
            return Total(pull, *sides, constant=scale, strict="up to a constant")
        if is_clean(joint):
            ones, twos = (np.full(n, n) for n in (paired.n_first, paired.n_second))
            towards = OwnRows(joint.first * paired.first / 2, chances(joint), scale, ones)
            back = OwnRows(joint.second * paired.second / 2, chances(joint.mirror), scale, twos, paired=paired)
            return Total(towards, back, strict="up to a constant")
        rows = LogRows(joint.first * paired.first / 2, chances(joint), scale)
        columns = LogRows(joint.second * paired.second / 2, chances(joint.mirror), scale, paired=paired)
        return Total(pull, rows, columns, constant=scale, strict="up to a constant")

    def ideal(self, joint: Joint) -> Ideal:
        logits = log_ratio(joint.weights, joint.product, joint.paired.counts)
        if self.batch is not None:
            ended = Ideal(logits, 0.0, None).ended
            return Ideal(logits, self.objective(joint).value(self.temperature * ended), None)
        mass = joint.weights * joint.paired.counts
        return Ideal(logits, -float(np.sum(mass * np.where(mass > 0, logits, 0.0))), None)


def chances(joint: Joint) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """(m_x, m_y + 1): the share q of all y of each kind that stand opposite a given x."""
    return joint.paired.per_point * joint.spread(np.tile(joint.second, (joint.paired.n_first, 1)))
