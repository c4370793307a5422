"""Weightings of pairs, one file each.  Every module here is imported, so a new weighting is one new file."""

from __future__ import annotations

import importlib
import pkgutil

from geomsolve.weightings.base import REGISTRY, Weighting, make_weighting, register

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["REGISTRY", "Weighting", "make_weighting", "register"]
