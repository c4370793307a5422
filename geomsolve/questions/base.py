"""What every problem shares: strict, frozen, and errors that name the field, not the library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails

from geomsolve.errors import InputError, nearest
from geomsolve.questions.expect import Expectation
from geomsolve.registry import LARGEST_WHOLE, LOSSES, PAIR_LOSSES, TEMPERATURE, Registry, meant

Whole = Annotated[int, Field(le=LARGEST_WHOLE)]
"""A whole number of a question; floating-point numbers hold every smaller one."""


def keys(model: type[BaseModel], path: Sequence[int | str] = ()) -> list[str]:
    """The keys that a user may write in ``model``, or in what stands at ``path`` within it."""
    parts = model.parts() if issubclass(model, Frozen) else {}
    if not path:
        own = [name for name, field in model.model_fields.items() if not field.exclude and name not in parts]
        beside = model.beside if issubclass(model, Problem) else None
        flat = [key for part in parts.values() for key in keys(part)]
        return list(dict.fromkeys([*flat, *own, *(beside.parameters() if beside else ())]))
    for part in parts.values():
        if str(path[0]) in part.model_fields:
            return keys(part, path)
    field = model.model_fields.get(str(path[0]))
    inner = (field.annotation, *get_args(field.annotation)) if field else ()
    models = [part for part in inner if isinstance(part, type) and issubclass(part, BaseModel)]
    return [key for part in models for key in keys(part, path[1:])]


@contextmanager
def plainly(model: type[BaseModel]) -> Iterator[None]:
    """Turn the complaints of pydantic about ``model``, however it is made, into one :class:`InputError`."""
    try:
        yield
    except ValidationError as error:
        complaints = [explain(each, model) for each in error.errors(include_url=False)]
        raise InputError.together(complaints) from None


def explain(error: ErrorDetails, model: type[BaseModel]) -> InputError:
    """One complaint of a validation, as a plain sentence with its dotted field."""
    loc = error["loc"]
    cause = error.get("ctx", {}).get("error")
    if not loc and isinstance(cause, InputError):  # of the whole model: it says itself which fields are to blame
        return cause
    field = ".".join(map(str, loc))
    if isinstance(cause, InputError) and cause.field:  # of a part of it
        return InputError(cause.message, field=f"{field}.{cause.field}")
    value = error.get("input")
    kind = error["type"]
    if kind == "extra_forbidden":
        return InputError(f"unknown key; {nearest(str(loc[-1]), keys(model, loc[:-1]))}", field=field)
    if kind == "missing":
        return InputError("this is needed", field=field)
    message = str(error["ctx"]["error"]) if kind == "value_error" else plain(error)
    shown = "" if kind == "value_error" or isinstance(value, (dict, list)) else f", got {value!r}"
    return InputError(f"{message}{shown}", field=field)


BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}
"""How pydantic's complaints about bounds are said, and which of them each is about."""


NOUNS = (
    ("a valid integer, unable to parse string as an integer", "a whole number"),
    ("a valid integer, got a number with a fractional part", "a whole number"),
    ("a valid number, unable to parse string as a number", "a number"),
    ("a valid integer", "a whole number"),
    ("a valid string", "text"),
    ("a valid boolean", "true or false"),
    ("a valid ", "a "),
)
"""What it calls values, in the same order, and what they are called here."""


def plain(error: ErrorDetails) -> str:
    """What pydantic would have had instead, in the words of all other messages: 'wanted at least 1'."""
    context = error.get("ctx", {})
    if error["type"] in BOUNDS:
        words, bound = BOUNDS[error["type"]]
        return f"wanted {words} {context[bound]:g}"
    if error["type"] == "literal_error":
        return f"wanted {str(context['expected']).replace(chr(39), '')}"
    said = error["msg"].replace("Input should be ", "wanted ")
    for pydantics, ours in NOUNS:
        said = said.replace(pydantics, ours)
    return said


