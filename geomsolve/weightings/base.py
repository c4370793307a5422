"""What every weighting is: for labelled samples i and j it says how much they should be alike, w_ij >= 0.

    weighted InfoNCE   F = sum_i a_i [ - sum_j P_ij s_ij + log sum_j q_j e^{s_ij} ],   P_ij = w_ij q_j / sum_k w_ik q_k

A weighting is only ever used through log w_ij, which stays exact where w_ij itself would underflow to 0; -inf says
that the weight is truly 0, nan that it is not known.  Adding a weighting is adding one file here.

Symbols: log w ``log_weights``, tau ``temperature``, m distinct labels, d their dimension.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from geomsolve.errors import InputError, nearest
from geomsolve.gram.types import FloatArray


class Weighting(ABC):
    """A weighting with its parameters; subclasses are frozen dataclasses.

    ``name`` as on the command line; ``title`` as papers write it; ``similarity`` of the latents that it is made for;
    ``condition`` says in words when it can be attained, self pairs included; ``source`` of the formula.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    condition: ClassVar[str]
    source: ClassVar[str]
    similarity: ClassVar[str] = "cosine"

    @abstractmethod
    def log_weights(self, labels: FloatArray, temperature: float, similarity: str) -> FloatArray:
        """log w (m, m) between distinct labels (m, d); the diagonal is for two samples with the same label.

        Raises :class:`InputError` for labels that it cannot compare.
        """

    @property
    def strengthened_by_temperature(self) -> bool:
        """Whether log w stays as it is when the temperature of the latents changes, so that tau log w changes."""
        return True

    def rescaled(self, ratio: float) -> dict[str, float]:
        """Values of its parameters, any one of which multiplies log w by ``ratio``."""
        return {}

    @classmethod
    def takes(cls) -> tuple[str, ...]:
        """Names of its parameters."""
        return tuple(f.name for f in dataclasses.fields(cls))  # type: ignore[arg-type]

    def parameters(self) -> dict[str, Any]:
        """The value of every parameter in force; those that are None are left out."""
        return {name: value for name in self.takes() if (value := getattr(self, name)) is not None}


REGISTRY: dict[str, type[Weighting]] = {}


def register(cls: type[Weighting]) -> type[Weighting]:
    """Class decorator: make a weighting known under its name."""
    REGISTRY[cls.name] = cls
    return cls


def make_weighting(name: str, parameters: dict[str, Any]) -> Weighting:
    """The weighting called ``name``; a parameter that it does not take is an :class:`InputError`."""
    try:
        cls = REGISTRY[name]
    except KeyError:
        raise InputError(f"unknown weighting {name!r}; {nearest(name, REGISTRY)}", field="weighting") from None
    for key in parameters:
        if key not in cls.takes():
            used = ", ".join(cls.takes()) or "no parameters"
            raise InputError(f"the weighting {name} does not use this; it takes {used}", field=key)
    return cls(**parameters)
