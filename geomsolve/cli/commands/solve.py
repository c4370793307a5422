"""Answer one problem file, for a person."""

from __future__ import annotations

import importlib

import click

from geomsolve.analyses import solve
from geomsolve.batch.gather import gather
from geomsolve.batch.rows import EXIT_CODES, Outcome, row_of
from geomsolve.cli.options import output_options
from geomsolve.cli.output import console, notify, refuse_overwriting, to_json, write_atomically
from geomsolve.errors import InputError


@click.command("solve", epilog="Example: geomsolve solve problems/collapse/strong-majority.yaml")
@click.argument("file")
@output_options
def command(file: str, as_json: bool, out: str | None, quiet: bool, no_color: bool, debug: bool) -> int:
    """Answer the problem in FILE (or in standard input, for -) as its own command would.

    Says afterwards whether the answer is what the file expects. JSON output is the line that batch would write.
    """
    refuse_overwriting(out, [file], field="out")
    entries = gather([file])
    if len(entries) != 1:
        raise InputError(f"{file} holds {len(entries)} problems; geomsolve batch answers them all")
    (entry,) = entries
    if entry.problem is None:
        raise InputError("\n".join(map(str, entry.complaints)))
    notify(entry.problem.notices, quiet=quiet)
    try:
        report = solve(entry.problem)
    except InputError as error:
        raise InputError("\n".join(map(str, entry.locate(error)))) from None
    row = row_of(entry, Outcome(report.to_dict(), report.exit_code))
    if out:
        write_atomically(out, to_json(row) + "\n")
    if as_json:
        click.echo(to_json(row))
    else:
        screen = console(no_color=no_color)
        importlib.import_module(f"geomsolve.cli.commands.{report.command}").show(report, screen, quiet=quiet)
        if row["status"] == "unmet":
            screen.print(f"\nNOT AS EXPECTED: {row['error']}.", style="bold")
        elif entry.problem.expect and not quiet:
            screen.print("\nThis is what the file expects.")
    return EXIT_CODES[row["status"]]