class Frozen(BaseModel):
    """A pydantic model that forbids unknown keys and raises :class:`InputError` instead of ValidationError."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def parts(cls) -> dict[str, type[Frozen]]:
        """Fields that are models and written flat: not as keys of their own, but by theirs."""
        return {}

    def __init__(self, /, **data: Any) -> None:
        with plainly(type(self)):
            super().__init__(**data)

    @classmethod
    def model_validate(cls, obj: Any, **how: Any) -> Self:
        with plainly(cls):
            return super().model_validate(obj, **how)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **how: Any) -> Self:
        with plainly(cls):
            return super().model_validate_json(json_data, **how)

    @classmethod
    def model_validate_strings(cls, obj: Any, **how: Any) -> Self:
        with plainly(cls):
            return super().model_validate_strings(obj, **how)


class LossChoice(BaseModel):
    """A loss by ``name``, with whatever parameters that loss takes; the registry of losses checks them."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    known: ClassVar[Registry[Any]] = LOSSES
    name: str = "supcon"

    @field_validator("name")
    @classmethod
    def _canonical(cls, value: str) -> str:
        """However the name is spelled, it is held as the registry has it."""
        return cls.known.canonical(value)

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class PairLossChoice(LossChoice):
    """A loss of two sides, such as images and texts; the registry of pair losses checks its parameters."""

    known: ClassVar[Registry[Any]] = PAIR_LOSSES
    name: str = "clip"


class Problem(Frozen):
    """The base of all problems."""

    title: str | None = Field(None, description="what the problem is called")
    why: str | None = Field(None, description="what it teaches, and where its numbers come from")
    expect: Expectation | None = Field(None, description="what the answer has to be")
    solver: str = Field("auto", description="auto, conic, dual or manifold")
    tolerance: float = Field(1e-6, gt=0, lt=1, description="relative gap below which an answer is certified")
    seed: int = Field(0, ge=0, le=2**63 - 1)
    proof: str | None = Field(None, description="file, beside this one, for a proof that stands alone")
    base: Path | None = Field(None, exclude=True, description="folder that relative paths start from")

    beside: ClassVar[Registry[Any] | None] = None
    """Choices whose parameters are keys of the problem itself, and stand beside its other keys."""
    of_loss: ClassVar[Registry[Any] | None] = None
    """Choices whose parameters stand under the key ``loss``; in Python also beside it, as keywords."""
    leading: ClassVar[str] = ""
    """The field that the first argument gives in Python, where it may do without its name."""

    def __init__(self, /, *first: Any, **data: Any) -> None:
        super().__init__(**self.gathered(first, data))

    @field_validator("proof")
    @classmethod
    def _beside_its_problem(cls, value: str | None) -> str | None:
        """Files come from anyone: what one names is written only below its own folder, and is named as a proof."""
        parts = PurePath(value or "").parts
        if value is not None and (PurePath(value).is_absolute() or ".." in parts or not value.endswith(".json")):
            raise ValueError("wanted a file ending in .json in the folder of the problem or below it")
        return value

    @classmethod
    def gathered(cls, first: Sequence[Any], data: dict[str, Any]) -> dict[str, Any]:
        """Arguments as in Python by the keys of a problem file: with a name for the ``first`` one, and the parameters
        of the loss, which may stand beside it, within it.

        ``Imbalance([0.7, 0.3], loss="supcon", tau=0.5)`` has ``props`` and ``loss: {name: supcon, temperature: 0.5}``.
        """
        return gather(cls, cls, first, data)

    @classmethod
    def led_by(cls, value: Any) -> dict[str, Any]:
        """What the first argument gives."""
        return {cls.leading: value}

    @property
    def notices(self) -> tuple[str, ...]:
        """What was understood differently from what was written, for the user to see."""
        return ()


