"""A row of the output: what was asked, what came of it, and how that is called.

ok           answered, certified, as expected          exit code 0
unmet        answered, but not as expected                       1
uncertified  answered, but not proven                            1
invalid      the problem itself is wrong                         2
failed       no usable answer: solver, time or memory            3
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from geomsolve.analyses import solve
from geomsolve.analyses.expectation import misses
from geomsolve.errors import GeomsolveError, InputError
from geomsolve.questions.base import Problem
from geomsolve.questions.documents import Entry
from geomsolve.report import SCHEMA, Report, head, jsonable

EXIT_CODES = {"ok": 0, "unmet": 1, "uncertified": 1, "invalid": 2, "failed": 3}
"""Every status, with the exit code that it stands for."""


@dataclass(frozen=True)
class Outcome:
    """What became of a problem: a report's JSON object, whether it is proven and what it misses, or an error.

    ``proof``: the content of a file that stands alone, where that was asked for and there is one.
    """

    answer: dict[str, Any] | None = None
    certified: bool = True
    unmet: tuple[str, ...] = ()
    error: Exception | None = None
    proof: str | None = None


def attempt(problem: Problem, *, proof: bool = False) -> Outcome:
    """Solve, and turn everything that can go wrong into an outcome; with a ``proof`` where there is one.

    A problem whose key ``proof`` names a file has to have one.
    """
    try:
        report = solve(problem)
        return replace(outcome_of(problem, report), proof=_proof(problem, report) if proof else None)
    except GeomsolveError as error:
        return Outcome(error=error)
    except MemoryError:
        return Outcome(error=GeomsolveError("out of memory"))
    except Exception as error:
        return Outcome(error=GeomsolveError(f"internal error, please report it: {type(error).__name__}: {error}"))


def _proof(problem: Problem, report: Report) -> str | None:
    from geomsolve.analyses.proofs import standing_alone

    try:
        return standing_alone(report, problem)
    except InputError:
        if problem.proof is not None:
            raise
        return None


def outcome_of(problem: Problem, report: Report) -> Outcome:
    """A report, put beside what its problem expects."""
    unmet = misses(problem.expect, report.asked, report.command) if problem.expect else []
    answer = {**report.to_dict(), "headline": report.headline, "figures": jsonable(report.figures)}
    return Outcome(answer, report.certified, (*unmet, *report.complaints))


def row_of(entry: Entry, outcome: Outcome | None) -> dict[str, Any]:
    """The row of a problem with its outcome; None for an entry with complaints, which has none."""
    status, error = _judge(entry, outcome)
    if outcome is not None and outcome.answer is not None:
        answer = outcome.answer
    else:
        written, problem = entry.written, entry.problem
        kind = written.get("kind") if isinstance(written, dict) else None
        if problem is not None:
            written = problem.model_dump(mode="json", exclude_none=True)
        answer = {**head(kind if isinstance(kind, str) else None), "problem": jsonable(written)}
    return {**answer, "file": entry.file, "sha256": entry.sha256, "status": status, "error": error or None}


def _judge(entry: Entry, outcome: Outcome | None) -> tuple[str, str]:
    """Status and error."""
    if outcome is None:
        return "invalid", "\n".join(map(str, entry.complaints))
    if isinstance(outcome.error, InputError):
        return "invalid", "\n".join(map(str, entry.locate(outcome.error)))
    if outcome.error is not None:
        return "failed", str(outcome.error)
    if outcome.unmet:
        return "unmet", "\n".join(outcome.unmet)
    return ("ok", "") if outcome.certified else ("uncertified", "the gap is too large for a proof")


def is_row(row: Any) -> bool:
    """Whether ``row``, out of a file that anybody may have written, has the parts of a row, each of its type."""
    if not isinstance(row, dict) or row.get("schema") != SCHEMA or "error" not in row:
        return False
    texts = (row.get(key) for key in ("file", "sha256", "status"))
    versions = row.get("versions")
    return (
        all(isinstance(text, str) for text in texts)
        and row["status"] in EXIT_CODES
        and isinstance(versions, dict)
        and isinstance(versions.get("geomsolve"), str)
        and all(isinstance(row.get(key), str | None) for key in ("error", "command", "headline", "assumption"))
        and all(isinstance(row.get(key), dict | None) for key in ("proof", "effort", "figures", "proof_file"))
    )


def exit_code(rows: Iterable[dict[str, Any]]) -> int:
    """That of the most severe row."""
    return max((EXIT_CODES[row["status"]] for row in rows), default=0)
