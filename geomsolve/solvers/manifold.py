"""The manifold route: second-order steps on rows of numbers (``points.py``), for any smooth loss.

F is minimised over the product of spheres by a Riemannian trust-region Newton method with truncated conjugate
gradients (Absil, Baker & Gallivan 2007).  Rows are scaled by the size of their gradient, without which classes of
proportion 1e-6 would never settle.  A second-order point that does not use all its dimensions is optimal; whether this
one is, the certificate decides: where S has negative eigenvalues the solver leaves along their eigenvectors, into new
dimensions, and dimensions that hardly matter are dropped.

Symbols: S as in ``proof/certificate.py``, r + 1 columns of ``Place.point``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.edm import centred
from geomsolve.gram.embedding import embed
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective
from geomsolve.proof.certificate import TOLERANCE, Certificate, certify, certify_distances, tighten
from geomsolve.solvers.base import Solution
from geomsolve.solvers.first_order import Watch, approach, search
from geomsolve.solvers.points import Place, Points, Quadratic

RESIDUAL = 1e-13
"""Stop when every row's gradient is this small relative to the forces that cancel in it."""

PATIENCE = 60
"""Steps without progress, where F no longer resolves any, before giving up; a tenth of it once rows nearly balance."""

MAX_STEPS = 1000
MAX_ESCAPES = 8

LARGE = 100
"""Rows from which on steps are worked out in single precision."""

INWARD = 1e-3
"""How far a point on the boundary is moved inside before Newton steps: where a direction has length zero, they cannot
tell whether it should."""

MARGIN = 0.1
"""Part of the tolerance that the gap may take where the solver stops by it."""

FAINT = 1e-12
"""Ratio of the smallest to the largest force down to which single precision sees both."""

SHARE = 1e-3
"""Part of all squared lengths that the dimensions left out of a start hold together, where a goal is given."""

FULL = 0.9
"""Part of all dimensions that a start of nearly full rank uses."""

CLOSE = 0.03
"""Predicted decrease, relative to the gap wanted, from which on the certificate is looked at; then each time that it
is a third of what it was."""

BALANCED = 1e-2
"""Residual from which on a small gap is not only due to a loss that hardly depends on the geometry."""

SETTLED = 1e-10
"""Relative decrease of F that ends a search in limited dimension, whose local minima differ by far more."""

HOPELESS = 1e4
"""Ratio of the tangent's gap to that wanted, from which on no other minorant is tried."""

RISE = 1e3
"""How much larger forces may be after a step whose decrease of F is below rounding: F does not see where that leads."""

NOISE = 1e3 * float(np.finfo(float).eps)
"""Relative rounding of F, with a margin."""

MOST_STARTS, FEWEST_STARTS = 20, 3
"""Starts of a search in limited dimension: the most up to 100 classes, then fewer."""

MANY = 150
"""Classes from which on a search in limited dimension goes by the gradient alone (``first_order.py``)."""

MOST_SIGNS = 14
"""Classes up to which all 2^(K-1) ways to put them at two points are tried."""


