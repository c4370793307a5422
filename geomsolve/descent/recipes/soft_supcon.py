"""Training with soft SupCon: SupCon on all samples, with positives of weight 1 within the class and epsilon across."""

from __future__ import annotations

import math

import torch

from geomsolve.descent.denominator import Weighted
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.population import Population
from geomsolve.losses.soft_supcon import SoftSupCon


def experiment(loss: SoftSupCon, population: Population) -> Experiment:
    """See the module."""
    across = torch.full((population.sizes.numel(),) * 2, math.log(loss.epsilon), dtype=torch.float64)
    return Weighted(population, loss.temperature, across.fill_diagonal_(0.0).to(population.device))
