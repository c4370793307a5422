"""Training with DCL: like InfoNCE without the positive in the denominator; see ``descent/contrast.py``."""

from __future__ import annotations

from math import isinf

from geomsolve.descent.contrast import against_negatives
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.population import Population
from geomsolve.losses.dcl import DCL


def experiment(loss: DCL, population: Population) -> Experiment:
    """See the module."""
    return against_negatives(loss, population)


def with_synthetic(loss: DCL, population: Population, kinds: tuple[str, ...]) -> Experiment | None:
    """The same with SynCo's ``kinds`` of negatives beside an anchor's own."""
    return None if isinf(loss.negatives) else against_negatives(loss, population, synthetic=kinds)
