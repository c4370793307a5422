"""Labels with a structure, each read into rows of numbers.

    multilabel:a|b,b,a|c        several labels a sample, as rows of 0 and 1, one column a label in alphabetical order
    multilabel:101,011          the same as digits; also rows 1,0,1;0,1,1
    multilabel:@tags.txt        one sample a line, a|b or digits; @rows.csv, @rows.npy: rows of 0 and 1;
                                @t.csv:tags: a column of a|b
    tree:@file                  one sample a line, its path from the top: animal/dog; or a table, one column a level;
                                a column called count says how many samples a row stands for
    tree:2x20                   2 groups of 20 classes, one sample each
    ordered:low<mid<high:LIST   positions in a named order; LIST is one label a sample, or @file

In a tree a row holds a number for each level, top first; a node is told apart by the numbers down to its level.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geomsolve.errors import InputError, guess
from geomsolve.reading.csv import Csv
from geomsolve.reading.files import content, locate, standard_input
from geomsolve.reading.generators import GENERATORS, MOST_POINTS, Generator, generate, register
from geomsolve.reading.numbers import is_number
from geomsolve.reading.source import FloatArray
from geomsolve.reading.table import Table, look, read_rows

SEVERAL, LEVEL, ROW = "|", "/", ";"
"""What stands between the labels of a sample, between the levels of a path, and between samples where commas do not."""

COUNTS = ("count", "counts", "n", "samples")
"""Names of a column that says how many samples a row of a tree stands for."""


def is_structured(text: str) -> bool:
    """Whether ``text`` names labels with a structure; a bare list of a|b is one."""
    head = text.partition(":")[0]
    return head in ("multilabel", "tree", "ordered") or (SEVERAL in text and not text.startswith("@"))


def read_structured(text: str, base: Path | None = None) -> Table:
    """The labels that ``text`` names, as in the module; raises :class:`InputError`."""
    kind, colon, rest = text.partition(":")
    if kind == "tree":
        return read_tree(rest, base, text)
    if kind == "ordered":
        return read_ordered(rest, base, text)
    return read_several(rest if colon and kind == "multilabel" else text, base, text)


def words_of(text: str, base: Path | None) -> tuple[list[str], bool]:
    """The labels written in a list, a file or its column, and whether they are known to be texts."""
    if text.strip() == "-":
        return _lines(standard_input(base)), False
    if not text.startswith("@"):
        return [word.strip() for word in text.split(ROW if ROW in text else ",")], False
    path, key = locate(text[1:], base)
    source = look(path)
    if source is None:
        if key:
            raise InputError(f"{path.name} has no columns to name; leave out {key!r}")
        return _lines(content(path)), False
    if not key and len(source.columns) > 1:
        raise InputError(
            f"{str(path)!r} has several columns: name one, as in @{source.example(0)}; it has {source.known}"
        )
    position = source.pick(key)[0] if key else 0
    return [str(value).strip() for value in source.values(position)], True


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


def read_several(text: str, base: Path | None, place: str) -> Table:
    """Rows (n, L) of 0 and 1: which of L labels each sample has."""
    if (ROW in text and SEVERAL not in text) or _in_columns(text, base):
        names, rows = _zero_one(text, base)
    else:
        words, _ = words_of(text, base)
        names, rows = _from_words(words)
    return _of_several(names, rows, place)


def _of_several(names: tuple[str, ...], rows: FloatArray, place: str) -> Table:
    spelled = tuple(SEVERAL.join(name for name, has in zip(names, row, strict=True) if has) for row in rows)
    return Table(rows, names, place, spelled)


def in_python(labels: Any) -> Table | None:
    """A list or array of texts a|b or of lists of labels, or of texts a/b, each one sample; None for anything else."""
    kept = list(labels) if isinstance(labels, (list, tuple)) or getattr(labels, "ndim", 0) == 1 else []
    words = [SEVERAL.join(sorted(each)) if _is_set(each) else each for each in kept]
    if not words or not all(isinstance(word, str) for word in words):
        return None
    if any(map(_is_set, kept)) or any(SEVERAL in word for word in words):
        return _of_several(*_from_words(words), "labels")
    if all(LEVEL in word for word in words) and not all(map(is_number, words)):  # 1/3 is a fraction
        return tree_of([_levels(word) for word in words], [1] * len(words), "labels")
    return None


def _is_set(labels: Any) -> bool:
    return isinstance(labels, (list, tuple, set, frozenset)) and all(isinstance(label, str) for label in labels)


def _levels(path: str) -> list[str]:
    return [part.strip() for part in path.split(LEVEL)]


def _in_columns(text: str, base: Path | None) -> bool:
    """Whether a file holds numbers side by side rather than texts."""
    if not text.startswith("@"):
        return False
    path, key = locate(text[1:], base)
    source = look(path)
    if source is None:
        lines = _lines(content(path))
        return bool(lines) and SEVERAL not in "".join(lines) and len(lines[0].replace(",", " ").split()) > 1
    numeric = [i for i, column in enumerate(source.columns) if column.kind not in "UO"]
    chosen = source.pick(key) if key else numeric
    if not set(chosen) <= set(numeric):
        return False
    return len(chosen) > 1 or any(source.columns[i].many for i in chosen)


def _zero_one(text: str, base: Path | None) -> tuple[tuple[str, ...], FloatArray]:
    if text.startswith("@"):
        path, key = locate(text[1:], base)
        source = look(path)
        if isinstance(source, Csv) and not key:
            chosen = [i for i in range(len(source.columns)) if source.columns[i].kind != "U"]
            values = np.concatenate([np.zeros((0, len(chosen))), *source.blocks(chosen)])
            table = Table(values, tuple(source.columns[i].name for i in chosen if source.columns[i].name))
        else:
            table = read_rows(text, base)
    else:
        table = read_rows(text, base)
    rows = np.array(table.points, dtype=np.float64)
    wrong = np.argwhere((rows != 0) & (rows != 1))
    if wrong.size:
        i, j = wrong[0]
        raise InputError(f"several labels a sample are rows of 0 and 1, but row {i + 1} holds {rows[i, j]:g}")
    names = table.names if len(table.names) == rows.shape[1] else tuple(str(j + 1) for j in range(rows.shape[1]))
    return names, rows


def _from_words(words: Sequence[str]) -> tuple[tuple[str, ...], FloatArray]:
    width = len(words[0]) if words else 0
    if width > 1 and all(len(word) == width and set(word) <= {"0", "1"} for word in words):
        return tuple(str(j + 1) for j in range(width)), np.array([[float(x) for x in word] for word in words])
    sets = [{part.strip() for part in word.split(SEVERAL) if part.strip()} for word in words]
    names = tuple(sorted(set().union(*sets))) if sets else ()
    rows = np.array([[float(name in each) for name in names] for each in sets]).reshape(len(sets), len(names))
    return names, rows


def read_tree(text: str, base: Path | None, place: str) -> Table:
    """Rows (n, levels): at each level the number of the sample's node among the children of the one above."""
    if not text.startswith("@") and text.strip() != "-" and LEVEL not in text and "," not in text:
        rows = generate(f"grid:{text}") if _is_size(text) else None
        if rows is None:
            raise InputError(f"{place!r} is no tree; write tree:@file, tree:2x20, or paths, tree:a/b,a/c,d/e")
        return Table(rows, (), place, tuple(LEVEL.join(f"{x:.0f}" for x in row) for row in rows))
    return tree_of(*_paths(text, base), place)


