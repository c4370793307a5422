"""Thousands of classes: seconds, gaps and memory of a solve, and how they grow.

    python benchmarks/scale.py [--limit 120] [--large] [--plot scale.png]

One table: every case is solved in a process of its own (so that its peak memory is its own), and run once more as the
command ``geomsolve imbalance``, or ``realizable`` for soft targets, from start to end.  Cases of 100 classes are
compared with the plain cvxpy program of the same problem in the same run, stopped after ``--limit`` seconds.  Then
the growth with the number of distinct proportions, and with the number of classes at 20 distinct proportions, with
fitted exponents.  ``--large`` adds 10,000 distinct proportions (minutes).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from plain import timed

ONE_THREAD = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
"""As the command line does."""

THOUSAND = [round(5 + 1275 * (i / 999) ** 6) for i in range(1000)]
INATURALIST = [round(2 + 998 * (i / 8141) ** 6) for i in range(8142)]
PROVEN = 1e-7
"""Relative gap that is asked for where labels, not classes, are the question."""

LONGEST = 1800.0
"""Seconds after which a command is stopped."""

GROWTH = (100, 200, 400, 800, 1600)
CLASSES = (100, 1000, 10_000, 100_000, 1_000_000)


def zipf(n_classes: int) -> list[float]:
    weights = 1 / np.arange(1.0, n_classes + 1)
    return (weights / weights.sum()).tolist()


def cases(large: bool) -> list[dict[str, Any]]:
    """Every row of the table: a name, a loss, and the classes as props or counts (or labels)."""
    rows: list[dict[str, Any]] = [
        {"name": "100 classes, Zipf", "loss": {"temperature": t}, "props": zipf(100)} for t in (0.1, 0.5)
    ]
    rows += [
        {"name": f"{len(counts):,} classes, long tail", "loss": {"temperature": t}, "counts": counts}
        for counts in (THOUSAND, INATURALIST)
        for t in (0.07, 0.1, 0.5, 1.0)
    ]
    rows.append({"name": "2,000 classes, Zipf", "loss": {"temperature": 0.1}, "props": zipf(2000)})
    finite = {"name": "infonce", "temperature": 0.1, "negatives": 256, "sampling": "iid", "form": "sum"}
    rows.append({"name": "1,000 classes, infonce k = 256", "loss": finite, "counts": THOUSAND})
    rows += [{"name": f"{n:,} labels, soft target", "labels": f"line:{n}"} for n in (300, 1000)]
    if large:
        weights = 1 / (np.arange(10_000) + 20.0)
        props = (weights / weights.sum()).tolist()
        rows.append({"name": "10,000 distinct proportions", "loss": {"temperature": 0.1}, "props": props})
    rows.append({"name": "3 classes", "loss": {"temperature": 0.1}, "props": [0.7, 0.2, 0.1]})
    return rows


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """Solve one case here, in this process; best of up to three runs."""
    from geomsolve import Orbits, make_loss
    from geomsolve.solvers.choose import solve_objective

    classes = np.array(case.get("counts") or case["props"], dtype=float)
    orbits = Orbits.of(classes / classes.sum(), classes)
    objective = make_loss(case["loss"].get("name", "supcon"), {k: v for k, v in case["loss"].items() if k != "name"})
    bound = objective.objective(orbits)
    runs: list[float] = []
    while len(runs) < 3 and sum(runs) < 5:
        began = time.perf_counter()
        answer = solve_objective(bound, orbits)
        runs.append(time.perf_counter() - began)
    return {
        "orbits": orbits.n_orbits,
        "solver": answer.solution.name,
        "iterations": answer.solution.iterations,
        "gap": answer.certificate.gap / max(1.0, abs(answer.certificate.value)),
        "seconds": min(runs),
        "gib": peak_gib(),
    }


def peak_gib() -> float:
    """Most memory that this process has held, in GiB."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux: unlike getrusage, without what the parent held when it started this process
        return int(status.read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**30


def apart(case: dict[str, Any]) -> dict[str, Any]:
    """:func:`solve` in a process of its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(case, file)
        file.flush()
        again = [sys.executable, __file__, "--case", file.name]
        done = subprocess.run(again, capture_output=True, text=True, check=True, env=ONE_THREAD)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def command(case: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Seconds of the whole command on one case, and its answer."""
    flags = [sys.executable, "-m", "geomsolve"]
    with tempfile.TemporaryDirectory() as folder:
        if "labels" in case:
            flags += ["realizable", "--weighting", "yaware", "--labels", case["labels"], "--temperature", "0.1"]
            flags += ["--tolerance", str(PROVEN)]
        else:
            kind = "counts" if "counts" in case else "props"
            values = Path(folder) / "classes.txt"
            values.write_text("\n".join(map(repr, case[kind])), encoding="utf-8")
            flags += ["imbalance", f"--{kind}", f"@{values}"]
            for key, value in case["loss"].items():
                flags += ["--loss" if key == "name" else f"--{key}", str(value)]
        began = time.perf_counter()
        try:
            done = subprocess.run([*flags, "--json", "--quiet"], capture_output=True, text=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return LONGEST, {}
        seconds = time.perf_counter() - began
    return seconds, json.loads(done.stdout) if done.returncode in (0, 1) else {}


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Slope of log seconds against log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def grown() -> tuple[list[float], list[float]]:
    """Seconds by number of distinct proportions, and by number of classes at 20 of them."""
    by_orbits = [apart({"loss": {"temperature": 0.1}, "props": zipf(m)})["seconds"] for m in GROWTH]
    by_classes = []
    for n_classes in CLASSES:
        counts = (np.arange(n_classes) % 20 + 1).tolist()
        by_classes.append(apart({"loss": {"temperature": 0.1}, "counts": counts})["seconds"])
    return by_orbits, by_classes


def plot(path: str, by_orbits: list[float], by_classes: list[float]) -> None:
    """Both growth curves as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.loglog(GROWTH, by_orbits, "o-", label="distinct proportions (one class each)")
    axes.loglog(CLASSES, by_classes, "s-", label="classes (20 distinct proportions)")
    axes.set_xlabel("number")
    axes.set_ylabel("seconds of solving and proving")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds after which the plain program is stopped")
    parser.add_argument("--large", action="store_true", help="add the cases that take minutes")
    parser.add_argument("--plot", metavar="FILE", help="write the growth curves as a picture")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(solve(json.loads(Path(arguments.case).read_text(encoding="utf-8")))))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    titles = ("case", "t", "distinct", "solver", "steps", "rel. gap", "solve s", "command s", "GiB", "plain/solve")
    widths = (32, 5, 8, 8, 5, 8, 8, 9, 5, 11)
    print(" ".join(title.ljust(w) if w == 32 else title.rjust(w) for title, w in zip(titles, widths, strict=True)))
    for case in cases(arguments.large):
        whole, answer = command(case)
        ratio = ""
        if "labels" in case:
            if not answer:
                print(f"{case['name']:<32} stopped after {whole:.0f} s")
                continue
            optimum, solver = answer["optimum"], answer["solver"]
            gap = f"{optimum['gap'] / max(1, abs(optimum['value'])):.0e}"
            cells = [case["labels"].split(":")[1], solver["name"], str(solver["iterations"]), gap]
            row = [case["name"], "0.1", *cells, f"{solver['seconds']:.3f}", f"{whole:.2f}", "", ""]
        else:
            found = apart(case)
            if len(case.get("props", ())) == 100:
                plain, value = timed(case["props"], case["loss"]["temperature"], arguments.limit)
                ratio = f"{'' if value is not None else '> '}{plain / found['seconds']:,.0f}"
            row = [
                case["name"],
                f"{case['loss']['temperature']:g}",
                f"{found['orbits']:,}",
                found["solver"],
                str(found["iterations"]),
                f"{found['gap']:.0e}",
                f"{found['seconds']:.3f}",
                f"{whole:.2f}",
                f"{found['gib']:.1f}",
                ratio,
            ]
        print(" ".join(c.ljust(w) if w == 32 else c.rjust(w) for c, w in zip(row, widths, strict=True)), flush=True)
    by_orbits, by_classes = grown()
    for title, sizes, seconds in (
        ("distinct proportions", GROWTH, by_orbits),
        ("classes, 20 distinct", CLASSES, by_classes),
    ):
        curve = ", ".join(f"{size:,}: {spent:.4f}" for size, spent in zip(sizes, seconds, strict=True))
        print(f"\nseconds by {title}: {curve}\n  exponent {exponent(sizes, seconds):.2f}")
    if arguments.plot:
        plot(arguments.plot, by_orbits, by_classes)


if __name__ == "__main__":
    main()
