"""What a weighting asks of an embedding, and whether any can give it: the verdict, by eigenvalues.

The loss is at its entropic floor iff softmax(s_i.) = P_i for every anchor i, that is s_ij = log w_ij + c on all pairs
that enter (w symmetric; a normalisation by columns divides w_ij by Z_i Z_j, which is symmetric again).

    self pairs included   s_ii = 1/tau (or 0) fixes c, the same for all i only if all w_ii are equal
    self pairs excluded   c is free: a linear matrix inequality in one scalar

    cosine latents        T = tau (log w + c),   diagonal 1, must be psd;             tau log w is ``strength``
    Euclidean latents     D = -2 tau (log w + c), diagonal 0, must be a squared-distance matrix

Everything is in orbit form: samples with equal labels are interchangeable (``gram/orbits.py``).

Symbols: log w ``log_weights``, P ``target``, q ``share``, a_i ``masses``, T, D ``wanted``, tau ``temperature``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.edm import Shift, Spectrum, circumradius, shift_interval
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.logsum import LogSum
from geomsolve.questions.realizable import Realizable
from geomsolve.weightings import Weighting, make_weighting
from geomsolve.weightings.custom import Custom

MOST_LABELS = 2000
"""Distinct labels up to which the eigenvalues and the program are worked out."""


@dataclass(frozen=True, eq=False)
class Target:
    """The pairs that enter the loss, their weights and what they ask for.

    ``labels`` (m, d) distinct, None for a custom matrix; ``orbits`` of samples with equal labels; ``log_weights``
    (m, m) effective, -inf for weight 0, 0 where ``allowed`` is False; ``masses`` (m,) of one anchor each.
    """

    labels: FloatArray | None
    orbits: Orbits
    log_weights: FloatArray
    allowed: FloatArray
    masses: FloatArray
    temperature: float
    similarity: str
    include: bool

    @property
    def partial(self) -> bool:
        """Whether the weights of some pairs are not known."""
        return not bool(np.all(self.allowed[self.orbits.pairs > 0]))

    @property
    def share(self) -> float:
        """q: every sample is compared equally often."""
        return 1 / (self.orbits.n_classes - (0 if self.include else 1))

    @property
    def pairs(self) -> FloatArray:
        """(m, m): how many allowed partners in orbit h a sample of orbit g has, itself left out."""
        counts: FloatArray = self.orbits.others * self.allowed
        return counts

    def log_target(self) -> tuple[FloatArray, FloatArray]:
        """log P_gh (m, m) of one pair, and log P of the self pair (m,), -inf where it does not enter."""
        logs = np.where(self.pairs > 0, self.log_weights, -np.inf)
        own = np.diag(self.log_weights) if self.include else np.full(logs.shape[0], -np.inf)
        top = np.maximum(logs.max(axis=1), own)
        top = np.where(np.isfinite(top), top, 0.0)
        sums = (self.pairs * np.exp(logs - top[:, None])).sum(axis=1) + np.exp(own - top)
        with np.errstate(divide="ignore"):
            normaliser = top + np.log(sums)
        normaliser = np.where(self.masses > 0, normaliser, 0.0)
        return logs - normaliser[:, None], own - normaliser

    @property
    def floor(self) -> float:
        """-sum_i a_i KL(P_i || q), in nats: below it no similarities whatever can get."""
        logs, own = self.log_target()
        log_share = np.log(self.share)
        entropy = self.pairs * _times_log(logs, logs - log_share)
        rows = entropy.sum(axis=1) + _times_log(own, own - log_share)
        return -float((self.orbits.sizes * self.masses) @ rows)

    def objective(self) -> LogSum:
        """The loss as a function of orbit cosines C; for Euclidean latents C = 1 - D/2."""
        logs, _ = self.log_target()
        n = self.orbits.n_orbits
        return LogSum(
            self.pairs * self.share,
            np.full(n, self.share if self.include else 0.0),
            self.orbits.sizes * self.masses,
            1 / self.temperature,
            self.pairs * np.exp(logs),
            unique_minimiser=self.include and not self.partial,
        )

    def residual(self, cosines: FloatArray) -> tuple[float, float]:
        """max |softmax(s) - P| over single pairs, and the excess sum_i a_i KL(P_i || softmax_i) in nats."""
        logs, own = self.log_target()
        s = (cosines - 1) / self.temperature + np.log(self.share)
        zero = np.full(s.shape[0], np.log(self.share) if self.include else -np.inf)
        masked = np.where(self.pairs > 0, s, -np.inf)
        top = np.maximum(masked.max(axis=1), zero)
        normaliser = top + np.log((self.pairs * np.exp(masked - top[:, None])).sum(axis=1) + np.exp(zero - top))
        masked, zero = masked - normaliser[:, None], zero - normaliser
        used = self.masses > 0
        with np.errstate(invalid="ignore"):
            excess = (self.pairs * _times_log(logs, logs - masked)).sum(axis=1) + _times_log(own, own - zero)
        error = np.abs(np.exp(masked) - np.exp(logs))[used]
        error_own = np.abs(np.exp(zero) - np.exp(own))[used]
        worst = max(float(error.max(initial=0.0)), float(error_own.max(initial=0.0)))
        return worst, max(0.0, float((self.orbits.sizes * self.masses)[used] @ excess[used]))

    @property
    def zero_weights(self) -> bool:
        """Whether some pair that enters has weight 0, so that the floor is an infimum."""
        active = (self.masses[:, None] > 0) | (self.masses > 0)
        return bool(np.any(np.isneginf(self.log_weights) & (self.pairs > 0) & active))

    def components(self) -> IntArray:
        """(m,): which labels are connected by pairs of positive weight."""
        from scipy.sparse.csgraph import connected_components

        joined = (self.pairs > 0) & np.isfinite(self.log_weights)
        return np.asarray(connected_components(joined, directed=False)[1], dtype=np.int64)


def _times_log(logs: FloatArray, factor: FloatArray) -> FloatArray:
    """exp(logs) * factor, 0 where exp(logs) is."""
    return np.exp(logs) * np.where(np.isneginf(logs), 0.0, factor)


def weighting_of(problem: Realizable) -> Weighting:
    """The weighting that a problem names, with its parameters; matrices are read."""
    return make_weighting(problem.weighting, problem.parameters)


def target_of(problem: Realizable, weighting: Weighting) -> Target:
    """Bind a weighting to the labels of a problem.  Raises :class:`InputError` for what makes no sense."""
    include = problem.self_pairs == "include"
    similarity = problem.similarity or weighting.similarity
    if isinstance(weighting, Custom):
        if problem.labels is not None:
            raise InputError("custom takes its matrix as it is; leave the labels out", field="labels")
        labels, sizes, index = None, np.ones(weighting.size, dtype=np.int64), np.arange(weighting.size)
    else:
        points = problem.points
        labels, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")  # labels keep the order in which they first stand
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        labels, index = labels[order], place[inverse.ravel()]
        sizes = np.bincount(index).astype(np.int64)
    n, m = int(index.size), int(sizes.size)
    if m > MOST_LABELS:
        raise InputError(
            f"{m:,} distinct labels need a program with about {m * m / 2e6:,.0f} million unknowns; at most "
            f"{MOST_LABELS:,} are solved. Round the labels so that more are equal, or draw some with sample, "
            f"as in --sample {MOST_LABELS}",
            field="labels",
        )
    orbits = Orbits(sizes, np.full(m, 1 / n), index)
    logs = weighting.log_weights(np.zeros((m, 0)) if labels is None else labels, problem.temperature, similarity)
    known = ~np.isnan(logs)
    if include and not (np.diag(known).all() and np.isfinite(np.diag(logs)).all()):
        i = int(np.flatnonzero(~np.isfinite(np.diag(logs)))[0])
        raise InputError(
            f"sample {i + 1} has no positive weight with itself; give it one, or leave such pairs out of the loss "
            "with self_pairs exclude",
            field="weights",
        )
    logs = np.where(known, logs, 0.0)
    counts = orbits.others * known
    logs, masses = _normalised(logs, counts, include, problem.normalise, n)
    if not masses.any():
        raise InputError(
            "no sample has a partner of positive weight, so the loss is empty; include self pairs, or repeat labels",
            field="self_pairs",
        )
    return Target(labels, orbits, logs, known.astype(float), masses, problem.temperature, similarity, include)


def _normalised(
    logs: FloatArray, counts: FloatArray, include: bool, normalise: str, n: int
) -> tuple[FloatArray, FloatArray]:
    """Effective log weights and the mass of each anchor.

    By rows, P_ij = w_ij / Z_i.  By columns the loss has w_ij / Z_j in its place: anchor i then counts
    m_i = sum_j w_ij / Z_j times, with the target that w_ij / (Z_i Z_j) has by rows.
    """
    with np.errstate(divide="ignore"):
        terms = np.where(counts > 0, logs + np.log(counts), -np.inf)
    if include:
        terms = np.column_stack([terms, np.diag(logs)])
    top = terms.max(axis=1)
    empty = np.isneginf(top)
    top = np.where(empty, 0.0, top)
    with np.errstate(divide="ignore"):
        normaliser = np.where(empty, 0.0, top + np.log(np.exp(terms - top[:, None]).sum(axis=1)))
    if normalise == "rows":
        return logs, np.where(empty, 0.0, 1 / n)
    ratio = np.where(counts > 0, counts * np.exp(logs - normaliser), 0.0).sum(axis=1)
    if include:
        ratio = ratio + np.exp(np.diag(logs) - normaliser)
    return logs - normaliser[:, None] - normaliser, ratio / n


@dataclass(frozen=True, eq=False)
class Verdict:
    """Can the target be attained?  ``kind`` is 'realizable', 'degenerate' or 'inconsistent'.

    ``spectrum`` of T (or of the centred D); ``radius`` of the sphere through the wanted points; ``wanted`` (m, m)
    orbit cosines, or 1 - D/2, at the constant used; ``obstacle`` names what stands in the way:
    'zero weights', 'self weights', 'spectrum', 'dimension' or ''.  ``shift`` only where the constant is free.
    """

    kind: str
    obstacle: str
    spectrum: Spectrum | None
    radius: float | None
    wanted: FloatArray | None
    least_dimension: int | None
    shift: Shift | None = None
    shift_ranks: tuple[int, ...] = ()


def verdict_of(target: Target, dim: int | None, rtol: float) -> Verdict:
    """Decide a complete target by eigenvalues; those with missing entries go through ``solvers/completion.py``."""
    if target.zero_weights:
        return Verdict("degenerate", "zero weights", None, None, None, None)
    found = (_with_self if target.include else _without_self)(target, rtol)
    if dim is not None and found.least_dimension is not None and found.least_dimension > dim:
        return replace(found, kind="inconsistent", obstacle="dimension")
    return found


def self_weights_differ(target: Target, rtol: float) -> bool:
    """Whether the weights of self pairs are unequal, in units of the target."""
    own = target.temperature * np.diag(target.log_weights)
    return bool(np.ptp(own) > np.sqrt(rtol) * max(1.0, float(np.abs(own).max())))


def wanted_with_self(target: Target) -> FloatArray:
    """Orbit cosines (m, m) that the target asks for when self pairs enter (1 - D/2 for Euclidean latents)."""
    return 1 - wanted_distances(target) / 2


def wanted_distances(target: Target) -> FloatArray:
    """Squared distances D (m, m) that the target asks for when self pairs enter; for cosines, of unit vectors."""
    strength = target.temperature * target.log_weights
    return np.asarray(2 * (float(np.diag(strength).mean()) - strength), dtype=np.float64)


def _with_self(target: Target, rtol: float) -> Verdict:
    """The constant is pinned.  Euclidean latents: D Euclidean.  Cosine: D on a sphere no larger than the unit one."""
    orbits, distances = target.orbits, wanted_distances(target)
    unequal = self_weights_differ(target, rtol)
    if not unequal:
        np.fill_diagonal(distances, 0.0)
    wanted = 1 - distances / 2
    root = np.sqrt(orbits.sizes)
    block = _weighted_centred(orbits, distances)  # samples with equal labels coincide
    more = np.zeros(orbits.n_classes - orbits.n_orbits)
    euclidean = Spectrum.of(np.sort(np.concatenate([np.linalg.eigvalsh(block), more])), rtol)
    radius = circumradius(distances, rtol)
    spectrum = euclidean
    if target.similarity == "cosine":
        gram = np.linalg.eigvalsh(root[:, None] * wanted * root)
        spectrum = Spectrum.of(np.sort(np.concatenate([gram, more])), rtol)
    if unequal:
        return Verdict("inconsistent", "self weights", spectrum, radius, wanted, None)
    if target.similarity == "euclidean":
        if not euclidean.psd:
            return Verdict("inconsistent", "spectrum", spectrum, radius, wanted, None)
        return Verdict("realizable", "", spectrum, radius, wanted, euclidean.rank)
    if radius is None or radius > 1 + rtol:
        return Verdict("inconsistent", "spectrum", spectrum, radius, wanted, None)
    # unit vectors on a smaller sphere need one dimension more than their affine hull
    dimension = euclidean.rank + (radius < 1 - rtol)
    return Verdict("realizable", "", spectrum, radius, wanted, max(1, int(dimension)))


def _weighted_centred(orbits: Orbits, distances: FloatArray) -> FloatArray:
    """The nonzero block (m, m) of B = -J D J / 2 for orbits of coinciding points."""
    p = orbits.sizes / orbits.n_classes
    rows = distances @ p
    gram = -(distances - rows[:, None] - rows + p @ rows) / 2
    root = np.sqrt(orbits.sizes)
    block: FloatArray = root[:, None] * gram * root
    return block


def _without_self(target: Target, rtol: float) -> Verdict:
    """The constant is free.  Cosine: A + c (1 1' - I) psd;  Euclidean: B(D) + (e/2) J psd, bounded on one side only."""
    orbits = target.orbits
    strength = np.where(orbits.pairs > 0, target.temperature * target.log_weights, 0.0)
    if target.similarity == "euclidean":
        return _euclidean_exclude(target, strength, rtol)
    zero_shift = orbits.blocks(np.ones(orbits.n_orbits), strength)
    shift = shift_interval(zero_shift.quotient, np.sqrt(orbits.sizes), zero_shift.contrast)

    def spectrum_at(c: float) -> tuple[Spectrum, FloatArray]:
        wanted = strength + c
        values = orbits.eigenvalues(orbits.blocks(np.ones(orbits.n_orbits), wanted))
        return Spectrum.of(values, rtol), wanted

    best, wanted = spectrum_at(shift.best)
    if not best.psd:
        return Verdict("inconsistent", "spectrum", best, None, wanted, None, shift)
    if shift.low is None or shift.high is None:  # psd up to rounding, at one constant only
        shift = Shift(shift.best, shift.best, shift.best, shift.margin)
    ends = [spectrum_at(c) for c in (shift.high, shift.low, shift.best)]  # type: ignore[arg-type]
    ranks = tuple(found.rank for found, _ in ends)
    at = ranks.index(min(ranks))
    wanted = ends[at][1]
    wanted[orbits.pairs == 0] = 1.0
    return Verdict("realizable", "", best, _radius_of_unit(orbits, wanted, rtol), wanted, ranks[at], shift, ranks)


def _radius_of_unit(orbits: Orbits, cosines: FloatArray, rtol: float) -> float:
    """Circumradius of unit vectors with orbit cosines (m, m): 1 unless their hull stays away from the centre."""
    quotient = orbits.gram_blocks(cosines).quotient
    ones = np.sqrt(orbits.sizes)
    values, vectors = np.linalg.eigh(quotient)
    kept = values > rtol * values[-1]
    along = vectors[:, kept].T @ ones
    if np.linalg.norm(vectors[:, kept] @ along - ones) > np.sqrt(rtol) * np.linalg.norm(ones):
        return 1.0
    return float(np.sqrt(max(0.0, 1 - 1 / float(np.sum(along**2 / values[kept])))))


def _euclidean_exclude(target: Target, strength: FloatArray, rtol: float) -> Verdict:
    """All large enough constants work: every symmetric target has a Euclidean one among its shifts (Lingoes 1971)."""
    orbits = target.orbits
    distances = -2 * strength
    root = np.sqrt(orbits.sizes)
    unit = root / np.sqrt(orbits.n_classes)
    blocks = orbits.blocks(np.zeros(orbits.n_orbits), -distances / 2)
    project = np.eye(unit.size) - np.outer(unit, unit)
    complement = np.linalg.qr(np.column_stack([unit, np.eye(unit.size)]))[0][:, 1:]
    inner = complement.T @ (project @ blocks.quotient @ project) @ complement
    least = float(min(np.linalg.eigvalsh(inner).min(initial=np.inf), blocks.contrast.min()))
    # adding e to all squared distances adds e/2 to every eigenvalue on the centred space
    shift = Shift(-2 * least, None, -2 * least, np.inf)
    wanted = 1 - (distances - 2 * least) / 2
    wanted[orbits.pairs == 0] = 1.0
    values = np.concatenate(
        [
            np.linalg.eigvalsh(inner) - least,
            np.repeat(np.where(orbits.sizes > 1, blocks.contrast, 0.0) - least, orbits.sizes - 1),
        ]
    )
    spectrum = Spectrum.of(np.sort(np.concatenate([values, [0.0]])), rtol)
    return Verdict("realizable", "", spectrum, None, wanted, spectrum.rank, shift, (spectrum.rank,))
