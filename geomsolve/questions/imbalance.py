"""The question of ``geomsolve imbalance``: which geometry does this loss want for these proportions?"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from geomsolve.errors import nearest
from geomsolve.questions.base import LossProblem, slack_field
from geomsolve.questions.classes import ClassProblem


class Imbalance(ClassProblem, LossProblem):
    """Which geometry does ``loss`` want for classes of these proportions?

    ``Imbalance(props=[0.7, 0.2, 0.1], loss={"name": "supcon", "temperature": 0.5})``, or ``counts=``, or ``dataset=``.
    ``dim=2`` limits the dimension of the embedding; ``slack=1e-4`` asks how far cosines may be at a loss that much
    higher.
    """

    kind: Literal["imbalance"] = "imbalance"
    dim: int | None = Field(None, ge=1, description="dimensions of the embedding, if limited")
    slack: float | None = slack_field()
    pairs: tuple[tuple[str, str], ...] | None = Field(None, description="pairs of classes whose ranges are wanted, a:b")

    @field_validator("pairs", mode="before")
    @classmethod
    def _read_pairs(cls, value: Any) -> Any:
        """``a:b,c:d`` as pairs of names; a list may hold such texts too."""
        if value is None:
            return None
        written = value.split(",") if isinstance(value, str) else value
        if not isinstance(written, (list, tuple)):
            raise ValueError(f"wanted pairs of classes, as in a:b,a:c, got {value!r}")
        pairs = []
        for entry in written:
            pair = [part.strip() for part in entry.split(":")] if isinstance(entry, str) else list(entry)
            if len(pair) != 2:
                raise ValueError(f"{entry!r} is no pair of classes; write two names with a colon between, as in a:b")
            pairs.append(tuple(map(str, pair)))
        return tuple(pairs)

    @model_validator(mode="after")
    def _ranges_make_sense(self) -> Imbalance:
        if self.pairs is not None and self.slack is None:
            raise ValueError("pairs have ranges only at a loss above the optimum; give the slack too")
        if self.slack is not None and self.dim is not None:
            raise ValueError("ranges hold for embeddings of any dimension; leave the dimension or the slack out")
        for pair in self.pairs or ():
            for name in pair:
                if name not in self.class_names:
                    raise ValueError(f"pairs: there is no class {name!r}; {nearest(name, self.class_names)}")
            if pair[0] == pair[1]:
                raise ValueError(f"pairs: a class has no angle with itself, but {pair[0]!r} stands twice")
        return self
