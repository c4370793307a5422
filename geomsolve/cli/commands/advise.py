"""What should be changed so that small classes keep apart, and which popular changes do nothing?"""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.advise import AdviseReport, Option, advise
from geomsolve.cli.advice import LONGEST, closest, flags_of, gives_up, instruction
from geomsolve.cli.answers import proof_files
from geomsolve.cli.options import (
    Command,
    class_options,
    loss_options,
    no_nonnegative_option,
    output_options,
    proof_option,
    solver_options,
    split_loss,
)
from geomsolve.cli.output import Output
from geomsolve.cli.progress import trying
from geomsolve.cli.render import holds_for, loss_phrase
from geomsolve.questions.advise import WANTS, Advise
from geomsolve.words import UNSEEN, in_degrees, listing, nats, number

WORTH = 0.5
"""Degrees that a change has to gain to be listed among those that help a person."""


@click.command("advise", cls=Command, epilog="Example: geomsolve advise --props 0.95,0.03,0.02 --temperature 1")
@class_options
@click.option(
    "--want", metavar="|".join(WANTS), help="What is wanted (default separate: smaller classes at 90° or more)."
)
@loss_options
@click.option("--dim", type=int, metavar="D", help="Dimensions of the embedding, if limited (default: no limit).")
@solver_options
@no_nonnegative_option
@output_options
@proof_option
def command(output: Output, proof: str | None = None, **flags: Any) -> int:
    """What should be changed so that small classes keep apart?

    Tries every single change of the training (temperature, how classes are drawn and weighed, batch, views, negatives,
    another loss, classes taken as one), each with the value that is needed, and says which help, which do nothing and
    which harm. Every row is a forward solve of its own with its proof; --proof writes that of the best, which stands
    alone.
    """
    problem = Advise(**split_loss(flags))
    output.notify(problem)
    with trying(quiet=output.quiet) as tell:
        report = advise(problem, progress=lambda change: tell(", ".join(change)))
    return output.deliver(report, show, files=proof_files(proof, report, problem))


def show(report: AdviseReport, screen: Console, *, quiet: bool) -> None:
    """Print the advice for a person: the best change, what helps, what does not, how sure, how to repeat it."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    screen.print(f"{loss_phrase(report.problem['loss'])}; wanted: {wanted(report)}.\n")
    now = angle_now(report)
    helping = [option for option in report.options if gains(report, option)]
    unsolved = [option for option in report.options if option.unsolved is not None]
    others = [option for option in report.options if option not in [*helping, *unsolved]]
    worse = [option for option in others if option.fixed and angle(report, option) < now - WORTH]
    same = [option for option in others if option not in worse]
    helps = "What would widen the angles further" if report.reached else "What helps, best first"
    for title, options in ((helps, helping), ("What does nothing", same), ("What makes it worse", worse)):
        if options:
            screen.print(f"{title}:", style="bold")
            screen.print(table(report, options))
            screen.print()
    if unsolved:
        screen.print("What no solver gave an answer for, so that nothing is known of it:", style="bold")
        for option in unsolved:
            screen.print(f"{flags_of(option.change)}: {option.unsolved}", soft_wrap=True)
        screen.print()
    screen.print(meaning(report))
    for line in how_sure(report):
        screen.print(line)
    screen.print(f"\n{repeat(report)}", soft_wrap=True)


def angle(report: AdviseReport, option: Option) -> float:
    """The angle of an option that the want is about, in degrees."""
    about = option.minority_angle_deg if about_smaller(report) else option.min_angle_deg
    about = option.min_angle_deg if about is None else about
    return float("nan") if about is None else about


def angle_now(report: AdviseReport) -> float:
    """The same as things stand."""
    smallest, minority = report.now.min_angle_deg, report.now.minority_angle_deg
    return minority if about_smaller(report) and minority is not None else smallest


def about_smaller(report: AdviseReport) -> bool:
    """Whether the want is about the smaller classes, of which there are two at least."""
    smaller = report.want == "separate" or report.want.startswith("minority")
    return smaller and report.now.minority_angle_deg is not None


def gains(report: AdviseReport, option: Option) -> bool:
    """Whether an option helps by an amount that is worth mentioning."""
    return option.helps and (option.reached or angle(report, option) >= angle_now(report) + WORTH)


def wanted(report: AdviseReport) -> str:
    """The want in words."""
    if report.wanted_deg is None:
        return "all classes at the same, widest angle (a regular simplex)"
    who = "the smaller classes" if about_smaller(report) else "all classes"
    return f"{who} at {number(report.wanted_deg)}° from each other or more"


def apart(degrees: float) -> str:
    """An angle between the closest two classes as the end of 'they ...'."""
    return "are at one point" if degrees < 0.05 else f"are {in_degrees(degrees)} apart"


def who(report: AdviseReport) -> str:
    """The classes whose angle counts."""
    return closest(report.smaller, len(report.smaller)) if about_smaller(report) else "the closest two classes"


def sentence(report: AdviseReport) -> str:
    """The advice in one sentence or a few."""
    now, best = report.now, report.best
    if now.structure == "degenerate":
        opening = (
            f"{report.problem['loss']['name']} does not say where the classes go, so that only another loss helps. "
        )
        return opening + (remedy(report, best) if best else "None of them reaches what is wanted.")
    if indifferent(report):
        if best is None or report.reached:
            return flat(report)
        said = remedy(report, best)
        return f"{flat(report)} If angles matter all the same: {said[0].lower()}{said[1:]}"
    if report.reached:
        return f"Nothing needs to change: {who(report)} {apart(angle_now(report))}, and {wanted(report)} were wanted."
    if best is None:
        return f"No single change helps: {who(report)} {apart(angle_now(report))}, and nothing tried moves them apart."
    if best.reached:
        return remedy(report, best)
    goal = "a regular simplex" if report.wanted_deg is None else f"{number(report.wanted_deg)}°"
    return f"No single change reaches {goal}. The best: {remedy(report, best)}"


def remedy(report: AdviseReport, best: Option) -> str:
    """What the best change does, in a sentence."""
    change = instruction(best.change, report.problem["loss"])
    those = who(report)
    if "merge" in best.change:
        return f"{change}: the closest two of the classes that count {apart(angle(report, best))}."
    then = f"{change} ({flags_of(best.change)}), and {those} {apart(angle(report, best))}"
    if not report.settled and report.now.resolved:
        return f"{then}; now the loss is equally content with many geometries."
    now = apart(angle_now(report))
    return f"{then}; now they {now}{', where no classifier tells them apart' if now.endswith('point') else ''}."


def indifferent(report: AdviseReport) -> bool:
    """Whether a regular simplex costs less than training sees, so that the angles are hardly the loss's doing."""
    now = report.now
    return not now.resolved or (now.bent and now.simplex_excess is not None and now.simplex_excess < UNSEEN)