def descend(place: Place, limit: int, goal: float = 0.0, enough: float = 0.0) -> tuple[Place, int, bool]:
    """Trust-region steps until rows balance to rounding, nothing moves any more, or the gap is below ``goal``, an
    amount of F; with a goal, dimensions that hardly matter are dropped on the way.  Or until balanced rows can lower F
    by no more than ``enough``.  Returns where it got, the steps taken, and whether the goal was met."""
    points = place.points
    even = place.weights.min() > FAINT * place.weights.max()
    dtype: type[np.floating] = np.float32 if place.point.shape[0] >= LARGE and even else np.float64
    model: Quadratic | None = None
    radius = 0.5 * float(np.sqrt(place.weights.sum())) * place.size
    largest = 4 * radius
    best_residual, least_force, idle, ahead = place.residual, place.force, 0, CLOSE * goal
    for count in range(limit):
        if place.residual <= RESIDUAL or idle >= (PATIENCE if place.residual > 1e-8 else PATIENCE // 10):
            return place, count, False
        model = model or Quadratic(place, dtype)
        noise = NOISE * max(1e-3, abs(place.value))
        for step in model.steps(radius):
            trial = Place.at(points, points.normalise(place.point + step.rows))
            sound = step.predicted > -noise / 2  # and a number
            sound = sound and (step.predicted > noise or trial.force < RISE * place.force)
            ratio = (place.value - trial.value + noise) / (step.predicted + noise) if sound else -np.inf
            if ratio > 0.05:
                break
            radius = min(radius, step.length / 2)
        if ratio > 0.75:
            radius = min(2 * radius, largest)
        elif ratio < 0.25:
            radius /= 4
        if ratio > 0.05:
            place, model = trial, None
            if step.predicted < enough and place.residual < BALANCED:
                return place, count + 1, False
            if goal:
                place = narrowed(place, step.predicted)
                if step.predicted < ahead:
                    if place.residual < BALANCED and gap_of(place, goal) <= goal:
                        return place, count + 1, True
                    ahead, outside = step.predicted / 3, escape(place)
                    if outside is not None and place.value - outside.value > step.predicted:
                        place, ahead = outside, CLOSE * goal
        if dtype is np.float32 and (not step.predicted > noise or radius < 1e-6 * largest):
            dtype, model = np.float64, None
        improved = place.residual < 0.5 * best_residual or place.force < 0.5 * least_force
        idle = 0 if improved or abs(step.predicted) > noise else idle + 1
        best_residual, least_force = min(best_residual, place.residual), min(least_force, place.force)
        if radius < 1e-14 * largest:
            return place, count + 1, False
    return place, limit, False


def gap_of(place: Place, goal: float) -> float:
    """How far above the optimum F may be, looked at as closely as it takes to see whether that is below ``goal``."""
    points, tolerance = place.points, goal / max(1.0, abs(place.value))
    objective, orbits, cosines = points.objective, points.orbits, points.cosines(place.point)
    if not points.unit:
        return certify_distances(objective, orbits, cosines, tolerance=tolerance).gap
    first = certify(objective, orbits, cosines, tolerance=tolerance)
    return tighten(objective, orbits, cosines, first).gap if first.gap < HOPELESS * goal else first.gap


def narrowed(place: Place, allowance: float) -> Place:
    """The place without the dimensions that hold little, if F rises by less than ``allowance`` then."""
    point = place.point
    lengths, turn = np.linalg.eigh(point[:, :-1].T @ point[:, :-1])
    little = lengths < 10 * SHARE * lengths.sum() / lengths.size
    if not little.any():
        return place
    fewer = np.column_stack([point[:, :-1] @ turn[:, ~little], point[:, -1]])
    trial = Place.at(place.points, place.points.normalise(fewer))
    return trial if trial.value <= place.value + max(allowance, 0.0) else place


def escape(place: Place) -> Place | None:
    """A place from which F falls, if S has negative eigenvalues that a step can use; None if S is psd."""
    points, orbits = place.points, place.points.orbits
    blocks = place.dual()
    values, vectors = np.linalg.eigh(blocks.quotient)
    lowest = float(min(values[0], blocks.contrast.min()))
    if orbits.n_classes * -lowest <= 1e-15 * max(1.0, abs(place.value)):
        return None
    u = place.point[:, :-1]
    left, lengths, _ = np.linalg.svd(u, full_matrices=False)
    used = lengths > 1e-9 * lengths[0]
    turned, spread = left[:, used] * lengths[used], place.point[:, -1].copy()
    ways = values < 0.1 * lowest if values[0] <= lowest else np.zeros(values.size, dtype=bool)
    added = vectors[:, ways] / np.sqrt(orbits.sizes)[:, None]
    opened = np.zeros(spread.size)
    if not ways.any():
        opened[int(np.argmin(blocks.contrast))] = 1.0
    best = place
    for size in (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5):
        moved = np.column_stack([turned, size * added, spread + size * opened])
        trial = Place.at(points, points.normalise(moved))
        if trial.value < best.value:
            best = trial
    return None if best is place else best


def interior(orbits: Orbits) -> FloatArray:
    """A start: the regular simplex, moved a little towards the orthogonal frame so that it has full rank."""
    cosines: FloatArray = 0.9 * orbits.regular_simplex() + np.diag(np.where(orbits.sizes > 1, 0.0, 0.1))
    return cosines


def solve_manifold(
    objective: Objective, orbits: Orbits, *, start: FloatArray | None = None, goal: float = 0.0
) -> Solution:
    """Minimise a smooth objective from orbit cosines ``start`` (m, m), or from near the regular simplex.

    With a ``goal`` it stops at that relative gap.  Raises :class:`InputError` for a loss with kinks.
    """
    if not objective.smooth:
        raise InputError("the manifold solver needs a loss without kinks; use conic", field="solver")
    centroids, spread = orbits.factor(interior(orbits) if start is None else start)
    place, steps = rise(Points(objective, orbits), centroids, spread, goal)
    return Solution(orbits.nearest_gram(place.points.cosines(place.point)), "manifold", steps)


def approached(objective: Objective, orbits: Orbits, start: FloatArray, goal: float, most: int) -> FloatArray | None:
    """Orbit cosines (m, m) that ``most`` evaluations of F and its gradient lead to from ``start`` (m, m); None where
    the start has not nearly full rank: in few dimensions such steps get nowhere."""
    rows = kept(*orbits.factor(start), goal)
    if rows.shape[1] <= FULL * orbits.n_orbits:
        return None
    points = Points(objective, orbits)
    return orbits.nearest_gram(points.cosines(approach(points, points.normalise(rows), most)))


def kept(centroids: FloatArray, spread: FloatArray, goal: float) -> FloatArray:
    """Rows (m, r + 1), with a ``goal`` without the dimensions that hold little; columns go from short to long."""
    if goal:
        lengths = np.sum(centroids**2, axis=0)
        centroids = centroids[:, np.cumsum(lengths) > SHARE * lengths.sum()]
    return np.column_stack([centroids, spread])


def rise(points: Points, centroids: FloatArray, spread: FloatArray, goal: float) -> tuple[Place, int]:
    """Descend, and escape into new dimensions, from rows whose columns go from short to long; with the steps taken."""
    place = Place.at(points, points.normalise(kept(centroids, spread, goal)))
    steps = 0
    for _ in range(MAX_ESCAPES):
        wanted = goal * max(1.0, abs(place.value))
        place, taken, proven = descend(place, MAX_STEPS - steps, wanted)
        steps += taken
        if steps >= MAX_STEPS or proven or (wanted and gap_of(place, wanted) <= wanted):
            break
        moved = escape(place)
        if moved is None:
            break
        place = moved
    return place, steps


def solve_distances(
    objective: Objective, orbits: Orbits, start: FloatArray, *, tolerance: float = TOLERANCE
) -> tuple[Solution, Certificate]:
    """Minimise a smooth objective over squared distances D of points, C = 1 - D/2, from ``start`` C (m, m), near some
    points; with the proof, which may leave a gap."""
    rows = embed(centred(2 * (1 - start)))[:, ::-1]
    place, steps = rise(Points(objective, orbits, unit=False), rows, np.zeros(orbits.n_orbits), MARGIN * tolerance)
    cosines = place.points.cosines(place.point)
    return Solution(cosines, "manifold", steps), certify_distances(objective, orbits, cosines, tolerance=tolerance)


def solve_limited(
    objective: Objective,
    orbits: Orbits,
    start: FloatArray,
    dim: int,
    seed: int,
    *,
    unit: bool = True,
    watch: Watch | None = None,
) -> tuple[Solution, FloatArray]:
    """The best of several local minima in at most ``dim`` dimensions, with its points (K, dim); nothing makes it the
    global one.

    Classes with equal proportions need not be alike any more, so that ``orbits`` are single classes.  The first start
    are the points with C = ``start`` (K, K), cut to their ``dim`` main directions, the others are random (``seed``).
    With :data:`MANY` classes it tells ``watch`` how far it is, who may end it by KeyboardInterrupt and gets the best.
    Raises :class:`InputError` for a loss with kinks, or for one dimension and many classes.
    """
    if not objective.smooth:
        raise InputError(
            "the optimum found needs more dimensions, and in fewer only losses without kinks are searched", field="dim"
        )
    n = orbits.n_classes
    if unit and dim == 1:
        return solve_line(objective, n)
    points = Points(objective, orbits, unit)
    generator = np.random.default_rng(seed)
    settled = SETTLED * max(1.0, abs(objective.value(start)))
    gram = start if unit else centred(2 * (1 - start))
    first = embed(gram, dim)
    first = np.pad(first, ((0, 0), (0, dim - first.shape[1])))
    size = float(np.sqrt(np.trace(gram) / n))
    starts = max(FEWEST_STARTS, min(MOST_STARTS, MOST_STARTS * 100**2 // n**2))

    def begin() -> Iterator[FloatArray]:
        for number in range(starts):
            noise = generator.standard_normal((n, dim)) * size
            yield noise / np.sqrt(dim) if number else first + 1e-3 * noise

    if n >= MANY:
        reached = search(points, begin(), dim, watch)
        rows, steps, note = reached.rows, reached.evaluations, reached.remark
        starts, cosines = reached.starts, points.cosines(np.column_stack([reached.rows, np.zeros(n)]))
    else:
        best, steps, note = None, 0, ""
        for rows in begin():
            place, taken, _ = descend(
                Place.at(points, points.normalise(np.column_stack([rows, np.zeros(n)]))), MAX_STEPS, enough=settled
            )
            steps += taken
            if best is None or place.value < best.value - NOISE * abs(best.value):  # of equals the first
                best = place
        assert best is not None
        rows, cosines = best.point[:, :-1], points.cosines(best.point)
    note = f"best of {starts} {'start' if starts == 1 else 'starts'} in {dim} dimensions{note}"
    found = rows if unit else rows - rows.mean(axis=0)
    return Solution(cosines, "manifold", steps, note=note), found


def solve_line(objective: Objective, n_classes: int) -> tuple[Solution, FloatArray]:
    """One dimension: each class is at one of two points, so that all ways can be tried."""
    if n_classes > MOST_SIGNS:
        raise InputError(
            f"one dimension has only two points; they are tried for at most {MOST_SIGNS} classes, not {n_classes:,}",
            field="dim",
        )
    best = (np.inf, np.ones((n_classes, n_classes)))
    for signs in itertools.product((1.0, -1.0), repeat=n_classes - 1):
        side = np.array([1.0, *signs])
        cosines = np.outer(side, side)
        best = min(best, (objective.value(cosines), cosines), key=lambda each: each[0])
    note = "all ways to put the classes at two points"
    return Solution(best[1], "manifold", 2 ** (n_classes - 1), note=note), best[1][:, :1]
