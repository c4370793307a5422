"""How all pictures look: legible in print, told apart by colour-blind readers, and nothing that carries no data."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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

BLUE, ORANGE, GREEN, INK, FAINT = "#0072B2", "#D55E00", "#009E73", "#222222", "#9A9A9A"
"""Okabe & Ito's colours, which readers with any colour vision tell apart."""

DIVERGING, SEQUENTIAL = "RdBu_r", "cividis"
"""Colour maps for signed quantities (0 is white) and for angles."""


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
        return shown_figure()(figsize=size)
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


def weighting_of(answer: dict[str, Any]) -> str:
    """The weighting of a problem with its temperature, for a title."""
    asked = answer["problem"]
    temperature = f", temperature {number(asked['temperature'])}" if "temperature" in asked else ""
    return f"{asked.get('weighting', 'weights')}{temperature}"


def angles(cosines: Any) -> Any:
    """Cosines as angles in degrees."""
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
