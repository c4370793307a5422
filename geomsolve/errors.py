"""Every error that geomsolve raises on purpose, each with the exit code the command ends with.

A message says what was wrong, the value, and what to do.  Where it stands (a flag, or a line of a
problem file) is known only to the edge that read it, so an :class:`InputError` carries the *field*
(``"props"``, ``"loss.margin"``) and the edge turns that into ``--margin`` or ``file.yaml:3:9: loss.margin``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GeomsolveError(Exception):
    """Base class: catch this to catch everything geomsolve raises on purpose."""

    exit_code = 3


class InputError(GeomsolveError, ValueError):
    """The question itself is wrong; nothing was computed (exit code 2).

    ``field`` is the dotted name of the offending input, or ``""`` when no single one is to blame; ``rest`` are
    further complaints about the same question, for an edge that can show several.
    """

    exit_code = 2

    def __init__(self, message: str, *, field: str = "", rest: tuple[InputError, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.rest = rest

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class SolverError(GeomsolveError):
    """The question is sound, but no solver returned a usable answer (exit code 3)."""

    exit_code = 3


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint naming the known word closest to ``word``, then the first fifty: for messages about unknown names."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    guess = f"did you mean {close[0]!r}? " if close else ""
    return f"{guess}known: {', '.join(names[:50])}{', ...' if len(names) > 50 else ''}"
