"""The question of ``geomsolve threshold`` about two sides: where do they come to coincide, to part or to collapse?"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from geomsolve.errors import InputError
from geomsolve.questions.crossmodal import TwoSides

OverSides = Literal["temperature", "bias", "noise", "classes"]


class ThresholdCrossmodal(TwoSides):
    """Where do two sides coincide, move apart or collapse, as ``over`` varies and the rest stays as given?

    ``noise`` is the part of the pairs with a random text.  ``classes`` is the number of equally frequent classes (of
    pairs in a batch); then none are given.
    """

    kind: Literal["threshold_crossmodal"] = "threshold_crossmodal"
    over: OverSides = Field("temperature", description="what varies")

    def check_source(self) -> None:
        if self.over != "classes":
            super().check_source()
            return
        for name in (*self.SOURCES, "names"):
            if getattr(self, name) is not None:
                raise InputError("over classes the path makes equal classes itself; leave this out", field=name)
