"""An objective with a constant added to its gradient: F + sum_gh tilt_gh C_gh.

Its optimum is the geometry at which F buys most of a linear statistic of the cosines, such as one cosine; its certified
bound says how far that statistic can go (``proof/ranges.py``).

Symbols: C ``cosines``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import ConeForm, Curvature, Minorant, Objective


class Tilted(Objective):
    """``base`` plus the linear function with coefficients ``tilt`` (m, m) of the orbit cosines."""

    def __init__(self, base: Objective, tilt: FloatArray) -> None:
        self.base, self.tilt = base, tilt
        self.smooth, self.unique_minimiser = base.smooth, base.unique_minimiser
        self.attraction = base.attraction
        if (pull := np.maximum(-tilt, 0.0)).any():
            self.attraction = base.attraction + pull

    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        value, slope = self.base.evaluate(cosines)
        return value + float(np.sum(self.tilt * cosines)), slope + self.tilt

    def curvature(self, cosines: FloatArray) -> Curvature:
        return self.base.curvature(cosines)

    def minorant(self, cosines: FloatArray, slopes: FloatArray | None = None) -> Minorant:
        below = self.base.minorant(cosines, None if slopes is None else slopes - self.tilt)
        return Minorant(below.value + float(np.sum(self.tilt * cosines)), below.slope + self.tilt)

    def smoothed(self, width: float, slopes: FloatArray | None = None) -> Objective | None:
        smooth = self.base.smoothed(width, None if slopes is None else slopes - self.tilt)
        return smooth and Tilted(smooth, self.tilt)

    def cone_form(self) -> ConeForm | None:
        form = self.base.cone_form()
        if form is None:
            return None
        return replace(form, linear=(form.linear + self.tilt) if form.linear.size else self.tilt)
