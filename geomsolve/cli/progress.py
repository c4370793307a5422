"""What long work is at: a line on stderr, on a terminal only, never with --quiet or --json.

Everything here is one :func:`working`: a description, and a bar with an estimate of what is left where it is known how
much there is.  The others say for one kind of work what is done and how it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console

from geomsolve.batch.ledger import Row
from geomsolve.batch.rows import EXIT_CODES
from geomsolve.cli.notes import as_objects

Counted = Callable[[int, int], None]
"""Takes how much is done, and how much there is."""


class Tell(Protocol):
    """Takes what is being done, how much of it is done, and how much there is; what is not given stays."""

    def __call__(self, what: str | None = None, done: float | None = None, total: float | None = None) -> None: ...


def silent(what: str | None = None, done: float | None = None, total: float | None = None) -> None:
    """A :class:`Tell` for who is not at a terminal."""


@contextmanager
def working(
    what: str, total: float | None = None, *, quiet: bool, counts: bool = False, screen: Console | None = None
) -> Iterator[Tell]:
    """Say ``what`` is done while it is: as a bar with an estimate of the time that is left, where there is a ``total``
    from the beginning or a later one is to come (0), else with the time that it has taken.

    ``counts``: also how many are done, of how many.
    """
    screen = Console(stderr=True) if screen is None else screen
    if quiet or as_objects() or not screen.is_terminal:
        yield silent
        return
    from rich import progress as rich

    known: list[rich.ProgressColumn] = [rich.BarColumn(), rich.TimeElapsedColumn(), rich.TimeRemainingColumn()]
    columns = [rich.SpinnerColumn(), rich.TimeElapsedColumn()] if total is None else known
    if counts:
        columns.insert(1, rich.MofNCompleteColumn())
    with rich.Progress(rich.TextColumn("{task.description}"), *columns, console=screen, transient=True) as bar:
        task = bar.add_task(what, total=total or None)

        def tell(what: str | None = None, done: float | None = None, total: float | None = None) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield tell


@contextmanager
def training(most: int, *, quiet: bool) -> Iterator[Callable[[int, float], None]]:
    """The steps taken, of at most so many, and the loss so far."""
    with working("solving, then training", most, quiet=quiet) as tell:
        yield lambda step, loss: tell(f"step {step:,} of at most {most:,}, loss {loss:.6g}", step)


@contextmanager
def searching(*, quiet: bool) -> Iterator[Callable[[int, float], None]]:
    """The evaluations made, and the lowest loss so far."""
    with working("solving", quiet=quiet) as tell:
        yield lambda count, low: tell(f"{count:,} looks, lowest loss {low:.7g} (Ctrl-C ends with the best)")


@contextmanager
def reading(what: str, *, quiet: bool) -> Iterator[Counted]:
    """The rows read, of all there are, and that the prediction is solved thereafter."""
    with working(f"reading {what}", 0, quiet=quiet) as tell:
        yield lambda done, total: tell("solving the prediction" if done == total else None, done, total)


@contextmanager
def counting(what: str, *, quiet: bool) -> Iterator[Counted]:
    """How many points, or parts, are solved, of how many."""
    with working(what, 0, quiet=quiet, counts=True) as tell:
        yield lambda done, total: tell(None, done, total)


@contextmanager
def trying(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """What is being tried."""
    with working("solving", quiet=quiet) as tell:
        yield lambda what: tell(f"trying another {what.replace('_', ' ')}")


@contextmanager
def one_by_one(total: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """What is being solved, of so many in all."""
    begun = iter(range(total))
    with working("solving", total, quiet=quiet, counts=True) as tell:
        yield lambda what: tell(f"solving {what}", next(begun, total))


def with_progress(
    answers: Iterator[tuple[int, Row]], done: int, total: int, screen: Console, *, quiet: bool
) -> Generator[tuple[int, Row]]:
    """The same answers, with a bar on ``screen`` if that is a terminal."""
    counts: Counter[str] = Counter()
    with working("solving", total, quiet=quiet, counts=True, screen=screen) as tell:
        tell(None, done)
        for position, row in answers:
            counts[row["status"]] += 1
            tell(spread(counts), done + counts.total())
            yield position, row


def spread(counts: Counter[str]) -> str:
    """Counts of statuses in words, the most severe last."""
    return ", ".join(f"{counts[status]:,} {status}" for status in EXIT_CODES if counts[status])
