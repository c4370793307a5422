"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass

from geomsolve.gram.types import FloatArray
from geomsolve.proof.certificate import Certificate


@dataclass(frozen=True)
class Solution:
    """``cosines`` (m, m), feasible up to rounding; ``slopes`` (m, m) of a minorant, where the loss has kinks;
    ``multipliers`` (m, m) of cosines held at 0, where none may be negative.

    ``name`` of the solver, ``iterations`` it took; ``note`` says what happened on the way, for the report.
    """

    cosines: FloatArray
    name: str
    iterations: int
    slopes: FloatArray | None = None
    note: str = ""
    multipliers: FloatArray | None = None


@dataclass(frozen=True)
class Answer:
    """A solution with its proof; ``reason`` says why this solver; ``seconds`` of solving and proving.

    ``resolved`` is False where F hardly depends on the geometry, so that its proof says nothing about that.
    """

    solution: Solution
    certificate: Certificate
    reason: str
    seconds: float
    resolved: bool = True
