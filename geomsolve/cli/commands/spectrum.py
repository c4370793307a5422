"""Which frequencies of images does contrastive learning keep?"""

from __future__ import annotations

from math import inf
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from geomsolve.analyses.spectrum import SpectrumReport, spectrum
from geomsolve.cli.options import output_options
from geomsolve.cli.output import Output
from geomsolve.cli.render import proof_lines
from geomsolve.gram.types import FloatArray
from geomsolve.questions.spectrum import Spectrum
from geomsolve.words import listing, number

ROWS = 16
"""Frequencies that the table shows at most."""

BAR = 20
"""Characters of the longest bar."""


@click.command("spectrum", epilog="Example: geomsolve spectrum --power power-law:2:64 --noise 0.01")
@click.option(
    "--power", metavar="LIST", help="Image power at 1, 2, ... cycles: power-law:2:64 (k^-2), @file or a list."
)
@click.option("--images", metavar="PATH", help="Images whose spectrum to take: an npy file, or a folder of png files.")
@click.option("--noise", type=float, metavar="V", help="Augmentation: variance of added white noise (default 0).")
@click.option(
    "--blur", type=float, metavar="B", help="Augmentation: Gaussian blur of cut-off B cycles, every other view."
)
@click.option("--crop", type=float, metavar="C", help="Augmentation: shifts by up to C/2 image widths (default 0).")
@click.option("--jitter", type=float, metavar="J", help="Augmentation: contrast, standard deviation J (default 0).")
@click.option("--eps", type=float, metavar="E", help="Temperature: similarity is -|z - z'|^2 / (2 E) (default 0.1).")
@click.option("-t", "--alignment", type=float, metavar="T", help="Weight of alignment (default 1/E, that of InfoNCE).")
@click.option("--tolerance", type=float, metavar="TOL", help="Relative gap that counts as certified (default 1e-6).")
@output_options
def command(output: Output, **flags: Any) -> int:
    """Which frequencies of images does contrastive learning keep?

    The best linear features of stationary images are waves. Contrastive learning spreads a budget of feature power
    over their frequencies, more where augmentations change little: which frequencies survive, with what power, and
    the water level, the share of its power that an augmentation may change before a frequency is dropped.
    """
    return output.deliver(spectrum(Spectrum(**flags)), show)


def show(report: SpectrumReport, screen: Console, *, quiet: bool) -> None:
    """Print the answer for a person: sentence, table, how sure, what would change it."""
    screen.print(sentence(report), style="bold")
    if quiet:
        return
    screen.print(setting(report.problem))
    screen.print()
    screen.print(table(report))
    screen.print(
        "\nchanged: the part of its power that augmentations change. feature power: what contrastive\n"
        "learning gives to it. gain: feature power by image power, as a filter's amplitude."
    )
    used = float(report.many @ report.allocation)
    screen.print(f"The feature uses {used:.1%} of its budget of power.\n")
    tolerance = report.problem["tolerance"]
    what = "set of linear features"
    screen.print(proof_lines(report.value, report.lower_bound, report.gap, report.certified, tolerance, embedding=what))
    change = what_would_change(report)
    if change:
        screen.print(f"\n{change}")


def sentence(report: SpectrumReport) -> str:
    """The answer in one sentence."""
    n, kept = report.frequencies.size, report.surviving.size
    if kept == 0:
        return (
            f"Nothing survives: augmentations change every frequency by at least {report.water_level:.1%} of its power."
        )
    if kept == n:
        return "The only frequency survives." if n == 1 else f"All {n:,} frequencies survive."
    names = listing(ranges(report.surviving))
    one = kept == 1
    level = f"{'the one' if one else 'those'} that augmentations change by less than {report.water_level:.1%} of"
    power = "the only one that has power" if one else "all that have power"
    rest = f"{level} {'its' if one else 'their'} power" if report.water_level < inf else power
    return f"{kept:,} of {n:,} frequencies {'survives' if one else 'survive'}: {names}, {rest}."


def ranges(frequencies: FloatArray) -> list[str]:
    """Frequencies as ranges: '1 to 9', '12'."""
    breaks = np.flatnonzero(np.diff(frequencies) > 1) + 1
    runs = np.split(frequencies, breaks)
    return [f"{run[0]:g}" if run.size == 1 else f"{run[0]:g} to {run[-1]:g}" for run in runs]


def setting(problem: dict[str, Any]) -> str:
    """What was asked: spectrum, augmentations, parameters."""
    power = problem.get("power")
    source = f"Images of {problem['images']}" if power is None else "Spectrum of the numbers given"
    if isinstance(power, str):
        source = f"Spectrum {power}"
    used = [f"{name} {problem[name]:g}" for name in ("noise", "blur", "crop", "jitter") if problem.get(name)]
    augmented = f"augmentations {', '.join(used)}" if used else "no augmentations"
    return f"{source}; {augmented}; eps {problem['eps']:g}, weight of alignment {problem['alignment']:g}."


def table(report: SpectrumReport) -> Table:
    """One row a frequency, the first and the last where there are many."""
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    several = bool(np.any(report.many > 1))
    for title in ("cycles", "waves", "image power", "changed", "feature power", "gain"):
        if several or title != "waves":
            grid.add_column(title, justify="right", no_wrap=True)
    grid.add_column("")
    largest = max(float(report.allocation.max()), 1e-300)
    n = report.frequencies.size
    for k in range(n):
        if n > ROWS and ROWS - 3 <= k < n - 2:
            if k == ROWS - 3:
                grid.add_row(*["…"] * (6 if several else 5))
            continue
        kept = report.allocation[k]
        cells = [f"{report.frequencies[k]:g}", f"{report.many[k]:g}", number(report.power[k], 4)]
        changed = f"{report.variance[k]:.1%}" if report.power[k] > 0 else "no power"
        cells += [changed, number(kept, 4), number(report.gain[k], 4)]
        grid.add_row(*(cells if several else cells[:1] + cells[2:]), "█" * round(BAR * kept / largest))
    return grid


def what_would_change(report: SpectrumReport) -> str:
    """The frequency that is nearest to being kept or dropped next."""
    dropped = np.flatnonzero((report.allocation == 0) & np.isfinite(report.variance))
    if dropped.size == 0:
        return ""
    k = dropped[np.argmin(report.variance[dropped])]
    return (
        f"The next to survive would be frequency {report.frequencies[k]:g}: augmentations change "
        f"{report.variance[k]:.1%} of its power, the water level is {report.water_level:.1%}."
    )
