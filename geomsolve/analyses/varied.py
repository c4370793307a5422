"""The same classes at other proportions: with another majority, or another ratio of the largest to the smallest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomsolve.errors import InputError


@dataclass(frozen=True)
class Classes:
    """Class ``proportions`` (K,) and, where they are known, counts (K,), named as in a class problem."""

    proportions: tuple[float, ...]
    class_counts: tuple[float, ...] | None


def with_majority(classes: Classes, share: float) -> Classes:
    """The same classes with the largest at ``share``, the others in the ratios they had (counts need not be whole)."""
    p = np.asarray(classes.proportions)
    largest = int(np.argmax(p))
    varied = p * (1 - share) / np.delete(p, largest).sum()
    varied[largest] = share
    counts = None
    if classes.class_counts is not None:
        counts = np.array(classes.class_counts, dtype=np.float64)
        counts[largest] = share / (1 - share) * (counts.sum() - counts[largest])
    return Classes(tuple(varied.tolist()), None if counts is None else tuple(counts.tolist()))


def stretched(classes: Classes, ratio: float) -> Classes:
    """The same classes with the largest ``ratio`` > 1 times the smallest: logarithms of sizes are stretched alike.

    The largest keeps its samples (counts need not be whole).  Raises :class:`InputError` where all are of one size.
    """
    p = np.asarray(classes.proportions)
    logs = np.log(p / p.max())
    if not logs.min() < 0:
        raise InputError("all classes are of one size; give two sizes at least, as in --counts 10,10,1,1", field="over")
    sizes = np.exp(logs * (np.log(ratio) / -logs.min()))
    counts = None if classes.class_counts is None else tuple((max(classes.class_counts) * sizes).tolist())
    return Classes(tuple((sizes / sizes.sum()).tolist()), counts)
