"""What README.md and the pages of docs/ show: commands with their output, and Python; parsed, run and renewed.

    ```console    ``$ command`` lines, each with what it prints; the commands of a block share a folder
    ```text       the same, where only the first words count (training differs a little from machine to machine)
    ```python     run, page by page from top to bottom; comment lines below a ``print`` are what it prints
    ```py, ```bash, ```yaml ...    shown only

``python tests/readme.py [FILE ...]`` runs every command in a folder of its own, and writes what it prints into the
pages, and its pictures into docs/.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
ROUGH = re.compile(r"^```text\n(\$ .*?)^```", re.DOTALL | re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Example:
    command: str
    shown: str


@dataclass(frozen=True)
class Block:
    """The commands of one block, with the page and the line where it stands."""

    page: Path
    line: int
    examples: tuple[Example, ...]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def examples(block: str) -> tuple[Example, ...]:
    """Every ``$ command`` of a block with the output that follows it."""
    found = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        found.append(Example(command, shown))
    return tuple(found)


def blocks(pattern: re.Pattern[str] = BLOCK) -> list[Block]:
    """The blocks of all pages."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in pattern.finditer(text):
            found.append(Block(page, text.count("\n", 0, match.start()) + 1, examples(match.group(1))))
    return found


def shell(command: str, folder: Path) -> str:
    """Standard output of a command of a page, run by a shell in ``folder`` without a terminal."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "NO_COLOR": "1", "PATH": path}
    environment.pop("COLUMNS", None)
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=folder, env=environment, timeout=300, check=False
    )
    assert done.returncode in (0, 1), f"{command}: exit {done.returncode}: {done.stderr}"
    return tidy(done.stdout)


def run_here(command: str, folder: Path, geomsolve: Callable[..., Any]) -> str:
    """The same, in this process by ``geomsolve`` (arguments to a run), where the command needs no shell."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|\d\*", "", command)  # 4*0.25 is no pattern of file names
    if not command.startswith("geomsolve ") or re.search(r"[|&><$`*?]", bare):
        return shell(command, folder)
    with contextlib.chdir(folder):
        done = geomsolve(*shlex.split(command)[1:])
    assert done.code in (0, 1), f"{command}: exit {done.code}: {done.stderr}"
    return tidy(done.stdout)


def tidy(output: str) -> str:
    """Output without blanks at the ends of its lines."""
    return "".join(line.rstrip() + "\n" for line in output.splitlines())


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
    return folder


def snippets(page: Path) -> str:
    """All Python of a page that is run, as one program."""
    return "\n".join(PYTHON.findall(page.read_text(encoding="utf-8")))


def promised(program: str) -> str:
    """What a program is said to print: the comment lines below each ``print``."""
    shown: list[str] = []
    after = False
    for line in program.splitlines():
        comment = line.lstrip().startswith("# ")
        if comment and after:
            shown.append(line.lstrip()[2:])
        after = (after and comment) or line.lstrip().startswith("print(") or line == ")"
    return "".join(f"{line}\n" for line in shown)


def played(program: str, folder: Path) -> str:
    """What a program prints, run in this process in ``folder``."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        exec(compile(program, "<page>", "exec", dont_inherit=True), {"__name__": "__main__"})
    return tidy(out.getvalue())


def renewed(text: str, folder: Path) -> str:
    """A page with every console block's output replaced by what the command prints in ``folder`` now."""

    def renew(match: re.Match[str]) -> str:
        parts = [f"$ {e.command}\n{shell(e.command, folder)}" for e in examples(match.group(0))]
        return "```console\n" + "\n".join(parts) + "```"

    return BLOCK.sub(renew, text)


if __name__ == "__main__":
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory() as made:
            place = project(Path(made))
            page.write_text(renewed(page.read_text(encoding="utf-8"), place), encoding="utf-8")
            for picture in place.glob("*.png"):
                shutil.copy(picture, ROOT / "docs")
