"""Which classes share a point where along the path: one line a class, lines that meet are classes that coincide."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._geometry import NAMED
from geomsolve.plots._style import BLUE, FAINT, INK, ORANGE, canvas, clipped, logarithmic, loss_of, number

LABELS = {"temperature": "temperature", "majority": "share of the largest class", "batch": "samples in a batch"}
BESIDE = {"majority": 0.05}
"""How far the picture reaches beyond the outermost change, where the axis is not logarithmic."""


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``threshold`` answer."""
    if "state" in answer:
        return states(answer)
    over = answer["over"]
    classes = sorted(answer["classes"], key=lambda entry: -entry["proportion"])
    names = [entry["name"] for entry in classes]
    stages = answer["path"] or [{"from": None, "groups": []}, *_full(answer)]
    starts = [float(stage["from"]) for stage in stages[1:]]
    low, high = _limits(answer, starts)
    drawn = canvas((6.5, min(6.0, 1.6 + 0.28 * len(names))))
    axes = drawn.add_subplot()
    home = {name: float(-i) for i, name in enumerate(names)}
    edges = [low, *[min(x, high) for x in starts], high]
    heights = [_heights(stage["groups"], home) for stage in stages]
    for name in names:
        path_x = [x for i in range(len(stages)) for x in edges[i : i + 2]]
        path_y = [height[name] for height in heights for _ in range(2)]
        axes.plot(path_x, path_y, color=INK if name == names[0] else BLUE, linewidth=1.4, solid_joinstyle="round")
    full = answer["threshold"]
    for x in starts:
        mine = full is not None and abs(x - float(full["value"])) <= 1e-6 * x
        axes.axvline(x, color=ORANGE if mine else FAINT, linewidth=1.0, linestyle=(0, (4, 2)), zorder=0)
        axes.annotate(
            number(x), (x, 1.0), (0, 3), xycoords=("data", "axes fraction"), textcoords="offset points", ha="center",
            fontsize=8, color=ORANGE if mine else INK,
        )  # fmt: skip
    current = answer["current"]
    if isinstance(current, (int, float)) and low <= current <= high:
        axes.plot([current], [0.9], marker="v", color=INK, markersize=5, clip_on=False)
        axes.annotate("as asked", (current, 0.9), (5, 0), textcoords="offset points", va="center", fontsize=8)
    if over != "majority":
        logarithmic(axes, "x")
    axes.set_xlim(low, high)
    axes.set_ylim(-len(names) + 0.3, 1.3)
    axes.set_xlabel(LABELS.get(over, over))
    axes.spines["left"].set_visible(False)
    if len(names) <= NAMED:
        axes.set_yticks([home[name] for name in names], [clipped(name) for name in names])
    else:
        axes.set_yticks([])
        axes.set_ylabel("classes, most frequent on top")
    axes.tick_params(axis="y", length=0)
    drawn.suptitle(f"{loss_of(answer)}: classes that share a point", x=0.01, ha="left", fontsize=10)
    return drawn


def _full(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Stages from the changes of full collapse alone, where partial mergers were not looked for."""
    names = [entry["name"] for entry in sorted(answer["classes"], key=lambda entry: -entry["proportion"])]
    return [
        {"from": change["value"], "groups": [names[1:]] if change["collapsed_above"] else []}
        for change in answer["changes"]
    ]


def _heights(groups: list[list[str]], home: dict[str, float]) -> dict[str, float]:
    """Where each class is drawn: in the middle of its group."""
    heights = dict(home)
    for group in groups:
        middle = float(np.mean([home[name] for name in group]))
        heights.update(dict.fromkeys(group, middle))
    return heights


def _limits(answer: dict[str, Any], starts: list[float]) -> tuple[float, float]:
    """A stretch of the path around all changes and the problem as given."""
    marks = [x for x in (*starts, answer["current"]) if isinstance(x, (int, float)) and np.isfinite(x)]
    low, high = (min(marks), max(marks)) if marks else (0.1, 10.0)
    if answer["over"] == "majority":
        return max(0.0, low - BESIDE["majority"]), min(1.0, high + BESIDE["majority"])
    return low / 2, high * 2


def states(answer: dict[str, Any]) -> Any:
    """Of two sides: the state of the optimum along the path, one row a state."""
    starts = [float(stage["from"]) for stage in answer["path"][1:]]
    plain = answer["over"] in ("bias", "noise")
    marks = [x for x in (*starts, answer["current"]) if isinstance(x, (int, float)) and np.isfinite(x)]
    ends = [float(answer["searched"][end]) for end in ("low", "high")]
    if marks and plain:
        width = max(np.ptp(marks), 0.1)
        ends = [max(ends[0], min(marks) - width), min(ends[1], max(marks) + width)]
    elif marks:
        ends = [max(ends[0], min(marks) / 3), min(ends[1], max(marks) * 3)]
    rows = list(dict.fromkeys(stage["state"] for stage in answer["path"]))
    drawn = canvas((6.5, 1.3 + 0.4 * len(rows)))
    axes = drawn.add_subplot()
    edges = [ends[0], *starts, ends[1]]
    for stage, low, high in zip(answer["path"], edges, edges[1:], strict=False):
        axes.plot([low, high], [-rows.index(stage["state"])] * 2, color=BLUE, linewidth=6, solid_capstyle="butt")
    for x in starts:
        mine = answer["threshold"] is not None and x == answer["threshold"]["value"]
        axes.axvline(x, color=ORANGE if mine else FAINT, linewidth=1.0, linestyle=(0, (4, 2)), zorder=0)
        axes.annotate(
            number(x, 5), (x, 1.0), (0, 3), xycoords=("data", "axes fraction"), textcoords="offset points", ha="center"
        )
    if not plain:
        logarithmic(axes, "x")
    axes.set_xlim(*ends)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.set_yticks(range(0, -len(rows), -1), rows)
    axes.set_xlabel(answer["over"])
    one, two = answer["nouns"]
    drawn.suptitle(f"{loss_of(answer)}: {one}s and {two}s", x=0.01, ha="left", fontsize=10)
    return drawn
