"""What descent and trained encoders are held against: a predicted geometry with its proof, as plain data.

A report on descent or on embeddings holds no other report: the parts of the answer that it is compared with, and that
its words need, are taken from that answer once, here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geomsolve.analyses.imbalance import ImbalanceReport
from geomsolve.analyses.realizable_report import RealizableReport
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.report import Proof
from geomsolve.weightings.latents import SPHERE, Latents


@dataclass(frozen=True, kw_only=True)
class Prediction(Proof):
    """The optimum of a loss on classes, or of a weighting of ``samples``, with its proof.

    ``problem``: what was asked, as understood.  ``names`` of the classes or samples, one each, and their ``orbits``;
    ``cosines`` (m, m) between orbits, or what else the ``latents`` are compared by.  ``structure``: the name of the
    geometry, or the verdict on a weighting.  ``rank``: the dimensions that it spans, None where that is not known.
    ``resolved`` is False where the proof of the loss leaves the angles open; the cosines are then one of many.
    ``convex`` as in :class:`ImbalanceReport`; ``limited``: the best found in fewer dimensions than the optimum spans.
    ``points``: what has the cosines.  ``classes``: where it is more than one point a class, the orbits of classes.
    ``sides``: of two sides that are given point by point, what the points of each are and how many.
    ``norm``: whether the value is a nuclear norm of logits with margins of 1, instead of a loss in nats.
    ``assumption`` completes 'for ...': the embeddings for which the proof holds, empty where for all.
    """

    problem: dict[str, Any]
    names: tuple[str, ...]
    orbits: Orbits
    cosines: FloatArray
    structure: str
    rank: int | None
    resolved: bool = True
    convex: bool = True
    limited: bool = False
    assumption: str = ""
    samples: bool = False
    latents: Latents = SPHERE
    points: str = "class means"
    classes: Orbits | None = None
    sides: tuple[tuple[str, int], ...] = ()
    norm: bool = False

    @classmethod
    def of_loss(cls, report: ImbalanceReport) -> Prediction:
        """What is predicted for a loss on classes."""
        return cls(
            **vars(report.proof),
            problem=report.problem,
            names=report.names,
            orbits=report.orbits,
            cosines=report.orbit_cosines,
            structure=report.structure.kind,
            rank=report.rank,
            resolved=report.resolved,
            convex=report.convex,
            limited=bool(report.dimension_limited),
            assumption=report.assumption or "",
        )

    @classmethod
    def of_weighting(cls, report: RealizableReport) -> Prediction:
        """What is predicted for a weighting; :class:`InputError` where no geometry attains the infimum."""
        if report.attained is None:
            raise InputError(
                "with latents compared by distance this weighting only drives samples apart for ever; there is no "
                "geometry to compare with",
                field="weighting",
            )
        return cls(
            **vars(report.proof),
            problem=report.problem,
            names=tuple(report.names[g] for g in report.orbits.index),
            orbits=report.orbits,
            cosines=report.attained,
            structure=report.verdict,
            rank=report.best["dimension"],
            resolved=report.resolved,
            limited=report.limited is not None,
            samples=True,
            latents=report.latents,
        )

    @cached_property
    def gram(self) -> FloatArray:
        """(n, n) between all classes or samples: their cosines, or what else the latents are compared by."""
        matrix = self.orbits.lift(self.cosines)
        np.fill_diagonal(matrix, self.latents.own)
        return matrix

    @property
    def nonnegative(self) -> bool:
        """Whether it is of features without a negative coordinate."""
        return bool(self.problem.get("nonnegative"))

    @property
    def subject(self) -> str:
        """The name of the loss or weighting."""
        return str(self.problem["weighting"] if self.samples else self.problem["loss"]["name"])

    @property
    def open(self) -> bool:
        """Whether its cosines are those of one of many optima, as far as anyone can tell."""
        return not self.resolved or self.unique is False

    @property
    def determined(self) -> bool:
        """Whether its angles may be asked of anyone: they are resolved, and those of the only optimum."""
        return self.resolved and self.unique is True
