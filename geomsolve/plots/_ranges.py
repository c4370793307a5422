"""How far cosines may be at a loss a little above the optimum: a bar a pair, the optimum marked on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.plots._style import BLUE, FAINT, INK, SKY, clipped, number

MOST_BARS = 15
"""Pairs that have a bar: the widest and the narrowest where there are more."""

FEWEST = 6
"""Bars that there is room for even where they are fewer, so that none is a block."""


def bars(axes: Any, ranges: dict[str, Any], gram: FloatArray, names: Sequence[str]) -> None:
    """The ranges of JSON as bars from low to high, the widest on top; ``gram`` (K, K) has the optimal cosines."""
    pairs = sorted(ranges["pairs"], key=lambda pair: pair["high"] - pair["low"])
    left_out = len(pairs) - MOST_BARS
    if left_out > 0:
        few = MOST_BARS // 2
        pairs = [*pairs[:few], *pairs[few - MOST_BARS :]]
    place = {name: position for position, name in enumerate(names)}
    best = [gram[place[a], place[b]] for a, b in (pair["classes"] for pair in pairs)]
    heights = np.arange(len(pairs))
    low = np.array([pair["low"] for pair in pairs])
    high = np.array([pair["high"] for pair in pairs])
    if low.min() <= 0 <= high.max():
        axes.axvline(0, color=FAINT, linewidth=0.6, zorder=0)
    axes.barh(heights, high - low, left=low, height=0.62, color=SKY, zorder=1)
    axes.vlines(
        np.concatenate([low, high]), np.tile(heights - 0.31, 2), np.tile(heights + 0.31, 2), color=BLUE, zorder=2
    )
    axes.scatter(best, heights, s=20, color=INK, zorder=3, linewidth=0)
    axes.set_yticks(heights, [" / ".join(clipped(name, 8) for name in pair["classes"]) for pair in pairs])
    axes.tick_params(axis="y", length=0)
    ends = float(min(low.min(), *best)), float(max(high.max(), *best))
    room = 0.05 * max(ends[1] - ends[0], 0.05)
    axes.set_xlim(max(-1.03, ends[0] - room), min(1.03, ends[1] + room))
    axes.set_ylim(-0.6, max(len(pairs), FEWEST) - 0.4)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("cosine; the dot is the optimum")
    axes.locator_params(axis="x", nbins=5)
    some = f", {len(pairs)} of {len(ranges['pairs'])} pairs" if left_out > 0 else ""
    axes.set_title(f"Within {number(ranges['slack'], 3)} nats{some}")
