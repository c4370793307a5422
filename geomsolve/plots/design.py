"""The weights of a design beside the shares of the classes; of margins, the matrix of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._style import BLUE, DIVERGING, FAINT, GREEN, canvas, clipped, entitled, number
from geomsolve.plots._words import question

SHOWN = 40
"""Classes up to which each has its name."""

LEVEL = 40
"""Characters of all names together up to which they stand level."""

TITLES = {"anchors": "anchor mass", "denominators": "in denominators", "batches": "how often it comes"}


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``design`` answer: of the weights found, else of the nearest; None where there are neither."""
    weights = answer["weights"] if answer["nearest"] is None else answer["nearest"]["weights"]
    if weights is None:
        return None
    change = answer["problem"]["change"]
    names = [clipped(each["name"]) for each in answer["classes"]]
    drawn = canvas((5.2, 4.4) if change == "margins" else (6.4, 3.6))
    axes = drawn.add_subplot()
    if change == "batches":
        groups = [" ".join(names[a - 1] for a in group) for group in weights["batches"]]
        _bars(axes, {"batches": weights["batch_weights"]}, groups, "classes in the batch")
    elif change == "margins":
        _matrix(drawn, axes, np.array(weights), names)
    else:
        shares = [each["proportion"] for each in answer["classes"]]
        _bars(axes, {"share": shares, **(weights if change == "both" else {change: weights})}, names)
    what = "margins" if change == "margins" else "weights"
    target = {
        True: f"With these {what} the target is the optimum",
        False: f"No {what} make the target the optimum; the nearest found",
        None: f"No {what} found that make the target the optimum; the nearest",
    }
    entitled(drawn, target[answer["feasible"]], question(answer))
    if answer["nearest"] is not None:
        axes.set_title(f"every cosine within {number(answer['nearest']['max_gram_error'], 2)} of the target")
    return drawn


def _bars(axes: Any, series: dict[str, Any], names: list[str], what: str = "class") -> None:
    """One bar a class, or whatever else has ``names``, for each of the ``series``."""
    width = 0.8 / len(series)
    for place, (key, values) in enumerate(series.items()):
        at = np.arange(len(names)) + (place - (len(series) - 1) / 2) * width
        color = FAINT if key == "share" else GREEN if place == 2 else BLUE
        axes.bar(at, values, width, color=color, label=TITLES.get(key, key))
    if len(names) <= SHOWN:
        flat = max(map(len, names)) <= 3 or sum(map(len, names)) <= LEVEL
        axes.set_xticks(np.arange(len(names)), names, rotation=0 if flat else 90)
    axes.set_xlabel(what)
    axes.legend()


def _matrix(drawn: Any, axes: Any, margins: Any, names: list[str]) -> None:
    """The margins as colours."""
    end = max(float(np.abs(margins).max()), 1e-12)
    image = axes.imshow(margins, cmap=DIVERGING, vmin=-end, vmax=end)
    drawn.colorbar(image, ax=axes, label="margin added to the cosine")
    if len(names) <= SHOWN:
        axes.set_xticks(np.arange(len(names)), names, rotation=0 if max(map(len, names)) <= 3 else 90)
        axes.set_yticks(np.arange(len(names)), names)
