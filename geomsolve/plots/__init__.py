"""Pictures of answers, each made from the JSON object of a report alone, so that stored answers can be drawn too.

The picture of a command is the function ``figure`` of the module here that is named like it.  matplotlib (extra
``plot``) is loaded when the first one is drawn.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import pkgutil
from pathlib import Path
from typing import Any

from geomsolve.errors import InputError

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


def draw(answer: dict[str, Any], into: Any = None) -> Any:
    """The picture of a report's JSON object, a figure; None where its command has none.

    With ``into``, axes of matplotlib, it is drawn in their place: the part of their figure that it takes is returned.
    """
    if answer["command"] not in pictured():
        return None
    from matplotlib import rc_context

    from geomsolve.plots._style import STYLE, placed

    with rc_context(STYLE), placed(into):
        return importlib.import_module(f"{__name__}.{answer['command']}").figure(answer)


def render(answer: dict[str, Any], suffix: str) -> bytes | None:
    """The picture as the content of a file of that format; the same answer gives the same bytes."""
    figure = draw(answer)
    if figure is None:
        return None
    from matplotlib import rc_context

    from geomsolve.plots._style import STYLE

    target = io.BytesIO()
    dated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[suffix]
    with rc_context({**STYLE, "svg.hashsalt": str(answer.get("sha256", "geomsolve"))}):
        figure.savefig(target, format=suffix, metadata=dated)
    return target.getvalue()
