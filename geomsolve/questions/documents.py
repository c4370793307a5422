"""From the text of a problem file to its problems, each with the place of everything that was written.

A document is one problem, or many: ``grid`` maps dotted keys to lists of values, and every combination of them
set into the rest of the document is a problem.

    kind: imbalance
    grid: {loss.temperature: [0.1, 0.5], props: [[0.7, 0.2, 0.1], [0.9, 0.05, 0.05]]}
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from geomsolve.errors import InputError, concise, nearest
from geomsolve.questions.base import Problem, keys
from geomsolve.questions.kinds import kind_of
from geomsolve.reading.files import locate, picture_files
from geomsolve.reading.packed import packed, unpacked
from geomsolve.reading.yaml import Node, Place, YamlError, decode, read_documents

MOST_PROBLEMS = 1_000_000
"""Problems that the grid of one document may expand to."""


MOST_PARTS, LETTERS = 2**25, 8
"""Keys and values that all problems of a document may have together, :data:`LETTERS` characters counted as one."""


@dataclass(frozen=True)
class Complaint:
    """Something wrong with a problem file: ``field`` is the dotted key, empty where the text itself is at fault."""

    file: str
    place: Place
    field: str
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", concise(self.message))

    def __str__(self) -> str:
        where = f"{self.file}:{self.place.line}:{self.place.column}"
        return f"{where}: {self.field}: {self.message}" if self.field else f"{where}: {self.message}"


@dataclass(frozen=True)
class Entry:
    """One problem of a file, or what is wrong with it.

    ``label`` tells it from the others of its file (empty if there are none).  ``sha256`` is of its content: what was
    written, in any layout, and what stands in the files that it names.  A batch holds ten thousands of these, so that
    ``inside`` (what was written, the problem, the places of grid values) and ``root`` are packed.
    """

    file: str
    label: str
    sha256: str
    inside: bytes = field(default=b"", repr=False)
    root: bytes = field(default=b"", repr=False)
    complaints: tuple[Complaint, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether it is a problem: nothing is wrong with it."""
        return not self.complaints

    @property
    def written(self) -> Any:
        """What stands in the file, in the types of YAML."""
        return unpacked(self.inside)[0] if self.inside else None

    @property
    def problem(self) -> Problem | None:
        """The question; None iff there are complaints."""
        found: Problem | None = unpacked(self.inside)[1] if self.valid else None
        return found

    def locate(self, error: InputError) -> tuple[Complaint, ...]:
        """An error about this problem, as complaints with a place in the file."""
        root: Node = unpacked(self.root) if self.root else Node(Place(), None)
        axes: dict[str, Place] = unpacked(self.inside)[2] if self.inside else {}
        found = [Complaint(self.file, _place(each.field, root, axes), each.field, each.message) for each in _all(error)]
        return tuple(sorted(found, key=lambda complaint: (complaint.place.line, complaint.place.column)))

    def flawed(self, error: InputError) -> Entry:
        """This entry with an error about it."""
        return replace(self, complaints=self.locate(error))


def _place(dotted: str, root: Node, axes: dict[str, Place]) -> Place:
    for axis in sorted(axes, key=len, reverse=True):
        if f"{dotted}.".startswith(f"{axis}."):
            return axes[axis]
    return root.find(dotted.split("."))


def read_entries(data: bytes, file: str, base: Path) -> list[Entry]:
    """All problems of a file with content ``data``; paths in it start from the folder ``base``."""
    try:
        documents: Iterator[Node | YamlError] = read_documents(decode(data))
    except YamlError as error:
        documents = iter([error])
    first = next(documents, YamlError("there is no problem in this file", Place()))
    second = next(documents, None)
    found: list[Entry] = []
    for number, document in enumerate(itertools.chain([first], [] if second is None else [second], documents), 1):
        label = "" if second is None else f"#{number}"
        if isinstance(document, YamlError):
            digest = hashlib.sha256(data + label.encode()).hexdigest()
            complaint = Complaint(file, document.place, "", document.message)
            found.append(Entry(file, label, digest, complaints=(complaint,)))
        else:
            found += _expand(document, file, label, base)
    return found


