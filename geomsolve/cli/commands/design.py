"""Which weights make a loss want this geometry?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.design import EXACT, design
from geomsolve.analyses.design_report import DesignReport
from geomsolve.cli.again import LONGEST
from geomsolve.cli.answers import proof_files
from geomsolve.cli.options import (
    Command,
    class_options,
    loss_options,
    output_options,
    proof_option,
    solver_options,
    split_loss,
)
from geomsolve.cli.output import Output
from geomsolve.cli.render import cosine_grid, loss_phrase, proof_lines
from geomsolve.proof.equal_masses import UnequalMasses
from geomsolve.proof.farkas import Refutation
from geomsolve.questions.design import Design
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.spelled import command_line, written
from geomsolve.words import in_degrees, left, number

NOUNS = {
    "anchors": "class weights",
    "denominators": "denominators",
    "both": "class weights and denominators",
    "margins": "margins",
    "batches": "batches",
}

SHOWN = 20
"""Classes up to which weights stand in a table, and matrices are printed."""

DIGITS = 10
"""Significant digits in which weights are printed: fed back, they give the target to about a millionth."""

ROUNDED = 1e-2
"""Smallest eigenvalue of a target up to which its digits may be what makes it positive."""

MOVED = 1e-9
"""A target that was moved by no more is as it was written."""


@click.command(
    "design",
    cls=Command,
    epilog="Example: geomsolve design --props 0.45,0.35,0.2 -t 0.5 --target simplex --change anchors",
)
@class_options
@click.option("--target", metavar="simplex|@gram", help="The geometry wanted: simplex (default), or cosines, or @file.")
@click.option("--change", metavar="|".join(NOUNS), help="What may differ from the loss as it is (default anchors).")
@loss_options
@solver_options
@output_options
@proof_option
def command(output: Output, proof: str | None = None, **flags: Any) -> int:
    """Which weights make a loss want this geometry?

    Finds class weights of the anchors, weights in the denominators, both, margins of pairs, or which classes are in a
    batch together and how often, under which the wanted arrangement of the class means is the optimum, and proves it by
    feeding them back; or proves that none do, and shows the nearest that was found. For batches, --batches are those
    to choose from (default: any).
    """
    problem = Design(**split_loss(flags))
    output.notify(problem)
    report = design(problem)
    return output.deliver(report, show, files=proof_files(proof, report, problem))


def show(report: DesignReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, weights, how sure, how to use them; else the nearest."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    shares = report.proportions
    classes = ", ".join(number(p, 4) for p in shares) if len(shares) <= 8 else f"{len(shares):,} classes"
    screen.print(f"{loss_phrase(report.problem['loss'])}, proportions {classes}.")
    if report.moved > MOVED:
        screen.print(f"The target was moved by at most {report.moved:.1g} to be the cosines of points.")
    screen.print()
    near = report.nearest
    if report.weights is not None:
        if wanted(report) == "this geometry":
            screen.print(grid(report, report.target, screen.width))
        screen.print(weight_table(report, parts_of(report.problem["change"], report.weights)))
        screen.print(how_sure(report))
        for line in to_use(report):
            screen.print(line, soft_wrap=True)
        return
    screen.print(how_sure(report))
    if near is not None:
        off = number(near.max_gram_error, 3)
        screen.print(f"\nNearest found, every cosine within {off} of the target:", style="bold")
        screen.print(grid(report, near.gram, screen.width))
        screen.print(weight_table(report, near.weights))
        sure = "its optimum is proven" if near.certified else "its optimum is NOT PROVEN"
        these = f"For these {NOUNS[report.problem['change']]}"
        screen.print(f"{these} {sure} ({left(near.gap, near.value)}); that no others come nearer is not.")
    if other := other_ways(report):
        screen.print(other)


def wanted(report: DesignReport) -> str:
    """The target in words."""
    kind = report.structure.kind
    if kind in ("regular simplex", "orthogonal frame"):
        return f"{'a' if kind[0] == 'r' else 'an'} {kind}"
    return "this geometry"


def sentence(report: DesignReport) -> str:
    """The answer in one sentence."""
    noun, loss, k = NOUNS[report.problem["change"]], report.problem["loss"]["name"], len(report.names)
    if report.feasible:
        angle = f": all {k} classes at {in_degrees(report.structure.min_angle_deg)} from each other"
        return f"With these {noun} {loss} wants {wanted(report)}{angle if 'simplex' in wanted(report) else ''}."
    none = report.refutation
    if isinstance(none, Refutation) and none.anything:
        return f"No weights, denominators, margins or batches make {wanted(report)} the optimum of {loss}."
    if report.problem["change"] == "batches" and "batches" in report.problem["loss"]:
        noun = "batches among those given"
    if none is not None:
        return f"No {noun} make {wanted(report)} of these {k} classes the optimum of {loss}."
    return f"No {noun} were found that make {wanted(report)} of these {k} classes the optimum of {loss}."


def how_sure(report: DesignReport) -> str:
    """What is proven, and by what."""
    found, none = report.optimality, report.refutation
    if found is not None:
        only = " It is the only optimum." if report.only else ""
        figures = (found.value, found.lower_bound, found.gap, found.certified, found.tolerance)
        proven = proof_lines(*figures, assumption=report.assumption or "")
        return f"{proven} This is of the target, with the weights fed back.{only}"
    if isinstance(none, UnequalMasses):
        if none.excess is not None:
            return (
                "Proven: a regular simplex needs the same force between all pairs. Where all classes but one weigh the "
                "same as anchors, that is a quadratic equation for the denominator of the other, without a solution."
            )
        return (
            "Proven: a regular simplex needs the same force between all pairs, and with four or more classes, whatever "
            "the denominators, that needs all classes but one at most to weigh the same as anchors; these do not."
        )
    if none is None:
        looked = "" if report.problem["change"] != "margins" else " Margins beyond 4 are not looked for."
        return f"That there are none is not proven.{looked}"
    each = "batch" if report.problem["change"] == "batches" else "anchor"
    if none.anything:
        lowest = float(np.linalg.eigvalsh(report.target)[0])
        hint = f" If the target is rounded, give more digits: its smallest eigenvalue is {lowest:.1g}."
        return (
            "Proven: the loss pushes every two classes apart, whatever counts how much, and at this target such forces "
            "cannot cancel, as they would at an optimum. --json has the numbers that show it (a Farkas certificate, "
            "recomputed after rounding)."
        ) + (hint if EXACT < lowest < ROUNDED else "")
    cancelling = f"forces that cancel sum to no more than 0 (largest eigenvalue {number(none.largest_eigenvalue, 3)})"
    if not np.isfinite(none.largest_eigenvalue):
        cancelling = "at this target no forces cancel, as it leaves out no dimension"
    return (
        f"Proven by contradiction: weighted with numbers that were found for the pairs of classes, the forces of every "
        f"{each} sum to more than 0 (at least {number(none.least_gain, 3)}), while {cancelling}; at an optimum they "
        "would have to cancel. --json has these numbers (a Farkas certificate, recomputed after rounding)."
    )


def other_ways(report: DesignReport) -> str:
    """Which change has an answer where this one has none."""
    if report.problem["change"] == "batches" and "batches" in report.problem["loss"]:
        return "Other batches may: without --batches every group of classes is one to choose from."
    if report.structure.kind != "regular simplex" or report.problem["change"] not in ("anchors", "denominators"):
        return ""
    return "Class weights and denominators together (--change both), or margins, make classes of any sizes a simplex."


def grid(report: DesignReport, gram: Any, width: int) -> Table:
    """Cosines below the diagonal, angles above it."""
    return cosine_grid(gram, list(report.names), [True] * len(report.names), width)


def parts_of(change: str, weights: Any) -> dict[str, Any]:
    """The weights by what they are."""
    return weights if isinstance(weights, dict) else {change: weights}


def weight_table(report: DesignReport, parts: dict[str, Any]) -> Table | str:
    """A row a class: share, anchor mass with the weight of each of its samples, denominator; or the margins; or a row a
    batch."""
    if len(report.names) > SHOWN:
        return ""
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    if "batches" in parts:
        table.add_column("classes in the batch")
        table.add_column("how often", justify="right")
        for group, often in zip(parts["batches"], parts["batch_weights"], strict=True):
            table.add_row(", ".join(report.names[a - 1] for a in group), number(often))
        return table
    columns: dict[str, Any] = {"share": report.proportions}
    if "margins" in parts:
        columns = {f"margin to {name}": parts["margins"][:, a] for a, name in enumerate(report.names)}
    if "anchors" in parts:
        columns["anchor mass"] = parts["anchors"]
        columns["class weight"] = parts["anchors"] / drawn(report)
    if "denominators" in parts:
        columns["in denominators"] = parts["denominators"]
    table.add_column("class")
    for title in columns:
        table.add_column(title, justify="right")
    for a, name in enumerate(report.names):
        table.add_row(name, *(number(float(column[a])) for column in columns.values()))
    return table


def drawn(report: DesignReport) -> Any:
    """How often each class is drawn: by share, or by the sampler."""
    powers = report.proportions ** report.problem["loss"].get("sampler", 1.0)
    return powers / powers.sum()


def to_use(report: DesignReport) -> Iterator[str]:
    """The weights as a list, as YAML and as a torch tensor, and the command that verifies them."""
    parts = parts_of(report.problem["change"], report.weights)
    given = {name: rounded(value) for name, value in (report.parameters or {}).items()}
    loss: dict[str, Any] = {**report.problem["loss"], **given}
    yield "\nAs a list:"
    for name, values in parts.items():
        yield f"  {name.replace('_', ' ')}: {written(rounded(values))}"
    yield "As YAML, in a problem file:"
    yield "  loss:"
    for key, value in loss.items():
        if value is not False:
            yield f"    {key}: {yaml(value)}"
    yield "As a torch tensor:"
    for name, values in parts.items():
        if name not in TENSORS:
            continue
        factor = values if name in ("margins", "batch_weights") else values / drawn(report)
        yield f"  {TENSORS[name][0]} = torch.tensor({nested(rounded(factor))})  # {TENSORS[name][1]}"
    classes: dict[str, Any] = {
        key: report.problem[key] for key in ("props", "counts", "labels", "dataset", "names") if key in report.problem
    }
    again = command_line(Imbalance(**classes, loss=loss))
    yield "To verify:"
    if len(again) <= LONGEST:
        yield f"  {again}"
    else:
        yield "  geomsolve solve FILE, a problem file with kind: imbalance, these classes and the loss above"


TENSORS = {
    "anchors": ("class_weight", "the loss of each anchor times that of its class"),
    "denominators": ("denominator_weight", "each term of a denominator times that of its class"),
    "batch_weights": ("batch_weight", "how often each batch comes: torch.multinomial(batch_weight, 1) chooses one"),
    "margins": ("margin", "added to the cosine of anchor and term, before dividing by the temperature"),
}


def rounded(values: Any) -> Any:
    """Numbers as they are printed: rounded, as nested tuples."""
    if isinstance(values, (tuple, list, np.ndarray)):
        return tuple(rounded(x) for x in values)
    if isinstance(values, int):
        return values
    return float(f"{values:.{DIGITS}g}")


def nested(values: Any) -> str:
    """Numbers, or rows of them, in brackets."""
    return f"[{', '.join(map(nested, values))}]" if isinstance(values, tuple) else str(values)


def yaml(value: Any) -> str:
    """A parameter of a loss in YAML."""
    if value is True:
        return "true"
    return nested(tuple(value)) if isinstance(value, (tuple, list)) else str(value)
