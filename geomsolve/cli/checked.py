"""Proofs that stand alone, checked: several files at a time, and what a page of answers says of theirs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geomsolve.verify import flint, verify
from geomsolve.verify_losses import check_all
from geomsolve.words import counted

Row = dict[str, Any]


def all_verified(files: Sequence[str], jobs: int | None) -> list[tuple[int, str, list[tuple[str, bool | None, str]]]]:
    """``verify`` of each file, several at a time where there are many."""
    if len(files) < 4 or jobs == 1:
        return [verify(file, check_all) for file in files]
    import joblib

    tasks = (joblib.delayed(verify)(file, check_all) for file in files)
    return list(joblib.Parallel(jobs or joblib.cpu_count(), batch_size="auto")(tasks))


def said_of(rows: Sequence[Row], jobs: int | None) -> list[str]:
    """What a page says of the proof of each row, '' for a row that has none: 'verified' where every claim of the file
    holds, which is the file that was written with the row."""
    files = [about if isinstance(about := row.get("proof_file"), dict) else {} for row in rows]
    paths = [str(about.get("file", "")) for about in files]
    there = [bool(path) and _as_written(path, about.get("sha256")) for path, about in zip(paths, files, strict=True)]
    checked = iter(
        all_verified([p for p, is_there in zip(paths, there, strict=True) if is_there], jobs) if flint else ()
    )
    return [
        _said(path, next(checked, None) if is_there else None, is_there)
        for path, is_there in zip(paths, there, strict=True)
    ]


def _as_written(path: str, digest: Any) -> bool:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() == str(digest)
    except (OSError, ValueError):
        return False


def _said(path: str, found: tuple[int, str, list[Any]] | None, is_there: bool) -> str:
    if not path:
        return ""
    if not is_there:
        return f"not verified, as it is not the file that was written: {path}"
    if found is None:
        return f"not verified, for want of python-flint: {path}"
    code, wrong, outcomes = found
    held = sum(holds is True for _, holds, _ in outcomes)
    if code:
        return f"NOT VERIFIED, {wrong or f'{held} of {len(outcomes)} claims hold'}: {path}"
    return f"verified, {counted(held, 'claim')}: {path}"
