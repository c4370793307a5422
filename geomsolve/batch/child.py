"""The process in which a worker solves: problems in on stdin, outcomes out on stdout, one after the other.

With a problem come the modules that hold losses and weightings of a user's own, which are imported first, and whether
a proof is wanted.

A process of its own can be ended when a problem takes too long, and can be killed for want of memory, without
anything else being lost.  It ends when its stdin does, even while it loads, and when nothing is asked for
:data:`IDLE` seconds.
A problem comes as the number of its bytes, eight bytes themselves, and its pickle.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import queue
import signal
import sys
import threading
from typing import Any

IDLE = 60.0
"""Seconds without a request after which the process ends: on a cluster nobody else would end it."""


def main() -> None:
    """Answer until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the batch, which then closes stdin
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not enter the answers
    requests: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()  # first: loading takes a while
    from geomsolve.batch.rows import attempt
    from geomsolve.questions.imbalance import Imbalance

    attempt(Imbalance(props=(0.5, 0.5)))  # loads the solvers, so that the first problem's time is its own
    _send(out, None)
    while True:
        try:
            request = requests.get(timeout=IDLE)
        except queue.Empty:
            return
        modules, problem, proof = pickle.loads(request)  # noqa: S301  (from the worker that started this process)
        for module in modules:
            with contextlib.suppress(ImportError):  # what is not known for want of it is said of the problem
                importlib.import_module(module)
        _send(out, attempt(problem, proof=proof))


def _read(requests: queue.Queue[bytes]) -> None:
    """Pass requests on; end the process, whatever it is doing, when there can be no more."""
    code = 1
    try:
        while size := sys.stdin.buffer.read(8):
            requests.put(sys.stdin.buffer.read(int.from_bytes(size, "big")))
        code = 0
    finally:
        os._exit(code)


def _send(out: Any, answer: Any) -> None:
    pickle.dump(answer, out)
    out.flush()


if __name__ == "__main__":
    main()
