"""CLIP as its code has it: cross-entropy of each image over all texts and of each text over all images, half each.

A batch of n pairs that are all different has logits C / tau and the labels 0, ..., n - 1; here pairs have chances, and
the largest batch, less the logarithm of its size, is a softmax that weighs every text by its own chance.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from geomsolve.pair_losses.clip import Clip


def loss_of(loss: Clip, joint: Tensor) -> Callable[[Tensor], Tensor]:
    """The loss of cosines (n_x, n_y)."""
    log_image, log_text = joint.sum(1).log(), joint.sum(0).log()

    def value(cosines: Tensor) -> Tensor:
        logits = cosines / loss.temperature
        per_image = torch.log_softmax(logits + log_text, dim=1) - log_text
        per_text = torch.log_softmax(logits + log_image[:, None], dim=0) - log_image[:, None]
        return -(joint * (per_image + per_text)).sum() / 2

    return value


def of_batches(loss: Clip) -> Callable[[Tensor, Tensor], Tensor]:
    """The mean cross-entropy (M,) of batches, of cosines (n_x, n_y) and the times (M, n_x, n_y) that each pair is in
    each of them; a pair that is drawn twice has two rows and two columns, alike."""

    def value(cosines: Tensor, times: Tensor) -> Tensor:
        logits = cosines / loss.temperature
        images, texts = times.sum(2), times.sum(1)
        per_image = torch.logsumexp(logits + texts.log()[:, None, :], dim=2)
        per_text = torch.logsumexp(logits + images.log()[:, :, None], dim=1)
        wrong = (images * per_image).sum(1) + (texts * per_text).sum(1)
        return (wrong / 2 - (times * logits).sum((1, 2))) / texts.sum(1)

    return value
