"""Pictures of answers, each made from the JSON object of a report alone, so that stored answers can be drawn too.

The picture of a command is the function ``figure`` of the module here that is named like it.  matplotlib (extra
``plot``) is loaded when the first one is drawn.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import io
import pkgutil
from pathlib import Path
from typing import Any

from geomsolve.errors import InputError, nearest

FORMATS = ("png", "svg", "pdf")


def pictured() -> list[str]:
    """Commands whose answers have a picture."""
    return sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))


def check_file(path: str) -> str:
    """The format of a picture at ``path``; InputError if it cannot be drawn or written there."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise InputError(f"a picture ends in {', '.join('.' + f for f in FORMATS)}, got {path!r}", field="plot")
    if not Path(path).parent.is_dir():
        raise InputError(f"there is no folder {str(Path(path).parent)!r}", field="plot")
    check_matplotlib(field="plot")
    return suffix


def check_matplotlib(*, field: str = "") -> None:
    """InputError saying what to install, if pictures cannot be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("pictures need matplotlib: pip install 'geomsolve[plot]'", field=field)


STYLE_NAMES = ("paper", "slide")

MOST_INCHES = 50.0


def size_of(text: str) -> tuple[float, float]:
    """Width and height in inches, as ``6,4``; InputError where they are none."""
    parts = text.lower().replace("x", ",").split(",")
    try:
        width, height = map(float, parts)
    except ValueError:
        width = height = 0.0
    if not (1 <= width <= MOST_INCHES and 1 <= height <= MOST_INCHES):
        raise InputError(f"wanted width and height in inches, 1 to {MOST_INCHES:g}: 6,4; got {text!r}", field="size")
    return width, height


def draw(
    answer: dict[str, Any], into: Any = None, *, style: str = "paper", size: tuple[float, float] | None = None
) -> Any:
    """The picture of a report's JSON object, a figure; None where its command has none.

    With ``into``, axes of matplotlib, it is drawn in their place: the part of their figure that it takes is returned.
    ``style``: paper, or slide with larger letters and lines.  ``size``: width and height in inches.
    """
    if answer["command"] not in pictured():
        return None
    from matplotlib import rc_context

    from geomsolve.plots._style import STYLE, STYLES, enlarged, looking, placed

    if style not in STYLES:
        raise InputError(f"unknown style {style!r}; {nearest(style, STYLES)}", field="style")
    with rc_context(STYLE), placed(into), looking(dataclasses.replace(STYLES[style], size=size)):
        drawn = importlib.import_module(f"{__name__}.{answer['command']}").figure(answer)
        if drawn is not None:
            enlarged(drawn)
        return drawn


def render(
    answer: dict[str, Any], suffix: str, *, style: str = "paper", size: tuple[float, float] | None = None
) -> bytes | None:
    """The picture as the content of a file of that format; the same answer gives the same bytes."""
    figure = draw(answer, style=style, size=size)
    if figure is None:
        return None
    from matplotlib import rc_context

    from geomsolve.plots._style import STYLE

    target = io.BytesIO()
    dated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[suffix]
    with rc_context({**STYLE, "svg.hashsalt": str(answer.get("sha256", "geomsolve"))}):
        figure.savefig(target, format=suffix, metadata=dated)
    return target.getvalue()
