"""What a command writes: every file that was asked for, or none."""

from __future__ import annotations

import pytest

from geomsolve import InputError
from geomsolve.files import write_together

PROPS = ("--props", "0.7,0.2,0.1", "-t", "0.5")


def test_files_are_written_together_or_not_at_all(tmp_path):
    old = tmp_path / "old.txt"
    old.write_text("before")
    with pytest.raises(InputError, match="there is no folder") as refused:
        write_together([("csv", old, "after"), ("jsonl", tmp_path / "nowhere" / "new.txt", b"x")])
    assert refused.value.field == "jsonl"
    assert [path.name for path in tmp_path.iterdir()] == ["old.txt"]
    assert old.read_text() == "before"
    with pytest.raises(OSError, match="too long"):
        write_together([("out", tmp_path / "new.txt", "x"), ("plot", tmp_path / ("x" * 300), b"x")])
    assert [path.name for path in tmp_path.iterdir()] == ["old.txt"]
    write_together([("csv", old, "after"), ("jsonl", tmp_path / "new.txt", b"x")])
    assert (old.read_text(), (tmp_path / "new.txt").read_bytes()) == ("after", b"x")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        (("--csv", "a.csv", "--jsonl", "a.jsonl", "--out", "nowhere/a.json"), "out"),
        (("--out", "a.json", "--csv", "nowhere/a.csv"), "csv"),
        (("--out", "a.json", "--jsonl", "nowhere/a.jsonl"), "jsonl"),
        (("--out", "a.json", "--jsonl", "x" * 300), ""),
    ],
)
def test_a_sweep_that_cannot_write_one_file_writes_none(run, tmp_path, monkeypatch, flags, field):
    monkeypatch.chdir(tmp_path)
    answer = run("sweep", *PROPS[:2], "--over", "temperature=0.5,1", *flags)
    assert answer.code == 2
    assert answer.stdout == ""
    assert answer.stderr.startswith(f"Error: --{field}: there is no folder" if field else "Error: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_picture_that_cannot_be_written_leaves_no_json_behind(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    answer = run("imbalance", *PROPS, "--out", "a.json", "--plot", "x" * 300 + ".png")
    assert answer.code == 2
    assert list(tmp_path.iterdir()) == []
    both = run("imbalance", *PROPS, "--out", "a.json", "--plot", "a.svg")
    assert both.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.svg"]


def test_words_without_end_are_cut_short(run):
    for flags in (("--dim", "1" * 5000), ("--props", "9" * 5000), ("x" * 100_000,), ("--names", "n" * 5000)):
        answer = run("imbalance", *PROPS, *flags)
        assert answer.code == 2
        assert len(answer.stderr) < 700
        assert "..." in answer.stderr or len(answer.stderr) < 250


@pytest.mark.parametrize("link", ["p.txt", "soft.txt", "hard.txt", "./p.txt"])
@pytest.mark.parametrize(
    "flags",
    [
        ("imbalance", "--props", "@p.txt", "--out"),
        ("sweep", "--props", "@p.txt", "--over", "temperature=.5,1", "--csv"),
        ("sweep", "--props", "@p.txt", "--over", "temperature=.5,1", "--jsonl"),
        ("solve", "a.yaml", "--out"),
        ("batch", "a.yaml", "--out"),
        ("batch", "a.yaml", "--csv"),
        ("batch", "a.yaml", "--resume", "--out"),
        ("report", "a.yaml", "--out"),
    ],
    ids=lambda flags: f"{flags[0]} {flags[-1]}",
)
def test_what_is_read_is_never_overwritten(run, tmp_path, monkeypatch, flags, link):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.txt").write_text("0.6\n0.4\n")
    (tmp_path / "soft.txt").symlink_to("p.txt")
    (tmp_path / "hard.txt").hardlink_to(tmp_path / "p.txt")
    (tmp_path / "a.yaml").write_text("kind: imbalance\nprops: '@p.txt'\n")
    answer = run(*flags, link)
    assert (answer.code, answer.stdout) == (2, "")
    assert answer.stderr.startswith(f"Error: {flags[-1]}: '{link}' is needed for something else")
    assert (tmp_path / "p.txt").read_text() == "0.6\n0.4\n"


@pytest.mark.parametrize("pair", [("--out", "--csv"), ("--out", "--jsonl"), ("--csv", "--jsonl"), ("--out", "--plot")])
def test_two_outputs_are_two_files(run, tmp_path, monkeypatch, pair):
    monkeypatch.chdir(tmp_path)
    answer = run("sweep", *PROPS[:2], "--over", "temperature=.5,1", pair[0], "a.svg", pair[1], "a.svg")
    assert answer.code == 2
    assert answer.stderr.startswith(f"Error: {pair[1]}: 'a.svg' is needed for something else")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_onto_what_is_read(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.svg").write_text("0.6\n0.4\n")
    assert run("imbalance", "--props", "@p.svg", "--plot", "p.svg").code == 2
    assert (tmp_path / "p.svg").read_text() == "0.6\n0.4\n"
