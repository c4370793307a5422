"""Negatives that are made or picked rather than drawn: SynCo's six kinds of synthetic ones, and hard ones.

From an anchor q and its hard negatives n (those with the largest q.n, drawn again with replacement):

    1 interpolated  alpha q + (1 - alpha) n,  alpha ~ U(0, 1/2)      4 noisy        n + N(0, 0.01^2 I)
    2 extrapolated  n + beta (n - q),  beta ~ U(1, 3/2)              5 perturbed    n + 0.01 grad_n(q.n)
    3 mixed         gamma n + (1 - gamma) n',  gamma ~ U(0, 1)       6 adversarial  n + 0.01 sign(grad_n(q.n))

each brought to unit length and detached: the anchor feels them, they do not move.  grad_n(q.n) = q.  Of a queue of
1,024 hard negatives SynCo makes 256, 256, 256, 64, 64 and 64; of fewer, proportionally fewer, at least one a kind.
Hardness (Robinson et al. 2021): each negative counts e^{beta c} times, relative to the mean over an anchor's.

Source of the synthetic ones: Giakoumoglou & Stathaki 2024, SynCo.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from geomsolve.errors import nearest

HARDEST = 1024
STRENGTH = 0.01

KINDS = {"interpolated": 256, "extrapolated": 256, "mixed": 256, "noisy": 64, "perturbed": 64, "adversarial": 64}
"""How many of each kind are made from :data:`HARDEST` hard negatives."""


def read_kinds(text: str) -> tuple[str, ...]:
    """The kinds in ``synco`` (all six) or ``synco:1,mixed``: by number or name; ValueError for anything else."""
    name, colon, rest = text.partition(":")
    if name != "synco":
        raise ValueError(f"unknown synthetic negatives {name!r}; known: synco, or synco:1,4 for some of its six kinds")
    if not colon:
        return tuple(KINDS)
    wanted = []
    for word in (part.strip() for part in rest.split(",")):
        kind = list(KINDS)[int(word) - 1] if word in {"1", "2", "3", "4", "5", "6"} else word
        if kind not in KINDS:
            raise ValueError(f"unknown kind {word!r}; use a number from 1 to 6 or a name, {nearest(word, KINDS)}")
        wanted.append(kind)
    return tuple(kind for kind in KINDS if kind in wanted)


def make(kind: str, q: Tensor, n: Tensor, other: Tensor, generator: torch.Generator) -> Tensor:
    """One synthetic negative for each of ``n`` (A, M, d), before it is normalised; ``q`` (A, 1, d), ``other`` n'."""
    u = torch.rand(n.shape[:2], generator=generator, dtype=n.dtype, device=n.device)[..., None]
    if kind == "interpolated":
        return 0.5 * u * q + (1 - 0.5 * u) * n
    if kind == "extrapolated":
        return n + (1 + 0.5 * u) * (n - q)
    if kind == "mixed":
        return u * n + (1 - u) * other
    if kind == "noisy":
        return n + STRENGTH * torch.randn(n.shape, generator=generator, dtype=n.dtype, device=n.device)
    return n + STRENGTH * (q if kind == "perturbed" else q.sign())


def synthesise(kinds: tuple[str, ...], anchors: Tensor, negatives: Tensor, generator: torch.Generator) -> Tensor:
    """(A, M, d) synthetic negatives of unit length, detached, for ``anchors`` (A, d) and ``negatives`` (A, k, d)."""
    with torch.no_grad():
        hard = min(HARDEST, negatives.shape[1])
        order = torch.einsum("ad,akd->ak", anchors, negatives).topk(hard, dim=1).indices

        def pick(count: int) -> Tensor:
            chosen = torch.rand((anchors.shape[0], count), generator=generator, device=anchors.device)
            index = order.gather(1, (chosen * hard).long().clamp(max=hard - 1))
            return negatives.gather(1, index[..., None].expand(-1, -1, negatives.shape[2]))

        q = anchors[:, None]
        made = []
        for kind in kinds:
            count = max(1, round(KINDS[kind] * hard / HARDEST))
            made.append(make(kind, q, pick(count), pick(count), generator))
        return normalize(torch.cat(made, 1), dim=2)


def hardened(cosines: Tensor, logits: Tensor, hardness: float) -> Tensor:
    """``logits`` (A, k) plus the log of each negative's weight e^{beta c} / mean e^{beta c}."""
    weight = hardness * cosines
    k = torch.tensor(float(cosines.shape[1]), dtype=cosines.dtype)
    return logits + weight - (torch.logsumexp(weight, 1, keepdim=True) - torch.log(k))
