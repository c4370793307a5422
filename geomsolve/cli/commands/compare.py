"""Does my trained encoder have the predicted geometry?"""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.compare import UNIT, CompareReport, compare
from geomsolve.cli.answers import setting
from geomsolve.cli.options import Command, loss_options, output_options, solver_options, split_loss
from geomsolve.cli.output import Output, refuse_overwriting
from geomsolve.cli.progress import reading
from geomsolve.cli.render import cosine_phrase
from geomsolve.errors import InputError
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.questions.compare import Compare
from geomsolve.words import counted, listing, number, rounded

MOST_PAIRS = 12
"""Rows of the table: the pairs of classes that differ most."""


@click.command(
    "compare", cls=Command, epilog="Example: geomsolve compare embeddings.npy --labels labels.npy --temperature 0.1"
)
@click.argument("embeddings", metavar="EMBEDDINGS")
@click.option("--labels", required=True, metavar="FILE", help="The class of each row: npy, txt, file.csv:column, ...")
@loss_options
@click.option("--within", type=float, metavar="X", help="Largest difference of a cosine that matches (default 0.1).")
@solver_options
@click.option("--full", is_flag=True, help="JSON holds the Gram matrices for any number of classes (else up to 64).")
@output_options
def command(output: Output, **flags: Any) -> int:
    """Does my trained encoder have the predicted geometry?

    EMBEDDINGS is a file of vectors, one row a sample: .npy, .npz (file.npz:name), .csv, .parquet or .pt. It is read
    in chunks, and nothing in it is unpickled. Of a table the columns of labels, index and texts are left out;
    file.csv:a,b chooses the coordinates. The prediction is for the proportions of the labels and the loss you
    trained with. The loss value on your data needs torch; all else does not.
    """
    try:
        problem = Compare(**split_loss(flags))
        refuse_overwriting(output.out, (problem.embeddings.source.path, problem.labels.path), field="out")
        output.notify(problem)
        with reading("embeddings", quiet=output.quiet) as tell:
            report = compare(problem, progress=tell)
    except InputError as error:  # EMBEDDINGS is no flag, and the message names the file
        raise InputError(error.message, field=error.field.replace("embeddings", "")) from None
    return output.deliver(report, show)


def show(report: CompareReport, screen: Console, *, quiet: bool) -> None:
    """Print the comparison for a person: sentence, table, figures."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    screen.print(setting(report.prediction))
    screen.print()
    screen.print(pairs_table(report))
    screen.print("Cosines (and angles) between the directions of the class means, the most different first.\n")
    found, predicted = report.measured, report.prediction
    low, high = report.lengths
    lengths = (
        "All had unit length."
        if max(1 - low, high - 1) < UNIT
        else (f"They were brought to unit length (it ran from {number(low, 3)} to {number(high, 3)}).")
    )
    screen.print(what_was_read(report))
    screen.print(f"{sum(report.counts):,} embeddings in {counted(report.dim, 'dimension')}. {lengths}")
    screen.print(
        f"Within-class scatter {found.within_class:.3g}: the mean squared distance to the class mean, 0 when every "
        f"class is one point. NC1, its ratio to the scatter between classes: {found.nc1:.3g}."
    )
    simplex = number(simplex_cosine(len(report.names)), 4)
    screen.print(f"Farthest cosine from the regular simplex's {simplex}: off by {found.simplex_distance:.3g}.")
    if report.collapsed:
        merged = "; ".join(listing(group) for group in report.collapsed)
        screen.print(f"Classes whose means coincide: {merged}.")
    loss = report.loss_on_data
    proof = "proven" if predicted.certified else "NOT PROVEN"
    optimum = f"the optimum is {rounded(predicted.value, 6)} nats ({proof}, gap {predicted.gap:.1e})"
    if loss.value is None:
        screen.print(f"Loss on your embeddings: not evaluated ({loss.missing}); {optimum}.")
        return
    error = f" ± {loss.standard_error:.1e}" if loss.standard_error else ""
    part = "" if loss.samples == sum(report.counts) else f", on {loss.samples:,} of the samples"
    screen.print(f"Loss on your embeddings: {rounded(loss.value, 6)}{error} nats{part}; {optimum}.")


def what_was_read(report: CompareReport) -> str:
    """Which columns of the file are the coordinates, and which are not."""
    read = report.read
    said = f"Read {counted(sum(report.counts), 'row')} of {read['embeddings']}"
    if read["columns"]:
        said += f": {'column' if len(read['columns']) == 1 else 'columns'} {listing(read['columns'])}"
    if read["left_out"]:
        said += "; left out " + listing([f"{left['column']} ({left['why']})" for left in read["left_out"]])
    return f"{said}. Labels: {read['labels']}."


def sentence(report: CompareReport) -> str:
    """The verdict in one sentence."""
    loss = report.prediction.problem["loss"]["name"]
    worst = f"largest difference of a cosine {report.max_gram_error:.2g}"
    if report.verdict == "matches" and report.max_gram_error <= report.problem["within"]:
        return f"Your encoder matches: its class means are arranged as {loss} wants ({worst})."
    if report.verdict == "matches":
        return f"Your encoder matches: its loss is at the optimum, which {loss} attains at many geometries."
    if report.verdict == "another geometry":
        kind = report.structure.kind
        named = kind if "collapse" in kind else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
        found = "some of your class means coincide" if kind == "minority collapse" else f"your class means form {named}"
        return f"Another geometry: {found}, which is not what {loss} wants here ({worst})."
    above = "" if report.excess is None else f", its loss {report.excess:.3g} nats above the optimum"
    return f"Still converging: your encoder is not yet where {loss} wants it ({worst}){above}."


def pairs_table(report: CompareReport) -> Table:
    """Predicted and measured cosines of the pairs of classes that differ most."""
    predicted, measured = report.prediction.gram, report.measured.gram
    first, second = np.triu_indices(len(report.names), 1)
    difference = np.abs(predicted - measured)[first, second]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for title in ("predicted", "measured"):
        table.add_column(title, justify="right", no_wrap=True)
    for place in np.argsort(-difference, kind="stable")[:MOST_PAIRS]:
        a, b = int(first[place]), int(second[place])
        name = f"classes {report.names[a]} and {report.names[b]}"
        table.add_row(name, cosine_phrase(float(predicted[a, b])), cosine_phrase(float(measured[a, b])))
    return table
