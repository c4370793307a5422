"""What questions share that ask how far cosines may be at a loss a little above the optimum: a slack, and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from geomsolve.errors import nearest


def read_pairs(value: Any) -> Any:
    """``a:b,c:d`` as pairs of names; a list may hold such texts too.  Raises ValueError for what is no pair."""
    if value is None:
        return None
    written = value.split(",") if isinstance(value, str) else value
    if not isinstance(written, (list, tuple)):
        raise ValueError(f"wanted pairs of classes, as in a:b,a:c, got {value!r}")
    pairs = []
    for entry in written:
        pair = [part.strip() for part in entry.split(":")] if isinstance(entry, str) else entry
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ValueError(f"{entry!r} is no pair of classes; write two names with a colon between, as in a:b")
        pairs.append(tuple(map(str, pair)))
    return tuple(pairs)


LEAST_SLACK = 1e-15
"""Nats: smaller differences of losses are lost in rounding."""

Slack = Annotated[
    float | None,
    Field(ge=LEAST_SLACK, le=100, allow_inf_nan=False, description="nats above the optimum for cosines' bounds"),
]
"""The field of a slack; None: not asked."""

Pairs = Annotated[
    tuple[tuple[str, str], ...] | None,
    Field(description="pairs of classes or labels whose ranges are wanted, a:b"),
    BeforeValidator(read_pairs),
]
"""The field of pairs by name."""


Nonnegative = Annotated[
    bool, Field(strict=True, description="whether features have no negative coordinate, as after a ReLU")
]
"""The field of features after a ReLU."""


def check_slack(slack: float | None, pairs: Sequence[tuple[str, str]] | None, limited: bool) -> None:
    """ValueError for pairs without a slack, or a slack where dimensions are ``limited``."""
    if pairs is not None and slack is None:
        raise ValueError("pairs have ranges only at a loss above the optimum; give the slack too")
    if slack is not None and limited:
        raise ValueError("ranges hold for embeddings of any dimension; leave the dimension or the slack out")


def positions(pairs: Sequence[tuple[str, str]] | None, names: Sequence[str], what: str) -> list[tuple[int, int]]:
    """The first place of each name of the ``pairs`` among ``names``, ascending; ValueError for what is no pair."""
    found = []
    for pair in pairs or ():
        for name in pair:
            if name not in names:
                raise ValueError(f"there is no {what} {name!r}; {nearest(name, names)}")
        a, b = sorted(names.index(name) for name in pair)
        if a == b:
            raise ValueError(f"a {what} has no angle with itself, but {pair[0]!r} stands twice")
        found.append((a, b))
    return found
