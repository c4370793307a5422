"""Where embeddings live, and what a target has to be there.  Nothing else in the package tells the two apart.

    Sphere   unit vectors, s_ij = <z_i, z_j> / tau:      T = tau (log w + c), diagonal 1, must be psd
    Space    points, s_ij = -|z_i - z_j|^2 / (2 tau):    D = -2 tau (log w + c), diagonal 0, must be squared distances

Solvers move orbit cosines C; in space C = 1 - D/2.  A person sees cosines, or squared distances.

With a constant c that is pinned (self pairs enter) either is one eigendecomposition; with a free one it is a linear
matrix inequality in one scalar (``gram/edm.py``).  In space that has always a solution: adding e to all squared
distances adds e/2 to every eigenvalue on the centred space (Lingoes 1971).

Symbols: T, D ``wanted``, C ``cosines``, tau log w ``strength``, c ``shift``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from geomsolve.gram.edm import (
    Shift,
    Spectrum,
    centred,
    centred_eigenvalues,
    circumradius,
    complement,
    shift_interval,
    spectrum_of,
)
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray, IntArray

SAME = 1e-9
"""Wanted entries this close, relative to the largest, are equal up to rounding."""


@dataclass(frozen=True, eq=False)
class Fit:
    """How a target fits: whether it can be attained, by which ``spectrum``, and in how many dimensions.

    ``radius`` of the sphere through the wanted points, where there is one; ``wanted`` (m, m) the C asked for, at the
    constant used; ``shift`` the constants that work, where they are free.
    """

    fits: bool
    spectrum: Spectrum
    radius: float | None
    wanted: FloatArray
    dimension: int | None
    shift: Shift | None = None


class Latents(ABC):
    """What the rest of the package asks of latents.

    ``similarity`` names them in problems and JSON; ``noun`` what a pair of them has, ``phrase`` what they are,
    ``judged_by`` the matrix whose eigenvalues decide, ``farthest`` what a weight of 0 asks for.  ``unit``: their
    vectors have length 1.  ``own`` is what a point has with itself; values lie in ``bounds``, ``bounds_in_words``.
    ``freer``: latents that are less confined, and why.
    """

    similarity: str
    noun: str
    phrase: str
    judged_by: str
    farthest: str
    unit: bool
    own: float
    bounds: tuple[float, float]
    bounds_in_words: str
    freer: tuple[str, str] | None

    @abstractmethod
    def shown(self, cosines: FloatArray) -> FloatArray:
        """What a person sees of orbit cosines C: cosines, or squared distances."""

    @abstractmethod
    def cosines(self, shown: FloatArray) -> FloatArray:
        """C of what a person sees, the inverse of :meth:`shown`."""

    @abstractmethod
    def body(self, shown: Any) -> Any:
        """The matrix that is psd exactly where ``shown`` (n, n) is attained: an array, or an expression of a solver."""

    @abstractmethod
    def gram(self, shown: FloatArray) -> FloatArray:
        """Inner products (n, n) of the points."""

    @abstractmethod
    def eigenvalues(self, orbits: Orbits, cosines: FloatArray) -> FloatArray:
        """All eigenvalues, ascending, of :meth:`gram` of orbit cosines C (m, m)."""

    @abstractmethod
    def feasible(self, orbits: Orbits, cosines: FloatArray) -> FloatArray:
        """C (m, m), attained up to rounding, made exactly feasible where a solver or a proof needs that."""

    @abstractmethod
    def start(self, distances: FloatArray) -> FloatArray:
        """C (m, m) near squared ``distances`` asked for, some of which may be infinite: a place to start from."""

    @abstractmethod
    def small(self, spectrum: FloatArray, tolerance: float) -> float:
        """The eigenvalue of an embedding up to which a dimension counts as unused."""

    @abstractmethod
    def pinned(self, orbits: Orbits, distances: FloatArray, rtol: float) -> Fit:
        """The fit where self pairs enter: ``distances`` (m, m) are the squared distances 2 (1 - C) asked for."""

    @abstractmethod
    def free(self, orbits: Orbits, strength: FloatArray, rtol: float) -> Fit:
        """The fit where they do not, so that a constant is free: ``strength`` (m, m) is tau log w."""

    @abstractmethod
    def approached(self, parts: list[FloatArray], free: bool, rtol: float) -> bool:
        """Whether embeddings come arbitrarily near the floor although pairs of different parts have weight 0.

        ``parts``: squared distances asked for within each part, infinite where the weight is 0.
        """

    @abstractmethod
    def ends(
        self, known: FloatArray, pair: tuple[int, int], components: IntArray, free: bool
    ) -> tuple[float, float, bool, bool] | None:
        """The range of the missing entry at ``pair`` of an attainable ``known`` (n, n), where it is in closed form: its
        ends, infinite where there is no bound, and whether each is attained."""


class Sphere(Latents):
    """Unit vectors compared by their cosine."""

    similarity = "cosine"
    noun = "cosine"
    phrase = "latents on a sphere"
    judged_by = "the matrix of wanted cosines"
    farthest = "a similarity of minus infinity"
    unit = True
    own = 1.0
    bounds = (-1.0, 1.0)
    bounds_in_words = "between -1 and 1"
    freer = ("euclidean", "latents without unit length, compared by squared distance, are not confined to a sphere")

    def shown(self, cosines: FloatArray) -> FloatArray:
        return cosines

    def cosines(self, shown: FloatArray) -> FloatArray:
        return shown

    def body(self, shown: Any) -> Any:
        return shown

    def gram(self, shown: FloatArray) -> FloatArray:
        return shown

    def eigenvalues(self, orbits: Orbits, cosines: FloatArray) -> FloatArray:
        return orbits.eigenvalues(orbits.gram_blocks(cosines))

    def feasible(self, orbits: Orbits, cosines: FloatArray) -> FloatArray:
        return orbits.nearest_gram(cosines)

    def start(self, distances: FloatArray) -> FloatArray:
        """e^{-D/2} agrees with the target for near pairs, and is 0 for far ones."""
        return np.asarray(np.exp(-np.maximum(distances / 2, 0.0)), dtype=np.float64)

    def small(self, spectrum: FloatArray, tolerance: float) -> float:
        return tolerance

    def pinned(self, orbits: Orbits, distances: FloatArray, rtol: float) -> Fit:
        """On the scale of distances: a sphere through the wanted points must be no larger than the unit one."""
        wanted = 1 - distances / 2
        root = np.sqrt(orbits.sizes)
        values = np.linalg.eigvalsh(root[:, None] * wanted * root)  # samples with equal labels coincide
        more = np.zeros(orbits.n_classes - orbits.n_orbits)
        spectrum = Spectrum.of(np.sort(np.concatenate([values, more])), rtol)
        radius = circumradius(distances, rtol)
        if radius is None or radius > 1 + rtol:
            return Fit(False, spectrum, radius, wanted, None)
        hull = Spectrum.of(centred_eigenvalues(orbits, distances), rtol).rank
        # unit vectors on a smaller sphere need one dimension more than their affine hull
        return Fit(True, spectrum, radius, wanted, max(1, hull + (radius < 1 - rtol)))

    def free(self, orbits: Orbits, strength: FloatArray, rtol: float) -> Fit:
        """A + c (1 1' - I) psd, for an interval of c; of its ends and its best constant the least dimension counts."""
        ones = np.ones(orbits.n_orbits)
        blocks = orbits.blocks(ones, strength)
        shift = shift_interval(blocks.quotient, np.sqrt(orbits.sizes), blocks.contrast)

        def spectrum_at(c: float) -> Spectrum:
            return Spectrum.of(orbits.eigenvalues(orbits.blocks(ones, strength + c)), rtol)

        best = spectrum_at(shift.best)
        if not best.psd:
            return Fit(False, best, None, strength + shift.best, None, shift)
        if shift.low is None or shift.high is None:  # psd up to rounding, at one constant only
            shift = Shift(shift.best, shift.best, shift.best, shift.margin)
        ends: tuple[float, ...] = (shift.high, shift.low, shift.best)  # type: ignore[assignment]
        ranks = [spectrum_at(c).rank for c in ends]
        wanted = strength + ends[ranks.index(min(ranks))]
        wanted[orbits.pairs == 0] = 1.0
        return Fit(True, best, self._radius(orbits, wanted, rtol), wanted, min(ranks), shift)

    @staticmethod
    def _radius(orbits: Orbits, cosines: FloatArray, rtol: float) -> float:
        """Circumradius of unit vectors with orbit cosines (m, m): 1 unless their hull stays away from the centre."""
        quotient = orbits.gram_blocks(cosines).quotient
        ones = np.sqrt(orbits.sizes)
        values, vectors = np.linalg.eigh(quotient)
        kept = values > rtol * values[-1]
        along = vectors[:, kept].T @ ones
        if np.linalg.norm(vectors[:, kept] @ along - ones) > np.sqrt(rtol) * np.linalg.norm(ones):
            return 1.0
        square = 1 - 1 / float(np.sum(along**2 / values[kept]))
        return float(np.sqrt(square)) if square > rtol else 0.0

    def approached(self, parts: list[FloatArray], free: bool, rtol: float) -> bool:
        """Never: cosines are bounded, so the optimum is attained."""
        return False

    def ends(
        self, known: FloatArray, pair: tuple[int, int], components: IntArray, free: bool
    ) -> tuple[float, float, bool, bool] | None:
        """Components turn freely against each other; within one, a program says."""
        i, j = pair
        return None if components[i] == components[j] else (-1.0, 1.0, True, True)


class Space(Latents):
    """Points anywhere, compared by their squared distance."""

    similarity = "euclidean"
    noun = "squared distance"
    phrase = "latents compared by distance"
    judged_by = "the centred matrix of wanted squared distances"
    farthest = "an infinite distance"
    unit = False
    own = 0.0
    bounds = (0.0, np.inf)
    bounds_in_words = "at least 0"
    freer = None

    def shown(self, cosines: FloatArray) -> FloatArray:
        return 2 * (1 - cosines)

    def cosines(self, shown: FloatArray) -> FloatArray:
        return 1 - shown / 2

    def body(self, shown: Any) -> Any:
        basis = complement(np.ones(shown.shape[0]))
        return -basis.T @ shown @ basis / 2

    def gram(self, shown: FloatArray) -> FloatArray:
        return centred(shown)

    def eigenvalues(self, orbits: Orbits, cosines: FloatArray) -> FloatArray:
        return np.sort(np.append(centred_eigenvalues(orbits, self.shown(cosines)), 0.0))

    def feasible(self, orbits: Orbits, cosines: FloatArray) -> FloatArray:
        return cosines

    def start(self, distances: FloatArray) -> FloatArray:
        """The distances themselves, infinite ones half as far again as the farthest."""
        finite = np.isfinite(distances)
        far = 1.5 * max(0.0, float(distances[finite].max()))
        return self.cosines(np.maximum(np.where(finite, distances, far), 0.0))

    def small(self, spectrum: FloatArray, tolerance: float) -> float:
        return tolerance * max(1.0, float(spectrum[-1]))

    def pinned(self, orbits: Orbits, distances: FloatArray, rtol: float) -> Fit:
        spectrum = Spectrum.of(self.eigenvalues(orbits, 1 - distances / 2), rtol)
        rank = spectrum.rank if spectrum.psd else None
        return Fit(spectrum.psd, spectrum, circumradius(distances, rtol), 1 - distances / 2, rank)

    def free(self, orbits: Orbits, strength: FloatArray, rtol: float) -> Fit:
        """Every constant from -2 times the smallest eigenvalue on works."""
        distances = -2 * strength
        values = centred_eigenvalues(orbits, distances)
        least = float(values[0]) if values.size else 0.0
        spectrum = Spectrum.of(np.append(0.0, values - least), rtol)
        wanted = 1 - (distances - 2 * least) / 2
        wanted[orbits.pairs == 0] = 1.0
        shift = Shift(-2 * least, None, -2 * least, np.inf)
        return Fit(True, spectrum, None, wanted, spectrum.rank, shift)

    def approached(self, parts: list[FloatArray], free: bool, rtol: float) -> bool:
        """Without self pairs always: 1 1' - I is interior to the distance matrices, so that all distances can grow
        while the differences that the weights ask for stay.  With self pairs, if each part is attained by itself."""
        return free or all(np.isfinite(part).all() and self._attained(part, rtol) for part in parts)

    @staticmethod
    def _attained(distances: FloatArray, rtol: float) -> bool:
        return spectrum_of(centred(distances), rtol).psd

    def ends(
        self, known: FloatArray, pair: tuple[int, int], components: IntArray, free: bool
    ) -> tuple[float, float, bool, bool] | None:
        """Components move freely against each other, and may touch.  Within one, a free constant e may grow: around a
        pair that nearly coincides the others then form nearly a regular simplex, which can be bent to any differences
        of distances.  So the pair comes as close as one likes, and coincides only if its partners want that."""
        i, j = pair
        if components[i] != components[j]:
            return 0.0, np.inf, True, False
        if not free:
            return None
        both = np.isfinite(known[i]) & np.isfinite(known[j])
        both[[i, j]] = False
        differ = np.abs(known[i, both] - known[j, both]).max(initial=0.0)
        return 0.0, np.inf, bool(differ <= SAME * max(1.0, np.nanmax(np.abs(known)))), False


SPHERE, SPACE = Sphere(), Space()

LATENTS: dict[str, Latents] = {latents.similarity: latents for latents in (SPHERE, SPACE)}
"""Latents by the name of their similarity."""
