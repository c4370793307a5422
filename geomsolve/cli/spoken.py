"""Answers as text and for a notebook, in the words of their commands: what ``print(report)`` and a cell show.

    text(report)     everything that the command prints
    brief(report)    the sentence and, where there is one, its proof
    page(report)     the same as text, in HTML that is legible on white and on black: colours stand on a ground of their
                     own, and all else takes those of the page

``report.py`` finds this module by its name when it is first asked, as it lies below.
"""

from __future__ import annotations

import importlib
import io
from html import escape
from typing import Any

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from geomsolve.cli.answers import show
from geomsolve.cli.render import proof_lines
from geomsolve.report import ProvenReport, Report

WIDTH = 100
"""Columns of text, as where a command writes to no terminal."""


def text(report: Report, *, width: int = WIDTH, quiet: bool = False) -> str:
    """What the command prints, without colour; with ``quiet`` only the sentence."""
    screen = _screen(width)
    show(report, screen, quiet=quiet)
    return screen.export_text().rstrip("\n")


def brief(report: Report, *, width: int = WIDTH) -> str:
    """The sentence with the answer, and how sure it is."""
    own = getattr(importlib.import_module(f"geomsolve.cli.commands.{report.command}"), "show_proof", None)
    screen = _screen(width)
    show(report, screen, quiet=True)
    if own is not None and isinstance(report, ProvenReport):
        own(report, screen)
    elif isinstance(report, ProvenReport):
        screen.print(_proof(report))
    return screen.export_text().rstrip("\n")


def page(report: Report, *, width: int = WIDTH) -> str:
    """The answer as a piece of HTML: the sentence as a paragraph, the rest with its coloured grid below."""
    sentence = text(report, width=width, quiet=True)
    screen = _screen(width)
    show(report, screen, quiet=False)
    lines = screen.export_html(theme=_INK, inline_styles=True, code_format="{code}").rstrip("\n").split("\n")
    rest = "\n".join(lines[len(sentence.split("\n")) :]).strip("\n")
    below = f'<pre style="{_PLAIN}">{rest}</pre>' if rest else ""
    return (
        '<div class="geomsolve" style="color: inherit; background: transparent">'
        f"<p><strong>{escape(' '.join(sentence.split()))}</strong></p>{below}</div>"
    )


_INK = TerminalTheme((255, 255, 255), (0, 0, 0), [(0, 0, 0), *[(128, 128, 128)] * 6, (255, 255, 255)])
"""What black and white are: themes of terminals make them grey, which is hard to read on the colours of a grid."""

_PLAIN = "color: inherit; background: transparent; line-height: 1.3; overflow-x: auto; white-space: pre"


def _screen(width: int) -> Console:
    """A console that keeps what it is given, with all its colours."""
    plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False, "legacy_windows": False}
    return Console(
        file=io.StringIO(),
        record=True,
        width=width,
        force_terminal=True,
        color_system="truecolor",
        no_color=False,
        **plain,
    )  # fmt: skip


def _proof(report: ProvenReport) -> str:
    """How sure a value is."""
    assumption = getattr(report, "assumption", None) or ""
    proven = (report.value, report.lower_bound, report.gap, report.certified, report.problem["tolerance"])
    return proof_lines(*proven, assumption=assumption)
