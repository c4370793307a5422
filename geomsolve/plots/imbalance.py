"""The optimal geometry: cosines, class means, angles of pairs or, where they were asked for, ranges of cosines."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots import _classifiers
from geomsolve.plots._geometry import heatmap, means, pair_angles
from geomsolve.plots._ranges import bars
from geomsolve.plots._style import canvas, entitled, in_place, proof_of
from geomsolve.plots._words import geometry, question


def figure(answer: dict[str, Any]) -> Any:
    """The picture of an ``imbalance`` answer; None for one stored without its cosines, as there are too many."""
    if "classifiers" in answer:
        return _classifiers.figure(answer)
    if answer.get("orbit_cosines") is None:
        return None
    place = np.array([entry["orbit"] for entry in answer["classes"]])
    cosines = np.array([[1.0 if x is None else x for x in row] for row in answer["orbit_cosines"]])
    order = np.argsort(place, kind="stable")
    gram = cosines[np.ix_(place[order], place[order])]
    np.fill_diagonal(gram, 1.0)
    names = [answer["classes"][a]["name"] for a in order]
    drawn = canvas((11, 3.7))
    if in_place():
        heatmap(drawn.add_subplot(), gram, names)
        return drawn
    grid = drawn.add_gridspec(1, 3, width_ratios=(1.15, 1, 1))
    heatmap(drawn.add_subplot(grid[0]), gram, names)
    means(drawn, grid[1], gram, names, answer["rank"])
    third = drawn.add_subplot(grid[2])
    if answer.get("ranges"):
        bars(third, answer["ranges"], gram, names)
    else:
        pair_angles(third, gram, names)
    entitled(drawn, f"{geometry(answer['structure'])} ({proof_of(answer)})", question(answer))
    return drawn
