"""What a weighting asks of an embedding, and whether any can give it: the verdict, by eigenvalues.

The loss is at its entropic floor iff softmax(s_i.) = P_i for every anchor i, that is s_ij = log w_ij + c on all pairs
that enter (w symmetric; a normalisation by columns divides w_ij by Z_i Z_j, which is symmetric again).

    self pairs included   s_ii = 1/tau (or 0) fixes c, the same for all i only if all w_ii are equal
    self pairs excluded   c is free: a linear matrix inequality in one scalar

What that asks of the latents, and whether they have it, they say themselves (``latents.py``).  Everything is in orbit
form: samples with equal labels are interchangeable (``gram/orbits.py``).

Symbols: log w ``log_weights``, P ``target``, q ``share``, a_i ``masses``, tau ``temperature``, tau log w ``strength``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.edm import Shift, Spectrum
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import Objective
from geomsolve.objectives.logsum import LogSum
from geomsolve.weightings.latents import Latents

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
    latents: Latents
    include: bool
    normalise: str

    @property
    def unattained(self) -> str:
        """Why no embedding attains a target with zero weights."""
        return f"some pairs have weight 0, which asks for {self.latents.farthest}; no finite embedding has that"

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
        normaliser = np.where(self.masses > 0, _log_sums(logs, self.pairs, own), 0.0)
        return logs - normaliser[:, None], own - normaliser

    @property
    def floor(self) -> float:
        """-sum_i a_i KL(P_i || q), in nats: below it no similarities whatever can get."""
        logs, own = self.log_target()
        log_share = np.log(self.share)
        entropy = self.pairs * _times_log(logs, logs - log_share)
        rows = entropy.sum(axis=1) + _times_log(own, own - log_share)
        return -float((self.orbits.sizes * self.masses) @ rows)

    def objective(self) -> Objective:
        """The loss as a function of orbit cosines C; in space C = 1 - D/2."""
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

    @property
    def strength(self) -> FloatArray:
        """tau log w (m, m), in units of what is asked for."""
        strength: FloatArray = self.temperature * self.log_weights
        return strength

    def self_weights_differ(self, rtol: float) -> bool:
        """Whether self pairs enter with unequal weights in one component, in units of what is asked for."""
        if not self.include:
            return False
        own, parts = np.diag(self.strength), self.components()
        spread = max(float(np.ptp(own[parts == part])) for part in range(int(parts.max()) + 1))
        return bool(spread > np.sqrt(rtol) * max(1.0, float(np.abs(own).max())))

    def wanted_distances(self) -> FloatArray:
        """Squared distances 2 (1 - C) (m, m) asked for where self pairs enter, whose weights pin one constant for each
        component; where they do not, for the constant 0."""
        own = np.zeros(self.orbits.n_orbits)
        if self.include:
            parts = self.components()
            own = (np.bincount(parts, np.diag(self.strength)) / np.bincount(parts))[parts]
        distances: FloatArray = own[:, None] + own - 2 * self.strength
        return distances

    def wanted(self, verdict: Verdict) -> FloatArray:
        """What is asked for (m, m) as a person sees it, nan where nothing is, infinite where the weight is 0."""
        cosines = 1 - self.wanted_distances() / 2 if verdict.wanted is None else verdict.wanted
        return np.where(self.allowed > 0, self.latents.shown(cosines), np.nan)

    def distortion(self, wanted: FloatArray, attained: FloatArray, names: Sequence[str]) -> dict[str, Any] | None:
        """How far ``attained`` is from ``wanted`` (m, m) over pairs that enter, and for which; None if none does."""
        entering = (self.pairs > 0) & np.isfinite(wanted)
        if not entering.any():
            return None
        error = np.where(entering, np.abs(attained - np.where(entering, wanted, 0.0)), 0.0)
        g, h = divmod(int(np.argmax(error)), error.shape[0])
        weights = np.where(entering, self.pairs * self.orbits.sizes[:, None], 0.0)
        return {
            "max_error": float(error[g, h]),
            "rms_error": float(np.sqrt(np.sum(weights * error**2) / weights.sum())),
            "pair": [names[g], names[h]],
            "wanted": float(wanted[g, h]),
            "attained": float(attained[g, h]),
        }

    def start(self) -> FloatArray:
        """Feasible C (m, m) near what is asked for."""
        distances = np.where(self.allowed > 0, self.wanted_distances(), np.inf)
        distances[self.orbits.pairs == 0] = 0.0
        return self.latents.feasible(self.orbits, self.latents.start(distances))

    def approached(self, rtol: float) -> bool:
        """Whether embeddings come arbitrarily near the floor although some weights are 0."""
        if self.self_weights_differ(rtol):
            return False
        distances, parts = self.wanted_distances(), self.components()
        blocks = [distances[np.ix_(parts == part, parts == part)] for part in range(int(parts.max()) + 1)]
        return self.latents.approached(blocks, not self.include, rtol)

    def refuse_escaping(self) -> None:
        """Raise :class:`InputError` where groups of samples move infinitely far apart and cannot be attained."""
        if not self.latents.unit and self.components().max() > 0:
            raise InputError(
                "with Euclidean latents, groups of samples that no positive weight joins move infinitely far apart, "
                "and some group is not realizable by itself; ask about each group separately",
                field="labels",
            )

    def single(self) -> Target:
        """The same target with one orbit a sample."""
        count = self.orbits.n_classes
        return self.finer(Orbits.trivial(np.full(count, 1 / count)))

    def finer(self, orbits: Orbits) -> Target:
        """The same target on finer ``orbits`` of the same samples."""
        parent = self.orbits.index[np.unique(orbits.index, return_index=True)[1]]
        at = np.ix_(parent, parent)
        return replace(
            self,
            orbits=orbits,
            log_weights=self.log_weights[at],
            allowed=self.allowed[at],
            masses=self.masses[parent],
        )

    def residual(self, cosines: FloatArray) -> tuple[float | None, float]:
        """max |softmax(s) - P| over single pairs, and the excess sum_i a_i KL(P_i || softmax_i) in nats."""
        logs, own = self.log_target()
        s = (cosines - 1) / self.temperature + np.log(self.share)
        zero = np.full(s.shape[0], np.log(self.share) if self.include else -np.inf)
        masked = np.where(self.pairs > 0, s, -np.inf)
        normaliser = _log_sums(masked, self.pairs, zero)
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


def distinct(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """Distinct rows (m, d) of ``points`` (n, d), in the order in which they first stand, and the row of each (n,)."""
    labels, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    return labels[order], place[inverse.ravel()]


def bind(
    labels: FloatArray | None,
    index: IntArray,
    log_weights: Callable[[FloatArray], FloatArray],
    *,
    temperature: float,
    latents: Latents,
    include: bool = True,
    normalise: str = "rows",
) -> Target:
    """What ``log_weights``, of distinct ``labels`` (m, d), ask of samples whose labels are at ``index`` (n,).

    ``labels`` None: of m samples that need none.  ``normalise`` by 'rows' or 'columns'.  Raises :class:`InputError` for
    what makes no sense.
    """
    sizes = np.bincount(index).astype(np.int64)
    n, m = int(index.size), int(sizes.size)
    if m > MOST_LABELS:
        raise InputError(
            f"{m:,} distinct labels need a program with about {m * m / 2e6:,.0f} million unknowns; at most "
            f"{MOST_LABELS:,} are solved. Round the labels (bin, as in --bin 1), or draw some (sample, "
            f"as in --sample {MOST_LABELS})",
            field="labels",
        )
    orbits = Orbits(sizes, np.full(m, 1 / n), index)
    logs = log_weights(np.zeros((m, 0)) if labels is None else labels)
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
    logs, masses = _normalised(logs, counts, include, normalise, n)
    if not masses.any():
        raise InputError(
            "no sample has a partner of positive weight, so the loss is empty; include self pairs, or repeat labels",
            field="self_pairs",
        )
    return Target(labels, orbits, logs, known.astype(float), masses, temperature, latents, include, normalise)


def _log_sums(logs: FloatArray, counts: FloatArray, own: FloatArray) -> FloatArray:
    """log( sum_h counts_gh e^{logs_gh} + e^{own_g} ) (m,), -inf where nothing enters."""
    from scipy.special import logsumexp

    terms, times = np.column_stack([logs, own]), np.column_stack([counts, np.ones_like(own)])
    return np.asarray(logsumexp(terms, axis=1, b=times), dtype=np.float64)


def _normalised(
    logs: FloatArray, counts: FloatArray, include: bool, normalise: str, n: int
) -> tuple[FloatArray, FloatArray]:
    """Effective log weights and the mass of each anchor.

    By rows, P_ij = w_ij / Z_i.  By columns the loss has w_ij / Z_j in its place: anchor i then counts
    m_i = sum_j w_ij / Z_j times, with the target that w_ij / (Z_i Z_j) has by rows.
    """
    normaliser = _log_sums(logs, counts, np.diag(logs) if include else np.full(logs.shape[0], -np.inf))
    empty = np.isneginf(normaliser)
    normaliser = np.where(empty, 0.0, normaliser)
    if normalise == "rows":
        return logs, np.where(empty, 0.0, 1 / n)
    ratio = np.where(counts > 0, counts * np.exp(logs - normaliser), 0.0).sum(axis=1)
    if include:
        ratio = ratio + np.exp(np.diag(logs) - normaliser)
    return logs - normaliser[:, None] - normaliser, ratio / n


@dataclass(frozen=True, eq=False)
class Verdict:
    """Can the target be attained?  ``kind`` is 'realizable', 'degenerate' or 'inconsistent'.

    ``spectrum``, ``radius``, ``wanted`` and ``shift`` as in :class:`geomsolve.weightings.latents.Fit`; ``obstacle``
    names what stands in the way: 'zero weights', 'self weights', 'spectrum', 'completion', 'dimension' or ''.
    """

    kind: str
    obstacle: str = ""
    spectrum: Spectrum | None = None
    radius: float | None = None
    wanted: FloatArray | None = None
    least_dimension: int | None = None
    shift: Shift | None = None


def verdict_of(target: Target, dim: int | None, rtol: float) -> Verdict:
    """Decide a complete target by eigenvalues; those with missing entries go through ``solvers/completion.py``."""
    if target.zero_weights:
        return Verdict("degenerate", "zero weights")
    unequal = target.self_weights_differ(rtol)
    if target.include:
        distances = target.wanted_distances()
        if not unequal:
            np.fill_diagonal(distances, 0.0)
        fit = target.latents.pinned(target.orbits, distances, rtol)
    else:
        strength = np.where(target.orbits.pairs > 0, target.strength, 0.0)
        fit = target.latents.free(target.orbits, strength, rtol)
    found = Verdict("realizable", "", fit.spectrum, fit.radius, fit.wanted, fit.dimension, fit.shift)
    if unequal or not fit.fits:
        obstacle = "self weights" if unequal else "spectrum"
        return replace(found, kind="inconsistent", obstacle=obstacle, least_dimension=None)
    if dim is not None and found.least_dimension is not None and found.least_dimension > dim:
        return replace(found, kind="inconsistent", obstacle="dimension")
    return found
