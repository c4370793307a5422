"""Commands from start to end, as they are typed: processor seconds and memory.

    python benchmarks/pipeline.py [--small] [--limit 600] [--json pipeline.json]

A command is the interpreter's start, the imports, the answer and its proof, and printing.  ``batch`` runs 1,000
problems of three classes.  Beside ``compare`` stands how fast it reads embeddings in single precision, in the order of
their classes.  A command is run three times if it takes less than two seconds, and the least is shown.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measured import Run, here, run, table, write

GEOMSOLVE = [sys.executable, "-m", "geomsolve"]
TEMPERATURES = [round(0.05 * 1.1**i, 6) for i in range(25)]
PROPORTIONS = [[round(0.4 + 0.01 * i, 4), 0.3, round(0.3 - 0.01 * i, 4)] for i in range(20)]
PROPORTIONS += [[round(0.6 + 0.01 * i, 4), 0.2, round(0.2 - 0.01 * i, 4)] for i in range(20)]

SMALL = {
    "--help": "--help",
    "imbalance, 3 classes": "imbalance --props 0.7,0.2,0.1",
    "threshold, 3 classes": "threshold --props 0.7,0.2,0.1 --over temperature",
    "realizable, 3 ages": "realizable --weighting yaware --labels 20,25,30",
}
LARGE = {
    "imbalance, 446 distinct sizes": "imbalance --counts @446.txt",
    "the same, infonce with 256 negatives": "imbalance --counts @446.txt --loss infonce --negatives 256",
    "imbalance, 1,000 distinct sizes": "imbalance --counts @1000.txt",
    "imbalance, 8,142 classes": "imbalance --counts @8142.txt --json",
    "imbalance, 1,000 classes in 128 dimensions": "imbalance --counts @1000.txt --dim 128",
    "realizable, 300 ages on a line": "realizable --weighting yaware --labels line:300",
    "threshold, 6 classes": "threshold --props 0.4,0.2,0.2,0.1,0.05,0.05 --over temperature",
    "levels": "levels --loss simclr --batch 4096",
    "crossmodal, siglip": "crossmodal --loss siglip --props 1/3,1/3,1/3 -t 0.1 --bias -10",
    "capacity, 1,000 in 128": "capacity --classes 1000 --dim 128",
}


def least(command: list[str], limit: float, folder: Path) -> Run:
    """The least of up to three runs."""
    found = run(command, limit, folder)
    again = [run(command, limit, folder) for _ in range(2 if found.cpu < 2 else 0)]
    return min((found, *again), key=lambda each: each.cpu)


def prepare(folder: Path, rows: int) -> None:
    """The files that commands read: long tails, and embeddings in single precision in the order of their classes."""
    import numpy as np

    (folder / "446.txt").write_text("\n".join(str(5 + 3 * i) for i in range(446)), encoding="utf-8")
    for n, top in ((1000, 1275), (8142, 998)):
        tail = [round(5 + top * (i / (n - 1)) ** 6 + (i / 1000 if n == 1000 else 0), 3) for i in range(n)]
        (folder / f"{n}.txt").write_text("\n".join(map(str, map(int, tail))), encoding="utf-8")
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, 10, rows))
    embeddings = rng.standard_normal((rows, 512), dtype=np.float32)
    embeddings += 3 * rng.standard_normal((10, 512), dtype=np.float32)[labels]
    np.save(folder / "embeddings.npy", embeddings)
    np.save(folder / "labels.npy", labels)
    grid = {"props": PROPORTIONS[: max(1, rows // 10_000)], "loss.temperature": TEMPERATURES}
    (folder / "problems.yaml").write_text(json.dumps({"kind": "imbalance", "grid": grid}), encoding="utf-8")


def reading(folder: Path) -> float:
    """Gigabytes of embeddings that ``compare`` takes in during a second of processor time."""
    import numpy as np

    from geomsolve.analyses.scan import scanned
    from geomsolve.reading.embeddings import open_embeddings

    path, codes = folder / "embeddings.npy", np.load(folder / "labels.npy")
    seconds = []
    for _ in range(3):
        began = time.process_time()
        scanned(open_embeddings(str(path)), codes, 10, np.arange(0), lambda *_: None)
        seconds.append(time.process_time() - began)
    return path.stat().st_size / 1e9 / min(seconds)


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="the short commands only, and few rows")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a command is stopped")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there")
    parser.add_argument("--prepare", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.prepare:  # in processes of their own: what one holds in memory would count for those that it starts
        prepare(arguments.prepare, arguments.rows)
        return
    if arguments.read:
        print(reading(arguments.read))
        return
    rows = 10_000 if arguments.small else 400_000
    print(", ".join(f"{key} {value}" for key, value in here().items()), end="\n\n")
    found: list[dict[str, Any]] = []

    def note(name: str, done: Run, rate: str = "") -> None:
        found.append({"name": name, "cpu": done.cpu, "mib": done.mib, "code": done.code, "rate": rate})

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run([sys.executable, __file__, "--prepare", place, "--rows", str(rows)], arguments.limit)
        for name, words in (SMALL if arguments.small else {**SMALL, **LARGE}).items():
            note(name, least([*GEOMSOLVE, *words.split()], arguments.limit, folder))
        done = run([*GEOMSOLVE, "batch", "problems.yaml", "--jobs", "1", "--quiet"], arguments.limit, folder)
        problems = len(TEMPERATURES) * len(PROPORTIONS[: max(1, rows // 10_000)])
        note(f"batch, {problems:,} problems", done, f"{1000 * done.cpu / problems:.1f} ms a problem")
        done = run([sys.executable, __file__, "--read", place], arguments.limit)
        note("reading embeddings", done, f"{float(done.out):.2g} GB/s")
        if not arguments.small:
            command = [*GEOMSOLVE, "compare", "embeddings.npy", "--labels", "labels.npy"]
            note(f"compare, {rows:,} embeddings", run(command, arguments.limit, folder))
    cells = [
        [row["name"], f"{'> ' if row['code'] < 0 else ''}{row['cpu']:.2f}", f"{row['mib']:,.0f}", row["rate"]]
        for row in found
    ]
    print(table(["command", "CPU s", "MiB", ""], cells))
    write(arguments.json, {"commands": found})


if __name__ == "__main__":
    main()
