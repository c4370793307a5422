"""How each loss of two sides is trained: one module a loss, found by the loss's name.

The recipe of the loss ``some-name`` is the module ``some_name`` here.  It has

    loss_of(loss, joint)    a function of all cosines (n_x, n_y) between the sides, from the chances ``joint`` of pairs
    of_batches(loss)        where the loss is a mean over random batches: a function of all cosines and of how often
                            each pair is in each batch (M, n_x, n_y), for each of them (M,)

written from the loss's own definition, not from the objective that is checked.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from geomsolve.errors import InputError
from geomsolve.pair_losses import PairLoss


def recipe_of(loss: PairLoss) -> Any:
    """The module with the recipe; :class:`InputError` where there is none."""
    home = f"{__name__}.{loss.name.replace('-', '_')}"
    if find_spec(home) is None:
        raise InputError(f"{loss.name} has no training recipe", field="loss.name")
    return importlib.import_module(home)