def gather(model: type[Problem], question: type[Problem], first: Sequence[Any], data: dict[str, Any]) -> dict[str, Any]:
    """:meth:`Problem.gathered` for a ``model`` of which ``question`` is the part that has classes and a loss."""
    found = dict(data)
    if first:
        if len(first) > 1 or not question.leading:
            most = "one argument" if question.leading else "no argument"
            raise InputError(f"{model.__name__} takes {most} without a name; give the others by name")
        led = question.led_by(first[0])
        twice = next((key for key in led if found.get(key) is not None), None)
        if twice is not None:
            raise InputError("this is given twice, as the first argument and by name", field=twice)
        found |= led
    own = {*keys(model), *model.model_fields}
    if question.of_loss is None:
        return {_own_word(key, value, own)[0]: _own_word(key, value, own)[1] for key, value in found.items()}
    flat = [key for key in found if key not in own]
    if not flat:
        return found
    loss = found.get("loss")
    if isinstance(loss, LossChoice):
        loss = {"name": loss.name, **loss.parameters}
    inside = {"name": loss} if isinstance(loss, str) else dict(loss or {})
    for key in flat:
        value = found.pop(key)
        pair = question.of_loss.keyword(key, 1.0 if value is None else value)
        if pair is None:
            known = [*keys(model), *question.of_loss.parameters()]
            raise InputError(f"unknown key; {nearest(key, known)}", field=key)
        if value is None:  # as if it were not there
            continue
        if pair[0] in inside:
            raise InputError("this is given twice, beside the loss and within it", field=pair[0])
        inside[pair[0]] = pair[1]
    return {**found, "loss": inside} if inside else found


def _own_word(key: str, value: Any, own: set[str]) -> tuple[str, Any]:
    """A key of a problem that has no loss, and its value; a synonym of the temperature by that name."""
    if key in own or "temperature" not in own:
        return key, value
    return meant({"temperature": TEMPERATURE}, key, value) or (key, value)


class PairProblem(Problem):
    """A problem about a loss of two sides."""

    of_loss: ClassVar[Registry[Any] | None] = PAIR_LOSSES
    loss: PairLossChoice = PairLossChoice()

    @field_validator("loss", mode="before")
    @classmethod
    def _loss_by_name(cls, value: Any) -> Any:
        return by_name(value)


def by_name(loss: Any) -> Any:
    """A loss that is a mapping, or no more than its name."""
    if not isinstance(loss, (str, dict, LossChoice)):
        hint = "" if isinstance(loss, (int, float, list, tuple)) else "; from_pml and its kin read losses of libraries"
        raise ValueError(f"wanted the name of a loss, or a mapping with name and parameters, got {loss!r:.60}{hint}")
    return {"name": loss} if isinstance(loss, str) else loss


class LossProblem(Problem):
    """A problem about a loss.  ``of_classifiers``: it may be one of features and classifiers, two points a class."""

    of_classifiers: ClassVar[bool] = False
    of_loss: ClassVar[Registry[Any] | None] = LOSSES
    loss: LossChoice = LossChoice()

    @property
    def instances(self) -> bool:
        """Whether every sample is its own class."""
        return False

    @field_validator("loss", mode="before")
    @classmethod
    def _loss_by_name(cls, value: Any, info: ValidationInfo) -> Any:
        value = by_name(value)
        return read_lists(value, info.data.get("base")) if isinstance(value, dict) else value


def read_lists(loss: dict[str, Any], base: Path | None) -> dict[str, Any]:
    """A loss with the lists and matrices among its parameters read: one number a class, one row a class."""
    read = {key: _plain(value) for key, value in loss.items()}
    declared = LOSSES.parameters() if any(isinstance(value, (str, list, tuple)) for value in read.values()) else {}
    for key, value in list(read.items()):
        if key not in declared or not isinstance(value, (str, list, tuple)):
            continue
        try:
            if declared[key].values.listed and not (isinstance(value, str) and value[:1].isalpha()):
                read[key] = _numbers(value, base)
            elif declared[key].values.grouped:
                from geomsolve.reading.lists import read_groups

                read[key] = read_groups(value, base) if isinstance(value, str) else value
            elif declared[key].values.matrix:
                from geomsolve.reading.matrices import read_matrix

                read[key] = tuple(map(tuple, read_matrix(value, base).values.tolist()))
        except InputError as error:
            raise InputError(error.message, field=key) from None
    return read


def _plain(value: Any) -> Any:
    """An array of any library as numbers or lists of them; anything else as it is."""
    if isinstance(value, (str, int, float, list, tuple, dict)) or value is None:
        return value
    from geomsolve.reading.arrays import array

    found = array(value)
    return found.tolist() if hasattr(found, "tolist") else found


def _numbers(value: str | Sequence[Any], base: Path | None) -> tuple[Any, ...]:
    from geomsolve.reading.lists import read_numbers

    parts = [value] if isinstance(value, str) else value
    return tuple(x for part in parts for x in (read_numbers(part, base) if isinstance(part, str) else [part]))
