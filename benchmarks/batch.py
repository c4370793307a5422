"""What a batch saves over separate commands: 1,000 three-class problems, temperatures x proportions.

    python benchmarks/batch.py [--jobs 2] [--commands 20]

Times ``geomsolve batch`` on all of them, and ``geomsolve imbalance`` on some, from which the time of 1,000 commands
(on as many processes at once as the batch may use) is estimated.  Both figures are of the same run on the same
machine, so it is their ratio that means something.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TEMPERATURES = [round(0.05 * 1.1**i, 6) for i in range(25)]
PROPORTIONS = [[round(0.4 + 0.01 * i, 4), 0.3, round(0.3 - 0.01 * i, 4)] for i in range(20)]
PROPORTIONS += [[round(0.6 + 0.01 * i, 4), 0.2, round(0.2 - 0.01 * i, 4)] for i in range(20)]
GEOMSOLVE = [sys.executable, "-m", "geomsolve"]
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def separate(props: list[float], temperature: float) -> None:
    """One problem as a command of its own."""
    text = ",".join(map(str, props))
    command = [*GEOMSOLVE, "imbalance", "--props", text, "--temperature", str(temperature), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ONE_THREAD)


def main() -> None:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--commands", type=int, default=20)
    arguments = parser.parse_args()
    points = [(props, temperature) for props in PROPORTIONS for temperature in TEMPERATURES]

    began = time.perf_counter()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda point: separate(*point), points[:: len(points) // arguments.commands]))
    estimated = (time.perf_counter() - began) / arguments.commands * len(points)

    with tempfile.TemporaryDirectory() as folder:
        problems, out = Path(folder) / "problems.yaml", Path(folder) / "out.jsonl"
        grid = {"props": PROPORTIONS, "loss.temperature": TEMPERATURES}
        problems.write_text(json.dumps({"kind": "imbalance", "grid": grid}), encoding="utf-8")
        began = time.perf_counter()
        batch = ["batch", str(problems), "--out", str(out), "--jobs", str(arguments.jobs), "--quiet"]
        subprocess.run([*GEOMSOLVE, *batch], check=True)
        measured = time.perf_counter() - began
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len(points)
    assert all(row["status"] == "ok" for row in rows)

    print(f"{len(points):,} three-class problems, {arguments.jobs} at a time, {os.cpu_count()} cores")
    print(f"{platform.platform()}, Python {platform.python_version()}")
    print(f"  separate commands   {estimated:8.1f} s   (estimated from {arguments.commands})")
    print(f"  geomsolve batch     {measured:8.1f} s")
    print(f"  ratio               {estimated / measured:8.1f}")


if __name__ == "__main__":
    main()
