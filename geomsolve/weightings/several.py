"""What weightings of samples with several labels share: rows of 0 and 1, one column a label."""

from __future__ import annotations

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray

HOW = "give them as multilabel:a|b,b,a|c, multilabel:@file or rows of 0 and 1"


def shared_labels(rows: FloatArray, name: str) -> FloatArray:
    """How many labels each two of the ``rows`` (m, L) share, (m, m); the diagonal is how many a sample has.

    Raises :class:`InputError` for what are no rows of 0 and 1, and for a sample without a label.
    """
    if not np.isin(rows, (0.0, 1.0)).all():
        raise InputError(f"{name} compares samples by the labels that they share; {HOW}", field="labels")
    if not rows.any(axis=1).all():
        raise InputError(
            f"{name} compares samples by the labels that they share, and one sample has none; leave it out",
            field="labels",
        )
    shared: FloatArray = rows @ rows.T
    return shared


def logarithm(weights: FloatArray) -> FloatArray:
    """log w, -inf where it is 0."""
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(weights)
    return logs
