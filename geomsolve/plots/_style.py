"""How all pictures look: legible in print, told apart by colour-blind readers, and nothing that carries no data."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from geomsolve.words import left

STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.6,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
"""matplotlib settings; text stays text in svg and pdf."""

BLUE, ORANGE, GREEN, INK, FAINT, SKY = "#0072B2", "#D55E00", "#009E73", "#222222", "#9A9A9A", "#A9D3EE"
"""Okabe & Ito's colours, which readers with any colour vision tell apart."""

DIVERGING, SEQUENTIAL, DENSITY = "RdBu_r", "cividis", "cividis_r"
"""Colour maps for signed quantities (0 is white), for angles, and for how many points lie somewhere."""


@dataclass(frozen=True)
class Look:
    """How a picture is made: for a page or for a wall (``enlarge`` is of letters and lines, ``stretch`` of the canvas),
    and of which ``size`` (width, height in inches) where it is not its own."""

    enlarge: float = 1.0
    stretch: float = 1.0
    size: tuple[float, float] | None = None


STYLES = {"paper": Look(), "slide": Look(enlarge=1.5, stretch=1.25)}
"""Looks by name."""

_LOOK: ContextVar[Look] = ContextVar("look", default=STYLES["paper"])

CELL = "cell"
"""What marks a text that has to fit into a cell: it grows as the canvas does."""

LETTERS = 11.5
"""Letters of a title that stand on an inch."""

_PLACE: ContextVar[Any] = ContextVar("place", default=None)
"""The axes in whose place pictures are drawn."""


@contextmanager
def placed(axes: Any) -> Iterator[None]:
    """Pictures are drawn in the place of these ``axes`` of matplotlib; in figures of their own where it is None."""
    token = _PLACE.set(axes)
    try:
        yield
    finally:
        _PLACE.reset(token)


def in_place() -> bool:
    """Whether a picture is drawn into axes, where there is room for one panel."""
    return _PLACE.get() is not None


@contextmanager
def looking(look: Look) -> Iterator[None]:
    """Pictures are made like this."""
    token = _LOOK.set(look)
    try:
        yield
    finally:
        _LOOK.reset(token)


def enlarged(drawn: Any) -> None:
    """Make all letters, lines and points of a picture as large as its look wants them."""
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    factor = _LOOK.get().enlarge
    if factor == 1.0:
        return
    for text in drawn.findobj(Text):
        text.set_fontsize(text.get_fontsize() * (_LOOK.get().stretch if text.get_label() == CELL else factor))
    for line in drawn.findobj(Line2D):
        line.set_linewidth(line.get_linewidth() * factor)
        line.set_markersize(line.get_markersize() * factor)
    for points in drawn.findobj(PathCollection):
        points.set_sizes(points.get_sizes() * factor**2)


def entitled(drawn: Any, *parts: str) -> None:
    """Give a picture its title: each of the ``parts`` on lines of its own, none longer than the picture is wide."""
    inches = drawn.bbox.width / drawn.figure.dpi
    width = max(20, int(inches * LETTERS / _LOOK.get().enlarge))
    lines = [line for part in parts if part for line in textwrap.wrap(part, width, break_long_words=True)]
    drawn.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10, linespacing=1.35)


@cache
def shown_figure() -> Any:
    """A kind of figure of matplotlib that a notebook shows without being told to."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that is its own png."""

        def _repr_png_(self) -> bytes:
            target = io.BytesIO()
            self.savefig(target, format="png", dpi=100)
            return target.getvalue()

    return Picture


def canvas(size: tuple[float, float]) -> Any:
    """A new figure of so many inches, or the part of a figure in the place of given axes, which then show nothing."""
    axes = _PLACE.get()
    if axes is None:
        look = _LOOK.get()
        return shown_figure()(figsize=look.size or (size[0] * look.stretch, size[1] * look.stretch))
    whole = axes.get_figure()
    spot = axes.get_subplotspec()
    if spot is None:  # axes that stand anywhere
        box = axes.get_position()
        spot = whole.add_gridspec(1, 1, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)[0]
    if whole.get_layout_engine() is None:  # without one, labels would reach beyond the part
        whole.set_layout_engine("constrained")
    axes.set_axis_off()
    return whole.add_subfigure(spot)


def spaced_in_log(values: Sequence[float]) -> bool:
    """Whether ascending values are better seen on a logarithmic axis: positive, uneven, spanning a factor above 8."""
    steps = np.diff(values)
    even = steps.size and np.ptp(steps) <= 1e-6 * np.abs(steps).max()
    return bool(min(values) > 0 and max(values) / min(values) >= 8 and not even)


def logarithmic(axes: Any, which: str) -> None:
    """Make the axis ``which`` of x and y logarithmic, with plain numbers at 1, 2 and 5 times the powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    getattr(axes, f"set_{which}scale")("log")
    axis = getattr(axes, f"{which}axis")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}" if value >= 1 else f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def clipped(name: str, longest: int = 14) -> str:
    """A name short enough for a tick label."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def number(x: float, digits: int = 4) -> str:
    """A number with that many significant digits."""
    return f"{x:.{digits}g}"


def loss_of(answer: dict[str, Any]) -> str:
    """The loss of a problem with its parameters, for a title."""
    shown = {
        key: number(x) if type(x) is float else str(x) for key, x in answer["problem"]["loss"].items() if x is not False
    }
    name = shown.pop("name")
    return ", ".join([name, *(f"{key.replace('_', ' ')} {text}" for key, text in shown.items())])


def proof_of(answer: dict[str, Any]) -> str:
    """How sure the loss of an answer is, for a title."""
    return f"proven, {left(answer['gap'], answer.get('value') or 0.0, 1)}" if answer["certified"] else "not proven"


def fitted(axes: Any, values: Any, *, least: float = 4.0, ends: tuple[float, float] = (0.0, 180.0)) -> None:
    """Fit the x axis of angles in degrees to the ``values``, at least so many degrees wide, within its ``ends``."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    low, high = (float(known.min()), float(known.max())) if known.size else ends
    room = 0.06 * max(high - low, least)
    middle, half = (low + high) / 2, max(high - low, least) / 2
    left_end, right_end = middle - half - room, middle + half + room
    slack = 0.02 * (right_end - left_end)
    axes.set_xlim(max(left_end, ends[0] - slack), min(right_end, ends[1] + slack))
    axes.locator_params(axis="x", nbins=6)


def weighting_of(answer: dict[str, Any]) -> str:
    """The weighting of a problem with its temperature, for a title."""
    asked = answer["problem"]
    temperature = f", temperature {number(asked['temperature'])}" if "temperature" in asked else ""
    return f"{asked.get('weighting', 'weights')}{temperature}"


def angles(cosines: Any) -> Any:
    """Cosines as angles in degrees."""
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
