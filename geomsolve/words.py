"""Plurals, numbers, lists and flags in words, said once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

ROUNDING = 1e-14
"""Losses in nats, cosines and squared distances no farther from 0 than this are 0 up to rounding."""

LEVEL = 1e-15
"""Gaps, relative above 1, that are nothing but rounding."""

UNSEEN = 1e-4
"""Nats that training does not see: batches, seeds and augmentation move the loss by more."""


VALUE = 6
"""Digits from which on a number is a value, whose digits can be asked for, and no remark on its size."""

MOST_DIGITS = 17
"""Significant digits of a double."""

_asked: ContextVar[int | None] = ContextVar("digits", default=None)


@contextmanager
def digits_asked(digits: int | None) -> Iterator[None]:
    """Values have so many digits meanwhile: losses and thresholds significant ones, cosines decimals, angles as many as
    their cosine has."""
    before = _asked.set(None if digits is None else min(digits, MOST_DIGITS))
    try:
        yield
    finally:
        _asked.reset(before)


def number(x: float, digits: int = VALUE) -> str:
    """A number for a person: ``digits`` significant ones, or more where these are asked for, and no -0."""
    asked = _asked.get()
    return f"{x:z.{digits if asked is None or digits < VALUE else max(asked, digits)}g}"


def rounded(x: float, digits: int = VALUE) -> str:
    """A loss, a cosine or a squared distance for a person, with as many digits as were asked for."""
    asked = _asked.get()
    x = 0.0 if abs(x) <= ROUNDING else x
    return f"{x:z.{digits if asked is None else asked}g}"


def signed(x: float, *, sign: str = "+") -> str:
    """A cosine: +0.5000."""
    asked = _asked.get()
    return f"{x:{sign}z.{4 if asked is None else asked}f}"


def in_degrees(angle: float, decimals: int = 1) -> str:
    """An angle in degrees: 104.5°."""
    asked = _asked.get()
    return f"{angle:.{decimals if asked is None else max(0, asked - 3)}f}°"


def listing(names: Sequence[str], most: int = 8) -> str:
    """Names as a phrase: 'a, b and c', or the first few and how many more."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def counted(n: int, one: str, many: str = "") -> str:
    """A number of things in words: '1 row', '2 rows'; ``many`` is the plural where it takes more than an s."""
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def flag_of(field: str) -> str:
    """The flag that fills a problem's field: ``loss.full_batch`` is ``--full-batch``, ``loss.name`` is ``--loss``."""
    name = field.removesuffix(".name").split(".")[-1]
    return "--" + name.replace("_", "-")


def left(gap: float, value: float, digits: int = 2) -> str:
    """What a proof of a loss of ``value`` nats leaves open: 'gap 2.5e-12', or in words where that is rounding."""
    return "gap at rounding level" if gap <= LEVEL * max(1.0, abs(value)) else f"gap {gap:.{digits - 1}e}"


def nats(x: float) -> str:
    """A small difference of losses for a person: '0.062 nats', or, where it is lost in training, '6e-08 nats'."""
    return f"{number(x, 1) if x < UNSEEN else rounded(x, 2)} nats"


def stakes(excess: float) -> str:
    """What the regular simplex would lose, in words a trainer understands, as the end of a sentence."""
    if excess < UNSEEN:
        return f"but only by {nats(excess)}: training will not see it"
    return f"which is worth {nats(excess)}"


def worth(excess: float) -> str:
    """The same as a few words: 'worth 0.062 nats', 'worth 6e-08 nats: unseen'."""
    return f"worth {nats(excess)}{': unseen' if excess < UNSEEN else ''}"
