"""What is built in: losses, weightings, label sets, data sets and problems."""

from __future__ import annotations

import itertools
from typing import Any

import click
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from geomsolve.batch import gallery
from geomsolve.cli.output import console, debug_option, json_option, no_color_option, to_json
from geomsolve.losses import UNSOLVED
from geomsolve.reading.datasets import EXAMPLES, dataset
from geomsolve.reading.structures import sets
from geomsolve.registry import LOSSES, PAIR_LOSSES, WEIGHTINGS
from geomsolve.report import head


@click.command("list", epilog="Example: geomsolve list datasets")
@click.argument("what", type=click.Choice(["losses", "weightings", "labels", "datasets", "problems"]))
@json_option
@no_color_option
@debug_option
def command(what: str, as_json: bool, no_color: bool) -> None:
    """List what is built in, each with its source or an example."""
    rows: list[dict[str, Any]] = []
    spelled: dict[str, list[str]] = {}
    if what in ("losses", "weightings"):
        known = {**LOSSES, **PAIR_LOSSES} if what == "losses" else WEIGHTINGS
        for name, cls in sorted(known.items()):
            others = {"aliases": [alias.name for alias in getattr(cls, "aliases", ())]} if what == "losses" else {}
            flags = [declared.flags[-1] for declared in cls.takes().values()]
            rows.append({"name": name, "summary": cls.summary, **others, "flags": flags, "source": cls.source})
            spelled[name] = sorted(set(cls.spellings()) - set(cls.spellings().values()))
    elif what == "labels":
        rows += [{"name": g.name, "example": g.example, "summary": g.summary} for g in sets().values()]
    elif what == "problems":
        rows += gallery.rows()
    else:
        for d in map(dataset, EXAMPLES):
            counts = {"samples": sum(d.counts), "largest": max(d.counts), "smallest": min(d.counts)}
            rows.append({"name": d.name, "classes": len(d.counts), **counts, "source": d.source})
    refused = (
        [{**vars(UNSOLVED[name]), "also": list(UNSOLVED[name].also)} for name in sorted(UNSOLVED)]
        if what == "losses"
        else []
    )
    if as_json:
        unsolved = {"unsolved": refused} if what == "losses" else {}
        whole = [{**row, "also": spelled[row["name"]]} if row["name"] in spelled else row for row in rows]
        click.echo(to_json({**head("list"), "problem": {"what": what}, what: whole, **unsolved}))
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    if spelled:  # five columns of prose would be a word wide each
        table.add_column("name", no_wrap=True)
        table.add_column("what it is, where it comes from, and its flags")
        for row in rows:
            alone = f", {', '.join(row['aliases'])} without classes" if row.get("aliases") else ""
            table.add_row(row["name"], f"{row['summary']} ({row['source']}{alone})\n{cell(row['flags'])}".rstrip())
    else:
        for key, value in rows[0].items():
            table.add_column(key, justify="right" if isinstance(value, int) else "left", no_wrap=key == "name")
        for row in rows:
            table.add_row(*map(cell, row.values()))
    screen = console(no_color=no_color)
    if what == "problems":
        print_problems(rows, screen)
        return
    screen.print(table)
    for row in refused:
        screen.print(f"\nNot solved: {row['name']}, {row['summary']} ({row['source']}): {row['reason']}.")
    if spelled:
        screen.print(
            "\nCapital letters and signs in names count for nothing; --json has what else libraries call each."
        )
    if what == "datasets":
        click.echo("cifar10-lt and cifar100-lt take any imbalance factor: cifar10-lt:37.")


def print_problems(rows: list[dict[str, Any]], screen: Console) -> None:
    """Print the names of the gallery's files, each with the kinds and titles of its problems."""
    for name, group in itertools.groupby(rows, key=lambda row: row["name"]):
        screen.print(Text(name, style="bold"), soft_wrap=True)
        for row in group:
            screen.print(Padding(Text(f"{row['kind']}: {row['title']}"), (0, 0, 0, 2), expand=False))
    screen.print(
        "\ngeomsolve solve NAME answers one; batch, validate and report take folders, too: problem:collapse. "
        "--json has what each teaches."
    )


def cell(value: Any) -> str:
    """A value as the text of a table cell."""
    if isinstance(value, list):
        return " ".join(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
