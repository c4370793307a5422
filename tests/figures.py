"""The figures of robustness, by one command.

    python tests/figures.py                   a few minutes on one core
    python tests/figures.py --seconds 1200 --mutants 300

runs      questions about classes and texts for the readers, asked at random (``test_any_question``, ``test_guided``)
faults    of these: how many did not end as they have to
lost      rows that were missing, or twice there, after batches were killed at any moment and resumed
coverage  of lines and branches, from the last run under ``coverage run -m pytest``, where there was one
mutants   changes of the mathematics that ran against the tests, and how many were not noticed (``mutants.py``)
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import conftest  # noqa: F401  (the profile of hypothesis)
import mutants
import test_any_question
import test_guided
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parent.parent


def asked(seconds: float, number: int) -> tuple[int, int]:
    """How many questions and texts were tried for so long, and how many were faults."""
    runs = faults = 0
    until = time.monotonic() + seconds

    def tried(call, *args) -> None:
        nonlocal runs, faults
        runs += 1
        try:
            call(*args)
        except Exception:
            faults += 1
            traceback.print_exc()

    @seed(number)
    @settings(max_examples=10**6, database=None, phases=[Phase.generate])
    @given(test_any_question.questions(), st.integers(0, 2**32 - 1))
    def question(some, place):
        if time.monotonic() > until:
            raise TimeoutError
        tried(test_any_question.holds, some, place)

    with contextlib.suppress(TimeoutError):
        question()
    with tempfile.TemporaryDirectory() as folder:
        for name, corpus in test_guided.SUBJECTS.items():
            read = test_guided.subject(name, Path(folder))
            ends = time.monotonic() + seconds / len(test_guided.SUBJECTS)
            test_guided.search(lambda text, read=read: tried(read, text), corpus, random.Random(number), until=ends)
    return runs, faults


def lost(kills: int, number: int) -> tuple[int, int]:
    """How many batches were killed, and how many rows were missing or there twice once they had been resumed."""
    rng, missing, problems = random.Random(number), 0, 60
    for _ in range(kills):
        with tempfile.TemporaryDirectory() as folder:
            many = "\n---\n".join(
                f"kind: imbalance\nprops: [{0.5 + i / 200}, {0.5 - i / 200}]" for i in range(problems)
            )
            Path(folder, "p.yaml").write_text(many, encoding="utf-8")
            command = [sys.executable, "-m", "geomsolve", "batch", "p.yaml", "--out", "r.jsonl", "--resume", "--quiet"]
            with subprocess.Popen(command, cwd=folder, stdout=-3, stderr=-3, start_new_session=True) as run:
                time.sleep(rng.uniform(0.3, 3))
                os.kill(run.pid, rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
            subprocess.run(command, cwd=folder, stdout=-3, stderr=-3, check=False)
            rows = [json.loads(line) for line in Path(folder, "r.jsonl").read_text(encoding="utf-8").splitlines()]
            found = [row["sha256"] for row in rows if row["status"] == "ok"]
            missing += abs(problems - len(found)) + len(found) - len(set(found))
    return kills, missing


def coverage() -> str:
    """What the last measured run of the tests covered."""
    command = [sys.executable, "-m", "coverage", "report", "--format=total", "--precision=1"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return f"{told.stdout.strip()} %" if not told.returncode else "not measured: coverage run -m pytest"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long to ask questions, and as long to read")
    parser.add_argument("--kills", type=int, default=5, help="batches to kill")
    parser.add_argument("--mutants", type=int, default=20, help="mutants to run")
    parser.add_argument("--seed", type=int, default=1)
    how = parser.parse_args()
    runs, faults = asked(how.seconds, how.seed)
    print(f"runs      {runs:,}\nfaults    {faults:,}", flush=True)
    kills, missing = lost(how.kills, how.seed)
    print(f"lost      {missing:,} rows after {kills:,} kills\ncoverage  {coverage()}", flush=True)
    every = [path for room in mutants.ROOMS for path in sorted((ROOT / "geomsolve" / room).glob("[!_]*.py"))]
    ran, left = mutants.run(every, how.mutants, how.seed)
    print(f"mutants   {ran:,}, {len(left):,} not noticed")
    sys.exit(bool(faults or missing or left))


if __name__ == "__main__":
    main()
