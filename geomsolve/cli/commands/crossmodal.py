"""How do two encoders arrange images and texts, and do the two sides coincide?"""

from __future__ import annotations

from math import log
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from geomsolve.analyses.crossmodal import crossmodal
from geomsolve.analyses.crossmodal_report import CrossmodalReport, extremes, other_cosines
from geomsolve.cli.answers import proof_files
from geomsolve.cli.options import (
    Command,
    class_options,
    output_options,
    pair_loss_options,
    pair_options,
    proof_option,
    solver_options,
    split_pair_loss,
)
from geomsolve.cli.output import Output
from geomsolve.cli.render import chosen, colour, effort, loss_phrase, proof_lines
from geomsolve.cli.two_sides import article, attained_lines, gap_line, price_line, whatever
from geomsolve.gram.structure import coinciding
from geomsolve.objectives.tied import tied_orbits
from geomsolve.questions.crossmodal import Crossmodal
from geomsolve.words import counted, in_degrees, listing, number, rounded, signed

ALL = 16
"""Points of a side up to which every one has its row; beyond, those that are alike have one together."""

LOGGED = 256
"""Pairs in a batch for which the value in a training log is given as an example."""


@click.command(
    "crossmodal",
    cls=Command,
    epilog="Example: geomsolve crossmodal --props 0.7,0.2,0.1 --loss clip --temperature 0.5",
)
@pair_options
@class_options
@pair_loss_options
@solver_options
@click.option(
    "--dim", type=int, metavar="D", help="Dimensions of the embedding, if limited: best found, not certified."
)
@click.option("--gap", type=float, metavar="G", help="A modality gap to force, 0 to 2: what does it cost?")
@click.option("--full", is_flag=True, help="JSON holds every cosine, however many points there are.")
@output_options
@proof_option
def command(output: Output, proof: str | None = None, **flags: Any) -> int:
    """How do two encoders arrange images and texts, and do the two sides coincide?

    Answers for CLIP, SigLIP and cosine classifiers which angles an image has to its own text and to the others, how
    far the two sides are apart (modality gap), and whether they coincide, with a proof that no two encoders have a
    lower loss; up to which temperature the pairs can be expressed exactly, and what a modality gap costs (--gap).
    Who belongs to whom is given by --pairs, or by classes with an image and a text each.
    """
    problem = Crossmodal(**split_pair_loss(flags))
    output.notify(problem)
    report = crossmodal(problem)
    return output.deliver(report, show, files=proof_files(proof, report, problem))


