"""Does gradient descent reach the predicted geometry?"""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.check import VALUE_TOLERANCE, check
from geomsolve.analyses.check_crossmodal import check_crossmodal
from geomsolve.analyses.check_report import CheckReport, Loosest
from geomsolve.analyses.prediction import Prediction
from geomsolve.analyses.ranges import SETTLED
from geomsolve.cli.answers import setting, undetermined
from geomsolve.cli.label_options import weighting_options
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
from geomsolve.cli.output import Output
from geomsolve.cli.progress import training
from geomsolve.cli.ranges import interval
from geomsolve.cli.render import cosine_phrase, holds_for, loss_phrase
from geomsolve.errors import InputError
from geomsolve.questions.base import keys
from geomsolve.questions.check import Check, CheckWeighting
from geomsolve.questions.check_crossmodal import CheckCrossmodal
from geomsolve.words import counted, number

MOST_PAIRS = 15
"""Rows of the table: pairs of classes (or of groups of equal classes) with the largest and the smallest cosines."""

OPEN = 1.0
"""Width of the range of a cosine from which on the loss says next to nothing about it."""

check_options = stacked(
    click.option("--device", metavar="auto|cpu|cuda", help="Where to train (default auto: a GPU if there is one)."),
    click.option("--steps", type=int, metavar="N", help="Most training steps (default 20,000)."),
    click.option("--samples", type=int, metavar="N", help="Samples altogether (default 64, or 4 a class)."),
    click.option("--dim", type=int, metavar="D", help="Dimensions of the embedding (default: one a class)."),
    click.option("--optimizer", metavar="adam|sgd|lbfgs", help="How to descend (default adam)."),
    click.option("--implementation", metavar="own|pml", help="Whose batch loss: own, or pytorch-metric-learning's."),
    click.option(
        "--synthetic",
        metavar="synco[:1,..,6]",
        help="Add SynCo's synthetic negatives, all six kinds or some; not certified. [infonce, dcl]",
    ),
)


def weighting_too(function: Any) -> Any:
    """Add the options of a weighting that the command does not have yet; none of them is required."""
    bare: Any = weighting_options(lambda: None)
    taken = {option.name for option in function.__click_params__}
    new = [option for option in bare.__click_params__ if option.name not in taken]
    for option in new:
        option.required = False
    function.__click_params__[:0] = new
    return function


@click.command("check", cls=Command, epilog="Example: geomsolve check --props 0.5,0.3,0.2 --temperature 0.5")
@weighting_too
@class_options
@pair_options
@either_loss_options
@nonnegative_option
@check_options
@solver_options
@click.option("--full", is_flag=True, help="JSON holds the Gram matrices for any number of classes (else up to 64).")
@output_options
def command(output: Output, **flags: Any) -> int:
    """Does gradient descent reach the predicted geometry?

    Trains free features, several for each class, on the actual batch loss, and compares where they end with the
    certified prediction. A loss below the certified bound would refute the prediction and is reported as a
    contradiction. With --loss clip, siglip or cosine-softmax every image and every text has a vector of its own; clip
    with --batch is trained on random batches.
    Needs torch: pip install 'geomsolve[torch]'.
    """
    problem = question(flags)
    output.notify(problem)
    with training(problem.training.steps, quiet=output.quiet) as tell:
        if isinstance(problem, CheckCrossmodal):
            report = check_crossmodal(problem, progress=tell)
        else:
            report = check(problem, progress=tell)
    return output.deliver(report, show)


def question(flags: dict[str, Any]) -> Check | CheckWeighting | CheckCrossmodal:
    """The question that the flags ask: about a weighting or a loss of two sides if one is named, else about a loss."""
    if of_two_sides(flags):
        return CheckCrossmodal(**two_sided(flags, keys(CheckCrossmodal)))
    weighted = "weighting" in flags
    loss = split_loss(flags)
    known = set(keys(CheckWeighting)) if weighted else {*keys(Check), *loss["loss"]}
    for name in flags:
        if name not in known:
            other = "a loss" if weighted else "a weighting: name one with --weighting"
            raise InputError(f"this belongs to {other}", field=name)
    return CheckWeighting(**flags) if weighted else Check(**loss)


