"""Every command and piece of Python of README.md and docs/ runs and prints what is shown; links lead somewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import reference
from readme import (
    PAGES,
    ROOT,
    ROUGH,
    Block,
    blocks,
    played,
    project,
    promised,
    renewed,
    run_here,
    settled,
    shell,
    snippets,
)

from geomsolve import __version__
from geomsolve.registry import REGISTRIES

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = blocks()
YAML = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)
PLAYED = [page for page in PAGES if snippets(page)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder like the project's, into which commands may write."""
    return project(tmp_path)


def strangers() -> list[str] | None:
    """What the repository does not hold as it was committed; None where this is no repository."""
    git = ["git", "-c", "safe.directory=*", "status", "--porcelain", "--", "."]
    done = subprocess.run(git, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def need_extras(text: str) -> None:
    """Skip what needs an extra that is not installed."""
    if re.search(r"--plot|geomsolve report|\.plot\(", text):
        pytest.importorskip("matplotlib", reason="pictures are an extra")
    if "verify" in text:
        pytest.importorskip("flint", reason="arithmetic in balls is an extra")
    if re.search(r"import torch|geomsolve check|pytorch_metric_learning", text):
        pytest.importorskip("torch")
    if "import pandas" in text or "to_frame" in text:
        pytest.importorskip("pandas")


@pytest.mark.slow
@pytest.mark.parametrize("block", CONSOLE, ids=str)
def test_commands_print_what_is_shown(block: Block, folder: Path, run, monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    before = strangers()
    for example in block.examples:
        need_extras(example.command)
        assert settled(run_here(example.command, folder, run)) == settled(example.shown), example.command
    assert strangers() == before, "the commands wrote into the repository"


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks(ROUGH), ids=str)
def test_training_commands_say_the_same(block: Block, folder: Path) -> None:
    for example in block.examples:
        need_extras(example.command)
        assert shell(example.command, folder).split(":")[0] == example.shown.split(":")[0]


@pytest.mark.slow
@pytest.mark.parametrize("page", PLAYED, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_prints_what_is_shown(page: Path, folder: Path, monkeypatch) -> None:
    program = snippets(page)
    need_extras(program)
    for registry in REGISTRIES:  # what a page adds is gone with it
        monkeypatch.setattr(registry, "_choices", dict(registry._known()))
    assert played(program, folder) == promised(program)


def test_problems_that_are_shown_are_valid(folder: Path, run) -> None:
    shown = [text for page in PAGES for text in re.findall(YAML, page.read_text(encoding="utf-8"))]
    for i, text in enumerate(shown):
        (folder / f"{i}.yaml").write_text(text, encoding="utf-8")
    assert len(shown) >= 2
    assert run("validate", *sorted(folder.glob("*.yaml"))).code == 0


def test_renewing_writes_what_commands_print(folder: Path) -> None:
    page = "Text.\n\n```console\n$ echo 1 > a; cat a\nold\n\n$ cat a\n```\n"
    before = strangers()
    assert renewed(page, folder) == "Text.\n\n```console\n$ echo 1 > a; cat a\n1\n\n$ cat a\n1\n```\n"
    assert strangers() == before


def test_there_are_examples() -> None:
    assert sum(len(block.examples) for block in CONSOLE) >= 50
    assert len(PLAYED) >= 1


def test_links_lead_somewhere() -> None:
    """Relative links of all pages: the file is there, and so is the heading."""
    broken = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            aim = (page.parent / path).resolve() if path else page
            if not aim.exists() or (anchor and anchor not in anchors(aim)):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken


OTHERS = {"--figure", "--reach"}
"""Flags that pages mention and that are no command's: of an example, and of the weighting that a page adds."""


def test_flags_and_commands_that_pages_mention_exist() -> None:
    said = (reference.FOLDER / "commands.md").read_text(encoding="utf-8")
    known = set(re.findall(r"--[a-z][a-z-]*", said)) | OTHERS
    names = set(re.findall(r"^## geomsolve (.+)$", said, flags=re.MULTILINE))
    unknown = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) - known
        commands = set(re.findall(r"(?:`|\$ |&& )geomsolve ([a-z]\w*)", text)) - names
        unknown += [f"{page.relative_to(ROOT)}: {word}" for word in sorted(flags | commands)]
    assert not unknown


def anchors(page: Path) -> set[str]:
    """The names of a page's headings in links."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_page_is_in_the_site_and_is_found_from_its_start() -> None:
    listed = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    start = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}
    assert sorted(listed) == sorted(pages)
    assert [page for page in sorted(pages - {"index.md"}) if f"({page})" not in start] == []


@pytest.mark.parametrize("name", reference.MAKERS)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    shown = (reference.FOLDER / name).read_text(encoding="utf-8")
    assert shown == reference.page(name), "run python tests/reference.py"


def test_the_readme_is_short_and_names_the_version() -> None:
    assert README.count("\n") <= 150
    assert f"Version {__version__}" in README


def test_two_set_up_commands() -> None:
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv")]
    assert len(lines) == 2
    assert "geomsolve imbalance --props 0.7,0.2,0.1" in lines[0]
    assert "pytest" in lines[1]
