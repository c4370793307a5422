"""Check problem files without solving them."""

from __future__ import annotations

from dataclasses import asdict

import click

from geomsolve.batch.gather import gather
from geomsolve.cli.output import debug_option, json_option, to_json
from geomsolve.cli.reader import while_read
from geomsolve.errors import concise
from geomsolve.report import head
from geomsolve.words import counted


@click.command("validate", epilog="Example: geomsolve validate problem:collapse")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@json_option
@click.option("--quiet", is_flag=True, help="Say nothing where all is well.")
@debug_option
def command(paths: tuple[str, ...], as_json: bool, quiet: bool) -> int:
    """Check problem files, folders of them, globs, problem:NAME, or standard input (-) without solving anything.

    Every complaint names the file, line and column, and the key. Exit code 2 if there is any.
    """
    entries = gather(paths)
    complaints = list(dict.fromkeys(complaint for entry in entries for complaint in entry.complaints))
    files = len({entry.file for entry in entries})
    if as_json:
        found = [{**asdict(c.place), "file": c.file, "field": c.field, "message": c.message} for c in complaints]
        asked = {**head("validate"), "problem": {"paths": list(paths)}}
        with while_read():
            click.echo(to_json({**asked, "files": files, "problems": len(entries), "complaints": found}))
    elif complaints:
        for complaint in complaints:
            click.echo(concise(str(complaint)), err=True)
    elif not quiet:
        click.echo(f"{counted(len(entries), 'problem')} in {counted(files, 'file')}: all valid.")
    return 2 if complaints else 0
