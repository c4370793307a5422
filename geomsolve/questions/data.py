"""Files in questions: read once, when a question is made, and held as data.

A field of one of these types holds a :class:`Table` (or :class:`Classes`, :class:`Embeddings`), whatever was written;
in a report and in JSON it is again what was written.  So a hash, a resumed batch and a worker elsewhere see the same
values, and nothing is read again.  Only embeddings, of any size, stay in their file.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import InstanceOf, PlainSerializer, WithJsonSchema

from geomsolve.reading.embeddings import Embeddings
from geomsolve.reading.labels import Classes
from geomsolve.reading.table import Table

_NUMBERS = {"type": "array", "items": {"type": "number"}}
_ENTRIES = {"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "null"}]}}


def _rows(row: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": row}


def _either(*schemas: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "string"}, *schemas]})


_plain = PlainSerializer(lambda table: table.plain(), return_type=Any)
_place = PlainSerializer(lambda data: data.place, return_type=str)
_text = WithJsonSchema({"type": "string"})

Points = Annotated[InstanceOf[Table], _plain, _either(_NUMBERS, _rows(_NUMBERS))]
"""Labels: numbers or rows of numbers, a file or a built-in set."""

Matrix = Annotated[InstanceOf[Table], _plain, _either(_rows(_NUMBERS))]
"""A matrix of numbers, or a file with one."""

PartialMatrix = Annotated[InstanceOf[Table], _plain, _either(_rows(_ENTRIES))]
"""A matrix some of whose entries are unknown, or a file with one."""

Pictures = Annotated[InstanceOf[Table], _plain, _text]
"""A file or folder of images, of which the spectrum is kept."""

ClassLabels = Annotated[
    InstanceOf[Classes], _place, _either({"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1})
]
"""The class of each sample: a file with them, a list or an array."""

_places = PlainSerializer(
    lambda files: files[0].place if len(files) == 1 else [file.place for file in files], return_type=Any
)

Vectors = Annotated[
    tuple[InstanceOf[Embeddings], ...],
    _places,
    _either({"type": "array", "items": {"type": "string"}, "minItems": 1}, _rows(_NUMBERS)),
]
"""A file of vectors, or several with the same rows, looked at but not read; or vectors as such."""
