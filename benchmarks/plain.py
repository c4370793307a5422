"""The plain program of SupCon for cvxpy, every class by itself: what the other benchmarks compare with.

    python benchmarks/plain.py TEMPERATURE P1,P2,...      prints value and seconds as JSON

Run as a command of its own, so that it can be stopped when it takes too long.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np


def solve(proportions: list[float], temperature: float) -> dict[str, float]:
    """min sum_a p_a log sum_b p_b e^{(G_ab - 1)/t} over unit-diagonal Gram matrices; seconds without the import."""
    import cvxpy as cp

    p = np.array(proportions)
    began = time.perf_counter()
    gram = cp.Variable((p.size, p.size), PSD=True)
    rows = [cp.log_sum_exp((gram[a] - 1) / temperature + np.log(p)) for a in range(p.size)]
    problem = cp.Problem(cp.Minimize(p @ cp.hstack(rows)), [cp.diag(gram) == 1])
    problem.solve(solver="CLARABEL")
    return {"value": float(problem.value), "seconds": time.perf_counter() - began}


def timed(proportions: list[float], temperature: float, limit: float) -> tuple[float, float | None]:
    """Seconds and value of :func:`solve` in a process of its own; ``limit`` and None where it takes longer."""
    command = [sys.executable, str(Path(__file__)), repr(temperature), ",".join(map(repr, proportions))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return limit, None
    found = json.loads(done.stdout.splitlines()[-1])
    return found["seconds"], found["value"]


if __name__ == "__main__":
    print(json.dumps(solve([float(x) for x in sys.argv[2].split(",")], float(sys.argv[1]))))
