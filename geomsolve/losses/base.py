"""What every loss is: a name with parameters that, for given classes, becomes a convex function of cosines.

A :class:`Loss` holds the parameters a user chose.  ``loss.objective(orbits)`` binds it to class proportions
and gives an :class:`Objective`: F as a function of orbit cosines (see ``objectives/base.py``).  What it is worth
at total collapse, at random and at best it says by ``loss.levels(training)``.
Adding a loss is adding one file here: the registry finds it.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from geomsolve.errors import InputError, nearest
from geomsolve.gram.orbits import Orbits
from geomsolve.objectives.base import Objective
from geomsolve.objectives.cross_entropy import Peeled
from geomsolve.objectives.levels import Course, Scale, Training
from geomsolve.objectives.rebalanced import Rebalance
from geomsolve.registry import LOSSES, PAIR_LOSSES, Choice, Registry

ONE_ENCODER = "one encoder, which embeds anchors and negatives alike; two encoders, as in CLIP, may go lower"
"""What the bound of a loss takes for granted that treats anchors and negatives differently: its slope by the cosine of
anchor a and negative b is not that of anchor b and negative a where classes differ in frequency, so that two encoders
gain."""


@dataclass(frozen=True)
class Alias:
    """Another name of a loss, under which every sample is a class of its own.

    ``views``: how many views a sample has under this name, where the name says so; ``also`` as of a choice.
    ``loss``: the loss that it means, where its parameters are meant in another way.
    """

    name: str
    summary: str
    views: int | None = None
    also: tuple[str, ...] = ()
    loss: type[Loss] | None = None


class Loss(Choice):
    """A loss with its parameters, whose fields are :class:`Parameter` s.

    ``needs_classes``: under its own name it says nothing about samples without classes.  ``spelled``: what parameters
    are called in text, where their names do not say enough.  ``recipe``: dotted name of the module that trains a loss
    from elsewhere (``descent/recipes``); None for a loss of this project, whose recipe is found by its name, and for
    one that has none.  ``averaged`` says what it is the mean over.  ``tends_to_cross_entropy``: with ever more
    negatives, as do those of ``losses/infonce.py``.  ``in_contrast``: one of the handful that people choose among,
    which ``geomsolve contrast`` shows unless losses are named.
    """

    aliases: ClassVar[tuple[Alias, ...]] = ()
    needs_classes: ClassVar[bool] = False
    spelled: ClassVar[dict[str, str]] = {}
    recipe: ClassVar[str | None] = None
    averaged: ClassVar[str] = "anchors"
    tends_to_cross_entropy: ClassVar[bool] = False
    in_contrast: ClassVar[bool] = False

    @classmethod
    def spellings(cls) -> dict[str, str]:
        own = vars(cls).get("aliases", ())
        others = {spelled: alias.name for alias in own for spelled in (alias.name, *alias.also)}
        return {**super().spellings(), **others}

    @abstractmethod
    def objective(self, orbits: Orbits) -> Objective:
        """Bind the loss to classes; raises :class:`InputError` if these lack something it needs."""

    def orbits(self, proportions: ArrayLike, counts: ArrayLike | None = None) -> Orbits:
        """Classes (K,) grouped as the loss tells them apart: those of equal proportion, unless it knows more."""
        return Orbits.of(proportions, counts)

    def objective_at(self, temperature: float, orbits: Orbits, objective: Objective) -> Objective:
        """That of the same loss at another temperature; ``objective`` is that of the one in force."""
        return self.replace(temperature=temperature).objective(orbits)

    @property
    def rebalance(self) -> Rebalance | None:
        """Who counts how much, for a loss in which that can be said class by class."""
        return None

    def among(self, names: Sequence[str]) -> Self:
        """The same loss, what it says of classes by name said by position among ``names``."""
        return self

    def levels(self, training: Training) -> Scale:
        """Total collapse, random start and the optimum; raises :class:`InputError` where these are not known."""
        known = sorted(name for name, cls in REGISTRY.items() if cls.levels is not Loss.levels)
        raise InputError(
            f"levels of the loss {self.name!r} are not known; {nearest(self.name, known)}", field="loss.name"
        )

    def course(self, over: str, level: str) -> Course:
        """How the ``level`` collapse, random_start or optimum, in nats an anchor, goes along ``over``, by a theorem.

        ``over``: 'batch', or a parameter of the loss.
        """
        return ""

    def assumption(self, orbits: Orbits) -> str:
        """For which embeddings the minimum of ``objective`` is a bound, and what the others may do; '' where for all.

        Completes 'proven for ...'.
        """
        return ""

    def notes(self) -> tuple[str, ...]:
        """What a user should know about parameters that may not mean what was meant."""
        return ()

    def notes_for(self, n_classes: int) -> tuple[str, ...]:
        """The same, as far as it depends on how many classes there are."""
        return ()

    def points(self, batch: int | None) -> int:
        """Samples that there are for certain, where every sample is its own class: those of a batch."""
        if batch is None:
            raise InputError(
                f"give a batch size, or the classes, or, for {self.name}, negatives if it takes them", field="batch"
            )
        return batch

    def range_of(self, name: str, orbits: Orbits) -> tuple[float, float]:
        """The least and the most, maybe inf, that a whole-numbered parameter ``name`` can be for these classes."""
        return 1, inf

    def target_dimension(self, orbits: Orbits) -> int:
        """How many dimensions the points take that it draws classes to and that stay where they are; 0 for none."""
        return 0

    def varied(self, name: str, value: float) -> Self:
        """The same loss with a numeric parameter at another value; inf for a whole number is the limit of many."""
        return self.replace(**{name: value})

    def plain(self) -> tuple[Loss, str | None]:
        """The convex loss that this one is compared with, and in words what this one adds to it (None: nothing)."""
        return self, None

    @property
    def counted_off(self) -> str:
        """What a training log has the logarithm of, on top of the value of this loss; empty where nothing."""
        return ""

    @property
    def reads_whole_set(self) -> bool:
        """Whether it is a sum over all samples, not an expectation over random batches or draws."""
        return True

    @property
    def counts_are_samples(self) -> bool:
        """Whether it is about the very samples that the class counts count, not about proportions."""
        return False

    @property
    def scatter_is_heat(self) -> bool:
        """Whether scatter within classes acts as a higher temperature.

        For z = rho mu + sqrt(1 - rho^2) xi, xi of mean 0 and independent between samples and of the class, the loss is
        then that of the class means at the temperature tau / rho^2 plus a constant: where F is linear in e^{z.z'/tau}
        within its logarithms, and nothing else stands there.
        """
        return False

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        """The parameters under which the checkers (``verify.py`` and those beside it) know the loss by name, from its
        definition, numbers of each class as tuples; None where none does."""
        return None

    @property
    def written(self) -> dict[str, Any]:
        """As JSON and problem files have it: its name with every parameter that is in force."""
        return {"name": self.name, **self.parameters()}

    def replace(self, **changes: Any) -> Self:
        """The same loss with some parameters changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


class ClassifierLoss(Loss):
    """A loss of features and of classifiers: two points a class, and a program of its own instead of an objective.

    What asks for the cosines of one set of points cannot be asked of it, and says so.
    """

    needs_classes: ClassVar[bool] = True

    @abstractmethod
    def program(self, orbits: Orbits) -> Peeled:
        """Bind the loss to classes; raises :class:`InputError` if these lack something it needs."""

    def objective(self, orbits: Orbits) -> Objective:
        raise InputError(self.elsewhere, field="loss.name")

    def levels(self, training: Training) -> Scale:
        raise InputError(self.elsewhere, field="loss.name")

    @property
    def elsewhere(self) -> str:
        """What to ask it instead."""
        return (
            f"{self.name} has features and classifiers, and this asks for the cosines of one set of points; geomsolve "
            "imbalance, sweep, check and contrast answer for it, levels with a budget, and threshold over imbalance or "
            "regularisation"
        )


def settle_batches(loss: Any) -> None:
    """What every loss of random batches needs of ``batch``, ``views`` (2 unless given) and ``replacement``.

    Raises :class:`InputError` for views or a way of drawing without a batch.
    """
    if loss.views is not None and loss.batch is None:
        raise InputError("views matter only within a batch; give the batch size too", field="loss.views")
    if loss.batch is not None and loss.views is None:
        object.__setattr__(loss, "views", 2)
    if getattr(loss, "replacement", None) is not None and loss.batch is None:
        raise InputError("it is about random batches; give the batch size too", field="loss.replacement")


REGISTRY: Registry[Loss] = LOSSES
register = REGISTRY.register


@dataclass(frozen=True)
class Unsolved:
    """A published loss that is not solved: its optimum is no question about cosines of classes, or no solver here is
    made for it; ``reason`` says why, and what to ask.

    ``also``: other spellings of its name.
    """

    name: str
    summary: str
    source: str
    reason: str
    also: tuple[str, ...] = ()


UNSOLVED: dict[str, Unsolved] = {}


def unsolved(loss: Unsolved) -> Unsolved:
    """Make a loss known that is refused by name, with its reason."""
    UNSOLVED[loss.name] = loss
    REGISTRY.explain([loss.name, *loss.also], f"is not solved: {loss.reason}")
    return loss


def aliases() -> dict[str, tuple[type[Loss], Alias]]:
    """Every other name of a loss, with the loss that it means."""
    return {alias.name: (alias.loss or cls, alias) for cls in REGISTRY.values() for alias in cls.aliases}


def known_losses() -> dict[str, type[Loss]]:
    """Every loss by its name and by its other names."""
    return {**{alias: cls for alias, (cls, _) in aliases().items()}, **REGISTRY}


def find_loss(name: str) -> type[Loss]:
    """The loss that a name or an alias means."""
    own = REGISTRY.canonical(name)
    if own in REGISTRY:
        return REGISTRY[own]
    known = known_losses()
    if own not in known:
        raise REGISTRY.unknown(name, field="loss.name", known=known)
    return known[own]


def make_loss(name: str, parameters: dict[str, Any], *, instances: bool = False) -> Loss:
    """The loss called ``name`` with the given parameters, checked; the rest take their defaults.

    ``instances``: every sample is its own class.  Only then an alias is taken.
    """
    cls = find_loss(name)
    if REGISTRY.canonical(name) != cls.name and not instances:
        if REGISTRY.explains(name):
            raise REGISTRY.unknown(name, field="loss.name")
        sides = (
            f"for images and texts of classes geomsolve crossmodal --loss {name}; " if PAIR_LOSSES.knows(name) else ""
        )
        raise InputError(
            f"{name} takes every sample for a class of its own: geomsolve levels answers for it, without classes; "
            f"{sides}with classes ask --loss {cls.name}",
            field="loss.name",
        )
    return REGISTRY.of(cls, parameters, prefix="loss.")
