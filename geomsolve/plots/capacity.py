"""The best arrangement: its points where they can be seen, and the cosines of all pairs against the bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomsolve.plots._geometry import CROWD, SEEN, means
from geomsolve.plots._style import BLUE, ORANGE, canvas, entitled, number


def figure(answer: dict[str, Any]) -> Any:
    """The picture of a ``capacity`` answer; None for one without its cosines, as there are too many."""
    if answer.get("gram") is None:  # also of a number of classes that fit
        return None
    gram = np.array(answer["gram"])
    n, dim = answer["problem"]["classes"], answer["problem"]["dim"]
    rank = min(dim, n - 1)
    seen = rank <= 3 and n <= SEEN
    drawn = canvas((9 if seen else 5.5, 3.9))
    grid = drawn.add_gridspec(1, 1 + seen)
    if seen:
        means(drawn, grid[0], gram, [str(a + 1) for a in range(n)], rank)
    _cosines(drawn.add_subplot(grid[-1]), gram, answer["bound"])
    proof = "no arrangement has more" if answer["optimal"] else "the best found"
    heading = f"{n:,} classes, dimension {dim:,}: smallest angle {answer['best_min_angle_deg']:.2f}°, {proof}"
    entitled(drawn, heading)
    return drawn


def _cosines(axes: Any, gram: Any, bound: dict[str, Any]) -> None:
    """Cosines of all pairs in falling order, of very many an even selection, and the bound on the first of them."""
    cosines = np.sort(gram[np.triu_indices(len(gram), 1)])[::-1]
    shown = np.linspace(0, cosines.size - 1, min(cosines.size, CROWD)).round().astype(int)
    limit = bound["max_cosine"]
    axes.plot(shown + 1, cosines[shown], ".", color=BLUE, markersize=4, clip_on=False, label="pairs of classes")
    axes.axhline(limit, color=ORANGE, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1,
                 label=f"largest cosine at least {number(limit)} ({bound['name']})")  # fmt: skip
    axes.set_xlabel("pair, closest first")
    axes.set_ylabel("cosine")
    axes.xaxis.get_major_locator().set_params(integer=True, nbins=6)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(-1.05, max(1.05 * limit, float(cosines[0]), 0) + 0.1)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)
