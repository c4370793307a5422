"""Shares and counts of classes in the forms in which people have them, maybe with the names of the classes.

    0.7,0.2,0.1      a list (``lists.py``), in brackets too    70%,20%,10%       percentages
    cat:500,dog:100  names with numbers, = too                 {"cat": 500}      a JSON object
    100:1:1          a ratio                                   5_000,500         thousands
    0,7;0,3          semicolons, with decimal commas too       cat 500, dog 100  blanks in pairs
    @counts.csv      a column of names and one of numbers      @counts.json      an object or a list
    @counts.txt      a line a class, number or name and number

What looks like the label of each sample is no list of counts, and is refused with the way to give it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geomsolve.errors import InputError
from geomsolve.reading.files import content, is_file, locate, standard_input
from geomsolve.reading.lists import ARRAYS, TABLES, read_numbers, words
from geomsolve.reading.numbers import NoNumberError, expand, is_number, number

AS_LABELS = "if these are labels, one a sample, give them as labels (--labels)"

COUNT_NAMES = ("count", "counts", "n", "num", "number", "size", "samples", "images", "freq", "frequency", "support")
SHARE_NAMES = ("prop", "props", "proportion", "proportions", "share", "fraction", "prior")
"""Names of columns that hold how frequent a class is, whoever wrote them."""

_THOUSANDS = re.compile(r"[0-9]{1,3}(_[0-9]{3})+")
_RATIO = re.compile(r"[0-9._]+(\s*:\s*[0-9._]+)+")
_NAMED = re.compile(r"\s*(?P<name>.*\S)\s*[:=]\s*(?P<number>[^:=\s]+)\s*")
_SPACED = re.compile(r"\s*(?P<name>.*\S)\s+(?P<number>[-+0-9.][^\s]*)\s*")
_LINE = re.compile(r"(?P<name>.*?\S)(?:\s*[:=,;\t]\s*|\s+)(?P<number>\S+)")


@dataclass(frozen=True)
class Shares:
    """``values`` of the classes, with their ``names`` where they were given.

    ``parts``: the values are parts of a whole, percentages or a ratio, and no counts.
    """

    values: tuple[float, ...]
    names: tuple[str, ...] | None = None
    parts: bool = False


def read_shares(value: str | Mapping[Any, Any], base: Path | None = None) -> Shares:
    """Shares or counts from text as in the module, or from a mapping of names to numbers.

    Raises :class:`InputError` for what is no number, and for what a file holds that looks like labels.
    """
    if isinstance(value, Mapping):
        return _of_pairs([(str(name), _plain(x)) for name, x in value.items()])
    text = re.sub(r"(?<=[0-9.])\s+%", "%", value.strip())
    if text == "-":
        return _of_lines(standard_input(base), "standard input")
    if text.startswith("@") or is_file((base or Path()) / text):
        return _of_file(f"@{text.removeprefix('@')}", base)
    try:
        return _of_text(text, base)
    except NoNumberError as error:
        raise InputError(f"{error.message}; {_instead(text)}") from None


def _instead(text: str) -> str:
    """What to do about text that holds what is no number."""
    worded = any(word[0].isalpha() for word in words(text) if not is_number(word))
    return AS_LABELS if worded else "write numbers with commas between them, as in 500,100,20 or 0.7,0.2,0.1"


def look_like_labels(values: Sequence[float], least: int = 2) -> bool:
    """Whether numbers are rather the labels of samples than counts: 0 or 1 up to K, at least ``least`` of them, none
    left out, and each there more than twice on average."""
    distinct = set(values)
    low, high = min(distinct, default=-1), max(distinct, default=-1)
    whole = all(x == int(x) for x in distinct if abs(x) < 1e9)
    every = low in (0, 1) and high - low == len(distinct) - 1
    return whole and every and len(distinct) >= least and len(values) > 2 * len(distinct)


def _of_text(text: str, base: Path | None) -> Shares:
    if text[:1] in ("{", "[", "(") and text[-1:] in ("}", "]", ")"):
        try:
            loaded = json.loads(text)
        except ValueError:
            loaded = None
        if isinstance(loaded, dict):
            return read_shares(loaded, base)
        text = text[1:-1].strip()
    if _RATIO.fullmatch(text):
        parts = [number(_joined(part.strip())) for part in text.split(":")]
        if not sum(parts) > 0:
            raise InputError(f"{text!r} is no ratio; its parts must be positive")
        return Shares(tuple(part / sum(parts) for part in parts), parts=True)
    entries = [part for part in (text.split(",") if "," in text else text.split()) if part.strip()]
    if ";" in text:  # then a comma may be that of a decimal
        entries = [part.replace(",", ".") for part in text.split(";") if part.strip()]
        text = " ".join(entries)
    for form in (_NAMED, _SPACED):
        named = [form.fullmatch(part) for part in entries]
        if named and all(match and not (form is _SPACED and _numeric(match["name"])) for match in named):
            return _of_pairs([(match["name"].strip("\"' "), match["number"]) for match in named if match])
    return _of_tokens(words(text))


def _of_tokens(tokens: list[str]) -> Shares:
    """Numbers alone: percentages, or as ``lists.py`` has them with thousands set apart."""
    if tokens and all(token.endswith("%") for token in tokens):
        return Shares(tuple(x / 100 for token in tokens for x in expand(token[:-1])), parts=True)
    odd = next((token for token in tokens if token.endswith("%")), None)
    if odd is not None:
        raise InputError(f"{odd!r} is a percentage, but other numbers are none; write all with % or none")
    _refuse_thousands(tokens)
    found: list[float] = []
    for token in tokens:
        found += expand(_joined(token), already=len(found))
    return Shares(tuple(found))


def _of_pairs(pairs: Sequence[tuple[str, str]]) -> Shares:
    names = tuple(name for name, _ in pairs)
    read = _of_tokens([number.strip() for _, number in pairs])
    if len(read.values) != len(names):
        raise InputError("a name has one number; leave the repeats out")
    return Shares(read.values, names, read.parts)


def _plain(x: Any) -> str:
    if isinstance(x, bool) or x is None:
        raise InputError(f"{x!r} is not a number")
    return str(x)


def _joined(token: str) -> str:
    """A number without the signs between its thousands, and no sign of a quotation."""
    return token.replace("_", "") if _THOUSANDS.fullmatch(token) else token


def _refuse_thousands(tokens: Sequence[str]) -> None:
    """Complain about 5,000,500: a comma between thousands splits a number."""
    if not any(re.fullmatch("0[0-9][0-9]", token) for token in tokens[1:]) or not all(t.isdecimal() for t in tokens):
        return
    joined: list[str] = []
    for token in tokens:
        if joined and re.fullmatch("0[0-9][0-9]", token):
            joined[-1] += token
        else:
            joined.append(token)
    meant = ", ".join(joined)
    raise InputError(f"commas split numbers, so no number may hold one; did you mean {meant}? (5_000 is read too)")


def _of_file(text: str, base: Path | None) -> Shares:
    path, key = locate(text[1:], base)
    suffix = path.suffix.lower()
    if suffix in TABLES:
        found = _of_table(path, key)
    elif suffix in ARRAYS:
        found = None
    elif suffix == ".json":
        found = _of_json(path)
    else:
        return _of_lines(content(path), repr(str(path))) if not key else Shares(tuple(read_numbers(text, base)))
    if found is None:
        try:
            found = Shares(tuple(read_numbers(text, base)))
        except NoNumberError as error:
            raise InputError(f"{error.message}; {AS_LABELS}") from None
    return _counts_of(found, repr(str(path)))


def _counts_of(found: Shares, where: str) -> Shares:
    """What a file holds, unless that is labels."""
    if found.names is None and look_like_labels(found.values):
        low, high = min(found.values), max(found.values)
        raise InputError(
            f"{where} holds {len(found.values):,} numbers from {low:g} to {high:g}, which look like the label of each "
            f"sample; {AS_LABELS}, and if they are counts, write them out in place of the file"
        )
    return found


def _of_table(path: Path, key: str) -> Shares | None:
    """Names and numbers in two columns; None where there is one column."""
    from geomsolve.reading.csv import Csv

    table = Csv.look(path)
    chosen = table.pick(key) if key else list(range(len(table.columns)))
    if len(chosen) != 2:
        return None
    kinds = [table.columns[i].kind for i in chosen]
    usual = [table.names[i].lower() in COUNT_NAMES + SHARE_NAMES for i in chosen]
    columns = [table.values(i) for i in chosen]
    head = [table.names[i] for i in chosen]
    if table.heading and sum(map(is_number, head)) == 1:  # the first line is a class, too
        columns = [[name, *cells] for name, cells in zip(head, columns, strict=True)]
    if kinds.count("U") == 1:
        at = 1 - kinds.index("U")
    elif table.heading and not (key or table.names[0]):  # numbers, beside the numbers of their lines
        return None
    elif sum(usual) == 1:
        at = usual.index(True)
    elif key or any(columns[0] == [str(i + first) for i in range(len(columns[0]))] for first in (0, 1)):
        at = 1
    else:
        return None
    return _of_pairs(list(zip(columns[1 - at], columns[at], strict=True)))


def _of_json(path: Path) -> Shares:
    try:
        loaded = json.loads(content(path))
    except ValueError as error:
        raise InputError(f"{str(path)!r} is no JSON: {error}") from None
    if isinstance(loaded, dict):
        return read_shares(loaded)
    if not isinstance(loaded, list):
        raise InputError(f"{str(path)!r} holds neither a list of numbers nor an object of names and numbers")
    return _of_tokens([_plain(x) for x in loaded])


def _of_lines(text: str, where: str) -> Shares:
    """A line a class, of a number or of a name and a number; or numbers as ``lists.py`` has them."""
    lines = [(at, line.split("#")[0].strip()) for at, line in enumerate(text.splitlines(), 1)]
    lines = [(at, line) for at, line in lines if line]
    matches = [_LINE.fullmatch(line) for _, line in lines]
    rest = matches[1:] if len(lines) > 1 and matches[0] and not is_number(matches[0]["number"]) else matches
    pairs = [(m["name"].strip("\"' "), m["number"]) for m in rest if m and not _numeric(m["name"])]
    if pairs and len(pairs) == len(rest):
        return _of_pairs(pairs)
    if len(lines) == 1:
        return _of_text(lines[0][1], None)
    found: list[float] = []
    for at, line in lines:
        for token in words(line):
            try:
                found += expand(_joined(token), f" in line {at} of {where}", len(found))
            except NoNumberError as error:
                raise InputError(f"{error.message}; {AS_LABELS}") from None
    return _counts_of(Shares(tuple(found)), where)


def _numeric(text: str) -> bool:
    """Whether a text is a list of numbers rather than a name."""
    return all(map(_is_value, words(text)))


def _is_value(token: str) -> bool:
    return is_number(token.rpartition("*")[2].removesuffix("%"))