def tree_of(paths: Sequence[Sequence[str]], times: Sequence[int], place: str) -> Table:
    """The same of paths, and how many samples each stands for."""
    if not paths:
        raise InputError("there are no labels")
    depth = len(paths[0])
    for number, path in enumerate(paths, 1):
        if len(path) != depth or not all(path):
            raise InputError(
                f"all paths of a tree have as many levels; {LEVEL.join(paths[0])!r} has {depth}, and sample {number} "
                f"is {LEVEL.join(path)!r}"
            )
    total = int(sum(times))
    if total > MOST_POINTS:
        raise InputError(f"{total:,} samples are more than the {MOST_POINTS:,} that are taken")
    known: dict[tuple[str, ...], dict[str, int]] = {}
    rows = np.zeros((len(paths), depth))
    for i, path in enumerate(paths):
        for level, name in enumerate(path):
            siblings = known.setdefault(tuple(path[:level]), {})
            rows[i, level] = siblings.setdefault(name, len(siblings))
    repeated = np.repeat(np.arange(len(paths)), times)
    spelled = tuple(LEVEL.join(paths[i]) for i in repeated.tolist())
    return Table(rows[repeated], (), place, spelled)


def _is_size(text: str) -> bool:
    return bool(text) and all(part.isdecimal() for part in text.lower().split("x"))


