"""What is built in: losses, weightings, label sets and data sets."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table

from geomsolve.cli.output import console, debug_option, json_option, no_color_option, to_json
from geomsolve.losses import REGISTRY
from geomsolve.reading.datasets import EXAMPLES, dataset
from geomsolve.reading.labels import GENERATORS
from geomsolve.report import head
from geomsolve.weightings import REGISTRY as WEIGHTINGS


@click.command("list", epilog="Example: geomsolve list datasets")
@click.argument("what", type=click.Choice(["losses", "weightings", "labels", "datasets"]))
@json_option
@no_color_option
@debug_option
def command(what: str, as_json: bool, no_color: bool) -> None:
    """List what is built in, each with its source or an example."""
    rows: list[dict[str, Any]] = []
    if what == "losses":
        for name, cls in sorted(REGISTRY.items()):
            flags = [p.flags[-1] for p in cls.takes().values()]
            others = [alias.name for alias in cls.aliases]
            rows.append({"name": name, "summary": cls.summary, "aliases": others, "flags": flags, "source": cls.source})
    elif what == "weightings":
        for name, weighting in sorted(WEIGHTINGS.items()):
            flags = ["--" + field.replace("_", "-") for field in weighting.takes()]
            rows.append({"name": name, "summary": weighting.summary, "flags": flags, "source": weighting.source})
    elif what == "labels":
        rows += [{"name": g.name, "example": g.example, "summary": g.summary} for g in GENERATORS.values()]
    else:
        for d in map(dataset, EXAMPLES):
            counts = {"samples": sum(d.counts), "largest": max(d.counts), "smallest": min(d.counts)}
            rows.append({"name": d.name, "classes": len(d.counts), **counts, "source": d.source})
    if as_json:
        click.echo(to_json({**head("list"), "problem": {"what": what}, what: rows}))
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for key, value in rows[0].items():
        table.add_column(key, justify="right" if isinstance(value, int) else "left", no_wrap=key == "name")
    for row in rows:
        table.add_row(*map(cell, row.values()))
    console(no_color=no_color).print(table)
    if what == "datasets":
        click.echo("cifar10-lt and cifar100-lt take any imbalance factor: cifar10-lt:37.")


def cell(value: Any) -> str:
    """A value as the text of a table cell."""
    if isinstance(value, list):
        return " ".join(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