def show(report: CrossmodalReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, grid, angles within the sides, how sure."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    screen.print(setting(report))
    screen.print()
    screen.print(cross_grid(report, screen.width))
    one, two = (plural(noun) for noun in report.nouns)
    screen.print(f"Cosines between {one} (rows) and {two} (columns); 1 is the same direction, -1 the opposite.")
    for line in angle_lines(report):
        screen.print(line)
    screen.print()
    show_proof(report, screen)
    if line := log_line(report):
        screen.print(line)
    solver = report.solver
    screen.print(f"Solver: {solver['name']} ({solver['reason']}); {effort(solver)}.")


def show_proof(report: CrossmodalReport, screen: Console) -> None:
    """How sure the loss value is, and whether others reach it."""
    tolerance = report.problem["tolerance"]
    if not report.convex and not report.certified:
        screen.print(
            f"Best found, NOT PROVEN to be the best: loss value {rounded(report.value, 9)} nats. "
            f"{report.problem['loss']['name']} is not convex, so several searches by descent had to do; that no "
            f"{whatever(report.nouns)} goes below {rounded(report.lower_bound, 9)}, {number(report.gap, 3)} less, is "
            "proven."
        )
    elif report.dimension_limited:
        screen.print(
            f"Best found, not certified: loss value {rounded(report.value, 9)} nats, within {report.gap:.1e} of "
            f"{rounded(report.lower_bound, 9)}, below which no two encoders go, whatever their dimension."
        )
    else:
        screen.print(
            proof_lines(
                report.value, report.lower_bound, report.gap, report.certified, tolerance,
                embedding=whatever(report.nouns),
            )
        )  # fmt: skip
        screen.print(only(report))


def plural(noun: str) -> str:
    """More than one of them."""
    return f"{noun}s"


def sentence(report: CrossmodalReport) -> str:
    """The answer in one sentence."""
    loss, (one, two) = report.problem["loss"]["name"], report.nouns
    s, gap = report.structure, report.modality_gap["value"]
    if report.dimension_limited:
        return f"In {counted(report.problem['dim'], 'dimension')} (best found): {arrangement(report)}."
    if not report.convex and not report.certified:
        return f"Best found, not proven: {arrangement(report)}."
    if s["kind"] in ("total collapse", "collapsed") and report.unique is False:
        where = "at one point"
        if s["kind"] == "collapsed":
            where = f"at one point and all {plural(two)} at one point, {angles(s['cross'])} apart"
        everything = f"{plural(one)} and {plural(two)}" if s["kind"] == "total collapse" else plural(one)
        return (
            f"Collapse is one of many arrangements with the same loss: {loss} can have all {everything} {where}, but "
            "need not."
        )
    if s["kind"] == "total collapse":
        return f"Total collapse: {loss} puts all {plural(one)} and {plural(two)} at one point."
    if s["kind"] == "antipodal":
        return (
            f"Collapse: {loss} puts all {plural(one)} at one point and all {plural(two)} at the opposite one, "
            f"{one} and own {two} 180° apart (modality gap {number(gap, 3)})."
        )
    if s["kind"] == "collapsed":
        return (
            f"Collapse: {loss} puts all {plural(one)} at one point and all {plural(two)} at one point, here "
            f"{angles(s['cross'])} apart (modality gap {number(gap, 3)})."
        )
    if report.tied:
        where = where_tied(report)
        if report.unique is False:
            return f"{plural(one).capitalize()} and {plural(two)} can coincide but need not: {where}."
        found = "" if report.unique else " at the optimum found"
        return f"{plural(one).capitalize()} and {plural(two)} coincide{found}: {where}."
    many = "in one of many arrangements with the same loss, " if report.unique is False else ""
    if report.tied is None:
        return f"{many[:1].upper()}{many[1:]}{arrangement(report)}."
    return f"{plural(one).capitalize()} and {plural(two)} do not coincide: {many}{arrangement(report)}."


def where_tied(report: CrossmodalReport) -> str:
    """Where the points go that both sides share."""
    loss, (one, two) = report.problem["loss"]["name"], report.nouns
    others = report.structure["others"]
    if others is None:
        return f"{loss} puts every {one} on its {two}"
    if together := sharing(report):
        return f"{loss} wants every {one} to lie exactly on its own {two}, and {together}"
    span = angles(others)
    kind = ", a regular simplex" if report.structure["kind"] == "regular simplex" else ""
    at = "other arrangements have the same loss; in one of them" if report.unique is False else f"{loss} wants"
    verb = "lies" if report.unique is False else "to lie"
    return f"{at} every {one} {verb} exactly on its own {two}, {span} from the others{kind}"


def sharing(report: CrossmodalReport) -> str:
    """Which of the points that both sides share are one, and how far the rest is; '' where they all differ."""
    tolerance = report.structure["tolerance"]
    others = other_cosines(report.joint.paired, report.gram)
    if others.max() < 1 - tolerance:
        return ""
    noun = "classes" if report.problem.get("pairs") is None else plural(report.nouns[0])
    distinct = coinciding(tied_orbits(report.joint), report.gram.first, tolerance)
    given = [np.flatnonzero(np.isin(report.joint.first_point, group)) for group in distinct]
    groups = [f"{noun} {listing([report.names[a] for a in group])}" for group in given]
    rest = extremes(others[others < 1 - tolerance])
    apart = f", {angles(rest)} from the others" if rest is not None else ""
    return f"{' and '.join(groups)} at one point{' each' if len(groups) > 1 else ''}{apart}"


def arrangement(report: CrossmodalReport) -> str:
    """The angles to the own and to the other points, and the modality gap."""
    loss, (one, two) = report.problem["loss"]["name"], report.nouns
    s, gap = report.structure, report.modality_gap["value"]
    parts = []
    if s["partners"] is not None:
        parts.append(f"{angles(s['partners'])} from its own {two}")
    if s["others"] is not None:
        parts.append(f"{angles(s['others'])} from the others")
    return f"{loss} puts {article(one)} {one} {' and '.join(parts)} (modality gap {number(gap, 3)})"


def angles(extreme: dict[str, float]) -> str:
    """An angle, or the range of some."""
    low, high = extreme["min_angle_deg"], extreme["max_angle_deg"]
    return in_degrees(high) if high - low < 0.05 else f"{in_degrees(low)} to {in_degrees(high)}"


def setting(report: CrossmodalReport) -> str:
    """The loss and who belongs to whom."""
    x, y = report.counts
    one, two = report.nouns
    noise = report.problem.get("noise")
    noisy = f", {number(100 * noise, 3)}% of the pairs with a random {two}" if noise else ""
    if report.problem.get("pairs") is not None:
        distinct = report.joint.paired.points
        merged = "" if distinct == (x, y) else f", {distinct[0]:,} and {distinct[1]:,} of which differ in their pairs"
        who = f"{counted(x, one)} and {counted(y, two)}{merged}"
    elif x <= 8:
        shares = report.joint.first[report.joint.paired.first_index]
        same = "of equal size" if np.ptp(shares) <= 1e-12 else ""
        listed = same or f"of proportions {', '.join(number(p, 4) for p in shares)}"
        who = f"{counted(x, 'class', 'classes')} {listed}{noisy}"
    else:
        who = f"{counted(x, 'class', 'classes')} with {article(one)} {one} and {article(two)} {two} each{noisy}"
    return f"{loss_phrase(report.problem['loss'])}; {who}."


def cross_grid(report: CrossmodalReport, width: int) -> Table:
    """Cosines between the sides: every point while they are few, else one row for all that are alike."""
    x, y = report.counts
    one, two = report.nouns
    if max(x, y) <= ALL:
        cross = report.matrices()[1]
        by_pairs = report.problem.get("pairs") is not None and report.problem.get("names") is None
        rows = [f"{one} {name}" if by_pairs else name for name in report.names]
        columns = [f"{two} {j + 1}" for j in range(y)] if by_pairs or x != y else list(report.names)
    else:
        paired, joint = report.joint.paired, report.joint
        cross = report.gram.cross
        rows = [group(int(n), int(k), one) for n, k in zip(paired.first, joint.first_given, strict=True)]
        columns = [group(int(n), int(k), two) for n, k in zip(paired.second, joint.second_given, strict=True)]
        columns = [*columns, f"own {two}"]
    margin = min(max(map(len, rows)), 24)
    cell = max(len(signed(-1.0)), min(max(map(len, columns)), 14))
    across = chosen(len(columns), max(3, (width - margin - 1) // (cell + 1)))
    grid = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    grid.add_column("", no_wrap=True, max_width=margin, overflow="ellipsis")
    for b in across:
        title = "…" if b is None else columns[b]
        grid.add_column(title, justify="right", no_wrap=True, max_width=cell, overflow="ellipsis")
    for a in chosen(len(rows), ALL):
        if a is None:
            grid.add_row("…", *("…" for _ in across))
            continue
        cells = [Text("…") if b is None else cell_of(report, cross, a, b, len(columns)) for b in across]
        grid.add_row(Text(rows[a], style="bold"), *cells)
    return grid


def cell_of(report: CrossmodalReport, cross: Any, a: int, b: int, width: int) -> Text:
    """A cosine in its colour, or a dot where there is no such pair."""
    grouped = cross.shape == report.gram.cross.shape and width == cross.shape[1] and max(report.counts) > ALL
    if grouped and report.joint.paired.counts[a, b] == 0:
        return Text("·")
    cosine = float(cross[a, b])
    return Text(signed(cosine), style=colour(cosine))


def group(size: int, given: int, noun: str) -> str:
    """What a row stands for that is of several points."""
    many = size * given
    return f"{many:,} {noun}s" if many > 1 else f"1 {noun}"


def angle_lines(report: CrossmodalReport) -> list[str]:
    """Angles within the sides, the modality gap and its price, and whether the pairs are expressed exactly."""
    one, two = report.nouns
    s, lines = report.structure, []
    within = [
        f"{plural(noun)} {angles(s[side])}" for noun, side in ((one, "first"), (two, "second")) if s[side] is not None
    ]
    if within:
        lines.append(f"Angles among {', among '.join(within)}.")
    lines.append(gap_line(report.modality_gap, report.nouns))
    if report.modality_gap["forced"] is not None:
        lines.append(price_line(report.modality_gap))
    if report.attainable is not None:
        lines += attained_lines(report.attainable, report.problem["loss"])
    return lines


def only(report: CrossmodalReport) -> str:
    """Whether there are other optima."""
    return {
        True: "It is the only optimum.",
        False: "It is not the only optimum: another arrangement with the same loss was found.",
        None: "Whether other arrangements reach the same loss was not determined.",
    }[report.unique]


def log_line(report: CrossmodalReport) -> str:
    """How the value relates to that in a training log; empty where it is the same."""
    loss = report.problem["loss"]
    if loss.get("prior") == "props":
        share = report.joint.second[report.joint.paired.second_index]
        less = float(share @ np.log(share * share.size))
        return (
            f"Cross-entropy of the cosines over the temperature plus the logarithm of each share, as code for logit "
            f"adjustment has it, is {number(report.value - less, 6)} here: it counts the shares of the own class too."
        )
    if loss["name"] != "clip" or loss.get("batch"):
        return ""
    return (
        f"This is the limit of large batches less log(batch): a training log shows about "
        f"{number(report.value + log(LOGGED), 4)} for batches of {LOGGED}; --batch gives the exact value."
    )
