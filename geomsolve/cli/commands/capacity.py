"""How many classes fit in this many dimensions, and how far apart?"""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.capacity import CapacityReport, capacity
from geomsolve.analyses.packing import PackingReport
from geomsolve.cli.answers import proof_files
from geomsolve.cli.options import Command, output_options, proof_option
from geomsolve.cli.output import Output
from geomsolve.cli.progress import counting
from geomsolve.cli.render import cosine_grid
from geomsolve.gram.structure import angle_degrees
from geomsolve.questions.capacity import Capacity
from geomsolve.words import counted, in_degrees, number, rounded

SHOWN = 12
"""Classes up to which the cosines are printed one by one."""


@click.command("capacity", cls=Command, epilog="Example: geomsolve capacity --classes 12 --dim 3")
@click.option("--classes", type=int, metavar="K", help="How many classes.")
@click.option("--dim", type=int, metavar="D", help="Dimensions of the embedding.")
@click.option("--max-cosine", type=float, metavar="C", help="Largest cosine allowed: how many fit, or which dimension?")
@click.option("--lines", is_flag=True, default=None, help="Opposite vectors count as one: |cosines| of at most C.")
@click.option("--seed", type=int, default=0, metavar="N", help="Seed of the random starts (default 0).")
@click.option("--full", is_flag=True, help="JSON holds the Gram matrix for any number of classes (else up to 64).")
@output_options
@proof_option
def command(output: Output, proof: str | None = None, **flags: Any) -> int:
    """How far apart can K classes be in D dimensions?

    Prints the largest angle that all class means can keep from each other on the unit sphere, and the bound that no
    arrangement beats. Up to D + 1 classes form a regular simplex; up to 2 D can still be at 90°; beyond, they crowd.
    With --max-cosine C and --dim: how many classes fit; with --max-cosine C and --classes: which dimension they need.
    """
    problem = Capacity(**flags)
    with counting("searching", quiet=output.quiet) as tell:
        report = capacity(problem, progress=tell)
    return output.deliver(report, show, files=proof_files(proof, report, problem))


def show(report: CapacityReport | PackingReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, cosines, bounds, what would change it."""
    if isinstance(report, PackingReport):
        show_packing(report, screen, quiet=quiet)
        return
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    n, gram = report.problem["classes"], report.gram
    if gram is not None and n <= SHOWN:
        labels = [str(a + 1) for a in range(n)]
        screen.print()
        screen.print(cosine_grid(gram, labels, [True] * n, screen.width))
        screen.print("Cosines between the class means below the diagonal, angles above it.")
    screen.print("\nNo arrangement beats these; the strongest comes last:")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("bound", "largest cosine at least", "smallest angle at most"):
        table.add_column(title, justify="left" if title == "bound" else "right")
    rows = [row for row in report.bounds if "max_cosine" in row]
    for row in sorted(rows, key=lambda row: float(row["max_cosine"])):
        cosine = row["max_cosine"]
        table.add_row(row["name"], rounded(cosine), in_degrees(angle_degrees(cosine), 4))
    screen.print(table)
    welch = report.bounds[-1]["max_absolute_cosine"]
    screen.print(
        f"Opposite classes counted as close, too (lines instead of points): |cosine| at least {number(welch)}."
    )
    screen.print(f"\n{how_sure(report)}")
    screen.print(f"\n{what_would_change(report)}")


def show_packing(report: PackingReport, screen: Console, *, quiet: bool) -> None:
    """How many fit, or which dimension, and by what that is known."""
    p = report.problem
    what = "lines" if p["lines"] else "classes"
    limit = f"{'|cosines|' if p['lines'] else 'cosines'} of at most {number(p['max_cosine'])}"
    limit += f" (angles of at least {in_degrees(angle_degrees(p['max_cosine']), 2)})"
    if report.asked_for == "classes":
        many = counts(report.low, report.high)
        screen.print(f"{many} {what} fit in {counted(p['dim'], 'dimension')} with {limit}.", style="bold")
    elif report.low is None:
        screen.print(f"{p['classes']:,} {what} do not fit in any dimension with {limit}.", style="bold")
    else:
        many = counts(report.low, report.high)
        screen.print(f"{p['classes']:,} {what} with {limit} need {many[0].lower()}{many[1:]} dimensions.", style="bold")
    if quiet:
        return
    if report.low is None:
        screen.print(f"Proven: their sum would have a negative square ({report.bound} bound).")
    elif report.low == report.high:
        screen.print(f"Proven: {report.arrangement} attains the bound ({report.bound}).")
    else:
        screen.print(f"Proven on both sides: by {report.arrangement}, and by {report.bound}.")


def counts(low: int | None, high: int | None) -> str:
    """A range of numbers as the beginning of a sentence."""
    if low == high:
        return f"Exactly {low:,}"
    return f"At least {low:,}" if high is None else f"From {low:,} to {high:,}"


def sentence(report: CapacityReport) -> str:
    """The answer in one sentence."""
    n, dim = report.problem["classes"], report.problem["dim"]
    angle = f"{in_degrees(report.best_min_angle_deg, 2)} (cosine {rounded(report.max_cosine, 4)})"
    where = counted(dim, "dimension")
    if report.fits_simplex:
        return f"{n:,} classes fit in {where} as a regular simplex: every two are {angle} apart."
    if dim == 1:
        return f"{n:,} classes do not fit in {where}: there are only two points, so that some classes coincide."
    if report.optimal:
        return f"{n:,} classes in {where} can all keep at least {angle} from each other, and no more."
    return f"{n:,} classes in {where} can all keep at least {angle} from each other; that is the best found."


def how_sure(report: CapacityReport) -> str:
    """What is proven about the answer."""
    bound = report.bound
    if report.optimal:
        return f"Proven: the arrangement ({report.method}) attains the last bound ({bound['name']})."
    kept, most = (in_degrees(x, 2) for x in (report.best_min_angle_deg, angle_degrees(bound["max_cosine"])))
    again = " Another --seed may find a better one." if "random" in report.method else ""
    return (
        f"Between found and proven: the arrangement ({report.method}) keeps {kept}, and none "
        f"keeps more than {most} ({bound['name']}).{again}"
    )


def what_would_change(report: CapacityReport) -> str:
    """The dimensions at which the classes would stand as a simplex, or at right angles."""
    n, dim = report.problem["classes"], report.problem["dim"]
    if report.fits_simplex:
        return f"These dimensions hold a regular simplex of up to {dim + 1:,} classes."
    simplex = f"A regular simplex of {n:,} classes needs {n - 1:,} dimensions"
    half = (n + 1) // 2
    return f"{simplex}." if dim >= half else f"{simplex}; right angles or more need {half:,}."
