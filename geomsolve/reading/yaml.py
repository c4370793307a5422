"""YAML 1.2 as problem files use it: plain data only, with the place of every key and value.

The core schema and nothing more: ``1e-3`` is a number, ``no`` and dates are strings, a key may stand once in a
mapping, no tag makes an object.  An alias stands for what its anchor holds; the size of a document counts what
aliases expand to, before anything is expanded.  ruamel.yaml reads the text into events; they become a tree of
:class:`Node` s, in which an anchor's content is shared, not copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml import events as ev
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.reader import ReaderError

from geomsolve.errors import InputError

MOST_BYTES = 2**25
"""Size of a file that is read; longer lists belong into an @file."""

MOST_NODES = 1_000_000
"""Keys and values of a document, aliases expanded."""

MOST_DEPTH = 64
"""Levels of lists and mappings within each other."""

MOST_DIGITS = 300
"""Characters of a number: a whole number of more would not fit into a float."""


@dataclass(frozen=True)
class Place:
    """Line and column, both from 1."""

    line: int = 1
    column: int = 1


class YamlError(InputError):
    """What is wrong with a document, and where."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.place = place


@dataclass(eq=False, slots=True)
class Node:
    """A scalar, a list of nodes, or a mapping: key -> (place of the key, node).  ``size`` counts nodes within, and
    ``letters`` the characters of keys and texts, with everything that an alias repeats."""

    place: Place
    content: Any
    size: int = 1
    letters: int = 0

    def plain(self) -> Any:
        """The data as Python's own lists, dictionaries and scalars; what an alias repeats is one object."""
        return self._plain({})

    def _plain(self, done: dict[int, Any]) -> Any:
        if id(self) not in done:
            if isinstance(self.content, dict):
                done[id(self)] = {key: node._plain(done) for key, (_, node) in self.content.items()}
            elif isinstance(self.content, list):
                done[id(self)] = [node._plain(done) for node in self.content]
            else:
                return self.content
        return done[id(self)]

    def find(self, path: Sequence[str]) -> Place:
        """Where the key at the end of ``path`` stands, or the innermost key or item of the path that does."""
        place, node = self.place, self
        for part in path:
            if isinstance(node.content, dict) and part in node.content:
                place, node = node.content[part]
            elif isinstance(node.content, list) and part.isdecimal() and int(part) < len(node.content):
                node = node.content[int(part)]
                place = node.place
            else:
                break
        return place


def decode(data: bytes) -> str:
    """Text of a file: UTF-8, or UTF-16 with its mark."""
    if len(data) > MOST_BYTES:
        raise YamlError(
            f"the file has more than {MOST_BYTES:,} bytes, and no more are read. Put long lists into a file "
            "of their own and write '@file'",
            Place(),
        )
    utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = Place(before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        raise YamlError(f"this is no {'UTF-16' if utf16 else 'UTF-8'} text", place) from None


def read_documents(text: str) -> Iterator[Node | YamlError]:
    """The documents of a file, in order; an error in one does not stop the next, one in the syntax is the last."""
    document: list[Any] = []
    for event in _events(text):
        if isinstance(event, YamlError):
            yield event
            return
        document.append(event)
        if isinstance(event, ev.DocumentEndEvent):
            try:
                node = _compose(document)
            except YamlError as error:
                yield error
            else:
                if node.content is not None:  # nothing between two markers is no document
                    yield node
            document = []


def _events(text: str) -> Iterator[Any]:
    """Events of the parser; a last one that is a :class:`YamlError` if the syntax is wrong or there is too much."""
    depth = count = 0
    last = Place()
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            last = _place(event.start_mark)
            depth += isinstance(event, ev.CollectionStartEvent) - isinstance(event, ev.CollectionEndEvent)
            count += 1
            if depth > MOST_DEPTH:
                yield YamlError(f"more than {MOST_DEPTH} levels within each other; problems have few", last)
                return
            if count > 2 * MOST_NODES:
                yield YamlError(f"more than {MOST_NODES:,} keys and values in one file", last)
                return
            yield event
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        yield YamlError(_syntax(error), _place(mark) if mark else last)
    except ReaderError as error:
        before = text[: error.position]
        place = Place(before.count("\n") + 1, error.position - before.rfind("\n"))
        yield YamlError(f"the character U+{error.character:04X} is not allowed in YAML", place)
    except Exception as error:  # the reader does not guard against every malformed escape or directive
        yield YamlError(f"this is no YAML ({type(error).__name__}: {error})", last)


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1)


