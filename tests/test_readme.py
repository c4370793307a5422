"""Every command of README.md runs and prints what README.md shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from readme import ROOT, ROUGH, Example, examples, run, settled

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the project's, into which commands may write."""
    made = tmp_path_factory.mktemp("project")
    (made / "problems").symlink_to(ROOT / "problems")
    (made / "docs").mkdir()
    return made


@pytest.mark.slow
@pytest.mark.parametrize("example", examples(README), ids=lambda e: e.command)
def test_command_prints_what_is_shown(example: Example, folder: Path) -> None:
    assert settled(run(example.command, folder)) == settled(example.shown)


@pytest.mark.slow
@pytest.mark.parametrize("example", examples(README, ROUGH), ids=lambda e: e.command)
def test_training_command_says_the_same(example: Example, folder: Path) -> None:
    pytest.importorskip("torch")
    assert run(example.command, folder).split(":")[0] == example.shown.split(":")[0]


def test_there_are_examples() -> None:
    assert len(examples(README)) >= 5


def test_library_example_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (block,) = [block for block in blocks if block.startswith("from geomsolve import")]
    shown = re.findall(r"# (.+)$", block.strip().splitlines()[-1])
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == shown[0]


def test_two_set_up_commands() -> None:
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv")]
    assert len(lines) == 2
    assert "geomsolve imbalance --props 0.7,0.2,0.1" in lines[0]
    assert "pytest" in lines[1]
