"""Measured images and texts against what their loss wants, for a person."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from geomsolve.analyses.compare_crossmodal import CompareCrossmodalReport
from geomsolve.cli.render import cosine_phrase, loss_phrase, proof_lines
from geomsolve.words import counted, number, rounded


def show(report: CompareCrossmodalReport, screen: Console, *, quiet: bool) -> None:
    """Verdict, measured and predicted side by side, the loss, how sure."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    one, two = report.nouns
    some = "" if report.pairs == report.rows else f", drawn from {report.rows:,}"
    screen.print(f"{loss_phrase(report.problem['loss'])}; {counted(report.pairs, 'pair')}{some}, all different.\n")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for title in ("measured", "from", "to", "wanted"):
        table.add_column(title, justify="right", no_wrap=True)
    for key, name in (("partner_cosine", f"cosine, {one} and own {two}"), ("other_cosine", f"cosine, other {two}s")):
        found = report.measured[key]
        ends = (number(found["min"], 3), number(found["max"], 3))
        table.add_row(name, cosine_phrase(found["mean"]), *ends, cosine_phrase(report.prediction[key]))
    gaps = (number(where["modality_gap"], 4) for where in (report.measured, report.prediction))
    measured, wanted = gaps
    table.add_row("modality gap", measured, "", "", wanted)
    aligned = (number(where["alignment"], 4) for where in (report.measured, report.prediction))
    measured, wanted = aligned
    table.add_row("alignment (mean squared distance)", measured, "", "", wanted)
    screen.print(table)
    screen.print(
        f"Loss of these pairs {rounded(report.value_measured, 6)}, {number(report.excess, 3)} nats above the optimum."
    )
    if report.gap_price is not None and report.measured["modality_gap"] > 1e-6:
        screen.print(f"The modality gap alone costs {number(max(report.gap_price, 0.0), 3)} nats.")
    if report.prediction["rank"] > report.dim:
        screen.print(
            f"The optimum needs {counted(report.prediction['rank'], 'dimension')}, there are {report.dim:,}: it is a "
            "bound that such embeddings do not reach, and how near they can come is not said."
        )
    screen.print(
        proof_lines(
            report.value, report.lower_bound, report.gap, report.certified, report.problem["tolerance"],
            embedding="pair of encoders",
        )
    )  # fmt: skip


def sentence(report: CompareCrossmodalReport) -> str:
    """The verdict in one sentence."""
    loss, (one, two) = report.problem["loss"]["name"], report.nouns
    gap = f"modality gap {number(report.measured['modality_gap'], 3)}, {loss} wants "
    gap += number(report.prediction["modality_gap"], 3)
    above = f"the loss is {number(report.excess, 3)} nats above the optimum"
    if report.verdict == "matches":
        return f"Your {one}s and {two}s are arranged as {loss} wants ({gap})."
    if report.verdict == "loose":
        return f"Your loss is at the optimum, but {loss} does not fix the geometry ({gap})."
    return f"Not there yet: {above} ({gap})."
