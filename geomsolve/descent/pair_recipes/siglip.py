"""SigLIP as its code has it: -log sigmoid(z) of own texts and -log sigmoid(-z) of all others, z = C / tau + bias.

Per pair of a batch of B: B - 1 other texts, drawn at random (iid) or, supervised, from the pairs of other images, and
of other texts the other way round, half each.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn.functional import logsigmoid

from geomsolve.pair_losses.siglip import Siglip


def loss_of(loss: Siglip, joint: Tensor) -> Callable[[Tensor], Tensor]:
    """The loss of cosines (n_x, n_y)."""
    image, text = joint.sum(1, keepdim=True), joint.sum(0, keepdim=True)
    others = (loss.batch or max(joint.shape)) - 1
    if loss.sampling == "iid":
        far = image * text
    else:
        other_images, other_texts = (text - joint) / (1 - image), (image - joint) / (1 - text)
        far = (image * other_images + text * other_texts) / 2

    def value(cosines: Tensor) -> Tensor:
        logits = cosines / loss.temperature + loss.bias
        return -(joint * logsigmoid(logits)).sum() - others * (far * logsigmoid(-logits)).sum()

    return value