def _expand(root: Node, file: str, label: str, base: Path) -> Iterator[Entry]:
    """The problems of one document."""
    written = root.plain()
    places = packed(root)
    whole = Entry(file, label, content_hash(_asked(written), base), packed((written, None, {})), places)
    if not isinstance(written, dict):
        yield whole.flawed(InputError("a problem is a mapping, such as kind: imbalance"))
        return
    try:
        points = _grid(written, root)
    except InputError as error:
        yield whole.flawed(error)
        return
    seen: dict[Path, bytes] = {}
    for point in points:
        try:
            data = {key: value for key, value in written.items() if key != "grid"}
            axes = {}
            for key, position in sorted(point.items(), key=lambda axis: axis[0].count(".")):
                data = _with(data, key.split("."), written["grid"][key][position])
                axes[key] = root.content["grid"][1].content[key][1].content[position].place
        except InputError as error:
            yield whole.flawed(error)
            return
        name = ", ".join(f"{key}={_short(written['grid'][key][position])}" for key, position in point.items())
        called = " ".join(filter(None, (label, name)))
        digest = content_hash(_asked(data), base, seen)
        try:
            yield Entry(file, called, digest, packed((data, _problem(data, base), axes)), places)
        except InputError as error:
            yield Entry(file, called, digest, packed((data, None, axes)), places).flawed(error)


def _asked(written: Any) -> Any:
    """What is asked: where its proof goes, a file that is written, is no part of that."""
    return {key: value for key, value in written.items() if key != "proof"} if isinstance(written, dict) else written


def _all(error: InputError) -> list[InputError]:
    return [error, *error.rest]


def _problem(data: dict[str, Any], base: Path) -> Problem:
    """The problem that ``data`` describes; InputError with every complaint."""
    model = kind_of(data)
    known = keys(model)
    errors = [
        InputError(f"unknown key; {nearest(key, [*known, 'grid'])}", field=key) for key in data if key not in known
    ]
    try:
        problem = model(**{key: value for key, value in data.items() if key in known}, base=base)
    except InputError as error:
        errors.append(error)
    if errors:
        raise InputError.together(errors)
    return problem


def _grid(written: dict[str, Any], root: Node) -> Iterator[dict[str, int]]:
    """Every combination of positions in the lists of ``grid``; a single empty one where there is no grid."""
    if "grid" not in written:
        return iter([{}])
    axes = written["grid"]
    if not isinstance(axes, dict) or not axes:
        raise InputError("wanted keys with lists of values, such as {loss.temperature: [0.1, 0.5]}", field="grid")
    for key, values in axes.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"wanted a list of values for {key}, got {values!r}", field="grid")
    total = math.prod(len(values) for values in axes.values())
    if total > MOST_PROBLEMS:
        raise InputError(f"this expands to {total:,} problems; at most {MOST_PROBLEMS:,} are read", field="grid")
    spent = total * (root.size + root.letters // LETTERS)  # of what is no axis, every problem has its own copy
    for key, (_, axis) in root.content["grid"][1].content.items():
        weight = axis.size + axis.letters // LETTERS
        spent += weight * (total // len(axes[key]) - total)
    if spent > MOST_PARTS:
        raise InputError(
            f"the {total:,} problems of this grid have more than {MOST_PARTS:,} keys and values together; split it",
            field="grid",
        )
    positions = itertools.product(*(range(len(values)) for values in axes.values()))
    return (dict(zip(axes, point, strict=True)) for point in positions)


def _with(data: Any, path: list[str], value: Any) -> Any:
    """``data`` with ``value`` at ``path``; a plain name on the way (``loss: supcon``) stands for {name: supcon}."""
    if not path:
        return value
    inside = {"name": data} if isinstance(data, str) else {} if data is None else data
    if not isinstance(inside, dict):
        raise InputError(f"{'.'.join(path)} cannot be set within {_short(data)}, which is no mapping", field="grid")
    return {**inside, path[0]: _with(inside.get(path[0]), path[1:], value)}


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def content_hash(written: Any, base: Path, seen: dict[Path, bytes] | None = None) -> str:
    """SHA-256 of plain data in a canonical form, and of the content of every file that one of its strings names.

    A folder that is named stands for the pictures in it.  ``seen`` keeps the digests of files for further calls.
    """
    known = {} if seen is None else seen
    digest = hashlib.sha256(json.dumps(written, sort_keys=True).encode())
    for text in sorted(_strings(written)):
        for path in _named_files(text, base):
            if path not in known:
                with path.open("rb") as file:
                    known[path] = hashlib.file_digest(file, "sha256").digest()
            digest.update(known[path])
    return digest.hexdigest()


def _strings(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, (dict, list)):
        for part in data.values() if isinstance(data, dict) else data:
            yield from _strings(part)


def _named_files(text: str, base: Path) -> list[Path]:
    """The file that ``text`` names: ``path``, ``@path`` or ``@path:column``; or the pictures in a folder."""
    try:
        return [locate(text.removeprefix("@"), base)[0]]
    except InputError:
        return picture_files(base / text) if text else []
