"""The batch losses as their sources define them, on single samples: no classes collapse, nothing is averaged out.

Each function takes cosines of unit vectors and returns one loss an anchor (or a batch: nt_xent), in nats:

    supcon       - 1/|P(i)| sum_{p in P(i)} log( e^{s_ip} / sum_{a != i} e^{s_ia} )      Khosla et al. 2020, L_out
    kcl          the same over chosen positives only: the own other views and k more        Kang et al. 2021
    bcl          - 1/|P(i)| sum_{p in P(i)} log( e^{s_ip} / sum_c mean_{a of class c} e^{s_ia} )  Zhu et al. 2022
    nt_xent      mean over positive pairs (i, p) of - log( e^{s_ip} / (e^{s_ip} + sum_n e^{s_in}) ),
                 n of other classes                                                      NTXentLoss with labels
    contrast     - log( e^{s+} / (a0 e^{s+} + b sum_j e^{s_j}) )                         InfoNCE: a0 = 1; DCL: a0 = 0
    triplet      max(c_- - c_+ + margin, 0)                                              Schroff et al. 2015
    sigmoid      log(1 + e^{-(s+ - bias)}) + log(1 + e^{s- - bias})                      Zhai et al. 2023
    spectral     - 2 c_+ + c_-^2                                                         HaoChen et al. 2021

with s = c / tau.  Symbols: c ``cosines``, tau ``temperature``, a0 ``own``, b ``factor``.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus


def positives(labels: Tensor) -> Tensor:
    """(n, n): whether two different embeddings of a batch are of one class."""
    itself = torch.eye(labels.numel(), dtype=torch.bool, device=labels.device)
    return (labels[:, None] == labels) & ~itself


def supcon(cosines: Tensor, labels: Tensor, temperature: float, compared: Tensor | None = None) -> Tensor:
    """(n,) from ``cosines`` (n, n) of one batch; anchors without a positive cost nothing.  ``compared`` (n, n) is added
    to the logits in the sum."""
    return kcl(cosines, positives(labels), temperature, compared)


def kcl(cosines: Tensor, positive: Tensor, temperature: float, compared: Tensor | None = None) -> Tensor:
    """(n,) from ``cosines`` (n, n) of one batch and which are ``positive`` (n, n); without one it costs nothing."""
    itself = torch.eye(len(cosines), dtype=torch.bool, device=cosines.device)
    logits = (cosines / temperature).masked_fill(itself, -torch.inf)
    count = positive.sum(1)
    attraction = torch.where(positive, logits, 0.0).sum(1) / count.clamp(min=1)
    crowd = torch.logsumexp(logits if compared is None else logits + compared, 1)
    return torch.where(count > 0, crowd - attraction, 0.0)


def bcl(cosines: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """(n,) from ``cosines`` (n, n) of one batch without prototypes; anchors without a positive cost nothing."""
    positive, logits = positives(labels), cosines / temperature
    itself = torch.eye(labels.numel(), dtype=torch.bool, device=labels.device)
    size = (labels[:, None] == labels).sum(1)  # of the class of each embedding; the anchor is not of its own class's
    average = logits.masked_fill(itself, -torch.inf) - (size - positive.long()).clamp(min=1).to(logits.dtype).log()
    count = positive.sum(1)
    attraction = torch.where(positive, logits, 0.0).sum(1) / count.clamp(min=1)
    return torch.where(count > 0, torch.logsumexp(average, 1) - attraction, 0.0)


def nt_xent(cosines: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """(...) from ``cosines`` (..., n, n), ``labels`` (..., n) of batches; one without a positive pair costs nothing."""
    same = labels[..., :, None] == labels[..., None, :]
    logits = cosines / temperature
    negatives = torch.logsumexp(logits.masked_fill(same, -torch.inf), -1)
    positive = same & ~torch.eye(labels.shape[-1], dtype=torch.bool, device=labels.device)
    cost = torch.where(positive, softplus(negatives[..., :, None] - logits), 0.0)
    return cost.sum((-2, -1)) / positive.sum((-2, -1)).clamp(min=1)


def contrast(positive: Tensor, negatives: Tensor, own: float, factor: float) -> Tensor:
    """(A,) from *logits* s: ``positive`` (A,) and ``negatives`` (A, k)."""
    crowd = torch.logsumexp(negatives, 1) + torch.log(torch.tensor(factor, dtype=positive.dtype))
    return (torch.logaddexp(positive, crowd) if own else crowd) - positive


def triplet(positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """(A,) from cosines (A,)."""
    return torch.relu(negative - positive + margin)


def sigmoid(positive: Tensor, negative: Tensor, temperature: float, bias: float) -> Tensor:
    """(A,) from cosines (A,); where there is no negative, its cosine is -inf."""
    return softplus(bias - positive / temperature) + softplus(negative / temperature - bias)


def spectral(positive: Tensor, negative: Tensor) -> Tensor:
    """(A,) from cosines (A,)."""
    return negative**2 - 2 * positive
