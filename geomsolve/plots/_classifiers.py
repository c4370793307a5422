"""Features and classifiers: the cosines of both, and their lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._geometry import NAMED, heatmap
from geomsolve.plots._style import BLUE, ORANGE, canvas, clipped, entitled, proof_of
from geomsolve.plots._words import geometry, question


def figure(answer: dict[str, Any]) -> Any:
    """The picture of an ``imbalance`` answer on features and classifiers; None for one stored without its cosines."""
    if "gram" not in answer["classifiers"]:
        return None
    order = np.argsort([-entry["proportion"] for entry in answer["classes"]], kind="stable")
    names = [answer["classes"][a]["name"] for a in order]
    drawn = canvas((11, 3.7))
    grid = drawn.add_gridspec(1, 3, width_ratios=(1.15, 1.15, 1))
    for place, (key, title) in enumerate((("classifiers", "classifiers"), ("features", "feature means"))):
        cosines = np.array([[0.0 if x is None else x for x in row] for row in answer[key]["gram"]])
        axes = drawn.add_subplot(grid[place])
        heatmap(axes, cosines[np.ix_(order, order)], names)
        axes.set_title(f"Cosine between {title}")
    axes = drawn.add_subplot(grid[2])
    places = np.arange(len(names))
    for key, title, colour, marker in (
        ("features", "feature mean", BLUE, "o"),
        ("classifiers", "classifier", ORANGE, "s"),
    ):
        lengths = np.array(answer[key]["norms"])[order]
        axes.plot(places, lengths, color=colour, marker=marker, markersize=4, linewidth=0.8, label=title)
    axes.set_ylim(bottom=0)
    axes.set_title("Length")
    axes.legend(frameon=False)
    if len(names) <= NAMED:
        labels = [clipped(name) for name in names]
        axes.set_xticks(places, labels, rotation=90 if max(map(len, labels)) > 2 else 0)
    else:
        axes.set_xlabel("class, most frequent first")
    entitled(drawn, f"Classifiers: {geometry(answer['structure'])} ({proof_of(answer)})", question(answer))
    return drawn
