"""Objectives of two sides: F as a function of the cosines between x and y alone (``gram/paired.py``).

Which pairs (x_i, y_j) belong together is a joint distribution pi with the marginals p and q (:class:`Joint`).  Of what
the losses of ``pair_losses`` are made:

    Attraction    - scale sum_ij pi_ij C_ij
    LogRows       sum_r mass_r log sum_j w_rj e^{scale (C_ij - 1)}          i the point of row r; or from the side of j
    Softplus      sum_ij a_ij log(1 + e^{-(scale C_ij + bias)}) + b_ij log(1 + e^{scale C_ij + bias})

each convex in C.  Entries of pi are of one pair; a kind of pair (g, h) of which there are c counts c times.

Symbols: pi ``Joint.weights``, p, q ``first``, ``second``, C ``cross`` (m_x, m_y + 1), dF/dC ``gradient``: by the one
number that all pairs of a kind share, as in ``objectives/base.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.paired import Paired, alike
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.objectives.base import ConeForm, LogTerms

CrossCurvature = Callable[[FloatArray], FloatArray]
"""From a change of the cosines (m_x, m_y + 1) to that of the gradient."""


@dataclass(frozen=True, eq=False)
class Joint:
    """Who belongs to whom: ``weights`` (m_x, m_y + 1) of one pair of each kind, all pairs of all kinds together 1.

    ``first_point`` (N_x,), ``second_point`` (N_y,): which of the ``paired`` points each one given is: points with the
    same pairs coincide at some optimum (of a convex F), so they are one here.  ``first_given`` (m_x,) and
    ``second_given`` (m_y,) say how many were given for each.
    """

    paired: Paired
    weights: FloatArray
    first_point: IntArray
    second_point: IntArray
    first_given: IntArray
    second_given: IntArray

    @classmethod
    def classes(cls, orbits: Orbits, noise: float = 0.0) -> Joint:
        """K classes, pi = (1 - noise) diag p + noise p p': a part of the pairs has a partner drawn at random."""
        paired, p = Paired.of(orbits), orbits.proportions
        weights = np.zeros((orbits.n_orbits, orbits.n_orbits + 1))
        weights[:, :-1] = noise * np.outer(p, p)
        weights[:, -1] = (1 - noise) * p + noise * p * p
        weights[paired.counts == 0] = 0.0
        point, one = np.arange(orbits.n_classes), np.ones(orbits.n_orbits, np.int64)
        return cls(paired, weights, point, point, one, one)

    @classmethod
    def of(cls, matrix: FloatArray, *, merge: bool = True) -> Joint:
        """Of a matrix (N_x, N_y) of weights >= 0, scaled to sum 1, every row and column with a positive entry."""
        pi = np.asarray(matrix, dtype=np.float64)
        if pi.ndim != 2 or not np.isfinite(pi).all() or (pi < 0).any() or not (pi.sum() > 0):
            raise InputError("the joint weights must be a matrix of numbers that are at least 0 and not all 0")
        if not pi.sum(axis=1).all() or not pi.sum(axis=0).all():
            raise InputError("every row and every column of the joint weights needs a positive entry")
        pi = pi / pi.sum()
        first_point, second_point = np.arange(pi.shape[0]), np.arange(pi.shape[1])
        if merge:
            first_point, second_point = _groups(pi), _groups(pi.T)
            pi = _pool(_pool(pi, first_point).T, second_point).T
        paired = alike(pi)
        _, one = np.unique(paired.first_index, return_index=True)
        _, two = np.unique(paired.second_index, return_index=True)
        given = np.bincount(first_point)[one], np.bincount(second_point)[two]
        return cls._refined(paired, pi, first_point, second_point, *given)

    @classmethod
    def _refined(
        cls, paired: Paired, pi: FloatArray, x: IntArray, y: IntArray, many: IntArray, more: IntArray
    ) -> Joint:
        """Points that stand for different numbers of given ones are not alike."""
        for index, given in ((paired.first_index, np.bincount(x)), (paired.second_index, np.bincount(y))):
            if any(np.ptp(given[index == g]) for g in np.unique(index)):
                paired = paired.apart()
                return cls(paired, paired.reduce_cross(pi), x, y, np.bincount(x), np.bincount(y))
        return cls(paired, paired.reduce_cross(pi), x, y, many, more)

    @property
    def first(self) -> FloatArray:
        """(m_x,) the marginal p of one x of each orbit."""
        return np.asarray((self.weights * self.paired.per_point).sum(axis=1))

    @property
    def second(self) -> FloatArray:
        """(m_y,) the marginal q of one y of each orbit."""
        return self.mirror.first

    @property
    def mirror(self) -> Joint:
        """The same with the sides exchanged."""
        return Joint(
            self.paired.mirror,
            self.paired.flip(self.weights),
            self.second_point,
            self.first_point,
            self.second_given,
            self.first_given,
        )

    def apart(self) -> Joint:
        """The same, every point an orbit of its own."""
        paired = self.paired
        return Joint(
            paired.apart(),
            paired.apart().reduce_cross(paired.lift_cross(self.weights)),
            self.first_point,
            self.second_point,
            self.first_given[paired.first_index],
            self.second_given[paired.second_index],
        )

    @property
    def product(self) -> FloatArray:
        """(m_x, m_y + 1): p_i q_j of one pair of each kind."""
        return self.spread(np.outer(self.first, self.second))

    def spread(self, table: FloatArray) -> FloatArray:
        """A table (m_x, m_y) by orbit, in the form of ``cross``: partners have what their orbits have."""
        wide = np.zeros((self.paired.n_first, self.paired.n_second + 1))
        wide[:, :-1] = table
        g, h = self.paired.matched
        wide[g, -1] = table[g, h]
        return wide


