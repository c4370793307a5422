"""What do these losses, side by side, do to the same classes?"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.contrast import RANGED_ORBITS, ContrastReport, Row, contrast, entries
from geomsolve.cli.advice import LONGEST
from geomsolve.cli.options import (
    ChoiceOption,
    Command,
    class_options,
    nonnegative_option,
    output_options,
    solver_options,
    split_parameters,
)
from geomsolve.cli.output import Output
from geomsolve.cli.progress import one_by_one
from geomsolve.cli.render import holds_for
from geomsolve.questions.contrast import Contrast
from geomsolve.registry import LOSSES
from geomsolve.words import UNSEEN, in_degrees, listing, number

LONGEST_NAME = 17
"""Characters of a loss in the table, beyond which it goes on in the next line."""

SAME = 0.05
"""Degrees up to which two angles are printed alike."""

SHORT = {"symmetric by proportion": "by proportion", "minority collapse": "collapse", "total collapse": "all collapse"}
"""Names of geometries that are shorter in the table."""


@click.command("contrast", cls=Command, epilog="Example: geomsolve contrast --props 0.9,0.06,0.04 -t 0.5")
@class_options
@click.option(
    "--losses",
    cls=ChoiceOption,
    registry=LOSSES,
    metavar="NAMES|all",
    help="Losses, or all (default: a common handful). Flags of losses hold for each that takes them.",
)
@nonnegative_option
@click.option("--slack", type=float, metavar="EPS", help="Nats above the optimum for the widths (default 1e-4).")
@solver_options
@output_options
def command(output: Output, **flags: Any) -> int:
    """What do these losses, side by side, do to the same classes?

    One row a loss: the geometry that it wants, the angles between the smaller classes and between all, what equal
    angles everywhere would lose, the temperature at which the smaller classes collapse, and how wide a cosine may
    range at nearly the same loss. Every row is a forward solve of its own with its proof.
    """
    rest, loss = split_parameters(flags)
    problem = Contrast(**rest, loss=loss)
    output.notify(problem)
    with one_by_one(len(entries(problem)), quiet=output.quiet) as tell:
        report = contrast(problem, progress=tell)
    return output.deliver(report, show)


def show(report: ContrastReport, screen: Console, *, quiet: bool) -> None:
    """Print the table for a person: sentence, table, what its columns mean, how sure, how to go on."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    screen.print(setting(report))
    screen.print()
    screen.print(table(report))
    screen.print()
    for line in (*meaning(report), *unanswered(report), *how_sure(report)):
        screen.print(line)
    best = report.settled[0] if report.settled else None
    if best is not None and best.command is not None and len(best.command) <= LONGEST:
        screen.print(f"\nTo see a row in full: {best.command}", soft_wrap=True)


def who(report: ContrastReport) -> str:
    """The classes whose angle counts."""
    if len(report.smaller) < 2:
        return "the classes"
    return f"the smaller classes {listing(report.smaller)}" if len(report.smaller) == 2 else "the smaller classes"


def sentence(report: ContrastReport) -> str:
    """Which loss keeps the smaller classes farthest apart, and which puts them at one point."""
    settled, collapsed = report.settled, report.collapsed
    if not settled:
        return "None of these losses fixes the angles between these classes."
    best, worst = settled[0], settled[-1]
    widest = in_degrees(report.angle(best))
    if report.verdict == "all collapse":
        return f"Every one of these losses that fixes the angles puts classes at one point: {loss_names(settled)}."
    tied = [row for row in settled if report.angle(best) - report.angle(row) < SAME]
    if len(tied) == len(settled):
        many = f"All {len(settled)} losses that fix the angles keep" if len(settled) > 1 else f"{best.label} keeps"
        return f"{many} {who(report)} equally far apart, the closest two at {widest}."
    keep = (
        f"{loss_names(tied)} {'keeps' if len(tied) == 1 else 'keep'} {who(report)} farthest apart, at {widest} or more"
    )
    if collapsed:
        return f"{keep}; {loss_names(collapsed)} {'puts' if len(collapsed) == 1 else 'put'} classes at one point."
    return f"{keep}; {worst.label} lets them come nearest, to {in_degrees(report.angle(worst))}."


def loss_names(rows: Sequence[Row]) -> str:
    """The losses of some rows, as a phrase."""
    return listing([row.label for row in rows])


def setting(report: ContrastReport) -> str:
    """The classes, and the parameters that losses share."""
    shared = [f"{key.replace('_', ' ')} {value}" for key, value in report.problem["loss"].items()]
    n = len(report.smaller)
    parts = [f"{len(report.names):,} classes, {f'{n:,} of them smaller than the largest' if n else 'equally frequent'}"]
    if shared:
        parts.append(f"{', '.join(shared)} where a loss takes it")
    if report.problem["nonnegative"]:
        return f"{'; '.join(parts)}. Features are non-negative, so that no angle is above 90°."
    return f"{'; '.join(parts)}. A regular simplex would have {in_degrees(report.simplex_angle_deg)} everywhere."


