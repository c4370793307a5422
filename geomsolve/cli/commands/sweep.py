"""How does the geometry change along one or two parameters?"""

from __future__ import annotations

import csv
import io
import itertools
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from geomsolve.analyses.imbalance import SAME
from geomsolve.analyses.ranges import SETTLED
from geomsolve.analyses.sweep import MOST_DRAWN, SweepReport, losing, sweep
from geomsolve.analyses.sweep_crossmodal import SweepCrossmodalReport, sweep_crossmodal
from geomsolve.batch.table import cell
from geomsolve.batch.workers import BACKENDS
from geomsolve.cli import states
from geomsolve.cli.options import (
    Command,
    class_options,
    either_loss_options,
    nonnegative_option,
    of_two_sides,
    output_options,
    pair_options,
    solver_options,
    split_loss,
    stacked,
    two_sided,
)
from geomsolve.cli.output import File, Output
from geomsolve.cli.progress import Counted, counting
from geomsolve.cli.render import chosen, colour, holds_for, loss_phrase, mean_over_batches, parameter_words, sparkline
from geomsolve.cli.workers import check_workers, worker_options
from geomsolve.errors import InputError
from geomsolve.questions.base import keys
from geomsolve.questions.sweep import Elsewhere, Sweep
from geomsolve.questions.sweep_crossmodal import SweepCrossmodal
from geomsolve.report import to_json
from geomsolve.words import counted, in_degrees, listing, number, rounded

CLASSIFIERS = (
    "Angles are those between classifiers; features: the smallest between two feature means; aligned: the mean cosine "
    "of a feature mean and its classifier."
)

MOST_ROWS = 40
"""Rows of the table that are printed; --csv holds all."""

sweep_options = stacked(
    click.option(
        "--over",
        multiple=True,
        metavar="NAME=RANGE",
        help="What varies, once or twice: a parameter of the loss, majority, imbalance (largest over smallest class) "
        "or dim, with values first:last:how-many, log:first:last:how-many, or a list.",
    ),
    click.option(
        "--classes", type=int, metavar="K", help="Number of equally frequent classes; sizes by --over imbalance."
    ),
    click.option("--dim", type=int, metavar="D", help="Dimensions of the embedding, if limited; --over dim=2:9:8 too."),
    nonnegative_option,
    click.option(
        "--slack", type=float, metavar="EPS", help="Also how far cosines may be at a loss EPS nats above the optimum."
    ),
    click.option("--profile", metavar="exp|step", help="How class sizes fall with imbalance (default exp)."),
)

table_options = stacked(
    click.option("--csv", "csv_file", metavar="FILE", help="Also write the table to FILE, one row a point."),
    click.option("--html", metavar="FILE", help="Also write a page to FILE whose sliders move the classes."),
    click.option("--jsonl", metavar="FILE", help="Also write the rows to FILE, one JSON object a line."),
)


@click.command(
    "sweep", cls=Command, epilog="Example: geomsolve sweep --props 0.8,0.12,0.08 --over temperature=log:0.1:2:12"
)
@class_options
@pair_options
@sweep_options
@either_loss_options
@solver_options
@worker_options("1, no other process")
@table_options
@output_options
def command(
    output: Output,
    over: tuple[str, ...],
    backend: str = BACKENDS[0],
    jobs: int | None = None,
    scheduler: str | None = None,
    csv_file: str | None = None,
    jsonl: str | None = None,
    html: str | None = None,
    **flags: Any,
) -> int:
    """How does the geometry change along one or two parameters?

    Solves and proves every point of a range of temperatures, class shares, batch sizes or other parameters, and
    marks where the smaller classes collapse into one point. Two --over make a phase diagram.

    With --loss clip, siglip or cosine-softmax it says whether two sides, images and texts, coincide, and how large
    the modality gap is, over parameters of the loss and noise.
    """
    report: SweepReport | SweepCrossmodalReport
    check_workers(jobs, backend, scheduler)
    where = {"jobs": jobs, "backend": backend, "scheduler": scheduler} if scheduler or (jobs or 1) > 1 else None
    if html and where is not None:
        raise InputError(
            "a page shows every geometry, and these stay where they are found; leave --jobs out", field="html"
        )
    if of_two_sides(flags):
        asked = two_sided(flags, keys(SweepCrossmodal))
        sides = SweepCrossmodal(over=axes(over), **asked)
        output.notify(sides)
        with counting("solving points", quiet=output.quiet) as tell:
            report = sweep_crossmodal(sides, progress=tell, elsewhere=shared(where, tell))
    else:
        problem = Sweep(over=axes(over), **split_loss(flags))
        if html and len(problem.class_names) > MOST_DRAWN:
            raise InputError(f"a page is drawn of up to {MOST_DRAWN} classes; use --plot", field="html")
        output.notify(problem)
        with counting("solving points", quiet=output.quiet) as tell:
            report = sweep(problem, progress=tell, elsewhere=shared(where, tell))
    files: list[File] = []
    if csv_file:
        files.append(("csv", csv_file, as_csv(report)))
    if jsonl:
        files.append(("jsonl", jsonl, "".join(to_json(row) + "\n" for row in report.to_dict()["rows"])))
    if html:
        from geomsolve.cli.play import page

        files.append(("html", html, page(report)))
    return output.deliver(report, show, files=files)


