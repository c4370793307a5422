"""What every weighting is: for labelled samples i and j it says how much they should be alike, w_ij >= 0.

    weighted InfoNCE   F = sum_i a_i [ - sum_j P_ij s_ij + log sum_j q_j e^{s_ij} ],   P_ij = w_ij q_j / sum_k w_ik q_k

A weighting is only ever used through log w_ij, which stays exact where w_ij itself would underflow to 0; -inf says
that the weight is truly 0, nan that it is not known.  Adding a weighting is adding one file here.

Symbols: log w ``log_weights``, tau ``temperature``, m distinct labels, d their dimension.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from geomsolve.gram.types import FloatArray
from geomsolve.registry import WEIGHTINGS, Choice, Registry


class Weighting(Choice):
    """A weighting with its parameters.

    ``title`` as papers write it; ``similarity`` of the latents that it is made for; ``condition`` says in words when it
    can be attained, self pairs included.
    """

    title: ClassVar[str]
    condition: ClassVar[str]
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


REGISTRY: Registry[Weighting] = WEIGHTINGS
register = REGISTRY.register


def make_weighting(name: str, parameters: dict[str, Any]) -> Weighting:
    """The weighting called ``name`` with the given parameters, checked; the rest take their defaults."""
    return REGISTRY.make(name, parameters, field="weighting")
