"""Does my trained encoder have the predicted geometry?"""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.compare import compare
from geomsolve.analyses.compare_crossmodal import compare_crossmodal
from geomsolve.analyses.compare_crossmodal_report import CompareCrossmodalReport
from geomsolve.analyses.compare_report import CheckpointsReport, CompareReport, Comparison
from geomsolve.analyses.compare_verdict import AT_OPTIMUM
from geomsolve.cli import sides
from geomsolve.cli.advice import after_collapse
from geomsolve.cli.answers import setting, undetermined
from geomsolve.cli.options import (
    Command,
    either_loss_options,
    nonnegative_option,
    of_two_sides,
    output_options,
    solver_options,
    split_loss,
    two_sided,
)
from geomsolve.cli.output import Output
from geomsolve.cli.progress import reading
from geomsolve.cli.ranges import interval
from geomsolve.cli.render import cosine_phrase, holds_for
from geomsolve.errors import InputError
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.questions.base import keys
from geomsolve.questions.compare import Compare
from geomsolve.questions.compare_crossmodal import CompareCrossmodal
from geomsolve.words import counted, left, listing, number, rounded

MOST_PAIRS = 12
"""Rows of the table: the pairs of classes that differ most."""

MOST_CLASSES = 5
"""Rows of the table of classes that are off most."""

UNIT = 1e-3
"""Lengths that differ from 1 by less than this are not worth a remark."""

NOISELESS = 1e-6
"""Standard errors below this are not worth a number."""

TIGHT = 1e-3
"""Mean cosines within classes that differ from 1 by less than this change no prediction worth a remark."""


@click.command(
    "compare", cls=Command, epilog="Example: geomsolve compare embeddings.npy --labels labels.npy --temperature 0.1"
)
@click.argument("embeddings", metavar="EMBEDDINGS...", nargs=-1, required=True)
@click.option("--labels", metavar="LABELS", help="The class of each row: y.npy, y.txt, file.csv:column, cat,dog,...")
@click.option(
    "--texts",
    metavar="FILE",
    multiple=True,
    help="The text of each row, an image, as vectors too, or one a class (clip, siglip); once for each checkpoint.",
)
@either_loss_options
@click.option("--within", type=float, metavar="X", help="Largest difference of a cosine that matches (default 0.1).")
@click.option("--dim", type=int, metavar="D", help="Dimensions that the encoder can use (default: those of its rows).")
@nonnegative_option
@click.option("--classifier", metavar="FILE", help="Weights of the classifier, one row a class: NC3 is measured.")
@solver_options
@click.option("--full", is_flag=True, help="JSON holds the Gram matrices for any number of classes (else up to 64).")
@output_options
def command(output: Output, **flags: Any) -> int:
    """Does my trained encoder have the predicted geometry?

    EMBEDDINGS is a file of vectors, one row a sample: .npy, .npz (file.npz:name), .csv, .parquet or .pt. It is read
    in chunks, and nothing in it is unpickled. Of a table the columns of labels, index and texts are left out;
    file.csv:a,b chooses the coordinates. Several files are checkpoints with the same rows, in the order given.

    The prediction is for the proportions of the labels and the loss you trained with: for embeddings of the training
    set, after the projection head that the loss sees. The verdict: matches; loose (the loss is at the optimum, but does
    not fix these angles); not there yet; another geometry; dimension (the encoder has too few to hold the optimum).
    The loss value on your data needs torch; all else does not.

    With --texts, EMBEDDINGS are images and row i of both files is a pair: the modality gap, the alignment and the
    cosines within and across pairs are held against what --loss clip or siglip wants of so many pairs. With --labels
    too, images and texts of a class belong together: means of classes are compared, and one text a class will do.
    """
    flags = {name: value for name, value in flags.items() if name != "texts" or value}
    if of_two_sides(flags):
        return two_files(output, flags)
    if "labels" not in flags:
        raise InputError("give the class of each row by --labels, or the text of each image by --texts")
    try:
        problem = Compare(**split_loss(flags))
        output.notify(problem)
        with reading("embeddings", quiet=output.quiet) as tell:
            report = compare(problem, progress=tell)
    except InputError as error:  # EMBEDDINGS is no flag, and the message names the file
        raise InputError(error.message, field=error.field.replace("embeddings", "")) from None
    return output.deliver(report, show)