def flat(report: AdviseReport) -> str:
    """That the loss hardly depends on the angles."""
    loss, excess = report.problem["loss"], report.now.simplex_excess or 0.0
    where = f"At temperature {number(loss['temperature'], 4)} " if "temperature" in loss else ""
    cost = f"would lose only {nats(excess)}" if excess > 0 else "loses nothing that can be told"
    return (
        f"{where}{loss['name']} hardly depends on the angles: equal angles everywhere (a regular simplex) {cost}, "
        "which training will not see. So this loss is not what keeps small classes close, and needs no change for it; "
        "geomsolve imbalance --slack says how far angles may stray at nearly the same loss."
    )


def table(report: AdviseReport, options: list[Option]) -> Table:
    """One row a change: the flags, the angles, what a regular simplex loses, whether it is proven, what it costs."""
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column("change", overflow="fold", max_width=38)
    if report.now.minority_angle_deg is not None:
        made.add_column("smaller", justify="right")
    made.add_column("all", justify="right")
    made.add_column("simplex", justify="right")
    made.add_column("proven")
    made.add_column("what it costs")
    for option in options:
        cells = [flags_of(option.change) + looked_at(option)]
        if report.now.minority_angle_deg is not None:
            cells.append(degrees(option, option.minority_angle_deg))
        excess = option.simplex_excess
        cells += [
            degrees(option, option.min_angle_deg),
            "-" if excess is None else "nothing" if abs(excess) < 1e-12 else number(excess, 2),
            "yes" if option.certified else "no",
            gives_up(option.change, report.problem["loss"]),
        ]
        made.add_row(*cells)
    return made


def degrees(option: Option, value: float | None) -> str:
    """An angle in a table; open where the loss does not fix it."""
    if value is None:
        return "-"
    return in_degrees(value) if option.fixed else "open"


def looked_at(option: Option) -> str:
    """The range of values of which this is the best, where none reaches what is wanted."""
    if option.tried is None or option.tried[0] == option.tried[1]:
        return ""
    low, high = (number(x, 3) if x < 1000 else f"{x:,.0f}" for x in option.tried)
    return f" (best of {low} to {high})"


def meaning(report: AdviseReport) -> str:
    """What the columns mean."""
    now = report.now
    cost = (
        "nothing"
        if now.simplex_excess is None or now.simplex_excess < 1e-12
        else f"{number(now.simplex_excess, 2)} nats"
    )
    smallest, minority = now.min_angle_deg, now.minority_angle_deg
    parts = [f"{in_degrees(smallest)} of all classes"]
    if minority is not None:
        parts.insert(0, f"{in_degrees(minority)} of the smaller ones")
    stood = " and ".join(parts) if report.settled else "open, as the loss is content with many geometries"
    stands = f"Angles are the smallest between two classes; now {stood}. "
    if now.simplex_excess is None:
        return stands.rstrip()
    loses = f"A regular simplex has equal angles everywhere: what it loses is the price of that; now {cost}."
    return stands + loses


def how_sure(report: AdviseReport) -> list[str]:
    """What is proven, and for whom."""
    unproven = [option for option in report.options if not option.certified and option.unsolved is None]
    if unproven:
        lines = [f"NOT PROVEN: {listing([flags_of(option.change) for option in unproven])}. The other rows are."]
    else:
        lines = ["Proven: every row is an optimum of its own, with a lower bound that no embedding goes below."]
    by_assumption: dict[str, list[str]] = {}
    for option in report.options:
        if option.assumption:
            by_assumption.setdefault(option.assumption, []).append(flags_of(option.change))
    for assumption, rows in by_assumption.items():
        kept, others = holds_for(assumption)
        whose = "All this holds" if len(rows) == len(report.options) else f"That of {listing(rows)} holds"
        lines.append(f"{whose}{kept}.{others}")
    free = [flags_of(option.change) for option in report.options if not (option.fixed or option.unsolved)]
    if free:
        fix, content = ("fixes", "it is") if len(free) == 1 else ("fix", "they are")
        lines.append(f"Open: {listing(free)} {fix} no angle: {content} as content with many geometries as with one.")
    if report.problem.get("dim") is None:
        used = "one is" if report.now.rank == 1 else f"{report.now.rank:,} are"
        lines.append(f"More dimensions of the embedding change nothing: {used} all that is used.")
    return lines


def repeat(report: AdviseReport) -> str:
    """The command that repeats the best row, and how to repeat the others."""
    best = report.best
    if best is None or len(best.command) > LONGEST:
        return "To see a row in full, ask geomsolve imbalance with its flags."
    return f"To see the first row in full: {best.command}"
