"""What do k random negatives change, against infinitely many?"""

from __future__ import annotations

from math import inf
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.negatives import NegativesReport, negatives
from geomsolve.cli.options import class_options, output_options, solver_options
from geomsolve.cli.output import Output
from geomsolve.cli.render import proof_lines
from geomsolve.gram.structure import angle_degrees
from geomsolve.losses.parameters import SAMPLING, TEMPERATURE
from geomsolve.questions.negatives import Negatives, answered
from geomsolve.words import counted, in_degrees, left, listing, number

LOSS_FLAGS = {"loss": "name", "temperature": "temperature", "sampling": "sampling"}


@click.command("negatives", epilog="Example: geomsolve negatives --props 0.7,0.2,0.1 -t 0.5 --negatives 1,8,64")
@class_options
@click.option(
    "--joint",
    metavar="MATRIX",
    help="In place of classes: joint distribution of anchor and positive over n points, @file or 0.4,0.1;0.1,0.4.",
)
@click.option("--negatives", metavar="LIST", help="Numbers of negatives (default 1,4,16,64,256).")
@click.option("--accuracy", type=float, metavar="NATS", help="Wanted distance from the limit (default 0.01).")
@click.option("--loss", metavar="|".join(answered()), help="The loss (default infonce); dcl leaves the positive out.")
@click.option(*TEMPERATURE.flags, TEMPERATURE.name, metavar=TEMPERATURE.metavar, help=TEMPERATURE.help)
@click.option(*SAMPLING.flags, SAMPLING.name, metavar=SAMPLING.metavar, help=SAMPLING.help)
@solver_options
@output_options
def command(output: Output, **flags: Any) -> int:
    """What do k random negatives change, against infinitely many?

    For each k: the exact loss R(k) of the best geometry (less log k, so that it has a limit), how far that is from
    the limit of infinitely many negatives, the bounds on it that hold for every embedding, and how geometry and
    collapse move with k. Then the least k for a wanted accuracy, exactly and by those bounds.
    """
    loss = {key: flags.pop(flag) for flag, key in LOSS_FLAGS.items() if flag in flags}
    problem = Negatives(**flags, loss=loss)
    output.notify(problem)
    return output.deliver(negatives(problem), show)


def show(report: NegativesReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, table, how sure, what would change it."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    loss = report.problem["loss"]
    what = "points" if report.problem.get("joint") is not None else "classes"
    screen.print(
        f"Loss {loss['name']}, temperature {loss['temperature']:g}, {loss['sampling']} negatives, "
        f"{len(report.names)} {what}. All losses in nats.\n"
    )
    screen.print(table(report))
    screen.print(
        "\nloss R(k): expected loss with k negatives, less log k, of the geometry that is best for this k.\n"
        "limit - R(k): how far the limit is above it. at least, at most: bounds that hold for every embedding.\n"
        f"angles: smallest and largest between two {what}."
    )
    if any(row.threshold is not None for row in report.rows):
        screen.print(
            f"collapse at t: the temperature nearest to {loss['temperature']:g} at which the smaller classes start to "
            "share one point."
        )
    screen.print()
    tolerance = report.problem["tolerance"]
    proven = report.gap <= tolerance * max(1.0, abs(report.limit))
    limit = (report.limit, report.lower_bound, report.gap, proven, tolerance)
    screen.print(f"The limit. {proof_lines(*limit, assumption=report.assumption or '')}")
    failed = [f"k = {row.negatives}" for row in report.rows if not row.certified]
    gap = f"largest {left(max(row.gap for row in report.rows), report.limit)}"
    screen.print(f"NOT PROVEN: R(k) for {listing(failed)} ({gap})." if failed else f"Every R(k) is proven too ({gap}).")
    screen.print(f"\n{enough(report)}")


def sentence(report: NegativesReport) -> str:
    """The answer in one sentence, for the largest k that was asked about."""
    last, least = report.rows[-1], report.least_negatives
    side = "above" if last.difference < 0 else "below"
    many = counted(last.negatives, "negative")
    end = (
        ""
        if least.exact is None
        else f"; {least.exact:,} {'brings' if least.exact == 1 else 'bring'} it within {least.accuracy:g}"
    )
    name, off = report.problem["loss"]["name"], number(abs(last.difference), 3)
    return f"With {many} {name} stays {off} nats {side} its limit of {number(report.limit, 5)}{end}."


def table(report: NegativesReport) -> Table:
    """One row a number of negatives, and the limit."""
    collapses = any(row.threshold is not None for row in report.rows)
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    titles = ("k", "loss R(k)", "limit - R(k)", "at least", "at most", "geometry", "angles")
    for title in (*titles, "collapse at t") if collapses else titles:
        grid.add_column(title, justify="left" if title == "geometry" else "right", no_wrap=True)

    def angles(kind: str, low: float, high: float) -> str:
        if kind == "undetermined":
            return "open"
        return f"{in_degrees(angle_degrees(high))} to {in_degrees(angle_degrees(low))}"

    for row in report.rows:
        figures = (f"{row.risk:z.5f}", f"{row.difference:+z.5f}", number(row.lower, 4), number(row.upper, 4))
        cells = [f"{row.negatives:,}", *figures, row.structure, angles(row.structure, row.min_cosine, row.max_cosine)]
        threshold = "never" if row.threshold is None else number(row.threshold, 4)
        grid.add_row(*cells, *([threshold] if collapses else []))
    s = report.structure
    cells = ["inf", f"{report.limit:z.5f}", "", "", "", s.kind, angles(s.kind, s.min_cosine, s.max_cosine)]
    grid.add_row(*cells, *([""] if collapses else []))
    return grid


def enough(report: NegativesReport) -> str:
    """How many negatives the wanted accuracy needs, exactly and by the bounds."""
    least = report.least_negatives
    promised = (
        "more than 1e308" if least.bound == inf else number(least.bound, 3) if least.bound > 1e9 else f"{least.bound:,}"
    )
    by_bound = f"the bounds promise it only from {promised} on"
    if least.exact is None or least.always is None:
        return f"No number up to a billion is proven to come within {least.accuracy:g} of the limit; {by_bound}."
    if least.bound <= least.always:
        by_bound = "the bounds promise it from there on too"
    missed = "" if least.exact == 1 else f" ({least.exact - 1:,} {'does' if least.exact == 2 else 'do'} not)"
    come = f"{counted(least.exact, 'negative')} {'comes' if least.exact == 1 else 'come'}"
    others = "every larger number" if least.always == least.exact else f"every number from {least.always:,} on"
    return f"{come} within {least.accuracy:g} of the limit{missed}, and so does, provably, {others}; {by_bound}."
