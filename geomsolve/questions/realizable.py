"""The question of ``geomsolve realizable``: can any embedding attain this weighting of pairs?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from geomsolve.errors import InputError, nearest
from geomsolve.questions.base import Problem, Whole, keys
from geomsolve.questions.data import Points
from geomsolve.questions.slack import Pairs, Slack, check_slack
from geomsolve.reading.labels import read_labels
from geomsolve.reading.lists import read_numbers
from geomsolve.reading.matrices import read_partial
from geomsolve.reading.table import Table
from geomsolve.registry import TEMPERATURE, WEIGHTINGS, Registry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from geomsolve.reading.source import FloatArray


class Realizable(Problem):
    """Can embeddings attain the target of ``weighting`` for these labels, and if not, what is best?

    ``Realizable("yaware", labels=[20, 25, 30], sigma=5)``; without ``labels`` the answer is the condition
    in words and the verdict on reference label sets.  ``slack=1e-4`` asks how far cosines may be at a loss that much
    higher, also for the ``pairs`` of labels named.  ``weighting="custom"`` takes ``weights`` or
    ``target`` instead.  ``exact=True`` decides in fractions, without rounding, where the target is made of them.
    The parameters of the weighting may also stand with its name, ``weighting={"name": "yaware", "sigma": 5}``.
    """

    model_config = ConfigDict(extra="allow")
    beside: ClassVar[Registry[Any] | None] = WEIGHTINGS
    leading: ClassVar[str] = "weighting"

    kind: Literal["realizable"] = "realizable"
    weighting: str = Field(description="name of the weighting")
    labels: Points | None = Field(None, description="scalars, vectors, a file or a generator such as line:9")
    temperature: Annotated[float, TEMPERATURE] = 0.1
    similarity: Literal["cosine", "euclidean"] | None = Field(None, description="of the latents; default: as made for")
    self_pairs: Literal["include", "exclude"] = "include"
    normalise: Literal["rows", "columns"] = "rows"
    dim: Whole | None = Field(None, ge=1, description="dimensions of the latents; no limit unless given")
    arc: float | None = Field(None, ge=1e-12, le=1e12, description="bend scalar labels onto such a circle")
    sample: Whole | None = Field(None, ge=2, description="keep this many labels, drawn at random")
    bin: float | None = Field(None, ge=1e-12, le=1e12, description="round labels to multiples of this")
    exact: bool = Field(False, description="decide by elimination in fractions, without rounding (y-Aware)")
    slack: Slack = None
    pairs: Pairs = None
    eigenvalue_tolerance: float = Field(
        1e-10, gt=0, lt=1, description="an eigenvalue this small, relative to the largest, counts as zero"
    )

    def __init__(self, /, *first: Any, **data: Any) -> None:
        values, wrong = _with_parameters(self.gathered(first, data), type(self))
        try:
            super().__init__(**values)
        except InputError as error:
            wrong.append(error)
        if wrong:
            raise InputError.together(wrong)

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Matrices among the parameters as what was written."""
        tables = {key: value for key, value in (self.model_extra or {}).items() if isinstance(value, Table)}
        rest = self.model_copy(update=dict.fromkeys(tables)) if tables else self
        return {**handler(rest), **{key: table.plain() for key, table in tables.items()}}

    @field_validator("weighting", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if not isinstance(value, str):
            raise ValueError(f"wanted the name of a weighting, or a mapping with name and parameters, got {value!r}")
        return WEIGHTINGS.canonical(value)

    @field_validator("labels", mode="before")
    @classmethod
    def _read_labels(cls, value: Any, info: ValidationInfo) -> Any:
        return None if value is None else read_labels(value, info.data.get("base"), info.data.get("seed", 0))

    @field_validator("arc", "sample", "bin")
    @classmethod
    def _fits(cls, value: Any, info: ValidationInfo) -> Any:
        given = info.data.get("labels")
        if value is not None and given is not None:
            count, columns = given.points.shape
            if info.field_name == "arc" and columns != 1:
                raise ValueError("only scalar labels can be bent onto an arc; these are vectors")
            if info.field_name == "sample" and value > count:
                raise ValueError(f"there are only {count:,} labels, fewer than {value:,}")
            if info.field_name == "bin" and given.spelled:
                raise ValueError("numbers are rounded, and these labels are names")
        return value

    @model_validator(mode="after")
    def _ranges_make_sense(self) -> Realizable:
        check_slack(self.slack, self.pairs, self.dim is not None)
        if self.labels is not None and self.labels.names and self.labels.spelled:
            chosen = WEIGHTINGS.make(self.weighting, self.parameters, field="weighting")
            if chosen.places:
                raise InputError(
                    f"{chosen.title} takes one place in a tree a sample, and these are several labels a sample; write "
                    "paths, tree:a/x,a/y,b/z",
                    field="labels",
                )
        return self

    @property
    def notices(self) -> tuple[str, ...]:
        chosen = WEIGHTINGS.make(self.weighting, self.parameters, field="weighting")
        said: tuple[str, ...] = chosen.notes(self.similarity or chosen.similarity)
        return said

    @property
    def sample_names(self) -> tuple[str, ...]:
        """What the matrix of the weighting calls its samples; () where it has none or does not name them."""
        tables = (value for value in (self.model_extra or {}).values() if isinstance(value, Table))
        named = (table.names for table in tables if len(table.names) == table.values.shape[0])
        return next(named, ())

    @property
    def drawn(self) -> FloatArray:
        """The labels (n, d) that are asked about: all, or a sample of them."""
        assert self.labels is not None
        labels = self.labels.points if self.kept is None else self.labels.points[self.kept]
        return labels if self.bin is None else round_to(labels, self.bin)

    @property
    def kept(self) -> NDArray[Any] | None:
        """The rows of a sample of the labels, None where all are kept."""
        assert self.labels is not None
        if self.sample is None:
            return None
        import numpy as np

        drawn = np.random.default_rng(self.seed).choice(self.labels.points.shape[0], self.sample, replace=False)
        return np.sort(drawn)

    @property
    def spelled(self) -> tuple[str, ...]:
        """How the labels that are asked about were written, where that says more than their numbers; else ()."""
        assert self.labels is not None
        written, kept = self.labels.spelled, self.kept
        return written if kept is None or not written else tuple(written[i] for i in kept.tolist())

    @property
    def points(self) -> FloatArray:
        """The labels (n, d) in force: bent where that was asked for."""
        return self.drawn if self.arc is None else bend(self.drawn[:, 0], self.arc)

    def changed(self, **settings: Any) -> Realizable:
        """The same question with some fields changed: a new one, so that nothing worked out for this one stays.

        Raises :class:`InputError` where the changed question makes no sense.
        """
        stated = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**stated, **settings})

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the weighting that were given; matrices as arrays (n, n), nan where missing."""
        given = {name: value for name, value in (self.model_extra or {}).items() if value is not None}
        return {name: value.values if isinstance(value, Table) else value for name, value in given.items()}


def _with_parameters(data: dict[str, Any], model: type[Realizable]) -> tuple[dict[str, Any], list[InputError]]:
    """``data`` with the parameters of the weighting, checked, as keys of its own; and what is wrong with them."""
    declared, known = WEIGHTINGS.parameters(), [*keys(model), "base"]
    fields = {key: value for key, value in data.items() if key in known and key not in declared}
    beside = {key: value for key, value in data.items() if key in declared and value is not None}
    wrong = [InputError(f"unknown key; {nearest(key, keys(model))}", field=key) for key in data if key not in known]
    within: dict[str, Any] = {}
    if isinstance(fields.get("weighting"), dict):
        within = {**fields.pop("weighting")}
        if "name" in within:
            fields["weighting"] = within.pop("name")
    twice = [key for key in within if key in beside]
    wrong += [InputError("this is given twice, beside the weighting and within it", field=key) for key in twice]
    if not isinstance(fields.get("weighting"), str) or twice:
        return fields, wrong
    try:
        return {**fields, **_checked(fields["weighting"], {**beside, **within}, data.get("base"))}, wrong
    except InputError as error:
        place = {key: f"weighting.{key}" for key in within}
        if isinstance(data["weighting"], dict):
            place["weighting"] = "weighting.name"
        errors = [InputError(e.message, field=place.get(e.field, e.field)) for e in (error, *error.rest)]
        return fields, [*wrong, *errors]


def _checked(name: str, parameters: dict[str, Any], base: Any) -> dict[str, Any]:
    """The parameters that the weighting called ``name`` takes, with their matrices read."""
    takes = WEIGHTINGS.find(name, field="weighting").takes()
    values = dict(parameters)
    tables: dict[str, Table] = {}
    for key, value in parameters.items():
        if key in takes and takes[key].values.matrix:
            try:
                tables[key] = read_partial(value, None if base is None else Path(base))
            except ValueError as error:
                raise InputError(getattr(error, "message", str(error)), field=key) from None
            values[key] = tables[key].values
        elif key in takes and takes[key].values.listed and isinstance(value, str):
            try:
                values[key] = read_numbers(value, None if base is None else Path(base))
            except InputError as error:
                raise InputError(error.message, field=key) from None
    WEIGHTINGS.make(name, values, field="weighting")
    return {key: tables[key] if key in tables else takes[key].parse(value) for key, value in values.items()}


def round_to(labels: FloatArray, width: float) -> FloatArray:
    """The multiples of ``width`` nearest to the labels (n, d)."""
    import numpy as np

    steps = np.round(labels / width)
    if np.abs(steps).max() > 2.0**52:
        raise InputError("labels are more widths from 0 than can be told apart; give a larger width", field="bin")
    return np.asarray(steps * width, dtype=np.float64)


def bend(scalars: FloatArray, radius: float) -> FloatArray:
    """Scalar labels (n,) on an arc of a circle (n, 2): distance along the arc is distance between labels.

    Where they would reach around more than half of the circle they are shrunk to half of it.
    """
    import numpy as np

    spread = float(np.ptp(scalars)) or 1.0
    shrink = min(1.0, np.pi * radius / spread)
    angle = (scalars - (scalars.min() + scalars.max()) / 2) * shrink / radius
    return np.asarray(radius * np.column_stack([np.cos(angle), np.sin(angle)]), dtype=np.float64)
