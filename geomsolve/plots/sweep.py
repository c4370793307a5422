"""Angles and loss along one parameter, with collapse marked; or the smallest angle over two, a phase diagram."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    SEQUENTIAL,
    canvas,
    entitled,
    logarithmic,
    number,
    spaced_in_log,
)
from geomsolve.plots._words import question
from geomsolve.words import counted

NARROW = 20.0
"""Degrees that the axis of angles spans at least: less is hardly seen in training."""


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``sweep`` answer."""
    if "nouns" in answer:
        return _sides(answer)
    return _curves(answer) if len(answer["over"]) == 1 else _phases(answer)


def _label(name: str) -> str:
    return {"majority": "share of the largest class", "imbalance": "imbalance, largest over smallest class"}.get(
        name, name.replace("_", " ")
    )


def _points(answer: dict[str, Any]) -> str:
    """What the angles are between."""
    return "classifiers" if "feature_min_angle_deg" in answer["rows"][0] else "classes"


def said(answer: dict[str, Any]) -> str:
    """What happens along the way, in words."""
    rows = answer["rows"]
    if "nouns" in answer:
        tied, (one, two) = sum(row["tied"] for row in rows), answer["nouns"]
        return f"{one.capitalize()}s and {two}s coincide at {tied:,} of {counted(len(rows), 'point')}"
    marks = (answer["collapse"] or []) if len(answer["over"]) == 1 else []
    places = [mark[name] for mark in marks for name in answer["over"]]
    if len(places) == 1 and isinstance(places[0], (int, float)):
        (name,) = answer["over"]
        what = "Classes merge" if marks[0].get("structure") == "minority collapse" else "The smaller classes collapse"
        return f"{what} {'from' if marks[0]['collapsed_above'] else 'up to'} {_label(name)} {number(places[0])}"
    merged = sum(row["structure"] in ("minority collapse", "total collapse") for row in rows)
    if merged:
        return f"Classes collapse at {merged:,} of {counted(len(rows), 'point')}"
    low, high = ([_shown(row, key) for row in rows] for key in ("min_angle_deg", "max_angle_deg"))
    if not np.any(np.isfinite(low)):
        return "The loss does not fix the angles"
    return f"No classes collapse: angles from {np.nanmin(low):.1f}° to {np.nanmax(high):.1f}°"


def _title(drawn: Any, answer: dict[str, Any]) -> None:
    entitled(drawn, said(answer), question(answer, tuple(answer["over"])))


def _shown(row: dict[str, Any], angle: str) -> float:
    """An angle of a point, nan where the loss leaves the angles open."""
    known = row["structure"] != "undetermined" and row[angle] is not None
    return float(row[angle]) if known else float("nan")


def _curves(answer: dict[str, Any]) -> Any:
    (name,) = answer["over"]
    rows = sorted((row for row in answer["rows"] if isinstance(row[name], (int, float))), key=lambda row: row[name])
    x = [row[name] for row in rows]
    drawn = canvas((6.5, 5.0))
    upper, lower = drawn.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    curves = (("max_angle_deg", "largest", GREEN, "-"), ("min_angle_deg", "smallest", BLUE, "-"),
              ("rarest_angle_deg", "two rarest classes", INK, (0, (1, 1.5))))  # fmt: skip
    for key, text, colour, line in curves:
        upper.plot(x, [_shown(row, key) for row in rows], color=colour, linestyle=line, label=text)
    if "feature_min_angle_deg" in answer["rows"][0]:
        shown = [_shown(row, "feature_min_angle_deg") for row in rows]
        upper.plot(x, shown, color=BLUE, linestyle=(0, (4, 2)), label="smallest, feature means")
    upper.set_ylabel(f"angle of {_points(answer)}, degrees")
    known = [y for line in upper.get_lines() for y in line.get_ydata() if np.isfinite(y)]
    if known:
        middle, half = (max(known) + min(known)) / 2, max(max(known) - min(known), NARROW) / 2
        upper.set_ylim(max(-4, middle - 1.08 * half), min(184, middle + 1.08 * half))
    upper.legend(loc="lower center", bbox_to_anchor=(0.5, 1.06), ncols=4)
    lower.plot(x, [row["value"] for row in rows], color=BLUE)
    lower.set_ylabel("optimal loss, nats")
    lower.set_xlabel(_label(name))
    if x and spaced_in_log(x):
        logarithmic(lower, "x")
    for change in answer["collapse"] or []:
        place = change[name]
        if not isinstance(place, (int, float)):
            continue
        for axes in (upper, lower):
            axes.axvline(place, color=ORANGE, linewidth=1.0, linestyle=(0, (4, 2)), zorder=0)
        word = "collapse from" if change["collapsed_above"] else "collapse up to"
        if change.get("structure") == "minority collapse":
            word = "merging from"
        if len(answer["collapse"]) > 1:  # beside each other they would overlap
            upper.annotate(
                f"{word} {number(place)}", (place, 0.02), (-2, 0), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="right", va="bottom", rotation=90, color=ORANGE, fontsize=8,
            )  # fmt: skip
            continue
        upper.annotate(
            f"{word} {number(place)}", (place, 1.0), (0, 3), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center", color=ORANGE, fontsize=8,
        )  # fmt: skip
    _title(drawn, answer)
    return drawn


