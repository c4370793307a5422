"""Flags of the commands that ask about labels of samples: the weighting, and what it is asked about."""

from __future__ import annotations

from collections.abc import Callable

import click

from geomsolve.cli.options import ChoiceOption, F, stacked, temperature_option
from geomsolve.questions.realizable import Realizable
from geomsolve.registry import WEIGHTINGS


def weighting_option(*flags: str) -> Callable[[F], F]:
    """The flag that names a weighting."""
    return click.option(
        *flags,
        "weighting",
        cls=ChoiceOption,
        registry=WEIGHTINGS,
        required=True,
        metavar="NAME",
        help="The weighting; see geomsolve list weightings.",
    )


label_options = stacked(
    click.option(
        "--labels", metavar="LABELS", help="20,25,30, 0,0;1,0;0,1, @ages.csv:age, @y.npy, - or a set (list labels)."
    ),
    temperature_option(Realizable),
    click.option("--similarity", metavar="cosine|euclidean", help="Of the latents (default: what it is made for)."),
    click.option("--self-pairs", metavar="include|exclude", help="Whether a sample (its views) pairs with itself."),
    click.option("--normalise", metavar="rows|columns", help="How weights are normalised (default rows)."),
    click.option("--dim", type=int, metavar="D", help="Dimensions of the latents (default no limit)."),
    click.option("--arc", type=float, metavar="R", help="Bend scalar labels onto a circle of radius R first."),
    click.option("--sample", type=int, metavar="N", help="Keep N labels, drawn at random (--seed)."),
    click.option("--bin", type=float, metavar="WIDTH", help="Round labels to multiples of WIDTH; says what it costs."),
    click.option(
        "--eigenvalue-tolerance", type=float, metavar="TOL", help="Relative size that counts as 0 (default 1e-10)."
    ),
)

weighting_options = stacked(weighting_option("--weighting"), label_options)
