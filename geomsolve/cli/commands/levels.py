"""Is my loss value good?"""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.find_levels import FoundLevelsReport
from geomsolve.analyses.levels import LevelsReport, levels
from geomsolve.cli import find_levels
from geomsolve.cli.options import (
    Command,
    class_options,
    loss_options,
    output_options,
    solver_options,
    split_loss,
    stacked,
)
from geomsolve.cli.output import Output
from geomsolve.cli.render import holds_for, loss_phrase
from geomsolve.losses import Loss, find_loss
from geomsolve.questions.levels import Levels
from geomsolve.words import left, number, rounded

level_options = stacked(
    click.option("--classes", type=int, metavar="K", help="Number of classes, equally many samples of each a batch."),
    click.option(
        "--base-temperature", type=float, metavar="T", help="Loss times temperature over this (SupCon: 0.07)."
    ),
    click.option("--reduction", metavar="mean|mean-nonzero|sum", help="How anchors are reduced (default mean)."),
    click.option("--loss-value", metavar="L", help="Your loss, to be placed between the levels."),
    click.option(
        "--find",
        metavar="batch|temperature|base-temperature|bias|negatives",
        help="Which setting makes --loss-value total collapse, a random start or the optimum?",
    ),
    click.option("--dim", type=int, metavar="D", help="Embedding dimension of the random start (default 128)."),
)


@click.command(
    "levels",
    cls=Command,
    epilog="Example: geomsolve levels --batch 64 --views 2 --classes 6 --base-temperature 0.07 --loss-value 6.92",
)
@class_options
@level_options
@loss_options
@solver_options
@output_options
def command(output: Output, **flags: Any) -> int:
    """Is my loss value good?

    Prints what the loss is worth when all embeddings coincide (total collapse), for untrained embeddings (a random
    start) and at the best any embedding can do, with a proof, and says where your value lies.

    --classes alone means balanced batches. With --props, --counts, --labels or --dataset batches are random. Losses
    without labels (simclr, clip, mnrl, moco, or infonce, dcl, nt-xent and sigmoid without classes) take every sample
    for its own class. Batches are drawn without replacement where counts are known, as data loaders do; --replacement
    yes draws them with. An anchor without a positive counts as 0; --reduction mean-nonzero averages over the others, as
    pytorch-metric-learning does.

    --find tells at which batch size, temperature, base temperature, bias or number of negatives --loss-value is a
    level, all other settings as given; for a bias also the best one.

    A loss value is compared within the digits that it is written with: 3.47 may be 3.4736.
    """
    problem = Levels(**split_loss(flags))
    output.notify(problem)
    return output.deliver(levels(problem), show)


