"""Which weights make a loss want this geometry?  The inverse program, with a proof either way.

Weights that are found are fed back to the loss, whose ordinary certificate at the target is the proof.  That there
are none is proven by multipliers (``proof/farkas.py``): for anchor masses where the program has them, and for whatever
is changed where no forces that push every two classes apart cancel at the target; and for denominators of a regular
simplex by the anchor masses (``proof/equal_masses.py``).  Else nothing is claimed, and the nearest geometry that a
search found is shown (``analyses/nearest.py``).

Symbols: w ``anchors``, v ``denominators``, m ``margins``, c ``batches``, G ``target``, N ``basis``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geomsolve.analyses.design_batches import choices, meeting
from geomsolve.analyses.design_report import DesignReport, alone
from geomsolve.analyses.named import loss_of
from geomsolve.analyses.nearest import MOST_FREE, Nearest, PairMargins, Shares, search
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.simplex import simplex_cosine
from geomsolve.gram.structure import classify
from geomsolve.gram.types import FloatArray
from geomsolve.losses import REGISTRY, Loss
from geomsolve.objectives.fixed_batches import FixedBatches, Groups
from geomsolve.objectives.rebalanced import Rebalance
from geomsolve.proof.certificate import Certificate, certify, unbalanced
from geomsolve.proof.equal_masses import UnequalMasses, unequal_masses
from geomsolve.proof.farkas import Refutation, refutation
from geomsolve.questions.design import SIMPLEX, Design
from geomsolve.report import understood
from geomsolve.solvers import inverse
from geomsolve.words import listing

SET_BY = {
    "anchors": ("anchor_weights",),
    "denominators": ("denominator",),
    "both": ("anchor_weights", "denominator"),
    "margins": ("pair_margin",),
    "batches": ("batch_weights",),
}
"""What is designed -> the parameters of the loss that set it."""

CHANGED_BY = {"denominator": ("logit_adjust",)}
"""Parameters of the loss that change what another one sets."""

EXACT = 1e-6
"""How far a target may be from unit diagonal, symmetry and psd and be meant so; eigenvalues up to it are zero."""

CANCELLED = 1e-8
"""Forces left, relative to those that should cancel, and gap, relative to all slopes, at which a target is optimal."""

ROUNDED = 1e-12
"""Cosines no farther apart are equal up to rounding."""

SMALLEST = 1e-200
"""Forces below which their ratios are no numbers to rely on."""

MOST_MARGIN = 4.0
"""Largest margin that a loss takes, in cosines."""

MOST_CLASSES, MOST_NULL = 100, 40
"""Classes, and dimensions that the target leaves out, up to which the programs are solved."""


@dataclass(frozen=True, eq=False)
class Task:
    """A question with what it names: the ``loss`` and its ``rebalance``, the classes and the target.

    ``groups``: the batches to choose from, by positions of classes from 1.
    """

    change: str
    loss: Loss
    rebalance: Rebalance
    orbits: Orbits
    target: FloatArray
    moved: float
    tolerance: float
    groups: Groups = ()

    @property
    def p(self) -> FloatArray:
        return self.orbits.proportions

    def parameters(self, **weights: FloatArray) -> dict[str, Any]:
        """The parameters of the loss that set ``anchors`` w, ``denominators`` v (K,), ``margins`` m (K, K) and, of the
        ``groups``, how often each is a batch (n,)."""
        found: dict[str, Any] = {}
        if "anchors" in weights:
            found["anchor_weights"] = tuple((weights["anchors"] / self.rebalance.drawn(self.p)).tolist())
        if "denominators" in weights:
            found["denominator"] = tuple(weights["denominators"].tolist())
        if "margins" in weights:
            found["pair_margin"] = tuple(map(tuple, weights["margins"].tolist()))
        if "batches" in weights:
            often = [(group, float(c)) for group, c in zip(self.groups, weights["batches"], strict=True) if c > 0]
            found["batches"], found["batch_weights"] = map(tuple, zip(*often, strict=True))
        return found

    def stated(self, weights: dict[str, FloatArray]) -> dict[str, Any]:
        """Weights as a report has them: of batches those that come."""
        return weights if "batches" not in weights else self.parameters(**weights)

    def pushes(self) -> FloatArray:
        """(n, K, K), zero diagonals, the largest entry 1: forces of one unit of mass of each anchor, or batch."""
        if self.change != "batches":
            return inverse.each_anchor(rates(self))
        temperature = self.loss.parameters()["temperature"]
        slopes = [FixedBatches(self.orbits, (group,), temperature).gradient(self.target) for group in self.groups]
        found = np.array(slopes) * (1 - np.eye(self.p.size))
        largest: FloatArray = found / found.max()
        return largest

    def changed(self, **weights: FloatArray) -> Loss:
        """The loss with these weights."""
        return self.loss.replace(**self.parameters(**weights))

    def proof(self, **weights: FloatArray) -> tuple[Certificate, bool | None] | None:
        """That the target is optimal under these weights, and whether it alone is; None where it is not.

        At low temperature the loss hardly depends on the geometry, so that the forces, too, have to cancel.
        """
        objective = self.changed(**weights).objective(self.orbits)
        certificate = certify(objective, self.orbits, self.target, tolerance=self.tolerance)
        slopes = float(np.abs(objective.gradient(self.target)).sum())
        exact = certificate.gap <= CANCELLED * slopes
        if not (exact and certificate.certified and unbalanced(objective, self.orbits, self.target) <= CANCELLED):
            return None
        return certificate, True if objective.unique_minimiser else None


def design(problem: Design) -> DesignReport:
    """Answer the question of :class:`Design`, with a proof."""
    task = task_of(problem)
    basis = inverse.null_basis(task.target, EXACT)
    refute = near = None
    weights = FINDERS[task.change](task, basis, problem.seed) if basis.shape[1] else None
    proof = None if weights is None else task.proof(**weights)
    if proof is None:
        refute = refuted(task, basis)
        near = nearest(task, basis, problem)
    if near is not None and refute is None and (proof := task.proof(**near.weights)):
        weights, near = near.weights, None
    structure = classify(task.orbits, task.target, 0.0)
    kept = None if proof is None else weights
    return DesignReport(
        problem=understood(problem, loss=task.loss.written),
        names=problem.class_names,
        proportions=task.p,
        target=task.target,
        moved=task.moved,
        assumption=task.loss.assumption(task.orbits) or None,
        structure=structure,
        weights=None if kept is None else alone(task.stated(kept)),
        parameters=None if kept is None else task.parameters(**kept),
        optimality=None if proof is None else proof[0],
        only=None if proof is None else proof[1],
        refutation=refute,
        nearest=None if near is None else replace(near, weights=task.stated(near.weights)),
    )


def validate(problem: Design) -> None:
    """Raise :class:`InputError` for what the loss and the target have wrong."""
    task_of(problem)


def task_of(problem: Design) -> Task:
    """The question with what it names; raises :class:`InputError` where these do not fit."""
    loss = loss_of(problem)
    own = SET_BY[problem.change]
    weighing = {name: cls for name, cls in REGISTRY.items() if cls.rebalance is not Loss.rebalance}
    takers = sorted(name for name, cls in weighing.items() if set(own) <= set(cls.takes()))
    if loss.rebalance is None or not set(own) <= set(loss.takes()):
        known = set(own) <= set(loss.takes())
        missing = listing([name.replace("_", " ") for name in own])
        short = "weighs classes otherwise in this form" if known else f"takes no {missing}"
        raise InputError(
            f"{loss.name} {short}; {problem.change} are designed for {listing(takers)}, in the limit of many negatives",
            field="loss.name",
        )
    if problem.change != "anchors" and not loss.reads_whole_set:
        raise InputError(
            f"{problem.change} are designed in the population limit only; leave out the batch", field="loss.batch"
        )
    for name in own:
        for given in (name, *CHANGED_BY.get(name, ())):
            if getattr(loss, given) is not None:
                what = "this is what is designed" if given == name else "it changes what is designed"
                raise InputError(f"{what}; leave it out", field=f"loss.{given}")
    n = len(problem.proportions)
    if n > MOST_CLASSES:
        raise InputError(f"{n:,} classes; weights are designed for at most {MOST_CLASSES}", field=problem.source)
    target, moved = target_of(problem)
    orbits = Orbits.trivial(problem.proportions, problem.class_counts)
    task = Task(problem.change, loss, loss.rebalance, orbits, target, moved, problem.tolerance)
    if problem.change == "batches":
        task = replace(task, groups=choices(loss, n))
        objective = task.changed(batches=np.ones(len(task.groups))).objective(orbits)
    else:
        objective = task.changed(anchors=orbits.proportions).objective(orbits)  # refuses what it is not worked out for
    if problem.change not in ("anchors", "batches"):
        task.changed(denominators=orbits.proportions)
    slopes = np.abs(objective.gradient(target))[meeting(task.groups, n)]
    if not slopes.min() >= SMALLEST:
        raise InputError(
            "forces between classes at the target are too small to be computed with; take a higher temperature",
            field="loss.temperature",
        )
    return task


def target_of(problem: Design) -> tuple[FloatArray, float]:
    """The target (K, K), psd with unit diagonal, and how far it was moved for that."""
    n = len(problem.proportions)
    if isinstance(problem.target, str):
        assert problem.target == SIMPLEX
        gram = np.full((n, n), simplex_cosine(n))
        np.fill_diagonal(gram, 1.0)
        return gram, 0.0
    written = np.asarray(problem.target.values, dtype=np.float64)
    off = float(np.abs(np.diag(written) - 1).max())
    if off > EXACT:
        worst = int(np.abs(np.diag(written) - 1).argmax())
        raise InputError(
            f"a target holds cosines, so that its diagonal is 1, but entry {worst + 1} of it is "
            f"{written[worst, worst]:g}",
            field="target",
        )
    skew = np.abs(written - written.T)
    if skew.max() > EXACT:
        a, b = np.unravel_index(skew.argmax(), skew.shape)
        raise InputError(
            f"the target is not symmetric: row {a + 1}, column {b + 1} is {written[a, b]:g}, row {b + 1}, column "
            f"{a + 1} is {written[b, a]:g}",
            field="target",
        )
    values, vectors = np.linalg.eigh((written + written.T) / 2)
    if values[0] < -EXACT:
        raise InputError(
            f"no points have these cosines: the smallest eigenvalue of the target is {values[0]:.3g}, and must be at "
            "least 0; if it is rounded, give more digits",
            field="target",
        )
    kept = values > EXACT
    if int((~kept).sum()) > MOST_NULL:
        raise InputError(
            f"the target leaves out {int((~kept).sum())} dimensions; weights are designed where it leaves out at most "
            f"{MOST_NULL}",
            field="target",
        )
    gram = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
    length = np.sqrt(np.diag(gram))
    gram = np.clip(gram / np.outer(length, length), -1.0, 1.0)
    np.fill_diagonal(gram, 1.0)
    return gram, float(np.abs(gram - written).max())


def rates(task: Task) -> FloatArray:
    """(K, K), zero diagonal: how hard an anchor of class a pushes the pair a, b, for each unit of its mass; the largest
    is 1."""
    slope = task.loss.objective(task.orbits).gradient(task.target)
    mass = task.rebalance.anchors(task.p, task.orbits.counts)
    found = slope / mass[:, None]
    np.fill_diagonal(found, 0.0)
    largest: FloatArray = found / found.max()
    return largest


def logits(task: Task) -> FloatArray:
    """(G - 1 + m) / tau (K, K), zero diagonal, of the target with the margins that the loss has."""
    found = (task.target - 1 + task.rebalance.margins(task.orbits)) / task.loss.parameters()["temperature"]
    np.fill_diagonal(found, 0.0)
    return np.asarray(found, dtype=np.float64)


def _now(task: Task) -> tuple[FloatArray, FloatArray]:
    return task.rebalance.anchors(task.p, task.orbits.counts), task.rebalance.denominators(task.p)


def find_anchors(task: Task, basis: FloatArray, seed: int) -> dict[str, FloatArray] | None:
    """Anchor masses by the semidefinite program."""
    found = inverse.anchor_masses(rates(task), basis, task.rebalance.drawn(task.p))
    return None if found is None else {"anchors": found}


def find_denominators(task: Task, basis: FloatArray, seed: int) -> dict[str, FloatArray] | None:
    """Denominators by least squares."""
    found = inverse.proportionate(np.exp(logits(task)), basis, *_now(task), both=False, seed=seed)
    return {"denominators": found[1]}


def find_both(task: Task, basis: FloatArray, seed: int) -> dict[str, FloatArray] | None:
    """Anchor masses and denominators by least squares."""
    w, v = inverse.proportionate(np.exp(logits(task)), basis, *_now(task), both=True, seed=seed)
    return {"anchors": w, "denominators": v}


def find_margins(task: Task, basis: FloatArray, seed: int) -> dict[str, FloatArray] | None:
    """Margins for forces that cancel and are as near as can be to those without margins."""
    w, v = _now(task)
    at, temperature = logits(task), task.loss.parameters()["temperature"]
    for exponentials in (np.exp(at), np.ones_like(at)):  # without them where those differ beyond all measure
        one_way = w[:, None] * inverse.shares(exponentials, v)
        forces = inverse.cancelling_forces(basis, one_way + one_way.T)
        found = None if forces is None else inverse.pair_margins(at, forces, w, v)
        if found is not None and np.abs(found * temperature).max() <= MOST_MARGIN:
            return {"margins": (found + found.T) / 2 * temperature}
    return None


def find_batches(task: Task, basis: FloatArray, seed: int) -> dict[str, FloatArray] | None:
    """How often each batch comes, by the semidefinite program."""
    counts = np.array([len(group) for group in task.groups], dtype=np.float64)
    found = inverse.batch_chances(task.pushes(), basis, counts)
    held = set() if found is None else {a for group, c in zip(task.groups, found, strict=True) for a in group if c > 0}
    return None if found is None or len(held) < task.p.size else {"batches": found}


FINDERS: dict[str, Callable[[Task, FloatArray, int], dict[str, FloatArray] | None]] = {
    "anchors": find_anchors,
    "denominators": find_denominators,
    "both": find_both,
    "margins": find_margins,
    "batches": find_batches,
}


def refuted(task: Task, basis: FloatArray) -> Refutation | UnequalMasses | None:
    """That there are no weights, if the anchor masses or multipliers show it: by the anchors' program, or whatever is
    changed."""
    if task.change == "denominators" and task.p.size >= 4 and is_simplex(task):
        masses = unequal_masses(task.rebalance.anchors(task.p, task.orbits.counts), float(np.exp(logits(task)[0, 1])))
        if masses.holds:
            return masses
    linear = task.change == "batches" or (task.change == "anchors" and basis.shape[1] > 0)
    pushes = task.pushes() if linear else None
    if pushes is None and not pushes_apart(task):
        return None
    multipliers = inverse.farkas(basis, pushes)
    found = None if multipliers is None else refutation(multipliers, basis, pushes)
    return found if found is not None and found.holds else None


def is_simplex(task: Task) -> bool:
    """Whether the target is a regular simplex, nothing in the loss tells its pairs apart, and its slopes are those of
    the formula that ``proof/equal_masses.py`` is about."""
    w, v = _now(task)
    slopes = w[:, None] * inverse.shares(np.exp(logits(task)), v) / task.loss.parameters()["temperature"]
    found = task.loss.objective(task.orbits).gradient(task.target)
    if not np.allclose(found, slopes * (1 - np.eye(w.size)) + np.diag(np.diag(found)), rtol=1e-9, atol=0.0):
        return False
    even = np.ptp(logits(task)[~np.eye(task.p.size, dtype=bool)]) <= ROUNDED
    return bool(even) and abs(float(task.target[0, 1]) - simplex_cosine(task.p.size)) <= ROUNDED


def pushes_apart(task: Task) -> bool:
    """Whether the loss pushes every two classes apart, whatever their weights: it attracts none, and all are felt."""
    objective = task.loss.objective(task.orbits)
    return not isinstance(objective.attraction, np.ndarray) and bool(np.all(rates(task) + np.eye(task.p.size) > 0))


def nearest(task: Task, basis: FloatArray, problem: Design) -> Nearest | None:
    """The weights whose geometry is nearest to the target among those that a search found; none where many are free."""
    n = task.p.size
    w, v = _now(task)
    parts = tuple(name for name in ("anchors", "denominators") if task.change in (name, "both"))
    free = {"margins": n * (n - 1) // 2, "batches": len(task.groups)}.get(task.change, n * len(parts))
    if free > MOST_FREE:
        return None
    if task.change == "batches":
        return follow(task, Shares(("batches",)), [{"batches": np.ones(free)}], problem)
    chart: Shares | PairMargins = Shares(parts)
    if task.change == "margins":
        chart = PairMargins(task.loss.parameters()["temperature"], MOST_MARGIN)
        return follow(task, chart, [{"margins": np.zeros((n, n))}], problem)
    starts = [{"anchors": w, "denominators": v}]
    if task.change == "anchors":
        starts.append({"anchors": inverse.least_squares_masses(rates(task), basis)})
    elif basis.shape[1]:
        starts.append({**starts[0], **(FINDERS[task.change](task, basis, problem.seed) or {})})
    starts.append(dict.fromkeys(starts[0], np.full(n, 1 / n)))
    return follow(task, chart, starts, problem)


def follow(
    task: Task, chart: Shares | PairMargins, starts: list[dict[str, FloatArray]], problem: Design
) -> Nearest | None:
    """Where a search from the ``starts`` ends."""
    return search(
        lambda weights: task.changed(**weights),
        chart,
        starts,
        task.orbits,
        task.target,
        solver=problem.solver,
        tolerance=problem.tolerance,
    )
