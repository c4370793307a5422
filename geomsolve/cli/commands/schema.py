"""The JSON schema of problem files, for editors."""

from __future__ import annotations

import json

import click

from geomsolve.cli.output import debug_option
from geomsolve.files import write_atomically
from geomsolve.losses import REGISTRY, aliases
from geomsolve.questions.kinds import json_schema


@click.command("schema", epilog="Example: geomsolve schema --out geomsolve.schema.json")
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write it to FILE instead of stdout.")
@debug_option
def command(out: str | None) -> None:
    """Print the JSON schema of a problem document, for completion and checks in an editor.

    An editor with a YAML language server uses it for a file that begins with
    "# yaml-language-server: $schema=geomsolve.schema.json".
    """
    schema = json_schema()
    schema["$defs"]["LossChoice"] = loss_schema()
    text = json.dumps(schema, indent=2, sort_keys=True)
    if out:
        write_atomically(out, text + "\n")
    else:
        click.echo(text)


def loss_schema() -> dict[str, object]:
    """A loss by name, or a mapping of its name and the parameters that it takes."""
    others = {name: (cls, alias.summary) for name, (cls, alias) in aliases().items()}
    known = {**{name: (cls, cls.summary) for name, cls in REGISTRY.items()}, **others}
    names = sorted(known)
    mappings = []
    for name in names:
        cls, summary = known[name]
        parameters = {p.name: {"description": p.help} for p in cls.takes().values()}
        named = {"const": name, "description": summary}
        mapping = {"type": "object", "properties": {"name": named, **parameters}, "additionalProperties": False}
        mappings.append(mapping if name == "supcon" else {**mapping, "required": ["name"]})
    return {"anyOf": [{"enum": names}, *mappings]}
