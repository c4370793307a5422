"""Answer many problem files, in parallel, one JSON line each."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from contextlib import closing
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from geomsolve.batch.gather import gather
from geomsolve.batch.ledger import Ledger, Row, reusable
from geomsolve.batch.proofs import destinations
from geomsolve.batch.rows import exit_code
from geomsolve.batch.table import Sheet
from geomsolve.batch.workers import answered
from geomsolve.cli.output import console, debug_option, no_color_option, proofs_option, to_json
from geomsolve.cli.progress import spread, with_progress
from geomsolve.cli.reader import while_read
from geomsolve.cli.workers import check_workers, worker_options
from geomsolve.errors import InputError
from geomsolve.files import refuse_overwriting, write_atomically
from geomsolve.questions.documents import Entry
from geomsolve.reading.packed import unpacked
from geomsolve.words import counted

MOST_SECONDS = 1e8
"""Three years for one problem."""

TABLE_ROWS = 60
"""Rows of the closing table; where there are more, those that are not ok come first."""

COLOURS = {"ok": "green", "unmet": "yellow", "uncertified": "yellow", "invalid": "red", "failed": "red"}


@click.command("batch", epilog="Example: geomsolve batch problem:collapse --out results.jsonl --csv results.csv")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--out", metavar="FILE", help="Write one JSON object a line to FILE, each as soon as it is known.")
@click.option("--resume", is_flag=True, help="Keep what FILE holds already for the same content and version.")
@click.option("--csv", "csv_file", metavar="FILE", help="Write a table with flat columns to FILE at the end.")
@proofs_option
@click.option("--json", "as_json", is_flag=True, help="The JSON lines on stdout, instead of the table.")
@worker_options("one a core")
@click.option("--timeout", type=float, metavar="SECONDS", help="Give up on a problem after this time.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first row that is not ok.")
@click.option("--quiet", is_flag=True, help="Only the sentence with the answer; no progress, no table.")
@no_color_option
@debug_option
def command(
    paths: tuple[str, ...],
    out: str | None,
    resume: bool,
    csv_file: str | None,
    proof: str | None,
    as_json: bool,
    jobs: int | None,
    backend: str,
    scheduler: str | None,
    timeout: float | None,
    fail_fast: bool,
    quiet: bool,
    no_color: bool,
) -> int:
    """Answer all problems in files, folders, globs, folders of the gallery (problem:collapse) or standard input (-).

    One bad file stops no other. The exit code is that of the most severe row: 0 ok, 1 unmet expectation or no
    proof, 2 invalid, 3 failed. Without --resume, an existing FILE is replaced. A problem file may name a file for its
    own proof, proof: FILE, which --proof overrides; geomsolve verify DIR checks all of a folder.
    """
    if resume and out is None:
        raise InputError("what to resume? Name the output of the earlier run by --out", field="resume")
    check_workers(jobs, backend, scheduler)
    if timeout is not None and not 0 < timeout <= MOST_SECONDS:
        raise InputError(
            f"wanted a time above 0 in seconds, at most {MOST_SECONDS:g}, got {timeout:g}", field="timeout"
        )
    warnings.filterwarnings("ignore", category=UserWarning, module="joblib")  # of what is left undone: rows say so
    entries = gather(paths)
    refuse_overwriting([("out", out), ("csv", csv_file)])
    if csv_file is not None and not Path(csv_file).parent.is_dir():
        raise InputError(f"there is no folder {str(Path(csv_file).parent)!r}", field="csv")

    proofs = destinations(entries, proof)
    ledger = Ledger(out) if out is not None else None
    sheet = Sheet() if csv_file is not None else None
    kept: dict[int, bytes] = {}
    others: list[bytes] = []
    if ledger:
        try:
            if resume:
                kept, others = reusable(ledger.rows(), entries, proofs)
            ledger.replace(map(unpacked, (*others, *kept.values())))
        except BaseException:
            ledger.close()
            raise
    if resume and not quiet:
        left = len(entries) - len(kept)
        click.echo(f"Note: {len(kept):,} of {len(entries):,} answers are kept, {left:,} to go", err=True)
        if others:
            click.echo(f"Note: also kept: {counted(len(others), 'row')} of files not named here", err=True)
    rows: dict[int, Row] = {}
    for position, data in kept.items():
        row = unpacked(data)
        rows[position] = brief(row)
        if sheet is not None:
            sheet.add(position, row)
    answers = answered(entries, rows, proofs, jobs=jobs, backend=backend, scheduler=scheduler, timeout=timeout)
    screen = Console(stderr=True, no_color=no_color or None)
    with while_read(), closing(with_progress(answers, len(rows), len(entries), screen, quiet=quiet)) as stream:
        for position, row in stream:
            rows[position] = brief(row)
            if sheet is not None:
                sheet.add(position, row)
            if ledger:
                ledger.append(row)
            if as_json:
                click.echo(to_json(row))
                sys.stdout.flush()
            if fail_fast and row["status"] != "ok":
                break
    if ledger:
        ledger.close()
    table = [(entries[position], rows[position]) for position in sorted(rows)]
    if csv_file is not None and sheet is not None:
        write_atomically(csv_file, sheet.to_csv())
    if not as_json:
        with while_read():
            show(table, len(entries) - len(rows), console(no_color=no_color), quiet=quiet)
            if proof is not None and not quiet:
                written = sum(isinstance(row.get("proof_file"), dict) for _, row in table)
                click.echo(
                    f"\n{counted(written, 'proof')} in {proof}, for geomsolve verify; of the others none stands alone."
                )
    return exit_code(rows.values())


def brief(row: Row) -> Row:
    """What the end of a run says of a row; the whole is in the output by then."""
    gap = (row.get("proof") or {}).get("gap")
    return {**{key: row.get(key) for key in ("status", "error", "headline", "proof_file")}, "proof": {"gap": gap}}


def show(table: list[tuple[Entry, Row]], unsolved: int, screen: Console, *, quiet: bool) -> None:
    """Print what came of it all: sentence, table, what went wrong."""
    screen.print(sentence(table, unsolved), style="bold")
    if quiet or not table:
        return
    shown = table
    if len(table) > TABLE_ROWS:
        by_trouble = sorted(range(len(table)), key=lambda i: (table[i][1]["status"] == "ok", i))
        shown = [table[i] for i in sorted(by_trouble[:TABLE_ROWS])]
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    grid.add_column("file", overflow="fold")
    grid.add_column("answer")
    grid.add_column("gap", justify="right", no_wrap=True)
    grid.add_column("status", no_wrap=True)
    for entry, row in shown:
        gap = (row.get("proof") or {}).get("gap")
        grid.add_row(
            Text(" ".join(filter(None, (entry.file, entry.label)))),
            Text(row.get("headline") or ""),
            f"{gap:.1e}" if isinstance(gap, float) else "",
            Text(row["status"], style=COLOURS[row["status"]]),
        )
    screen.print()
    screen.print(grid)
    if len(shown) < len(table):
        screen.print(f"{len(table) - len(shown):,} more in --out and --csv.")
    screen.print("\nGap: by how much a better embedding could undercut the answer at most, in nats.")
    for entry, row in shown:
        if row["error"]:
            screen.print()
            where = "" if row["status"] == "invalid" else f"{' '.join(filter(None, (entry.file, entry.label)))}: "
            screen.print(Text(f"{where}{row['error']}"), soft_wrap=True)


def sentence(table: list[tuple[Entry, Row]], unsolved: int) -> str:
    """How many problems, and what became of them."""
    counts = Counter(row["status"] for _, row in table)
    total = counted(len(table), "problem")
    stopped = f" Stopped there; {unsolved:,} {'was' if unsolved == 1 else 'were'} not answered." if unsolved else ""
    if counts["ok"] < len(table):
        return f"{total}: {spread(counts)}.{stopped}"
    expecting = all((problem := entry.problem) is not None and problem.expect for entry, _ in table)
    return f"{total}: all answered{', proven and as expected' if expecting else ' and proven'}.{stopped}"
