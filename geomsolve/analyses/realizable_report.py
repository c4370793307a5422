"""What the question of realizability is answered with: the verdict on given labels, or on reference label sets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from geomsolve.analyses.binning import Binning
from geomsolve.analyses.ranges import Ranges
from geomsolve.gram.embedding import embed
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.structure import Structure, names_of, structure_tolerance
from geomsolve.gram.types import FloatArray
from geomsolve.report import ProvenReport, Report, Table, jsonable
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.limits import Fix
from geomsolve.words import counted

SHOWN = 64
"""Labels up to which matrices are part of the JSON."""

MOST_SHOWN = 1000
"""The same where everything is wanted, as for a picture."""

MOST_LIFTED = 5000
"""Samples up to which a matrix of all of them is built."""


@dataclass(frozen=True)
class RealizableReport(ProvenReport):
    """The verdict with its proof.

    ``target`` holds ``min_eigenvalue``, ``negative_mass``, ``rank`` and ``radius`` of what is asked for (None where the
    weights are 0 or missing); ``floor`` in nats; ``best`` says of the best embedding its ``excess``
    over the floor, ``attained``, ``dimension``, ``residual`` (max |softmax(s) - P|); ``optimum`` adds its proof.
    ``wanted`` and ``attained`` (m, m) between distinct labels are what the ``latents`` are compared by.
    ``constant``: the interval of the free constant where self pairs are excluded.  ``completions``: the ``low`` and
    ``high`` end of each missing entry, None where there is no bound, and whether they are attained (None where the end
    was not found).  ``ranges``: how far cosines of different labels may be at a loss a little above the optimum, where
    that was asked.  ``resolved`` is False where the loss hardly depends on the geometry, so that its proof leaves the
    angles open.  ``binning``: what rounding the labels did, where that was asked.  ``merging``: from which weight of
    the upper level on the classes of a group of a tree share a point.  ``exact``: what shows the verdict in fractions,
    where that was asked.
    """

    command: ClassVar[str] = "realizable"
    apart: ClassVar[tuple[str, ...]] = (
        "best",
        "latents",
        "orbits",
        "limited",
        "ranges",
        "resolved",
        "binning",
        "merging",
        "exact",
    )
    flat: ClassVar[tuple[str, ...]] = ("unique", "solver")
    verdicts: ClassVar[tuple[str, ...]] = ("realizable", "degenerate", "inconsistent")

    verdict: str
    reason: str
    target: dict[str, Any]
    floor: float
    best: dict[str, Any]
    least_dimension: int | None
    fixes: tuple[Fix, ...]
    constant: dict[str, Any] | None
    completions: tuple[dict[str, Any], ...]
    distortion: dict[str, Any] | None
    structure: Structure | None
    spectrum: tuple[float, ...]
    latents: Latents
    names: tuple[str, ...]
    orbits: Orbits
    wanted: FloatArray
    attained: FloatArray | None
    limited: FloatArray | None
    ranges: Ranges | None = None
    resolved: bool = True
    binning: Binning | None = None
    merging: dict[str, Any] | None = None
    exact: dict[str, Any] | None = None

    @property
    def optimum(self) -> dict[str, Any]:
        """The best embedding with its proof: value, lower bound and gap in nats, and what ``best`` says."""
        return {**self.proof.figures, **self.best}

    @property
    def table(self) -> Table:
        return super().table if self.attained is None else Table.of_matrix(self.attained, self.names)

    @property
    def headline(self) -> str:
        return self.verdict

    @property
    def asked(self) -> dict[str, Any]:
        named = {} if self.structure is None else self.structure.facts(self.places)
        return {**super().asked, "verdict": self.verdict, **named}

    @property
    def figures(self) -> dict[str, float]:
        return {} if self.structure is None else self.structure.angles

    @property
    def places(self) -> tuple[str, ...]:
        """Names of what the structure speaks of: distinct labels or, where one is no point, samples."""
        if self.attained is not None and by_label(self.orbits, self.latents, self.attained, self.gap):
            return self.names
        return tuple(self.names[g] for g in self.orbits.index)

    @cached_property
    def points(self) -> FloatArray | None:
        """The embedding (n, r), one row a sample in the order given; None where there is none, or it is too large."""
        if self.limited is not None:
            return self.limited
        if self.attained is None:
            return None
        orbits, latents = self.orbits, self.latents
        if coinciding(orbits, latents, self.attained, self.gap):
            matrix, rows = self.attained.copy(), orbits.index
        elif orbits.n_classes > MOST_LIFTED:
            return None
        else:
            matrix, rows = orbits.lift(self.attained), np.arange(orbits.n_classes)
        np.fill_diagonal(matrix, latents.own)
        gram = latents.gram(matrix)
        return embed(gram, tolerance=1e-9 * max(float(np.trace(gram)), 1e-300))[rows]

    def to_dict(self, **detail: Any) -> dict[str, Any]:
        plain = super().to_dict(**detail)
        plain["optimum"] = jsonable(self.optimum)
        plain["similarity"] = self.latents.similarity
        plain["latents"] = {"noun": self.latents.noun, "unit": self.latents.unit}
        plain["samples"], plain["distinct"] = self.orbits.n_classes, self.orbits.n_orbits
        plain["labels"] = [
            {"name": name, "count": int(n)} for name, n in zip(plain.pop("names"), self.orbits.sizes, strict=True)
        ]
        if len(self.names) > (MOST_SHOWN if detail.get("full") else SHOWN):
            del plain["wanted"], plain["attained"], plain["labels"]
        if self.ranges is not None:
            plain["ranges"] = jsonable(self.ranges.plain)
        if self.binning is not None:
            plain["binning"] = jsonable(asdict(self.binning))
        if self.merging is not None:
            plain["merging"] = jsonable(self.merging)
        if self.exact is not None:
            plain["exact"] = self.exact
        if self.structure is not None:
            plain["structure"]["groups"] = names_of(self.structure.groups, self.places)
            del plain["structure"]["tolerance"]
        return plain


@dataclass(frozen=True)
class CasesReport(Report):
    """Without labels: the ``condition`` in words, and the verdict on reference label sets.

    Each of ``cases``: ``labels``, ``about``, ``verdict`` (None where the weighting cannot compare such labels, with
    the ``reason``), ``min_eigenvalue``, ``radius``, ``least_dimension``, ``excess``.
    """

    command: ClassVar[str] = "realizable"

    condition: str
    cases: tuple[dict[str, Any], ...]

    @property
    def certified(self) -> bool:
        return all(case.get("certified", True) for case in self.cases)

    @property
    def table(self) -> Table:
        return Table.of_rows(self.cases)

    @property
    def headline(self) -> str:
        yes = sum(case["verdict"] == "realizable" for case in self.cases)
        return f"realizable for {yes} of {counted(len(self.cases), 'label set')}"


def coinciding(orbits: Orbits, latents: Latents, attained: FloatArray, gap: float) -> bool:
    """Whether samples with equal labels coincide in an embedding, up to what the gap leaves open of cosines."""
    apart = np.abs(np.diag(attained) - latents.own) > structure_tolerance(max(gap, 0.0)) * latents.own
    return not np.any(apart & (orbits.sizes > 1))


def by_label(orbits: Orbits, latents: Latents, attained: FloatArray, gap: float) -> bool:
    """Whether the geometry is one of distinct labels, each a point, and not of samples."""
    return orbits.n_orbits > 1 and coinciding(orbits, latents, attained, gap)
