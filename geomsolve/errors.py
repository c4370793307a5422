"""Every error that geomsolve raises on purpose, each with the exit code the command ends with.

A message says what was wrong, the value, and what to do.  Where it stands (a flag, or a line of a
problem file) is known only to the edge that read it, so an :class:`InputError` carries the *field*
(``"props"``, ``"loss.margin"``) and the edge turns that into ``--margin`` or ``file.yaml:3:9: loss.margin``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

LONGEST = 200
"""Characters of a word or a quote from which on a message shows only the ends: digits without end, or a file's line."""


def concise(message: str) -> str:
    """The message with only the ends of words and quotes that are very long, and with no sign that a terminal obeys."""
    visible = "".join(sign if sign.isprintable() or sign == "\n" else repr(sign)[1:-1] for sign in message)
    quotes = rf"'(?:[^'\\\n]|\\.){{{LONGEST},}}'|\"(?:[^\"\\\n]|\\.){{{LONGEST},}}\"|\S{{{LONGEST},}}"
    return re.sub(quotes, lambda long: f"{long[0][:40]}...{long[0][-10:]}", visible)


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

    @classmethod
    def together(cls, errors: Sequence[InputError]) -> InputError:
        """One error that says all of ``errors`` (at least one), for an edge that can show several."""
        every = [each for error in errors for each in (error, *error.rest)]
        return cls(every[0].message, field=every[0].field, rest=tuple(cls(e.message, field=e.field) for e in every[1:]))


class SolverError(GeomsolveError):
    """The question is sound, but no solver returned a usable answer (exit code 3)."""

    exit_code = 3


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """A hint naming the known word closest to ``word``, then the first fifty: for messages about unknown names."""
    names = sorted(known)
    return f"{guess(word, names, cutoff)}known: {', '.join(names[:50])}{', ...' if len(names) > 50 else ''}"


def guess(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """A question whether the known word closest to ``word`` was meant, with a space after it; empty if none is.

    Signs and capital letters count for nothing.  A word that begins with this one is closer than any other; the rest
    are compared by ``cutoff``, the part of their letters that have to agree.
    """
    written: dict[str, str] = {}
    for each in known:
        written.setdefault(bare(each), each)
    short = bare(word)
    begun = [each for each in written if len(short) > 2 and each.startswith(short)]
    close = begun[:1] or difflib.get_close_matches(short, written, n=1, cutoff=cutoff)
    return f"did you mean {written[close[0]]!r}? " if close else ""


def bare(word: str) -> str:
    """The letters and digits of a name, in small letters: what tells names apart."""
    return "".join(sign for sign in word.lower() if sign.isalnum())
