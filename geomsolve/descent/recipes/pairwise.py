"""Training with a potential of the user's: each anchor with a random positive and a random negative.

The negative costs psi of its cosine, the positive 1 - cosine, which is 0 where classes have collapsed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from geomsolve.descent.experiments import Experiment
from geomsolve.descent.pairs import Pairs
from geomsolve.descent.population import Population
from geomsolve.losses.pairwise import Pairwise

TABLE: Mapping[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "power": operator.pow,
    **{name: getattr(torch, name) for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "sinh", "cosh", "tanh")},
    "arctan": torch.arctan,
    "softplus": lambda v: torch.logaddexp(v, torch.zeros_like(v)),
}
"""What the operations of an expression do to tensors."""


def experiment(loss: Pairwise, population: Population) -> Experiment:
    """See the module."""
    node = loss.potential.node if loss.psi is not None else None

    def number(value: float) -> Tensor:
        return torch.tensor(value, dtype=torch.float64, device=population.device)

    def pairwise(positive: Tensor, negative: Tensor, other: Tensor) -> Tensor:
        assert node is not None
        return 1 - positive + torch.where(other, node.walk(negative, number, TABLE) + 0 * negative, 0.0)

    return Pairs(population, loss.sampling, pairwise)
