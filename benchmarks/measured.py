"""A command run to its end or to a limit: processor seconds, and the most memory that it held.

Processor time is what a benchmark compares: it hardly depends on what else a machine does.  Everything runs on one
thread of linear algebra, as ``geomsolve`` itself does.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ONE_THREAD = {
    **os.environ,
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}


@dataclass(frozen=True)
class Run:
    """``cpu`` seconds of a process and of those that it waited for, ``mib`` at its largest, ``code`` it ended with."""

    cpu: float
    mib: float
    code: int
    out: str

    @property
    def ended(self) -> bool:
        """Whether it was not stopped."""
        return self.code >= 0


def run(command: list[str], limit: float, folder: Path | None = None) -> Run:
    """Run ``command``, stopped after ``limit`` seconds of waiting."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=ONE_THREAD, cwd=folder)
        stop = threading.Timer(limit, process.kill)
        stop.start()
        _, status, used = os.wait4(process.pid, 0)
        stop.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        scale = 2**20 if sys.platform == "darwin" else 2**10
        return Run(used.ru_utime + used.ru_stime, used.ru_maxrss / scale, process.returncode, out.read())


def here() -> dict[str, Any]:
    """The machine, in words."""
    return {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}


def table(titles: list[str], rows: list[list[str]]) -> str:
    """Rows under their titles, the first column to the left."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    lines = [
        "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in (titles, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def write(path: str | None, found: dict[str, Any]) -> None:
    """The numbers as JSON, where they are asked for."""
    if path:
        Path(path).write_text(json.dumps({**here(), **found}, indent=1) + "\n", encoding="utf-8")


__all__ = ["ONE_THREAD", "Run", "asdict", "here", "run", "table", "write"]
