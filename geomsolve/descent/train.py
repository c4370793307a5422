"""The training loop: free vectors, one for every sample, moved by an ordinary optimiser.

Whether the learning rate is small enough is seen from the way the samples go, not from the loss: near an optimum of a
low temperature the loss no longer changes by anything that its noise would let through, while the geometry still does.
Over a window of steps the net displacement is compared with the length of the way; where samples only wander about, the
learning rate is halved, and training has converged when that has happened :data:`HALVINGS` times or nothing moves.
Where a goal is known (a proven bound, or the best value found), it has converged, too, when the loss is within what
single precision resolves of it and hardly falls any more: at a low temperature forces vanish long before angles are
reached, and steps of the same length in ever new directions would go on for ever.
L-BFGS has a line search instead and stops when the loss does.

Everything stays on one device: the loss is looked at once a window, not once a step.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from geomsolve.descent.experiments import Experiment
from geomsolve.errors import InputError

WINDOW = 50
NOISY_WINDOW = 200
"""Steps between two looks at the way: more of them where the steps are random."""

WANDERING = 0.4
"""Net displacement over length of the way below which samples wander.  Adam averages about 20 steps, so that pure noise
has sqrt(20 / 200) = 0.3."""

HALVINGS = 12
"""How often the learning rate is halved before training ends."""

LEAST = 1e-12
"""Coordinates of non-negative features are at least this, so that no feature vanishes in a step."""

STILL = 1e-10
"""A way of this length is none."""

RESOLUTION = 1e-13
"""L-BFGS ends where the loss falls by no more than this, relative above 1."""

SINGLE = 2.0**-23
"""What single precision resolves of a loss, relative above 1."""

HARDLY, WINDOWS = 0.1, 10
"""Part of the least excess over the goal by which a window has to be below it, and in how many it may not: single
windows bounce."""

MOST_NUMBERS = 2**28
"""Numbers that an array of a step may hold."""

SMALL = 2**16
"""Matrices with fewer entries than this are faster on one thread."""

ADAM_RATE = 0.05
SGD_RATE = 0.02
"""Learning rates: how far a sample moves in the first step, on average (root mean square) for sgd."""

Progress = Callable[[int, float], None]
"""Called with the steps taken and the mean loss of the last window."""


@dataclass(frozen=True)
class Outcome:
    """``features`` (R, d); ``converged`` is False where the steps ran out first."""

    features: Tensor
    steps: int
    converged: bool
    seconds: float


def choose_device(name: str) -> torch.device:
    """The device called 'cpu', 'cuda' or 'auto' (cuda if there is one); :class:`InputError` if it is not there."""
    found = torch.cuda.is_available()
    if name == "cuda" and not found:
        raise InputError("there is no CUDA device here that torch can use; leave it out, or use cpu", field="device")
    return torch.device("cuda" if found and name != "cpu" else "cpu")


@contextmanager
def steady(entries: int) -> Iterator[None]:
    """Ask torch for operations that give the same result every time, and for one thread where steps are so small
    (``entries`` of their largest matrix) that sharing them out takes longer; put its settings back afterwards."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before, threads = torch.get_deterministic_debug_mode(), torch.get_num_threads()
    torch.set_deterministic_debug_mode("warn")
    if entries < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)
        torch.set_num_threads(threads)


def start(experiment: Experiment, dim: int, generator: torch.Generator) -> Tensor:
    """Random features (R, dim): unit vectors, or anywhere in space."""
    shape = (experiment.rows, dim)
    device = experiment.population.device
    z = torch.randn(shape, generator=generator, dtype=torch.float64, device=device)
    return placed(experiment, z.abs() if experiment.nonnegative else z)


def unit(experiment: Experiment, z: Tensor) -> Tensor:
    """The features on the sphere, if the experiment wants that: what its loss is taken of."""
    return normalize(z, dim=1) if experiment.spherical else z


def placed(experiment: Experiment, z: Tensor) -> Tensor:
    """The features as the experiment takes them after a step: also without negative coordinates, if it wants that."""
    return unit(experiment, z.clamp(min=LEAST) if experiment.nonnegative else z)


