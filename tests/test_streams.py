"""Standard streams that are closed, full, or of few letters, and signs in names that a terminal would obey."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ASK = ["imbalance", "--props", ".6,.4"]

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without a full device")


def shell(redirection: str, *args: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = f'exec "$0" -m geomsolve "$@" {redirection}'
    return subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, *args],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("redirection", "args", "code", "said"),
    [
        (">/dev/full", ASK, 3, "standard output: No space left on device"),
        (">/dev/full", ["list", "losses"], 3, "standard output: No space left on device"),
        (">&-", [*ASK, "--json"], 3, "standard output: Bad file descriptor"),
        (">&-", ["imbalance", "--props", "x"], 2, "--props"),
        ("<&-", ["imbalance", "--props", "-"], 2, "--props: standard input is closed"),
        ("", [*ASK, "--out", "/dev/full"], 3, "'/dev/full' cannot be written: No space left on device"),
    ],
)
def test_one_message_names_the_file(redirection, args, code, said):
    done = shell(redirection, *args)
    assert done.returncode == code
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"Error: {said}" if "--json" not in args else f'{{"error": {{"message": "{said}')
    assert done.stdout == b""


@pytest.mark.slow
def test_letters_that_a_terminal_lacks_are_codes():
    done = shell("", *ASK, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert rb"180\xb0 apart" in done.stdout
    assert done.stderr == b""


@pytest.mark.slow
def test_an_answer_without_standard_error_is_one():
    assert shell("2>&-", *ASK).returncode == 0
    assert shell("2>/dev/full", "imbalance", "--props", "x").returncode == 2


def test_names_are_shown_and_not_obeyed(run, tmp_path):
    name = "\x1b[2Ja\u202e\x9b"
    answer = run(*ASK, "--names", f"{name},b")
    assert answer.code == 0
    assert not set("\x1b\u202e\x9b") & set(answer.stdout)
    assert "\u241b[2J" in answer.stdout
    assert run(*ASK, "--names", f"{name},b", "--json").json["classes"][0]["name"] == name
    file = tmp_path / "a.yaml"
    file.write_text('kind: imbalance\nprops: [.6, .4]\n"\\e[31mkey": 1\ntitle: "\\e[2J"\n')
    for command in ("validate", "solve", "batch"):
        ended = run(command, file)
        assert ended.code == 2
        assert "\x1b" not in ended.stdout + ended.stderr


def test_a_pipe_that_breaks_elsewhere_is_an_error(monkeypatch):
    """Only the reader of standard output may leave: else a batch would end well without its rows."""
    from geomsolve.cli.reader import while_read

    read, write = os.pipe()
    monkeypatch.setattr("sys.stdout", os.fdopen(write, "w"))
    with pytest.raises(BrokenPipeError), while_read():
        raise BrokenPipeError
    os.close(read)
    with while_read():
        raise BrokenPipeError
    sys.stdout.close()
