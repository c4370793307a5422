"""The commands of README.md with the output shown there: parsed for the test, or renewed in place.

``python tests/readme.py`` runs every command in a folder of its own, and writes what it prints into README.md and its
pictures into docs/.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
ROUGH = re.compile(r"```text\n(.*?)```", re.DOTALL)
"""Blocks whose output is the outcome of training and differs a little from machine to machine."""


@dataclass(frozen=True)
class Example:
    command: str
    shown: str


def examples(text: str, blocks: re.Pattern[str] = BLOCK) -> list[Example]:
    """Every ``$ command`` of the console blocks with the output that follows it."""
    found = []
    for block in blocks.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append(Example(command, shown))
    return found


def run(command: str, folder: Path) -> str:
    """Standard output of a README command, run by a shell in ``folder`` without a terminal."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "NO_COLOR": "1", "PATH": path}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=folder, env=environment, timeout=300, check=False
    )
    assert done.returncode in (0, 1), f"{command}: exit {done.returncode}: {done.stderr}"
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


def settled(output: str) -> str:
    """Output without what differs between runs and machines: seconds, steps, and gaps at rounding level."""
    output = re.sub(r"\d[\d.e-]* s\b", "T s", output)
    output = re.sub(r"\d+ (Newton )?steps?", "N steps", output)
    output = re.sub(r"gap (at rounding\s+level|0\.0e\+00|\d\.\d+e-\d\d)", "gap TINY", output)
    output = re.sub(r"(?<![\d.])\d(\.\d+)?e-\d\d\b|0\.0e\+00", "TINY", output)
    return " ".join(output.split())


def project(folder: Path) -> Path:
    """A folder like the project's, made in ``folder``, into which commands may write."""
    (folder / "problems").symlink_to(ROOT / "problems")
    (folder / "docs").mkdir()
    return folder


def renewed(text: str, folder: Path) -> str:
    """README.md with every console block's output replaced by what the command prints in ``folder`` now."""

    def renew(match: re.Match[str]) -> str:
        parts = [f"$ {e.command}\n{run(e.command, folder)}" for e in examples(match.group(0))]
        return "```console\n" + "\n".join(parts) + "```"

    return BLOCK.sub(renew, text)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    with tempfile.TemporaryDirectory() as made:
        place = project(Path(made))
        readme.write_text(renewed(readme.read_text(encoding="utf-8"), place), encoding="utf-8")
        for picture in (place / "docs").iterdir():
            shutil.copy(picture, ROOT / "docs")
