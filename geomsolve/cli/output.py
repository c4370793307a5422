"""Where answers go: text or JSON on stdout, notices on stderr, files written whole or not at all.

Flags that commands without a loss share stand here too: their help need not load the losses.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from geomsolve.analyses.notices import notices
from geomsolve.cli.notes import note
from geomsolve.cli.reader import while_read
from geomsolve.errors import InputError
from geomsolve.files import refuse_overwriting, write_together
from geomsolve.plots import check_file, render
from geomsolve.questions.base import Problem
from geomsolve.report import Report
from geomsolve.report import to_json as to_json

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout instead of text.")
no_color_option = click.option("--no-color", is_flag=True, help="No colour (the variable NO_COLOR does the same).")
proofs_option = click.option(
    "--proof",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Also write proofs that stand alone into DIR, of the answers that have one.",
)
debug_option = click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")


OBEYED = {sign: 0x2400 + sign for sign in range(32) if sign not in (9, 10)} | dict.fromkeys(
    (*range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD
)
"""Signs that a terminal obeys instead of showing them, each with one that stands for it."""


class Screen(Console):
    """A console on which names and titles, which anyone may have written, are shown and not obeyed."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else text.translate(OBEYED), style, control)

    def on_broken_pipe(self) -> None:
        """Leave it to :func:`geomsolve.cli.reader.while_read`, which still has to see whose pipe it is."""
        raise  # called while the error is handled


def console(*, no_color: bool) -> Console:
    """A console for stdout: as wide as COLUMNS or the terminal, else 100 columns; markup and emoji off."""
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal() else 100
    return Screen(no_color=no_color or None, width=width, markup=False, emoji=False, highlight=False)


File = tuple[str, str, str | bytes]
"""A file to be written: the field that names it, its path and its content."""


class Show(Protocol):
    """How a command prints its report for a person; ``quiet``: only the sentence with the answer."""

    def __call__(self, report: Any, screen: Console, *, quiet: bool) -> None: ...


@dataclass(frozen=True)
class Output:
    """Where an answer goes, as the flags say that all commands share (:func:`geomsolve.cli.options.output_options`)."""

    as_json: bool
    out: str | None
    plot: str | None
    style: str | None
    size: tuple[float, float] | None
    quiet: bool
    no_color: bool
    full: bool = False
    digits: int | None = None
    written: tuple[tuple[str, str], ...] = ()
    """What is to be written, each with its field; of some commands more than ``out`` and ``plot``."""
    noticed: list[str] = field(default_factory=list)
    """What was said, or with ``quiet`` would have been."""

    def notify(self, problem: Problem) -> None:
        """Say on stderr what was understood differently from what was written; files that were read for the problem
        are not to be written to."""
        refuse_overwriting(self.written)
        self.noticed.extend(notices(problem))
        for notice in () if self.quiet else self.noticed:
            note(notice)

    def deliver(
        self, report: Report, show: Show, answer: dict[str, Any] | None = None, *, files: Sequence[File] = ()
    ) -> int:
        """Give a report to the user, as JSON or by ``show``, and to all files or, if one cannot be written, to none;
        returns the exit code.

        ``answer`` is the JSON object, where that is not the report's own; ``files`` are written besides.
        """
        report = report.noting(*self.noticed)
        if answer is not None and report.notices:
            answer = {**answer, "notes": list(report.notices)}
        if answer is None:
            answer = report.to_dict(full=self.full) if self.as_json or self.out or self.plot else {}
        picture = None
        if self.plot:
            suffix = check_file(self.plot)
            look: Any = {"style": self.style or "paper", "size": self.size}
            picture = render(answer, suffix, **look) or render(report.to_dict(full=True), suffix, **look)
            if picture is None:
                raise InputError("there is no picture of this answer; leave --plot out", field="plot")
        text = to_json(answer) if self.as_json or self.out else ""
        written = list(files)
        if self.out:
            written.append(("out", self.out, text + "\n"))
        if self.plot and picture:
            written.append(("plot", self.plot, picture))
        write_together(written)
        with while_read():
            if self.as_json:
                click.echo(text)
            else:
                show(report, console(no_color=self.no_color), quiet=self.quiet)
        return report.exit_code
