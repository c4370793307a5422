"""How each loss is trained: one module a loss, found by the loss's name.

The recipe of the loss ``some-name`` is the module ``some_name`` here; a loss from elsewhere names a module of its own
as its ``recipe``, or has none.  A recipe has

    experiment(loss, population)                the experiment whose expectation is the loss's population objective
    with_synthetic(loss, population, kinds)     the same with SynCo's negatives; None where the loss draws none
    pml(loss, population)                       the same with steps by pytorch-metric-learning; None where it has none

of which the last two may be missing.  Nothing here loads torch before an experiment is asked for.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from geomsolve.errors import InputError
from geomsolve.losses import Loss

if TYPE_CHECKING:
    from geomsolve.descent.experiments import Experiment
    from geomsolve.descent.population import Population


def home_of(loss: Loss) -> str:
    """Dotted name of the module that holds the recipe, if there is one."""
    return loss.recipe or f"{__name__}.{loss.name.replace('-', '_')}"


def missing(loss: Loss) -> str:
    """Why ``loss`` cannot be trained, and what to do; empty where it can."""
    home = home_of(loss)
    try:
        found = home in sys.modules or find_spec(home) is not None
    except ModuleNotFoundError:  # of the package that the module would be in
        found = False
    if found:
        return ""
    return f"{loss.name} has no training recipe; give it one as the module {home}, or choose another loss"


def recipe_of(loss: Loss) -> Any:
    """The module with the recipe; :class:`InputError` where there is none."""
    if why := missing(loss):
        raise InputError(why, field="loss.name")
    return importlib.import_module(home_of(loss))


def experiment(loss: Loss, population: Population, synthetic: tuple[str, ...] = ()) -> Experiment:
    """The experiment for ``loss``, with SynCo's kinds of ``synthetic`` negatives; :class:`InputError` where none is."""
    recipe = recipe_of(loss)
    if not synthetic:
        plain: Experiment = recipe.experiment(loss, population)
        return plain
    build = getattr(recipe, "with_synthetic", None)
    built: Experiment | None = build and build(loss, population, synthetic)
    if built is None:
        raise InputError(
            "synthetic negatives are made from an anchor's own negatives; use infonce or dcl with --negatives K",
            field="synthetic",
        )
    return built


def pml_experiment(loss: Loss, population: Population) -> Experiment:
    """The experiment for ``loss`` with steps by the library; :class:`InputError` where the library has none."""
    build = getattr(recipe_of(loss), "pml", None)
    built: Experiment | None = build and build(loss, population)
    if built is None:
        raise InputError(
            "pytorch-metric-learning has losses on batches, and infonce in its sum form with a number of negatives; "
            "for anything else use the project's own batch losses (leave the implementation out)",
            field="implementation",
        )
    return built
