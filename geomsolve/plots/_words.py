"""What the titles of pictures say: the answer in words, and below it the question, with nothing that is on an axis."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from geomsolve.plots._style import loss_of, number
from geomsolve.words import listing

FEW = 6
"""Proportions up to which all are said."""


def question(answer: dict[str, Any], without: Collection[str] = ()) -> str:
    """The loss of a problem, less what stands ``without`` on an axis, and its classes."""
    asked = {key: value for key, value in answer["problem"]["loss"].items() if key not in without}
    loss = loss_of({"problem": {"loss": asked}})
    return "; ".join(filter(None, (loss, "" if "majority" in without or "imbalance" in without else classes(answer))))


def classes(answer: dict[str, Any]) -> str:
    """The classes of a problem: their proportions, or how many and how unequal; empty where it has none."""
    problem = answer["problem"]
    shares = [entry.get("proportion") for entry in answer.get("classes") or []]
    if not shares or None in shares:
        shares = answer.get("proportions") or problem.get("props") or problem.get("counts") or []
    if not isinstance(shares, (list, tuple)) or not all(isinstance(x, (int, float)) for x in shares) or not shares:
        return str(problem.get("dataset") or "")
    p = np.array(shares, dtype=float) / sum(shares)
    if np.ptp(p) <= 1e-9 * p.max():
        return f"{len(p):,} equal classes"
    if len(p) <= FEW:
        return f"proportions {', '.join(number(x, 3) for x in p)}"
    return f"{len(p):,} classes, the largest {number(p.max() / p.min(), 3)} times the smallest"


def geometry(structure: dict[str, Any], groups: Sequence[Sequence[str]] | None = None) -> str:
    """A structure of JSON in words, with its angles."""
    kind = structure["kind"]
    low, high = structure.get("min_angle_deg"), structure.get("max_angle_deg")
    span = "" if low is None or high is None else f"angles from {low:.1f}° to {high:.1f}°"
    if low is not None and high is not None and high - low < 0.05:
        span = f"all angles {low:.1f}°"
    if kind == "minority collapse":
        together = structure.get("groups") if groups is None else groups
        shared = [_shared(group) for group in together or []]
        more = f"; {len(shared) - 3:,} more such groups" if len(shared) > 3 else ""
        return f"Minority collapse: {'; '.join(shared[:3])}{more}"
    said = {
        "general": "Imbalance bends the simplex",
        "symmetric by proportion": "Imbalance bends the simplex, alike for classes of one size",
        "undetermined": "The loss does not fix the angles: one of many optima",
        "antipodal": "Two opposite points",
    }.get(kind, kind[:1].upper() + kind[1:])
    return said if kind in ("undetermined", "antipodal", "total collapse") or not span else f"{said}: {span}"


def _shared(group: Sequence[str]) -> str:
    if len(group) > FEW:
        return f"{len(group):,} classes are one point"
    return f"classes {listing(list(map(str, group)))} are one point"
