"""What a modality gap costs, from the optimum to two sides at opposite points."""

from __future__ import annotations

from typing import Any

from geomsolve.plots._style import BLUE, FAINT, ORANGE, number


def draw_gap_price(axes: Any, gap: dict[str, Any]) -> None:
    """The curve of prices of a ``modality_gap`` that was forced, with the gaps that cost nothing and the one asked."""
    axes.plot(*zip(*gap["curve"], strict=True), color=BLUE)
    if gap["low"] is not None and gap["high"] > gap["low"] + 1e-3:
        axes.axvspan(gap["low"], gap["high"], color=FAINT, alpha=0.25, linewidth=0)
        axes.set_title("shaded: gaps of optima, which cost nothing")
    axes.plot([gap["forced"]], [gap["price"]], "o", color=ORANGE)
    text = f"{number(gap['forced'], 3)}: {number(gap['price'], 2)} nats"
    axes.annotate(text, (gap["forced"], gap["price"]), (-4, 6), textcoords="offset points", ha="right")
    axes.set_xlabel("modality gap forced")
    axes.set_ylabel("price in nats")
    axes.set_xlim(0, 2)
    axes.set_ylim(bottom=0)
