"""What reads text, under a search for inputs that make it go new ways: a value or one complaint, never anything else.

Inputs are changed at random; those that reach a pair of lines which none reached before are kept and changed further.
``pytest -m nightly`` searches for as long as GEOMSOLVE_FUZZ_SECONDS says (default: 1200), each time elsewhere.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import geomsolve
from geomsolve import InputError
from geomsolve.questions.documents import read_entries
from geomsolve.reading.labels import read_classes, read_labels
from geomsolve.reading.latents import read_latents
from geomsolve.reading.lists import read_groups, read_names, read_numbers
from geomsolve.reading.matrices import read_matrix, read_partial
from geomsolve.reading.samples import read_samples
from geomsolve.reading.shares import read_shares
from geomsolve.reading.table import read, read_rows
from geomsolve.reading.yaml import Node, decode, read_documents

WATCHED = (str(Path(geomsolve.__file__).parent / "reading"), str(Path(geomsolve.__file__).parent / "questions"))
GALLERY = sorted((Path(__file__).parent.parent / "problems").rglob("*.yaml"))

TOKENS = (
    *("0", "1", "-1", "1e308", "1e-320", "nan", "inf", "1/3", "3*1", "0*1", "9007199254740993", "½", "٣", "null"),
    *",;:=#@*-+./[]{}&!%?|>'\"\\\n\r\t \0\ufeff\x85\u2028\ud7ff",
    *("\n---\n", "\n...\n", "&a ", "*a", "<<: ", "!!str ", "kind: ", "props: ", "loss: ", "name: ", "grid: "),
    *("expect: ", "labels: ", "tree:", "multilabel:", "line:5"),
)


def one_way(read_it, data, seen: set) -> bool:
    """Read ``data`` and say whether it went a way that is not among those ``seen``, which it joins."""
    before, new = sys.gettrace(), False

    def lines(frame, event, _):
        nonlocal new, last
        here = (frame.f_code, frame.f_lineno)
        if (last, here) not in seen:
            seen.add((last, here))
            new = True
        last = here
        return lines

    def calls(frame, event, _):
        return lines if frame.f_code.co_filename.startswith(WATCHED) else None

    last = None
    sys.settrace(calls)
    try:
        read_it(data)
    finally:
        sys.settrace(before)
    return new


def changed(data: str, corpus: list[str], rng: random.Random) -> str:
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice([0, 1, 1, 3, 10, 40]))
        other = rng.choice(corpus)
        start = rng.randrange(len(other) + 1)
        put = rng.choice(
            ["", rng.choice(TOKENS), rng.choice(TOKENS), other[start : start + rng.choice([3, 20])], data[at:end] * 2]
        )
        data = data[:at] + put + data[end:]
    return data[:4000]


def search(read_it, corpus: list[str], rng: random.Random, *, runs: float = float("inf"), until: float = float("inf")):
    seen: set = set()
    corpus = list(corpus)
    for data in corpus:
        one_way(read_it, data, seen)
    done = 0
    while done < runs and time.monotonic() < until:
        done += 1
        base = rng.choice(corpus[-30:] if rng.random() < 0.5 else corpus)
        data = changed(base, corpus, rng)
        try:
            if one_way(read_it, data, seen):
                corpus.append(data)
        except Exception as error:
            error.add_note(f"for {data!r}")
            raise
    return corpus


def written_numbers(text: str) -> list[float]:
    """A list once more: words, repeats, fractions."""
    numbers = []
    for word in filter(None, re.split(r"[,\s]+", text)):
        count, star, rest = word.partition("*")
        number = float(Fraction(rest if star else word)) if "/" in word else float(rest if star else word)
        numbers += [number] * (int(count) if star else 1)
    return numbers


def lists(text: str) -> None:
    """Every reader of a list takes it or refuses it; where it is one of numbers, they are those that stand there."""
    base = Path("/nonexistent")
    text = text.replace("-", "", 1) if text.strip() == "-" else text
    readers = (read_names, read_groups, read_labels, read_latents, read_matrix, read_partial, read_samples, read_shares)
    for each in readers:
        with suppress(InputError):
            each(text, base)
    try:
        numbers = read_numbers(text, base)
    except InputError:
        return
    if "@" not in text and len(numbers) < 1000:
        np.testing.assert_array_equal(numbers, written_numbers(text))


def documents(text: str) -> None:
    """A problem file: entries or complaints with their place; what is plain data is the same when written as JSON."""
    data = text.encode(errors="surrogatepass")
    for entry in read_entries(data, "f.yaml", Path("/nonexistent")):
        assert (entry.problem is None) == bool(entry.complaints)
        for complaint in entry.complaints:
            assert complaint.message
            assert complaint.place.line >= 1
            assert complaint.place.column >= 1
    try:
        found = list(read_documents(decode(data)))
    except InputError:
        return
    for node in found:
        if isinstance(node, Node):
            plain = json.dumps(node.plain(), allow_nan=True)
            if "NaN" not in plain and "Infinity" not in plain:
                (again,) = read_documents(plain)
                assert isinstance(again, Node)
                assert json.dumps(again.plain()) == plain


def files(folder: Path):
    """The readers of files, by suffix of the first line of what they are given."""

    def read_them(text: str) -> None:
        suffix, _, content = text.partition("\n")
        path = folder / f"f{suffix if suffix in ('.csv', '.tsv', '.txt', '.json') else '.csv'}"
        path.write_bytes(content.encode(errors="surrogatepass"))
        readers = (read, read_classes, read_labels, read_rows, read_matrix, read_partial, read_samples, read_shares)
        for each in (*readers, read_numbers, read_names, read_groups):
            for key in ("", ":b"):
                with suppress(InputError):
                    each(f"{'' if each in (read, read_classes) else '@'}{path}{key}", folder)
        for kind in ("tree:@", "multilabel:@", "ordered:@"):
            with suppress(InputError):
                read_labels(f"{kind}{path}", folder)

    return read_them


LISTS = [
    *("0.7,0.2,0.1", "90*0.01 0.1", "1/3,1/3,1/3", "cats:5,dogs:3", "a=5,b=2", "0,0;1,0;0,1", "1,.5;.5,1", "1,;,1"),
    *("line:9", "circle:8:2.5", "sphere:4:3", "grid:3x3", "simplex:4", "classes:5,3*2", "rings:3x4", "1,2,3;2,3,4"),
    *("tree:2x3", "tree:a/b,a/c:3,d", "multilabel:101,011,110", "ordered:1,2,3", "10.000 2.000", '{"a": 5, "b": 2}'),
]
FILES = [
    *(".csv\na,b\n5,3\n2,1\n", ".csv\n5\n3\n2\n", ".tsv\na\tb\n1\tx\n2\ty\n", ".txt\n5 # five\n3\n\n2*1\n"),
    *(".csv\n,a,b\na,0,3\nb,3,0\n", ".csv\nid;label;b\n1;x;0,5\n2;y;0,7\n", ".csv\ni,j,s\na,b,3\nb,c,1\n"),
    *('.json\n{"a": 5, "b": 2}', ".txt\na: 5\nb: 3\n", '.csv\n"a ""q""",b\n"x\ny",2\n'),
    *(".csv\na,b,c\n1,0,0\n0,1,0\n0,0,1\n", ".csv\nb\n" + "0.5\n" * 30),
]

SUBJECTS = {"lists": LISTS, "documents": [path.read_text(encoding="utf-8") for path in GALLERY[::6]], "files": FILES}


def subject(name: str, folder: Path):
    return {"lists": lists, "documents": documents, "files": files(folder)}[name]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "runs"), [("lists", 400), ("documents", 60), ("files", 120)])
def test_readers_take_or_refuse_what_a_search_finds(name, runs, tmp_path):
    found = search(subject(name, tmp_path), SUBJECTS[name], random.Random(19), runs=runs)
    assert len(found) > len(SUBJECTS[name])  # the search is guided by something


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_readers_for_as_long_as_there_is_time(name, tmp_path):
    until = time.monotonic() + float(os.environ.get("GEOMSOLVE_FUZZ_SECONDS", "1200")) / len(SUBJECTS)
    rng = random.SystemRandom()
    while time.monotonic() < until:
        search(subject(name, tmp_path), SUBJECTS[name], rng, until=min(until, time.monotonic() + 60))