def _edges(values: list[float]) -> Any:
    """Cell borders half-way between ascending values, in the logarithm where that is how they are spaced."""
    log = spaced_in_log(values)
    at = np.log(values) if log else np.asarray(values, dtype=float)
    middle = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([[at[0] - (middle[0] - at[0])], middle, [at[-1] + (at[-1] - middle[-1])]])
    return np.exp(edges) if log else edges


def _phases(answer: dict[str, Any]) -> Any:
    down, across = answer.get("axes", answer["over"])
    rows, columns = answer["over"][down], answer["over"][across]
    angles = {(row[down], row[across]): _shown(row, "min_angle_deg") for row in answer["rows"]}
    x = sorted({value for value in columns if isinstance(value, (int, float))})
    y = sorted({value for value in rows if isinstance(value, (int, float))})
    shown = np.array([[angles[b, a] for a in x] for b in y])
    drawn = canvas((6.5, 4.6))
    axes = drawn.add_subplot()
    image: Any
    if len(x) > 1 and len(y) > 1:
        image = axes.pcolormesh(_edges(x), _edges(y), shown, cmap=SEQUENTIAL, vmin=0, rasterized=shown.size > 2000)
    else:
        image = axes.scatter(*np.meshgrid(x, y), c=shown, cmap=SEQUENTIAL, vmin=0)
    bar = drawn.colorbar(image, ax=axes, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(f"smallest angle between two {_points(answer)}, degrees")
    if len(x) > 1 and spaced_in_log(x):
        logarithmic(axes, "x")
    if len(y) > 1 and spaced_in_log(y):
        logarithmic(axes, "y")
    from matplotlib.patheffects import withStroke

    marks = sorted((change[across], change[down]) for change in answer["collapse"] or [])
    if marks:
        limits = axes.get_xlim(), axes.get_ylim()
        axes.plot(*zip(*marks, strict=True), color=ORANGE, marker="o", markersize=2.5, linewidth=1.4)
        a, b = marks[len(marks) // 2]
        axes.annotate(
            "collapse sets in", (a, b), (6, 6), textcoords="offset points", color="white", fontsize=8, weight="bold",
            path_effects=[withStroke(linewidth=2, foreground=INK)],
        )  # fmt: skip
        axes.set_xlim(limits[0])
        axes.set_ylim(limits[1])
    axes.set_xlabel(_label(across))
    axes.set_ylabel(_label(down))
    _title(drawn, answer)
    return drawn


def _sides(answer: dict[str, Any]) -> Any:
    """Of two sides: angles and modality gap along the first parameter, one line for each value of the second."""
    name, *second = answer["axes"]
    drawn = canvas((6.5, 4.4))
    upper, lower = drawn.subplots(2, 1, sharex=True, height_ratios=(1.6, 1))
    one, two = answer["nouns"]
    for value in answer["over"][second[0]] if second else [None]:
        rows = sorted((r for r in answer["rows"] if value is None or r[second[0]] == value), key=lambda r: r[name])
        x = [row[name] for row in rows]
        (line,) = upper.plot(x, [row["modality_gap"] for row in rows], label=None if value is None else number(value))
        tied = [row for row in rows if row["tied"]]
        upper.plot([r[name] for r in tied], [r["modality_gap"] for r in tied], "o", color=line.get_color(), ms=3)
        own = [row["partner_angle_deg"] for row in rows]
        lower.plot(x, [float("nan") if angle is None else angle for angle in own], color=line.get_color())
    upper.set_ylabel("modality gap")
    upper.set_title(f"Dots: {one}s and {two}s coincide", fontsize=8)
    upper.set_ylim(-0.05, 2.05)
    lower.set_ylabel("degrees apart")
    lower.set_title(f"From each {one} to its own {two}", fontsize=8)
    lower.set_xlabel(_label(name))
    if second:
        upper.legend(title=_label(second[0]), loc="best")
    _title(drawn, answer)
    return drawn
