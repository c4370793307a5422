"""A weighting and its best embedding: wanted against attained, eigenvalues of both, and where the labels went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geomsolve.gram.edm import centred
from geomsolve.gram.types import FloatArray
from geomsolve.plots._geometry import NAMED, crowd, embed, means
from geomsolve.plots._style import BLUE, FAINT, INK, ORANGE, canvas, clipped, entitled, in_place, number, weighting_of
from geomsolve.words import counted

HIDDEN = 0.05
"""Size of an eigenvalue, against the largest, below which it cannot be seen beside it."""

SAID = {
    "realizable": "Realizable: an embedding attains every wanted value",
    "inconsistent": "Inconsistent: no embedding attains what is wanted",
    "degenerate": "Degenerate: some weights are 0, so that only a limit would attain what is wanted",
}
"""Verdicts in words."""


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``realizable`` answer; None for one without labels, or with too many for its matrices."""
    if "wanted" not in answer:
        return None
    latents = answer["latents"]
    names = [label["name"] for label in answer["labels"]]
    wanted = _matrix(answer["wanted"], latents)
    attained = _matrix(answer["attained"], latents)
    drawn = canvas((11, 3.7))
    if in_place():
        _pairs(drawn.add_subplot(), wanted, attained, latents["noun"])
        return drawn
    grid = drawn.add_gridspec(1, 3, width_ratios=(1, 1, 1.15))
    _pairs(drawn.add_subplot(grid[0]), wanted, attained, latents["noun"])
    _eigenvalues(drawn.add_subplot(grid[1]), wanted, attained)
    if attained is None:
        nowhere = drawn.add_subplot(grid[2])
        nowhere.set_axis_off()
        nowhere.text(0.5, 0.5, "no finite embedding attains the best value", ha="center", color=INK)
    elif latents["unit"]:
        spectrum = np.linalg.eigvalsh(attained)
        means(drawn, grid[2], attained, names, int(np.sum(spectrum > 1e-6 * len(names))), "Labels")
    else:
        _plane(drawn.add_subplot(grid[2]), attained, names)
    said = SAID.get(answer["verdict"], answer["verdict"])
    entitled(drawn, said, f"{weighting_of(answer)}; {counted(len(names), 'label')}")
    return drawn


def _matrix(rows: list[list[float | None]] | None, latents: dict[str, Any]) -> FloatArray | None:
    """Cosines, or squared distances, between labels, with the diagonal of a label with itself."""
    if rows is None:
        return None
    matrix = np.array([[np.nan if isinstance(x, str) or x is None else x for x in row] for row in rows], dtype=float)
    np.fill_diagonal(matrix, float(latents["unit"]))
    return matrix


def _gram(matrix: FloatArray) -> FloatArray:
    """The matrix whose eigenvalues decide: cosines, whose diagonal is 1, or else distances centred."""
    return matrix if matrix[0, 0] else centred(matrix)


def _pairs(axes: Any, wanted: FloatArray | None, attained: FloatArray | None, quantity: str) -> None:
    axes.set_title("Pairs of labels")
    axes.set_xlabel(f"wanted {quantity}")
    axes.set_ylabel(f"attained {quantity}")
    pairs = np.triu_indices(0 if wanted is None or attained is None else len(wanted), 1)
    x, y = (np.empty(0) if matrix is None else matrix[pairs] for matrix in (wanted, attained))
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        axes.text(0.5, 0.5, "no finite value is wanted", ha="center", transform=axes.transAxes, color=INK)
        return
    x, y = x[known], y[known]
    both = [float(min(x.min(), y.min())), float(max(x.max(), y.max()))]
    axes.plot(both, both, color=FAINT, linewidth=0.8, zorder=1)
    crowd(axes, x, y, both)
    axes.locator_params(nbins=5)
    axes.annotate(
        "as wanted", (both[1], both[1]), (-4, -10), textcoords="offset points", ha="right", fontsize=8, color=INK
    )


def _eigenvalues(axes: Any, wanted: FloatArray | None, attained: FloatArray | None) -> None:
    axes.set_title("Eigenvalues; none may be below 0")
    axes.axhline(0, color=INK, linewidth=0.8)
    for matrix, name, marker, colour in ((wanted, "wanted", "o", BLUE), (attained, "attained", "x", INK)):
        if matrix is None or not np.all(np.isfinite(matrix)):
            continue
        values = np.linalg.eigvalsh(_gram(matrix))[::-1]
        place = np.arange(1, len(values) + 1)
        below = values < -1e-9 * np.abs(values).max()
        axes.scatter(
            place[~below], values[~below], marker=marker, s=24, color=colour, label=name, linewidth=1.2, zorder=3
        )
        axes.scatter(place[below], values[below], marker=marker, s=24, color=ORANGE, linewidth=1.2, zorder=3)
        if below.any():
            axes.vlines(place[below], 0, values[below], color=ORANGE, linewidth=1.0)
    _decider(axes, wanted)
    axes.set_xlabel("number, largest first")
    axes.xaxis.get_major_locator().set_params(integer=True)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="upper right")


def _decider(axes: Any, wanted: FloatArray | None) -> None:
    """The smallest wanted eigenvalue, magnified, where it is below 0 and too small to be seen among the others."""
    if wanted is None or not np.all(np.isfinite(wanted)):
        return
    values = np.linalg.eigvalsh(_gram(wanted))[::-1]
    least, largest = float(values[-1]), float(np.abs(values).max())
    if not -HIDDEN * largest < least < -1e-9 * largest:
        return
    near = np.flatnonzero(np.abs(values) <= 4 * abs(least))
    magnified = axes.inset_axes((0.42, 0.3, 0.55, 0.38))
    magnified.axhline(0, color=INK, linewidth=0.6)
    below = values[near] < -1e-9 * largest
    magnified.vlines(near[below] + 1, 0, values[near][below], color=ORANGE, linewidth=1.0)
    magnified.scatter(near + 1, values[near], s=18, linewidth=0, c=np.where(below, ORANGE, BLUE), zorder=3)
    magnified.set_title(f"near 0: smallest {number(least, 3)}", fontsize=8)
    magnified.set_ylim(1.5 * least, max(1.5 * abs(least), 1.2 * float(values[near].max())))
    magnified.tick_params(labelsize=7)
    magnified.set_xlim(near[0] + 0.4, near[-1] + 1.6)
    magnified.set_xticks(sorted({int(near[0]) + 1, int(near[-1]) + 1}))
    magnified.locator_params(axis="y", nbins=3)


def _plane(axes: Any, distances: FloatArray, names: Sequence[str]) -> None:
    gram = centred(distances)
    points, share = embed(gram, 2)
    points = points / max(1e-12, float(np.abs(points).max()))
    axes.scatter(points[:, 0], points[:, 1], s=26 if len(names) <= NAMED else 8, color=BLUE, linewidth=0, zorder=3)
    for point, name in zip(points, names, strict=True) if len(names) <= NAMED else ():
        axes.annotate(clipped(name), point, (5, 5), textcoords="offset points", fontsize=8, color=INK)
    exact = share > 1 - 1e-6
    axes.set_title("Labels in the plane (exact)" if exact else f"Labels (a plane: {share:.0%})")
    axes.set_aspect("equal")
    axes.set_xlim(-1.6, 1.6)
    axes.set_ylim(-1.35, 1.35)
    axes.set_axis_off()
