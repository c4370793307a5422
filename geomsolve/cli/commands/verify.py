"""Check proofs in ball arithmetic, without the rest of geomsolve."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from geomsolve.cli.checked import all_verified
from geomsolve.cli.output import debug_option, json_option, to_json
from geomsolve.cli.reader import while_read
from geomsolve.errors import InputError
from geomsolve.report import head
from geomsolve.verify import flint, told
from geomsolve.words import counted


@click.command("verify", epilog="Example: geomsolve verify proof.json")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Worker processes (default: one a core).")
@json_option
@click.option("--quiet", is_flag=True, help="Only files that are not proven.")
@debug_option
def command(paths: tuple[str, ...], jobs: int | None, as_json: bool, quiet: bool) -> int:
    """Check proofs that stand alone: files, or folders of .json files.

    Every claim is evaluated again from the loss's definition in ball arithmetic, which encloses all rounding; nothing
    of geomsolve's solvers is used. Exit code 0 if every claim holds, 1 if one does not, 2 if a file is no proof. The
    same as python -m geomsolve.verify FILE..., which is one file to read. Needs python-flint, the extra
    geomsolve[proof].
    """
    if flint is None:
        raise InputError("python-flint is needed to check proofs: pip install 'geomsolve[proof]'")
    files = listed(paths)
    found = all_verified(files, jobs)
    if as_json:
        rows = [
            {
                "file": file,
                "status": ("proven", "not proven", "no proof")[code],
                "error": wrong or None,
                "claims": [{"claim": said, "holds": holds, "why": why} for said, holds, why in outcomes],
            }
            for file, (code, wrong, outcomes) in zip(files, found, strict=True)
        ]
        with while_read():
            click.echo(to_json({**head("verify"), "problem": {"paths": list(paths)}, "files": rows}))
        return max(code for code, _, _ in found)
    with while_read():
        for file, (code, wrong, outcomes) in zip(files, found, strict=True):
            if code or not quiet:
                click.echo(told(file, wrong, outcomes), err=bool(wrong))
        if len(files) > 1:
            proven = sum(code == 0 for code, _, _ in found)
            click.echo(f"{counted(len(files), 'file')}: {'all' if proven == len(files) else f'{proven:,}'} proven.")
    return max(code for code, _, _ in found)


def listed(paths: Sequence[str]) -> list[str]:
    """The files that are named, and those ending in .json within folders."""
    found: list[str] = []
    for path in paths:
        inside = sorted(map(str, Path(path).rglob("*.json"))) if Path(path).is_dir() else [path]
        if not inside:
            raise InputError(f"there is no .json file in the folder {path!r}")
        found += inside
    return list(dict.fromkeys(found))
