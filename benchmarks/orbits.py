"""What the orbit form saves: classes in few groups of equal size, against the plain full-size cvxpy program.

    python benchmarks/orbits.py [--limit 60]

Same problem (SupCon, t = 0.5), same run, same machine, so it is the ratio that means something.  ``conic`` is the
same interior-point solver on the orbit form, ``auto`` what geomsolve does by itself.
"""

from __future__ import annotations

import argparse
import platform
import time

import numpy as np
from plain import timed

from geomsolve import Orbits, make_loss
from geomsolve.solvers.choose import solve_objective

TEMPERATURE = 0.5
GROUPS = {
    3: ((1, 1, 1), (6, 3, 1)),
    12: ((4, 4, 4), (6, 3, 1)),
    30: ((10, 10, 10), (6, 3, 1)),
    60: ((20, 20, 20), (6, 3, 1)),
    1000: ((300, 300, 400), (6, 3, 1)),
    100_000: ((1000, 9000, 90_000), (9, 3, 1)),
}
"""Classes: sizes of the groups, and samples of a class in each."""


def main() -> None:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=60.0, help="stop the plain program, and try no larger one")
    limit = parser.parse_args().limit
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}; seconds, best of three\n")
    print(f"{'classes':>8} {'groups':>6} {'plain':>9} {'conic':>9} {'auto':>9} {'plain/conic':>12} {'plain/auto':>11}")
    stopped = False
    for n_classes, (sizes, weights) in GROUPS.items():
        counts = np.repeat(np.array(weights, dtype=float), sizes)
        p = counts / counts.sum()
        orbits = Orbits.of(p)
        objective = make_loss("supcon", {"temperature": TEMPERATURE}).objective(orbits)
        times = {}
        for solver in ("conic", "auto"):
            runs = []
            for _ in range(3):
                began = time.perf_counter()
                answer = solve_objective(objective, orbits, solver=solver)
                runs.append(time.perf_counter() - began)
                assert answer.certificate.certified
            times[solver] = min(runs)
        plain, value = (limit, None) if stopped else timed(p.tolist(), TEMPERATURE, limit)
        stopped = value is None
        assert value is None or abs(value - answer.certificate.value) <= 1e-5
        more = "> " if stopped else ""
        ratios = [f"{more}{plain / times[solver]:,.0f}" for solver in ("conic", "auto")]
        print(
            f"{n_classes:>8,} {len(sizes):>6} {more + format(plain, '.2f'):>9} {times['conic']:>9.4f} "
            f"{times['auto']:>9.5f} {ratios[0]:>12} {ratios[1]:>11}"
        )


if __name__ == "__main__":
    main()