def _groups(rows: FloatArray) -> IntArray:
    """(n,) equal numbers for equal rows, in the order of their first appearance."""
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return np.asarray(rank[which.ravel()], dtype=np.int64)


def _pool(rows: FloatArray, which: IntArray) -> FloatArray:
    """Rows that are one point added up."""
    pooled = np.zeros((int(which.max()) + 1, rows.shape[1]))
    np.add.at(pooled, which, rows)
    return pooled


class CrossObjective(ABC):
    """A convex, smooth F of the cosines between two sides, ``cross`` (m_x, m_y + 1).

    ``strict``: 'everywhere' where F is strictly convex in all cosines together, 'up to a constant' where it is but for
    one number added to all of them, which leaves F as it is; '' claims nothing.
    """

    strict: str = ""

    @abstractmethod
    def evaluate(self, cross: FloatArray) -> tuple[float, FloatArray]:
        """F in nats and its gradient (m_x, m_y + 1)."""

    @abstractmethod
    def curvature(self, cross: FloatArray) -> CrossCurvature:
        """The map from a change of the cosines to the change of the gradient, both (m_x, m_y + 1)."""

    @abstractmethod
    def forces(self, cross: FloatArray) -> FloatArray:
        """How strongly each kind of pair is pulled or pushed, (m_x, m_y + 1) >= 0, before what cancels is taken off."""

    @abstractmethod
    def stiffness(self, cross: FloatArray) -> FloatArray:
        """The part of the curvature that sees each entry alone, (m_x, m_y + 1) >= 0."""

    @property
    def attraction(self) -> FloatArray | float:
        """(m_x, m_y + 1), or 0: the gradient plus it is nowhere negative."""
        return 0.0

    def folded(self) -> CrossObjective:
        """The same F for a ``cross`` that is its own mirror, every row seen from the first side."""
        return self

    def normalisers(self, cross: FloatArray) -> FloatArray | None:
        """(R, m_x, m_y + 1): what ``stiffness`` is less by, one normaliser of a row each, as in :class:`RowCurvature`;
        None where the curvature is no such thing."""
        return None

    def cone_form(self) -> ConeForm | None:
        """F as data for a conic solver, of entries of ``cross``; None where there is none of reasonable size."""
        return None

    def value(self, cross: FloatArray) -> float:
        return self.evaluate(cross)[0]

    def gradient(self, cross: FloatArray) -> FloatArray:
        return self.evaluate(cross)[1]


