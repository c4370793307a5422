"""Training with the spectral loss: each anchor with a random positive and a random negative.

What the objective leaves out as constant is subtracted: -2, the positive half at cosine 1.
"""

from __future__ import annotations

from geomsolve.descent import batch_losses
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.pairs import Pairs
from geomsolve.descent.population import Population
from geomsolve.losses.spectral import Spectral


def experiment(loss: Spectral, population: Population) -> Experiment:
    """See the module."""
    return Pairs(population, "iid", lambda positive, negative, other: batch_losses.spectral(positive, negative) + 2)
