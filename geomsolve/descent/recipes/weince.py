"""Training with WEINCE.

With a floor: like InfoNCE in its mean form on all samples, with the logit's weight and shape as given.  Without one
they are read off each batch: how heavy is the tail of an anchor's hardest negatives, and is it worth correcting?

For an anchor, delta_j = 1 - c_j over its negatives.  Of the k smallest the max(32, 10 %) are kept, n of them, and the
first max(1, 5 % of the kept) dropped.  With F = rank / (n + 1):

    Weibull tail    log F        = beta log delta + const      (least squares, beta >= 0)
    Gumbel proxy    log(-log F)  = b log delta + const
    AIC             n log(SSE / n) + 4                         for each
    lambda          sigmoid(10 (log rho0 - log rho)) sigmoid(AIC_G - AIC_W - 2)

rho is an anchor's smallest delta and rho0 the 0.2-quantile of rho over the batch.  No gradient flows through any of
this.  The logit of a pair at cosine c is then (1 - lambda) c / tau - lambda beta log(1 - c + floor).

Symbols: lambda ``weight``, beta ``shape``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geomsolve.descent.contrast import Contrast
from geomsolve.descent.denominator import Denominator
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.population import Population
from geomsolve.losses.weince import WEINCE

KEPT, KEPT_SHARE, DROPPED_SHARE = 32, 0.10, 0.05
SHARPNESS, PENALTY, QUANTILE = 10.0, 2.0, 0.2

NEGATIVES = 256
"""Negatives of an anchor where statistics are read off them: enough for a tail of :data:`KEPT`."""

FLOOR = 1e-12
"""Distances 1 - c are at least this: below it they are rounding, and a logarithm has to be taken."""


def fit(x: Tensor, y: Tensor, *, least: float = -torch.inf) -> tuple[Tensor, Tensor]:
    """Slope (A,), at least ``least``, and AIC (A,) of the line through ``x`` and ``y`` (A, n), by least squares."""
    dx, dy = x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
    slope = ((dx * dy).sum(1) / dx.square().sum(1).clamp(min=torch.finfo(x.dtype).tiny)).clamp(min=least)
    error = (dy - slope[:, None] * dx).square().mean(1).clamp(min=torch.finfo(x.dtype).tiny)
    return slope, x.shape[1] * error.log() + 4


def statistics(negatives: Tensor) -> tuple[Tensor, Tensor]:
    """``weight`` (A,) in [0, 1] and ``shape`` (A,) >= 0 from the cosines of ``negatives`` (A, k), detached."""
    with torch.no_grad():
        k = negatives.shape[1]
        kept = min(k, max(KEPT, round(KEPT_SHARE * k)))
        dropped = min(kept - 2, max(1, round(DROPPED_SHARE * kept)))
        delta = (1 - negatives).clamp(min=FLOOR).topk(kept, dim=1, largest=False, sorted=True).values
        rho = delta[:, 0]
        rank = torch.arange(1, kept + 1, dtype=negatives.dtype, device=negatives.device)[dropped:]
        log_f = (rank / (kept + 1)).log().expand(negatives.shape[0], -1)
        x = delta[:, dropped:].log()
        shape, weibull = fit(x, log_f, least=0.0)
        _, gumbel = fit(x, (-log_f).log())
        near = torch.quantile(rho, QUANTILE).log() - rho.log()
        return torch.sigmoid(SHARPNESS * near) * torch.sigmoid(gumbel - weibull - PENALTY), shape


def logits(cosines: Tensor, temperature: float, weight: Tensor | float, shape: Tensor | float, floor: float) -> Tensor:
    """(1 - lambda) c / tau - lambda beta log(1 - c + floor), entry by entry."""
    distance = (1 - cosines).clamp(min=0.0) + max(floor, FLOOR)
    return (1 - weight) * cosines / temperature - weight * shape * distance.log()


def experiment(loss: WEINCE, population: Population) -> Experiment:
    """See the module."""
    if not loss.unbounded:
        return Denominator(
            population,
            lambda c: logits(c, loss.temperature, loss.tail_weight, loss.tail_shape, loss.delta),
            own=1.0,
            sampling=loss.sampling,
        )

    def read_off(positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
        weight, shape = (part[:, None] for part in statistics(negative))
        up, down = (logits(c, loss.temperature, weight, shape, 0.0) for c in (positive, negative))
        return up, down

    return Contrast(
        population, loss.temperature, NEGATIVES, own=1.0, mean=True, sampling=loss.sampling, logits=read_off
    )
