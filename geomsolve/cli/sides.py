"""Measured images and texts against what their loss wants, for a person."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from geomsolve.analyses.compare_crossmodal_report import CompareCrossmodalReport
from geomsolve.cli.render import cosine_phrase, loss_phrase, proof_lines
from geomsolve.cli.two_sides import article, whatever
from geomsolve.registry import PAIR_LOSSES
from geomsolve.words import counted, number, rounded

TINY = 1e-6
"""A modality gap that is none."""


def show(report: CompareCrossmodalReport, screen: Console, *, quiet: bool) -> None:
    """Verdict, measured and predicted side by side, the loss, how sure."""
    several = len(report.checkpoints) > 1
    before = f"Last of {counted(len(report.checkpoints), 'checkpoint')}: " if several else ""
    screen.print(before + sentence(report), style="bold")
    if quiet:
        return
    screen.print(f"{loss_phrase(report.problem['loss'])}; {who(report)}.\n")
    if several:
        screen.print(checkpoints_table(report))
        screen.print(f"Mean cosines with own and other {report.nouns[1]}s; the loss in nats above the optimum.\n")
    screen.print(table(report))
    for line in figures(report):
        screen.print(line)
    screen.print(
        proof_lines(
            report.value, report.lower_bound, report.gap, report.certified, report.problem["tolerance"],
            embedding=whatever(report.nouns), advice=advice(report),
        )
    )  # fmt: skip


def advice(report: CompareCrossmodalReport) -> str:
    """What to say where the prediction is not proven."""
    name = report.problem["loss"]["name"]
    if PAIR_LOSSES[name].convex:
        return "Try another --solver."
    return f"{name} is not convex: what is called wanted is the best that was found."


def who(report: CompareCrossmodalReport) -> str:
    """Which pairs were compared."""
    one, two = report.nouns
    if report.classes is not None:
        return (
            f"{counted(report.rows, 'pair')} of {counted(len(report.classes), 'class', 'classes')}, whose means are "
            "compared"
        )
    if report.pairs == report.rows:
        return f"{counted(report.pairs, 'pair')}, all different"
    return (
        f"{report.pairs:,} of the {report.rows:,} pairs, drawn at random (--seed), as if they were all; --labels FILE "
        f"compares all of them, where {one}s and {two}s have classes"
    )


def table(report: CompareCrossmodalReport) -> Table:
    """Measured, with its extremes, and wanted."""
    one, two = report.nouns
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    shown.add_column("")
    for title in ("measured", "from", "to", "wanted"):
        shown.add_column(title, justify="right", no_wrap=True)
    measured, wanted = report.measured, report.prediction
    for key, name in (("partner_cosine", f"cosine, {one} and own {two}"), ("other_cosine", f"cosine, other {two}s")):
        ends = (rounded(measured[key]["min"], 3), rounded(measured[key]["max"], 3))
        shown.add_row(name, cosine_phrase(measured[key]["mean"]), *ends, cosine_phrase(wanted[key]))
    for key, name in (("modality_gap", "modality gap"), ("alignment", "alignment")):
        shown.add_row(name, rounded(measured[key], 4), "", "", rounded(wanted[key], 4))
    return shown


def checkpoints_table(report: CompareCrossmodalReport) -> Table:
    """One line a checkpoint."""
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    shown.add_column("checkpoint")
    for title in ("own", "other", "modality gap", "above optimum"):
        shown.add_column(title, justify="right", no_wrap=True)
    shown.add_column("verdict")
    for each in report.checkpoints:
        found = each.measured
        means = (rounded(found[key]["mean"], 3) for key in ("partner_cosine", "other_cosine"))
        gap, above = rounded(found["modality_gap"], 3), rounded(max(each.excess, 0.0), 3)
        shown.add_row(each.read["embeddings"], *means, gap, above, each.verdict)
    return shown


def figures(report: CompareCrossmodalReport) -> list[str]:
    """The loss, what the gap costs, scatter and dimensions, a line each."""
    (one, two), last = report.nouns, report.last
    whose = "these pairs" if report.classes is None else "your classes, each at its mean,"
    over = "over pairs" if report.classes is None else "over the directions of class means, each class once"
    lines = [
        f"Cosines: means {over}, and their range. Modality gap: the distance of the mean {one} from the mean {two}. "
        f"Alignment: the mean squared distance of {article(one)} {one} and its own {two}.\n"
    ]
    above = f"{rounded(last.excess, 3)} nats above the optimum"
    lines.append(f"Loss of {whose} {rounded(last.value_measured, 6)}, {above}.")
    if last.max_cosine_error is not None:
        scatter = last.measured["scatter"]
        lines.append(
            f"Largest difference of a cosine between classes from the wanted one {rounded(last.max_cosine_error, 3)}. "
            f"Scatter within classes (mean squared distance to the class mean): {one}s {number(scatter['first'], 3)}, "
            f"{two}s {number(scatter['second'], 3)}."
        )
    if last.gap_price is not None and last.measured["modality_gap"] > TINY:
        lines.append(f"The modality gap alone costs {number(max(last.gap_price, 0.0), 3)} nats.")
    if report.prediction["rank"] > last.dim:
        lines.append(
            f"The optimum needs {counted(report.prediction['rank'], 'dimension')}, your embeddings have {last.dim:,}: "
            "they cannot reach it, and how near they can come is not said."
        )
    return lines


def sentence(report: CompareCrossmodalReport) -> str:
    """The verdict in one sentence."""
    loss, (one, two) = report.problem["loss"]["name"], report.nouns
    gap = f"modality gap {rounded(report.measured['modality_gap'], 3)}, {loss} wants "
    gap += rounded(report.prediction["modality_gap"], 3)
    above = f"the loss is {rounded(report.excess, 3)} nats above the optimum"
    if report.verdict == "matches":
        return f"Your {one}s and {two}s are arranged as {loss} wants ({gap})."
    if report.verdict == "loose":
        return f"Your loss is at the optimum, but {loss} does not fix the geometry ({gap})."
    return f"Not there yet: {above} ({gap})."
