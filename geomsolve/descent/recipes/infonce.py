"""Training with InfoNCE: each anchor against k random negatives, or all samples; see ``descent/contrast.py``."""

from __future__ import annotations

from math import isinf

from geomsolve.descent.contrast import against_negatives
from geomsolve.descent.experiments import Experiment
from geomsolve.descent.population import Population
from geomsolve.losses.infonce import InfoNCE


def experiment(loss: InfoNCE, population: Population) -> Experiment:
    """See the module."""
    return against_negatives(loss, population, mean=loss.form == "mean")


def with_synthetic(loss: InfoNCE, population: Population, kinds: tuple[str, ...]) -> Experiment | None:
    """The same with SynCo's ``kinds`` of negatives beside an anchor's own."""
    if isinf(loss.negatives):
        return None
    return against_negatives(loss, population, mean=loss.form == "mean", synthetic=kinds)


def pml(loss: InfoNCE, population: Population) -> Experiment | None:
    """The sum form with k negatives, with steps by the library's NTXentLoss."""
    from geomsolve.descent.pml import PmlContrast

    if loss.form != "sum" or isinf(loss.negatives):
        return None
    return PmlContrast(population, loss.temperature, int(loss.negatives), loss.sampling)
