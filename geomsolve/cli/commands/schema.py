"""The JSON schema of problem files, for editors."""

from __future__ import annotations

import json

import click

from geomsolve.cli.output import debug_option
from geomsolve.files import write_atomically
from geomsolve.questions.kinds import json_schema


@click.command("schema", epilog="Example: geomsolve schema --out geomsolve.schema.json")
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write it to FILE instead of stdout.")
@debug_option
def command(out: str | None) -> None:
    """Print the JSON schema of a problem document, for completion and checks in an editor.

    An editor with a YAML language server uses it for a file that begins with
    "# yaml-language-server: $schema=geomsolve.schema.json".
    """
    text = json.dumps(json_schema(), indent=2, sort_keys=True)
    if out:
        write_atomically(out, text + "\n")
    else:
        click.echo(text)