def two_files(output: Output, flags: dict[str, Any]) -> int:
    """Images and texts, row by row."""
    if "texts" not in flags:
        raise InputError("a loss of two sides compares images and texts; give the file of the texts", field="texts")
    try:
        problem = CompareCrossmodal(**two_sided(flags, keys(CompareCrossmodal)))
        output.notify(problem)
        with reading("embeddings", quiet=output.quiet) as tell:
            report = compare_crossmodal(problem, progress=tell)
    except InputError as error:
        raise InputError(error.message, field=error.field.replace("embeddings", "")) from None
    return output.deliver(report, show)


def show(report: CompareReport | CheckpointsReport | CompareCrossmodalReport, screen: Console, *, quiet: bool) -> None:
    """Print the comparison for a person: sentence, table, figures."""
    if isinstance(report, CompareCrossmodalReport):
        sides.show(report, screen, quiet=quiet)
        return
    if isinstance(report, CheckpointsReport):
        show_checkpoints(report, screen, quiet=quiet)
        return
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    predicted = report.prediction
    screen.print(setting(predicted.problem, predicted.orbits))
    screen.print()
    screen.print(pairs_table(report))
    screen.print("Cosines (and angles) between the directions of the class means, the most different first.\n")
    if len(report.names) > 2 and not report.free.open:
        screen.print(classes_table(report))
        screen.print("The classes that are farthest off: rms difference of a class's cosines.\n")
    for line in (what_was_read(report), *figures(report)):
        screen.print(line)
    advice = what_it_means(report)
    if advice:
        screen.print(f"\n{advice}")
    if report.remedy is not None:
        screen.print("" if advice else "\n", end="")
        after_collapse(report.remedy, screen)


