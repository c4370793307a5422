"""Numbers and losses as proofs that stand alone state them: decimals in quotes, which are exact."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from geomsolve import verify, verify_losses, verify_potentials
from geomsolve.analyses.elimination import exact
from geomsolve.errors import InputError
from geomsolve.gram.orbits import Orbits
from geomsolve.gram.types import FloatArray
from geomsolve.losses import Loss
from geomsolve.objectives.base import Objective
from geomsolve.pair_losses import PairLoss
from geomsolve.proof.certificate import dual_matrix
from geomsolve.questions.classes import ClassProblem

ROOM = 1e-11
"""Nats, relative to a loss above 1, by which a claimed bound stays below the one found, for rounding."""

CEILING = 1e-13
"""The same for a claimed value: rounding of a sum."""


MOST = 1000
"""Distinct proportions up to which a proof is written: checking costs their cube."""


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


def classes_of(
    problem: ClassProblem, orbits: Orbits, stated: dict[str, Any]
) -> tuple[list[dict[str, Any]], Orbits, dict[str, Any]]:
    """Kinds of classes with exact weights, which are divided by their sum; the orbits that they are; and the loss as it
    is ``stated``, less the numbers of each class, which stand with the kinds.

    Classes whose weights agree only up to rounding become kinds of their own.
    """
    each = {key: [exact(x) for x in value] for key, value in stated.items() if isinstance(value, tuple)}
    stated = {key: value for key, value in stated.items() if key not in each}
    given = problem.class_counts or getattr(problem, "props", None) or problem.proportions
    weights = [exact(x) for x in given]
    if any(len({weights[a] for a in np.flatnonzero(orbits.index == g)}) > 1 for g in range(orbits.n_orbits)):
        orbits = orbits.single()
    if orbits.n_orbits > MOST:
        raise InputError(
            f"{orbits.n_orbits:,} distinct proportions are too many to check; a proof is written for at most {MOST:,}",
            field="proof",
        )
    first = np.unique(orbits.index, return_index=True)[1]
    names = problem.class_names
    members = [[names[a] for a in np.flatnonzero(orbits.index == g)] for g in range(orbits.n_orbits)]
    return (
        [
            {"size": int(n), "weight": weights[a], **{key: given[a] for key, given in each.items()}, "names": who}
            for n, a, who in zip(orbits.sizes, first.tolist(), members, strict=True)
        ],
        orbits,
        stated,
    )


def complete(stated: dict[str, Any], objective: Objective, orbits: Orbits) -> None:
    """Add to a loss as ``stated`` which mean over batches it is, where there are two.

    Raises :class:`InputError` where there are more batches than a check lists, or a potential not shown to be convex.
    """
    if objective.expectation:
        stated["expectation"] = objective.expectation
    if verify.flint is not None and "psi" in stated:
        try:
            verify_potentials.Potential(stated["psi"])
        except verify.NotAProofError as error:
            raise InputError(f"{error}, so that no proof is written; leave this out", field="proof") from None
    if verify_losses.too_many(stated, orbits.n_classes):
        raise InputError(
            "there are too many batches to list, so that no proof is written; leave this out", field="proof"
        )


def assumed(assumption: str | None) -> dict[str, str]:
    """What a proof takes for granted of embeddings, under its key."""
    return {"assuming": assumption} if assumption else {}
