"""Answers about features and classifiers for a person: their geometry, and where classes merge."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.classifiers import ClassifierReport, Side
from geomsolve.analyses.threshold_report import ThresholdReport
from geomsolve.cli.answers import of_classes
from geomsolve.cli.render import chosen, cosine_grid, effort, extreme_pair, proof_lines
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.structure import angle_degrees, coinciding
from geomsolve.words import counted, in_degrees, left, listing, number, rounded

MOST_ROWS = 24
"""Classes up to which lengths are shown for each."""

MOST_GROUPS = 4
"""Groups that share a point of which each is named."""

LENGTHS = {
    "regularise": "Lengths are those for equal weight decay on features and classifiers; only the product of the two "
    "decides the angles.",
    "ufm": "Lengths are those of the least total length, features and classifiers alike, with every class ahead by 1.",
}


def show(report: ClassifierReport, screen: Console, *, quiet: bool) -> None:
    """Print the geometry: sentence, grids of cosines, lengths, how sure, what would change it."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    orbits = report.orbits
    screen.print(of_classes(report.problem, orbits))
    if report.structure.kind != "total collapse":
        few = orbits.n_classes <= max(12, orbits.n_orbits)
        shown = list(range(orbits.n_classes)) if few else np.unique(orbits.index, return_index=True)[1].tolist()
        labels = [name_of(report, a, few) for a in shown]
        seen = [a for a in shown if report.classifiers.norms[a] > 0]
        titles = [name_of(report, a, few) for a in seen]
        for title, side in (("classifiers", report.classifiers), ("feature means", report.features)):
            screen.print()
            screen.print(cosine_grid(grid_of(report, side, seen), titles, alone(report, seen, few), screen.width))
            screen.print(f"Cosines between {title} below the diagonal, angles above it.")
        if not few:
            screen.print(
                "One row for each group of classes of equal size; its diagonal is the cosine within the group."
            )
        screen.print()
        screen.print(lengths(report, shown, labels))
        form = next((LENGTHS[key] for key in LENGTHS if key in report.problem["loss"]), "")
        screen.print(f"{aligned(report)}{' ' if form else ''}{form}\n")
    screen.print(sure(report))
    if report.undecided:
        names = [listing([report.names[a] for a in group]) for group in report.undecided]
        screen.print(f"Whether classes {', and whether '.join(names)} share a point is too close to tell.")
    if report.unique is True:
        screen.print(f"It is the only optimum, up to rotations. It needs {counted(report.rank, 'dimension')}.")
    else:
        why = "Other features and classifiers reach the same loss." if report.unique is False else ""
        screen.print(f"{why or 'Whether others are as good was not determined.'}")
    screen.print(f"Solver: {report.solver['name']} ({report.solver['reason']}); {effort(report.solver)}.")
    if change := what_would_change(report):
        screen.print(f"\n{change}")


def sentence(report: ClassifierReport) -> str:
    """The answer in one sentence, or two."""
    loss, k = report.problem["loss"]["name"], report.orbits.n_classes
    one, two = report.classifiers.structure, report.features.structure
    if one.kind == "total collapse":
        return f"Total collapse: with this much weight decay {loss} leaves nothing; features and classifiers are all 0."
    if one.kind == two.kind and one.kind in ("regular simplex", "antipodal"):
        if k == 2:
            return f"{loss} puts the two classes at opposite points, features and classifiers aligned."
        shape = f"all {k} classes at {in_degrees(one.min_angle_deg)}"
        return f"{loss} wants a regular simplex, {shape}, features and classifiers aligned."
    if one.kind == "minority collapse":
        zero = {report.names[a] for a in np.flatnonzero(report.classifiers.norms == 0)}
        parts = [
            f"classes {listing(group)} at {'0' if set(group) <= zero else 'one point'}" for group in report.groups()
        ]
        if len(parts) > MOST_GROUPS:
            parts = [*parts[: MOST_GROUPS - 1], f"{len(parts) - MOST_GROUPS + 1} more groups at one point each"]
        if not parts:
            parts = [f"class {listing(sorted(zero))} at 0"]
        return f"Minority collapse: {loss} puts the classifiers of {', and '.join(parts)}, and so their features."
    regular = angle_degrees(simplex_cosine(k))
    ways = coinciding(report.orbits, report.classifiers.cosines, one.tolerance)
    if ways and not report.undecided:
        parts = [f"classes {listing([report.names[a] for a in group])}" for group in ways]
        return (
            f"{loss} points the classifiers of {', and of '.join(parts)} the same way, at different lengths, "
            f"{in_degrees(one.max_angle_deg)} from the farthest other."
        )
    return (
        f"Imbalance bends the simplex: {loss} wants angles between classifiers from {in_degrees(one.min_angle_deg)} "
        f"(between {extreme(report, report.classifiers, largest=True)}) to {in_degrees(one.max_angle_deg)} (between "
        f"{extreme(report, report.classifiers, largest=False)}), and between feature means from "
        f"{in_degrees(two.min_angle_deg)} to {in_degrees(two.max_angle_deg)}, not {in_degrees(regular)} everywhere."
    )


def extreme(report: ClassifierReport, side: Side, *, largest: bool) -> str:
    """Two classes with the largest or the smallest cosine."""
    pairs = report.orbits.pairs * np.isfinite(side.cosines)
    a, b = report.orbits.pair(*extreme_pair(np.round(side.cosines, 9), pairs, largest))
    return f"classes {report.names[a]} and {report.names[b]}"


