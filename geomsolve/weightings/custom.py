"""Any weighting: a symmetric matrix of weights, or of the similarities that one wants.

    weights   w_ij >= 0; the wanted similarity is log w_ij up to one constant
    target    the wanted cosines; in space the wanted squared distances, or with ``distances`` plain the distances

An entry that is missing (nan) leaves its pair out of the loss: neither attracted nor compared.  The question is then
whether the known entries can be completed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.edm import centred
from geomsolve.gram.types import FloatArray
from geomsolve.registry import parameter
from geomsolve.weightings.base import Weighting, register
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.parameters import DISTANCES, TARGET, WEIGHTS

SYMMETRY = 1e-9
"""Entries ij and ji may differ by this much, relative to the largest entry."""


@register
@dataclass(frozen=True, eq=False)
class Custom(Weighting):
    """A weighting from a matrix; exactly one of ``weights`` and ``target``, (n, n), nan where missing."""

    name: ClassVar[str] = "custom"
    title: ClassVar[str] = "this weighting"
    summary: ClassVar[str] = "a matrix of weights, or of wanted similarities; entries may be missing"
    condition: ClassVar[str] = (
        "A custom weighting can be attained exactly when the similarities it asks for are those of some points: "
        "the matrix of wanted cosines (or the centred matrix of wanted squared distances) has no negative "
        "eigenvalue, or can be completed to one that has none."
    )
    source: ClassVar[str] = "yours"

    weights: FloatArray | None = parameter(WEIGHTS, None)
    target: FloatArray | None = parameter(TARGET, None)
    distances: str | None = parameter(DISTANCES, None)

    def __post_init__(self) -> None:
        if (self.weights is None) == (self.target is None):
            raise InputError("custom needs exactly one of weights and target, a square matrix", field="weights")
        field = "weights" if self.target is None else "target"
        object.__setattr__(self, field, symmetric(getattr(self, field), field))
        if self.weights is not None and not np.nan_to_num(self.weights).any():
            raise InputError("all weights are 0", field="weights")
        if self.distances is not None:
            if self.target is None:
                raise InputError(
                    "this says what a target holds, and these are weights; leave it out", field="distances"
                )
            object.__setattr__(self, "similarity", "euclidean")

    @property
    def size(self) -> int:
        """Number of samples n."""
        matrix = self.weights if self.target is None else self.target
        assert matrix is not None
        return int(matrix.shape[0])

    @property
    def strengthened_by_temperature(self) -> bool:
        """A wanted similarity is wanted at any temperature; a weight is not."""
        return self.target is None

    def parameters(self) -> dict[str, Any]:
        field = "weights" if self.target is None else "target"
        held = {field: getattr(self, field)} if self.size <= 64 else {}
        return held if self.distances is None else {**held, "distances": self.distances}

    def notes(self, similarity: str) -> tuple[str, ...]:
        if self.target is None or self.distances is not None or similarity != "euclidean":
            return ()
        said = "the target is taken as squared distances (--distances plain if it is not squared)"
        if looks_plain(self.target):
            said += (
                "; it looks like plain ones: no entry is longer than a way around it, and its squares need fewer "
                "dimensions than it does"
            )
        return (said,)

    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        if self.target is None:
            assert self.weights is not None
            with np.errstate(divide="ignore"):
                return np.log(self.weights)
        if self.distances is not None and latents.unit:
            raise InputError("cosines are no distances; leave this out, or --similarity", field="distances")
        asked = wanted(self.target, latents)
        if self.distances == "plain":
            asked = asked**2
        return (latents.cosines(asked) - 1) / temperature


LOOKED_AT = 400
"""Samples up to which a target is looked at for whether its numbers are squared: that takes n^3 steps."""


def looks_plain(target: FloatArray, share: float = 0.02) -> bool:
    """Whether a target (n, n) looks like distances rather than their squares.

    Plain distances D obey the triangle inequality, and their squares are those of points in as few dimensions as the
    points have, while D itself, taken as squared, needs about n - 1 (and is always possible, so that nothing else tells
    of the mistake).  Dimensions are counted up to a ``share`` of the spectrum.  Three points tell nothing: a right
    triangle squared is a line plain.
    """
    n = target.shape[0]
    known = target.copy()
    np.fill_diagonal(known, 0.0)
    if not 4 <= n <= LOOKED_AT or not np.all(np.isfinite(known)) or known.min() < 0:
        return False
    slack = SYMMETRY * known.max()
    if any(bool(np.any(known > known[:, [k]] + known[[k], :] + slack)) for k in range(n)):
        return False

    def dimensions(squared: FloatArray) -> int:
        values = np.sort(np.abs(np.linalg.eigvalsh(centred(squared))))[::-1]
        return int(np.searchsorted(np.cumsum(values), (1 - share) * values.sum())) + 1

    return dimensions(known**2) < dimensions(known)


def symmetric(matrix: FloatArray, field: str) -> FloatArray:
    """The matrix (n, n) with what is known of ij or ji in both places; :class:`InputError` where they disagree."""
    n = matrix.shape[0]
    if n < 2:
        raise InputError("one sample has no geometry; give at least two rows", field=field)
    if np.isinf(matrix).any():
        raise InputError("entries must be finite, or blank (nan) where unknown", field=field)
    if field == "weights" and np.nanmin(matrix, initial=0.0) < 0:
        i, j = divmod(int(np.nanargmin(matrix)), n)
        raise InputError(
            f"weights must be at least 0, but row {i + 1}, column {j + 1} is {matrix[i, j]:g}", field=field
        )
    off = np.abs(matrix - matrix.T)
    if np.nanmax(off, initial=0.0) > SYMMETRY * np.nanmax(np.abs(matrix), initial=0.0):
        i, j = divmod(int(np.nanargmax(off)), n)
        raise InputError(
            f"the matrix must be symmetric, but row {i + 1}, column {j + 1} is {matrix[i, j]:g} and row {j + 1}, "
            f"column {i + 1} is {matrix[j, i]:g}",
            field=field,
        )
    known = np.where(np.isnan(matrix), matrix.T, matrix)
    both: FloatArray = np.where(np.isnan(known.T), known, (known + known.T) / 2)
    return both


def wanted(matrix: FloatArray, latents: Latents) -> FloatArray:
    """A matrix of similarities whose diagonal is right (blank is taken so) and whose entries lie within bounds."""
    what, own, (low, high) = f"{latents.noun}s", latents.own, latents.bounds
    diagonal = np.diag(matrix)
    bad = np.flatnonzero(~np.isnan(diagonal) & (np.abs(diagonal - own) > SYMMETRY))
    if bad.size:
        i = int(bad[0])
        raise InputError(f"the diagonal of {what} must be {own:g}, but row {i + 1} has {diagonal[i]:g}", field="target")
    outside = (matrix < low - SYMMETRY) | (matrix > high + SYMMETRY)
    if outside.any():
        i, j = divmod(int(np.argmax(outside)), matrix.shape[0])
        where = f"row {i + 1}, column {j + 1} is {matrix[i, j]:g}"
        raise InputError(f"{what} lie {latents.bounds_in_words}, but {where}", field="target")
    filled = matrix.copy()
    np.fill_diagonal(filled, own)
    return filled
