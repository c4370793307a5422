"""The losses, one file a family.  Every module here is imported, so a new loss is one new file."""

from __future__ import annotations

import importlib
import pkgutil

from geomsolve.losses.base import (
    REGISTRY,
    UNSOLVED,
    Alias,
    ClassifierLoss,
    Loss,
    Unsolved,
    aliases,
    find_loss,
    known_losses,
    make_loss,
    register,
)
from geomsolve.objectives.base import ConeForm, Curvature, LogTerms, Minorant, Objective

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "REGISTRY",
    "UNSOLVED",
    "Alias",
    "ClassifierLoss",
    "ConeForm",
    "Curvature",
    "LogTerms",
    "Loss",
    "Minorant",
    "Objective",
    "Unsolved",
    "aliases",
    "find_loss",
    "known_losses",
    "make_loss",
    "register",
]
