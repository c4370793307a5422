"""Which geometry does a loss want for these class proportions?"""

from __future__ import annotations

from math import log
from typing import Any

import click
import numpy as np
from rich.console import Console

from geomsolve.analyses.classifiers import ClassifierReport
from geomsolve.analyses.imbalance import ImbalanceReport, imbalance
from geomsolve.cli import classifiers, ranges
from geomsolve.cli.advice import after_collapse
from geomsolve.cli.answers import deliver_both, proof_files, setting, undetermined
from geomsolve.cli.options import (
    Command,
    class_options,
    loss_options,
    nonnegative_option,
    output_options,
    proof_option,
    solver_options,
    split_loss,
)
from geomsolve.cli.output import Output
from geomsolve.cli.render import EXACT_MEAN, cosine_grid, effort, extreme_pair, holds_for, proof_lines
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.structure import angle_degrees, coinciding
from geomsolve.losses import find_loss, make_loss
from geomsolve.questions.imbalance import Imbalance
from geomsolve.words import UNSEEN, counted, in_degrees, listing, nats, number, rounded, signed, stakes

BENT = ("general", "symmetric by proportion")
"""Geometries that are described as a bent simplex."""

LOGGED = 256
"""Embeddings in a batch, or negatives, for which the value in a training log is given as an example."""

RELAXED = (
    "The bound is that of cosines nowhere negative, a relaxation: from five distinct proportions on it may lie "
    "below what non-negative features reach, of which the best found are shown."
)
"""What to make of a bound for non-negative features that no such features were found to reach."""

NEARLY = 1e-4
"""Distance 1 - cosine, at an angle of 0.8°, up to which classes are said to be nearly at one point."""


@click.command("imbalance", cls=Command, epilog="Example: geomsolve imbalance --props 0.7,0.2,0.1 --temperature 0.5")
@class_options
@loss_options
@solver_options
@click.option("--dim", type=int, metavar="D", help="Dimensions of the embedding, if limited (default: no limit).")
@nonnegative_option
@click.option("--slack", type=float, metavar="EPS", help="How far cosines may be at a loss EPS nats above the optimum.")
@click.option("--pairs", metavar="A:B,...", help="With --slack: pairs of classes to ask about besides those chosen.")
@click.option("--check", is_flag=True, help="Also train free features and compare (geomsolve check; needs torch).")
@proof_option
@click.option("--full", is_flag=True, help="JSON holds every cosine, however many classes there are.")
@output_options
def command(output: Output, check: bool, proof: str | None = None, **flags: Any) -> int:
    """Which geometry does this loss want for these class proportions?

    Prints the optimal arrangement of the class means, named and as a grid of cosines and angles, with a
    proof that no embedding has a lower loss. Classes are given by --props, --counts, --labels or --dataset. With --loss
    cross-entropy it prints that of classifiers, too.
    """
    problem = Imbalance(**split_loss(flags))
    output.notify(problem)
    report = imbalance(problem) if problem.dim is None else watched(problem, quiet=output.quiet)
    files = proof_files(proof, report, problem)
    if not check:
        return output.deliver(report, show, files=files)
    from geomsolve.analyses.check import check as descend
    from geomsolve.questions.check import Check

    return deliver_both(output, report, descend(Check(question=problem), answer=report), files)


def watched(problem: Imbalance, *, quiet: bool) -> ImbalanceReport | ClassifierReport:
    """The answer in limited dimension: the best so far is shown on the way, and Ctrl-C ends the search with it."""
    from geomsolve.cli.progress import searching

    with searching(quiet=quiet) as tell:
        return imbalance(problem, watch=tell)


