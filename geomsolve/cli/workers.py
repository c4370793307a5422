"""Flags of the commands that share their work among processes, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable

import click

from geomsolve.batch.workers import BACKENDS
from geomsolve.cli.options import F, stacked
from geomsolve.errors import InputError


def worker_options(default: str) -> Callable[[F], F]:
    """The flags, with what ``--jobs`` is by default in words."""
    return stacked(
        click.option("--jobs", type=click.IntRange(1), metavar="N", help=f"Worker processes (default: {default})."),
        click.option(
            "--backend",
            type=click.Choice(BACKENDS),
            default="loky",
            help="Where workers run (default loky: processes here).",
        ),
        click.option("--scheduler", metavar="ADDRESS", help="The dask cluster to use: tcp://host:8786."),
    )


def check_workers(jobs: int | None, backend: str, scheduler: str | None) -> None:
    """Raise :class:`InputError` for flags that do not go together."""
    if (backend == "dask") != (scheduler is not None):
        raise InputError("--backend dask and --scheduler ADDRESS go together", field="scheduler")
    if backend == "dask" and jobs is not None:
        raise InputError("the dask cluster decides how many problems are solved at once", field="jobs")
