"""Which classes share a point where along the path: one line a class, lines that meet are classes that coincide."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._geometry import NAMED
from geomsolve.plots._style import BLUE, FAINT, INK, ORANGE, canvas, clipped, entitled, logarithmic, number
from geomsolve.plots._words import question
from geomsolve.words import listing

LABELS = {"majority": "share of the largest class", "batch": "samples in a batch"}
DRAWN = 40
"""Classes that have a line at most."""

ROOM = 0.09
"""Part of the width that the value of a change takes."""

BESIDE = {"majority": 0.05}
"""How far the picture reaches beyond the outermost change, where the axis is not logarithmic."""


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``threshold`` answer."""
    if "state" in answer:
        return states(answer)
    over = answer["over"]
    classes = _some(sorted(answer["classes"], key=lambda entry: -entry["proportion"]))
    names = [entry["name"] for entry in classes]
    stages = answer["path"] or [{"from": None, "groups": []}, *_full(answer)]
    starts = [float(stage["from"]) for stage in stages[1:]]
    low, high = _limits(answer, starts)
    drawn = canvas((6.5, min(6.0, 1.9 + 0.28 * len(names))))
    axes = drawn.add_subplot()
    home = {name: float(-i) for i, name in enumerate(names)}
    edges = [low, *[min(x, high) for x in starts], high]
    heights = [_heights(stage["groups"], home) for stage in stages]
    for name in names:
        path_x = [x for i in range(len(stages)) for x in edges[i : i + 2]]
        path_y = [height[name] for height in heights for _ in range(2)]
        axes.plot(path_x, path_y, color=INK if name == names[0] else BLUE, linewidth=1.4, solid_joinstyle="round")
    full = answer["threshold"]
    decisive = [x for x in starts if full is not None and abs(x - float(full["value"])) <= 1e-6 * abs(x)]
    marked(axes, starts, decisive, log=over != "majority", ends=(low, high))
    current = answer["current"]
    if isinstance(current, (int, float)) and low <= current <= high:
        axes.plot([current], [0.9], marker="v", color=INK, markersize=5, clip_on=False)
        axes.annotate("as asked", (current, 0.9), (5, 0), textcoords="offset points", va="center", fontsize=8)
    if over != "majority":
        logarithmic(axes, "x")
    axes.set_xlim(low, high)
    axes.set_ylim(-len(names) + 0.3, 1.3)
    axes.set_xlabel(LABELS.get(over, over.replace("_", " ")))
    axes.spines["left"].set_visible(False)
    if len(names) <= NAMED:
        axes.set_yticks([home[name] for name in names], [clipped(name) for name in names])
    else:
        axes.set_yticks([])
        left_out = f", {len(names)} of {len(answer['classes']):,}" if len(names) < len(answer["classes"]) else ""
        axes.set_ylabel(f"classes, most frequent on top{left_out}")
    axes.tick_params(axis="y", length=0)
    entitled(drawn, _said(answer, LABELS.get(over, over.replace("_", " "))), question(answer, (over,)))
    return drawn


def _some(classes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most :data:`DRAWN` of the classes, evenly chosen, the first and the last among them."""
    chosen = np.unique(np.linspace(0, len(classes) - 1, min(len(classes), DRAWN)).round().astype(int))
    return [classes[i] for i in chosen]


def _said(answer: dict[str, Any], over: str) -> str:
    """The answer in words."""
    full = answer["threshold"]
    if full is None:
        merged = any(stage["groups"] for stage in answer["path"] or [])
        return "Classes that share a point" if merged else "No classes share a point anywhere along the path"
    groups = answer["merging"]
    who = f"Classes {listing(list(map(str, groups[0])), 4)}" if len(groups) == 1 else "The smaller classes"
    value = number(float(full["value"]))
    above = bool(answer["collapsed_above"])
    if answer["over"] == "majority":
        return f"{who} share a point where the largest class has {'more' if above else 'less'} than {value}"
    if isinstance(full["value"], int):
        return f"{who} share a point {'from' if above else 'below'} {value} {over}{' on' if above else ''}"
    return f"{who} share a point {'above' if above else 'below'} {over} {value}"


def marked(
    axes: Any, places: list[float], decisive: list[float], *, log: bool, ends: tuple[float, float], digits: int = 4
) -> None:
    """A dashed line at each of the ``places``, the ``decisive`` ones in orange, and as many of their values above as
    have room; these always."""
    scaled = np.log if log else np.asarray
    width = float(scaled(ends[1]) - scaled(ends[0]))
    written: list[float] = []
    for x in sorted(places, key=lambda x: (x not in decisive, x)):
        mine = x in decisive
        axes.axvline(x, color=ORANGE if mine else FAINT, linewidth=1.0, linestyle=(0, (4, 2)), zorder=0)
        if any(abs(float(scaled(x) - scaled(other))) < ROOM * width for other in written):
            continue
        written.append(x)
        axes.annotate(
            number(x, digits), (x, 1.0), (0, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="center", fontsize=8, color=ORANGE if mine else INK,
        )  # fmt: skip


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
        drawn = [name for name in group if name in home]  # of very many classes only some are
        if drawn:
            heights.update(dict.fromkeys(drawn, float(np.mean([home[name] for name in drawn]))))
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
    drawn = canvas((6.5, 1.6 + 0.4 * len(rows)))
    axes = drawn.add_subplot()
    edges = [ends[0], *starts, ends[1]]
    for stage, low, high in zip(answer["path"], edges, edges[1:], strict=False):
        axes.plot([low, high], [-rows.index(stage["state"])] * 2, color=BLUE, linewidth=6, solid_capstyle="butt")
    decisive = [x for x in starts if answer["threshold"] is not None and x == answer["threshold"]["value"]]
    marked(axes, starts, decisive, log=not plain, ends=(ends[0], ends[1]), digits=5)
    if not plain:
        logarithmic(axes, "x")
    axes.set_xlim(*ends)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.set_yticks(range(0, -len(rows), -1), rows)
    axes.set_xlabel(answer["over"])
    one, two = answer["nouns"]
    found = answer["threshold"]
    change = "" if found is None else f": {found['before']} to {found['after']} at {number(float(found['value']), 5)}"
    entitled(drawn, f"How {one}s and {two}s stand{change}", question(answer, (answer["over"],)))
    return drawn
