"""Notices on stderr, and how they go with errors.

With ``--json`` stderr holds nothing but the one object of an error, if there is one: notices wait for the end, and
stand in that object or, after an answer, by themselves.  Without it they are said at once.
"""

from __future__ import annotations

import contextlib
import sys

import click

_waiting: list[str] = []


def as_objects() -> bool:
    """Whether errors are objects: whether ``--json`` is among the flags."""
    return "--json" in sys.argv[1:]


def note(text: str) -> None:
    """Say ``text`` on stderr, or keep it until it is known whether an error follows."""
    if as_objects():
        _waiting.append(text)
    else:
        _say(text)


def taken() -> list[str]:
    """The notices that wait, which then wait no more."""
    found = list(_waiting)
    _waiting.clear()
    return found


def say_waiting() -> None:
    """Say what waits: no error followed."""
    with contextlib.suppress(OSError, ValueError):  # who closed stderr does not want to know
        for text in taken():
            _say(text)


def _say(text: str) -> None:
    click.echo(f"Note: {text}", err=True)
