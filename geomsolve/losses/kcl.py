"""K-positive contrastive loss (KCL): SupCon in which every anchor has as many positives, whatever its class.

    l_i = - 1/(k + 1) sum_j log( e^{s_ij} / sum_{a != i} e^{s_ia} ),   j its own other view and k samples of its class.

Where the samples of a class share a point each positive has the same cosine, 1, so that their number changes nothing:
F is that of SupCon (``losses/supcon.py``), in the population limit and on random batches (in one view there is no other
one of its own), and so are its optimum, its levels and its collapse.  That classes share a point is again Jensen's
inequality: over the draw of the positives the loss of an anchor is convex in the cosines, and falls with those of its
class.  What k does change is how fast samples of one class gather on the way.

Source: Kang et al. 2021.  Symbols: k ``positives``, B ``batch``, V ``views``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Self

from geomsolve.gram.orbits import Orbits
from geomsolve.losses.base import Loss, register, settle_batches
from geomsolve.losses.parameters import BATCH, POSITIVES, REPLACEMENT, TEMPERATURE, VIEWS
from geomsolve.losses.supcon import SupCon
from geomsolve.objectives.base import Objective
from geomsolve.objectives.levels import Course, Scale, Training
from geomsolve.registry import parameter


@register
@dataclass(frozen=True)
class KCL(Loss):
    """K-positive contrastive loss; see the module."""

    name: ClassVar[str] = "kcl"
    summary: ClassVar[str] = "SupCon with k positives an anchor: at its optimum the same as supcon, whatever k"
    source: ClassVar[str] = "Kang et al. 2021 (k-positive contrastive loss)"
    also: ClassVar[tuple[str, ...]] = ("k-positive-contrastive", "k-positives-contrastive")
    needs_classes: ClassVar[bool] = True

    temperature: float = parameter(TEMPERATURE, 0.1)
    positives: int = parameter(POSITIVES, 6)
    batch: int | None = parameter(BATCH, None)
    views: int | None = parameter(VIEWS, None)
    replacement: str | None = parameter(REPLACEMENT, None)

    def __post_init__(self) -> None:
        settle_batches(self)
        _ = self.every_positive  # refuses what makes no sense

    @property
    def every_positive(self) -> SupCon:
        """SupCon, of the same optimum."""
        return SupCon(self.temperature, self.batch, self.views, replacement=self.replacement)

    def notes(self) -> tuple[str, ...]:
        return (
            f"at the optimum kcl is supcon: its {self.positives} positives an anchor share a point with all others of "
            "the class, so their number changes nothing",
        )

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        if self.replacement == "no" or self.views == 1:
            return None
        drawn = {} if self.batch is None else {"batch": self.batch, "views": self.views}
        return {"temperature": self.temperature, "positives": self.positives, **drawn}

    def objective(self, orbits: Orbits) -> Objective:
        return self.every_positive.objective(orbits)

    @property
    def reads_whole_set(self) -> bool:
        return self.every_positive.reads_whole_set

    @property
    def counted_off(self) -> str:
        return self.every_positive.counted_off

    @property
    def counts_are_samples(self) -> bool:
        return self.every_positive.counts_are_samples

    @property
    def scatter_is_heat(self) -> bool:
        return self.every_positive.scatter_is_heat

    def varied(self, name: str, value: float) -> Self:
        if name == "batch" and value == inf:
            return self.replace(batch=None, views=None, replacement=None)
        return super().varied(name, value)

    def range_of(self, name: str, orbits: Orbits) -> tuple[float, float]:
        return self.every_positive.range_of(name, orbits)

    def course(self, over: str, level: str) -> Course:
        return self.every_positive.course(over, level)

    def levels(self, training: Training) -> Scale:
        return self.every_positive.levels(training)
