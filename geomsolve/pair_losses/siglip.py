"""SigLIP: every image and text of a batch are told to belong together or not, one by one.

    F = sum_ij pi_ij log(1 + e^{-z_ij}) + sum_ij nu_ij log(1 + e^{z_ij}),    z = C/tau + bias,

per anchor, in a batch of B pairs.  The bias is added, as in the published code, which starts at 1/tau = 10, bias = -10.
nu has mass B - 1: negatives are texts of other pairs, sampled

    iid          nu_ij = (B - 1) p_i q_j
    supervised   from pairs of another image (and, the other way round, of another text), each way half:
                 nu_ij = (B - 1)/2 [ p_i (q_j - pi_ij)/(1 - p_i) + q_j (p_i - pi_ij)/(1 - q_j) ]

For n matched pairs of one sample each, all in one batch, the second is pi = I/n, nu = (1 1' - I)/n.

Symbols: pi, p, q ``joint``, tau ``temperature``, B ``batch``, nu ``far``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geomsolve.gram.types import FloatArray
from geomsolve.objectives.cross import CrossObjective, Joint, Softplus
from geomsolve.objectives.ideal import Ideal, log_ratio
from geomsolve.pair_losses.base import PairLoss, register
from geomsolve.pair_losses.parameters import BATCH, BIAS, NEGATIVES, TEMPERATURE
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class Siglip(PairLoss):
    """SigLIP; see the module."""

    name: ClassVar[str] = "siglip"
    summary: ClassVar[str] = "pairwise sigmoid over the batch, per anchor; its published start is --bias -10 -t 0.1"
    source: ClassVar[str] = "Zhai et al. 2023 (SigLIP)"
    also: ClassVar[tuple[str, ...]] = ("sigmoid-language-image", "siglip2")

    temperature: float = parameter(TEMPERATURE, 0.1)
    bias: float = parameter(BIAS, 0.0)
    batch: int | None = parameter(BATCH, None)
    sampling: str = parameter(NEGATIVES, "supervised")

    def among(self, joint: Joint) -> Self:
        return self if self.batch is not None else self.replace(batch=self._pairs(joint))

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        return self.parameters()

    def notes(self) -> tuple[str, ...]:
        if self.bias < 1:
            return ()
        return (
            f"the bias is added, as in the published code, which starts at -10; with {self.bias:g} every negative pair "
            f"at a right angle costs {float(np.logaddexp(0, self.bias)):.3g} nats",
        )

    def _pairs(self, joint: Joint) -> int:
        """Pairs in a batch, unless given: as many as there are points on a side."""
        return max(joint.first_point.size, joint.second_point.size)

    def objective(self, joint: Joint) -> CrossObjective:
        counts = joint.paired.counts
        near, far = joint.weights * counts, self.negatives(joint) * counts
        strict = "everywhere" if np.all((near + far > 0) | (counts == 0)) else ""
        return Softplus(near, far, 1 / self.temperature, self.bias, strict)

    def ideal(self, joint: Joint) -> Ideal | None:
        near, far, counts = joint.weights, self.negatives(joint), joint.paired.counts
        if np.any((near + far == 0) & (counts > 0)):
            return None  # some pairs may have any logit
        logits = log_ratio(near, far, counts)
        cost = near * np.logaddexp(0, np.where(near > 0, -logits, 0.0))
        charge = far * np.logaddexp(0, np.where(far > 0, logits, 0.0))
        return Ideal(logits, float(np.sum(counts * (cost + charge))), self.bias)

    def negatives(self, joint: Joint) -> FloatArray:
        """nu (m_x, m_y + 1) of one pair of each kind."""
        each = (self.batch or self._pairs(joint)) - 1
        if self.sampling == "iid":
            return each * joint.product
        there, back = _from_others(joint), joint.mirror.paired.flip(_from_others(joint.mirror))
        return np.asarray(each / 2 * (there + back))


def _from_others(joint: Joint) -> FloatArray:
    """q_j (p_i - pi_ij)/(1 - q_j) of one pair of each kind (m_x, m_y + 1); 0 where there is no other y.

    Where several given points are one, each has its part of the weights, and is another than the others.  What is not
    j is added up: as a difference from the whole it has few digits where one pair holds almost everything.
    """
    paired, one, two = joint.paired, joint.first_given[:, None], joint.second_given
    alike = joint.spread(np.tile(two, (paired.n_first, 1)))
    pi = np.divide(joint.weights / one, alike, out=np.zeros_like(joint.weights), where=alike > 0)
    q = joint.second / two
    rest = _but_one(q, paired.second * two)
    odds = np.divide(q, rest, out=np.zeros_like(q), where=rest > 0)
    return joint.spread(np.tile(odds, (paired.n_first, 1))) * _but_one(pi, paired.per_point * alike) * one * alike


def _but_one(each: FloatArray, counts: NDArray[np.number[Any]]) -> FloatArray:
    """(..., n) what is left of the sum over the last axis of ``counts`` times ``each`` (..., n) without one of each."""
    total = np.asarray(each * counts)
    before, after = np.cumsum(total, axis=-1), np.cumsum(total[..., ::-1], axis=-1)[..., ::-1]
    left: FloatArray = np.asarray(each * np.maximum(counts - 1, 0))
    left[..., 1:] += before[..., :-1]
    left[..., :-1] += after[..., 1:]
    return left