def descend(
    experiment: Experiment,
    dim: int,
    *,
    optimizer: str = "adam",
    steps: int,
    generator: torch.Generator,
    goal: float | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Train the features of ``experiment`` in ``dim`` dimensions for at most ``steps`` steps.

    ``goal``: a value in nats that the loss should end at, where one is known: a proven bound, or the best found.
    """
    if optimizer == "lbfgs" and not experiment.whole:
        raise InputError(
            "lbfgs needs the same loss at every step, but this one draws random batches; use adam or sgd",
            field="optimizer",
        )
    if optimizer == "lbfgs" and experiment.nonnegative:
        raise InputError(
            "lbfgs knows no bounds, so that it cannot keep features non-negative; use adam or sgd", field="optimizer"
        )
    if experiment.numbers(dim) > MOST_NUMBERS:
        raise InputError(
            f"a step of this training holds {experiment.numbers(dim):,} numbers at once; at most {MOST_NUMBERS:,} fit: "
            "take a smaller batch, or fewer samples, views, negatives or dimensions"
        )
    began = time.perf_counter()
    z = start(experiment, dim, generator).requires_grad_()
    tell = progress or (lambda step, loss: None)
    with steady(experiment.rows * max(experiment.rows, dim)):
        if optimizer == "lbfgs":
            taken, converged = _lbfgs(experiment, z, steps, generator, tell)
        else:
            taken, converged = _first_order(experiment, z, optimizer, steps, generator, tell, goal)
    return Outcome(placed(experiment, z.detach()), taken, converged, time.perf_counter() - began)


def _lbfgs(
    experiment: Experiment, z: Tensor, steps: int, generator: torch.Generator, tell: Progress
) -> tuple[int, bool]:
    solver = torch.optim.LBFGS(
        [z], max_iter=WINDOW, history_size=20, tolerance_grad=0.0, tolerance_change=0.0, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        solver.zero_grad()
        loss = experiment.step(placed(experiment, z), generator)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    last = math.inf
    for taken in range(0, steps, WINDOW):
        loss = float(solver.step(closure).detach())  # type: ignore[no-untyped-call]
        tell(taken, loss)
        if last - loss <= RESOLUTION * max(1.0, abs(loss)):
            return taken, True
        last = loss
    return steps, False


@dataclass
class _Excess:
    """How the loss stands above its ``goal``, window by window."""

    goal: float | None
    least: float = math.inf
    idle: int = 0

    def done(self, mean: float) -> bool:
        """Whether a window of this ``mean`` loss is the last that was needed."""
        if self.goal is None:
            return False
        excess = mean - self.goal
        above = max(excess, 0.0)
        hardly = abs(excess) <= SINGLE * max(1.0, abs(self.goal)) and above >= (1 - HARDLY) * self.least
        self.idle = self.idle + 1 if hardly else 0
        self.least = min(self.least, above)
        return self.idle >= WINDOWS


def _first_order(
    experiment: Experiment,
    z: Tensor,
    optimizer: str,
    steps: int,
    generator: torch.Generator,
    tell: Progress,
    goal: float | None,
) -> tuple[int, bool]:
    solver: torch.optim.Optimizer
    if optimizer == "adam":
        solver = torch.optim.Adam([z], lr=ADAM_RATE, betas=(0.9, 0.99), eps=1e-15)
    else:
        (slope,) = torch.autograd.grad(experiment.step(unit(experiment, z), generator), z)
        solver = torch.optim.SGD([z], lr=SGD_RATE / float(slope.square().sum(1).mean().sqrt()), momentum=0.9)
    window = WINDOW if experiment.whole else NOISY_WINDOW
    losses, way = torch.zeros(2, dtype=z.dtype, device=z.device)
    turn, halved = z.detach().clone(), 0
    excess = _Excess(goal if experiment.whole else None)
    for taken in range(1, steps + 1):
        solver.zero_grad()
        loss = experiment.step(unit(experiment, z), generator)
        loss.backward()  # type: ignore[no-untyped-call]
        before = z.detach().clone()
        solver.step()
        with torch.no_grad():
            z.copy_(placed(experiment, z))  # the loss does not see lengths, and growing ones would slow the descent
            way += distance(z, before)
            losses += loss.detach()
        if taken % window:
            continue
        net, length, mean = torch.stack([distance(z.detach(), turn), way, losses / window]).tolist()
        tell(taken, mean)
        halved += net < WANDERING * length
        if halved > HALVINGS or length < STILL or excess.done(mean):
            return taken, True
        if net < WANDERING * length:
            for group in solver.param_groups:
                group["lr"] /= 2
        turn = z.detach().clone()
        way.zero_()
        losses.zero_()
    return steps, False


def distance(one: Tensor, other: Tensor) -> Tensor:
    """Root mean square distance of the samples (R, d)."""
    return (one - other).square().sum(1).mean().sqrt()