def _syntax(error: MarkedYAMLError) -> str:
    """The parser's complaint, with what it was reading when it stumbled."""
    problem = str(error.problem or error.context)
    if problem.startswith(("found character '@'", "found character '`'")):
        return f"{problem}; put the text into quotes, as in '@counts.txt'"
    began = f" ({error.context} that began in line {error.context_mark.line + 1})" if error.context_mark else ""
    return f"this is no YAML: {problem}{began}"


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come; ``key`` waits for its value."""

    node: Node
    anchor: str | None
    key: tuple[str, Place] | None = None


def _compose(events: list[Any]) -> Node:
    """The tree of one document's events."""
    anchors: dict[str, Node] = {}
    stack: list[_Open] = []
    root = Node(Place(), None)
    for event in events:
        place = _place(event.start_mark)
        if isinstance(event, ev.DocumentStartEvent):
            if event.version not in (None, (1, 2)):
                raise YamlError("problem files are YAML 1.2", place)
            continue
        if isinstance(event, ev.CollectionStartEvent):
            mapping = isinstance(event, ev.MappingStartEvent)
            if event.tag not in (None, "!", _CORE + ("map" if mapping else "seq")):
                raise YamlError(f"the tag {event.tag} is not read; problem files hold plain data", place)
            stack.append(_Open(Node(place, {} if mapping else []), event.anchor))
            continue
        anchor: str | None = None
        if isinstance(event, ev.ScalarEvent):
            node, anchor = Node(place, _scalar(event, place), letters=len(event.value)), event.anchor
        elif isinstance(event, ev.AliasEvent):
            if event.anchor not in anchors:
                raise YamlError(f"*{event.anchor} repeats something that is not complete before it", place)
            node = anchors[event.anchor]
        elif isinstance(event, ev.CollectionEndEvent):
            ended = stack.pop()
            node, anchor = ended.node, ended.anchor
        else:
            continue
        if anchor is not None:
            anchors[anchor] = node
        if stack:
            _put(stack[-1], node, event, place)
        else:
            root = node
    return root


def _put(parent: _Open, node: Node, event: Any, place: Place) -> None:
    """Make ``node`` the next item, key or value of ``parent``."""
    content = parent.node.content
    parent.node.size += node.size
    parent.node.letters += node.letters
    if parent.node.letters > MOST_BYTES:
        raise YamlError(f"with its aliases expanded, the document has more than {MOST_BYTES:,} characters", place)
    if parent.node.size > MOST_NODES:
        raise YamlError(f"with its aliases expanded, the document has more than {MOST_NODES:,} keys and values", place)
    if isinstance(content, list):
        content.append(node)
    elif parent.key is None:
        if isinstance(node.content, (dict, list)):
            raise YamlError("a key has to be a word", node.place)
        key = event.value if isinstance(event, ev.ScalarEvent) else str(node.content)
        if key in content:
            raise YamlError(f"the key {key!r} stands twice; the first is in line {content[key][0].line}", place)
        parent.key = (key, place)
    else:
        key, key_place = parent.key
        content[key] = (key_place, node)
        parent.key = None


_CORE = "tag:yaml.org,2002:"
_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_RADIX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def _scalar(event: Any, place: Place) -> Any:
    """The value of a scalar by the core schema of YAML 1.2, section 10.3.2."""
    text, tag = event.value, event.tag
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise YamlError("half a surrogate pair is no character", place)
    if tag not in (None, "!", *(_CORE + name for name in ("str", "int", "float", "bool", "null"))):
        raise YamlError(f"the tag {tag} is not read; problem files hold plain data", place)
    if tag in ("!", _CORE + "str") or (tag is None and not event.implicit[0]):
        return text
    value = _plain_scalar(text, place)
    wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}.get((tag or "").removeprefix(_CORE))
    if wanted is float and type(value) is int:
        value = float(text)
    if wanted is not None and type(value) is not wanted:
        raise YamlError(f"{text!r} is not of the type {tag.removeprefix(_CORE)}", place)
    return value


def _plain_scalar(text: str, place: Place) -> Any:
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    number = _INT.fullmatch(text) or _RADIX.fullmatch(text) or _FLOAT.fullmatch(text)
    if number and len(text) > MOST_DIGITS:
        raise YamlError(f"a number of {len(text):,} characters", place)
    if _INT.fullmatch(text):
        return int(text)
    if _RADIX.fullmatch(text):
        return int(text, 0)
    if number:
        return float(text)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", ""))
    return text