def _paths(text: str, base: Path | None) -> tuple[list[list[str]], list[int]]:
    """The path of each row, and how many samples it stands for."""
    if text.startswith("@"):
        path, key = locate(text[1:], base)
        source = look(path)
        if source is not None and (len(source.columns) > 1):
            chosen = source.pick(key) if key else list(range(len(source.columns)))
            counts = [i for i in chosen if source.columns[i].name.lower() in COUNTS]
            levels = [i for i in chosen if i not in counts]
            columns = [[_node(value) for value in source.values(i)] for i in levels]
            times = [1] * len(columns[0])
            if counts:
                times = [_count(value) for value in source.values(counts[0])]
            return [list(row) for row in zip(*columns, strict=True)], times
    words, _ = words_of(text, base)
    if not any(LEVEL in word for word in words) and any("," in word for word in words):
        return [[part.strip() for part in word.split(",")] for word in words], [1] * len(words)
    return [_levels(word) for word in words], [1] * len(words)


def _node(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value).strip()


def _count(value: object) -> int:
    try:
        number = float(str(value))
    except ValueError:
        number = 0.0
    if not (number >= 1 and number == int(number) and number <= MOST_POINTS):
        raise InputError(f"the count of a row must be a whole number of at least 1, got {str(value)[:40]!r}")
    return int(number)


def read_ordered(text: str, base: Path | None, place: str) -> Table:
    """Positions (n,) of labels in the order that is named first."""
    order, colon, rest = text.partition(":")
    names = [name.strip() for name in order.split("<")]
    if not colon or len(names) < 2 or len(set(names)) < len(names) or not all(names):
        raise InputError(f"{place!r} is not ordered:low<mid<high:LIST, with each label of the order once")
    at = {name: i for i, name in enumerate(names)}
    words, _ = words_of(rest, base)
    for number, word in enumerate(words, 1):
        if word not in at:
            raise InputError(f"label {number} is {word!r}, which is not in the order {order}; {guess(word, names)}")
    return Table(np.array([float(at[word]) for word in words]), (), place, tuple(words))


def _refuse(name: str, example: str) -> Generator:
    """An entry of ``list labels`` for labels that are not made but read."""

    def make(parts: Sequence[str], seed: int) -> FloatArray:
        raise InputError(f"{name} labels are those of samples, as in {example}, and no points")

    return Generator(name, example, SUMMARIES[name], make, most=10**6)


SUMMARIES = {
    "multilabel": "several labels a sample: a|b, rows of 0 and 1, or a file with either",
    "tree": "a path for each sample, @file with a/b or a column a level; or 2 groups of 20 classes",
    "ordered": "positions in a named order, of a list or a file of labels",
}

for _name, _example in (
    ("multilabel", "multilabel:a|b,b,a|c"),
    ("tree", "tree:2x20"),
    ("ordered", "ordered:low<mid<high:mid,low,high"),
):
    if _name not in GENERATORS:
        register(_refuse(_name, _example))


def sets() -> dict[str, Generator]:
    """Every built-in set by name, those of this module included."""
    return GENERATORS
