"""Cross-entropy of a linear classifier whose features are free: F as a function of the logits, and its three programs.

Classes have two points each, the mean h_k of their features and their classifier w_k; Z_kj = <h_k, w_j>.  Within-class
collapse is a theorem (Jensen), so that with weights w_k of the classes (sum 1), a prior v on the classes, and label
smoothing e,

    F(Z) = sum_k w_k [ log sum_j v_j e^{Z_kj} - sum_j T_kj (Z_kj + log v_j) ],    T_kk = 1 - e + e/K,  T_kj = e/K.

F sees the joint Gram matrix [[H H', Z], [Z', W W']] of features and classifiers through Z alone.  What the other two
blocks cost is the nuclear norm |.|_* of Y = diag(rho) Z: it is the least (sum_k rho_k^2 |h_k|^2 + sum_k |w_k|^2) / 2.
Each form is thus a convex program in Z:

    budget        min F,                 sum |h_k|^2 <= K E_H,  sum |w_k|^2 <= K E_W     iff  |Z|_* <= K root(E_H E_W)
    regularised   min F + lam |Y|_*,     rho_k^2 = n_k: every one of the n_k features of a class is charged
    margin        min |Y|_*,             Z_kk - Z_kj >= 1 for all j != k: the limit lam -> 0, where e = 0

Convex duality (log sum_j v_j e^{z_j} >= <q, z + log v> + H(q) for every distribution q, H the entropy) gives for any
chances Q, with D = diag(w) (Q - T), |.| the operator norm:

    F(Z) >= <D, Z> + h(Q),     h(Q) = sum_k w_k [ H(q_k) + <q_k - T_k, log v> ],     <D, Z> = <diag(1/rho) D, Y>.

Sources: Fang et al. 2021 (layer-peeled model), Thrampoulidis et al. 2022 (SELI), Dang et al. 2024 (nuclear norm
thresholds); logit adjustment: Menon et al. 2021.  The dual form in orbits is derived for this project.

Symbols: Z ``logits`` (m, m + 1), as ``cross`` of ``gram/paired.py``: the last column is Z_kk; w ``mass``, log v
``log_prior``, e ``smoothing``, Q ``chances``, T ``target``, D ``slope``, rho ``scale``, Y ``blocks``, lam ``weight``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geomsolve.gram.paired import Paired
from geomsolve.gram.types import FloatArray


@dataclass(frozen=True, eq=False)
class Cross:
    """The block between two sides, block-diagonalised: ``quotient`` (m, m) once, the numbers ``contrast`` (k,) as often
    as ``times`` (k,) says."""

    quotient: FloatArray
    contrast: FloatArray
    times: FloatArray

    @cached_property
    def spectrum(self) -> FloatArray:
        """Singular values of the quotient, the largest first."""
        values = np.linalg.svd(self.quotient, compute_uv=False)
        return np.asarray(values, dtype=np.float64)

    @property
    def nuclear(self) -> float:
        """The nuclear norm of the whole matrix."""
        return float(self.spectrum.sum() + self.times @ np.abs(self.contrast))

    @property
    def operator(self) -> float:
        """The operator norm of the whole matrix."""
        return float(max(self.spectrum[0], np.abs(self.contrast).max(initial=0.0)))

    def inner(self, other: Cross) -> float:
        """The inner product of the whole matrices."""
        return float(np.sum(self.quotient * other.quotient) + self.times @ (self.contrast * other.contrast))

    def scaled(self, by: float) -> Cross:
        """A multiple."""
        return Cross(by * self.quotient, by * self.contrast, self.times)


@dataclass(frozen=True, eq=False)
class CrossEntropy:
    """F on the logits of classes with two points each; see the module.

    ``mass`` (m,) of one class of each orbit, all classes together 1; ``log_prior`` (m,).
    """

    points: Paired
    mass: FloatArray
    log_prior: FloatArray
    smoothing: float = 0.0

    @cached_property
    def n_classes(self) -> int:
        return int(self.points.first_index.size)

    @cached_property
    def counts(self) -> FloatArray:
        """(m, m + 1): how many logits of each kind a class has."""
        return self.points.per_point

    @cached_property
    def together(self) -> FloatArray:
        """(m,): the mass of all classes of each orbit."""
        together: FloatArray = self.points.first * self.mass
        return together

    @cached_property
    def prior(self) -> FloatArray:
        """log v (m, m + 1) of each logit."""
        m = self.log_prior.size
        return np.column_stack([np.broadcast_to(self.log_prior, (m, m)), self.log_prior])

    @property
    def uniform(self) -> float:
        """What smoothing gives to every class."""
        return self.smoothing / self.n_classes

    @property
    def sure(self) -> float:
        """1 - e: how much of the target stands out."""
        return 1 - self.smoothing

    @property
    def floor(self) -> float:
        """What no logits go below: the entropy of the smoothed target."""
        small, k = self.uniform, self.n_classes
        if small == 0:
            return 0.0
        large = self.sure + small
        return float(-large * np.log(large) - (k - 1) * small * np.log(small))

    def chances(self, logits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Q (m, m + 1), the probability of one class of each kind; and log sum_j v_j e^{z_j} - z_k - log v_k (m,)."""
        shifted = logits + self.prior
        shifted = shifted - shifted[:, -1:]
        with np.errstate(divide="ignore"):
            most = np.maximum(np.where(self.counts > 0, shifted, -np.inf).max(axis=1, keepdims=True), 0.0)
        odds = np.where(self.counts > 0, np.exp(np.minimum(shifted - most, 0.0)), 0.0)
        others = np.sum(self.counts[:, :-1] * odds[:, :-1], axis=1)
        total = others + odds[:, -1]
        # of what is left for the others beside a class that is all but certain, all digits are kept
        cost = np.where(most[:, 0] > 0, most[:, 0] + np.log(total), np.log1p(others))
        return odds / total[:, None], cost

    def evaluate(self, logits: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """F in nats, D (m, m + 1) for one logit of each kind, and Q."""
        chances, cost = self.chances(logits)
        small = self.uniform
        value = float(self.together @ cost)
        if small > 0:
            ahead = (logits + self.prior)[:, -1:] - (logits + self.prior)
            value += small * float(self.together @ np.sum(self.counts * ahead, axis=1))
        return value, self.slope(chances), chances

    def slope(self, chances: FloatArray) -> FloatArray:
        """D (m, m + 1) of chances Q."""
        rest = np.where(self.counts > 0, chances - self.uniform, 0.0)
        rest[:, -1] = -np.sum(self.counts[:, :-1] * rest[:, :-1], axis=1)
        result: FloatArray = self.mass[:, None] * rest
        return result

    def curvature(self, chances: FloatArray, change: FloatArray) -> FloatArray:
        """The change (m, m + 1) of D for a ``change`` of the logits."""
        ahead = change - change[:, -1:]  # relative to the own class, of whose chance all digits may be nines
        mean = np.sum(self.counts * chances * ahead, axis=1, keepdims=True)
        result: FloatArray = self.mass[:, None] * chances * (ahead - mean)
        return result

    def towards_target(self, chances: FloatArray, part: float) -> FloatArray:
        """``part`` Q + (1 - part) T, whose slope is ``part`` D."""
        target = np.full_like(chances, self.uniform)
        target[:, -1] += self.sure
        mixed: FloatArray = part * chances + (1 - part) * target
        return mixed

    def constant(self, size: float) -> float:
        """The least loss in nats of logits z (K,) that are the same for all samples, |z| <= ``size``.

        F(z) = log sum_j v_j e^{z_j} - sum_j t_j (z_j + log v_j), t the mean target; unbounded it is least where the
        softmax is t.  Else q - t + mu z = 0 with |z| = ``size``, one root in mu, by Newton's method for each.
        """
        from scipy.optimize import brentq  # here, since only levels need it

        n, log_v = self.points.first, self.log_prior
        t = self.sure * self.mass + self.uniform

        def chances(z: FloatArray) -> FloatArray:
            shifted = z + log_v - (z + log_v).max()
            odds: FloatArray = np.exp(shifted)
            return odds / (n @ odds)

        def cost(z: FloatArray) -> float:
            top = float((z + log_v).max())
            return top + float(np.log(n @ np.exp(z + log_v - top))) - float(n @ (t * (z + log_v)))

        best = np.log(t) - log_v
        best = best - n @ best / n.sum()
        if n @ best**2 <= size**2:
            return cost(best)

        def held(log_mu: float) -> FloatArray:
            mu = float(np.exp(log_mu))
            z: FloatArray = np.zeros_like(best)
            for _ in range(100):
                q = chances(z)
                force = q - t + mu * z
                if np.abs(force).max() <= 1e-15:
                    break
                own = q + mu
                plain = force / own
                step = plain + q / own * (n @ (q * plain)) / (mu * (n @ (q / own)))
                here, fall, length = cost(z) + mu / 2 * (n @ z**2), float(n @ (force * step)), 1.0
                while length > 1e-8 and cost(z - length * step) + mu / 2 * (n @ (z - length * step) ** 2) > (
                    here - 0.1 * length * fall + 1e-15
                ):
                    length /= 2
                z = z - length * step
            return z

        def excess(log_mu: float) -> float:
            return float(n @ held(log_mu) ** 2) - size**2

        low, high = -30.0, float(np.log(1 / size)) + 1
        return cost(held(float(brentq(excess, low, high, xtol=1e-13))))

    def dual(self, chances: FloatArray) -> float:
        """h(Q) in nats."""
        others = np.where(self.counts > 0, chances, 0.0)[:, :-1]
        left = np.sum(self.counts[:, :-1] * others, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where(others > 0, -others * np.log(others), 0.0)
            own = np.where(left < 1, -(1 - left) * np.log1p(-left), 0.0)
        slope = self.slope(chances)
        return float(
            self.together @ (np.sum(self.counts[:, :-1] * spread, axis=1) + own)
            + self.points.first @ np.sum(self.counts * slope * self.prior, axis=1)
        )


@dataclass(frozen=True, eq=False)
class Peeled:
    """A program of features and classifiers: the loss, and how much more a feature is charged than a classifier.

    ``scale`` (m,) is rho.  ``ratio``: sum_k rho_k^2 |h_k|^2 over sum_k |w_k|^2.
    """

    loss: CrossEntropy
    scale: FloatArray
    ratio: float = 1.0

    @property
    def points(self) -> Paired:
        return self.loss.points

    @cached_property
    def root(self) -> FloatArray:
        """(m, m): root(n_g n_h)."""
        root = np.sqrt(self.points.first)
        return np.outer(root, root)

    def blocks(self, logits: FloatArray, power: int = 1) -> Cross:
        """diag(rho^power) Z, or of anything with the entries of Z, by blocks."""
        scaled = logits * self.scale[:, None] ** power
        g, h, n = self.points.several
        return Cross(self.root * self.points.sums(scaled), scaled[g, -1] - scaled[g, h], n - 1)

    def logits(self, blocks: Cross) -> FloatArray:
        """The inverse of :meth:`blocks`: Z (m, m + 1) of Y."""
        mean = blocks.quotient / self.root
        z = np.column_stack([mean, np.diag(mean)])
        g, h, n = self.points.several
        z[g, -1] += (n - 1) / n * blocks.contrast
        z[g, h] -= blocks.contrast / n
        z[self.loss.counts == 0] = 0.0
        result: FloatArray = z / self.scale[:, None]
        return result

    def evaluate(self, blocks: Cross) -> tuple[float, Cross, FloatArray]:
        """F in nats at Y, its slope diag(1/rho) D by blocks, and Q."""
        value, slope, chances = self.loss.evaluate(self.logits(blocks))
        return value, self.blocks(slope, -1), chances

    def curvature(self, chances: FloatArray, change: Cross) -> Cross:
        """The change of the slope for a change of Y."""
        return self.blocks(self.loss.curvature(chances, self.logits(change)), -1)

    @cached_property
    def equal(self) -> Cross:
        """diag(rho) (I - 1 1'/K): logits that tell all classes apart alike, each ahead by 1."""
        k = self.loss.n_classes
        logits = np.full_like(self.loss.counts, -1 / k)
        logits[:, -1] += 1
        return self.blocks(logits)

    @cached_property
    def contrast_slope(self) -> FloatArray:
        """(k,): how hard the features of a class and those of another like it pull apart while at one point."""
        g, _, _ = self.points.several
        slope: FloatArray = self.loss.mass[g] * self.loss.sure / self.scale[g]
        return slope


@dataclass(frozen=True, eq=False)
class Budget(Peeled):
    """Features and classifiers of limited length: |Y|_* <= ``radius``."""

    radius: float = 1.0

    def free(self) -> Cross | None:
        """The logits that attain the floor, where the budget has room for them; else None.

        Of all that do, which differ by a constant in each row, those of mean 0 in each row: no others are shorter.
        """
        loss = self.loss
        if loss.uniform == 0:
            return None
        z = np.full_like(loss.counts, np.log(loss.uniform)) - loss.prior
        z[:, -1] += np.log((loss.sure + loss.uniform) / loss.uniform)
        z -= np.sum(loss.counts * z, axis=1, keepdims=True) / loss.n_classes
        z[loss.counts == 0] = 0.0
        blocks = self.blocks(z)
        return blocks if blocks.nuclear <= self.radius else None


@dataclass(frozen=True, eq=False)
class Regularised(Peeled):
    """A charge of ``weight`` on |Y|_*."""

    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Margin(Peeled):
    """The least |Y|_* that leaves every class ahead of all others by 1."""
