"""Put many answers on one page for a browser."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from geomsolve.batch.gather import gather
from geomsolve.batch.proofs import destinations
from geomsolve.batch.rows import exit_code, is_row
from geomsolve.batch.workers import answered
from geomsolve.cli.checked import said_of
from geomsolve.cli.output import debug_option, proofs_option
from geomsolve.cli.page import Row, page
from geomsolve.cli.progress import with_progress
from geomsolve.cli.reader import while_read
from geomsolve.errors import InputError
from geomsolve.files import refuse_overwriting, was_read, write_atomically
from geomsolve.plots import check_matplotlib
from geomsolve.words import counted


@click.command("report", epilog="Example: geomsolve report problem:collapse --out report.html")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--out", required=True, metavar="FILE", help="The page to write.")
@proofs_option
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Worker processes (default: one a core).")
@click.option("--quiet", is_flag=True, help="No progress and no closing sentence.")
@debug_option
def command(paths: tuple[str, ...], out: str, proof: str | None, jobs: int | None, quiet: bool) -> int:
    """Put many answers on one page for a browser.

    PATHs are problem files, folders, globs or problem:NAMEs of the gallery, which are solved, or files ending in
    .jsonl that geomsolve batch wrote.
    The page needs nothing but itself: a table to sort and filter, each answer with its picture, proof and the command
    that gives it. Proofs that stand alone, which --proof writes and batch --proof wrote, are checked, and the page says
    which are verified. The exit code is that of the most severe answer, as for batch.
    """
    if not Path(out).parent.is_dir():
        raise InputError(f"there is no folder {str(Path(out).parent)!r}", field="out")
    check_matplotlib()
    stored = [path for path in paths if path.endswith(".jsonl")]
    rows = [row for path in stored for row in read_rows(path)]
    files = [path for path in paths if path not in stored]
    entries = gather(files) if files else []
    refuse_overwriting([("out", out)])
    if entries:
        fresh: dict[int, Row] = {}
        answers = answered(
            entries, {}, destinations(entries, proof), jobs=jobs, backend="loky", scheduler=None, timeout=None
        )
        with closing(with_progress(answers, 0, len(entries), Console(stderr=True), quiet=quiet)) as stream:
            for position, row in stream:
                fresh[position] = row
        rows += [fresh[position] for position in sorted(fresh)]
    if not rows:
        raise InputError("there is no answer to report")
    write_atomically(out, page(rows, said_of(rows, jobs)))
    if not quiet:
        with while_read():
            click.echo(f"{counted(len(rows), 'answer')} on {out}")
    return exit_code(rows)


def read_rows(path: str) -> list[Row]:
    """The rows of a file that batch wrote; InputError naming the line that is none."""
    try:
        lines = was_read(Path(path)).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path!r} is not a text file") from None
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row: Any = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not is_row(row) or not {"problem", "command"} <= row.keys():
            raise InputError(f"{path}:{number}: this is no row that geomsolve batch wrote")
        rows.append(row)
    return rows
