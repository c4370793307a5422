"""Ranges of near-optimal cosines for a person: a grid shaded by width, and sentences about what the loss settles."""

from __future__ import annotations

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from geomsolve.analyses.ranges import SETTLED, PairRange, Ranges
from geomsolve.gram.structure import angle_degrees
from geomsolve.proof.ranges import Range
from geomsolve.words import counted, in_degrees, number, signed

MOST_COLUMNS = 6
"""Classes up to which ranges stand in a grid; beyond, one line a pair."""

MOST_LINES = 15
"""Pairs listed where there is no grid: the widest and the narrowest."""


def shade(range_: Range) -> Style:
    """Background that darkens with the width of a range."""
    part = min(1.0, range_.width / 2)
    grey = round(255 - 150 * part)
    return Style(color="black", bgcolor=f"rgb(255,{grey},{round(255 - 235 * part)})")


def interval(range_: Range) -> str:
    """'-0.23 to -0.16'."""
    return f"{range_.low:+z.3f} to {range_.high:+z.3f}"


def show(ranges: Ranges, screen: Console, embedding: str = "embedding") -> None:
    """Print ranges; ``embedding`` is what they hold for."""
    screen.print(f"\n{opening(ranges)}", style="bold")
    screen.print(table(ranges))
    for line in closing(ranges, embedding):
        screen.print(line)


def opening(ranges: Ranges) -> str:
    """What a loss within the slack says about the angles, in one sentence."""
    widest = ranges.widest
    asked = "" if ranges.complete else " asked about"
    within = f"Within {number(ranges.slack, 3)} nats of the optimum"
    if widest.range.width <= SETTLED:
        return f"{within} every cosine asked about is settled to {widest.range.width:.2g}."
    told = f"the cosine of {ranges.noun} {' and '.join(widest.classes)} {may_be(widest.range)} {interval(widest.range)}"
    narrow = ranges.narrowest
    if narrow.range.width > SETTLED:
        tight = all(pair.range.certified for pair in ranges.pairs)
        settled = "is settled" if tight else "is proven to be settled"
        return f"{within} no angle{asked} {settled}: {told}; do not read digits into the grid above."
    return f"{within} {told}; that of {' and '.join(narrow.classes)} is settled to {narrow.range.width:.2g}."


def may_be(range_: Range) -> str:
    """'may be anywhere from', where both ends are attained."""
    return "may be anywhere from" if range_.certified else "is proven to be nowhere but from"


def table(ranges: Ranges) -> Table:
    """The ranges as a grid where they are few, else a line a pair, the widest first."""
    names = list(dict.fromkeys(name for pair in ranges.pairs for name in pair.classes))
    if len(names) <= MOST_COLUMNS and ranges.complete:
        return _grid(ranges, names)
    shown = sorted(ranges.pairs, key=lambda pair: -pair.range.width)
    lines = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in (ranges.noun, "optimum", "range", "width"):
        lines.add_column(title, justify="left" if title == ranges.noun else "right", no_wrap=title != ranges.noun)
    half = MOST_LINES // 2
    rows: list[PairRange | None] = list(shown)
    if len(shown) > MOST_LINES:
        rows = [*shown[:half], None, *shown[-half:]]
    for row in rows:
        if row is None:
            lines.add_row("…", "…", "…", "…")
            continue
        lines.add_row(
            " and ".join(row.classes),
            signed(row.cosine),
            Text(interval(row.range), style=shade(row.range)),
            f"{row.range.width:.3f}",
        )
    return lines


def _grid(ranges: Ranges, names: list[str]) -> Table:
    found = {frozenset(pair.classes): pair.range for pair in ranges.pairs}
    grid = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    grid.add_column("")
    for name in names[:-1]:
        grid.add_column(name, justify="right", no_wrap=True)
    for a, row in enumerate(names):
        cells = []
        for column in names[:a]:
            range_ = found.get(frozenset((row, column)))
            cells.append(Text("·") if range_ is None else Text(interval(range_), style=shade(range_)))
        if cells:
            grid.add_row(Text(row, style="bold"), *cells)
    return grid


def closing(ranges: Ranges, embedding: str = "embedding") -> list[str]:
    """What the smallest angle and the mean over minorities may be, and how sure; ``embedding`` is what that is for."""
    lines = []
    if (near := ranges.nearest) is not None:
        low, high = angle_degrees(near.range.high), angle_degrees(near.range.low)
        whose = f"{in_degrees(angle_degrees(near.cosine))} between {ranges.noun} {' and '.join(near.classes)}"
        lines.append(
            f"The smallest angle at the optimum, {whose}: this pair {may_be(near.range)} {in_degrees(low)} to "
            f"{in_degrees(high)}."
        )
    if ranges.minority_mean is not None:
        lines.append(f"Mean cosine among all classes but the largest: {interval(ranges.minority_mean)}.")
    means = () if ranges.minority_mean is None else (ranges.minority_mean,)
    tight = all(range_.certified for range_ in (*means, *(pair.range for pair in ranges.pairs)))
    proof = f"Proven: no {embedding} within that loss leaves a range"
    lines.append(f"{proof}{', and some come to each end' if tight else '; some ends may not be reached'}.")
    if not ranges.complete:
        pairs = counted(len(ranges.pairs), "pair")
        lines.append(
            f"Asked about: {pairs}, those that the loss holds least and most firmly first. --pairs a:b names others."
        )
    return lines
