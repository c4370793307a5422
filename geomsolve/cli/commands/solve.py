"""Answer one problem file, for a person."""

from __future__ import annotations

import click
from rich.console import Console

from geomsolve.analyses import solve
from geomsolve.batch.gather import gather
from geomsolve.batch.proofs import destinations
from geomsolve.batch.rows import EXIT_CODES, outcome_of, row_of
from geomsolve.cli import answers
from geomsolve.cli.answers import proof_files
from geomsolve.cli.options import output_options, proof_option
from geomsolve.cli.output import Output
from geomsolve.errors import InputError
from geomsolve.files import refuse_overwriting
from geomsolve.report import Report


@click.command("solve", epilog="Example: geomsolve solve problem:collapse/strong-majority")
@click.argument("file")
@output_options
@proof_option
def command(output: Output, file: str, proof: str | None = None) -> int:
    """Answer the problem in FILE (or in standard input, for -) as its own command would.

    FILE may be a problem of the gallery: problem:collapse/strong-majority (geomsolve list problems has them all).

    Says afterwards whether the answer is what the file expects. JSON output is the line that batch would write. A proof
    that stands alone is written where --proof says, or the key proof of the file.
    """
    entries = gather([file])
    if len(entries) != 1:
        raise InputError(f"{file} holds {len(entries)} problems; geomsolve batch answers them all")
    (entry,) = entries
    problem = entry.problem
    if problem is None:
        raise InputError("\n".join(map(str, entry.complaints)))
    output.notify(problem)
    own = destinations(entries, None)[0] if proof is None else None
    refuse_overwriting([*output.written, ("proof", own)])
    try:
        report = solve(problem)
        files = proof_files(None if own is None else str(own), report, problem)
    except InputError as error:
        raise InputError("\n".join(map(str, entry.locate(error)))) from None
    files += proof_files(proof, report, problem)
    row = row_of(entry, outcome_of(problem, report))
    expected = problem.expect

    def show(report: Report, screen: Console, *, quiet: bool) -> None:
        answers.show(report, screen, quiet=quiet)
        if row["status"] == "unmet":
            screen.print(f"\nNOT AS EXPECTED: {row['error']}.", style="bold")
        elif expected and not quiet:
            screen.print("\nThis is what the file expects.")

    output.deliver(report, show, row, files=files)
    return EXIT_CODES[row["status"]]
