"""The question of ``geomsolve realizable``: can any embedding attain this weighting of pairs?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from geomsolve.questions.base import Problem
from geomsolve.questions.data import PartialMatrix, Points
from geomsolve.reading.labels import read_labels
from geomsolve.reading.matrices import read_partial

if TYPE_CHECKING:
    from geomsolve.gram.types import FloatArray

PARAMETERS = ("sigma", "kernel", "epsilon", "target_temperature", "weights", "target")
"""Fields that belong to the weighting; the registry of weightings says which of them one takes."""


class Realizable(Problem):
    """Can embeddings attain the target of ``weighting`` for these labels, and if not, what is best?

    ``Realizable(weighting="yaware", labels=[20, 25, 30], sigma=5)``; without ``labels`` the answer is the condition
    in words and the verdict on reference label sets.  ``weighting="custom"`` takes ``weights`` or ``target`` instead.
    """

    kind: Literal["realizable"] = "realizable"
    weighting: str = Field(description="supcon, soft-supcon, yaware, euclidean, xclr or custom")
    labels: Points | None = Field(None, description="scalars, vectors, a file or a generator such as line:9")
    temperature: float = Field(0.1, gt=0, allow_inf_nan=False)
    sigma: float | None = Field(None, gt=0, allow_inf_nan=False, description="width of the kernel on labels")
    kernel: str | None = Field(None, description="gaussian, epanechnikov, exponential, linear or cosine")
    epsilon: float | None = Field(None, gt=0, le=1, description="weight across classes")
    target_temperature: float | None = Field(None, gt=0, allow_inf_nan=False, description="temperature of the labels")
    weights: PartialMatrix | None = Field(None, description="matrix of weights, custom")
    target: PartialMatrix | None = Field(
        None, description="matrix of wanted cosines (or squared distances, for Euclidean latents), custom"
    )
    similarity: Literal["cosine", "euclidean"] | None = Field(None, description="of the latents; default: as made for")
    self_pairs: Literal["include", "exclude"] = "include"
    normalise: Literal["rows", "columns"] = "rows"
    dim: int | None = Field(None, ge=1, description="dimensions of the latents; no limit unless given")
    arc: float | None = Field(None, gt=0, allow_inf_nan=False, description="bend scalar labels onto such a circle")
    sample: int | None = Field(None, ge=2, description="keep this many labels, drawn at random")
    eigenvalue_tolerance: float = Field(
        1e-10, gt=0, lt=1, description="an eigenvalue this small, relative to the largest, counts as zero"
    )

    @field_validator("labels", mode="before")
    @classmethod
    def _read_labels(cls, value: Any, info: ValidationInfo) -> Any:
        return None if value is None else read_labels(value, info.data.get("base"), info.data.get("seed", 0))

    @field_validator("weights", "target", mode="before")
    @classmethod
    def _read_matrix(cls, value: Any, info: ValidationInfo) -> Any:
        return None if value is None else read_partial(value, info.data.get("base"))

    @field_validator("arc", "sample")
    @classmethod
    def _fits(cls, value: Any, info: ValidationInfo) -> Any:
        given = info.data.get("labels")
        if value is not None and given is not None:
            count, columns = given.points.shape
            if info.field_name == "arc" and columns != 1:
                raise ValueError("only scalar labels can be bent onto an arc; these are vectors")
            if info.field_name == "sample" and value > count:
                raise ValueError(f"there are only {count:,} labels, fewer than {value:,}")
        return value

    @property
    def points(self) -> FloatArray:
        """The labels (n, d) in force: sampled and bent where that was asked for."""
        import numpy as np

        assert self.labels is not None
        labels = self.labels.points
        if self.sample is not None:
            kept = np.random.default_rng(self.seed).choice(labels.shape[0], self.sample, replace=False)
            labels = labels[np.sort(kept)]
        return labels if self.arc is None else bend(labels[:, 0], self.arc)

    def matrix(self, field: str) -> FloatArray:
        """``weights`` or ``target`` as an array (n, n), nan where missing."""
        held: FloatArray = getattr(self, field).values
        return held

    def changed(self, **settings: Any) -> Realizable:
        """The same question with some fields changed to values known to be valid; ``labels`` may be text."""
        if isinstance(settings.get("labels"), str):
            settings["labels"] = read_labels(settings["labels"], self.base, self.seed)
        return self.model_copy(update=settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the weighting that were given."""
        return {name: value for name in PARAMETERS if (value := getattr(self, name)) is not None}


def bend(scalars: FloatArray, radius: float) -> FloatArray:
    """Scalar labels (n,) on an arc of a circle (n, 2): distance along the arc is distance between labels.

    Where they would reach around more than half of the circle they are shrunk to half of it.
    """
    import numpy as np

    spread = float(np.ptp(scalars)) or 1.0
    shrink = min(1.0, np.pi * radius / spread)
    angle = (scalars - (scalars.min() + scalars.max()) / 2) * shrink / radius
    return np.asarray(radius * np.column_stack([np.cos(angle), np.sin(angle)]), dtype=np.float64)
