"""Spectrum allocation: what augmentations change against the water level, and the power that survives."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._style import BLUE, FAINT, GREEN, ORANGE, canvas, entitled, number, spaced_in_log


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``spectrum`` answer: variance and water level on top, allocated power below."""
    frequencies, allocation = np.array(answer["frequencies"]), np.array(answer["allocation"])
    variance = np.array([float(x) for x in answer["variance"]])
    finite = np.isfinite(variance)
    drawn = canvas((6.5, 5))
    top, bottom = drawn.subplots(2, 1, sharex=True)
    top.plot(frequencies[finite], variance[finite], color=ORANGE, label="changed by augmentations")
    level = float(answer["water_level"])
    if np.isfinite(level):
        top.axhline(level, color=BLUE, linestyle="--", label=f"water level {number(level, 3)}")
        if np.any(finite & (variance > 0)):
            top.set_yscale("log")
    top.set_ylabel("part of the power")
    top.legend()
    top.set_title("What augmentations change, and the level below which it survives")

    bottom.vlines(frequencies, 0, allocation, color=BLUE, linewidth=max(0.5, min(6.0, 250 / frequencies.size)))
    bottom.set_ylabel("feature power", color=BLUE)
    bottom.set_ylim(bottom=0)
    bottom.set_xlabel("cycles across the image")
    filters = bottom.twinx()
    filters.spines["right"].set_visible(True)
    filters.plot(frequencies, answer["gain"], color=GREEN, linewidth=1.2)
    filters.set_ylabel("filter gain", color=GREEN)
    filters.set_ylim(bottom=0)
    if frequencies.size > 1 and spaced_in_log(frequencies.tolist()):
        bottom.set_xscale("log")
    else:
        bottom.xaxis.get_major_locator().set_params(integer=True)
    for axes in (top, bottom):
        axes.grid(axis="x", color=FAINT, alpha=0.2)
    kept, n = len(answer["surviving"]), frequencies.size
    entitled(drawn, f"{kept:,} of {n:,} frequencies survive")
    return drawn
