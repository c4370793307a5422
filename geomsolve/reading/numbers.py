"""Numbers as users write them: 0.25, 1e-3, fractions 1/4, repeats 4*0.25.

A *whole number* is written without a sign, leading zeros or a point where it can be: ``1`` is one, ``01``, ``+1`` and
``1.0`` are not, so that texts that differ never become the same number.
"""

from __future__ import annotations

import re
from fractions import Fraction

from geomsolve.errors import InputError

MOST_ITEMS = 10_000_000
"""Items that a repeat like ``5*0.2`` may expand to: as classes they take less than 2 GiB."""

SMALLEST, LARGEST = 1e-100, 1e100
"""Sizes between which the numbers of a question lie, unless they are 0: their squares, sums and ratios are numbers."""

LARGEST_EXACT = 2**53
"""The largest whole number up to which floating-point numbers hold every one."""

INEXACT = "a whole number with more digits than floating-point numbers hold; it would become another one"

_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


class NoNumberError(InputError):
    """A word is no number."""


def number(token: str, place: str = "") -> float:
    """The number that ``token`` is; ``place`` (' in line 3 of ...') ends the complaint if it is none.

    nan and inf are numbers, for the caller to judge.
    """
    try:
        if "/" in token:
            return float(Fraction(token.replace(" ", "")))
        if "_" in token:
            raise ValueError
        return float(token)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise NoNumberError(f"{token!r}{place} is not a number") from None


def exact(token: str, place: str = "") -> float:
    """:func:`number`, which refuses whole numbers that would become others."""
    value = number(token, place)
    if LARGEST_EXACT <= abs(value) <= LARGEST and is_whole(token) and int(token) != value:
        raise InputError(f"{token!r}{place} is {INEXACT}")
    return value


def in_range(x: float) -> bool:
    """Whether a number is 0 or of a size that can be computed with."""
    return x == 0 or SMALLEST <= abs(x) <= LARGEST


def is_number(text: str) -> bool:
    """Whether :func:`number` reads it."""
    try:
        number(text)
    except InputError:
        return False
    return True


def is_whole(text: str) -> bool:
    """Whether it is a whole number in the spelling that tells equal ones apart from all others."""
    return _WHOLE.fullmatch(text) is not None


def expand(token: str, place: str = "", already: int = 0) -> list[float]:
    """The number that ``token`` is, as often as it says before a star; ``already`` so many stand before it."""
    count, star, rest = token.partition("*")
    if not star:
        return [exact(token, place)]
    if not re.fullmatch(r"[0-9]+", count):
        raise InputError(f"{token!r}{place} is no repeat; write a count, a star and a number, as in 4*0.25")
    if already + int(count) > MOST_ITEMS:
        raise InputError(f"{token!r}{place} repeats too often; at most {MOST_ITEMS:,} numbers are read")
    return [number(rest, place)] * int(count)
