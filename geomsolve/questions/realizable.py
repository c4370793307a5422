"""The question of ``geomsolve realizable``: can any embedding attain this weighting of pairs?"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from geomsolve.questions.base import Problem
from geomsolve.reading.labels import read_labels, read_matrix

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
    labels: str | tuple[float, ...] | tuple[tuple[float, ...], ...] | None = Field(
        None, description="scalars, vectors, a file or a generator such as line:9"
    )
    temperature: float = Field(0.1, gt=0, allow_inf_nan=False)
    sigma: float | None = Field(None, gt=0, allow_inf_nan=False, description="width of the kernel on labels")
    kernel: str | None = Field(None, description="gaussian, epanechnikov, exponential, linear or cosine")
    epsilon: float | None = Field(None, gt=0, le=1, description="weight across classes")
    target_temperature: float | None = Field(None, gt=0, allow_inf_nan=False, description="temperature of the labels")
    weights: str | tuple[tuple[float | None, ...], ...] | None = Field(None, description="matrix of weights, custom")
    target: str | tuple[tuple[float | None, ...], ...] | None = Field(
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

    @field_validator("labels", "weights", "target", mode="before")
    @classmethod
    def _plain(cls, value: Any, info: ValidationInfo) -> Any:
        """Standard input is read once, here; arrays become tuples, so that the problem stays plain data."""
        if value is None:
            return None
        base, labels = info.data.get("base"), info.field_name == "labels"
        if isinstance(value, str) and value.strip() == "-":
            value = read_labels(value)
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, list):
            value = tuple(value)
        if isinstance(value, tuple):
            value = tuple(tuple(row) if isinstance(row, list) else row for row in value)
        read = read_labels(value, base, info.data.get("seed", 0)) if labels else read_matrix(value, base)
        return value if isinstance(value, (str, tuple)) else tuple(map(tuple, read))

    @field_validator("arc", "sample")
    @classmethod
    def _fits(cls, value: Any, info: ValidationInfo) -> Any:
        given = info.data.get("labels")
        if value is not None and given is not None:
            read = read_labels(given, info.data.get("base"), info.data.get("seed", 0))
            if info.field_name == "arc" and read.shape[1] != 1:
                raise ValueError("only scalar labels can be bent onto an arc; these are vectors")
            if info.field_name == "sample" and value > read.shape[0]:
                raise ValueError(f"there are only {read.shape[0]:,} labels, fewer than {value:,}")
        return value

    @cached_property
    def _all_labels(self) -> FloatArray:
        assert self.labels is not None
        return read_labels(self.labels, self.base, self.seed)

    @property
    def drawn(self) -> FloatArray:
        """The labels (n, d) that are asked about: all, or a sample of them."""
        labels = self._all_labels
        if self.sample is None:
            return labels
        import numpy as np

        kept = np.random.default_rng(self.seed).choice(labels.shape[0], self.sample, replace=False)
        return labels[np.sort(kept)]

    @property
    def points(self) -> FloatArray:
        """The labels (n, d) in force: bent where that was asked for."""
        return self.drawn if self.arc is None else bend(self.drawn[:, 0], self.arc)

    def matrix(self, field: str) -> FloatArray:
        """``weights`` or ``target`` as an array (n, n), nan where missing."""
        return read_matrix(getattr(self, field), self.base)

    def changed(self, **settings: Any) -> Realizable:
        """The same question with some fields changed: a new one, so that nothing worked out for this one stays.

        Raises :class:`InputError` where the changed question makes no sense.
        """
        stated = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**stated, **settings})

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