def shared(where: dict[str, Any] | None, tell: Counted) -> Elsewhere | None:
    """What solves the points on the processes ``where``; None for this process alone."""
    if where is None:
        return None
    from geomsolve.batch.spread import spread

    return partial(spread, progress=tell, **where)


def axes(over: tuple[str, ...]) -> dict[str, str]:
    """``name=range`` flags as a dictionary."""
    found: dict[str, str] = {}
    for text in over:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise InputError(f"wanted NAME=RANGE, such as temperature=0.05:1:20, got {text!r}", field="over")
        if name in found:
            raise InputError(f"{name} is given twice", field="over")
        found[name.strip().replace("-", "_")] = values
    return found


def as_csv(report: SweepReport | SweepCrossmodalReport) -> str:
    """The rows as CSV; groups and pairs as class names joined by + and ;."""
    text = io.StringIO()
    rows = report.to_dict()["rows"]
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        joined = {"groups": ";".join("+".join(group) for group in row["groups"])} if "groups" in row else {}
        if "widest_pair" in row:
            joined["widest_pair"] = "+".join(row["widest_pair"])
        writer.writerow({name: cell(value) for name, value in {**row, **joined}.items()})
    return text.getvalue()


def show(report: SweepReport | SweepCrossmodalReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, table or grid, collapse, how sure."""
    if isinstance(report, SweepCrossmodalReport):
        states.show_sweep(report, screen, quiet=quiet)
        return
    screen.print(" ".join([sentence(report), *stakes(report)]), style="bold")
    if settling := settled(report):
        screen.print(settling, style="bold")
    if quiet:
        return
    loss = {key: value for key, value in report.problem["loss"].items() if key not in report.over}
    varied = listing([parameter_words(name, loss["name"]) for name in report.over])
    screen.print(f"{loss_phrase(loss)}; {varied} varied.\n")
    whose = "classifiers" if report.of_classifiers else "classes"
    if len(report.over) == 1:
        screen.print(table(report))
        plain = not screen.encoding.lower().startswith("utf")
        for key, name in (("min_angle_deg", "smallest angle"), ("max_angle_deg", "largest angle"), ("value", "loss")):
            values = [row[key] for row in report.rows if key == "value" or row["structure"] != "undetermined"]
            if not values:
                continue
            unit = "" if key == "value" else "°"
            ends = f"{number(values[0], 4)}{unit} to {number(values[-1], 4)}{unit}"
            screen.print(f"{name:>14}  {sparkline(values, screen.width - 40, plain=plain)}  {ends}")
        if report.of_classifiers:
            screen.print(CLASSIFIERS)
        screen.print()
    else:
        screen.print(phase_grid(report, screen.width))
        screen.print(f"Smallest angle between two {whose}, in degrees; 0 is collapse.\n")
    if report.collapse and len(report.over) == 1:
        (name,) = report.over
        for change in report.collapse:
            if "groups" in change:
                screen.print(merger(parameter_words(name, loss["name"]), change[name], change))
                continue
            happens = "sets in" if change["collapsed_above"] else "ends"
            screen.print(f"Collapse of all smaller classes {happens} at {name} {number(change[name])}.")
    if any(row["structure"] == "undetermined" for row in report.rows):
        screen.print("Undetermined: the loss hardly depends on the angles there, so that none is shown.")
    if mean := mean_over_batches({row.get("expectation", "") for row in report.rows}, report.problem["loss"]["name"]):
        screen.print(mean)
    if report.problem.get("slack") is not None:
        screen.print(
            "Widest range: how far the least settled cosine may be from end to end at a loss that much higher; proven."
        )
    worst = max(row["gap"] for row in report.rows)
    points = counted(len(report.rows), "point")
    kept, others = holds_for(report.assumption or "")
    if report.certified:
        everywhere = f"all {points}" if len(report.rows) > 1 else points
        best = f"the loss is within {worst:.1e} of the best"
        screen.print(f"Proven at {everywhere}{kept}: {best} ({report.seconds:.2g} s).{others}")
    elif report.problem.get("dim") is not None or "dim" in report.over:
        failed = sum(not row["certified"] for row in report.rows)
        whose = f" This is{kept}.{others}" if kept else ""
        screen.print(
            f"At {failed} of {points} the limit on dimensions binds: there the geometry is the best found, and what "
            f"any embedding can reach lies at most {worst:.1e} below.{whose}"
        )
    else:
        failed = sum(not row["certified"] for row in report.rows)
        other = "" if report.of_classifiers else " Try another --solver."
        screen.print(f"NOT PROVEN at {failed} of {points}: the widest gap is {worst:.1e}.{other}")


def merger(noun: str, value: float, change: dict[str, Any]) -> str:
    """Where alike classes come to share a point, features and classifiers, or all vanish."""
    start = f"From {noun} {number(value)} on"
    if change["structure"] == "total collapse":
        return f"{start} all features and classifiers are 0."
    return f"{start} classes {listing(change['groups'][0], 6)} share a point."


IN_WORDS = {
    "general": "irregular (angles differ)",
    "symmetric by proportion": "irregular (angles differ with class size)",
}


def sentence(report: SweepReport) -> str:
    """What changes along the sweep."""
    loss = report.problem["loss"]["name"]
    whose = f"the classifiers of {loss}" if report.of_classifiers else loss
    kinds = [IN_WORDS.get(row["structure"], row["structure"]) for row in report.rows]
    if len(report.over) == 2:
        return f"Geometries of {whose} on the grid: {report.counted}."
    (name,) = report.over
    values = [number(x, 4) for x in report.over[name]]
    runs = [list(run) for _, run in itertools.groupby(range(len(kinds)), key=lambda i: kinds[i])]
    noun = parameter_words(name, loss)
    if len(runs) == 1:
        low, high = report.rows[0]["min_angle_deg"], report.rows[-1]["min_angle_deg"]
        known = report.rows[0]["structure"] != "undetermined"
        if len(kinds) == 1:
            angle = f"; the smallest angle is {in_degrees(low)}" if known else ""
            return f"At {noun} {values[0]} the geometry of {whose} is {kinds[0]}{angle}."
        angle = f"; the smallest angle goes from {in_degrees(low)} to {in_degrees(high)}" if known else ""
        return f"From {noun} {values[0]} to {values[-1]} the geometry of {whose} stays {kinds[0]}{angle}."
    parts = [f"{kinds[run[0]]} at {' to '.join(dict.fromkeys((values[run[0]], values[run[-1]])))}" for run in runs]
    return f"Over {noun} the geometry of {whose} is {', then '.join(parts)}."


def stakes(report: SweepReport) -> list[str]:
    """A sentence on what the regular simplex would lose, where it is not the answer everywhere."""
    said = losing(report.bends) if report.bends else ""
    return [f"{said[0].upper()}{said[1:]}."] if said else []


def settled(report: SweepReport) -> str:
    """Where the loss settles the geometry among the points looked at; empty where that was not asked."""
    slack = report.problem.get("slack")
    if slack is None:
        return ""
    within = f"Within {number(slack, 3)} nats of the optimum"
    close = [row["widest"] <= SETTLED for row in report.rows]
    least = min(row["widest"] for row in report.rows)
    points = counted(len(close), "point")
    every = "every cosine" if all(row["widest_complete"] for row in report.rows) else "every cosine asked about"
    if not any(close):
        return f"{within} the geometry is settled at none of {points}: some cosine may vary by {least:.2g} everywhere."
    width = number(SETTLED)
    if len(report.over) == 2 or all(close):
        where = f"all {points}" if all(close) else f"{sum(close)} of {points}"
        return f"{within} {every} is settled to {width} at {where}."
    (name,) = report.over
    rows = sorted(zip([row[name] for row in report.rows], close, strict=True))
    runs = [[x for x, _ in run] for inside, run in itertools.groupby(rows, key=lambda row: row[1]) if inside]
    last = [rows[-1][0]]
    where = listing(
        [
            f"from {name.replace('_', ' ')} {number(run[0], 4)} on"
            if run[-1:] == last
            else f"at {name.replace('_', ' ')} {' to '.join(dict.fromkeys(number(x, 4) for x in (run[0], run[-1])))}"
            for run in runs
        ]
    )
    return f"{within} {every} is settled to {width} {where}, among the points looked at."


def table(report: SweepReport) -> Table:
    """One row a point, as many as are worth reading."""
    (name,) = report.over
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    norms = report.of_classifiers and all(row["cross_entropy"] is None for row in report.rows)
    noun = parameter_words(name, report.problem["loss"]["name"])
    titles = [noun, "min angle", "max angle", "least norm" if norms else "loss value", "gap"]
    titles += ["features", "aligned"] if report.of_classifiers else ["simplex loses"]
    wide = report.problem.get("slack") is not None
    for title in [*titles, "widest range"] if wide else titles:
        shown.add_column(title, justify="right")
    shown.add_column("geometry")
    for position in chosen(len(report.rows), MOST_ROWS):
        if position is None:
            shown.add_row(*["…"] * len(shown.columns))
            continue
        row = report.rows[position]
        points = "; ".join(listing(group, 6) for group in row["groups"])
        geometry = row["structure"] + (f": {points}" if row["structure"] == "minority collapse" else "")
        angles = [
            Text(f"{row[f'{angle}_angle_deg']:.1f}°", style=colour(row[cosine])) if known else Text("open")
            for known in [row["structure"] != "undetermined"]
            for angle, cosine in (("min", "max_cosine"), ("max", "min_cosine"))
        ]
        excess = row["simplex_excess"]
        lost = ["" if excess is None else f"{excess:.1e}" if excess > SAME * max(1, abs(row["value"])) else "nothing"]
        if report.of_classifiers:
            aligned = row["alignment"]
            lost = [in_degrees(row["feature_min_angle_deg"]), "-" if aligned is None else f"{aligned:.4f}"]
        gap = "<1e-12" if row["gap"] < 1e-12 else f"{row['gap']:.1e}"
        ranges = [Text(f"{row['widest']:.3f} {':'.join(row['widest_pair'])}")] if wide else []
        shown.add_row(number(row[name], 5), *angles, rounded(row["value"], 7), gap, *lost, *ranges, geometry)
    return shown


def phase_grid(report: SweepReport, width: int) -> Table:
    """Smallest angles over two parameters, the first downwards and the second to the right."""
    (down, rows), (across, columns) = report.over.items()
    fits = chosen(len(columns), max(4, (width - 16) // 8))
    shown = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    shown.add_column(f"{down} \\ {across}", justify="right")
    for j in fits:
        shown.add_column("…" if j is None else number(columns[j], 4), justify="right")
    for i in chosen(len(rows), MOST_ROWS):
        if i is None:
            shown.add_row(*["…"] * (1 + len(fits)))
            continue
        cells = []
        for j in fits:
            row = None if j is None else report.rows[i * len(columns) + j]
            cells.append(
                Text("…")
                if row is None
                else Text("open")
                if row["structure"] == "undetermined"
                else Text(f"{row['min_angle_deg']:.1f}", style=colour(row["max_cosine"]))
            )
        shown.add_row(Text(number(rows[i], 4), style="bold"), *cells)
    return shown
