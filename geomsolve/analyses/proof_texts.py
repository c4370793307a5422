"""Numbers and losses as proofs that stand alone state them: decimals in quotes, which are exact."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from geomsolve.analyses.elimination import exact
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.losses import Loss
from geomsolve.objectives.base import Objective
from geomsolve.pair_losses import PairLoss
from geomsolve.proof.certificate import dual_matrix

ROOM = 1e-11
"""Nats, relative to a loss above 1, by which a claimed bound stays below the one found, for rounding."""

CEILING = 1e-13
"""The same for a claimed value: rounding of a sum."""


def decimals(values: FloatArray) -> Any:
    """Arrays of doubles as decimals in quotes, in lists."""
    return [decimals(row) for row in values] if values.ndim else format(Decimal(repr(float(values))), "f")


def known_loss(loss: Loss | PairLoss) -> dict[str, Any]:
    """The loss as a proof states it, numbers of each class as tuples; InputError where there is no proof of it."""
    parameters = loss.in_proofs
    if parameters is None:
        raise InputError(
            f"no proof that stands alone is written for this form of {loss.name}; docs/proofs.md lists the losses and "
            "forms that have one. Leave this out",
            field="proof",
        )
    return {"name": loss.name, **{key: _exactly(x) for key, x in parameters.items()}}


def _exactly(x: Any) -> Any:
    """Numbers in quotes; in lists, whole ones are the numbers of classes and stay."""
    if isinstance(x, list):
        return [_exactly(each) if isinstance(each, (list, float)) else each for each in x]
    return exact(x) if type(x) in (int, float) else x


def rounded(x: float, way: str) -> str:
    """Twelve decimals, rounded ``way``."""
    return format(Decimal(repr(float(x))).quantize(Decimal("1e-12"), rounding=way), "f")


def bounds(
    objective: Objective, orbits: Orbits, cosines: FloatArray, slopes: FloatArray | None
) -> tuple[dict[str, Any], str, str]:
    """The multipliers, and what the loss is claimed to be at least and at most."""
    value = objective.value(cosines)
    minorant = objective.minorant(cosines, slopes)
    multipliers, off_diagonal = dual_matrix(orbits, cosines, minorant.slope)
    blocks = orbits.blocks(multipliers, off_diagonal)
    size = float(np.abs(blocks.quotient).max() + np.abs(off_diagonal).max())
    short = orbits.n_classes * (max(0.0, -blocks.min_eigenvalue()) + 1e-14 * size)
    room = max(1.0, abs(value))
    low = rounded(minorant.value - short - ROOM * room, ROUND_FLOOR)
    dual: dict[str, Any] = {"mu": decimals(multipliers)}
    shares = objective.shares(cosines, minorant.slope)
    if shares is not None:
        dual["shares"] = decimals(shares)
    return dual, low, rounded(value + CEILING * room, ROUND_CEILING)
