"""A dask cluster on loopback: a scheduler and two workers, one of which is killed midway."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed")

PROBLEMS = 40


def started(folder: Path, name: str, *args: str) -> subprocess.Popen:
    with (folder / f"{name}.log").open("w") as log:
        return subprocess.Popen([sys.executable, "-m", "dask", *args], stdout=log, stderr=log)


@pytest.fixture
def cluster(tmp_path):
    """Address of a scheduler, and two workers of one thread each."""
    file = tmp_path / "scheduler.json"
    local = ("--host", "127.0.0.1", "--no-dashboard")
    scheduler = started(tmp_path, "scheduler", "scheduler", *local, "--port", "0", "--scheduler-file", str(file))
    processes = [scheduler]
    try:
        while not (file.exists() and file.read_text().strip()):
            assert scheduler.poll() is None, (tmp_path / "scheduler.log").read_text()
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        for name in ("one", "two"):
            processes.append(started(tmp_path, name, "worker", address, *local, "--nthreads", "1", "--no-nanny"))
        both = f"from distributed import Client; Client({address!r}).wait_for_workers(2, timeout=120)"
        subprocess.run([sys.executable, "-c", both], check=True, capture_output=True)
        yield address, processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


@pytest.mark.slow
def test_every_problem_is_answered_once_though_a_worker_is_killed(cluster, tmp_path):
    address, workers = cluster
    source, out = tmp_path / "p.yaml", tmp_path / "out.jsonl"
    seeds = ", ".join(map(str, range(PROBLEMS)))
    source.write_text(f"kind: imbalance\nprops: [0.5, 0.3, 0.2]\ngrid: {{seed: [{seeds}]}}\n")
    command = [sys.executable, "-m", "geomsolve", "batch", str(source), "--out", str(out)]
    batch = subprocess.Popen(
        [*command, "--backend", "dask", "--scheduler", address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while batch.poll() is None and (not out.exists() or out.read_bytes().count(b"\n") < 5):
        time.sleep(0.01)
    workers[0].kill()
    left = PROBLEMS - out.read_bytes().count(b"\n")
    _, errors = batch.communicate(timeout=240)
    assert batch.returncode == 0, errors
    assert left > 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(row["problem"]["seed"] for row in rows) == list(range(PROBLEMS))
    assert {row["status"] for row in rows} == {"ok"}
    assert errors == ""


@pytest.mark.slow
def test_the_points_of_one_sweep_are_shared(cluster):
    address, _ = cluster
    flags = ["--props", "0.5,0.3,0.2", "--over", "temperature=0.5,1,2", "--json"]
    command = [sys.executable, "-m", "geomsolve", "sweep", *flags]
    alone = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    there = [*command, "--backend", "dask", "--scheduler", address]
    shared = json.loads(subprocess.run(there, capture_output=True, text=True, check=True).stdout)
    assert {**alone, "seconds": 0} == {**shared, "seconds": 0}