class Total(CrossObjective):
    """The sum of some and a ``constant``."""

    def __init__(self, *parts: CrossObjective, constant: float = 0.0, strict: str = "") -> None:
        self.parts, self.constant, self.strict = parts, constant, strict

    def evaluate(self, cross: FloatArray) -> tuple[float, FloatArray]:
        found = [part.evaluate(cross) for part in self.parts]
        return self.constant + sum(value for value, _ in found), np.sum([slope for _, slope in found], axis=0)

    def curvature(self, cross: FloatArray) -> CrossCurvature:
        maps = [part.curvature(cross) for part in self.parts]
        return lambda change: np.asarray(np.sum([one(change) for one in maps], axis=0))

    def forces(self, cross: FloatArray) -> FloatArray:
        return np.asarray(np.sum([part.forces(cross) for part in self.parts], axis=0))

    def stiffness(self, cross: FloatArray) -> FloatArray:
        return np.asarray(np.sum([part.stiffness(cross) for part in self.parts], axis=0))

    @property
    def attraction(self) -> FloatArray | float:
        return sum((part.attraction for part in self.parts), 0.0)

    def folded(self) -> CrossObjective:
        return Total(*(part.folded() for part in self.parts), constant=self.constant)

    def normalisers(self, cross: FloatArray) -> FloatArray | None:
        found = [rows for part in self.parts if (rows := part.normalisers(cross)) is not None]
        return np.concatenate(found) if len(found) == len(self.parts) else None

    def cone_form(self) -> ConeForm | None:
        forms: list[ConeForm] = []
        for part in self.parts:
            form = part.cone_form()
            if form is None:
                return None
            forms.append(form)
        linear = np.sum([form.linear for form in forms if form.linear.size], axis=0)
        logs: list[LogTerms] = [form.logs for form in forms if form.logs is not None]
        constant = self.constant + sum(form.constant for form in forms)
        return ConeForm(constant, np.asarray(linear), LogTerms.together(logs) if logs else None)


@dataclass(frozen=True)
class Attraction(CrossObjective):
    """- sum over kinds of pairs: ``strength`` (m_x, m_y + 1) C, all pairs of a kind together."""

    strength: FloatArray

    def evaluate(self, cross: FloatArray) -> tuple[float, FloatArray]:
        return -float(np.sum(self.strength * cross)), -self.strength

    def curvature(self, cross: FloatArray) -> CrossCurvature:
        return np.zeros_like

    def forces(self, cross: FloatArray) -> FloatArray:
        return self.strength

    def stiffness(self, cross: FloatArray) -> FloatArray:
        return np.zeros_like(cross)

    @property
    def attraction(self) -> FloatArray | float:
        return self.strength

    def normalisers(self, cross: FloatArray) -> FloatArray | None:
        return np.zeros((0, *cross.shape))

    def cone_form(self) -> ConeForm:
        return ConeForm(linear=-self.strength)


