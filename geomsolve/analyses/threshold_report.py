"""The report of where classes collapse along a path, or merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from geomsolve.analyses.remedies import Remedy
from geomsolve.report import Report, Table

UNITS = {
    "temperature": "dimensionless",
    "majority": "share of samples",
    "batch": "samples",
    "negatives": "negatives",
    "imbalance": "largest class over smallest",
    "regularisation": "dimensionless",
}


@dataclass(frozen=True)
class ThresholdReport(Report):
    """Where collapse sets in.

    ``threshold`` {over, value, unit} is the change nearest to the problem as given, or None with a ``reason``, which
    says whether there can be none or none was found (``possible``);
    ``collapsed_above`` says on which side of it classes are collapsed; ``changes`` lists all.  ``collapsed`` is the
    state of the problem as given, whose place on the path is ``current``.  ``path`` lists which groups of classes
    share a point from which value on (None: from the start), as far as found; ``merging`` the same groups in the order
    in which they form on the way into collapse.  ``assumption`` completes 'for ...': the embeddings that all this is
    proven for, None where for all.  ``path`` is None where partial mergers were not looked for.
    ``given``: whether the question states the current value of what varies, which else is a default.
    ``remedy``: what helps where the problem as given is collapsed.
    ``expectation``, of a loss that is a mean over batches: 'exact', or 'ratio' where, at a change or for want of one at
    the problem as given, the ratio of two expectations stands for it.
    ``total``: of features and classifiers, from which value on all of them vanish.
    ``classifiers``: whether it is about features and classifiers, and any merger of alike classes.
    ``determined`` says where every cosine is settled, if that was asked: ``over``, ``value`` (from where on, None where
    that was not found), ``until`` (None: not found to end), ``slack``, ``width``, the ``pair`` that settles last, how
    wide its range is (``widest``) and where (``at``); where nothing settles, where it is least wide; ``complete`` if
    no pair of distinct proportions was left out.
    """

    command: ClassVar[str] = "threshold"
    apart: ClassVar[tuple[str, ...]] = ("names", "proportions", "given", "classifiers")

    names: tuple[str, ...]
    proportions: tuple[float, ...]
    over: str
    threshold: dict[str, Any] | None
    reason: str | None
    collapsed_above: bool | None
    changes: list[dict[str, Any]]
    collapsed: bool | None
    possible: bool
    current: float
    searched: dict[str, float]
    path: list[dict[str, Any]] | None
    merging: list[list[str]]
    assumption: str | None = None
    given: bool = True
    determined: dict[str, Any] | None = None
    remedy: Remedy | None = None
    total: float | None = None
    classifiers: bool = False
    expectation: str | None = None

    @property
    def table(self) -> Table:
        return Table.of_rows(self.changes) if self.changes else super().table

    @property
    def value(self) -> float | None:
        return None if self.threshold is None else float(self.threshold["value"])

    @property
    def gap(self) -> float | None:
        return None

    @property
    def headline(self) -> str:
        if self.threshold is None:
            return self.reason or ""
        value, what = self.threshold["value"], "merger" if self.classifiers else "collapse"
        side = "from" if isinstance(value, int) or self.classifiers else "above"
        return f"{what} {side if self.collapsed_above else 'below'} {self.over} {value:.6g}"

    @property
    def asked(self) -> dict[str, Any]:
        return {"threshold": None if self.threshold is None else self.threshold["value"], "groups": self.merging}

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        plain = super().to_dict(**detail)
        del plain["possible"]  # said by reason
        for optional in ("determined", "remedy", "total", "expectation"):
            if getattr(self, optional) is None:
                del plain[optional]
        plain["classes"] = [
            {"name": name, "proportion": p} for name, p in zip(self.names, self.proportions, strict=True)
        ]
        return plain
