"""What every weighting is: for labelled samples i and j it says how much they should be alike, w_ij >= 0.

    weighted InfoNCE   F = sum_i a_i [ - sum_j P_ij s_ij + log sum_j q_j e^{s_ij} ],   P_ij = w_ij q_j / sum_k w_ik q_k

A weighting is only ever used through log w_ij, which stays exact where w_ij itself would underflow to 0; -inf says
that the weight is truly 0, nan that it is not known.  Adding a weighting is adding one file here.

Symbols: log w ``log_weights``, tau ``temperature``, m distinct labels, d their dimension.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from geomsolve.errors import InputError
from geomsolve.gram.types import FloatArray, IntArray
from geomsolve.registry import WEIGHTINGS, Choice, Registry
from geomsolve.weightings.latents import Latents
from geomsolve.weightings.limits import Fix, Works
from geomsolve.weightings.target import Target, Verdict, bind, distinct


class Weighting(Choice):
    """A weighting with its parameters.

    ``title`` as papers write it; ``similarity`` of the latents that it is made for; ``condition`` says in words when it
    can be attained, self pairs included.
    """

    title: ClassVar[str]
    condition: ClassVar[str]
    similarity: ClassVar[str] = "cosine"
    misread: ClassVar[str] = ""
    """What is often said of it, and how that is meant, where its target is inconsistent."""
    degenerate: ClassVar[str] = "some weights are 0"
    """Why no embedding attains it where none does but a limit, as a clause."""
    places: ClassVar[bool] = False
    """Whether labels are places in a tree, and no rows of 0 and 1 with a column for each of several labels."""
    trained: ClassVar[bool] = True
    """Whether free features can be trained on its weights (``geomsolve check``)."""

    @abstractmethod
    def log_weights(self, labels: FloatArray, temperature: float, latents: Latents) -> FloatArray:
        """log w (m, m) between distinct labels (m, d); the diagonal is for two samples with the same label.

        Raises :class:`InputError` for labels that it cannot compare.
        """

    def weigh(
        self, labels: FloatArray, sizes: IntArray, *, include: bool, temperature: float, latents: Latents
    ) -> FloatArray:
        """The same, where it also matters how many samples (m,) each label has, and whether self pairs enter."""
        return self.log_weights(labels, temperature, latents)

    def mixed(self, upper: float, levels: int) -> Weighting | None:
        """The same weighting of labels with ``levels`` columns, with this share of the last level but one in the weight
        of the last two in its loss; None where it mixes none."""
        return None

    def without_last(self, levels: int) -> Weighting:
        """The same weighting of labels without the last of ``levels`` columns, whose weight the one before it has."""
        return self

    def upper_weight(self, levels: int) -> float:
        """The share of the last level but one in the weight of the last two, of labels with ``levels`` columns."""
        return 1.0

    @property
    def size(self) -> int | None:
        """How many samples it is about, where it needs no labels to know; else None."""
        return None

    def bind(self, points: FloatArray | None, *, latents: Latents, temperature: float, **conventions: Any) -> Target:
        """What it asks of samples with labels ``points`` (n, d), None where it needs none; ``conventions`` as
        :func:`geomsolve.weightings.target.bind` takes them."""
        if self.size is None:
            if points is None:
                raise InputError(f"{self.name} compares labels; give them", field="labels")
            labels, index = distinct(points)
        elif points is None:
            labels, index = None, np.arange(self.size)
        else:
            raise InputError(f"{self.name} takes its matrix as it is; leave the labels out", field="labels")

        include = conventions.get("include", True)

        def log_weights(distinct_labels: FloatArray) -> FloatArray:
            sizes = np.bincount(index).astype(np.int64)
            return self.weigh(distinct_labels, sizes, include=include, temperature=temperature, latents=latents)

        return bind(labels, index, log_weights, temperature=temperature, latents=latents, **conventions)

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        """The parameters under which ``verify.py`` knows its target as a matrix of fractions; None where it is none."""
        return None

    def notes(self, similarity: str) -> tuple[str, ...]:
        """What it takes differently from how it might be meant, for latents of that ``similarity``."""
        return ()

    def in_force(self, temperature: float) -> dict[str, Any]:
        """Its parameters, with what follows from the temperature of the latents filled in."""
        return self.parameters()

    def about(self, target: Target, verdict: Verdict) -> str:
        """The verdict on cosine latents, self pairs included, in terms of the labels; empty if there is no more to say.

        Where there is no rule for the labels, the wanted points are spoken of.
        """
        if verdict.radius is None or verdict.kind == "realizable":
            return ""
        return f"the wanted points lie on a sphere, but of radius {verdict.radius:.6g} instead of at most 1"

    def fixes(self, target: Target, verdict: Verdict, works: Works) -> Iterator[Fix]:
        """Changes of its own parameters that only it knows of."""
        return iter(())

    def substitutes(self, target: Target) -> Iterator[Fix]:
        """Other labels, or another weighting, in its place."""
        return iter(())

    @property
    def strengthened_by_temperature(self) -> bool:
        """Whether log w stays as it is when the temperature of the latents changes, so that tau log w changes."""
        return True

    @property
    def width(self) -> float:
        """The distance between labels that counts as one, in their unit; reference label sets are made to it."""
        return 1.0

    def rescaled(self, ratio: float) -> dict[str, float]:
        """Values of its parameters, any one of which multiplies log w by ``ratio``."""
        return {}


REGISTRY: Registry[Weighting] = WEIGHTINGS
register = REGISTRY.register


def make_weighting(name: str, parameters: dict[str, Any]) -> Weighting:
    """The weighting called ``name`` with the given parameters, checked; the rest take their defaults."""
    return REGISTRY.make(name, parameters, field="weighting")
