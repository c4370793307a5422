"""The proof of every answer, recomputed from the loss alone; no solver's word is taken.

For the program  minimise F(G), G psd, G_aa = 1  and any feasible G, let D be the symmetrised slope of an affine
minorant of F at G (its gradient, if F is smooth; zero diagonal), mu_a = -(D G)_aa and S = D + diag(mu).
Since <S, G> = 0 and every feasible G' has trace K,

    F(G') >= F(G) + <D, G' - G> = F(G) + <S, G'> >= F(G) + K min(0, lambda_min(S)),

so  gap = K max(0, -lambda_min(S))  bounds how far F(G) lies above the optimum (plus what the minorant loses at G,
which is 0 for a smooth F).  In orbit coordinates the same S is block-diagonal, see ``gram/orbits.py``.
The tangent is not always the best minorant: where S is almost singular, G may be optimal to 1e-8 and K lambda_min(S)
still -1e-3.  :func:`tighten` asks the loss for the minorant whose S is the positive part of this one; the gap then is
quadratic, not linear, in what is missing.  :func:`projected` keeps that S whole, diagonal and all: it is psd then, and
what it loses is its product with G.
Nor is a multiple of the unit matrix the best that makes S psd: for any s >= 0 with S + diag(s) psd it is
F(G') >= F(G) - sum_a s_a, and where a solver suggests slopes, s in proportion to the sizes of forces is tried too.

Distances instead of cosines (:func:`certify_distances`): minimise F(C) over C = 1 - D/2, D any matrix of squared
Euclidean distances.  For a minorant with slope A the sum over pairs of A_ij C'_ij is const + tr(Z' L Z), L the
Laplacian with off-diagonal entries the symmetrised A_ij, so if L is psd then F >= F(C) + <A, 1 - C>.

An answer is *certified* when its numbers are finite and gap <= tolerance * max(1, |F|).

Symbols: F ``value``, D ``off_diagonal``, mu ``multipliers``, S ``dual_blocks``, K ``n_classes``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from geomsolve.gram.orbits import Blocks, Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.objectives.base import Objective

TOLERANCE = 1e-6
"""Default relative gap below which an answer counts as certified."""

ROUNDS = 12
"""Minorants tried to tighten a bound; each costs one eigendecomposition."""

PROJECTIONS = 3
"""Minorants tried whose S is a projection, diagonal and all, in each metric."""

REACH = 10.0
"""Gap, relative to what is tolerated, down from which projections are tried: they seldom gain more."""

NEARLY = 0.1
"""What is added to G where it is a metric; its eigenvalues are 1 in the mean."""

FAINTEST = 1e-12
"""Smallest multiplier, relative to the largest, that the weights of a shift of S follow."""

FEW = 32
"""Distinct proportions from which on S at the collapse takes longer than its row sums."""

COLLAPSE_ROUNDING = 1e-13
"""Eigenvalues this small, relative to the entries of S, are zero: losses linear in G sit on the threshold exactly.
So are squared lengths of the centres of orbits, relative to their sizes."""


@dataclass(frozen=True)
class Certificate:
    """``value`` and ``lower_bound`` in nats; ``gap`` is their difference; ``min_eigenvalue`` is lambda_min(S),
    or where that would take long a lower bound of it.  ``unit`` is what a nat is called after :meth:`scaled`."""

    value: float
    lower_bound: float
    gap: float
    min_eigenvalue: float
    tolerance: float
    unit: float = 1.0

    @classmethod
    def of(cls, value: float, gap: float, min_eigenvalue: float, tolerance: float) -> Certificate:
        """A value that lies at most ``gap`` above the optimum; what is no number bounds nothing."""
        gap = gap if np.isfinite(gap) else np.inf
        return cls(value, value - gap, gap, min_eigenvalue, tolerance)

    @property
    def certified(self) -> bool:
        """The one place where it is decided; nothing that is not finite is proven."""
        numbers = (self.value, self.lower_bound, self.gap, self.unit)
        return bool(np.all(np.isfinite(numbers))) and self.gap <= self.tolerance * max(self.unit, abs(self.value))

    def above(self, bound: float) -> Certificate:
        """The certificate of the same value where no more is known than that nothing lies below ``bound``."""
        gap = self.value - bound
        return replace(self, lower_bound=bound, gap=gap, min_eigenvalue=min(self.min_eigenvalue, -gap))

    def at(self, value: float) -> Certificate:
        """The same bound below another value of the loss; a bound above that value is so by rounding."""
        bound = min(self.lower_bound, value)
        return replace(self, value=value, lower_bound=bound, gap=value - bound)

    def scaled(self, times: float, plus: float = 0.0, *, unit: float = 1.0) -> Certificate:
        """The certificate of ``times`` > 0 times the value plus ``plus``, in multiples ``unit`` of a nat."""
        value, gap = times * self.value + plus, times * self.gap
        return Certificate(value, value - gap, gap, times * self.min_eigenvalue, self.tolerance, unit)


def dual_matrix(orbits: Orbits, cosines: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """S = D + diag(mu) as mu (m,) and D (m, m) by orbit, for ``slope`` (m, m) = dF/dC at ``cosines`` (m, m)."""
    n = orbits.sizes
    off_diagonal = slope + slope.T
    off_diagonal *= 0.5 / n
    off_diagonal *= (1 / n)[:, None]
    several = n > 1
    inner = np.where(several, slope.diagonal() / np.maximum(n * (n - 1), 1), 0.0)
    off_diagonal.flat[:: n.size + 1] = inner
    multipliers = -np.einsum("gh,gh->g", off_diagonal, cosines * n) + inner * cosines.diagonal()
    return multipliers, off_diagonal


def dual_blocks(orbits: Orbits, cosines: FloatArray, slope: FloatArray) -> Blocks:
    """The same S in block form."""
    return orbits.blocks(*dual_matrix(orbits, cosines, slope))


def unbalanced(objective: Objective, orbits: Orbits, cosines: FloatArray) -> float:
    """The largest force S G left on a class, relative to the forces that should cancel in it: 0 at an optimum.

    At low temperatures F hardly depends on G, so that any geometry has a tiny gap; its forces tell them apart.
    """
    dual = dual_blocks(orbits, cosines, objective.gradient(cosines)).quotient
    forces = np.abs(dual)
    if isinstance(objective.attraction, np.ndarray):
        forces += dual_blocks(orbits, np.zeros_like(cosines), 2 * objective.attraction).quotient
    if not forces.sum(axis=1).all():
        return 1.0  # what is felt nowhere leaves the geometry open
    gram = orbits.gram_blocks(cosines).quotient
    length = np.sqrt(np.maximum(np.diag(gram), 0.0))
    # the centre of an orbit that is at the origin has no direction to be pulled in
    length[length**2 <= COLLAPSE_ROUNDING * orbits.sizes] = 0.0
    total = np.outer(forces @ length, length)
    return float(np.max(np.divide(np.abs(dual @ gram), total, out=np.zeros_like(total), where=total > 0)))


def collapse_blocks(objective: Objective, orbits: Orbits) -> tuple[Blocks, float]:
    """S at the minority collapse v = (1, -1, ..., -1), G = v v', with its null vector v lifted out of the way.

    Minority collapse of the first orbit's one class against all others is optimal iff the result is psd.  The second
    value is the size of its entries together, relative to which eigenvalues are rounding.
    """
    sign = np.where(np.arange(orbits.n_orbits) == 0, 1.0, -1.0)
    return _lifted(orbits, sign, objective.gradient(np.outer(sign, sign)))


def collapse_is_optimal(objective: Objective, orbits: Orbits) -> bool:
    """Whether a single majority class, first, with all others at one opposite point, minimises ``objective``."""
    sign = np.where(np.arange(orbits.n_orbits) == 0, 1.0, -1.0)
    slope = objective.gradient(sign[:, None] * sign)
    if orbits.n_orbits > FEW and _pulled_apart(orbits, sign, slope):
        return False
    blocks, size = _lifted(orbits, sign, slope)
    return blocks.is_psd(COLLAPSE_ROUNDING * size)


def _lifted(orbits: Orbits, sign: FloatArray, slope: FloatArray) -> tuple[Blocks, float]:
    """What :func:`collapse_blocks` returns, by the ``slope`` (m, m) of F at the collapse."""
    blocks = dual_blocks(orbits, sign[:, None] * sign, slope)
    size = float(np.abs(blocks.quotient).sum())
    v = np.sqrt(orbits.sizes) * sign / np.sqrt(orbits.n_classes)
    lifted = (size * v)[:, None] * v
    lifted += blocks.quotient
    return Blocks(lifted, blocks.contrast), size


def _pulled_apart(orbits: Orbits, sign: FloatArray, slope: FloatArray) -> bool:
    """Whether a contrast of S at the collapse is negative beyond rounding: known from its row sums, without S."""
    n = orbits.sizes
    several = n > 1
    inner = np.diag(slope) / np.maximum(n * (n - 1), 1) * several
    pulled = (slope @ sign + sign @ slope - 2 * sign * np.diag(slope)) * sign / (2 * n)
    multipliers = -pulled - np.maximum(n - 1, 0) * inner
    most = float(np.abs(slope).sum() + n @ (np.abs(multipliers) + n * np.abs(inner)))  # no less than S is in size
    return bool((multipliers - inner)[several].min(initial=0.0) < -COLLAPSE_ROUNDING * most)


def certify(
    objective: Objective,
    orbits: Orbits,
    cosines: FloatArray,
    *,
    slopes: FloatArray | None = None,
    tolerance: float = TOLERANCE,
) -> Certificate:
    """The certificate of *feasible* orbit cosines (m, m); ``slopes`` as in :meth:`Objective.minorant`."""
    value = objective.value(cosines)
    minorant = objective.minorant(cosines, slopes)
    multipliers, off_diagonal = dual_matrix(orbits, cosines, minorant.slope)
    lowest = orbits.blocks(multipliers, off_diagonal).min_eigenvalue()
    lost = value - minorant.value
    missing = orbits.n_classes * max(0.0, -lowest)
    if missing > 0 and slopes is not None:
        missing = min(missing, weighed_shift(orbits, multipliers, off_diagonal))
    return Certificate.of(value, lost + missing, lowest, tolerance)


def weighed_shift(orbits: Orbits, multipliers: FloatArray, off_diagonal: FloatArray) -> float:
    """How much sum_a s_a has to be, at least, for S + diag(s) to be psd, s in proportion to the square roots of mu.

    Classes of small mass have small entries of S, and need little: that K lambda_min(S) bounds them all alike by the
    largest is what makes it a poor bound where proportions differ by much.
    """
    weights = np.sqrt(np.maximum(multipliers, FAINTEST * np.abs(multipliers).max()))
    if not weights.all() or not np.all(np.isfinite(weights)):
        return np.inf
    root = np.sqrt(weights)
    blocks = orbits.blocks(multipliers, off_diagonal)
    scaled = Blocks(blocks.quotient / root / root[:, None], blocks.contrast / weights)
    return float(orbits.sizes @ weights) * max(0.0, -scaled.min_eigenvalue())


def tighten(objective: Objective, orbits: Orbits, cosines: FloatArray, certificate: Certificate) -> Certificate:
    """The same value with the best lower bound that a few other minorants give; stops once certified."""
    best = certificate
    if best.certified:
        return best
    slope = objective.gradient(cosines)
    for _ in range(ROUNDS):
        if best.certified:
            return best
        blocks = dual_blocks(orbits, cosines, slope)
        missing = orbits.entries(blocks.negative_part())[1]
        wanted = (slope + slope.T) / 2 + orbits.pairs * missing
        slope = objective.minorant(cosines, wanted).slope
        trial = certify(objective, orbits, cosines, slopes=wanted, tolerance=best.tolerance)
        progress = trial.gap < 0.9 * best.gap
        best = min(best, trial, key=lambda c: c.gap)
        if not progress:
            break
    within = best.gap <= REACH * best.tolerance * max(best.unit, abs(best.value))
    return projected(objective, orbits, cosines, best) if within and not best.certified else best


def projected(objective: Objective, orbits: Orbits, cosines: FloatArray, certificate: Certificate) -> Certificate:
    """The same value with the best lower bound that the nearest psd S give, whose multipliers stay as they come out.

    Then <S, G> is not 0, and  F(G') >= F(G) - lost - <S, G> - K max(0, -lambda_min(S)).  Nearest first in the metric
    of (G + :data:`NEARLY`)^(1/2) on either side, which keeps <S, G> small, then in that of entries.
    """
    best = certificate
    tangent = objective.gradient(cosines)
    sizes, turn = np.linalg.eigh(orbits.gram_blocks(cosines).quotient)
    root = np.sqrt(np.maximum(sizes, 0.0) + NEARLY)
    metrics = [((turn * root) @ turn.T, (turn / root) @ turn.T), None]
    for metric in metrics:
        slope = tangent
        multipliers, off_diagonal = dual_matrix(orbits, cosines, slope)
        for turns in range(PROJECTIONS):
            blocks = orbits.blocks(multipliers, off_diagonal)
            if metric is None or turns:
                short = blocks.negative_part()
            else:
                scaled = Blocks(metric[0] @ blocks.quotient @ metric[0], blocks.contrast).negative_part()
                short = Blocks(metric[1] @ scaled.quotient @ metric[1], scaled.contrast)
            more, missing = orbits.entries(short)
            wanted = (slope + slope.T) / 2 + orbits.pairs * missing
            minorant = objective.minorant(cosines, wanted)
            slope, multipliers = minorant.slope, multipliers + more
            off_diagonal = dual_matrix(orbits, cosines, slope)[1]
            lowest = orbits.blocks(multipliers, off_diagonal).min_eigenvalue()
            product = float(orbits.sizes @ multipliers + np.sum(np.where(orbits.pairs > 0, slope * cosines, 0.0)))
            shift = orbits.n_classes * max(0.0, -lowest)
            gap = best.value - minorant.value + product + shift
            if gap < best.gap:
                best = Certificate.of(best.value, gap, lowest, best.tolerance)
            if best.certified or shift < 0.1 * gap:
                break
        if best.certified:
            break
    return best


def certify_distances(
    objective: Objective, orbits: Orbits, cosines: FloatArray, *, tolerance: float = TOLERANCE
) -> Certificate:
    """The certificate of C = 1 - D/2 (m, m) among all squared-distance matrices D; see the module.

    Minorants of two kinds are mixed: those of :func:`tighten`, whose L is psd up to rounding, and the one of points
    infinitely far apart, whose L is positive definite where the wanted pairs connect all points.  The lower bound is
    -inf where no mixture is psd.
    """
    value = objective.value(cosines)
    ones = np.ones_like(cosines)
    root = np.sqrt(orbits.sizes / orbits.sizes.sum())
    far = objective.gradient(ones - 1e6 * (1 + np.abs(1 - cosines).max()))

    def laplacian(slope: FloatArray) -> Blocks:
        return dual_blocks(orbits, ones, slope)

    def smallest(blocks: Blocks) -> float:
        """Smallest eigenvalue but for the constant vector, whose eigenvalue is 0."""
        lifted = blocks.quotient + np.outer(root, root) * np.abs(blocks.quotient).sum()
        return float(min(np.linalg.eigvalsh(lifted)[0], blocks.contrast.min()))

    stiff = smallest(laplacian(far))
    best = Certificate(value, -np.inf, np.inf, -np.inf, tolerance)
    slope = objective.gradient(cosines)
    for _ in range(ROUNDS):
        blocks = laplacian(slope)
        lowest = smallest(blocks)
        noise = 1e-15 * float(np.abs(blocks.quotient).sum())
        short = max(noise - lowest, 0.0)
        if short < stiff:
            part = min(1.0, 2 * short / (stiff + short))
            minorant = objective.minorant(cosines, (1 - part) * slope + part * far)
            lowest = smallest(laplacian(minorant.slope))
            bound = minorant.value + float(np.sum(minorant.slope * (1 - cosines)))
            if lowest >= 0 and bound > best.lower_bound:
                best = Certificate(value, bound, value - bound, lowest, tolerance)
        if best.certified:
            break
        wanted = (slope + slope.T) / 2 + orbits.pairs * orbits.entries(blocks.negative_part())[1]
        slope = objective.minorant(cosines, wanted).slope
    return best