def table(report: ContrastReport) -> Table:
    """One row a loss, within 80 columns."""
    made = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    made.add_column("loss", overflow="fold", max_width=LONGEST_NAME)
    made.add_column("geometry", max_width=16)
    minority = any(row.minority_angle_deg is not None for row in report.solved)
    for title in ("smaller", "all", "simplex", "collapse", "width"):
        if title != "smaller" or minority:
            made.add_column(title, justify="right", no_wrap=True)
    made.add_column("proven", no_wrap=True)
    for row in report.rows:
        cells = [
            fill(row.label, LONGEST_NAME),
            "not solved" if row.structure is None else SHORT.get(row.structure, row.structure),
        ]
        if minority:
            cells.append(angle_cell(row, row.minority_angle_deg))
        cells += [angle_cell(row, row.min_angle_deg), loses(row.simplex_excess), collapses(row), wide(row)]
        made.add_row(*cells, "-" if row.failed else "yes" if row.certified else "no")
    return made


def angle_cell(row: Row, value: float | None) -> str:
    """An angle in the table; open where the loss does not fix it."""
    if row.failed is not None:
        return "-"
    if not row.fixed:
        return "open"
    return "-" if value is None else in_degrees(value)


def loses(excess: float | None) -> str:
    """What a regular simplex would lose."""
    if excess is None:
        return "-"
    return "0" if abs(excess) < 1e-12 else number(excess, 2)


def collapses(row: Row) -> str:
    """The side of the temperature at which the smaller classes are one point."""
    if row.threshold is None:
        return "-"
    return f"{'>' if row.collapsed_above else '<'} {number(row.threshold, 3)}"


def wide(row: Row) -> str:
    """The widest range of a cosine; of those asked about, where not all were."""
    return "-" if row.width is None else f"{row.width.wide:.3f}{'' if row.width.complete else '+'}"


def meaning(report: ContrastReport) -> list[str]:
    """What the columns mean, as far as they say anything here."""
    solved = report.solved
    angle = "Angles are the smallest between two of the smaller classes, and between any two."
    if not any(row.minority_angle_deg is not None for row in solved):
        angle = "Angles are the smallest between any two classes."
    compared = any(row.simplex_excess is not None for row in solved)
    lines = [f"{angle} Simplex: what equal angles everywhere would lose, in nats." if compared else angle]
    for row in solved:
        if row.classifier_angle_deg is not None:
            lines.append(
                f"Of {row.label} the angles are those of feature means; the smallest between two classifiers is "
                f"{in_degrees(row.classifier_angle_deg)}."
            )
    if any(row.threshold is not None for row in solved):
        lines.append("Collapse: the temperatures at which the smaller classes are one point.")
    slack = number(report.slack, 3)
    if any(row.width is not None for row in solved):
        some = any(row.width is not None and not row.width.complete for row in solved)
        more = "; + where only the pair held least firmly was asked about" if some else ""
        lines.append(f"Width: how far a cosine may range at {slack} nats above the optimum, of 2 at most{more}.")
    unseen = [row for row in report.settled if row.structure != "regular simplex" and little(row)]
    if unseen:
        lines.append(
            f"A simplex costs less than training sees ({number(UNSEEN, 1)} nats) with {loss_names(unseen)}: there the "
            "angles are hardly the loss's doing."
        )
    if any(not row.fixed for row in solved):
        held = " Non-negative features: or its optimum is only bounded." if report.problem["nonnegative"] else ""
        lines.append(
            f"Open: the loss fixes no angle, as it is equally content with many geometries, or hardly has any.{held}"
        )
    return lines


def little(row: Row) -> bool:
    """Whether a regular simplex costs less than training sees."""
    return row.simplex_excess is not None and row.simplex_excess < UNSEEN


def unanswered(report: ContrastReport) -> list[str]:
    """Why rows have no answer, and which flags they had no use for."""
    lines = [f"Not solved, {row.label}: {row.failed}." for row in report.rows if row.failed is not None]
    by_flags: dict[tuple[str, ...], list[Row]] = {}
    for row in report.rows:
        if row.ignored:
            by_flags.setdefault(row.ignored, []).append(row)
    for flags, rows in by_flags.items():
        lines.append(f"Without {listing([key.replace('_', ' ') for key in flags])}: {loss_names(rows)}.")
    return lines


def how_sure(report: ContrastReport) -> list[str]:
    """What is proven, and for whom."""
    solved = report.solved
    unproven = [row for row in solved if not row.certified]
    lines = ["Proven: every row is an optimum of its own, with a lower bound that no embedding goes below."]
    if unproven:
        lines = [f"NOT PROVEN: {loss_names(unproven)}. The other rows are."]
    by_assumption: dict[str, list[Row]] = {}
    for row in solved:
        if row.assumption:
            by_assumption.setdefault(row.assumption, []).append(row)
    for assumption, rows in by_assumption.items():
        kept, others = holds_for(assumption)
        whose = "All this holds" if len(rows) == len(solved) else f"That of {loss_names(rows)} holds"
        lines.append(f"{whose}{kept}.{others}")
    if report.sizes > RANGED_ORBITS:
        lines.append(f"Widths are asked for up to {RANGED_ORBITS} distinct proportions; there are {report.sizes:,}.")
    return lines