def show(report: CheckReport, screen: Console, *, quiet: bool) -> None:
    """Print the verdict for a person: sentence, table, figures, what to do."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    screen.print(asked(report.prediction))
    screen.print()
    screen.print(pairs_table(report))
    screen.print(f"{caption(report)}\n")
    found, predicted = report.descent, report.prediction
    sampled = f" ± {found.standard_error:.1e} (sampled)" if found.standard_error else ""
    what, unit = ("Half the squared lengths", ", with margins of 1") if predicted.norm else ("Loss", " nats")
    loss = f"{what} reached: {number(found.value, 9)}{sampled}{unit}"
    if report.companion:
        screen.print(f"{loss}, which is not comparable with the plain loss's {number(predicted.value, 9)}.")
    else:
        kept = holds_for(predicted.assumption)[0]
        proof = f"{'proven' if predicted.certified else 'NOT PROVEN'}{kept}"
        bounds = f"predicted {number(predicted.value, 9)}; no {vectors(report)} go below "
        bounds += number(predicted.lower_bound, 9)
        screen.print(f"{loss}; {bounds} ({proof}).")
    if not predicted.samples and not predicted.sides:
        screen.print(f"Within-class scatter (0: every class is one point): {found.within_class:.1e}.")
    ended = "converged" if found.converged else "had not converged"
    screen.print(
        f"{found.samples:,} free {vectors(report)} in {counted(found.dim, 'dimension')}; {found.optimizer} on "
        f"{found.device} {ended} after {counted(found.steps, 'step')}, {found.seconds:.2g} s."
    )
    if report.loosest is not None:
        screen.print(for_a_network(report.loosest))
    advice = what_to_do(report)
    if advice:
        screen.print(f"\n{advice}")


def how(report: CheckReport) -> str:
    """What every free vector stands for."""
    if not report.prediction.sides:
        return "on its samples"
    (one, _), (two, _) = report.prediction.sides
    return f"with a free vector for every {one} and every {two}"


def vectors(report: CheckReport) -> str:
    """What is trained."""
    return "vectors" if report.prediction.sides else "features"


def asked(predicted: Prediction) -> str:
    """The loss, and the classes, samples or pairs."""
    if not predicted.sides:
        return setting(predicted.problem, predicted.classes or predicted.orbits)
    (one, n), (two, m) = predicted.sides
    problem = predicted.problem
    noise = problem.get("noise")
    noisy = f", {number(100 * noise, 3)}% of the pairs with a random {two}" if noise else ""
    if problem.get("pairs") is None and predicted.classes is not None:
        return f"{setting(problem, predicted.classes).removesuffix('.')}{noisy}."
    return f"{loss_phrase(problem['loss'])}, {counted(n, one)} and {counted(m, two)} with the weights given."


def for_a_network(loosest: Loosest) -> str:
    """What the check says about a network, whose loss stays a little above the optimum."""
    pair = loosest.pair
    names = " and ".join(pair.classes)
    width = pair.range.width
    at = (
        f"{number(loosest.slack, 2)} nats above the optimum the cosine of classes {names} may be {interval(pair.range)}"
    )
    if width >= OPEN:
        held = "Free features in double precision are no evidence for a network, which stays a little above the optimum"
    else:
        held = f"A network can be held to this{'' if width <= SETTLED else ' only so far'}"
    return f"{held}: {at}, a range of {width:.2g}."


def sentence(report: CheckReport) -> str:
    """The verdict in one sentence."""
    found, predicted = report.descent, report.prediction
    loss = predicted.subject
    error = f"largest difference of a cosine {report.max_gram_error:.2g}"
    if report.verdict == "moved":
        return (
            f"Not certified: with {report.companion}, descent ends where cosines differ by up to "
            f"{report.max_gram_error:.2g} from the optimum of plain {loss}."
        )
    if report.verdict == "agrees" and not predicted.resolved:
        return f"Descent agrees: {loss} reaches the predicted loss; {undetermined(predicted.problem)}."
    if report.verdict == "agrees" and predicted.unique is True and report.open:
        return (
            f"Descent agrees: {loss} reaches the predicted loss to single precision, which leaves the angles open "
            f"({error})."
        )
    if report.verdict == "agrees" and predicted.unique is True:
        return f"Descent agrees: trained {how(report)}, {loss} reaches the predicted geometry ({error})."
    if report.verdict == "agrees" and predicted.unique is None:
        return f"Descent agrees: {loss} reaches the predicted loss; whether at the only optimum was not determined."
    if report.verdict == "agrees":
        return f"Descent agrees: trained {how(report)}, {loss} reaches the predicted loss, at one of its many optima."
    if report.verdict == "contradiction":
        return (
            f"CONTRADICTION: descent reached a loss of {number(found.value, 9)} nats, below the certified bound "
            f"{number(predicted.lower_bound, 9)}. One of the two is wrong; please report it."
        )
    goal = f"geometry ({error})"
    if not predicted.determined:
        goal = "loss" if predicted.resolved else f"loss; {undetermined(predicted.problem)}"
    if report.verdict == "not there yet":
        return f"Not there yet: the steps ran out before {loss} reached the predicted {goal}."
    return f"Descent ended elsewhere: {loss} converged, but not to the predicted {goal}."


def what_to_do(report: CheckReport) -> str:
    """What to try where the verdict leaves something open; empty otherwise."""
    found = report.descent
    excess = found.value - report.prediction.value
    if report.verdict == "not there yet" and excess <= VALUE_TOLERANCE:
        return (
            f"The loss is already within {abs(excess):.1e} nats of the optimum: at this temperature it is so flat that "
            "training hardly moves any more. More --steps may help, and so would a higher temperature."
        )
    if report.verdict == "not there yet":
        return f"The loss is still {excess:.2g} nats above the optimum; allow more --steps than {found.steps:,}."
    needed = report.prediction.rank if report.prediction.resolved else None
    if report.verdict == "elsewhere" and needed is not None and found.dim < needed:
        few = f"{counted(found.dim, 'dimension')} {'is' if found.dim == 1 else 'are'} too few"
        return f"{few}: the predicted geometry needs {needed}."
    if report.verdict == "elsewhere" and not report.prediction.determined:
        return f"The loss ended {excess:.2g} nats above the optimum; try another --seed or another --optimizer."
    if report.verdict == "elsewhere":
        return (
            "Where the loss is as predicted, it is so flat (low temperature, rare classes) that training does not "
            "resolve the geometry; try more --samples, another --seed or another --optimizer."
        )
    return ""


def caption(report: CheckReport) -> str:
    """What the figures of the table are."""
    latents = report.prediction.latents
    what = f"{latents.noun.capitalize()}s{' (and angles)' if latents.unit else ''}"
    if report.prediction.samples:
        return f"{what} between samples; reached: averaged over pairs with equal labels."
    points = report.prediction.points
    if report.prediction.sides:
        return f"{what} between and among {points}: predicted, and those that descent reached."
    return f"{what} between {points}; reached: averaged over pairs of equal classes."


def pairs_table(report: CheckReport) -> Table:
    """Predicted and reached by pair of classes or samples, averaged over pairs that are alike."""
    orbits = report.prediction.orbits
    predicted, reached = orbits.reduce(report.prediction.gram), orbits.reduce(report.descent.gram)
    places = [(g, h) for g in range(orbits.n_orbits) for h in range(g, orbits.n_orbits) if orbits.pairs[g, h] > 0]
    places.sort(key=lambda at: float(predicted[at]))
    if len(places) > MOST_PAIRS:
        half = MOST_PAIRS // 2
        places = [*places[:half], *places[-half:]]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for title in ("one of many" if report.prediction.open else "predicted", "reached"):
        table.add_column(title, justify="right", no_wrap=True)
    shown = cosine_phrase if report.prediction.latents.unit else number
    for at in places:
        table.add_row(pair(report, at), *(shown(float(matrix[at])) for matrix in (predicted, reached)))
    return table


def pair(report: CheckReport, at: tuple[int, int]) -> str:
    """Two classes or samples, one in each of the orbits ``at``, as a phrase."""
    names = report.prediction.names
    a, b = report.prediction.orbits.pair(*at)
    if report.prediction.sides:
        return f"{names[a]} and {names[b]}"
    noun = "labels" if report.prediction.samples else "classes"
    return f"{noun} {names[a]} and {names[b]}"
