"""Two sides: the cosines between them, both sets of points in one picture, partners linked, and what a gap costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.gram.types import FloatArray
from geomsolve.plots._geometry import NAMED, WRITTEN, embed, labelled
from geomsolve.plots._style import (
    BLUE,
    CELL,
    DIVERGING,
    FAINT,
    INK,
    ORANGE,
    canvas,
    clipped,
    entitled,
    number,
    proof_of,
)
from geomsolve.plots._words import question


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``crossmodal`` answer; of one stored without its cosines their ranges alone."""
    priced = answer["modality_gap"]["curve"] is not None
    if answer["cross"] is None:
        drawn = canvas((5.4 + 3.6 * priced, 2.6))
        grid = drawn.add_gridspec(1, 1 + priced)
        bars(drawn.add_subplot(grid[0]), answer)
    else:
        drawn = canvas((8.6 + 3.4 * priced, 4.0))
        grid = drawn.add_gridspec(1, 2 + priced, width_ratios=(1.1, 1, 0.9)[: 2 + priced])
        first, cross, second = (np.array(answer[key]) for key in ("first", "cross", "second"))
        heatmap(drawn.add_subplot(grid[0]), cross, answer)
        gram = np.block([[first, cross], [cross.T, second]])
        points(drawn.add_subplot(grid[1]), gram, first.shape[0], answer)
    if priced:
        gap_price(drawn.add_subplot(grid[-1]), answer["modality_gap"])
    entitled(drawn, f"{_answer(answer)} ({proof_of(answer)})", question(answer))
    return drawn


def _answer(answer: dict[str, Any]) -> str:
    """How the two sides stand, in words."""
    one, two = answer["nouns"]
    said = {
        "tied": f"Every {one} lies on its own {two}",
        "apart": f"{one.capitalize()}s and {two}s are apart",
        "antipodal": f"All {one}s at one point, all {two}s at the opposite one",
    }
    kind = str(answer["structure"]["kind"])
    return said.get(kind, kind[:1].upper() + kind[1:])


def heatmap(axes: Any, cross: FloatArray, answer: dict[str, Any]) -> None:
    """Cosines between the sides, the first down and the second across."""
    one, two = answer["nouns"]
    image = axes.imshow(cross, cmap=DIVERGING, vmin=-1, vmax=1, interpolation="nearest")
    axes.figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03).outline.set_visible(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    axes.set(title=f"Cosine of {one} (down) and {two} (across)", xlabel=two, ylabel=one)
    rows, columns = cross.shape
    names = [clipped(name) for name in answer["names"] or map(str, range(1, rows + 1))]
    if rows <= NAMED:
        axes.set_yticks(range(rows), names)
    if columns <= NAMED:
        axes.set_xticks(range(columns), names if columns == rows else [str(j + 1) for j in range(columns)])
    if max(rows, columns) <= WRITTEN:
        for (i, j), value in np.ndenumerate(cross):
            ink = "white" if abs(value) > 0.65 else INK
            axes.text(j, i, f"{value:z.2f}", ha="center", va="center", color=ink, fontsize=7, label=CELL)


def points(axes: Any, gram: FloatArray, n_first: int, answer: dict[str, Any]) -> None:
    """Both sides in the plane that shows most of them, each point linked to its partner."""
    place, share = embed(gram, 2)
    circle = np.linspace(0, 2 * np.pi, 400)
    axes.plot(np.cos(circle), np.sin(circle), color=FAINT, linewidth=0.8, zorder=1)
    for i, j in answer["links"]:
        axes.plot(*place[[i, n_first + j]].T, color=FAINT, linewidth=1.0, zorder=2)
    one, two = answer["nouns"]
    x, y = place[:n_first], place[n_first:]
    axes.scatter(*x.T, s=30, color=BLUE, linewidth=0, zorder=3, label=f"{one}s")
    axes.scatter(*y.T, s=34, facecolors="none", edgecolors=ORANGE, linewidth=1.2, zorder=4, label=f"{two}s")
    if n_first <= NAMED:
        labelled(axes, x, answer["names"])
    shown = "exact" if share > 1 - 1e-9 else f"a plane: {share:.0%}"
    axes.set_title(f"Modality gap {number(answer['modality_gap']['value'], 3)} ({shown})")
    axes.legend(loc="lower center", ncol=2, bbox_to_anchor=(0.5, -0.08))
    axes.set(aspect="equal", xlim=(-1.6, 1.6), ylim=(-1.35, 1.35))
    axes.set_axis_off()


def gap_price(axes: Any, gap: dict[str, Any]) -> None:
    """What a modality gap costs, from the optimum to two sides at opposite points; shaded what costs nothing."""
    axes.plot(*zip(*gap["curve"], strict=True), color=BLUE)
    free = gap["low"] is not None and gap["high"] > gap["low"] + 1e-3
    if free:
        axes.axvspan(gap["low"], gap["high"], color=FAINT, alpha=0.25, linewidth=0)
    axes.plot([gap["forced"]], [gap["price"]], "o", color=ORANGE)
    text = f"{number(gap['forced'], 3)}: {number(gap['price'], 2)}"
    axes.annotate(text, (gap["forced"], gap["price"]), (-5, 5), textcoords="offset points", ha="right")
    axes.set_title(f"Price of a modality gap{'; shaded costs nothing' if free else ''}")
    axes.set(xlabel="modality gap forced", ylabel="price in nats", xlim=(0, 2.02))
    axes.set_ylim(bottom=0)


def bars(axes: Any, answer: dict[str, Any]) -> None:
    """From the smallest to the largest cosine, of partners, of all others, and within either side."""
    one, two = answer["nouns"]
    kinds = {"partners": f"{one} and own {two}", "others": f"{one} and other {two}s"}
    kinds |= {"first": f"{one}s", "second": f"{two}s"}
    shown = [(label, answer["structure"][key]) for key, label in kinds.items() if answer["structure"][key]]
    for row, (_, extreme) in enumerate(shown):
        low, high = extreme["min_cosine"], extreme["max_cosine"]
        axes.plot([low, high], [row, row], color=BLUE, linewidth=3, solid_capstyle="butt")
        axes.scatter([low, high], [row, row], color=BLUE, s=22, zorder=3, linewidth=0)
    axes.set_yticks(range(len(shown)), [label for label, _ in shown])
    axes.set(xlim=(-1.05, 1.05), ylim=(len(shown) - 0.5, -0.5), xlabel="cosine")
    axes.set_title(f"Modality gap {number(answer['modality_gap']['value'], 3)}")
