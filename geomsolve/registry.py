"""What users choose by name, with parameters: losses and weightings.  Each parameter is declared once.

A choice is a frozen dataclass whose fields are its parameters.  From the declaration of a parameter come the flag, the
key in a problem file, the check of a value, the JSON schema and the help:

    WIDTH = Parameter("width", ("--width",), number("a width", 1e-3, 10), "W", "Width of the kernel.")

    @register
    @dataclass(frozen=True)
    class Mine(Loss):
        name: ClassVar[str] = "mine"
        width: float = parameter(WIDTH, 1.0)

A registry knows the choices of one kind, and the package in which they live, which it imports when it is first asked.
The kinds of values, such as ``number``, stand in :mod:`geomsolve.values` and are handed on here.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, ClassVar, Never, TypeVar

from pydantic import GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from geomsolve.errors import InputError, bare, guess, nearest
from geomsolve.values import LARGEST_WHOLE as LARGEST_WHOLE
from geomsolve.values import Values as Values
from geomsolve.values import budget as budget
from geomsolve.values import choice as choice
from geomsolve.values import exponent as exponent
from geomsolve.values import groups as groups
from geomsolve.values import margins as margins
from geomsolve.values import matrix as matrix
from geomsolve.values import number as number
from geomsolve.values import one_each as one_each
from geomsolve.values import per_class as per_class
from geomsolve.values import spelled as spelled
from geomsolve.values import switch as switch
from geomsolve.values import text as text
from geomsolve.values import whole as whole


@dataclass(frozen=True)
class Synonym:
    """Another ``flag`` for a parameter, whose number ``meaning`` turns into that of the parameter.

    ``meaning`` is None where they are the same, and else ``said`` in a few words.
    """

    flag: str
    meaning: Callable[[float], float] | None = None
    said: str = ""


@dataclass(frozen=True)
class Parameter:
    """``flags`` as on the command line, ``values`` that it may have, ``help`` in a sentence; ``also`` other flags.

    A field of a pydantic model that is annotated with one (``Annotated[float, TEMPERATURE]``) is checked by it.
    """

    name: str
    flags: tuple[str, ...]
    values: Values
    metavar: str
    help: str
    also: tuple[Synonym, ...] = ()

    def parse(self, value: Any) -> Any:
        """The checked value, or :class:`InputError` saying what is wanted."""
        try:
            return self._checked(value)
        except ValueError as error:
            raise InputError(str(error), field=self.name) from None

    def _checked(self, value: Any) -> Any:
        try:
            return self.values.adapter.validate_python(value)
        except ValidationError as error:
            too_large = any(found.get("ctx", {}).get("le") == LARGEST_WHOLE for found in error.errors())
            raise ValueError(self._complaint(value, f", at most {LARGEST_WHOLE:,}" if too_large else "")) from None

    def _complaint(self, value: Any, bound: str) -> str:
        wanted = f"wanted {self.values.wanted}{bound}"
        if self.values.words and isinstance(value, str):
            close = guess(value, self.values.words)
            return f"unknown {self.name.replace('_', ' ')} {value!r}; {close}{wanted}"
        return f"{wanted}, got {value!r}"

    def json_schema(self, default: Any = None) -> dict[str, Any]:
        """JSON schema of the value, with its help and, unless that is None, its default."""
        schema = {**self.values.adapter.json_schema(), "description": self.help}
        if default is not None:
            schema["default"] = "inf" if default == math.inf else default
        return schema

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: Any) -> dict[str, Any]:
        return self.json_schema()


def of_scale(scale: float) -> float:
    """The temperature of logits that are cosines times ``scale``."""
    return 1 / scale


def of_logit_scale(scale: float) -> float:
    """The same for what codes of image and text call the logit scale.

    It is trained as a logarithm, which is kept at ln 100 or below; what is larger is the scale itself.
    """
    return math.exp(-scale) if scale <= math.log(100) + 1e-3 else 1 / scale


# those that losses share with weightings or with questions; the others stand in the rooms of the choices
TEMPERATURE = Parameter(
    "temperature",
    ("-t", "--temperature"),
    number("a temperature", 1e-4, 1e6),
    "T",
    "Temperature: similarities are cosines (or squared distances) divided by it.",
    also=(
        *(Synonym("--tau"), Synonym("--temp"), Synonym("--scale", of_scale, "1/T")),
        Synonym("--logit-scale", of_logit_scale, "1/T or its logarithm"),
    ),
)
EPSILON = Parameter(
    "epsilon",
    ("--epsilon",),
    number("a weight", 1e-100, 1),
    "E",
    "Weight of pairs from different classes, against 1 within a class.",
)
BATCH = Parameter(
    "batch",
    ("--batch",),
    whole(2),
    "B",
    "Samples in a random batch (default: the population limit).",
    also=(Synonym("--batch-size"),),
)
VIEWS = Parameter("views", ("--views",), whole(1), "V", "Augmented views of each sample in a batch (default 2).")
REPLACEMENT = Parameter(
    "replacement",
    ("--replacement",),
    choice("yes", "no"),
    "yes|no",
    "Whether a batch may hold a sample twice; no, as data loaders draw, needs counts (default yes; levels: no).",
)


def parameter(which: Parameter, default: Any) -> Any:
    """A dataclass field of a choice, tied to the declaration of the parameter; None: not in play unless given."""
    return field(default=default, metadata={"parameter": which})


class Choice(ABC):
    """``name`` as on the command line, ``summary`` in one line, ``source`` of the formula."""

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    also: ClassVar[tuple[str, ...]] = ()
    """What libraries and papers call it besides; capital letters, signs and a last 'loss' tell no names apart."""

    @classmethod
    def spellings(cls) -> dict[str, str]:
        """Every name that leads here, with the name that it stands for."""
        return dict.fromkeys((cls.name, *vars(cls).get("also", ())), cls.name)  # not those of what it is derived from

    @classmethod
    @functools.cache
    def takes(cls) -> dict[str, Parameter]:
        """The declarations of its parameters by name; not to be changed."""
        return {f.name: f.metadata["parameter"] for f in dataclasses.fields(cls)}  # type: ignore[arg-type]

    @classmethod
    @functools.cache
    def defaults(cls) -> dict[str, Any]:
        """The value that each parameter has unless it is given, None if it is then not in play; not to be changed."""
        return {f.name: f.default for f in dataclasses.fields(cls)}  # type: ignore[arg-type]

    def parameters(self) -> dict[str, Any]:
        """The value of every parameter that is in force; those that are None (not in play) are left out."""
        return {name: value for name in self.takes() if (value := getattr(self, name)) is not None}


C = TypeVar("C", bound=Choice)

NEAR = 0.82
"""Part of the letters of a name that have to agree for it to be guessed: names are short, and many are alike."""


class Registry(Mapping[str, type[C]]):
    """Choices by name; ``kind`` says in messages what they are, ``home`` is the package that holds those built in.

    ``asked`` is the command that takes them, with NAME where the name stands; ``whole`` the kind in more words, where
    there are several of that kind.
    """

    def __init__(self, kind: str, home: str, asked: str, whole: str = "") -> None:
        self.kind = kind
        self.home = home
        self.asked = asked
        self.whole = whole or kind
        self._choices: dict[str, type[C]] = {}
        self._foreign: dict[str, str] = {}

    def register(self, cls: type[C]) -> type[C]:
        """Class decorator: make a choice known under its name."""
        for own in dataclasses.fields(cls):  # type: ignore[arg-type]
            declared = own.metadata.get("parameter")
            if declared is None or declared.name != own.name:
                raise TypeError(f"{cls.__name__}.{own.name} needs a parameter(Parameter({own.name!r}, ...), default)")
        self._choices[cls.name] = cls
        return cls

    def _known(self) -> dict[str, type[C]]:
        importlib.import_module(self.home)
        return self._choices

    def __getitem__(self, name: str) -> type[C]:
        return self._known()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def elsewhere(self) -> list[str]:
        """Modules outside of the package that hold choices: another process has to import them to know these."""
        return sorted({cls.__module__ for cls in self.values() if not cls.__module__.startswith(f"{self.home}.")})

    def parameters(self) -> dict[str, Parameter]:
        """Every parameter that some choice takes, by name."""
        return {name: declared for cls in self.values() for name, declared in cls.takes().items()}

    def meanings(self, parameter: str) -> list[tuple[Parameter, dict[str, Any]]]:
        """How a parameter is declared, each way with the choices that take it so, and what it is there by default."""
        ways: list[tuple[Parameter, dict[str, Any]]] = []
        for name, default in self.users(parameter).items():
            declared = self[name].takes()[parameter]
            same = next((users for way, users in ways if way == declared), None)
            if same is None:
                ways.append((declared, {name: default}))
            else:
                same[name] = default
        return ways

    def parameter_name(self, word: str) -> str:
        """The parameter that a flag, or a synonym of the same meaning, stands for; ``word`` itself where it is none."""
        flag = f"--{word.strip().lower().replace('_', '-')}"
        for name, declared in self.parameters().items():
            if flag in declared.flags or any(each.flag == flag and each.meaning is None for each in declared.also):
                return name
        return word

    def keyword(self, word: str, value: Any) -> tuple[str, Any] | None:
        """The parameter that ``word`` is a name, a flag or a synonym of, and its value; None where there is none."""
        return meant(self.parameters(), word, value)

    def users(self, parameter: str) -> dict[str, Any]:
        """The choices that take a parameter, and what it is there by default."""
        return {name: cls.defaults()[parameter] for name, cls in sorted(self.items()) if parameter in cls.takes()}

    def explain(self, names: Iterable[str], why: str) -> None:
        """Say of names that are often asked for ``why`` they are none of these, as the end of 'NAME ...'."""
        self._foreign.update({_key(name): why for name in names})

    def explains(self, name: str) -> bool:
        """Whether it is said of ``name`` why it is none of these."""
        return _key(name) in self._foreign

    def canonical(self, name: str) -> str:
        """The name that ``name`` is another spelling of; itself where it is none."""
        known = self._known()
        if name in known:
            return name
        spelled = {_key(each): own for cls in known.values() for each, own in cls.spellings().items()}
        return spelled.get(_key(name), name)

    def knows(self, name: str) -> bool:
        """Whether some spelling of a choice is ``name``."""
        return self.canonical(name) in self.names()

    def unknown(self, name: str, *, field: str, known: Iterable[str] = ()) -> InputError:
        """What to say of a name that is none of these: what it is instead, or else which ones are ``known``."""
        foreign = {key: why for each in REGISTRIES for key, why in each._foreign.items()}
        if _key(name) in self._foreign:
            return InputError(f"{name} {foreign[_key(name)]}", field=field)
        for other in REGISTRIES:
            if other is not self and other.knows(name):
                asked = other.asked.replace("NAME", other.canonical(name))
                return InputError(f"{name} is no {self.whole} but a {other.whole}: {asked}", field=field)
        if _key(name) in foreign:
            return InputError(f"{name} {foreign[_key(name)]}", field=field)
        near = get_close_matches(_key(name), [*map(_key, self.names()), *foreign], n=1, cutoff=NEAR)
        if near and near[0] in foreign:
            return InputError(
                f"unknown {self.kind} {name!r}; {near[0]}, if that is meant, {foreign[near[0]]}", field=field
            )
        return InputError(f"unknown {self.kind} {name!r}; {nearest(name, {*self, *known}, NEAR)}", field=field)

    def names(self) -> set[str]:
        """Every name that is not another spelling: those of the choices, and of what else they have names for."""
        return {own for cls in self.values() for own in cls.spellings().values()}

    def find(self, name: str, *, field: str) -> type[C]:
        """The choice called ``name``; :class:`InputError` for ``field``, where the name was read, if there is none."""
        own = self.canonical(name)
        if own not in self:
            raise self.unknown(name, field=field)
        return self[own]

    def make(self, name: str, parameters: Mapping[str, Any], *, field: str, prefix: str = "") -> C:
        """The choice called ``name`` with these parameters, checked; the rest take their defaults.

        Raises :class:`InputError` for every parameter that is wrong, read from ``prefix`` and its name.
        """
        return self.of(self.find(name, field=field), parameters, prefix=prefix)

    def of(self, cls: type[C], parameters: Mapping[str, Any], *, prefix: str = "") -> C:
        """A choice of the class ``cls`` with these parameters, as in :meth:`make`."""
        takes = cls.takes()
        values, wrong = {}, []
        for key, value in parameters.items():
            try:
                values[key] = takes[key].parse(value) if key in takes else self._refuse(cls, key)
            except InputError as error:
                wrong.append(InputError(error.message, field=f"{prefix}{key}"))
        if wrong:
            raise InputError.together(wrong)
        return cls(**values)

    def _refuse(self, cls: type[C], key: str) -> Never:
        takes, known = cls.takes(), self.parameters()
        hint = "" if key in known else f"; {nearest(key, takes or known)}"
        used = ", ".join(takes) or "no parameters"
        raise InputError(f"the {self.kind} {cls.name} does not use this; it takes {used}{hint}", field=key)

    def json_schema(
        self, default: str | None = None, others: Mapping[str, tuple[type[C], str]] | None = None
    ) -> dict[str, Any]:
        """JSON schema of a choice: its name, or a mapping of its name and the parameters that it takes.

        The name may be left out of a mapping for the choice that is the ``default``; ``others`` are further names,
        each with the choice that it means and a summary.
        """
        names = {**{name: (cls, cls.summary) for name, cls in self.items()}, **(others or {})}
        mappings = []
        for name, (cls, summary) in sorted(names.items()):
            defaults = cls.defaults()
            properties = {key: declared.json_schema(defaults[key]) for key, declared in cls.takes().items()}
            named = {"const": name, "description": summary}
            mapping: dict[str, Any] = {
                "type": "object",
                "properties": {"name": named, **properties},
                "additionalProperties": False,
            }
            mappings.append(mapping if name == default else {**mapping, "required": ["name"]})
        return {"anyOf": [{"enum": sorted(names)}, *mappings]}


def meant(declared: Mapping[str, Parameter], word: str, value: Any) -> tuple[str, Any] | None:
    """Which of the ``declared`` parameters ``word`` is a name, a flag or a synonym of, and its value; None for none."""
    if word in declared:
        return word, value
    flags = {f"--{word.replace('_', '-')}", f"-{word}" if len(word) == 1 else ""}
    for name, each in declared.items():
        if flags & set(each.flags):
            return name, value
        for synonym in each.also:
            if synonym.flag in flags:
                return name, value if synonym.meaning is None else _in_terms_of(synonym, value, word)
    return None


def _in_terms_of(synonym: Synonym, value: Any, word: str) -> float:
    """The value of the parameter that a synonym with another meaning has at ``value``."""
    assert synonym.meaning is not None
    try:
        return synonym.meaning(float(value))
    except (ArithmeticError, TypeError, ValueError):
        raise InputError(f"wanted a number above 0, got {value!r}", field=word) from None


def _key(name: str) -> str:
    """What tells names apart: letters and digits, without a 'loss' at the end."""
    letters = bare(name)
    return letters.removesuffix("loss") or letters


LOSSES: Registry[Any] = Registry("loss", "geomsolve.losses", "geomsolve imbalance --loss NAME", "loss over classes")
PAIR_LOSSES: Registry[Any] = Registry(
    "loss", "geomsolve.pair_losses", "geomsolve crossmodal --loss NAME", "loss of two sides"
)
WEIGHTINGS: Registry[Any] = Registry("weighting", "geomsolve.weightings", "geomsolve realizable --weighting NAME")
REGISTRIES: tuple[Registry[Any], ...] = (LOSSES, WEIGHTINGS, PAIR_LOSSES)
