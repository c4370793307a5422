"""The kinds of problems: every module here that defines a :class:`Problem` with ``kind: Literal["name"]`` is one."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Annotated, Any, Union, get_args

from pydantic import Field, TypeAdapter

import geomsolve.questions
from geomsolve.errors import InputError, nearest
from geomsolve.questions.base import Problem, keys
from geomsolve.registry import LOSSES, PAIR_LOSSES


@cache
def kinds() -> dict[str, type[Problem]]:
    """All kinds by name."""
    found: dict[str, type[Problem]] = {}
    for module in pkgutil.iter_modules(geomsolve.questions.__path__, "geomsolve.questions."):
        for thing in vars(importlib.import_module(module.name)).values():
            if isinstance(thing, type) and issubclass(thing, Problem) and "kind" in thing.model_fields:
                (name,) = get_args(thing.model_fields["kind"].annotation)
                found[name] = thing
    return dict(sorted(found.items()))


def kind_of(data: dict[str, Any]) -> type[Problem]:
    """The kind that ``data`` names under its key ``kind``."""
    known = kinds()
    if "kind" not in data:
        raise InputError(f"the key kind is needed; known: {', '.join(known)}")
    name = data["kind"]
    if not isinstance(name, str) or name not in known:
        raise InputError(f"unknown kind {name!r}; {nearest(str(name), known)}", field="kind")
    return known[name]


def json_schema() -> dict[str, Any]:
    """JSON schema of one document, for editors: the union of all kinds, told apart by ``kind``.

    What a validator does before pydantic looks is added here: a list may be written as on the command line
    (``4*0.25``, ``@file``), its numbers as fractions, and ``grid`` may hold any key.
    """
    models = tuple(kinds().values())
    union: Any = Annotated[Union[models], Field(discriminator="kind")] if len(models) > 1 else models[0]  # noqa: UP007
    schema: dict[str, Any] = TypeAdapter(union).json_schema()
    definitions = schema.pop("$defs", {})
    if len(models) == 1:
        definitions[models[0].__name__], schema = schema, {"$ref": f"#/$defs/{models[0].__name__}"}
    axes = {
        "type": "object",
        "description": "key -> values to try; every combination is a problem (loss.temperature: [0.1, 0.5])",
        "additionalProperties": {"type": "array", "minItems": 1},
    }
    for model in models:
        definition = definitions[model.__name__]
        known = definition["properties"] | _parameters(model)
        properties = {key: _as_written(known[key]) for key in keys(model)}
        if model.beside is not None:
            properties[model.beside.kind] = model.beside.json_schema()
        definition.update(properties={**properties, "grid": axes}, required=["kind"], additionalProperties=False)
    others = {alias.name: (cls, alias.summary) for cls in LOSSES.values() for alias in cls.aliases}
    definitions["LossChoice"] = LOSSES.json_schema("supcon", others)
    if "PairLossChoice" in definitions:
        definitions["PairLossChoice"] = PAIR_LOSSES.json_schema("clip")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": definitions}


def _parameters(model: type[Problem]) -> dict[str, Any]:
    """The schema of every parameter that stands beside the keys of a problem."""
    if model.beside is None:
        return {}
    found = {}
    for name, declared in model.beside.parameters().items():
        users = model.beside.users(name)
        schema = declared.json_schema(next(iter(users.values())) if len(set(users.values())) == 1 else None)
        found[name] = {**schema, "description": f"{declared.help} [{', '.join(users)}]"}
    return found


def _as_written(schema: Any, *, listed: bool = False) -> Any:
    """The schema of a field, loosened to what its list reader takes; ``listed``: of something in a list."""
    if isinstance(schema, list):
        return [_as_written(part, listed=listed) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if listed and kind in ("number", "integer", "string"):
        return {"type": ["number", "string"]}
    loose = {key: _as_written(value, listed=listed or kind == "array") for key, value in schema.items()}
    return {"anyOf": [loose, {"type": "string"}]} if kind == "array" and not listed else loose
