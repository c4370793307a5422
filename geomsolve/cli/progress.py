"""Bars on stderr, on a terminal only, while problems are answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from geomsolve.batch.ledger import Row
from geomsolve.batch.rows import EXIT_CODES


@contextmanager
def _bar(screen: Console, *columns: ProgressColumn, quiet: bool) -> Iterator[Progress]:
    shown = screen.is_terminal and not quiet
    with Progress(TextColumn("{task.description}"), *columns, console=screen, transient=True, disable=not shown) as bar:
        yield bar


@contextmanager
def training(most: int, *, quiet: bool) -> Iterator[Callable[[int, float], None]]:
    """A line with the steps taken, of at most so many, and the loss so far."""
    with _bar(Console(stderr=True), SpinnerColumn(), TimeElapsedColumn(), quiet=quiet) as bar:
        task = bar.add_task("solving, then training", total=None)

        def tell(step: int, loss: float) -> None:
            bar.update(task, description=f"step {step:,} of at most {most:,}, loss {loss:.6g}")

        yield tell


@contextmanager
def searching(*, quiet: bool) -> Iterator[Callable[[int, float], None]]:
    """A line with the evaluations made, and the lowest loss so far."""
    with _bar(Console(stderr=True), SpinnerColumn(), TimeElapsedColumn(), quiet=quiet) as bar:
        task = bar.add_task("solving", total=None)

        def tell(count: int, lowest: float) -> None:
            bar.update(task, description=f"{count:,} looks, lowest loss {lowest:.7g} (Ctrl-C ends with the best)")

        yield tell


@contextmanager
def reading(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar with the rows read, of all there are."""
    with _bar(Console(stderr=True), BarColumn(), TimeRemainingColumn(), quiet=quiet) as bar:
        task = bar.add_task(f"reading {what}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def trying(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A line with what is being tried."""
    with _bar(Console(stderr=True), SpinnerColumn(), TimeElapsedColumn(), quiet=quiet) as bar:
        task = bar.add_task("solving", total=None)
        yield lambda what: bar.update(task, description=f"trying another {what.replace('_', ' ')}")


@contextmanager
def one_by_one(total: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar with what is being solved, of so many in all."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with _bar(Console(stderr=True), *columns, quiet=quiet) as bar:
        task = bar.add_task("solving", total=total, completed=-1)
        yield lambda what: bar.update(task, advance=1, description=f"solving {what}")


def with_progress(
    answers: Iterator[tuple[int, Row]], done: int, total: int, screen: Console, *, quiet: bool
) -> Generator[tuple[int, Row]]:
    """The same answers, with a bar on ``screen`` if that is a terminal."""
    counts: Counter[str] = Counter()
    with _bar(screen, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), quiet=quiet) as bar:
        task = bar.add_task("solving", total=total, completed=done)
        for position, row in answers:
            counts[row["status"]] += 1
            bar.update(task, advance=1, description=spread(counts))
            yield position, row


def spread(counts: Counter[str]) -> str:
    """Counts of statuses in words, the most severe last."""
    return ", ".join(f"{counts[status]:,} {status}" for status in EXIT_CODES if counts[status])
