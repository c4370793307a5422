"""Problems to outcomes, in parallel: joblib's workers, each with a process of its own to solve in (``child.py``).

Whatever happens to that process (a problem that takes too long, no memory) is seen and survived by the worker and
becomes the outcome of that one problem.  Should a worker itself be lost, with its machine for one, joblib gives up
on all that are under way; these are then tried again one at a time, so that no other problem takes the blame.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from geomsolve._version import __version__
from geomsolve.batch.rows import Outcome
from geomsolve.errors import GeomsolveError, InputError
from geomsolve.questions.base import Problem

BACKENDS = ("loky", "dask")

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
    problems: Sequence[Problem],
    *,
    jobs: int | None = None,
    backend: str = "loky",
    scheduler: str | None = None,
    timeout: float | None = None,
) -> Iterator[tuple[int, Outcome]]:
    """Solve ``problems`` and yield (position, outcome), each once, as they are finished.

    ``jobs`` worker processes on this machine (default: its cores), or the dask cluster whose ``scheduler`` has this
    address; ``timeout`` in seconds for one problem.
    """
    import joblib

    waiting = {position: pickle.dumps(problem) for position, problem in enumerate(problems)}
    workers = min(jobs or joblib.cpu_count(), max(1, len(waiting))) if backend == "loky" else -1
    taken: list[int] = []

    def tasks(positions: Sequence[int]) -> Iterator[Any]:
        for position in positions:
            taken.append(position)
            yield joblib.delayed(_solve)(position, waiting[position], timeout, os.getpid())

    def run(positions: Sequence[int]) -> Iterator[tuple[int, Outcome]]:
        """Outcomes of some problems; those that joblib has asked for so far stand in ``taken``."""
        taken.clear()
        parallel = joblib.Parallel(n_jobs=workers, batch_size=1, return_as="generator_unordered")
        for position, outcome in parallel(tasks(positions)):
            del waiting[position]
            yield position, outcome

    with _joblib_backend(backend, scheduler), _no_child_left():
        while waiting:
            try:
                yield from run(list(waiting))
            except Exception as error:
                suspects = [position for position in taken if position in waiting]
                for position in suspects:
                    try:
                        yield from run([position])
                    except Exception as lost:
                        if not taken:
                            break
                        del waiting[position]
                        yield position, _failed(f"the worker that had this problem was lost: {lost}")
                if not taken:
                    raise GeomsolveError(f"the workers cannot be used: {error}") from error


@contextlib.contextmanager
def _joblib_backend(backend: str, scheduler: str | None) -> Iterator[None]:
    """Make joblib use ``backend`` for a while, and leave no process behind."""
    import joblib

    if backend == "loky":
        from joblib.externals.loky import get_reusable_executor

        try:
            with joblib.parallel_config(backend="loky"):
                yield
        finally:
            get_reusable_executor().shutdown(wait=True, kill_workers=True)
        return
    with _dask_client(scheduler) as client, joblib.parallel_config(backend=_dask_backend(client)):
        yield


def _dask_backend(client: Any) -> Any:
    """joblib's dask backend, which waits forever for a task that dask has given up (joblib 1.6): here it is told."""
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: callback(done.exception()) if done.exception() else None)
            return future

    return Backend(client=client, wait_for_workers_timeout=CONNECT)


@contextlib.contextmanager
def _dask_client(scheduler: str | None) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise InputError("dask is not installed: pip install 'geomsolve[dask]'", field="backend") from None
    for name in ("asyncio", "distributed", "tornado"):  # they log tracebacks of what is reported here
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, timeout=CONNECT)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"no dask scheduler answers at {scheduler!r}: {error}", field="scheduler") from None
    with client:
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


_mine = threading.local()  # .child: the process of this worker, or of this thread where workers are threads


def _solve(position: int, problem: bytes, timeout: float | None, owner: int) -> tuple[int, Outcome]:
    """What a worker does: have ``problem`` (pickled) solved in its child process.  ``owner``: pid of the batch."""
    if os.getppid() == owner:
        _end_with(owner)
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


@functools.cache
def _end_with(owner: int) -> None:
    """End this worker, and so its child, when the batch is gone, even if that was killed."""

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _no_child_left() -> Iterator[None]:
    """End the child that this process has where joblib, asked for one worker, takes none but works here."""
    try:
        yield
    finally:
        child = _mine.__dict__.pop("child", None)
        if child is not None:
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
        )
        self._receive(START)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        with self._process:
            pass

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, problem: bytes, timeout: float | None) -> Outcome:
        """The outcome of a pickled problem; a process that takes longer than ``timeout`` is ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which shows on receiving
            self._process.stdin.write(problem)
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
        except (EOFError, OSError, pickle.UnpicklingError):
            code = self._process.wait()
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