def show(report: ImbalanceReport | ClassifierReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, grid, how sure, what would change it."""
    if isinstance(report, ClassifierReport):
        classifiers.show(report, screen, quiet=quiet)
        return
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    orbits = report.orbits
    screen.print(setting(report.problem, report.orbits))
    if report.structure.kind == "degenerate":
        screen.print(f"Why: {report.solver['reason']}.\nInfimum of the loss: {rounded(report.value, 9)} nats.")
        return
    screen.print()
    if orbits.n_classes <= max(12, orbits.n_orbits):
        labels = list(report.names)
        screen.print(cosine_grid(report.gram, labels, [True] * len(labels), screen.width))
    else:
        screen.print(cosine_grid(report.orbit_cosines, orbit_labels(report), list(orbits.sizes == 1), screen.width))
        screen.print("One row for each group of classes of equal size; its diagonal is the cosine within the group.")
    screen.print("Cosines between class means below the diagonal, angles above it.\n")
    show_proof(report, screen)
    unique = {
        True: "It is the only optimum.",
        False: "It is not the only optimum: another geometry with the same loss was found.",
        None: "Whether other geometries reach the same loss was not determined.",
    }[report.unique]
    if not report.resolved:
        shown = "the regular simplex" if report.simplex_limit else "one of many that do"
        unique = f"Which geometry reaches the lowest loss is below what floating-point numbers tell; shown is {shown}."
    if not report.dimension_limited:
        spans = "It needs" if report.unique else "This one spans"
        screen.print(f"{unique} {spans} {counted(report.rank, 'dimension')}.")
    for line in (nonnegative_line(report), mean_line(report), simplex_line(report), log_line(report)):
        if line:
            screen.print(line)
    if report.ranges is not None:
        ranges.show(report.ranges, screen, whose(report))
        screen.print()
    solver = report.solver
    screen.print(f"Solver: {solver['name']} ({solver['reason']}); {effort(solver)}.")
    change = what_would_change(report)
    if change:
        screen.print(f"\n{change}")
    if report.remedy is not None:
        screen.print("" if change else "\n", end="")
        after_collapse(report.remedy, screen)


def show_proof(report: ImbalanceReport | ClassifierReport, screen: Console) -> None:
    """How sure the loss value is."""
    if isinstance(report, ClassifierReport):
        screen.print(classifiers.sure(report))
        return
    tolerance = report.problem["tolerance"]
    if report.dimension_limited:
        screen.print(limited_lines(report))
    elif report.convex:
        proven = (report.value, report.lower_bound, report.gap, report.certified, tolerance)
        advice = RELAXED if report.nonnegative and not report.nonnegative["exact"] else "Try another --solver."
        screen.print(proof_lines(*proven, assumption=report.assumption or "", advice=advice))
    else:
        screen.print(
            f"Not certified, because this loss is not convex: best loss found {rounded(report.value, 9)} nats; "
            f"no {whose(report)} goes below {rounded(report.lower_bound, 9)}, so it is within {report.gap:.1e} of the "
            "optimum." + holds_for(report.assumption or "")[1]
        )


def limited_lines(report: ImbalanceReport) -> str:
    """How sure an answer in limited dimension is."""
    figures = f"loss value {rounded(report.value, 9)} nats, within {report.gap:.1e} of {rounded(report.lower_bound, 9)}"
    kept, others = holds_for(report.assumption or "")
    return (
        f"Best found, {'proven' if report.certified else 'not proven'}{kept}: {figures}, below which "
        f"no {whose(report)} goes, whatever its dimension.{others}"
    )


def whose(report: ImbalanceReport) -> str:
    """Any embedding, or one of those that the proof is about."""
    return "such embedding" if report.assumption else "embedding"


def sentence(report: ImbalanceReport) -> str:
    """The answer in one sentence, or two where classes are all but at one point.

    Where the optimum is not unique, it says so before naming one; where the angles are open, it names none.
    """
    if not report.resolved:
        return open_angles(report)
    if report.dimension_limited:
        return f"In {counted(report.problem['dim'], 'dimension')} (best found): {geometry(report)}"
    if report.unique is False and report.structure.kind != "degenerate":
        loss = report.problem["loss"]["name"]
        one = f"{loss} is equally content with many geometries; one of them{named(loss, geometry(report))}"
        return " ".join([one, *cost(report)])
    return " ".join([geometry(report), *cost(report), *nearly(report)])


def named(loss: str, sentence: str) -> str:
    """A sentence on what a loss wants, as what follows 'one of them'."""
    wanted, put = f"{loss} wants ", f"{loss} puts "
    if sentence.startswith(wanted):
        return f": {sentence.removeprefix(wanted)}"
    return f" {sentence.removeprefix(f'{loss} ')}" if sentence.startswith(put) else f": {sentence}"


def open_angles(report: ImbalanceReport) -> str:
    """That the loss does not settle the angles, and what the regular simplex would cost."""
    clause = undetermined(report.problem)
    opening = f"{clause[:1].upper()}{clause[1:]}."
    if not report.simplex_limit:
        excess = report.simplex_excess or 0.0
        cost = f"A regular simplex would lose {excess:.2g} nats" if excess > 0 else "A regular simplex loses nothing"
        return f"{opening} {cost} against the geometry found."
    most = f"at most {report.gap:.1g} nats" if report.gap > 0 else "nothing that floating-point numbers can tell"
    return (
        f"{opening} The regular simplex, to which they tend as the temperature falls, loses {most}: "
        f"all {report.orbits.n_classes} classes at {in_degrees(report.structure.min_angle_deg)} from each other."
    )


def nearly(report: ImbalanceReport) -> list[str]:
    """A sentence for each group of classes that are close to each other and not proven to be at one point."""
    if report.structure.kind == "degenerate":
        return []
    cosines, index = report.orbit_cosines, report.orbits.index
    found = []
    for group in coinciding(report.orbits, cosines, NEARLY):
        if group not in report.structure.groups:
            pairs = [(index[a], index[b]) for i, a in enumerate(group) for b in group[i + 1 :]]
            angle = max(angle_degrees(float(cosines[g, h])) for g, h in set(pairs))
            apart = f"{number(angle, 2)}°" if len(group) == 2 else f"up to {number(angle, 2)}°"
            names = listing([report.names[a] for a in group])
            found.append(f"Classes {names} are {apart} apart, nearly one point.")
    return found


def geometry(report: ImbalanceReport) -> str:
    """The geometry found, in one sentence."""
    if report.structure.kind == "degenerate":
        return f"Degenerate: {report.problem['loss']['name']} does not say where the classes go."
    s, k, names = report.structure, report.orbits.n_classes, report.names
    least = f"{in_degrees(s.min_angle_deg)} (cosine {signed(s.min_cosine, sign='')})"
    loss = report.problem["loss"]["name"]
    if s.kind == "antipodal":
        return f"{loss} puts the two classes at opposite points, 180° apart."
    if s.kind == "regular simplex":
        return (
            f"{loss} wants a regular simplex: all {k} classes at {least} "
            f"from each other{', although their sizes differ' if report.orbits.n_orbits > 1 else ''}."
        )
    if s.kind == "total collapse":
        return f"Total collapse: {loss} puts all {k} classes at one point."
    if s.kind == "orthogonal frame":
        return f"{loss} wants an orthogonal frame: all {k} classes at 90° from each other."
    if s.kind == "equiangular":
        return (
            f"{loss} wants all {k} classes at the same angle, {least}; "
            f"a regular simplex would have {in_degrees(angle_degrees(simplex_cosine(k)))}."
        )
    if s.kind == "orthoplex":
        return f"{loss} wants an orthoplex: the {k} classes at 90° from each other, some of them opposite (180°)."
    if s.kind == "minority collapse":
        groups = report.groups()
        parts = [f"classes {listing(group)}" for group in groups]
        points = "one point" if len(groups) == 1 else "one point each"
        rest = k - sum(len(group) for group in groups)
        points_left = rest + len(groups)
        opposite = ""
        if points_left == 2 and s.min_cosine <= -1 + s.tolerance:
            alone = [name for name in names if all(name not in group for group in groups)]
            opposite = f", opposite class {alone[0]}" if alone else ", opposite each other"
        p = report.orbits.proportions[report.orbits.index]
        share = float(sum(p[a] for group in s.groups for a in group))
        name = "Minority collapse" if share <= 0.5 else "Collapse"
        held = f" ({share:.1%} of the samples)" if share > 0.5 and rest else ""
        return f"{name}: {loss} puts {', and '.join(parts)}{held} at {points}{opposite}."
    orbits = report.orbits
    wide = extreme_pair(report.orbit_cosines, orbits.pairs, largest=False)
    narrow = extreme_pair(report.orbit_cosines, orbits.pairs, largest=True)
    digits = next((d for d in (1, 2, 3, 4) if s.max_angle_deg - s.min_angle_deg >= 2 * 0.1**d), 6)
    low = f"{in_degrees(s.min_angle_deg, digits)} (between {pair(report, narrow)})"
    high = f"{in_degrees(s.max_angle_deg, digits)} (between {pair(report, wide)})"
    if s.kind == "dimension-limited" or report.nonnegative is not None:
        return f"{loss} wants angles from {low} to {high}."
    if report.unique is False:
        return f"angles from {low} to {high}."
    regular = f"{in_degrees(angle_degrees(simplex_cosine(k)), digits)}"
    bent = f"Imbalance bends the simplex: {loss} wants angles from {low} to {high}, not {regular} everywhere"
    if report.bend is not None:
        return f"{bent}, {stakes(report.bend)}."
    unseen = ", but by less than floating-point numbers can tell: training will not see it"
    return f"{bent}{unseen if as_good(report) else ''}."


def pair(report: ImbalanceReport, orbits: tuple[int, int]) -> str:
    """Two orbits as a phrase, by the name of a class in each."""
    a, b = report.orbits.pair(*orbits)
    return f"classes {report.names[a]} and {report.names[b]}"


def cost(report: ImbalanceReport) -> list[str]:
    """A sentence on what the regular simplex would lose, where that of the geometry does not say it already."""
    if report.bend is None or (report.unique is not False and report.structure.kind in BENT):
        return []
    if report.bend < UNSEEN:
        return [f"A regular simplex would lose only {nats(report.bend)}: training will not see the difference."]
    return [f"A regular simplex would lose {nats(report.bend)}."]


def mean_line(report: ImbalanceReport) -> str:
    """Which mean over batches the value is, where there is a choice; else empty."""
    if report.expectation == "exact":
        return EXACT_MEAN
    if report.drawn_mean is None:
        return ""
    terms = find_loss(report.problem["loss"]["name"]).averaged
    return (
        f"Value and proof are of the mean over the {terms} of ever more batches together (expected sum over expected "
        f"number): a batch has too many compositions to enumerate. The mean over batches, each averaged by itself, is "
        f"{number(report.drawn_mean['value'], 5)} +- {number(report.drawn_mean['standard_error'], 2)} at this geometry."
    )


def nonnegative_line(report: ImbalanceReport) -> str:
    """Why the answer is one of non-negative features; empty where it need not be, or where that is not known."""
    if report.nonnegative is None:
        return ""
    axes = "the classes are farthest apart on the axes, each on one of its own"
    few = "with up to four distinct proportions, cosines that are nowhere negative always have such features"
    found = "such features were found for these cosines"
    why = {"frame": axes, "few": few, "factorised": found}.get(report.nonnegative["how"])
    return "" if why is None else f"No feature is negative, as after a ReLU: {why}."


def as_good(report: ImbalanceReport) -> bool:
    """Whether the answer is another geometry than the regular simplex, which has the same loss."""
    excess, s = report.simplex_excess, report.structure
    return report.resolved and excess is not None and s.simplex_distance > s.tolerance and report.bend is None


def simplex_line(report: ImbalanceReport) -> str:
    """That the regular simplex is as good, where the sentence does not say it already; else empty."""
    if not as_good(report) or (report.unique is not False and report.structure.kind in BENT):
        return ""
    return "A regular simplex has the same loss, as far as floating-point numbers can tell."


def log_line(report: ImbalanceReport) -> str:
    """How the value relates to that in a training log; empty where it is the same, or where that is not known."""
    stated = report.problem["loss"]
    what = make_loss(stated["name"], {key: x for key, x in stated.items() if key != "name"}).counted_off
    if not what:
        return ""
    return (
        f"A training log adds the log of the number of {what}: about {number(report.value + log(LOGGED), 4)} for "
        f"{LOGGED}. geomsolve levels says it exactly, and places a loss value of yours."
    )


def orbit_labels(report: ImbalanceReport) -> list[str]:
    """A short name for every orbit: the class's own name, or how many classes of which proportion."""
    labels = []
    for g, (size, proportion) in enumerate(zip(report.orbits.sizes, report.orbits.proportions, strict=True)):
        own = report.names[int(np.flatnonzero(report.orbits.index == g)[0])]
        labels.append(own if size == 1 else f"{size} x {proportion:.3g}")
    return labels


def what_would_change(report: ImbalanceReport) -> str:
    """The nearest collapse temperature, as a sentence; empty where there is none."""
    if report.nearest_threshold is None:
        return ""
    threshold, now = report.nearest_threshold["value"], report.problem["loss"]["temperature"]
    rest = f"the {report.orbits.n_classes - 1} smaller classes"
    digits = next((d for d in range(4, 10) if number(threshold, d) != number(now, d)), 10)
    whose = "yours is" if "temperature" in report.given else "now the default,"
    where, yours = number(threshold, digits), f"({whose} {number(now, digits)})"
    if now < threshold:
        return f"Above temperature {where} {rest} would collapse into one point {yours}."
    return f"Below temperature {where} {rest} would no longer be one point {yours}."
