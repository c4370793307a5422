"""The question of ``geomsolve check``: does gradient descent reach the predicted geometry?

A check is another question and a way to train: ``Check(question, training)``.  It is written flat, the keys of both
side by side, on the command line, in problem files and in JSON:

    Check(props=[0.7, 0.3], steps=1000)  is  Check(question=Imbalance(props=[0.7, 0.3]), training={"steps": 1000})
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from geomsolve.errors import InputError, nearest
from geomsolve.questions.base import Frozen, Problem, Whole, gather, keys
from geomsolve.questions.imbalance import Imbalance
from geomsolve.questions.realizable import Realizable
from geomsolve.reading.table import Table
from geomsolve.registry import Registry


class Training(Frozen):
    """How to train."""

    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="where to train; auto is cuda if there is one")
    steps: Whole = Field(20_000, ge=1, description="most training steps")
    optimizer: Literal["adam", "sgd", "lbfgs"] = Field("adam", description="how to descend")


class ClassTraining(Training):
    """How to train several samples of each class."""

    samples: Whole | None = Field(None, ge=4, description="samples altogether, at least two a class are taken")
    implementation: Literal["own", "pml"] = Field("own", description="whose batch losses; pml: pytorch-metric-learning")
    synthetic: str | None = Field(None, description="synthetic negatives: synco, or synco:1,4 for some kinds")

    @model_validator(mode="after")
    def _agree(self) -> ClassTraining:
        if self.synthetic is not None and self.implementation == "pml":
            raise ValueError("synthetic negatives are added to the project's own batch losses, not to pml's")
        return self


class Composed(Problem):
    """A problem made of ``question`` and ``training``, written flat.

    What all problems have stands in the question; ``title``, ``why`` and ``expect`` are the check's own.
    """

    question: Problem
    training: Training = Training()

    def __init__(self, /, *first: Any, **data: Any) -> None:
        super().__init__(**self.folded(self.gathered(first, data)))

    @classmethod
    def gathered(cls, first: Sequence[Any], data: dict[str, Any]) -> dict[str, Any]:
        asked = cls.parts().get("question", Problem)
        return gather(cls, asked, first, data) if issubclass(asked, Problem) else dict(data)

    @classmethod
    def parts(cls) -> dict[str, type[Frozen]]:
        found = {name: cls.model_fields[name].annotation for name in ("question", "training")}
        return {name: model for name, model in found.items() if isinstance(model, type) and issubclass(model, Frozen)}

    @classmethod
    def folded(cls, data: dict[str, Any]) -> dict[str, Any]:
        """``data`` with its flat keys gathered into the parts, for each of which it may hold the part itself instead.

        Raises :class:`InputError` with what is wrong in either part.
        """
        known = {*keys(cls), *cls.model_fields}
        wrong = [InputError(f"unknown key; {nearest(key, keys(cls))}", field=key) for key in data if key not in known]
        own = {key: value for key, value in data.items() if key in cls.model_fields}
        for name, model in cls.parts().items():
            given = data.get(name, {})
            if not isinstance(given, dict):  # the part itself, or what pydantic will complain about
                continue
            base = {"base"} & model.model_fields.keys()
            flat = [key for key in (*keys(model), *base) if key in data and key not in OF_THE_DOCUMENT]
            try:
                own[name] = model(**{key: data[key] for key in flat}, **given)
            except InputError as error:
                wrong.append(error)
        if wrong:
            raise InputError.together(wrong)
        shared = [key for key in Problem.model_fields if key not in OF_THE_DOCUMENT]
        return {**own, **{key: getattr(own["question"], key) for key in shared if isinstance(own["question"], Problem)}}

    @property
    def notices(self) -> tuple[str, ...]:
        return self.question.notices

    @model_serializer(mode="wrap")
    def _flat(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        plain = handler(self)
        return {**plain.pop("question"), **plain.pop("training"), **plain}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Flat, as it is written."""
        whole = handler.resolve_ref_schema(handler(core))
        own = whole["properties"]
        parts = [handler.resolve_ref_schema(own.pop(name))["properties"] for name in cls.parts()]
        whole["properties"] = {**parts[0], **parts[1], **own}
        return whole


OF_THE_DOCUMENT = ("kind", "title", "why", "expect", "proof")
"""Keys that belong to the check as a whole."""


class Check(Composed):
    """Does gradient descent on the actual batch loss reach the geometry that is predicted for these classes?

    ``Check([0.5, 0.3, 0.2], loss="supcon", temperature=0.5)``; needs torch.
    """

    kind: Literal["check"] = "check"
    question: Imbalance
    training: ClassTraining = ClassTraining()


class CheckWeighting(Composed):
    """The same for a weighting of pairs of labelled samples: one free feature a sample, all in every step.

    ``CheckWeighting(weighting="yaware", labels=[20, 25, 30], sigma=5)``; ``dim`` limits the features.
    """

    beside: ClassVar[Registry[Any] | None] = Realizable.beside

    kind: Literal["check_weighting"] = "check_weighting"
    question: Realizable
    training: Training = Training()

    @model_validator(mode="after")
    def _samples(self) -> CheckWeighting:
        asked = self.question
        matrices = [value for value in (asked.model_extra or {}).values() if isinstance(value, Table)]
        if asked.labels is None and not matrices:
            raise ValueError("a weighting is trained on samples; give their labels")
        return self
