"""Views of Gram matrices: cosines as a heatmap, class means on their circle or sphere, angles of all pairs, and the
pairs of one against those of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.structure import angle_degrees
from geomsolve.gram.types import FloatArray
from geomsolve.plots._style import (
    BLUE,
    CELL,
    DENSITY,
    DIVERGING,
    FAINT,
    INK,
    ORANGE,
    SKY,
    angles,
    clipped,
    fitted,
    logarithmic,
)

NAMED = 24
"""Classes up to which each is named on an axis."""

WRITTEN = 10
"""Classes up to which cosines are written into the heatmap."""

CROWD = 2000
"""Pairs up to which each is a shape of its own in svg and pdf."""

DENSE = 200
"""Points beyond which their density is drawn."""

RANKED, CELLS = 100, 160
"""Classes beyond which a heatmap is logarithmic in their rank, and its cells along either side."""

FAINTEST = 0.01
"""Cosine that is fully coloured at least: below, everything is at right angles for an eye."""

STEEP = 100
"""Times the usual bar that the highest is where bars are drawn in logarithms."""

SEEN = 400
"""Points up to which the sphere is drawn."""

SHADOW = 0.5
"""Share of the Gram matrix that a plane has to show to be drawn."""

OPEN = "the loss does not fix these angles: this is one of many optima"
"""What is said of a prediction that is one of many optima."""

TIE = 1e-6
"""Weight of the circulant that decides between directions in which the means spread alike, so that a regular
simplex projects to a regular polygon."""


def heatmap(axes: Any, gram: FloatArray, names: Sequence[str]) -> None:
    """Cosines (K, K) between classes, in the order given; the diagonal, which is 1 by definition, is left grey.

    Of very many classes the axes are logarithmic in the rank, so that the few large ones can be seen.
    """
    k = len(names)
    axes.set_facecolor("#D9D9D9")
    axes.set_title("Cosine between class means")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    off = np.abs(gram[~np.eye(k, dtype=bool)])
    limit = _round_up(float(off.max() if k <= NAMED else np.quantile(off, 0.995)))
    look: Any = {"cmap": DIVERGING, "vmin": -limit, "vmax": limit}
    if k > RANKED:
        edges = np.unique(np.geomspace(1, k + 1, CELLS + 1).round().astype(int))
        image = axes.pcolormesh(edges, edges, _averaged(gram, edges - 1), rasterized=True, **look)
        axes.set(xscale="log", yscale="log", xlim=(1, k + 1), ylim=(k + 1, 1), aspect="equal")
        ticks = [10**i for i in range(int(np.log10(k)) + 1)]
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(ticks, [f"{t:,}" for t in ticks])
            axis.set_ticks([], minor=True)
        axes.set_xlabel("class, most frequent first (log)")
    else:
        shown = np.ma.masked_array(gram, np.eye(k, dtype=bool))
        image = axes.imshow(shown, interpolation="nearest", **look)
        _named_or_numbered(axes, names)
    ends = "both" if float(off.max()) > limit * (1 + 1e-9) else "neither"
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03, extend=ends)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2)
    if k <= WRITTEN:
        for a in range(k):
            for b in range(k):
                if a != b:
                    ink = "white" if abs(gram[a, b]) > 0.65 * limit else INK
                    text = f"{gram[a, b]:.2f}".replace("-0.00", "0.00")
                    axes.text(b, a, text, ha="center", va="center", color=ink, fontsize=8 if k <= 6 else 6, label=CELL)


def _named_or_numbered(axes: Any, names: Sequence[str]) -> None:
    """Names of classes on both axes of a heatmap, or a few ranks where they are many."""
    k = len(names)
    if k <= NAMED:
        labels = [clipped(name) for name in names]
        crowded = max(map(len, labels)) > 2
        axes.set_xticks(range(k), labels, rotation=90 if crowded else 0)
        axes.set_yticks(range(k), labels)
        return
    axes.set_xlabel("class, most frequent first")
    ticks = [0, k // 2, k - 1]
    axes.set_xticks(ticks, [f"{t + 1:,}" for t in ticks])
    axes.set_yticks(ticks, [f"{t + 1:,}" for t in ticks])


def _round_up(x: float) -> float:
    """A limit of colours: ``x`` to one digit or more, at least :data:`FAINTEST`, at most 1."""
    x = max(FAINTEST, min(1.0, x))
    unit = 10.0 ** np.floor(np.log10(x) + 1e-9)
    return float(min(1.0, np.ceil(x / unit - 1e-6) * unit))


def _averaged(gram: FloatArray, starts: Any) -> FloatArray:
    """Averages of a matrix over the blocks between ``starts``, its diagonal left out; nan where that is all."""
    off = np.where(np.eye(len(gram), dtype=bool), 0.0, gram)
    sums = np.add.reduceat(np.add.reduceat(off, starts[:-1], axis=0), starts[:-1], axis=1)
    sizes = np.diff(starts)
    counts = np.outer(sizes, sizes) - np.diag(sizes)
    averages: FloatArray = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return averages


def embed(gram: FloatArray, dimensions: int) -> tuple[FloatArray, float]:
    """Coordinates (K, dimensions) that show most of the Gram matrix, and the share of its trace that they show."""
    k = gram.shape[0]
    turn = 2 * np.pi * np.subtract.outer(np.arange(k), np.arange(k)) / k
    size = float(np.trace(gram)) / k
    values, vectors = np.linalg.eigh(gram + TIE * size * np.cos(turn))
    order = np.argsort(values)[::-1][:dimensions]
    points = vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0))
    if points.shape[1] < dimensions:
        points = np.column_stack([points, np.zeros((k, dimensions - points.shape[1]))])
    points = points * np.where(points[0] < 0, -1.0, 1.0)  # the first class points right and up
    return points, float(np.sum(points**2) / np.trace(gram))


def means(
    figure: Any, place: Any, gram: FloatArray, names: Sequence[str], rank: int, title: str = "Class means"
) -> None:
    """Class means as unit vectors: on the circle (rank up to 2), the sphere (3), else their best planar shadow or,
    where no plane shows :data:`SHADOW` of them, how near and how far each has the others."""
    if rank == 3 and len(names) <= SEEN:
        _sphere(figure.add_subplot(place, projection="3d"), gram, names)
        figure.axes[-1].set_title(f"{title} (exact)", loc="left")
        return
    axes = figure.add_subplot(place)
    points, share = embed(gram, 2)
    if rank > 2 and share < SHADOW:
        reach(axes, gram, names)
        return
    circle = np.linspace(0, 2 * np.pi, 400)
    axes.plot(np.cos(circle), np.sin(circle), color=FAINT, linewidth=0.8, zorder=1)
    many = len(names) > NAMED
    for x, y in points if not many else ():
        axes.plot([0, x], [0, y], color=BLUE, linewidth=1.0, alpha=0.5, zorder=2)
    axes.scatter(points[:, 0], points[:, 1], s=8 if many else 26, color=BLUE, zorder=3, linewidth=0)
    if not many:
        labelled(axes, points, names)
    axes.set_title(f"{title} (exact)" if rank <= 2 else f"{title} (a plane: {share:.0%})")
    axes.set_aspect("equal")
    axes.set_xlim(-1.6, 1.6)
    axes.set_ylim(-1.35, 1.35)
    axes.set_axis_off()


def reach(axes: Any, gram: FloatArray, names: Sequence[str]) -> None:
    """For each class, in the order given, a bar from the nearest to the farthest of the others, their mean a dot."""
    k = len(names)
    off = angles(np.where(np.eye(k, dtype=bool), np.nan, gram))
    low, high, mean = np.nanmin(off, axis=1), np.nanmax(off, axis=1), np.nanmean(off, axis=1)
    regular = angle_degrees(simplex_cosine(k))
    axes.axhline(regular, color=ORANGE, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
    place = np.arange(1, k + 1)
    if k <= NAMED:
        axes.vlines(place, low, high, color=SKY, linewidth=max(2.0, min(8.0, 90 / k)), zorder=2)
        axes.scatter(place, mean, s=14, color=BLUE, linewidth=0, zorder=3)
        labels = [clipped(name) for name in names]
        axes.set_xticks(place, labels, rotation=90 if max(map(len, labels)) > 2 else 0)
    else:
        axes.fill_between(place, low, high, color=SKY, linewidth=0, step="mid" if k <= RANKED else None, zorder=2)
        axes.plot(place, mean, color=BLUE, linewidth=1.2, zorder=3)
        axes.set_xlabel("class, most frequent first")
        if k > RANKED:
            logarithmic(axes, "x")
            axes.set_xlim(1, k)
    axes.set_title("From nearest to farthest class")
    axes.set_ylabel("degrees; dashed: regular simplex")
    bottom, top = float(min(low.min(), regular)), float(max(high.max(), regular))
    middle, half = (bottom + top) / 2, 0.56 * max(top - bottom, 4.0)
    axes.set_ylim(middle - half, middle + half)


def labelled(axes: Any, points: FloatArray, names: Sequence[str]) -> None:
    """Names of points (K, 2) in the unit disc beside it, spread so that none covers another, each tied to its point."""
    labels = _together(points, names)
    for side in (-1.0, 1.0):
        mine = sorted((label for label in labels if (label[0][0] >= 0) == (side > 0)), key=lambda label: label[0][1])
        gap = min(0.19, 2.5 / max(1, len(mine) - 1))
        heights = [1.1 * float(point[1]) for point, _ in mine]
        for i in range(1, len(heights)):
            heights[i] = max(heights[i], heights[i - 1] + gap)
        for i in reversed(range(len(heights))):
            heights[i] = min(heights[i], 1.25 - gap * (len(heights) - 1 - i))
        for (point, text), height in zip(mine, heights, strict=True):
            spot = side * max(1.08, 0.08 + abs(float(point[0])))
            axes.plot([point[0], spot], [point[1], height], color=FAINT, linewidth=0.5, zorder=0)
            axes.text(spot + 0.03 * side, height, text, ha="left" if side > 0 else "right", va="center", fontsize=8)


def _together(points: FloatArray, names: Sequence[str]) -> list[tuple[FloatArray, str]]:
    """One label a point: names of classes that are drawn at the same place, in one."""
    labels: list[tuple[FloatArray, list[str]]] = []
    for point, name in zip(points, names, strict=True):
        for place, shared in labels:
            if np.abs(place - point).max() < 0.06:
                shared.append(name)
                break
        else:
            labels.append((point, [name]))
    texts = []
    for place, shared in labels:
        text = ", ".join(clipped(name, 12) for name in shared[:3]) + (f" +{len(shared) - 3}" if len(shared) > 3 else "")
        texts.append((place, text))
    return texts


def _sphere(axes: Any, gram: FloatArray, names: Sequence[str]) -> None:
    points, _ = embed(gram, 3)
    around, down = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    axes.plot_wireframe(
        np.cos(around) * np.sin(down),
        np.sin(around) * np.sin(down),
        np.cos(down),
        color=FAINT,
        linewidth=0.25,
        alpha=0.6,
    )
    many = len(names) > NAMED
    for x, y, z in points if not many else ():
        axes.plot([0, x], [0, y], [0, z], color=BLUE, linewidth=1.2)
    axes.scatter(*points.T, s=10 if many else 26, color=BLUE, depthshade=many, linewidth=0)
    if len(names) <= NAMED:
        for point, label in _together(points, names):
            axes.text(*(1.18 * point), label, ha="center", va="center", fontsize=8, color=INK)
    axes.set_box_aspect((1, 1, 1), zoom=1.35)
    axes.set_axis_off()


def pair_angles(axes: Any, gram: FloatArray, names: Sequence[str]) -> None:
    """Angles of all pairs: where each is beside the regular simplex, if they are few, else how many have which."""
    k = len(names)
    first, second = np.triu_indices(k, 1)
    values = angles(gram[first, second])
    regular = angle_degrees(simplex_cosine(k))
    axes.axvline(regular, color=ORANGE, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
    fitted(axes, [*values, regular])
    left_end, right_end = axes.get_xlim()
    side = "left" if regular < left_end + 0.3 * (right_end - left_end) else "right"
    side = (
        "center"
        if left_end + 0.3 * (right_end - left_end) <= regular <= right_end - 0.3 * (right_end - left_end)
        else side
    )
    axes.annotate(
        f"regular simplex {regular:.1f}°", (regular, 1.0), (0, 3), xycoords=("data", "axes fraction"),
        textcoords="offset points", ha=side, va="bottom", color=ORANGE, fontsize=8,
    )  # fmt: skip
    axes.set_xlabel("angle, degrees")
    if values.size <= 15:
        axes.spines["left"].set_visible(False)
        order = np.argsort(values, kind="stable")
        axes.hlines(range(values.size), regular, values[order], color=SKY, linewidth=2.0, zorder=2)
        axes.scatter(values[order], range(values.size), s=26, color=BLUE, zorder=3, linewidth=0, clip_on=False)
        labels = [f"{clipped(names[first[i]], 8)} / {clipped(names[second[i]], 8)}" for i in order]
        axes.set_yticks(range(values.size), labels)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.6, values.size - 0.4)
        return
    bins = int(np.clip(1.5 * np.sqrt(values.size), 8, 40))
    ends = values.min(), values.max()
    if ends[1] - ends[0] < 0.05:  # one bar, not the noise of rounding
        ends, bins = (ends[0] - 0.1, ends[1] + 0.1), 1
    counts, _, _ = axes.hist(values, bins=np.linspace(*ends, bins + 1), color=BLUE)
    axes.set_ylabel("pairs of classes")
    if counts.max() >= STEEP * max(1.0, float(np.median(counts[counts > 0]))):
        axes.set_yscale("log")
        axes.set_ylabel("pairs of classes (log)")


def crowd(axes: Any, x: FloatArray, y: FloatArray, ends: Sequence[float]) -> None:
    """Points (n,) within the square from ``ends[0]`` to ``ends[1]``: each a dot, or of many how dense they are."""
    if x.size <= DENSE:
        axes.scatter(x, y, s=16, color=BLUE, linewidth=0, zorder=2, alpha=0.8)
        return
    image = axes.hexbin(
        x, y, gridsize=48, extent=(ends[0], ends[1], ends[0], ends[1]), bins="log", mincnt=1, cmap=DENSITY,
        linewidth=0.1, zorder=2, rasterized=True,
    )  # fmt: skip
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    bar.set_label("pairs in a cell")


def agreement(
    axes: Any, predicted: FloatArray, found: FloatArray, words: tuple[str, str], *, one_of_many: bool = False
) -> tuple[int, int]:
    """Entries of one matrix (K, K) against those of another, pair by pair; returns the pair that differs most.

    That pair is drawn last, in orange.  ``words``: how the matrices were found, and what their entries are.  Where the
    prediction is ``one_of_many`` optima, no pair is off: all are hollow and grey, and there is no line to be on.
    """
    how, quantity = words
    first, second = np.triu_indices(len(predicted), 1)
    x, y = predicted[first, second], found[first, second]
    low, high = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
    room = max(0.1, 0.06 * (high - low))  # so that rounding does not fill the picture
    ends = [low - room, high + room]
    worst = int(np.argmax(np.abs(y - x)))
    if one_of_many:
        axes.scatter(x, y, s=16, facecolors="none", edgecolors=FAINT, linewidth=0.8, rasterized=x.size > CROWD)
    else:
        axes.plot(ends, ends, color=FAINT, linewidth=0.8, zorder=1)
        crowd(axes, x, y, ends)
        axes.scatter(x[worst], y[worst], s=16, color=ORANGE, linewidth=0, zorder=3)
    along = f"{quantity} in one of many optima" if one_of_many else f"predicted {quantity}"
    axes.set(xlim=ends, ylim=ends, aspect="equal", xlabel=along, ylabel=f"{how} {quantity}")
    axes.locator_params(nbins=5)
    return int(first[worst]), int(second[worst])
