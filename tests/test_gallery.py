"""Every file of the gallery: it teaches something, expects something, and is answered as expected."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pictures
import pytest

from geomsolve.batch.gather import gather
from geomsolve.questions.kinds import kind_of, kinds

GALLERY = Path(__file__).parent.parent / "problems"
ENTRIES = gather([str(GALLERY)])


def test_there_is_something_to_see():
    files = {entry.file for entry in ENTRIES}
    assert len(files) >= 25
    assert len({Path(file).parent for file in files}) >= 6


@pytest.mark.parametrize(
    "entry", ENTRIES, ids=lambda e: f"{Path(e.file).relative_to(GALLERY)}{e.label and ' '}{e.label}"
)
def test_says_what_it_teaches_and_expects(entry):
    assert entry.complaints == ()
    problem = entry.problem
    assert problem.title
    assert len(problem.why) > 40
    assert problem.expect.model_fields_set - {"tolerance"}


def test_titles_tell_files_apart():
    titles = {(entry.file, entry.problem.title) for entry in ENTRIES}
    assert len({title for _, title in titles}) == len(titles)


def test_list_problems_has_every_one(run):
    found = run("list", "problems", "--json").json["problems"]
    written = {
        (str(Path(e.file).relative_to(GALLERY)), e.problem.kind, e.problem.title, e.problem.why) for e in ENTRIES
    }
    assert {(f"{r['name'].removeprefix('problem:')}.yaml", r["kind"], r["title"], r["why"]) for r in found} == written
    shown = run("list", "problems").stdout
    assert "problem:collapse/strong-majority\n  imbalance: " in shown
    assert all(line == line.rstrip() for line in shown.splitlines()[:-2])


def test_every_kind_of_question_is_in_it():
    assert {entry.problem.kind for entry in ENTRIES} == kinds().keys()


def test_the_page_of_pictures_is_of_every_kind_and_says_what_the_gallery_says():
    assert (pictures.DOCS / "pictures.md").read_text(encoding="utf-8") == pictures.page(), (
        "run python tests/pictures.py"
    )
    names = [name for group in pictures.SHOWN.values() for name in group]
    drawn = {pictures.first(name).problem.kind for name in names}
    assert drawn == {kind for kind in kinds() if kind not in ("check_weighting", "check_crossmodal")}  # drawn as check
    assert {path.name for path in (pictures.DOCS / "pictures").iterdir()} == {
        Path(pictures.place(name)).name for name in names
    }


@pytest.mark.slow
def test_is_answered_as_expected_and_its_proofs_hold(run, tmp_path):
    out, proofs = tmp_path / "out.jsonl", tmp_path / "proofs"
    training = {entry.file for entry in ENTRIES if entry.problem.kind.startswith("check")}
    torch = importlib.util.find_spec("torch") is not None
    files = [GALLERY] if torch else sorted({entry.file for entry in ENTRIES} - training)
    ended = run("batch", *files, "--out", out, "--proof", proofs, "--quiet")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["file"], row["error"]) for row in rows if row["status"] != "ok"] == []
    assert len(rows) == len(ENTRIES) if torch else len(rows) > 100
    for row in rows:  # the problem of an answer can be asked again
        kind_of(row["problem"])(**row["problem"], base=Path(row["file"]).parent)
    assert ended.code == 0
    written = {row["proof_file"]["file"] for row in rows if row["proof_file"]}
    assert {str(path) for path in proofs.rglob("*.json")} == written
    assert len(written) >= 60
    pytest.importorskip("flint", reason="python-flint, the extra 'proof', is not installed")
    checked = run("verify", proofs, "--json", "--jobs", 1)
    assert [row for row in checked.json["files"] if row["status"] != "proven"] == []
