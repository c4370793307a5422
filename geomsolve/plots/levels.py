"""The levels of a loss on one axis, with the user's value among them."""

from __future__ import annotations

from typing import Any

from geomsolve.plots._style import BLUE, FAINT, GREEN, INK, ORANGE, canvas, entitled, number
from geomsolve.plots._words import question


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``levels`` answer; None for one that finds a setting."""
    if "matches" in answer:
        return None
    levels = [
        ("random start", answer["random_start"], FAINT),
        ("total collapse", answer["collapse"], ORANGE),
        ("optimum", answer["optimum"], GREEN),
    ]
    if answer["optimum_random_batches"] not in (None, answer["optimum"]):
        levels.append(("optimum, random batches", answer["optimum_random_batches"], BLUE))
    if answer["loss_value"] is not None:
        levels.append(("yours", answer["loss_value"], INK))
    levels.sort(key=lambda level: -level[1])
    drawn = canvas((6.5, 0.9 + 0.34 * len(levels)))
    axes = drawn.add_subplot()
    low, high = min(value for _, value, _ in levels), max(value for _, value, _ in levels)
    width = high - low or 1.0
    best, worst = answer["optimum"], answer["collapse"]
    axes.axvspan(best, worst, color="#EFEFEF", zorder=0, linewidth=0)
    for i, (_, value, colour) in enumerate(levels):
        axes.plot([value, value], [-i - 0.34, -i + 0.34], color=colour, linewidth=3, solid_capstyle="butt")
        axes.annotate(number(value, 5), (value, -i), (5, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(0, -len(levels), -1), [name for name, _, _ in levels])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlim(low - 0.04 * width, high + 0.14 * width)
    axes.set_ylim(-len(levels) + 0.4, 0.6)
    axes.set_xlabel("loss value; shaded from the optimum to total collapse")
    position = answer.get("position")
    place = "" if position is None else f"Yours stands at {position:.0%} of the way from the optimum to total collapse"
    if position is not None and position < 0:
        place = "Yours is below the optimum: it was not measured as these levels are"
    entitled(drawn, place, question(answer))
    return drawn
