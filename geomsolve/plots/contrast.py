"""The same classes under several losses: a row a loss, its smallest angles, and what a regular simplex would lose."""

from __future__ import annotations

from typing import Any

from geomsolve.plots._style import BLUE, FAINT, INK, ORANGE, canvas, clipped, entitled, fitted, logarithmic
from geomsolve.plots._words import classes

SMALLEST = 1e-9
"""Nats below which a loss is drawn at the edge."""


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``contrast`` answer."""
    rows = [row for row in answer["rows"] if row["min_angle_deg"] is not None]
    minority = any(row["minority_angle_deg"] is not None for row in rows)
    drawn = canvas((7.0, 1.4 + 0.26 * len(rows)))
    axes, costs = drawn.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    axes.axvline(answer["simplex_angle_deg"], color=FAINT, linewidth=1.0, linestyle=(0, (4, 2)), zorder=0)
    above: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "ha": "center", "fontsize": 8}
    axes.annotate("regular simplex", (answer["simplex_angle_deg"], 1.0), (0, 3), color=FAINT, **above)
    for i, row in enumerate(rows):
        fill = {} if row["fixed"] else {"markerfacecolor": "none"}
        axes.plot([row["min_angle_deg"]], [-i], "o", color=BLUE, markersize=6, **fill)
        if row["minority_angle_deg"] is not None:
            axes.plot([row["minority_angle_deg"]], [-i], "o", color=ORANGE, markersize=3.5, **fill)
        excess = row["simplex_excess"]
        if excess is not None:
            costs.plot([SMALLEST, max(excess, SMALLEST)], [-i, -i], color=INK, linewidth=1.4)
            costs.plot([max(excess, SMALLEST)], [-i], "o", color=INK, markersize=5, clip_on=False)
    axes.set_yticks(range(0, -len(rows), -1), [clipped(row["loss"], 30) for row in rows])
    axes.tick_params(axis="y", length=0)
    costs.tick_params(axis="y", length=0)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    both = [row[key] for row in rows for key in ("min_angle_deg", "minority_angle_deg") if row[key] is not None]
    fitted(axes, [*both, answer["simplex_angle_deg"]], least=20.0)
    axes.xaxis.set_major_formatter("{x:g}°")
    hollow = "\nhollow: one of many geometries that the loss likes as well" if not all(r["fixed"] for r in rows) else ""
    axes.set_xlabel("smallest angle" + ("; small dots: of the smaller classes" if minority else "") + hollow)
    logarithmic(costs, "x")
    costs.set_xlim(SMALLEST, 10)
    costs.set_xticks([1e-9, 1e-6, 1e-4, 1e-2, 1], ["≤1e-9", "1e-6", "1e-4", "0.01", "1"])
    costs.set_xlabel("a simplex loses, nats")
    entitled(drawn, f"The same classes under {len(rows)} losses", classes(answer))
    return drawn