class LogRows(CrossObjective):
    """sum_r mass_r log sum_j w_rj e^{scale (C_rj - 1)}; see the module.

    ``weights`` (R, m_y + 1) of all terms of a kind together, ``mass`` (R,), ``row`` (R,) the orbit whose cosines row r
    sees (all in turn unless given).  With ``paired`` the sides are exchanged: rows are y, and ``weights`` (R, m_x + 1).
    """

    def __init__(
        self,
        mass: FloatArray,
        weights: FloatArray,
        scale: float,
        *,
        row: IntArray | None = None,
        paired: Paired | None = None,
    ) -> None:
        self.mass, self.scale, self.paired = mass, scale, paired
        self.weights, self.row = weights, row
        with np.errstate(divide="ignore"):
            self.log_weights = np.log(weights)

    def _seen(self, cross: FloatArray) -> FloatArray:
        rows = cross if self.paired is None else self.paired.flip(cross)
        return rows if self.row is None else rows[self.row]

    def _back(self, rows: FloatArray, n_rows: int) -> FloatArray:
        if self.row is not None:
            total = np.zeros((n_rows, rows.shape[1]))
            np.add.at(total, self.row, rows)
            rows = total
        return rows if self.paired is None else self.paired.mirror.flip(rows)

    def _n_rows(self, cross: FloatArray) -> int:
        return int(cross.shape[0] if self.paired is None else cross.shape[1] - 1)

    def _shares(self, cross: FloatArray) -> tuple[FloatArray, FloatArray]:
        terms = self.scale * (self._seen(cross) - 1) + self.log_weights
        top = terms.max(axis=1, keepdims=True)
        terms = np.exp(terms - top)
        total = terms.sum(axis=1, keepdims=True)
        return np.asarray((np.log(total) + top)[:, 0]), np.asarray(terms / total)

    def evaluate(self, cross: FloatArray) -> tuple[float, FloatArray]:
        log_sums, share = self._shares(cross)
        slope = self.scale * self.mass[:, None] * share
        return float(self.mass @ log_sums), self._back(slope, self._n_rows(cross))

    def curvature(self, cross: FloatArray) -> CrossCurvature:
        share = self._shares(cross)[1]
        rate = self.scale**2 * self.mass[:, None] * share

        def bend(change: FloatArray) -> FloatArray:
            seen = self._seen(change)
            mean = np.sum(share * seen, axis=1, keepdims=True)
            return self._back(rate * (seen - mean), self._n_rows(cross))

        return bend

    def forces(self, cross: FloatArray) -> FloatArray:
        return self.gradient(cross)

    def stiffness(self, cross: FloatArray) -> FloatArray:
        return self.scale * self.gradient(cross)

    def folded(self) -> CrossObjective:
        return LogRows(self.mass, self.weights, self.scale, row=self.row)

    def normalisers(self, cross: FloatArray) -> FloatArray | None:
        if self.row is not None or self.paired is not None:
            return None
        rows = self.scale * np.sqrt(self.mass)[:, None] * self._shares(cross)[1]
        return rows[None]

    def cone_form(self) -> ConeForm:
        used = self.mass > 0
        row, place = np.nonzero(np.isfinite(self.log_weights) & used[:, None])
        number = np.cumsum(used) - 1
        g = row if self.row is None else self.row[row]
        h = place
        if self.paired is not None:  # entry (h, g) of the other side
            last = place == self.paired.n_first
            g, h = np.where(last, self.paired.owner[g], place), np.where(last, self.paired.n_second, g)
        logs = LogTerms(
            self.mass[used],
            np.full(int(used.sum()), -np.inf),
            number[row].astype(np.int64),
            np.asarray(g, dtype=np.int64),
            np.asarray(h, dtype=np.int64),
            self.log_weights[row, place],
            self.scale,
        )
        return ConeForm(logs=logs)


@dataclass(frozen=True)
class Softplus(CrossObjective):
    """sum over kinds: ``near`` log(1 + e^{-z}) + ``far`` log(1 + e^z), z = ``scale`` C + ``bias``; weights of all pairs
    of a kind together (m_x, m_y + 1)."""

    near: FloatArray
    far: FloatArray
    scale: float
    bias: float
    strict: str = ""

    def evaluate(self, cross: FloatArray) -> tuple[float, FloatArray]:
        z = self.scale * cross + self.bias
        cost, charge = np.logaddexp(0, -z), np.logaddexp(0, z)
        value = float(np.sum(self.near * cost) + np.sum(self.far * charge))
        return value, self.scale * (self.far * np.exp(z - charge) - self.near * np.exp(-z - cost))

    def curvature(self, cross: FloatArray) -> CrossCurvature:
        bend = self.stiffness(cross)
        return lambda change: bend * change

    def forces(self, cross: FloatArray) -> FloatArray:
        z = self.scale * cross + self.bias
        up, down = np.exp(z - np.logaddexp(0, z)), np.exp(-z - np.logaddexp(0, -z))
        return np.asarray(self.scale * (self.far * up + self.near * down))

    def stiffness(self, cross: FloatArray) -> FloatArray:
        z = self.scale * cross + self.bias
        return np.asarray(self.scale**2 * (self.near + self.far) * np.exp(-np.logaddexp(0, z) - np.logaddexp(0, -z)))

    @property
    def attraction(self) -> FloatArray | float:
        return self.scale * self.near

    def normalisers(self, cross: FloatArray) -> FloatArray | None:
        return np.zeros((0, *cross.shape))

    def cone_form(self) -> ConeForm:
        """log(1 + e^{-z}) = log(1 + e^z) - z."""
        both = self.near + self.far
        g, h = np.nonzero(both > 0)
        rows = np.arange(g.size)
        weight = np.full(g.size, self.scale + self.bias)
        logs = LogTerms(both[g, h], np.zeros(g.size), rows, g, h, weight, self.scale)
        return ConeForm(-self.bias * float(self.near.sum()), -self.scale * self.near, logs)