def show_checkpoints(report: CheckpointsReport, screen: Console, *, quiet: bool) -> None:
    """The last checkpoint's sentence, and one line for each."""
    screen.print(f"Last of {counted(len(report.checkpoints), 'checkpoint')}: {sentence(report.last)}", style="bold")
    if quiet:
        return
    screen.print(setting(report.last.free.problem, report.last.free.orbits))
    screen.print()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("checkpoint")
    told = not report.last.free.open
    for title in (*(("largest", "rms") if told else ()), "within class", "above optimum"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("verdict")
    for each in report.checkpoints:
        rho = "" if each.within_cosine is None else f"{each.within_cosine:.4f}"
        excess = "" if each.excess is None else f"{each.excess:.2g}"
        errors = (f"{each.errors.largest:.3f}", f"{each.errors.rms:.3f}") if told else ()
        table.add_row(str(each.read["embeddings"]), *errors, rho, excess, each.verdict)
    screen.print(table)
    off = "Largest and rms difference of a cosine from the prediction, mean" if told else "Mean"
    screen.print(f"{off} cosine of two samples of a class, loss above the optimum in nats.")
    if missing := report.last.loss_on_data.missing:
        screen.print(f"Loss on your embeddings: not evaluated ({missing}).")
    screen.print(WHOSE)
    if report.last.remedy is not None:
        screen.print()
        after_collapse(report.last.remedy, screen)


WHOSE = "The prediction is for embeddings of the training set, after the projection head that the loss sees."


def figures(report: Comparison) -> list[str]:
    """What was measured, a line each."""
    found, errors = report.measured, report.errors
    low, high = report.lengths
    lengths = (
        "All had unit length."
        if max(1 - low, high - 1) < UNIT
        else (f"They were brought to unit length (it ran from {number(low, 3)} to {number(high, 3)}).")
    )
    lines = [f"{sum(report.counts):,} embeddings in {counted(report.columns, 'dimension')}. {lengths} {WHOSE}"]
    known = "exactly" if errors.noise_floor < NOISELESS else f"to {errors.noise_floor:.2g} (two standard errors)"
    whence = " from those of one of many geometries" if report.free.open else ""
    lines.append(
        f"Difference of cosines{whence}: largest {errors.largest:.3g}, rms {errors.rms:.3g}, weighted by frequency "
        f"{errors.weighted:.3g}. With so many samples a class the measured cosines are known {known}."
    )
    lines.append(
        f"Within-class scatter {found.within_class:.3g}: the mean squared distance to the class mean, 0 when every "
        f"class is one point. NC1, its ratio to the scatter between classes: {found.nc1:.3g}."
    )
    lines += scattered(report)
    lines.append(
        f"NC2, of class means centred at their mean: lengths vary by {found.equinorm:.2g} of their mean, cosines by "
        f"{found.equiangular:.2g} (standard deviations; both 0 at a regular simplex)."
    )
    if report.duality is not None:
        plain, centred = report.duality.plain, report.duality.centred
        lines.append(
            f"NC3, cosine of a classifier's row with its class mean: {number(plain.mean(), 3)} on average, at least "
            f"{number(plain.min(), 3)}; both centred at their mean: {number(centred.mean(), 3)}, at least "
            f"{number(centred.min(), 3)}."
        )
    simplex = number(simplex_cosine(len(report.names)), 4)
    lines.append(f"Farthest cosine from the regular simplex's {simplex}: off by {found.simplex_distance:.3g}.")
    if report.collapsed:
        merged = "; ".join(listing(group) for group in report.collapsed)
        lines.append(f"Classes whose means coincide: {merged}.")
    return [*lines, loss_line(report)]


def scattered(report: Comparison) -> list[str]:
    """The mean cosine within classes, and the prediction that allows for it."""
    if report.within_cosine is None:
        return []
    said = f"Two samples of a class have the mean cosine {rounded(report.within_cosine, 4)}"
    if report.heated is None or 1 - report.within_cosine < TIGHT:
        return [f"{said}."]
    return [
        f"{said}; class means that scatter so are wanted where temperature {number(report.heated.temperature, 4)} has "
        f"them: largest difference from that {report.heated.max_gram_error:.2g}."
    ]


def loss_line(report: Comparison) -> str:
    """The loss on the data and the optimum."""
    predicted, loss = report.prediction, report.loss_on_data
    proof = f"proven{holds_for(predicted.assumption)[0]}" if predicted.certified else "NOT PROVEN"
    optimum = f"the optimum is {rounded(predicted.value, 6)} nats ({proof}, {left(predicted.gap, predicted.value)})"
    if predicted.limited:
        optimum = (
            f"the best found in {counted(report.dim, 'dimension')} is {rounded(predicted.value, 6)} nats, the optimum "
            f"in any dimension {rounded(report.free.value, 6)}"
        )
    angles = ""
    if report.angle_excess is not None and not predicted.limited:
        above = max(0.0, report.angle_excess)
        angles = f" At the measured angles, with every class one point, it would be {above:.1e} nats above that."
    if loss.value is None:
        return f"Loss on your embeddings: not evaluated ({loss.missing}); {optimum}.{angles}"
    error = f" ± {loss.standard_error:.1e}" if loss.standard_error else ""
    part = "" if loss.samples == sum(report.counts) else f", on {loss.samples:,} of the samples"
    return f"Loss on your embeddings: {rounded(loss.value, 6)}{error} nats{part}; {optimum}.{angles}"


def what_was_read(report: Comparison) -> str:
    """Which columns of the file are the coordinates, and which are not."""
    read = report.read
    said = f"Read {counted(sum(report.counts), 'row')} of {read['embeddings']}"
    if read["columns"]:
        said += f": {'column' if len(read['columns']) == 1 else 'columns'} {listing(read['columns'])}"
    if read["left_out"]:
        said += "; left out " + listing([f"{left['column']} ({left['why']})" for left in read["left_out"]])
    return f"{said}. Labels: {read['labels']}."


def sentence(report: Comparison) -> str:
    """The verdict in one sentence."""
    if not report.free.resolved:
        return sentence_on_loss(report)
    loss = report.prediction.subject
    worst, open_ = f"largest difference of a cosine {report.max_gram_error:.2g}", report.free.open
    if report.verdict == "matches" and report.max_gram_error <= report.judgement.allowed:
        noisy = report.max_gram_error > report.within
        few = ", no more than class means of so few samples are off by chance" if noisy else ""
        return f"Your encoder matches: its class means are arranged as {loss} wants ({worst}{few})."
    if report.verdict == "matches":
        return f"Your encoder matches: its loss is at the optimum, which {loss} attains at many geometries."
    if report.verdict == "loose":
        return (
            f"Your loss is at the optimum, but {loss} does not fix these angles ({worst}; it allows "
            f"{report.judgement.allowed:.2g} at your loss)."
        )
    if report.verdict == "dimension":
        dims = counted(report.dim, "dimension")
        return (
            f"{dims} cannot hold it: what {loss} wants needs {report.free.rank:,}, and your encoder is as near as can "
            f"be said ({what_dimension_costs(report)})."
        )
    if report.verdict == "another geometry":
        kind = report.structure.kind
        named = kind if "collapse" in kind else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
        found = "some of your class means coincide" if kind == "minority collapse" else f"your class means form {named}"
        return f"Another geometry: {found}, which is not what {loss} wants here{'' if open_ else f' ({worst})'}."
    said = [] if open_ else [worst]
    if report.excess is not None:
        said.append(f"its loss {rounded(report.excess, 3)} nats above the optimum")
    return f"Not there yet: your encoder is not where {loss} wants it" + (f" ({', '.join(said)})." if said else ".")


def sentence_on_loss(report: Comparison) -> str:
    """The verdict in one sentence, where no angles are predicted and the loss alone was judged."""
    opened = undetermined(report.free.problem)
    known = report.loss_on_data.value is not None
    excess = report.excess if known else report.angle_excess
    whose = "your loss is" if known else "the loss at your class means is"
    if excess is None:
        return f"Not there yet, as far as is known: your loss was not evaluated, and {opened}."
    if report.verdict == "loose":
        return f"{whose.capitalize()} at the optimum; nothing more can be compared, as {opened}."
    above = f"{whose} {rounded(excess, 3)} nats above the optimum"
    if report.verdict == "another geometry":
        (pair,) = report.judgement.pairs
        names = " and ".join(pair.classes)
        return f"Another geometry: your class means {names} coincide, which no optimum allows, and {above}."
    return f"Not there yet: {above}; {opened}."


def what_dimension_costs(report: Comparison) -> str:
    """How far off it is, and how far off it must be."""
    if report.prediction.limited:
        return f"rms difference of a cosine from the best found there {report.errors.rms:.2g}"
    return (
        f"rms difference of a cosine {report.errors.rms:.2g}, and no embedding there is below "
        f"{report.judgement.least_rms:.2g}"
    )


def what_it_means(report: Comparison) -> str:
    """The ranges that were asked for and what to do, or what is not known."""
    lines = []
    judged = report.judgement
    resolved = report.free.resolved
    if judged.pairs:
        told = "; ".join(
            f"classes {' and '.join(pair.classes)} {interval(pair.range)}"
            + (f" (optimum {pair.cosine:+z.3f})" if resolved else "")
            for pair in judged.pairs
        )
        kept = holds_for(report.free.assumption)[0]
        assert judged.slack is not None
        lines.append(f"Up to {judged.slack:.2g} nats above the optimum the cosine may be, proven{kept}: {told}.")
    if report.unsigned and not report.free.nonnegative and report.free.gram.min() < -report.within:
        lines.append(
            "No coordinate of your embeddings is negative, as after a ReLU: no two of their classes are more than 90° "
            "apart. --nonnegative compares with the best that such features can do."
        )
    if report.verdict == "loose":
        lines.append(
            "The loss gains next to nothing from moving the angles, so training hardly will. A higher temperature "
            "fixes more (geomsolve imbalance --slack says how much)."
        )
    elif report.verdict == "not there yet" and judged.least_rms > 0:
        lines.append(
            f"The optimum needs {report.free.rank:,} dimensions, the encoder has {report.dim:,}; but it is farther off "
            "than that explains."
        )
    if not resolved:
        if report.loss_on_data.value is None:
            lines.append("The loss on your embeddings is not known; samples that scatter in their class raise it.")
        return " ".join(lines)
    if report.verdict not in ("not there yet", "another geometry"):
        return " ".join(lines)
    if report.angle_excess is not None and report.angle_excess <= AT_OPTIMUM:
        lines.append("At these angles the loss would be at its optimum, were every class one point.")
    if report.loss_on_data.value is None:
        lines.append(
            "How far the loss is above its optimum is not known, so this is judged by cosines alone: where the loss is "
            "at its optimum, it may not fix these angles."
        )
    return " ".join(lines)


def classes_table(report: Comparison) -> Table:
    """The classes whose cosines are off most."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("class")
    for title in ("samples", "off by", "scatter"):
        table.add_column(title, justify="right", no_wrap=True)
    off = report.errors.of_class
    for a in np.argsort(-off, kind="stable")[:MOST_CLASSES]:
        table.add_row(report.names[a], f"{report.counts[a]:,}", f"{off[a]:.3f}", f"{report.measured.scatter[a]:.3g}")
    return table


def pairs_table(report: Comparison) -> Table:
    """Predicted and measured cosines of the pairs of classes that differ most."""
    predicted, measured = report.prediction.gram, report.measured.gram
    first, second = np.triu_indices(len(report.names), 1)
    difference = np.abs(predicted - measured)[first, second]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for title in ("one of many" if report.free.open else "predicted", "measured"):
        table.add_column(title, justify="right", no_wrap=True)
    for place in np.argsort(-difference, kind="stable")[:MOST_PAIRS]:
        a, b = int(first[place]), int(second[place])
        name = f"classes {report.names[a]} and {report.names[b]}"
        table.add_row(name, cosine_phrase(float(predicted[a, b])), cosine_phrase(float(measured[a, b])))
    return table
