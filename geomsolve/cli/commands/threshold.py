"""Where do the smaller classes collapse into one point?"""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.determined import FIRST, HIGHEST, LOWEST
from geomsolve.analyses.threshold import threshold
from geomsolve.analyses.threshold_crossmodal import threshold_crossmodal
from geomsolve.analyses.threshold_crossmodal_report import ThresholdCrossmodalReport
from geomsolve.analyses.threshold_report import ThresholdReport
from geomsolve.cli import classifiers, states
from geomsolve.cli.advice import after_collapse
from geomsolve.cli.answers import proof_files
from geomsolve.cli.options import (
    Command,
    class_options,
    either_loss_options,
    no_nonnegative_option,
    of_two_sides,
    output_options,
    pair_options,
    proof_option,
    split_loss,
    two_sided,
)
from geomsolve.cli.output import Output
from geomsolve.cli.render import holds_for, loss_phrase, mean_over_batches
from geomsolve.errors import InputError
from geomsolve.questions.base import keys
from geomsolve.questions.threshold import Threshold
from geomsolve.questions.threshold_crossmodal import ThresholdCrossmodal
from geomsolve.words import digits_asked, listing, number

NOUNS = {
    "temperature": "temperature",
    "majority": "majority share",
    "batch": "batch size",
    "negatives": "negatives",
    "imbalance": "imbalance ratio",
    "regularisation": "weight decay",
}

PATHS = (*NOUNS, "bias", "noise", "classes")


EXACT = 10
"""Digits of a threshold that are sure without a proof in more precision."""

SAME = 1e-6
"""Relative distance within which a merger of all smaller classes is full collapse, whose place is known better."""


@click.command("threshold", cls=Command, epilog="Example: geomsolve threshold --props 0.9,0.06,0.04 --over temperature")
@class_options
@click.option(
    "--over",
    metavar="|".join(PATHS),
    help="What varies (default temperature); the rest stays as given.",
)
@click.option(
    "--slack",
    type=float,
    metavar="EPS",
    help="Over temperature: also from where on every cosine is settled at a loss EPS nats above the optimum.",
)
@click.option("--width", type=float, metavar="W", help="With --slack: the width that counts as settled (default 0.1).")
@pair_options
@either_loss_options
@no_nonnegative_option
@proof_option
@output_options
def command(output: Output, proof: str | None = None, **flags: Any) -> int:
    """Where do the smaller classes collapse into one point?

    Under imbalance a contrastive loss may put all classes but the largest at one point, where no classifier tells
    them apart. This finds the temperature, the share of the largest class, the batch size or the number of
    negatives at which that begins, and which classes merge on the way. With --loss cross-entropy it finds the weight
    decay (--over regularisation) or the ratio of class sizes (--over imbalance) at which alike classes merge.

    With --loss clip, siglip or cosine-softmax it finds where the two sides, images and texts, come to coincide, move
    apart or collapse: over temperature, bias, noise or the number of classes (--over classes, pairs of a batch).
    """
    if of_two_sides(flags):
        if proof is not None:
            raise InputError("thresholds of two sides are not written down as proofs; leave it out", field="proof")
        sides = ThresholdCrossmodal(**two_sided(flags, keys(ThresholdCrossmodal)))
        output.notify(sides)
        return output.deliver(threshold_crossmodal(sides), show)
    problem = Threshold(**split_loss(flags))
    output.notify(problem)
    report = threshold(problem)
    files = proof_files(proof, report, problem, output.digits)
    if output.digits is None or output.digits <= EXACT or problem.over in ("batch", "negatives"):
        return output.deliver(report, show, files=files)
    enclosed = enclosure(report, problem, output.digits)

    def closely(report: ThresholdReport, screen: Console, *, quiet: bool) -> None:
        with digits_asked(EXACT):
            show(report, screen, quiet=quiet)
        screen.print(enclosed)

    return output.deliver(report, closely, files=files)


def enclosure(report: ThresholdReport, problem: Threshold, digits: int) -> str:
    """The ends of an interval that holds the threshold, proven to so many digits, in one sentence."""
    from geomsolve.analyses.proofs import of_threshold

    try:
        (claim,) = of_threshold(report, problem, digits)["claims"]
    except InputError as error:
        return f"More than {EXACT} digits are not proven here: {error.message}."
    return f"Proven to {digits} digits: it lies between {claim['low']} and {claim['high']}."


