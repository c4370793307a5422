"""The report of where two sides come to coincide, to part or to collapse along a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from geomsolve.report import Report

UNITS = {
    "temperature": "dimensionless",
    "bias": "added to the logit",
    "noise": "share of pairs",
    "classes": "classes, or pairs in a batch",
}


@dataclass(frozen=True)
class ThresholdCrossmodalReport(Report):
    """States of two sides along a path, and where one ends and another begins.

    ``threshold`` {over, value, unit, before, after, open} is the change nearest to the problem as given, or None with a
    ``reason``; ``changes`` lists all {value, before, after}, ``path`` the states {from, state, open}, None the start.
    A state is 'total collapse', 'antipodal', 'minority collapse', 'regular simplex', 'tied', or 'apart' ('general'
    where points have no partners); ``open`` where, beside points that are tied, others that are not have the same loss,
    that of free logits.  ``state`` is that of the problem as given, at ``current``; None over classes.
    ``exact``: over classes, the real number up to which the formula of the simplex holds, where there is one.
    """

    command: ClassVar[str] = "threshold"
    apart: ClassVar[tuple[str, ...]] = ("given",)

    over: str
    nouns: tuple[str, str]
    threshold: dict[str, Any] | None
    reason: str | None
    collapsed_above: bool | None
    changes: list[dict[str, Any]]
    path: list[dict[str, Any]]
    state: str | None
    open: bool
    current: float | None
    searched: dict[str, Any]
    exact: float | None
    given: bool

    @property
    def headline(self) -> str:
        if self.threshold is None:
            return "no change found"
        return f"{self.threshold['before']} to {self.threshold['after']} at {self.threshold['value']:.6g}"

    @property
    def asked(self) -> dict[str, Any]:
        return {"threshold": None if self.threshold is None else self.threshold["value"]}
