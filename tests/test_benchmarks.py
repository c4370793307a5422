"""The benchmarks run, and compare the same programs: every peer ends at the value of the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def benchmark(name, *flags, out):
    command = [sys.executable, str(ROOT / "benchmarks" / name), *flags, "--json", str(out)]
    path = os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(out.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_peers_reach_one_value(tmp_path):
    said, found = benchmark("peers.py", "--small", "--peers", "geomsolve,clarabel", out=tmp_path / "peers.json")
    rows = found["distinct"] + found["groups"]
    assert [(row["size"], row["peer"]) for row in rows] == [
        (size, peer) for size in (10, 30, 30) for peer in ("geomsolve", "clarabel")
    ]
    assert all(row["value"] is not None and abs(row["above"]) < 1e-7 for row in rows)
    assert all(row["cpu"] > 0 and row["mib"] > 10 for row in rows)
    assert "three groups" in said


@pytest.mark.slow
def test_commands_are_timed_from_start_to_end(tmp_path):
    said, found = benchmark("pipeline.py", "--small", out=tmp_path / "pipeline.json")
    assert all(row["code"] == 0 for row in found["commands"])
    assert {"--help", "batch, 25 problems", "reading embeddings"} <= {row["name"] for row in found["commands"]}
    assert "ms a problem" in said
