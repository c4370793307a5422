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
    logarithmic,
    loss_of,
    number,
    spaced_in_log,
)


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


def _title(answer: dict[str, Any]) -> str:
    loss = {key: value for key, value in answer["problem"]["loss"].items() if key not in answer["over"]}
    return loss_of({"problem": {"loss": loss}})


def _shown(row: dict[str, Any], angle: str) -> float:
    """An angle of a point, nan where the loss leaves the angles open."""
    known = row["structure"] != "undetermined" and row[angle] is not None
    return float(row[angle]) if known else float("nan")


def _curves(answer: dict[str, Any]) -> Any:
    (name,) = answer["over"]
    rows = sorted((row for row in answer["rows"] if isinstance(row[name], (int, float))), key=lambda row: row[name])
    x = [row[name] for row in rows]
    drawn = canvas((6.5, 4.4))
    upper, lower = drawn.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    curves = (("max_angle_deg", "largest", GREEN, "-"), ("min_angle_deg", "smallest", BLUE, "-"),
              ("rarest_angle_deg", "two rarest classes", INK, (0, (1, 1.5))))  # fmt: skip
    for key, text, colour, line in curves:
        upper.plot(x, [_shown(row, key) for row in rows], color=colour, linestyle=line, label=text)
    if "feature_min_angle_deg" in answer["rows"][0]:
        shown = [_shown(row, "feature_min_angle_deg") for row in rows]
        upper.plot(x, shown, color=BLUE, linestyle=(0, (4, 2)), label="smallest, feature means")
    upper.set_ylabel(f"angle between {_points(answer)}, degrees")
    upper.set_ylim(-4, 184)
    upper.set_yticks([0, 60, 90, 120, 180])
    upper.legend(loc="best")
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
    drawn.suptitle(_title(answer), x=0.01, ha="left", fontsize=10)
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
    marks = sorted((change[across], change[down]) for change in answer["collapse"] or [])
    if marks:
        limits = axes.get_xlim(), axes.get_ylim()
        axes.plot(*zip(*marks, strict=True), color=ORANGE, marker="o", markersize=2.5, linewidth=1.4)
        a, b = marks[len(marks) // 2]
        axes.annotate(
            "collapse sets in", (a, b), (6, 6), textcoords="offset points", color="white", fontsize=8, weight="bold"
        )
        axes.set_xlim(limits[0])
        axes.set_ylim(limits[1])
    axes.set_xlabel(_label(across))
    axes.set_ylabel(_label(down))
    drawn.suptitle(_title(answer), x=0.01, ha="left", fontsize=10)
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
    upper.set_ylabel("modality gap (dots: coincide)")
    upper.set_ylim(-0.05, 2.05)
    lower.set_ylabel(f"{one} to own {two}, degrees")
    lower.set_xlabel(_label(name))
    if second:
        upper.legend(title=_label(second[0]), loc="best")
    drawn.suptitle(_title(answer), x=0.01, ha="left", fontsize=10)
    return drawn
