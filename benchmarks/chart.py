"""Processor time against distinct proportions, geomsolve and its peers, as a picture.

python benchmarks/chart.py peers.json docs/speed.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

MARKS = {"geomsolve": "o-", "clarabel": "s--", "lbfgs": "^--", "adam": "v--", "pymanopt": "d--"}
NAMES = {
    "geomsolve": "geomsolve, with proof",
    "clarabel": "plain program, cvxpy (proof of its own)",
    "lbfgs": "L-BFGS, torch",
    "adam": "Adam, torch",
    "pymanopt": "trust regions, pymanopt",
}
COLOURS = {"geomsolve": "#0072b2", "clarabel": "#d55e00", "lbfgs": "#009e73", "adam": "#cc79a7", "pymanopt": "#7f7f7f"}
"""Told apart by people who do not see all colours; the marks differ, too."""


def main() -> None:
    """Draw."""
    from matplotlib.figure import Figure

    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    figure = Figure(figsize=(9.5, 4.2), layout="constrained")
    axes = figure.subplots()
    for peer, mark in MARKS.items():
        rows = [row for row in found["distinct"] if row["peer"] == peer and row["value"] is not None]
        if not rows:
            continue
        slope = found["exponents"].get(peer)
        label = NAMES[peer] + (f", grows as K^{slope:.1f}" if slope is not None else "")
        axes.loglog([r["size"] for r in rows], [r["cpu"] for r in rows], mark, color=COLOURS[peer], label=label)
    axes.set_xlabel("classes K, all of different size")
    axes.set_ylabel("processor seconds")
    axes.set_title("SupCon at temperature 0.1: time to the optimum", loc="left")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(sys.argv[2], dpi=150)


if __name__ == "__main__":
    main()
