"""Which batches a design may choose from: those that the loss names, else groups of classes that do what any would.

The forces of a batch are between pairs of its classes, so that what any batches do, pairs do.  Larger ones are offered
so that batches are as large as they can be.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from geomsolve.errors import InputError
from geomsolve.losses import Loss
from geomsolve.objectives.fixed_batches import Groups

FEW_CLASSES, MOST_PAIRED = 8, 20
"""Classes up to which every group of them may be a batch; and, beyond, every pair and all together."""


def choices(loss: Loss, n: int) -> Groups:
    """The batches to choose from for ``n`` classes, by positions from 1; raises :class:`InputError` for too many."""
    given: Groups | None = loss.parameters().get("batches")
    if given is not None:
        return tuple(dict.fromkeys(given))
    if n > MOST_PAIRED:
        raise InputError(
            f"{n:,} classes; batches are designed for at most {MOST_PAIRED}, unless --batches says which may come",
            field="change",
        )
    sizes = range(2, n + 1) if n <= FEW_CLASSES else (2, n)
    return tuple(group for size in sizes for group in combinations(range(1, n + 1), size))


def meeting(groups: Groups, n: int) -> NDArray[np.bool_]:
    """(n, n) whether two classes are compared: those that are in one of the groups together, or all without groups."""
    apart = ~np.eye(n, dtype=bool)
    met = np.zeros((n, n), dtype=bool) if groups else apart
    for group in groups:
        place = np.array([int(a) - 1 for a in group])
        met[np.ix_(place, place)] = True
    return met & apart
