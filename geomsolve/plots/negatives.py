"""Finite negatives against the limit: the difference between its bounds, and how the optimal angles move."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._style import BLUE, FAINT, INK, ORANGE, angles, canvas, entitled
from geomsolve.plots._words import question


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``negatives`` answer: limit - R(k) between its bounds, and the range of angles, over k."""
    from matplotlib.ticker import SymmetricalLogLocator

    rows = answer["rows"]
    k = [row["negatives"] for row in rows]
    least = answer["least_negatives"]
    drawn = canvas((9, 3.6))
    left, right = drawn.subplots(1, 2)

    shown = 100 * max(1.0, *(abs(row["difference"]) for row in rows))  # beyond, bounds leave no room for the curve
    upper = [min(float(row["upper"]), shown) for row in rows]
    lower = [row["lower"] for row in rows]
    left.fill_between(k, lower, upper, color=FAINT, alpha=0.25, linewidth=0)
    left.plot(k, [row["difference"] for row in rows], color=BLUE, marker="o", markersize=4, label="exact")
    left.plot(
        k, [row["lower"] for row in rows], color=INK, linewidth=0.9, linestyle="--", label="bounds, any embedding"
    )
    left.plot(k, upper, color=INK, linewidth=0.9, linestyle="--")
    left.axhline(0, color=FAINT, linewidth=0.8)
    left.axhspan(-least["accuracy"], least["accuracy"], color=ORANGE, alpha=0.25, linewidth=0)
    if least["exact"] is not None:
        text = f"within {least['accuracy']:g}: {least['exact']:,} negatives"
        left.axvline(least["exact"], color=ORANGE, linewidth=1, linestyle=":", label=text)
    left.set_yscale("symlog", linthresh=max(least["accuracy"], 1e-6))
    left.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=max(least["accuracy"], 1e-6)))
    left.yaxis.get_major_locator().set_params(numticks=7)
    left.set_ylim(bottom=2 * min(-least["accuracy"], *lower))
    left.set_ylabel("limit - R(k), nats")
    left.set_title("Loss: how far from infinitely many negatives")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3)

    low, high = (angles(np.array([row[key] for row in rows])) for key in ("max_cosine", "min_cosine"))
    right.plot(k, high, color=BLUE, marker="o", markersize=4, label="largest angle")
    right.plot(k, low, color=ORANGE, marker="s", markersize=4, label="smallest angle")
    for cosine in (answer["structure"]["min_cosine"], answer["structure"]["max_cosine"]):
        right.axhline(angles(cosine), color=FAINT, linewidth=0.8, linestyle="--")
    right.set_ylabel("degrees")
    right.set_title("Optimal geometry (dashed: the limit)")
    right.legend()
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("negatives k")
    exact = least["exact"]
    enough = "" if exact is None else f": {exact:,} are within {least['accuracy']:g} nats of infinitely many"
    entitled(drawn, f"How many random negatives are enough{enough}", question(answer))
    return drawn
