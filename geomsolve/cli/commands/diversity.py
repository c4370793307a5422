"""Does contrastive learning find the latents that made the data?"""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.diversity import DiversityReport, diversity
from geomsolve.cli.options import output_options, solver_options, temperature_option
from geomsolve.cli.output import Output
from geomsolve.cli.render import effort, proof_lines
from geomsolve.questions.diversity import Diversity
from geomsolve.words import rounded


@click.command("diversity", epilog="Example: geomsolve diversity --latents rings:7x10 -t 0.3 --shared-coordinates 1")
@click.option(
    "--latents",
    metavar="POINTS",
    help="Points on the unit sphere: sphere:200:3 (random: points, dimension), rings:7x10 (heights x longitudes), "
    "@file with one a row, or 1,0;0,1;-1,0.",
)
@click.option("--masses", metavar="LIST", help="How frequent each point is (default: all equally).")
@click.option("--kappa", type=float, metavar="K", help="Positive j of i: chance ~ exp(K cosine) (default 1/T).")
@temperature_option(Diversity)
@click.option("--shared-coordinates", type=int, metavar="N", help="Positives agree in the first N coordinates.")
@click.option("--support", metavar="MATRIX", help="n x n, 0 where j is never a positive of i: @file, or rows by ;.")
@click.option("--edges", metavar="PAIRS", help="Observed positive pairs i,j of points counted from 0: @file, or by ;.")
@click.option("--corrected", is_flag=True, default=None, help="Restrict the denominator to possible positives.")
@solver_options
@click.option("--full", is_flag=True, help="JSON holds the Gram matrices.")
@output_options
def command(output: Output, **flags: Any) -> int:
    """Does contrastive learning find the latents that made the data?

    The positive of a point is a nearby point; if every point may be the positive of every other (the diversity
    condition), the best embedding is the latents themselves, turned by a rotation. Restricted positives break that.
    Prints the verdict, the loss of the latents against the proven optimum, and maps that beat them.
    """
    return output.deliver(diversity(Diversity(**flags)), show)


def show(report: DiversityReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, condition, table, how sure, what would change it."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    problem, optimum = report.problem, report.optimum
    loss = "support-corrected InfoNCE" if problem["corrected"] else "InfoNCE"
    product = problem["kappa"] * problem["temperature"]
    screen.print(
        f"{loss} with infinitely many negatives, temperature {problem['temperature']:g}; {report.points} latents in "
        f"{report.dim} dimensions, positives with concentration kappa {problem['kappa']:.6g} "
        f"(kappa x temperature = {product:.4g})."
    )
    screen.print(condition(report))
    screen.print()
    screen.print(table(report))
    screen.print()
    if report.witness:
        screen.print("h: each latent with those coordinates shrunk, then brought back to length 1.")
    screen.print(
        "dimensions: how many the embedding needs. distance to latents: root mean square, after the best rotation.\n"
        "entropic floor: reached only where the embedding's cosines predict the positives exactly.\n"
    )
    tolerance = problem["tolerance"]
    screen.print(proof_lines(**optimum.figures, tolerance=tolerance))
    screen.print(
        {
            True: "It is the only optimum.",
            False: "It is not the only optimum: the table shows another.",
            None: "Whether other embeddings reach the same loss was not determined.",
        }[report.unique]
    )
    if report.solver["name"] == "none":
        screen.print("Nothing had to be solved: the latents themselves pass the certificate.")
    else:
        screen.print(f"Solver: {report.solver['name']}; {effort(report.solver)}.")
    change = what_would_change(report, product)
    if change:
        screen.print(f"\n{change}")


def sentence(report: DiversityReport) -> str:
    """The answer in one sentence."""
    if report.holds:
        verdict = "Diversity holds"
    else:
        verdict = f"Diversity is violated ({report.uncovered_mass:.1%} of random pairs are never positives)"
    excess = rounded(report.identity["excess"], 3)
    if not report.recovered:
        return f"{verdict}, and the latents are not the best embedding: their loss is {excess} nats above the optimum."
    if report.unique:
        return f"{verdict}: the best embedding is the latents, up to a rotation."
    others = "but not the only one" if report.unique is False else "maybe not the only one"
    return f"{verdict}: the latents are a best embedding, {others}."


def condition(report: DiversityReport) -> str:
    """The diversity condition and the positive graph, in words."""
    if report.holds:
        return "Diversity: any two points may be a positive pair."
    sizes = report.components
    if len(sizes) == 1:
        found = "they are not, though chains of positive pairs connect all points"
    else:
        found = f"positive pairs leave {len(sizes)} parts with no connection, the largest of size {sizes[0]}"
    return f"Diversity would need any two points to be a possible positive pair; here {found}."


def table(report: DiversityReport) -> Table:
    """Loss and excess of the latents, of the maps that squeeze them, and of the optima."""
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    grid.add_column("embedding", no_wrap=True)
    for title in ("loss", "above optimum", "dimensions", "distance to latents"):
        grid.add_column(title, justify="right", no_wrap=True)

    def add(name: str, value: float, *rest: str) -> None:
        above = value - report.value
        grid.add_row(name, f"{value:z.5f}", f"{max(above, 0.0):.5f}", *rest)

    add("the latents", report.identity["value"], str(report.dim), "0")
    shared = report.problem.get("shared_coordinates") or 1
    names = "coordinate" if report.dim - shared == 1 else "coordinates"
    for row in report.witness[1::2]:
        squeezed = f"last {report.dim - shared} {names} x {row['lambda']:g}"
        add(f"h: {squeezed}", row["value"], str(report.dim), "")
    for name, optimum in (("the optimum", report.optimum), ("another optimum", report.other_optimum)):
        if optimum is not None:
            add(name, optimum.value, str(optimum.rank), f"{optimum.procrustes_error:.3f}")
    grid.add_row("entropic floor", f"{report.floor:z.5f}", "", "", "")
    return grid


def what_would_change(report: DiversityReport, product: float) -> str:
    """What would make the latents the optimum, or the only one."""
    matching = f"temperature {1 / report.problem['kappa']:.4g} (= 1/kappa)" if report.problem["kappa"] > 0 else ""
    matched = abs(product - 1) < 1e-6
    if report.recovered:
        if report.unique is False:
            return (
                "Only positives that connect every pair of points, or the encoder itself, can single the latents out."
            )
        return ""
    if report.holds or report.problem["corrected"]:
        return "" if matched or not matching else f"At {matching} the latents would be a best embedding."
    also = "" if matched or not matching else f" and {matching}"
    return f"With --corrected{also} the latents would be a best embedding, though not the only one."
