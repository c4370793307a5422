"""What users choose by name, with parameters: losses and weightings.

A choice is a frozen dataclass whose fields are its parameters; a registry knows the choices of one kind.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from geomsolve.errors import InputError, nearest


class Choice(ABC):
    """``name`` as on the command line, ``summary`` in one line, ``source`` of the formula."""

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]

    @classmethod
    def takes(cls) -> Collection[str]:
        """Names of its parameters."""
        return tuple(f.name for f in dataclasses.fields(cls))  # type: ignore[arg-type]

    def parameters(self) -> dict[str, Any]:
        """The value of every parameter that is in force; those that are None (not in play) are left out."""
        return {name: value for name in self.takes() if (value := getattr(self, name)) is not None}


C = TypeVar("C", bound=Choice)


class Registry(dict[str, type[C]]):
    """Choices by name; ``kind`` says in messages what they are."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def register(self, cls: type[C]) -> type[C]:
        """Class decorator: make a choice known under its name."""
        self[cls.name] = cls
        return cls

    def find(self, name: str, parameters: Iterable[str], *, field: str, prefix: str = "") -> type[C]:
        """The choice called ``name``, which takes ``parameters``; :class:`InputError` for ``field``, where the name was
        read, or for the parameter that it does not take, read from ``prefix`` and its name."""
        if name not in self:
            raise InputError(f"unknown {self.kind} {name!r}; {nearest(name, self)}", field=field)
        takes = self[name].takes()
        for key in parameters:
            if key not in takes:
                known = {parameter for other in self.values() for parameter in other.takes()}
                hint = "" if key in known else f"; {nearest(key, takes or known)}"
                used = ", ".join(takes) or "no parameters"
                raise InputError(
                    f"the {self.kind} {name} does not use this; it takes {used}{hint}", field=f"{prefix}{key}"
                )
        return self[name]


@dataclass(frozen=True)
class Parameter:
    """``flags`` as on the command line; ``read`` turns what a user wrote into a value or raises ValueError."""

    name: str
    flags: tuple[str, ...]
    read: Callable[[Any], Any]
    metavar: str
    help: str

    def parse(self, value: Any) -> Any:
        """The checked value, or :class:`InputError` saying what is wanted."""
        try:
            return self.read(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"{error}, got {value!r}", field=self.name) from None


def parameter(which: Parameter, default: Any) -> Any:
    """A dataclass field of a loss, tied to the shared description of the parameter."""
    return field(default=default, metadata={"parameter": which})


def number(wanted: str, holds: Callable[[float], bool]) -> Callable[[Any], float]:
    """A reader of finite numbers for which ``holds``; ``wanted`` completes 'wanted ...'."""

    def read(value: Any) -> float:
        try:
            x = float(value) if not isinstance(value, bool) else math.nan
        except (TypeError, ValueError):
            x = math.nan
        if not (math.isfinite(x) and holds(x)):
            raise ValueError(f"wanted {wanted}")
        return x

    return read


def whole(minimum: int, *, infinite: bool = False) -> Callable[[Any], float]:
    """A reader of whole numbers >= ``minimum``; with ``infinite`` also ``inf``."""
    wanted = f"wanted a whole number, at least {minimum}" + (", or inf" if infinite else "")

    def read(value: Any) -> float:
        try:
            x = float(value) if not isinstance(value, bool) else math.nan
        except (TypeError, ValueError):
            x = math.nan
        if infinite and x == math.inf:
            return x
        if not (math.isfinite(x) and x == int(x) and minimum <= x <= 2**53):
            raise ValueError(wanted)
        return int(x)

    return read


def choice(*allowed: str) -> Callable[[Any], str]:
    """A reader of one of the ``allowed`` words."""

    def read(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"wanted one of {', '.join(allowed)}")
        return str(value)

    return read


def switch(value: Any) -> bool:
    """A reader of true or false."""
    if not isinstance(value, bool):
        raise ValueError("wanted true or false")
    return value
