"""Measured against predicted cosines of the class means."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._geometry import agreement
from geomsolve.plots._style import FAINT, clipped, loss_of, number


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``compare`` answer; None for one stored without its cosines, as there are too many."""
    from matplotlib.figure import Figure

    if "gram" not in answer["measured"]:
        return None
    predicted, measured = (np.array(answer[part]["gram"]) for part in ("prediction", "measured"))
    drawn = Figure(figsize=(4.8, 4.8))
    axes = drawn.add_subplot()
    pair = agreement(axes, predicted, measured, ("measured", "cosine"))
    within = answer["problem"]["within"]
    ends = np.array(axes.get_xlim())
    axes.fill_between(ends, ends - within, ends + within, color=FAINT, alpha=0.2, linewidth=0, zorder=0)
    names = " / ".join(clipped(answer["classes"][a]["name"]) for a in pair)
    error = number(answer["max_gram_error"], 2)
    axes.set_title(f"shaded: within {number(within)}; orange: largest difference {error}, {names}", fontsize=8)
    drawn.suptitle(f"{loss_of(answer)}: {answer['verdict']}", x=0.01, ha="left", fontsize=10)
    return drawn
