"""Flags that several commands share, each said once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import click

from geomsolve.cli.output import Output, debug_option, json_option, no_color_option, refuse_overwriting
from geomsolve.losses import REGISTRY
from geomsolve.plots import check_file
from geomsolve.solvers.choose import SOLVERS

F = TypeVar("F", bound=Callable[..., Any])


def stacked(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several click options as one decorator, shown by ``--help`` in the order given."""

    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def _picture(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    if path is not None:
        check_file(path)  # before anything is solved
    return path


def output_options(function: Callable[..., int]) -> Callable[..., int]:
    """The flags on where an answer goes, passed to ``function`` as one :class:`Output`.

    Of the other flags it gets those that were given.
    """

    @functools.wraps(function)
    def command(**flags: Any) -> int:
        common = {field.name: flags.pop(field.name) for field in fields(Output) if field.name in flags}
        refuse_overwriting(common["plot"], filter(None, [common["out"]]), field="plot")
        return function(Output(**common), **{key: value for key, value in flags.items() if value is not None})

    return stacked(
        click.option(
            "--plot", metavar="FILE", callback=_picture, help="Also draw the answer into FILE (png, svg or pdf)."
        ),
        json_option,
        click.option(
            "--out", type=click.Path(dir_okay=False), metavar="FILE", help="Also write the JSON object to FILE."
        ),
        click.option("--quiet", is_flag=True, help="Only the sentence with the answer; no notices."),
        no_color_option,
        debug_option,
    )(command)


solver_options = stacked(
    click.option("--solver", metavar="|".join(SOLVERS), help="How to solve (default auto, which says what it chose)."),
    click.option(
        "--tolerance", type=float, metavar="TOL", help="Relative gap that counts as certified (default 1e-6)."
    ),
    click.option("--seed", type=int, metavar="N", help="Seed of anything random (default 0)."),
)

class_options = stacked(
    click.option("--props", metavar="LIST", help="Class proportions: 0.7,0.2,0.1, 90*0.01,0.1, 1/3,2/3, @file or -."),
    click.option("--counts", metavar="LIST", help="Samples of each class, as whole numbers."),
    click.option("--dataset", metavar="NAME", help="A built-in data set; see geomsolve list datasets."),
    click.option("--names", metavar="LIST", help="Class names, one a class."),
)

weighting_options = stacked(
    click.option("--weighting", required=True, metavar="NAME", help="The weighting; see geomsolve list weightings."),
    click.option(
        "--labels", metavar="LABELS", help="20,25,30, 0,0;1,0;0,1, @ages.csv:age, @y.npy, - or a set (list labels)."
    ),
    click.option("-t", "--temperature", type=float, metavar="T", help="Temperature of the latents (default 0.1)."),
    click.option("--sigma", type=float, metavar="S", help="Width of the kernel on labels (default 1)."),
    click.option("--kernel", metavar="NAME", help="gaussian (default), epanechnikov, exponential, linear or cosine."),
    click.option("--epsilon", type=float, metavar="E", help="Weight across classes, soft-supcon (default 0.1)."),
    click.option("--target-temperature", type=float, metavar="T", help="Of the labels, xclr (default --temperature)."),
    click.option(
        "--weights", metavar="MATRIX", help="custom: symmetric weights, 1,.5;.5,1 or @file; blank is unknown."
    ),
    click.option("--target", metavar="MATRIX", help="custom: wanted cosines (or squared distances) instead."),
    click.option("--similarity", metavar="cosine|euclidean", help="Of the latents (default: what it is made for)."),
    click.option("--self-pairs", metavar="include|exclude", help="Whether a sample (its views) pairs with itself."),
    click.option("--normalise", metavar="rows|columns", help="How weights are normalised (default rows)."),
    click.option("--dim", type=int, metavar="D", help="Dimensions of the latents (default no limit)."),
    click.option("--arc", type=float, metavar="R", help="Bend scalar labels onto a circle of radius R first."),
    click.option("--sample", type=int, metavar="N", help="Keep N labels, drawn at random (--seed)."),
    click.option(
        "--eigenvalue-tolerance", type=float, metavar="TOL", help="Relative size that counts as 0 (default 1e-10)."
    ),
)


def loss_options(function: F) -> F:
    """``--loss`` and one flag for every parameter that some loss takes."""
    parameters = {p.name: p for cls in REGISTRY.values() for p in cls.takes().values()}
    options: list[Callable[[Any], Any]] = [
        click.option("--loss", metavar="NAME", help="The loss (default supcon); see geomsolve list losses.")
    ]
    for parameter in parameters.values():
        users = ", ".join(sorted(name for name, cls in REGISTRY.items() if parameter.name in cls.takes()))
        text = f"{parameter.help} [{users}]"
        if parameter.metavar:
            options.append(click.option(*parameter.flags, parameter.name, metavar=parameter.metavar, help=text))
        else:
            options.append(click.option(*parameter.flags, parameter.name, is_flag=True, default=None, help=text))
    return stacked(*options)(function)


def split_loss(flags: dict[str, Any]) -> dict[str, Any]:
    """Gather the loss flags among ``flags`` into ``{"loss": {...}}``."""
    names = {name for cls in REGISTRY.values() for name in cls.takes()}
    rest = dict(flags)
    loss = {key: rest.pop(key) for key in flags if key in names}
    return {**rest, "loss": {"name": rest.pop("loss", "supcon"), **loss}}
