"""Problems to outcomes, in parallel: threads, each with a process of its own to solve in (``child.py``).

The threads are joblib's on this machine, or those of dask's workers on a cluster.  Whatever happens to a process (a
problem that takes too long, no memory) is seen and survived by its thread and becomes the outcome of that one
problem.  Should a dask worker itself be lost, with its machine for one, dask has what it was at solved elsewhere.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from geomsolve._version import __version__
from geomsolve.batch.ledger import Row
from geomsolve.batch.proofs import stored
from geomsolve.batch.rows import Outcome, row_of
from geomsolve.errors import GeomsolveError, InputError
from geomsolve.questions.base import Problem
from geomsolve.questions.documents import Entry
from geomsolve.registry import LOSSES, PAIR_LOSSES, WEIGHTINGS

BACKENDS = ("loky", "dask")
"""Where the processes are: on this machine (the name is an old one), or on a dask cluster."""

START = 300.0
"""Seconds that a process may take to load."""

CONNECT = 30.0
"""Seconds to wait for a dask scheduler and its first worker."""

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)
"""Environment that keeps linear algebra to one thread: the workers share the cores already."""


def outcomes(
    problems: Iterable[Problem],
    *,
    jobs: int | None = None,
    backend: str = "loky",
    scheduler: str | None = None,
    timeout: float | None = None,
    proofs: Sequence[bool] | None = None,
) -> Iterator[tuple[int, Outcome]]:
    """Solve ``problems`` and yield (position, outcome), each once, as they are finished.

    ``jobs`` processes on this machine (default: its cores), or the dask cluster whose ``scheduler`` has this address;
    ``timeout`` in seconds for one problem; ``proofs``: of which problems a proof that stands alone is wanted.
    """
    own = [*LOSSES.elsewhere(), *PAIR_LOSSES.elsewhere(), *WEIGHTINGS.elsewhere()]
    pickled = (pickle.dumps((own, *each)) for each in zip(problems, proofs or itertools.repeat(False), strict=False))
    if backend != "dask":
        return _here(pickled, jobs, timeout)
    return _on_cluster(pickled, scheduler, timeout)


def _here(problems: Iterable[bytes], jobs: int | None, timeout: float | None) -> Iterator[tuple[int, Outcome]]:
    """On this machine: threads, each of which has a process to solve in."""
    import joblib

    tasks = (joblib.delayed(_solve)(position, problem, timeout) for position, problem in enumerate(problems))
    _stopped.clear()
    with contextlib.ExitStack() as after:
        after.callback(_end_children)
        parallel = joblib.Parallel(
            jobs or joblib.cpu_count(), backend="threading", batch_size=1, return_as="generator_unordered"
        )
        yield from parallel(tasks)


def _on_cluster(
    problems: Iterable[bytes], scheduler: str | None, timeout: float | None
) -> Iterator[tuple[int, Outcome]]:
    """On a dask cluster, which starts a problem again elsewhere when it has lost the worker that had it."""
    with _dask_client(scheduler) as client:
        from distributed import as_completed

        futures = {
            client.submit(_solve, position, problem, timeout, pure=False): position
            for position, problem in enumerate(problems)
        }
        for done in as_completed(futures):  # type: ignore[no-untyped-call]
            try:
                yield done.result()
            except Exception as lost:  # of the cluster: what is wrong with a problem is an outcome
                yield futures[done], _failed(f"the workers that had this problem were lost: {lost}")
            done.release()


@contextlib.contextmanager
def _dask_client(scheduler: str | None) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise InputError("dask is not installed: pip install 'geomsolve[dask]'", field="backend") from None
    for name in ("asyncio", "distributed", "distributed.client", "tornado"):  # they log what is reported here
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, timeout=CONNECT)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"no dask scheduler answers at {scheduler!r}: {error}", field="scheduler") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT)
        except TimeoutError:
            raise InputError(
                f"the dask scheduler at {scheduler!r} has no workers; start some", field="scheduler"
            ) from None
        try:
            found = set(client.run(_version).values())
        except ImportError as error:
            raise InputError(f"geomsolve is not installed on the dask workers: {error}", field="scheduler") from None
        if found - {__version__}:
            others = ", ".join(sorted(found - {__version__}))
            raise InputError(f"the dask workers have geomsolve {others}; this is {__version__}", field="scheduler")
        yield client


def _version() -> str:
    return __version__


_mine = threading.local()  # .child: the process in which this thread has its problems solved

_children: set[_Child] = set()
"""The children of all threads of this process."""

_stopped = threading.Event()
"""No further child is to be started."""


def _solve(position: int, problem: bytes, timeout: float | None) -> tuple[int, Outcome]:
    """What a worker does: have ``problem``, pickled with the modules it needs, solved in the child of its thread."""
    for _ in range(2):  # a second time where the process had just ended for being idle
        child = getattr(_mine, "child", None)
        if child is None or not child.alive:
            try:
                child = _mine.child = _Child()
            except _EndedError as error:
                return position, _failed(f"no process to solve in: {error}")
        try:
            return position, child.ask(problem, timeout)
        except _EndedError as error:
            reason, again = str(error), error.idle
        if not again:
            break
    return position, _failed(reason)


def _failed(reason: str) -> Outcome:
    return Outcome(error=GeomsolveError(reason))


def _end_children() -> None:
    """End every process that this one solves in; a thread that waits for an answer is then told that there is none."""
    _stopped.set()
    for child in list(_children):
        child.close()


class _EndedError(Exception):
    """The child process ended without an answer; ``idle`` if it did so of its own accord."""

    def __init__(self, reason: str, *, idle: bool = False) -> None:
        super().__init__(reason)
        self.idle = idle


class _Child:
    """A process of ``child.py``."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, sys.path))  # with -P: modules come from where ours do, not from the cwd
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "geomsolve.batch.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
            process_group=0,  # Ctrl-C in a terminal is for the batch alone, from the first moment
        )
        _children.add(self)
        if _stopped.is_set():  # while this one started
            self.close()
            raise _EndedError("the batch was stopped")
        self._receive(START)

    def close(self) -> None:
        """End the process; a thread that reads from it is told so first."""
        self._process.kill()
        with contextlib.suppress(BrokenPipeError), self._process:  # what it had not read yet is lost with it
            _children.discard(self)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, problem: bytes, timeout: float | None) -> Outcome:
        """The outcome of a ``problem`` as :func:`outcomes` pickles it; a process that takes longer is ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # it has ended or was closed: that shows on receiving
            self._process.stdin.write(len(problem).to_bytes(8, "big") + problem)
            self._process.stdin.flush()
        outcome = self._receive(timeout)
        assert isinstance(outcome, Outcome)
        return outcome

    def _receive(self, timeout: float | None) -> Any:
        assert self._process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(timeout, end) if timeout is not None else None
        if timer:
            timer.start()
        try:
            return pickle.load(self._process.stdout)  # noqa: S301  (from the process started here)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            code = self._process.wait()
            self.close()
        finally:
            if timer:
                timer.cancel()
        if late.is_set():
            raise _EndedError(f"took longer than {timeout:g} s, and was stopped")
        if code == 0:
            raise _EndedError("the process that solved this ended without an answer", idle=True)
        if code < 0:
            memory = ", most likely for want of memory" if code == -9 else ""
            raise _EndedError(f"the process that solved this was killed by signal {-code}{memory}")
        raise _EndedError(f"the process that solved this ended with exit code {code}")


def answered(
    entries: list[Entry], done: dict[int, Row], proofs: Sequence[Path | None] = (), **how: Any
) -> Iterator[tuple[int, Row]]:
    """Position and row of every entry that is not ``done``, as they come; the invalid ones first.

    ``proofs``: the file for the proof that stands alone of each entry, as ``batch/proofs.py`` has it.
    """
    waiting = [position for position in range(len(entries)) if position not in done]
    for position in waiting:
        if not entries[position].valid:
            yield position, row_of(entries[position], None)
    waiting = [position for position in waiting if entries[position].valid]
    problems = (problem for position in waiting if (problem := entries[position].problem) is not None)
    files = [proofs[position] if proofs else None for position in waiting]
    for place, outcome in outcomes(problems, proofs=[path is not None for path in files], **how):
        row, path = row_of(entries[waiting[place]], outcome), files[place]
        if path is not None:
            row["proof_file"] = None if outcome.proof is None else stored(path, outcome.proof)
        yield waiting[place], row
