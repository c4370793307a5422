"""What the levels of a loss are made of: how it meets its samples, and the program behind each level.

A batch of B samples in V views.  Total collapse and the random start are numbers; the optimum is a program

    plus + times min F(G),

in nats an anchor, whose minimum a solver finds and a certificate proves.

Symbols: B ``batch``, V ``views``, K ``n_classes``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.objectives.base import Objective
from geomsolve.objectives.cross_entropy import Peeled
from geomsolve.objectives.drawn_batches import Batches
from geomsolve.objectives.two_towers import TwoTowers

Course = Literal["rising", "falling", "convex", ""]
"""How a level goes as one setting grows and all else stays: never falling, never rising, convex (in 1/temperature,
where that is the setting), or not known."""


@dataclass(frozen=True)
class Training:
    """How a loss, ``named`` so by the user, meets its samples: ``batch`` samples in ``views`` views, of the classes of
    ``orbits``.

    ``batch`` is None where none was given.  ``instances``: every sample is its own class.  ``balanced``: a batch holds
    every class equally often; else its classes are drawn at random, with or without ``replacement``, 'yes' or 'no', or
    None where the user does not say.
    """

    named: str
    orbits: Orbits
    batch: int | None
    views: int
    instances: bool
    balanced: bool
    replacement: str | None = None

    @property
    def size(self) -> int:
        """The batch size, for a loss that cannot do without."""
        if self.batch is None:
            raise InputError(f"{self.named} compares within a batch; give its size", field="batch")
        return self.batch

    @property
    def per_class(self) -> float:
        """Samples of each class in a balanced batch."""
        n = self.orbits.n_classes
        if n > self.size:
            raise InputError(
                f"a batch of {self.size:,} samples cannot hold {n:,} classes equally; for random batches "
                f"give the proportions, --props {n}*1/{n}",
                field="classes",
            )
        return self.size / n


@dataclass(frozen=True)
class Optimum:
    """A program whose optimum, times ``times`` plus ``plus``, is a level.

    Where nothing says that the views of a sample coincide it is one of two towers, and of a classifier one of features
    and classifiers.  ``assumption`` completes 'if ...':
    what the program takes for granted without a theorem; ``bound`` is what holds without it, in nats an anchor.
    ``only_for`` completes 'proven for ...': the embeddings that the bound of the program is about; empty where all.
    """

    objective: Objective | TwoTowers | Peeled
    orbits: Orbits
    times: float = 1.0
    plus: float = 0.0
    assumption: str = ""
    bound: float | None = None
    only_for: str = ""


@dataclass(frozen=True)
class Scale:
    """The levels of one loss in nats an anchor.

    ``random`` takes a dimension.  ``balanced`` is the optimum of balanced batches, ``batches`` that of random ones;
    one of them may be None, where it makes no difference or batches differ in nothing.  ``anchors``, or whatever the
    loss is the mean over, and ``embeddings`` count those of a batch, where there is one and it always has as many.
    ``no_positive``: probability that an anchor has none and adds 0.
    ``drawn``: how random batches are drawn, where they are; ``other``: the optimum if they were drawn the other way,
    with or without replacement; ``few``: that of the mean over anchors with a positive, where it is enumerated.
    ``temperature``: by which a single batch is evaluated.  ``many``: the optimum of ever more samples, where their
    number matters and is not given; the optimum then is that of the fewest that there can be, which is a bound for any
    number.  ``remark``: a sentence that a user should read.  ``untrained``: what the random start is of.
    """

    collapse: float
    random: Callable[[int], float]
    balanced: Optimum | None
    batches: Optimum | None
    anchors: int | None
    embeddings: int | None
    no_positive: float = 0.0
    many: float | None = None
    remark: str = ""
    untrained: str = "unit vectors at random"
    drawn: Batches | None = None
    other: Optimum | None = None
    few: Optimum | None = None
    temperature: float | None = None

    @classmethod
    def of_pairs(cls, collapse: float, random: Callable[[int], float], best: Optimum, training: Training) -> Self:
        """The levels of a mean over pairs, or over anchors with negatives of their own, which no batch changes."""
        embeddings = None if training.batch is None else training.batch * training.views
        return cls(
            collapse,
            random,
            balanced=best if training.instances else None,
            batches=None if training.instances else best,
            anchors=embeddings,
            embeddings=embeddings,
        )

    @property
    def first(self) -> Optimum:
        """The program of the level that is called the optimum."""
        first = self.balanced or self.batches
        assert first is not None
        return first
