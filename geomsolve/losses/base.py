"""What every loss is: a name with parameters that, for given classes, becomes a convex function of cosines.

A :class:`Loss` holds the parameters a user chose.  ``loss.objective(orbits)`` binds it to class proportions
and gives an :class:`Objective`: F as a function of orbit cosines (see ``objectives/base.py``).
Adding a loss is adding one file here: the registry finds it.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any

from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.objectives.base import Objective
from geomsolve.registry import Choice, Parameter, Registry


class Loss(Choice):
    """A loss with its parameters, whose fields are :class:`Parameter` s."""

    @abstractmethod
    def objective(self, orbits: Orbits) -> Objective:
        """Bind the loss to classes; raises :class:`InputError` if these lack something it needs."""

    @classmethod
    def takes(cls) -> dict[str, Parameter]:
        """The parameters of this loss by name."""
        return {f.name: f.metadata["parameter"] for f in dataclasses.fields(cls)}  # type: ignore[arg-type]

    def replace(self, **changes: Any) -> Loss:
        """The same loss with some parameters changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


REGISTRY: Registry[Loss] = Registry("loss")
register = REGISTRY.register


def make_loss(name: str, parameters: dict[str, Any]) -> Loss:
    """The loss called ``name`` with the given parameters, checked; the rest take their defaults."""
    cls = REGISTRY.find(name, parameters, field="loss.name", prefix="loss.")
    takes = cls.takes()
    try:
        values = {key: takes[key].parse(value) for key, value in parameters.items()}
    except InputError as error:
        raise InputError(error.message, field=f"loss.{error.field}") from None
    return cls(**values)
