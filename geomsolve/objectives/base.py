"""What every objective is: F as a function of the m x m orbit cosines C (see ``gram/orbits.py``), with

    A_gh = dF/dC_gh,  C_gh and C_hg taken as independent entries, so dF = sum_gh A_gh dC_gh,

its curvature A' = (d^2F)[C'], and, where there is one, its cone form for a conic solver.  Most curvatures have the
structure of :class:`RowCurvature`, which lets the dual solver invert the gradient.

Symbols: F ``value``, A ``gradient``, C ``cosines``, K ``n_classes``, m ``n_orbits``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from geomsolve.gram.types import BoolArray, FloatArray, IntArray

Curvature = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class RowCurvature:
    """The curvature of a sum over anchors, entrywise but for a few normalisers of each row:

    A'_gh = own_gh C'_gh - sum_r rows_rgh y_rg,    y_rg = sum_h rows_rgh C'_gh,

    ``own`` (m, m) >= 0, ``rows`` (R, m, m).  With ``joint`` one normaliser is shared by all pairs: y_r sums over g too.
    """

    own: FloatArray
    rows: FloatArray
    joint: bool = False

    @classmethod
    def together(cls, parts: Sequence[Curvature]) -> RowCurvature:
        """The sum of some that have this structure."""
        alike = [part for part in parts if isinstance(part, RowCurvature)]
        assert len(alike) == len(parts)
        own: FloatArray = np.sum([part.own for part in alike], axis=0)
        return cls(own, np.concatenate([part.rows for part in alike]))

    def __call__(self, change: FloatArray) -> FloatArray:
        result: FloatArray = self.own * change
        for row in self.rows:
            normaliser = (row * change).sum(axis=1, keepdims=True)
            result -= row * (normaliser.sum() if self.joint else normaliser)
        return result


def _none() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True)
class LogTerms:
    """sum_r mass_r log( exp(log_offset_r) + sum over terms of row r: exp(scale (C[g, h] - 1) + log_weight) ).

    ``mass``, ``log_offset`` (R,), the latter -inf for no offset; ``row``, ``g``, ``h``, ``log_weight`` (T,).
    """

    mass: FloatArray
    log_offset: FloatArray
    row: IntArray
    g: IntArray
    h: IntArray
    log_weight: FloatArray
    scale: float

    def only(self, kept: BoolArray) -> LogTerms:
        """The same rows with some of their terms, ``kept`` (T,)."""
        terms = (self.row[kept], self.g[kept], self.h[kept], self.log_weight[kept])
        return LogTerms(self.mass, self.log_offset, *terms, self.scale)

    @classmethod
    def together(cls, parts: Sequence[LogTerms]) -> LogTerms:
        """The sum of some, of one scale."""
        before = np.cumsum([0, *(part.mass.size for part in parts)])
        return cls(
            np.concatenate([part.mass for part in parts]),
            np.concatenate([part.log_offset for part in parts]),
            np.concatenate([part.row + n for part, n in zip(parts, before[:-1], strict=True)]),
            np.concatenate([part.g for part in parts]),
            np.concatenate([part.h for part in parts]),
            np.concatenate([part.log_weight for part in parts]),
            parts[0].scale,
        )


@dataclass(frozen=True)
class ConeForm:
    """F as data that a conic solver understands:

    F = constant + sum_gh linear_gh C_gh + logs + sum_gh hinge_gh max(C_gh - knee, 0) + sum_gh square_gh C_gh^2.
    """

    constant: float = 0.0
    linear: FloatArray = field(default_factory=_none)
    logs: LogTerms | None = None
    hinge: FloatArray = field(default_factory=_none)
    knee: float = 0.0
    square: FloatArray = field(default_factory=_none)

    def value(self, cosines: FloatArray) -> float:
        """F at orbit cosines, evaluated from the data alone."""
        total = self.constant
        if self.linear.size:
            total += float(np.sum(self.linear * cosines))
        if self.hinge.size:
            total += float(np.sum(self.hinge * np.maximum(cosines - self.knee, 0)))
        if self.square.size:
            total += float(np.sum(self.square * cosines**2))
        if self.logs is not None:
            logs = self.logs
            sums = np.exp(logs.log_offset)
            np.add.at(sums, logs.row, np.exp(logs.scale * (cosines[logs.g, logs.h] - 1) + logs.log_weight))
            total += float(logs.mass @ np.log(sums))
        return total


@dataclass(frozen=True)
class Minorant:
    """An affine function below F everywhere: F(C') >= value + sum_gh slope_gh (C'_gh - C_gh)."""

    value: float
    slope: FloatArray


class Objective(ABC):
    """F on orbit cosines.  ``smooth`` says whether F has a gradient everywhere.

    ``unique_minimiser`` says that F, as a function of all K(K-1)/2 cosines, has at most one minimiser on any
    convex set (because it is strictly convex, for one); False claims nothing.  ``attraction`` (m, m), or 0, is such
    that the gradient plus it is positive: the logarithm of that sum is what the dual solver matches.
    ``below`` is None for a convex F; for any other it is a convex objective that is nowhere above F.
    ``degenerate`` says why every geometry attains the infimum, where that is so, and ``keeps_apart`` why no two classes
    share a point at any optimum, where that is a theorem.
    ``expectation``, of a mean over batches each of which is a mean of its own: 'exact', or 'ratio' where the ratio of
    two expectations stands for it; '' where the question does not arise.  No geometry has a mean below ``least_share``
    times the least ratio.
    """

    smooth: bool = True
    unique_minimiser: bool = False
    attraction: FloatArray | float = 0.0
    below: Objective | None = None
    degenerate: str = ""
    keeps_apart: str = ""
    expectation: str = ""
    least_share: float = 1.0

    @property
    def decides(self) -> bool:
        """Whether the certificate at a candidate tells if it is optimal: smooth convex losses that are no constant."""
        return self.smooth and self.below is None and not self.degenerate

    @abstractmethod
    def evaluate(self, cosines: FloatArray) -> tuple[float, FloatArray]:
        """F in nats, and its gradient A (m, m), at orbit cosines (m, m)."""

    def value(self, cosines: FloatArray) -> float:
        return self.evaluate(cosines)[0]

    def gradient(self, cosines: FloatArray) -> FloatArray:
        return self.evaluate(cosines)[1]

    @abstractmethod
    def curvature(self, cosines: FloatArray) -> Curvature:
        """The map from a change C' of the cosines (m, m) to the change A' of the gradient (m, m)."""

    def minorant(self, cosines: FloatArray, slopes: FloatArray | None = None) -> Minorant:
        """The best known affine lower bound of F that touches it near ``cosines``: the tangent, if F is smooth.

        ``slopes`` (m, m): a solver's suggestion where the tangent is not unique.  It need not be right: any
        suggestion is first made admissible, so a wrong one only gives a weaker bound.
        """
        return Minorant(*self.evaluate(cosines))

    def shares(self, cosines: FloatArray, slope: FloatArray) -> FloatArray | None:
        """Which part of the steepest slope (m, m) of each hinge a ``slope`` at ``cosines`` is; None without hinges."""
        return None

    def drawn_mean(self, cosines: FloatArray, seed: int = 0) -> dict[str, float] | None:
        """Where F is a ratio: the mean that it stands for, ``value`` and ``standard_error``, from drawn batches."""
        return None

    def smoothed(self, width: float, slopes: FloatArray | None = None) -> Objective | None:
        """A smooth convex objective that tends to F as ``width``, of its kinks in cosine, goes to 0; None where F is
        smooth or no such is known.

        ``slopes`` (m, m): where these are the slopes of F at an optimum, that optimum is one of the smooth objective
        whatever its width.  Any suggestion may be given.
        """
        return None

    def cone_form(self) -> ConeForm | None:
        """F for a conic solver, or None where none of reasonable size exists."""
        return None
