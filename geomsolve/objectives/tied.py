"""Two sides made one: F where every x coincides with its partner y, as a function of the cosines between classes.

Wants an F whose points all have partners; its ``cross`` then is C between classes and 1 between partners, and the
program is that of one side (``objectives/base.py``).

Symbols: C ``cosines``.
"""

from __future__ import annotations

import numpy as np

from geomsolve.gram.orbits import Orbits
from geomsolve.gram.paired import Paired
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import ConeForm, Curvature, LogTerms, Objective, RowCurvature
from geomsolve.objectives.cross import CrossObjective, Joint


def can_be_tied(paired: Paired) -> bool:
    """Whether every point of either side has a partner, and there are two classes at least."""
    same = paired.n_first == paired.n_second and paired.points[0] > 1
    return same and bool(np.array_equal(paired.partner, np.arange(paired.n_first)))


def tied_orbits(joint: Joint) -> Orbits:
    """The classes (x, its partner), the mean of the two marginals for proportions."""
    paired = joint.paired
    return Orbits(paired.first, (joint.first + joint.second) / 2, paired.first_index)


def tied_cross(cosines: FloatArray) -> FloatArray:
    """``cross`` (m, m + 1) of tied points with orbit ``cosines`` (m, m)."""
    return np.column_stack([cosines, np.ones(cosines.shape[0])])


class Tied(Objective):
    """See the module."""

    def __init__(self, objective: CrossObjective) -> None:
        self.inner = objective.folded()
        attraction = objective.attraction
        if isinstance(attraction, np.ndarray) and np.any(attraction[:, :-1]):
            self.attraction = attraction[:, :-1]

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, slope = self.inner.evaluate(tied_cross(cosines))
        return value, slope[:, :-1]

    def curvature(self, cosines: FloatArray) -> Curvature:
        cross = tied_cross(cosines)
        rows = self.inner.normalisers(cross)
        if rows is not None:
            return RowCurvature(self.inner.stiffness(cross)[:, :-1], rows[:, :, :-1])
        bend = self.inner.curvature(cross)
        return lambda change: bend(np.column_stack([change, np.zeros(change.shape[0])]))[:, :-1]

    def cone_form(self) -> ConeForm | None:
        form = self.inner.cone_form()
        if form is None or form.logs is None:
            return None
        logs, m = form.logs, form.linear.shape[0]
        partner = logs.h == m  # cosine 1: a constant of its row
        constant = np.exp(logs.log_offset)
        np.add.at(constant, logs.row[partner], np.exp(logs.log_weight[partner]))
        with np.errstate(divide="ignore"):
            offset = np.log(constant)
        rest = LogTerms(logs.mass, offset, logs.row, logs.g, logs.h, logs.log_weight, logs.scale).only(~partner)
        return ConeForm(form.constant + float(form.linear[:, -1].sum()), form.linear[:, :-1], rest)