def show(report: LevelsReport | FoundLevelsReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, levels from high to low, batches, how sure."""
    if isinstance(report, FoundLevelsReport):
        find_levels.show(report, screen, quiet=quiet)
        return
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    screen.print(f"{setting(report)}\n")
    screen.print(table(report))
    for line in batches(report):
        screen.print(line)
    screen.print(proof(report))


def proof(report: LevelsReport) -> str:
    """How sure the optimum is."""
    if report.assumption:
        return (
            f"NOT PROVEN: {number(report.optimum, 7)} is the optimum if {report.assumption}. "
            f"Without that it may be lower; all that is certain is {number(report.lower_bound, 7)} or more."
        )
    if report.roughly:
        return (
            f"NOT PROVEN: {number(report.optimum, 7)} stands for the optimum; all that is certain is "
            f"{number(report.lower_bound, 7)} or more."
        )
    kept, others = holds_for(report.only_for or "")
    such = "no such embedding" if kept else "no embedding"
    bound = f"{such} goes below {number(report.lower_bound, 7)} ({left(report.gap, report.lower_bound)})"
    return f"{'Proven' if report.certified else 'NOT PROVEN'}{kept}: {bound}.{others}"


def of_whom(report: LevelsReport) -> str:
    """' of one encoder', or ' of this budget', where the optimum is about that alone, else nothing."""
    return f" of {report.only_for.partition(',')[0]}" if report.only_for else ""


def setting(report: LevelsReport) -> str:
    """What was asked, with everything that sets the scale."""
    problem = report.problem
    loss = dict(problem["loss"])
    if report.instances:
        loss.pop("sampling", None)  # all others are of other classes
    if report.n_embeddings is not None and loss.get("negatives") in ("inf", float("inf")):
        del loss["negatives"]  # they are what the batch holds
    parts = [loss_phrase(loss)]
    if report.n_embeddings is not None:
        parts.append(f"batch {problem['batch']:,}, {problem['views']} view{'s' if problem['views'] > 1 else ''}")
    parts.append("every sample its own class" if report.instances else f"{report.n_classes:,} classes")
    if problem.get("base_temperature"):
        parts.append(f"base temperature {problem['base_temperature']:g}")
    if report.replacement:
        parts.append(f"batches drawn {way(report.replacement)} replacement")
    nonzero = problem["reduction"] == "mean-nonzero"
    averaged = find_loss(problem["loss"]["name"]).averaged
    parts.append("mean over anchors with a positive" if nonzero else f"{problem['reduction']} over {averaged}")
    return ", ".join(parts) + "."


def way(replacement: str) -> str:
    """With or without, as a word."""
    return "with" if replacement == "yes" else "without"


def sentence(report: LevelsReport) -> str:
    """Where the loss value stands, or, without one, the range."""
    other = report.other_reduction
    if other is not None and other["reading"] is not None:
        how = {
            "optimum": "the optimum",
            "collapse": "total collapse",
            "random start": "what untrained embeddings give",
            "between": "between total collapse and the optimum",
        }[other["reading"]]
        over = "all anchors, one without a positive as 0" if other["reduction"] == "mean" else "anchors with a positive"
        return (
            f"{number(report.loss_value or 0.0)} is {how} if the loss is averaged over {over} (--reduction "
            f"{other['reduction']}); as asked here the levels are {rounded(report.optimum, 4)} to "
            f"{rounded(report.collapse, 4)}."
        )
    best, worst = rounded(report.optimum, 4), rounded(report.collapse, 4)
    if report.loss_value is None:
        least = (
            f"The best value, if {report.assumption}, is"
            if report.assumption
            else f"The best possible value{of_whom(report)} is"
        )
        least = "The best value is about" if report.roughly else least
        return f"{least} {best}; {worst} is total collapse, where {everything(report)} coincide."
    value = number(report.loss_value)
    if report.reading == "collapse":
        if abs(report.random_start - report.collapse) <= 1e-3 * abs(report.collapse):
            return f"{value} is no better than untrained embeddings, or than {everything(report)} coinciding."
        return f"{value} is total collapse, to the digits given: {everything(report)} coincide."
    if report.reading == "random start":
        return f"{value} is what untrained embeddings give: nothing has been learned yet."
    if report.reading == "optimum":
        if report.optimum_other_replacement is not None and report.replacement:
            low, high = sorted((report.optimum, report.optimum_other_replacement))
            if low < (report.loss_value or 0.0) < high:
                return f"{value} is the optimum, as far as drawing with or without replacement leaves it open."
        if report.assumption:
            return f"{value} is the optimum, if {report.assumption}."
        if report.roughly:
            return f"{value} is about the optimum, for which {best} stands."
        return f"{value} is the optimum, to the digits given: no embedding{of_whom(report)} does better."
    if report.reading == "one batch":
        return (
            f"{value} is below {best}, the least mean over random batches, but by no more than a single batch may be: "
            f"these differ by {number(report.batch_spread or 0.0, 2)} at the optimum. Average over more batches."
        )
    if report.reading == "below" and not report.certified and (report.loss_value or 0.0) >= report.lower_bound:
        if report.assumption:
            return f"{value} is below {best}, the best value if {report.assumption}; without that it may be reached."
        return f"{value} is below {best}, which stands for the optimum; whether it can be reached is not known."
    if report.reading == "below":
        bound = best if report.certified else rounded(report.lower_bound, 4)
        encoders = (report.only_for or "").startswith("one encoder")
        two = ", or on two encoders" if encoders else ", or with longer vectors" if report.only_for else ""
        return (
            f"{value} is below {bound}, which no embedding{of_whom(report)} can reach: your loss is computed with "
            f"another temperature, scale, batch or number of classes than stated here{two}."
        )
    if report.reading == "above":
        untrained = f"; untrained embeddings give {rounded(report.random_start, 4)}"
        return f"{value} is worse than total collapse, {worst}, where {everything(report)} coincide{untrained}."
    done = 100 * (1 - (report.position or 0.0))
    least = f"the best value if {report.assumption}" if report.assumption else f"the best possible{of_whom(report)}"
    return f"{value} has covered {done:.0f} % of the way from total collapse, {worst}, to {least}, {best}."


def everything(report: LevelsReport) -> str:
    """The embeddings of a batch, as a phrase."""
    return "all embeddings" if report.n_embeddings is None else f"all {report.n_embeddings:,} embeddings"


def table(report: LevelsReport) -> Table:
    """The levels from high to low, with the user's value among them."""
    balanced = report.optimum_random_batches not in (None, report.optimum)
    about = "about " if report.roughly else ""
    rows = [
        (
            report.random_start,
            "random start",
            f"untrained: {report.untrained} in {report.problem['dim']} dimensions",
        ),
        (report.collapse, "total collapse", f"{everything(report)} coincide"),
        (
            report.optimum,
            "optimum",
            (
                f"if {report.assumption}"
                if report.assumption
                else f"{about}the best any embedding{of_whom(report)} can do"
            )
            + (", balanced batches" if balanced else ""),
        ),
    ]
    if balanced and report.optimum_random_batches is not None:
        rows.append((report.optimum_random_batches, "optimum", "the same, batches drawn at random"))
    if report.loss_value is not None:
        rows.append((report.loss_value, "yours", ""))
    shown = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    shown.add_column("loss value", justify="right")
    shown.add_column("level")
    shown.add_column("")
    for value, level, meaning in sorted(rows, reverse=True):
        shown.add_row(number(value), level, meaning, style="bold" if level == "yours" else "")
    return shown


def batches(report: LevelsReport) -> list[str]:
    """What the make-up of random batches does to the value."""
    lines = []
    missing, lonely = report.missing_class_probability, report.no_positive_probability
    if missing:
        lines.append(
            f"A random batch lacks at least one of the {report.n_classes:,} classes with probability "
            f"{number(missing, 3)}; the optimum of random batches counts that in."
        )
    if report.optimum_other_replacement is not None and report.replacement:
        lines.append(
            f"Batches drawn {way('no' if report.replacement == 'yes' else 'yes')} replacement have the optimum "
            f"{number(report.optimum_other_replacement)}."
        )
    if report.batch_spread:
        lines.append(f"Single random batches differ by about {number(report.batch_spread, 2)} from their mean there.")
    other = report.other_reduction
    if other is not None:
        counted = "counts as 0 here" if other["reduction"] == "mean-nonzero" else "is left out here"
        lines.append(
            f"An anchor has no positive with probability {number(lonely, 3)}. It {counted}; with --reduction "
            f"{other['reduction']} random start, collapse and optimum are {number(other['random_start'])}, "
            f"{number(other['collapse'])} and {number(other['optimum'])}."
        )
    elif lonely > 1e-4:
        lines.append(f"An anchor has no positive with probability {number(lonely, 3)}. It counts as 0 here.")
    averaged = find_loss(report.problem["loss"]["name"]).averaged
    terms = "anchors with a positive" if averaged == Loss.averaged else averaged
    here = "" if report.optimum_random_batches in (None, report.optimum) else " of random batches"
    if report.expectation == "ratio" and report.drawn_mean is not None:
        lines.append(
            f"The optimum{here} is that of the expected sum over the expected number of {terms}; drawn "
            f"batches have the mean {number(report.drawn_mean['value'])} +- "
            f"{number(report.drawn_mean['standard_error'], 2)} at the same geometry."
        )
    elif report.expectation == "exact":
        lines.append(f"The optimum{here} is exact: all compositions of a batch are enumerated.")
    if report.remark:
        lines.append(report.remark)
    if report.optimum_many_samples is not None:
        lines.append(
            f"The optimum is that of {report.n_classes:,} samples, the fewest that there can be, and a bound for any "
            f"number; it rises to {number(report.optimum_many_samples)} with ever more. --batch N takes N."
        )
    if not report.instances and report.n_classes > report.problem["dim"] + 1:
        lines.append(
            f"{report.n_classes:,} classes do not fit a simplex in {report.problem['dim']} dimensions; there the best "
            "value lies above the optimum."
        )
    return lines
