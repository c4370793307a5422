"""The question of ``geomsolve imbalance``: which geometry does this loss want for these proportions?"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from geomsolve.questions.base import LossProblem, Whole
from geomsolve.questions.classes import ClassProblem
from geomsolve.questions.slack import Nonnegative, Pairs, Slack, check_slack, positions


class Imbalance(ClassProblem, LossProblem):
    """Which geometry does ``loss`` want for classes of these proportions?

    ``Imbalance([0.7, 0.2, 0.1], loss="supcon", temperature=0.5)``, or ``counts=``, ``labels=``, ``dataset=``.
    ``dim=2`` limits the dimension of the embedding; ``slack=1e-4`` asks how far cosines may be at a loss that much
    higher.  ``nonnegative``: no coordinate of a feature is negative, as after a ReLU.
    """

    of_classifiers: ClassVar[bool] = True
    kind: Literal["imbalance"] = "imbalance"
    dim: Whole | None = Field(None, ge=1, description="dimensions of the embedding, if limited")
    nonnegative: Nonnegative = False
    slack: Slack = None
    pairs: Pairs = None

    @model_validator(mode="after")
    def _ranges_make_sense(self) -> Imbalance:
        check_slack(self.slack, self.pairs, self.dim is not None)
        try:
            self.wanted  # noqa: B018
        except ValueError as error:
            raise ValueError(f"pairs: {error}") from None
        return self

    @property
    def wanted(self) -> list[tuple[int, int]]:
        """The pairs by the positions of their classes."""
        return positions(self.pairs, self.class_names, "class")
