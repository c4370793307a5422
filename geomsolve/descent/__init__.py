"""Gradient descent on the actual batch losses, as an independent check; the only room that needs torch.

Nothing here uses the objectives of ``losses/``: the batch losses are written from their definitions on single
samples, classes are not assumed to collapse, and a loss class serves only to say which parameters were chosen.
"""

from __future__ import annotations

import importlib
import importlib.util

from geomsolve.errors import InputError


def require(package: str, *, what: str, field: str = "") -> None:
    """Raise :class:`InputError`, saying what to install, unless the optional ``package`` is there."""
    if importlib.util.find_spec(package) is None:
        raise InputError(f"{what} needs {package}; install it with: pip install 'geomsolve[torch]'", field=field)