def show(report: ThresholdReport | ThresholdCrossmodalReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, stages of the path, how sure, where the problem as given stands."""
    if isinstance(report, ThresholdCrossmodalReport):
        states.show(report, screen, quiet=quiet)
        return
    if report.classifiers:
        classifiers.show_threshold(report, screen, quiet=quiet)
        return
    screen.print(sentence(report), style="bold")
    if report.determined is not None:
        screen.print(settled(report.determined), style="bold")
    if quiet:
        return
    shares = report.proportions
    classes = ", ".join(number(p, 4) for p in shares) if len(shares) <= 8 else f"{len(shares):,} classes"
    loss = {key: value for key, value in report.problem["loss"].items() if key != report.over}
    screen.print(f"{loss_phrase(loss)}, proportions {classes}.\n")
    if report.path is not None and (len(report.path) > 1 or report.path[0]["groups"]):
        screen.print(stages(report))
    if len(report.changes) > 1:
        several = listing([shown(report, change["value"], EXACT) for change in report.changes])
        screen.print(
            f"Full collapse changes more than once: at {several}. The sentence names the one nearest to the problem as "
            "given."
        )
    if sure := how_sure(report):
        screen.print(sure)
    if report.expectation and (mean := mean_over_batches({report.expectation}, report.problem["loss"]["name"])):
        screen.print(mean)
    if report.determined is not None:
        screen.print(
            "That a cosine is settled is proven at the temperatures looked at; where it begins and ends was searched "
            "for in steps, as widths are not monotone."
        )
    if place := whereabouts(report):
        screen.print(f"\n{place}")
    if report.remedy is not None:
        after_collapse(report.remedy, screen)


def shown(report: ThresholdReport, value: Any, digits: int = 6) -> str:
    """A value on the path as text."""
    if isinstance(value, int):
        return f"{value:,}"
    return "inf" if value in (float("inf"), "inf") else number(value, digits)


def sentence(report: ThresholdReport) -> str:
    """The answer in one sentence."""
    name, noun = report.problem["loss"]["name"], NOUNS[report.over]
    if report.threshold is None and report.collapsed:
        return f"No change was found: {report.reason}."
    if report.threshold is None:
        partial = ""
        if report.merging:
            first = f"classes {listing(report.merging[0])} share a point"
            start = next(stage["from"] for stage in report.path or [] if report.merging[0] in stage["groups"])
            partial = f" But {first} {'from the start' if start is None else f'from {noun} {shown(report, start)} on'}."
        found = "was found" if report.possible else "can occur"
        return f"No full collapse {found}: {report.reason}.{partial}"
    value = shown(report, report.threshold["value"])
    smaller = len(report.names) - 1
    everyone = "both" if smaller == 2 else f"all {smaller:,}"
    rest = f"{name} puts {everyone} smaller classes at one point, opposite the largest"
    if isinstance(report.threshold["value"], int):
        if report.collapsed_above:
            return f"From {value} {_unit(report)} on, {rest}."
        return f"With fewer than {value} {_unit(report)}, {rest}; from {value} on it does not."
    if report.threshold["value"] == float("inf"):
        side = "Only in the limit of many" if report.collapsed_above else "Except in the limit of many"
        return f"{side} {_unit(report)}, {rest}."
    return f"{'Above' if report.collapsed_above else 'Below'} {noun} {value}, {rest}."


def _unit(report: ThresholdReport) -> str:
    return "samples a batch" if report.over == "batch" else "negatives"


def stages(report: ThresholdReport) -> Table:
    """Which classes share a point on which stretch of the path."""
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column(f"from {NOUNS[report.over]}", justify="right")
    table.add_column("classes that share a point")
    full = [change["value"] for change in report.changes]
    for stage in report.path or []:
        begins = stage["from"]
        near = [value for value in full if begins is not None and abs(value - begins) <= SAME * value]
        start = "(start)" if begins is None else shown(report, near[0], EXACT) if near else shown(report, begins)
        groups = "; ".join(listing(group, 12) for group in stage["groups"])
        table.add_row(start, groups or "none found")
    return table


def how_sure(report: ThresholdReport) -> str:
    """Where the figures come from."""
    if report.threshold is None and not report.merging:
        return ""
    if report.over in ("batch", "negatives"):
        exact = "Every whole number up to 256 is decided, and beyond that the change is bracketed"
    else:
        exact = "Full collapse is located to ten digits"
    proof = (
        ""
        if report.threshold is None
        else (
            f"{exact}: on one side it is proven that no geometry is better than the collapse, on the other that "
            "there is a better one (the sign of an eigenvalue tells)."
        )
    )
    if report.path is not None:
        proof += (
            " Which classes share a point in between was suggested by solving and decided in the same way, to about "
            "six digits; what begins and ends between two places looked at is not seen."
        )
    kept, others = holds_for(report.assumption or "")
    proof = proof.strip()
    return f"{proof} All this is{kept}.{others}" if kept else proof


def settled(found: dict[str, Any]) -> str:
    """From which temperature on the loss settles every cosine, in one sentence."""
    within, width = f"Within {number(found['slack'], 3)} nats of the optimum", number(found["width"], 3)
    pair = f"classes {' and '.join(found['pair'])}"
    every = "every cosine" if found["complete"] else "every cosine asked about"
    if found["value"] is None:
        return (
            f"{within} no temperature from {number(FIRST)} to {number(HIGHEST)} was found at which {every} is "
            f"settled to {width}: that of {pair} varies by {found['widest']:.2g} even at {number(found['at'], 3)}."
        )
    end = "" if found["until"] is None else f" to {number(found['until'], 4)}"
    start = f"from temperature {number(found['value'], 4)}{end or ' on'}"
    last = "" if found["value"] <= LOWEST else f"; the last to settle is that of {pair}"
    return f"{within} {every} is settled to {width} {start}{last}."


def whereabouts(report: ThresholdReport) -> str:
    """Where the problem as given stands, as a sentence."""
    if report.threshold is None or report.collapsed is None:
        return ""
    state = "collapsed" if report.collapsed else "not collapsed"
    whose = "Yours" if report.given else "The default"
    if report.current == float("inf"):
        return f"{whose}, the limit of many {'samples' if report.over == 'batch' else 'negatives'}, is {state}."
    return f"{whose}, {NOUNS[report.over]} {shown(report, report.current)}, is {state}."
