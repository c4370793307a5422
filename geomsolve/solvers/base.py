"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass

from geomsolve.gram.types import FloatArray


@dataclass(frozen=True)
class Solution:
    """``cosines`` (m, m), feasible up to rounding; ``slopes`` (m, m) of a minorant, where the loss has kinks.

    ``name`` of the solver, ``iterations`` it took; ``note`` says what happened on the way, for the report.
    """

    cosines: FloatArray
    name: str
    iterations: int
    slopes: FloatArray | None = None
    note: str = ""
