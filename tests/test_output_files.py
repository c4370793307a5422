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
