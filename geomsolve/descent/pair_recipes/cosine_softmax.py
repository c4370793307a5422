"""Softmax of cosines with the classifiers, as NormFace and CosFace have it: the margin is taken off the own cosine."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from geomsolve.pair_losses.cosine_softmax import CosineSoftmax


def loss_of(loss: CosineSoftmax, joint: Tensor) -> Callable[[Tensor], Tensor]:
    """The loss of cosines (n_x, n_y)."""
    share = joint.sum(0)
    log_prior = (share * share.numel()).log() if loss.prior == "props" else torch.zeros_like(share)

    def value(cosines: Tensor) -> Tensor:
        total = cosines.new_zeros(())
        for label in range(cosines.shape[1]):
            taken = torch.zeros_like(share)
            taken[label] = loss.margin
            logits = (cosines - taken) / loss.temperature
            chosen = logits[:, label] - torch.logsumexp(logits + log_prior, dim=1)
            total = total - (joint[:, label] * chosen).sum()
        return total

    return value
