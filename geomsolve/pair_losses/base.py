"""What every loss of two sides is: a name with parameters that, for a joint distribution, is an F of cosines.

``loss.objective(joint)`` binds it to who belongs to whom and gives a :class:`CrossObjective`: F as a function of the
cosines between images and texts, or features and classifiers, alone (``objectives/cross.py``).  F is convex, or says
that it is not.
Adding a loss is adding one file here: the registry finds it.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from geomsolve.objectives.cross import CrossObjective, Joint
from geomsolve.objectives.ideal import Ideal
from geomsolve.registry import PAIR_LOSSES, Choice, Registry


class PairLoss(Choice):
    """A loss of two sides with its parameters.

    ``first_noun``, ``second_noun``: what the points of each side are, in words.
    """

    first_noun: ClassVar[str] = "image"
    second_noun: ClassVar[str] = "text"
    convex: ClassVar[bool] = True
    """Whether F is convex; else the best arrangement is searched for, and of an F ``below`` proven how good it is."""

    @abstractmethod
    def objective(self, joint: Joint) -> CrossObjective:
        """Bind the loss to a joint distribution; raises :class:`InputError` if that lacks something it needs."""

    def smoothed(self, joint: Joint, soft: float) -> CrossObjective:
        """F with its kinks smoothed so far, 0 for F itself."""
        return self.objective(joint)

    def below(self, joint: Joint) -> CrossObjective:
        """A convex F that is nowhere above."""
        return self.objective(joint)

    def ideal(self, joint: Joint) -> Ideal | None:
        """The logits that the loss would do best with; None where there are none, or more than one choice of them."""
        return None

    def among(self, joint: Joint) -> Self:
        """The same loss, what follows from the number of points filled in."""
        return self

    @property
    def merges(self) -> bool:
        """Whether points with the same pairs may be made one: where the loss knows them by their pairs alone."""
        return True

    @property
    def draws_batches(self) -> bool:
        """Whether it is a mean over random batches, not a sum over pairs or the limit of large batches."""
        return False

    def gap_price(self, pairs: int, gap: float) -> float | None:
        """What a modality gap costs in nats that is forced on ``pairs``, all different, where there is a formula."""
        return None

    @property
    def in_proofs(self) -> dict[str, Any] | None:
        """The parameters under which ``verify_further.py`` knows the loss by its name; None where it does not."""
        return None

    def notes(self) -> tuple[str, ...]:
        """What a user should know about parameters that may not mean what was meant."""
        return ()

    @property
    def written(self) -> dict[str, Any]:
        """As JSON and problem files have it: its name with every parameter that is in force."""
        return {"name": self.name, **self.parameters()}

    def replace(self, **changes: Any) -> Self:
        """The same loss with some parameters changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


REGISTRY: Registry[PairLoss] = PAIR_LOSSES
register = REGISTRY.register
REGISTRY.explain(
    ("sub-center-arcface",),
    "is not among them: it has several classifiers a class; arcface has one",
)


def make_pair_loss(name: str, parameters: Mapping[str, Any]) -> PairLoss:
    """The loss of two sides called ``name`` with these parameters, checked; the rest take their defaults."""
    return REGISTRY.make(name, parameters, field="loss.name", prefix="loss.")
