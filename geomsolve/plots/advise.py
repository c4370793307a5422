"""What each change does to the angles, side by side: a row a change, the best on top, the angle now a line."""

from __future__ import annotations

from typing import Any

from geomsolve.plots._style import BLUE, FAINT, INK, ORANGE, canvas, clipped, entitled, fitted
from geomsolve.plots._words import question

MOST = 30
"""Changes that are drawn."""

SAME = 0.5
"""Degrees by which an angle has to differ from now to be drawn as better or worse."""


def figure(answer: dict[str, Any]) -> Any:
    """The picture of an ``advise`` answer."""
    smaller = answer["want"] in ("separate",) or answer["want"].startswith("minority")
    key = "minority_angle_deg" if smaller and answer["now"]["minority_angle_deg"] is not None else "min_angle_deg"
    options = [option for option in answer["options"] if option[key] is not None][:MOST]
    now = answer["now"][key]
    drawn = canvas((6.5, 1.3 + 0.22 * len(options)))
    axes = drawn.add_subplot()
    axes.axvline(now, color=INK, linewidth=1.0, zorder=0)
    above: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "ha": "center", "fontsize": 8}
    axes.annotate("now", (now, 1.0), (0, 3), **above)
    if answer["wanted_deg"] is not None:
        axes.axvline(answer["wanted_deg"], color=FAINT, linewidth=1.0, linestyle=(0, (4, 2)), zorder=0)
        near = abs(answer["wanted_deg"] - now) < 12
        axes.annotate("wanted", (answer["wanted_deg"], 1.0), (0, 13 if near else 3), color=FAINT, **above)
    for i, option in enumerate(options):
        angle = option[key]
        fixed = option["fixed"]
        colour = FAINT if not fixed or abs(angle - now) < SAME else BLUE if angle > now else ORANGE
        if fixed:
            axes.plot([now, angle], [-i, -i], color=colour, linewidth=1.4)
        axes.plot([angle], [-i], "o", color=colour, markerfacecolor=colour if fixed else "none", markersize=5)
    axes.set_yticks(range(0, -len(options), -1), [label(option["change"]) for option in options])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-len(options) + 0.4, 0.6)
    wanted = [] if answer["wanted_deg"] is None else [answer["wanted_deg"]]
    fitted(axes, [now, *wanted, *(option[key] for option in options)], least=20.0)
    axes.xaxis.set_major_formatter("{x:g}°")
    who = "two smaller classes" if key.startswith("minority") else "two classes"
    axes.set_xlabel(f"smallest angle of {who}")
    entitled(drawn, f"What each change does: from {now:.1f}° now", question(answer))
    return drawn


def label(change: dict[str, Any]) -> str:
    """A change in a few words."""
    said = [f"{key.replace('_', ' ')} {value:g}" if type(value) is float else f"{key.replace('_', ' ')} {value}"
            for key, value in change.items()]  # fmt: skip
    return clipped(", ".join(said), 52)