def name_of(report: ClassifierReport, a: int, few: bool) -> str:
    """A class by name, or the group that it stands for."""
    g = int(report.orbits.index[a])
    size = int(report.orbits.sizes[g])
    return report.names[a] if few or size == 1 else f"{size} x {report.orbits.proportions[g]:.3g}"


def alone(report: ClassifierReport, shown: list[int], few: bool) -> list[bool]:
    """Whether the diagonal of the grid describes no pair."""
    return [few or int(report.orbits.sizes[report.orbits.index[a]]) == 1 for a in shown]


def grid_of(report: ClassifierReport, side: Side, shown: list[int]) -> Any:
    """Cosines between the shown classes; on the diagonal that of two alike classes."""
    index = report.orbits.index[shown]
    return np.nan_to_num(side.cosines[np.ix_(index, index)])


def lengths(report: ClassifierReport, shown: list[int], labels: list[str]) -> Table:
    """Length of feature and classifier of each class, and the angle between them."""
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    for title in ("class", "feature", "classifier", "angle between them"):
        table.add_column(title, justify="left" if title == "class" else "right")
    for i in chosen(len(shown), MOST_ROWS):
        if i is None:
            table.add_row("…", "…", "…", "…")
            continue
        a = shown[i]
        angle = report.alignments[a]
        table.add_row(
            labels[i],
            rounded(report.features.norms[a], 4),
            rounded(report.classifiers.norms[a], 4),
            "·" if np.isnan(angle) else in_degrees(angle_degrees(float(angle))),
        )
    return table


def aligned(report: ClassifierReport) -> str:
    """How well classifiers point where their features are."""
    if not np.isfinite(report.alignment):
        return "There is nothing to align."
    return f"Mean cosine of a feature mean and its own classifier: {rounded(report.alignment, 5)}."


def sure(report: ClassifierReport) -> str:
    """How sure the answer is."""
    loss = report.problem["loss"]
    if report.cross_entropy is None:
        state = "Proven" if report.certified else "NOT PROVEN"
        return (
            f"{state}: half the squared lengths, of features by their shares and of classifiers, add up to "
            f"{rounded(report.value, 9)}; with every class ahead by 1 none add up to less than "
            f"{rounded(report.lower_bound, 9)} ({left(report.gap, report.value)})."
        )
    proof = (report.value, report.lower_bound, report.gap, report.certified, report.problem["tolerance"])
    lines = proof_lines(*proof, embedding="features and classifiers", advice="Try a larger --tolerance.")
    lines = lines.replace("no features and classifiers goes", "no features and classifiers go")
    if "regularise" in loss:
        lines += f" Of this the cross-entropy is {rounded(report.cross_entropy, 9)}, the rest weight decay."
    return lines


def what_would_change(report: ClassifierReport) -> str:
    """The nearest threshold, or how to find one."""
    near, loss = report.nearest_threshold, report.problem["loss"]
    if near is not None:
        side = "More" if near["value"] > loss["regularise"] else "Less"
        return (
            f"{side} weight decay changes which classes share a point: the nearest threshold is "
            f"{number(near['value'])} (yours is {number(loss['regularise'])}); "
            "geomsolve threshold --over regularisation lists all."
        )
    if "constraint" in loss and report.orbits.n_orbits > 1:
        return "geomsolve threshold --over imbalance says from which ratio of class sizes on classifiers merge."
    return ""


NOUNS = {"imbalance": "a ratio of the largest class to the smallest", "regularisation": "weight decay"}


def show_threshold(report: ThresholdReport, screen: Console, *, quiet: bool) -> None:
    """Print where classes merge: sentence, stages, where the problem as given stands, how sure."""
    name, noun = report.problem["loss"]["name"], NOUNS[report.over]
    if report.threshold is None:
        screen.print(f"No merger {'was found' if report.possible else 'can occur'}: {report.reason}.", style="bold")
    else:
        value, first = number(report.threshold["value"]), report.merging[0] if report.merging else []
        where = f"From {noun} of {value} on" if report.collapsed_above else f"Up to {noun} of {value}"
        screen.print(
            f"{where}, {name} puts the features and classifiers of classes {listing(first)} at one point.",
            style="bold",
        )
    if quiet:
        return
    if report.path is not None and len(report.path) > 1:
        table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
        table.add_column("from", justify="right")
        table.add_column("classes that share a point")
        for stage in report.path:
            start = "(start)" if stage["from"] is None else number(stage["from"])
            gone = report.total is not None and stage["from"] == report.total
            groups = "; ".join(listing(group, 12) for group in stage["groups"])
            table.add_row(start, f"{groups} (all features are 0)" if gone else groups or "none")
        screen.print(table)
    if report.threshold is not None:
        place = "Alike classes share a point exactly where their pull apart there, in closed form, is at most "
        if "constraint" not in report.problem["loss"]:
            screen.print(f"{place}the weight decay.")
        else:
            screen.print(f"{place}the multiplier of the budget, which is solved for.")
        if report.over == "imbalance":
            screen.print("Mergers that begin and end between two ratios looked at are not seen.")
    if report.collapsed is not None and report.threshold is not None:
        state = "classes share a point" if report.collapsed else "none share a point"
        screen.print(f"\nYours, {number(report.current)}: {state}.")
