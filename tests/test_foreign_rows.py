"""Rows and names that others wrote: forged ledgers, crafted rows on a page, formulas in a table."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import os
import re

import pytest

from geomsolve.batch.rows import is_row
from geomsolve.batch.table import cell
from geomsolve.cli.page import page

GOOD = "kind: imbalance\nprops: [.6, .4]\n"


@pytest.fixture
def row(run, tmp_path):
    (tmp_path / "a.yaml").write_text(GOOD)
    return run("batch", tmp_path / "a.yaml", "--json").json


@pytest.mark.slow
def test_a_forged_row_is_no_row(run, tmp_path, row):
    file, out = tmp_path / "a.yaml", tmp_path / "out.jsonl"
    forged = [
        {"status": "<b>"},
        {"status": []},
        {"versions": ["geomsolve"]},
        {"versions": {"geomsolve": 1}},
        {"sha256": {}},
        {"file": None},
        {"proof": []},
        {"error": 3},
    ]
    for change in forged:
        content = json.dumps({**row, **change}) + "\n"
        out.write_text(content)
        for command in (("batch", file, "--resume", "--out", out), ("report", out, "--out", tmp_path / "p.html")):
            ended = run(*command)
            assert (ended.code, ended.stdout) == (2, "")
        assert out.read_text() == content
    out.write_text("[" * 10_000 + "\n")
    assert run("batch", file, "--resume", "--out", out).code == 2


def paths(data, path=()):
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from paths(part, (*path, key))


@pytest.mark.slow
def test_nothing_of_a_row_is_markup(row, monkeypatch):
    monkeypatch.setattr("geomsolve.plots.render", lambda row, suffix: None)
    seen = 0
    for path in paths(row):
        for evil in ('"><script>alert(1)</script>', ["<img src=x>"], {"<i>": "<b>"}, None, -1e308, []):
            crafted = copy.deepcopy(row)
            inner = crafted
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = evil
            if is_row(crafted):
                body = page([crafted]).split("<body>")[1].rpartition("<script>")[0]
                assert not re.search("<(script|img|i|b)>?[ >]", body)
                seen += 1
    assert seen > 100


@pytest.mark.slow
def test_the_page_runs_its_own_script_alone_and_shows_what_failed(row):
    failed = {**row, "status": "failed", "error": "took longer than 1 s, and was stopped", "headline": None}
    text = page([failed])
    script = re.search("<script>(.*)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in text
    assert "script-src 'unsafe-inline'" not in text
    assert "took longer than 1 s" in text


def test_formulas_are_texts_in_a_table(run, tmp_path):
    for text in ("=1+1", "+A1", "-A1", "@SUM(A1)", "-2+3", "\t=1"):
        assert cell(text) == f"'{text}"
    for value in ("-0.5 -1e-05", "a=1", "-3", -3.5, None):
        assert cell(value) == value
    flags = ("--props", ".6,.3,.1", "--names", "a,=b,c", "--over", "temperature=5,6")
    answer = run("sweep", *flags, "--csv", tmp_path / "t")
    assert answer.code == 0
    assert "'=b+c" in (tmp_path / "t").read_text()


@pytest.mark.slow
def test_a_name_that_is_no_text_costs_no_row(run, tmp_path):
    (tmp_path / "a.yaml").write_text(GOOD)
    try:
        (tmp_path / os.fsdecode(b"\xff.yaml")).write_text(GOOD + "seed: 1\n")
    except OSError:
        pytest.skip("a file system of texts")
    out, target = tmp_path / "link", tmp_path / "rows.jsonl"
    out.symlink_to(target)
    assert run("batch", tmp_path, "--out", out).code == 0
    assert out.is_symlink()
    files = [json.loads(line)["file"] for line in target.read_text().splitlines()]
    assert sorted(file.rpartition("/")[2] for file in files) == ["\\xff.yaml", "a.yaml"]


def test_no_one_waits_for_centuries(run, tmp_path):
    (tmp_path / "a.yaml").write_text(GOOD)
    ended = run("batch", tmp_path / "a.yaml", "--timeout", "1e10")
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("Error: --timeout")
