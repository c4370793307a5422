"""What a loss of two sides would do if logits were free: the ideal logits, and the loss they give.

No unit vectors do better than the ``floor``; they reach it iff their logits are ideal.  CLIP wants the pointwise mutual
information, log pi_ij / p_i q_j, up to a constant that it does not see; SigLIP wants log pi_ij / nu_ij.  A pair without
weight asks for a logit without end: the floor then is only approached.

Symbols: L ``logits``, pi and nu as in ``pair_losses``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.gram.types import FloatArray

ENDLESS = 1e4
"""A logit that stands for one without end: e to its negative is 0."""


@dataclass(frozen=True, eq=False)
class Ideal:
    """``logits`` (m_x, m_y + 1) = C/tau + ``bias`` of one pair of each kind, infinite where a pair wants that, 0 where
    there is none of that kind.  ``floor`` in nats.  ``bias`` None: logits are C/tau plus any constant."""

    logits: FloatArray
    floor: float
    bias: float | None

    @property
    def finite(self) -> bool:
        """Whether vectors can have these logits at all."""
        return bool(np.all(np.isfinite(self.logits)))

    @property
    def ended(self) -> FloatArray:
        """The logits with numbers for those without end."""
        return np.clip(self.logits, -ENDLESS, ENDLESS)


def log_ratio(over: FloatArray, under: FloatArray, counts: FloatArray) -> FloatArray:
    """log over / under of each kind of pair; 0 of kinds of which there are none (``counts`` 0)."""
    present = counts > 0
    with np.errstate(divide="ignore"):
        return np.log(np.where(present, over, 1.0)) - np.log(np.where(present, under, 1.0))
