"""Every command of README.md runs and prints what README.md shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from readme import ROOT, ROUGH, Example, examples, project, renewed, run, settled

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the project's, into which commands may write."""
    return project(tmp_path_factory.mktemp("project"))


def strangers() -> list[str] | None:
    """What the repository does not hold as it was committed; None where this is no repository."""
    git = ["git", "-c", "safe.directory=*", "status", "--porcelain", "--", "."]
    done = subprocess.run(git, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def need_extras(command: str) -> None:
    """Skip a command whose extra is not installed."""
    if "--plot" in command or "geomsolve report" in command:
        pytest.importorskip("matplotlib", reason="pictures are an extra")
    if "verify" in command:
        pytest.importorskip("flint", reason="arithmetic in balls is an extra")


@pytest.mark.slow
@pytest.mark.parametrize("example", examples(README), ids=lambda e: e.command)
def test_command_prints_what_is_shown(example: Example, folder: Path) -> None:
    need_extras(example.command)
    before = strangers()
    assert settled(run(example.command, folder)) == settled(example.shown)
    assert strangers() == before, "the command wrote into the repository"


@pytest.mark.slow
@pytest.mark.parametrize("example", examples(README, ROUGH), ids=lambda e: e.command)
def test_training_command_says_the_same(example: Example, folder: Path) -> None:
    pytest.importorskip("torch")
    assert run(example.command, folder).split(":")[0] == example.shown.split(":")[0]


@pytest.mark.slow
def test_a_run_of_the_readme_leaves_the_repository_as_it_was(tmp_path: Path) -> None:
    """The renewing mode too: every command that writes a file does so in its own folder."""
    before = strangers()
    if before is None:
        pytest.skip("this is no git repository")
    writing = [e.command for e in examples(README) if re.search(r"--(out|plot|csv|jsonl|npy)\b|python", e.command)]
    assert len(writing) >= 2
    text = "".join(f"```console\n$ {command}\n```\n" for command in writing)
    for command in writing:
        need_extras(command)
    assert renewed(text, project(tmp_path)).count("$ ") >= len(writing)
    assert strangers() == before
    assert (tmp_path / "docs").is_dir()
    assert list((tmp_path / "docs").iterdir())


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
