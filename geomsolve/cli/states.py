"""Where two sides come to coincide, to part or to collapse, for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table

from geomsolve.analyses.sweep_crossmodal import SweepCrossmodalReport
from geomsolve.analyses.threshold_crossmodal_report import ThresholdCrossmodalReport
from geomsolve.cli.render import chosen, loss_phrase
from geomsolve.cli.two_sides import article
from geomsolve.words import counted, in_degrees, listing, number, rounded

MOST_ROWS = 40
"""Rows of a table that are printed."""

FEW = 8
"""Classes whose shares are listed."""

NOUNS = {"temperature": "temperature", "bias": "bias", "noise": "noise", "classes": "classes"}


def show(report: ThresholdCrossmodalReport, screen: Console, *, quiet: bool) -> None:
    """Sentence, states along the path, how sure, where the problem as given stands."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    loss = {key: value for key, value in report.problem["loss"].items() if key != report.over}
    screen.print(f"{loss_phrase(loss)}{given(report.problem, [report.over])}; {NOUNS[report.over]} varied.\n")
    if report.changes:
        table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
        table.add_column(f"from {NOUNS[report.over]}", justify="right")
        table.add_column(f"at the optimum, {report.nouns[0]}s and {report.nouns[1]}s")
        for stage in report.path:
            start = "(start)" if stage["from"] is None else shown(stage["from"])
            table.add_row(start, said(report, stage["state"], free=stage["open"]))
        screen.print(table)
    if report.exact is not None:
        screen.print(f"As a real number, the formula of the simplex holds up to {number(report.exact, 9)} classes.")
    if report.changes:
        screen.print(
            "Each change is where the proof that one state is the best passes over to another, located by bisection; a "
            "state that comes and goes between two places looked at is not seen."
        )
    if report.state is not None and report.current is not None:
        whose = "Yours" if report.given else "The default"
        screen.print(
            f"\n{whose}, {NOUNS[report.over]} {shown(report.current)}: {report.nouns[0]}s and {report.nouns[1]}s "
            f"{said(report, report.state, free=report.open)}."
        )


def shown(value: Any) -> str:
    """A value on the path."""
    return f"{value:,}" if isinstance(value, int) else number(value, 8)


def said(report: ThresholdCrossmodalReport, state: str, *, free: bool = False) -> str:
    """A state as the end of 'images and texts ...'; ``free``: others are as good."""
    one, two = report.nouns
    if free:
        return "express the pairs exactly, with the same loss whether they coincide or not"
    return {
        "total collapse": "are all at one point",
        "antipodal": f"collapse: all {one}s at one point, all {two}s at the opposite one",
        "minority collapse": "coincide, and all classes but the largest share a point",
        "regular simplex": "coincide, at the corners of a regular simplex",
        "tied": "coincide",
        "apart": "do not coincide",
        "not settled": "may or may not coincide: that was not settled",
        "general": "are neither at one point nor at two opposite ones",
    }.get(state, state)


def sentence(report: ThresholdCrossmodalReport) -> str:
    """The change nearest to the problem as given."""
    loss, (one, two) = report.problem["loss"]["name"], report.nouns
    if report.threshold is None:
        low, high = (shown(report.searched[end]) for end in ("low", "high"))
        begin = said(report, report.path[0]["state"], free=report.path[0]["open"])
        return (
            f"No change was found: with {loss}, {one}s and {two}s {begin} wherever "
            f"looked, {NOUNS[report.over]} {low} to {high}."
        )
    value, before, after = (report.threshold[key] for key in ("value", "before", "after"))
    together = ("regular simplex", "tied", "minority collapse")
    free = report.threshold["open"]
    still = "still " if before in together and after in together and not any(free.values()) else ""
    first, then = said(report, before, free=free["before"]), said(report, after, free=free["after"])
    first += "," if "," in first else ""
    begin = f"Under {loss}, {one}s and {two}s {first} up to"
    if report.over == "classes":
        return f"{begin} {counted(value - 1, 'class', 'classes')}; from {value:,} on they {still}{then}."
    return f"{begin} {NOUNS[report.over]} {shown(value)}; above it they {still}{then}."


def given(problem: dict[str, Any], varied: Iterable[str]) -> str:
    """The classes or pairs of a question, behind its loss, and the noise where that is not ``varied``."""
    shares = problem.get("props") or problem.get("counts")
    words = ""
    if problem.get("pairs") is not None:
        words = ", weights of pairs as given"
    elif shares and len(shares) <= FEW:
        words = f", {'proportions' if problem.get('props') else 'counts'} {', '.join(number(p, 4) for p in shares)}"
    elif shares:
        words = f", {len(shares):,} classes"
    noise = problem.get("noise")
    return words + (f", noise {number(noise, 3)}" if noise and "noise" not in varied else "")


def show_sweep(report: SweepCrossmodalReport, screen: Console, *, quiet: bool) -> None:
    """Which structures there are, one row a point, how sure."""
    loss = report.problem["loss"]["name"]
    one, two = report.nouns
    varied = listing([name.replace("_", " ") for name in report.over])
    screen.print(f"Over {varied}, {one}s and {two}s under {loss}: {report.counted}.", style="bold")
    if quiet:
        return
    shown_loss = {key: value for key, value in report.problem["loss"].items() if key not in report.over}
    screen.print(f"{loss_phrase(shown_loss)}{given(report.problem, report.over)}; {varied} varied.\n")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    titles = ("loss value", "gap of proof", "modality gap", f"to own {two}", f"to other {two}s")
    for title in (*report.over, *titles):
        table.add_column(title.replace("_", " "), justify="right")
    table.add_column("sides")
    for place in chosen(len(report.rows), MOST_ROWS):
        if place is None:
            table.add_row(*["…"] * len(table.columns))
            continue
        row = report.rows[place]
        angles = ["" if row[key] is None else in_degrees(row[key]) for key in ("partner_angle_deg", "other_angle_deg")]
        at = [number(row[name], 5) for name in report.over]
        gap = "<1e-12" if row["gap"] < 1e-12 else f"{row['gap']:.1e}"
        table.add_row(*at, rounded(row["value"], 7), gap, rounded(row["modality_gap"], 4), *angles, row["structure"])
    screen.print(table)
    screen.print(
        f"Angles of {article(one)} {one}: the largest to its own {two}, the smallest to another. Modality gap: the "
        f"distance of the mean {one} from the mean {two}."
    )
    worst = max(row["gap"] for row in report.rows)
    failed = sum(not row["certified"] for row in report.rows)
    if failed:
        screen.print(f"NOT PROVEN at {failed} of {counted(len(report.rows), 'point')}: the widest gap is {worst:.1e}.")
    else:
        screen.print(
            f"Proven at {counted(len(report.rows), 'point')}: the loss is within {worst:.1e} of the best "
            f"({report.seconds:.2g} s)."
        )
