"""The losses of two sides, one file a family.  Every module here is imported, so a new loss is one new file."""

from __future__ import annotations

import importlib
import pkgutil

from geomsolve.pair_losses.base import REGISTRY, PairLoss, make_pair_loss, register

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["REGISTRY", "PairLoss", "make_pair_loss", "register"]
