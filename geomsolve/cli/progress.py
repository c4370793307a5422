"""Bars on stderr, on a terminal only, while problems are answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from geomsolve.batch.ledger import Row
from geomsolve.batch.rows import EXIT_CODES


def with_progress(
    answers: Iterator[tuple[int, Row]], done: int, total: int, screen: Console, *, quiet: bool
) -> Generator[tuple[int, Row]]:
    """The same answers, with a bar on ``screen`` if that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    counts: Counter[str] = Counter()
    with Progress(*columns, console=screen, transient=True, disable=quiet or not screen.is_terminal) as bar:
        task = bar.add_task("solving", total=total, completed=done)
        for position, row in answers:
            counts[row["status"]] += 1
            bar.update(task, advance=1, description=spread(counts))
            yield position, row


def spread(counts: Counter[str]) -> str:
    """Counts of statuses in words, the most severe last."""
    return ", ".join(f"{counts[status]:,} {status}" for status in EXIT_CODES if counts[status])
